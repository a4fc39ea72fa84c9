/* url.c - reads the URL of a server or of some nodes of a cluster. */
#include "redis/url.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say/message.h"

enum { DEFAULT_PORT = 6379 };

static const char scheme[] = "redis://";
static const char form[] = "write redis://[user:password@]host:port[,host:port...]";

static int digit_of(char letter) {
    if (letter >= '0' && letter <= '9') return letter - '0';
    if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
    if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
    return -1;
}

/* Copies a user or a password, in which %HH is any byte. */
static bool decode(const char *from, size_t size, char out[REDIS_SECRET_BYTES]) {
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
        if (letter == '\0' || used + 1 == REDIS_SECRET_BYTES) return false;
        out[used++] = (char)letter;
    }
    out[used] = '\0';
    return true;
}

/* Reads what is before the @: user:password, or the password alone after a colon. */
static int read_secrets(const char *from, size_t size, struct redis_url *out) {
    const char *colon = memchr(from, ':', size);
    size_t user_size = colon != NULL ? (size_t)(colon - from) : size;
    const char *password = colon != NULL ? colon + 1 : from + size;
    if (colon == NULL || !decode(from, user_size, out->user) ||
        !decode(password, size - user_size - 1, out->password)) {
        return message_fail(EXIT_USAGE, "--redis: the part before the @ is not user:password; "
                                        "write characters other than A-Z a-z 0-9 as %%HH");
    }
    return EXIT_DONE;
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
    if (length == 0 || length >= sizeof out->host) return false;
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    if (strpbrk(out->host, "/?#@ []") != NULL) return false;
    unsigned number = DEFAULT_PORT;
    if (port < end) {
        if (*port != ':' || end - port < 2 || end - port > 6) return false;
        number = 0;
        for (port++; port < end; port++) {
            if (*port < '0' || *port > '9') return false;
            number = 10 * number + (unsigned)(*port - '0');
        }
    }
    out->port = (uint16_t)number;
    return number > 0 && number <= UINT16_MAX;
}

/* Whether the last address is one of those before it. */
static bool is_named_twice(const struct redis_url *url) {
    const struct redis_address *last = &url->addresses[url->count - 1];
    for (const struct redis_address *one = url->addresses; one < last; one++) {
        if (one->port == last->port && strcmp(one->host, last->host) == 0) return true;
    }
    return false;
}

static void show(struct redis_url *url) {
    size_t used = 0;
    for (size_t i = 0; i < url->count && used + 1 < sizeof url->shown; i++) {
        const struct redis_address *address = &url->addresses[i];
        int length = snprintf(url->shown + used, sizeof url->shown - used, "%s%s:%u",
                              i == 0 ? "" : ",", address->host, address->port);
        used += length > 0 ? (size_t)length : 0;
    }
}

int redis_url_parse(const char *text, struct redis_url *out) {
    *out = (struct redis_url){0};
    size_t skipped = sizeof scheme - 1;
    if (strncmp(text, "rediss://", 9) == 0) {
        return message_fail(EXIT_USAGE, "--redis: rediss:// means TLS, which lethe does not "
                                        "support; use a tunnel and redis://");
    }
    if (strncmp(text, scheme, skipped) != 0) {
        return message_fail(EXIT_USAGE, "--redis does not begin with redis://; %s", form);
    }
    text += skipped;
    const char *at = strrchr(text, '@');
    if (at != NULL) {
        int code = read_secrets(text, (size_t)(at - text), out);
        if (code != EXIT_DONE) return code;
        text = at + 1;
    }
    size_t number = 1; /* of the address in the text */
    for (const char *from = text;; from++, number++) {
        size_t size = strcspn(from, ",");
        if (out->count == REDIS_ADDRESSES_LIMIT) {
            return message_fail(EXIT_USAGE,
                                "--redis has more than %d addresses; a few are enough, the nodes "
                                "know each other",
                                REDIS_ADDRESSES_LIMIT);
        }
        if (!read_address(from, size, &out->addresses[out->count++])) {
            /* It is not shown: a URL without its @ has a password here. */
            return message_fail(EXIT_USAGE, "--redis: address %zu is not host:port; %s", number,
                                form);
        }
        if (is_named_twice(out)) out->count--;
        from += size;
        if (*from == '\0') break;
    }
    const char *password = getenv("REDISCLI_AUTH");
    if (out->password[0] == '\0' && password != NULL && strlen(password) < REDIS_SECRET_BYTES) {
        snprintf(out->password, sizeof out->password, "%s", password);
    }
    show(out);
    return EXIT_DONE;
}
