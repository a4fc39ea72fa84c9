/* access.h - how servers are reached, and as whom: what the options, the URL, the environment and
 * files say about it.
 *
 * A password never stands on the command line. It is in a file (--password-file), or else in the
 * environment: LETHE_REDIS_PASSWORD, or REDISCLI_AUTH, as redis-cli has it. */
#ifndef LETHE_CLI_REDIS_ACCESS_H
#define LETHE_CLI_REDIS_ACCESS_H

#include "redis/text.h"
#include "redis/tls.h"
#include "redis/url.h"

struct arguments;

enum { REDIS_PASSWORD_BYTES = 8192 };

struct redis_access {
    struct redis_url url;
    char user[REDIS_USER_BYTES];         /* empty: the server's default one */
    char password[REDIS_PASSWORD_BYTES]; /* empty: none */
    struct redis_tls *tls;               /* NULL: without TLS */
};

/* Reads what the command line says, and what it names. Returns EXIT_DONE, or the exit code of what
 * is wrong, after saying so. */
int redis_access_read(const struct arguments *arguments, struct redis_access *out);
/* The same for a command whose options of TLS have a prefix, because its own are called so. */
int redis_access_read_as(const struct arguments *arguments, const char *prefix,
                         struct redis_access *out);
void redis_access_free(struct redis_access *access);

/* Writes the commands with which a connection begins: the password and, if it selects, the
 * database. Returns how many there are. */
size_t redis_access_greet(const struct redis_access *access, bool selects, struct redis_text *text);

#endif
