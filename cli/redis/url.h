/* url.h - where servers are: redis://[user@]host[:port][,host[:port]...][/database].
 *
 * The scheme is redis or valkey, or with TLS rediss or valkeys. An address of version 6 stands in
 * brackets. In users and hosts %HH is any byte. A password in the URL is refused: the words of a
 * command line can be read by every user of the machine. */
#ifndef LETHE_CLI_REDIS_URL_H
#define LETHE_CLI_REDIS_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REDIS_ADDRESSES_LIMIT = 64,
    REDIS_HOST_BYTES = 256,
    REDIS_USER_BYTES = 512,
    REDIS_SHOWN_BYTES = 512,
    REDIS_DATABASE_LIMIT = 999999,
    REDIS_ADDRESS_SHOWN_BYTES = REDIS_HOST_BYTES + 16
};

struct redis_address {
    char host[REDIS_HOST_BYTES];
    uint16_t port;
};

struct redis_url {
    struct redis_address addresses[REDIS_ADDRESSES_LIMIT]; /* no two alike */
    size_t count;
    char user[REDIS_USER_BYTES]; /* empty: none is named */
    unsigned database;
    bool is_tls;
    char shown[REDIS_SHOWN_BYTES]; /* the addresses and the database, for messages */
};

/* Reads a URL. Returns EXIT_DONE, or EXIT_USAGE after saying what is wrong; that message has
 * nothing of the URL in it, which may have a password. */
int redis_url_parse(const char *text, struct redis_url *out);

/* Writes host:port, or [host]:port for an address of version 6. */
void redis_address_show(const struct redis_address *address, char out[REDIS_ADDRESS_SHOWN_BYTES]);

#endif
