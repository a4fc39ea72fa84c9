/* bench/redis_link.c - see redis_link.h. */
#include "redis_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "frame.h"

enum { TRY_US = 10000, LINE_BYTES = 1024, COMMAND_BYTES = 4096 };

static bool open_to(struct redis_link *link, const struct sockaddr *address, socklen_t size,
                    unsigned timeout_ms) {
    double deadline = bench_now() + timeout_ms / 1000.0;
    link->at = link->end = 0;
    for (;;) {
        link->socket = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bench_require(link->socket >= 0, "making a socket");
        struct timeval wait = {.tv_sec = timeout_ms / 1000,
                               .tv_usec = (suseconds_t)(timeout_ms % 1000) * 1000};
        setsockopt(link->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
        setsockopt(link->socket, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
        if (address->sa_family == AF_INET) {
            setsockopt(link->socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        }
        if (connect(link->socket, address, size) == 0) return true;
        redis_link_close(link);
        if (bench_now() >= deadline) return false;
        usleep(TRY_US);
    }
}

bool redis_link_open(struct redis_link *link, int port, unsigned timeout_ms) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return open_to(link, (struct sockaddr *)&address, sizeof address, timeout_ms);
}

bool redis_link_open_socket(struct redis_link *link, const char *path, unsigned timeout_ms) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return open_to(link, (struct sockaddr *)&address, sizeof address, timeout_ms);
}

void redis_link_close(struct redis_link *link) {
    if (link->socket >= 0) close(link->socket);
    link->socket = -1;
}

bool redis_link_send(struct redis_link *link, const char *bytes, size_t size) {
    while (size > 0) {
        ssize_t sent = send(link->socket, bytes, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_byte(struct redis_link *link, char *byte) {
    while (link->at == link->end) {
        ssize_t received = read(link->socket, link->received, sizeof link->received);
        if (received < 0 && errno == EINTR) continue;
        if (received <= 0) return false;
        link->at = 0;
        link->end = (size_t)received;
    }
    *byte = link->received[link->at++];
    return true;
}

/* So many bytes, or up to a newline; keeps what fits, without the end of a line. */
static bool receive_bytes(struct redis_link *link, char *to, size_t room, int64_t count) {
    size_t length = 0;
    for (char byte; count != 0; count--) {
        if (!receive_byte(link, &byte)) return false;
        if (count < 0 && byte == '\n') break;
        if (length + 1 < room && byte != '\r') to[length++] = byte;
    }
    to[length] = '\0';
    return true;
}

bool redis_link_receive(struct redis_link *link, struct redis_answer *answer) {
    char line[LINE_BYTES];
    if (!receive_bytes(link, line, sizeof line, -1)) return false;
    *answer = (struct redis_answer){.kind = line[0]};
    memcpy(answer->text, line + 1, sizeof answer->text - 1);
    if (answer->kind == '+' || answer->kind == '-') return true;
    answer->number = strtoll(line + 1, NULL, 10);
    if (answer->kind == '$' && answer->number >= 0) {
        char end[4];
        int64_t size = answer->number;
        if (!receive_bytes(link, answer->text, sizeof answer->text, size)) return false;
        answer->number = strtoll(answer->text, NULL, 10);
        return receive_bytes(link, end, sizeof end, 2);
    }
    if (answer->kind != '*') return true;
    int64_t elements = answer->number;
    for (int64_t i = 0; i < elements; i++) {
        struct redis_answer element;
        if (!redis_link_receive(link, &element)) return false;
        if (i == 0) answer->number = element.number;
        if (i == 0) memcpy(answer->text, element.text, sizeof answer->text);
    }
    return true;
}

static void append(struct redis_text *text, const char *bytes, size_t size) {
    if (text->bytes == NULL || text->size + size > text->room) {
        text->room = 2 * (text->size + size);
        char *grown = realloc(text->bytes, text->room);
        if (grown == NULL) {
            bench_require(false, "writing a command");
            return;
        }
        text->bytes = grown;
    }
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

static void add_command(struct redis_text *text, const char *words) {
    size_t count = 1;
    for (const char *at = words; *at != '\0'; at++)
        count += *at == ' ';
    char head[32];
    append(text, head, (size_t)snprintf(head, sizeof head, "*%zu\r\n", count));
    for (; count > 0; count--) {
        size_t length = strcspn(words, " ");
        append(text, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", length));
        append(text, words, length);
        append(text, "\r\n", 2);
        words += length + 1;
    }
    text->commands++;
}

static void __attribute__((format(printf, 2, 0)))
add_formatted(struct redis_text *text, const char *format, va_list list) {
    char words[COMMAND_BYTES];
    int length = vsnprintf(words, sizeof words, format, list);
    bench_require(length >= 0 && (size_t)length < sizeof words, "writing a command");
    add_command(text, words);
}

void redis_text_add(struct redis_text *text, const char *format, ...) {
    va_list list;
    va_start(list, format);
    add_formatted(text, format, list);
    va_end(list);
}

void redis_text_clear(struct redis_text *text) {
    text->size = 0;
    text->commands = 0;
}

void redis_text_free(struct redis_text *text) {
    free(text->bytes);
    *text = (struct redis_text){0};
}

bool redis_link_ask(struct redis_link *link, struct redis_answer *answer, const char *format, ...) {
    struct redis_text text = {0};
    va_list list;
    va_start(list, format);
    add_formatted(&text, format, list);
    va_end(list);
    bool is_answered =
        redis_link_send(link, text.bytes, text.size) && redis_link_receive(link, answer);
    redis_text_free(&text);
    return is_answered;
}
