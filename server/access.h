/* access.h - who may do what: tokens and their scopes, and which Host and Origin are answered.
 *
 * A file of tokens has one token per line, after it its scopes, and a prefix of keys perhaps:
 *
 *   4f1c...e2  read,write
 *   9a07...51  write  prefix=tenant-7/
 *
 * Lines that begin with # are comments. A token has 16 to 255 visible ASCII characters, and one
 * line: a file that has it twice is refused. Scopes are read, write and admin (backups). A token
 * with a prefix reaches only keys that begin with it, and nothing that shows all keys.
 *
 * Guarantee  Tokens are compared in a time that does not depend on what they have in common.
 * Threads    Any number may ask; the sets of tokens that were replaced are kept until the end. */
#ifndef LETHE_SERVER_ACCESS_H
#define LETHE_SERVER_ACCESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lethe/hash.h"

enum { SCOPE_READ = 1, SCOPE_WRITE = 2, SCOPE_ADMIN = 4, SCOPE_ALL = 7 };

enum { TOKEN_LEAST_BYTES = 16, TOKEN_LIMIT_BYTES = 255, TOKENS_LIMIT = 1024 };

struct token {
    /* Padded with zeros. */
    unsigned char text[TOKEN_LIMIT_BYTES + 1];
    unsigned scopes;
    /* Of the file. */
    unsigned line;
    /* What keys must begin with; empty: any. */
    lethe_bytes prefix;
    struct token *next;
};

struct access {
    pthread_mutex_t lock;
    /* NULL while there is no file of tokens: everybody may do everything. */
    struct token_set *current;
    /* The sets that were replaced. */
    struct token_set *old;
    const char *path;
};

/* Reads the file at path, NULL for none. Returns false with a message in problem. */
bool access_init(struct access *access, const char *path, char *problem, size_t size);
/* Reads it again. If it is wrong, the tokens stay as they were. */
bool access_reload(struct access *access, char *problem, size_t size);
void access_free(struct access *access);

/* What the request with this Authorization header may do; NULL for an unknown token. What is
 * returned stays as long as access. */
const struct token *access_find(struct access *access, const char *authorization);

/* Whether what access_find returned some time ago is still so: the token is there, with the same
 * scopes and prefix. */
bool access_still(struct access *access, const struct token *token);

/* Whether the token reaches the key. */
bool access_reaches(const struct token *token, lethe_bytes key);

/* Whether a Host header names this server: one of hosts (a list with commas, may be NULL), an
 * address of this machine's loopback, localhost, or the address that it listens at. */
bool access_host_is_ours(const char *host, const char *hosts, const char *listens);
/* Whether an Origin is that of the host itself: scheme://host. */
bool access_origin_is_ours(const char *origin, const char *host, bool is_tls);

#endif
