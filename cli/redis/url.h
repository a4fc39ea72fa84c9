/* url.h - where servers are: redis://[user:password@]host[:port][,host[:port]...] */
#ifndef LETHE_CLI_REDIS_URL_H
#define LETHE_CLI_REDIS_URL_H

#include <stddef.h>
#include <stdint.h>

enum {
    REDIS_ADDRESSES_LIMIT = 64,
    REDIS_HOST_BYTES = 256,
    REDIS_SECRET_BYTES = 512,
    REDIS_SHOWN_BYTES = 512
};

struct redis_address {
    char host[REDIS_HOST_BYTES];
    uint16_t port;
};

struct redis_url {
    struct redis_address addresses[REDIS_ADDRESSES_LIMIT]; /* no two alike */
    size_t count;
    char user[REDIS_SECRET_BYTES], password[REDIS_SECRET_BYTES]; /* empty: none */
    char shown[REDIS_SHOWN_BYTES]; /* the addresses without the secrets, for messages */
};

/* Reads a URL. A password that it does not have is taken from the environment, REDISCLI_AUTH, where
 * other users of the machine can't see it. Returns EXIT_DONE, or EXIT_USAGE after saying what is
 * wrong; that message never has the password in it. */
int redis_url_parse(const char *text, struct redis_url *out);

#endif
