/* bench/http_load.c - a client for `lethe bench serve`: see http_load.h.
 *
 * IDEA    Every connection has one request under way. Its text is made once; before it is sent
 *         again only the digits of its ids are written anew, so that the client costs little beside
 *         the server, with which it shares the machine. */
#include "http_load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ID_DIGITS = 16, ANSWER_BYTES = 1 << 20, LATENCIES = 1 << 20 };

struct connection {
    int descriptor;
    char *request;
    size_t size, sent;
    /* Where each event's id is. */
    size_t *ids;
    /* What there is of the answer: its head, and how much of its body is still to come. */
    char head[4096];
    size_t head_size, body_left;
    int has_head;
    double began_s;
};

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void write_id(char *at, uint64_t id) {
    static const char digits[] = "0123456789abcdef";
    for (int i = ID_DIGITS; i-- > 0; id >>= 4)
        at[i] = digits[id & 15];
}

static int make_request(struct connection *connection, const struct http_load *load,
                        size_t number) {
    size_t room = 512 + load->events * 80, used = 0;
    char *body = malloc(room);
    connection->request = malloc(room + 512);
    connection->ids = malloc(load->events * sizeof *connection->ids);
    if (body == NULL || connection->request == NULL || connection->ids == NULL) {
        free(body);
        return -1;
    }
    for (size_t i = 0; i < load->events; i++) {
        connection->ids[i] = used + strlen("{\"id\":\"");
        used += (size_t)snprintf(body + used, room - used,
                                 "{\"id\":\"%016d\",\"key\":\"key-%zu\",\"delta\":1}%s", 0,
                                 (number * 7919 + i) % load->keys, load->events > 1 ? "\n" : "");
    }
    int head = snprintf(connection->request, room + 512,
                        "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: "
                        "application/%s\r\n%sContent-Length: %zu\r\n\r\n",
                        load->port, load->events > 1 ? "x-ndjson" : "json",
                        load->is_short ? "Prefer: return=minimal\r\n" : "", used);
    memcpy(connection->request + head, body, used);
    connection->size = (size_t)head + used;
    for (size_t i = 0; i < load->events; i++)
        connection->ids[i] += (size_t)head;
    free(body);
    return 0;
}

static int connect_to(unsigned port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (descriptor < 0) return -1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    close(descriptor);
    return -1;
}

/* Sends what there is room for. Returns -1 if the connection is lost. */
static int send_more(struct connection *connection) {
    while (connection->sent < connection->size) {
        ssize_t got = send(connection->descriptor, connection->request + connection->sent,
                           connection->size - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (got < 0) return errno == EAGAIN ? 0 : -1;
        connection->sent += (size_t)got;
    }
    return 0;
}

static int begin(struct connection *connection, const struct http_load *load, uint64_t *next_id) {
    for (size_t i = 0; i < load->events; i++)
        write_id(connection->request + connection->ids[i], (*next_id)++);
    connection->sent = connection->head_size = 0;
    connection->has_head = 0;
    connection->began_s = now_s();
    return send_more(connection);
}

/* Takes bytes of an answer. Returns its status when it is complete, 0 before, -1 if it is wrong. */
static int take(struct connection *connection, const char *data, size_t size) {
    if (!connection->has_head) {
        size_t room = sizeof connection->head - 1 - connection->head_size;
        size_t copied = size < room ? size : room;
        memcpy(connection->head + connection->head_size, data, copied);
        connection->head_size += copied;
        connection->head[connection->head_size] = '\0';
        char *end = strstr(connection->head, "\r\n\r\n");
        if (end == NULL) return room == 0 ? -1 : 0;
        const char *length = strcasestr(connection->head, "\r\nContent-Length:");
        if (length == NULL) return -1;
        size_t head = (size_t)(end + 4 - connection->head);
        size_t before = connection->head_size - copied;
        connection->body_left = strtoull(length + 17, NULL, 10);
        connection->has_head = 1;
        size -= head - before;
    }
    connection->body_left -= size < connection->body_left ? size : connection->body_left;
    return connection->body_left == 0 ? (int)strtol(connection->head + 9, NULL, 10) : 0;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

struct run {
    const struct http_load *load;
    struct connection *connections;
    int epoll;
    uint64_t next_id;
    double *latencies;
    size_t latency_count;
    char *answer;
};

/* Reads what is there of an answer, and sends the next request after it. */
static int serve(struct run *run, struct connection *connection, double until,
                 struct http_load_result *out) {
    if (send_more(connection) != 0) return -1;
    ssize_t got = recv(connection->descriptor, run->answer, ANSWER_BYTES, MSG_DONTWAIT);
    if (got < 0) return errno == EAGAIN ? 0 : -1;
    if (got == 0) return -1;
    int status = take(connection, run->answer, (size_t)got);
    if (status <= 0) return status;
    double now = now_s();
    out->requests++;
    out->events += run->load->events;
    out->failures += status != 200;
    if (run->latency_count < LATENCIES)
        run->latencies[run->latency_count++] = now - connection->began_s;
    if (now >= until) return 1;
    return begin(connection, run->load, &run->next_id);
}

static int loop(struct run *run, struct http_load_result *out) {
    struct epoll_event events[64];
    size_t left = run->load->connections;
    double began = now_s(), until = began + run->load->seconds;
    for (size_t i = 0; i < run->load->connections; i++)
        if (begin(&run->connections[i], run->load, &run->next_id) != 0) return -1;
    while (left > 0) {
        int count = epoll_wait(run->epoll, events, 64, 10000);
        if (count <= 0) return -1;
        for (int i = 0; i < count; i++) {
            int result = serve(run, events[i].data.ptr, until, out);
            if (result < 0) return -1;
            left -= (size_t)result;
        }
    }
    out->seconds = now_s() - began;
    qsort(run->latencies, run->latency_count, sizeof *run->latencies, compare);
    if (run->latency_count > 0) {
        out->p50_ms = 1000 * run->latencies[run->latency_count / 2];
        out->p99_ms = 1000 * run->latencies[run->latency_count * 99 / 100];
    }
    return 0;
}

static int open_all(struct run *run) {
    for (size_t i = 0; i < run->load->connections; i++) {
        struct connection *connection = &run->connections[i];
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = connection};
        connection->descriptor = connect_to(run->load->port);
        if (connection->descriptor < 0 || make_request(connection, run->load, i) != 0) return -1;
        if (epoll_ctl(run->epoll, EPOLL_CTL_ADD, connection->descriptor, &event) != 0) return -1;
    }
    return 0;
}

int http_load_run(const struct http_load *load, struct http_load_result *out) {
    struct run run = {.load = load,
                      .connections = calloc(load->connections, sizeof *run.connections),
                      .epoll = epoll_create1(EPOLL_CLOEXEC),
                      .next_id = load->first_id,
                      .latencies = malloc(LATENCIES * sizeof *run.latencies),
                      .answer = malloc(ANSWER_BYTES)};
    *out = (struct http_load_result){0};
    int result = -1;
    if (run.connections != NULL && run.latencies != NULL && run.answer != NULL && run.epoll >= 0)
        result = open_all(&run) == 0 ? loop(&run, out) : -1;
    for (size_t i = 0; run.connections != NULL && i < load->connections; i++) {
        if (run.connections[i].descriptor > 0) close(run.connections[i].descriptor);
        free(run.connections[i].request);
        free(run.connections[i].ids);
    }
    if (run.epoll >= 0) close(run.epoll);
    free(run.connections);
    free(run.latencies);
    free(run.answer);
    return result;
}
