/* url.c - reads the URL of a server or of some nodes of a cluster. */
#include "redis/url.h"

#include <stdio.h>
#include <string.h>

#include "say/message.h"

enum { DEFAULT_PORT = 6379 };

static const char form[] = "write redis://[user@]host:port[,host:port...][/database], or "
                           "rediss://... for TLS";

static int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

/* Copies text in which %HH is any byte. False if it does not fit, or is no such text. */
static bool decode(const char *from, size_t size, char *out, size_t room) {
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        int letter = (unsigned char)from[i];
        if (letter == '%') {
            int high = i + 1 < size ? digit_of(from[i + 1]) : -1;
            int low = i + 2 < size ? digit_of(from[i + 2]) : -1;
            if (high < 0 || low < 0) return false;
            letter = high << 4 | low;
            i += 2;
        }
        if (letter == '\0' || used + 1 == room) return false;
        out[used++] = (char)letter;
    }
    out[used] = '\0';
    return true;
}

/* Reads what is before the @: the user, perhaps with a colon and nothing after it. */
static int read_user(const char *from, size_t size, struct redis_url *out) {
    const char *colon = memchr(from, ':', size);
    size_t user_size = colon != NULL ? (size_t)(colon - from) : size;
    if (colon != NULL && user_size + 1 < size) {
        return message_fail(EXIT_USAGE,
                            "--redis: the URL has a password, which every user of this machine can "
                            "read in the list of processes; leave it out, and give it with "
                            "--password-file or in the environment variable LETHE_REDIS_PASSWORD");
    }
    if (!decode(from, user_size, out->user, sizeof out->user)) {
        return message_fail(EXIT_USAGE, "--redis: the part before the @ is no user; write "
                                        "characters other than A-Z a-z 0-9 as %%HH");
    }
    return EXIT_DONE;
}

/* Reads the port after a colon, or nothing. */
static bool read_port(const char *from, const char *end, uint16_t *out) {
    unsigned number = DEFAULT_PORT;
    if (from < end) {
        if (*from != ':' || end - from < 2 || end - from > 6) return false;
        number = 0;
        for (from++; from < end; from++) {
            if (*from < '0' || *from > '9') return false;
            number = 10 * number + (unsigned)(*from - '0');
        }
    }
    *out = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX;
}

/* Reads host, host:port or [address of version 6]:port. */
static bool read_address(const char *from, size_t size, struct redis_address *out) {
    const char *end = from + size, *host = from, *host_end, *port;
    if (size > 0 && from[0] == '[') {
        host = from + 1;
        host_end = memchr(host, ']', size - 1);
        if (host_end == NULL) return false;
        port = host_end + 1;
    } else {
        host_end = memchr(from, ':', size);
        if (host_end == NULL) host_end = end;
        port = host_end;
    }
    size_t length = (size_t)(host_end - host);
    return length > 0 && decode(host, length, out->host, sizeof out->host) &&
           strpbrk(out->host, "/?#@ []") == NULL && read_port(port, end, &out->port);
}

/* Whether the last address is one of those before it. */
static bool is_named_twice(const struct redis_url *url) {
    const struct redis_address *last = &url->addresses[url->count - 1];
    for (const struct redis_address *one = url->addresses; one < last; one++) {
        if (one->port == last->port && strcmp(one->host, last->host) == 0) return true;
    }
    return false;
}

/* Reads all addresses, which have commas between them. */
static int read_addresses(const char *from, const char *end, struct redis_url *out) {
    for (size_t number = 1;; number++) {
        const char *comma = memchr(from, ',', (size_t)(end - from));
        const char *stop = comma != NULL ? comma : end;
        if (out->count == REDIS_ADDRESSES_LIMIT) {
            return message_fail(EXIT_USAGE,
                                "--redis has more than %d addresses; a few are enough, the nodes "
                                "know each other",
                                REDIS_ADDRESSES_LIMIT);
        }
        if (!read_address(from, (size_t)(stop - from), &out->addresses[out->count++])) {
            /* It is not shown: a URL without its @ has a password here. */
            return message_fail(EXIT_USAGE, "--redis: address %zu is not host:port; %s", number,
                                form);
        }
        if (is_named_twice(out)) out->count--;
        if (comma == NULL) return EXIT_DONE;
        from = comma + 1;
    }
}

/* Reads what is after the slash: the number of a database, or nothing. */
static int read_database(const char *from, unsigned *out) {
    *out = 0;
    bool is_number = strlen(from) <= 6;
    for (; *from != '\0' && is_number; from++) {
        is_number = *from >= '0' && *from <= '9';
        *out = 10 * *out + (unsigned)(*from - '0');
    }
    if (is_number) return EXIT_DONE;
    return message_fail(EXIT_USAGE,
                        "--redis: what follows the slash is no number of a database, 0 to %d; %s",
                        REDIS_DATABASE_LIMIT, form);
}

void redis_address_show(const struct redis_address *address, char out[REDIS_ADDRESS_SHOWN_BYTES]) {
    bool is_v6 = strchr(address->host, ':') != NULL;
    snprintf(out, REDIS_ADDRESS_SHOWN_BYTES, "%s%s%s:%u", is_v6 ? "[" : "", address->host,
             is_v6 ? "]" : "", address->port);
}

static void show(struct redis_url *url) {
    size_t used = 0;
    for (size_t i = 0; i <= url->count && used + 1 < sizeof url->shown; i++) {
        char one[REDIS_ADDRESS_SHOWN_BYTES] = "";
        if (i < url->count) {
            redis_address_show(&url->addresses[i], one);
        } else if (url->database > 0) {
            snprintf(one, sizeof one, "/%u", url->database);
        }
        int length = snprintf(url->shown + used, sizeof url->shown - used, "%s%s",
                              i == 0 || i == url->count ? "" : ",", one);
        used += length > 0 ? (size_t)length : 0;
    }
}

/* Reads the scheme. Returns what follows it, or NULL. */
static const char *read_scheme(const char *text, bool *is_tls) {
    static const struct {
        const char *scheme;
        bool is_tls;
    } schemes[] = {
        {"redis://", false}, {"rediss://", true}, {"valkey://", false}, {"valkeys://", true}};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t size = strlen(schemes[i].scheme);
        if (strncmp(text, schemes[i].scheme, size) != 0) continue;
        *is_tls = schemes[i].is_tls;
        return text + size;
    }
    return NULL;
}

int redis_url_parse(const char *text, struct redis_url *out) {
    *out = (struct redis_url){0};
    int code = EXIT_DONE;
    text = read_scheme(text, &out->is_tls);
    if (text == NULL) {
        return message_fail(EXIT_USAGE, "--redis does not begin with redis:// or rediss://; %s",
                            form);
    }
    const char *at = strrchr(text, '@');
    if (at != NULL) {
        code = read_user(text, (size_t)(at - text), out);
        text = at + 1;
    }
    const char *end = text + strcspn(text, "/");
    if (code == EXIT_DONE) code = read_addresses(text, end, out);
    if (code == EXIT_DONE && *end == '/') code = read_database(end + 1, &out->database);
    if (code == EXIT_DONE) show(out);
    return code;
}
