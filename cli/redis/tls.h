/* tls.h - TLS beneath the connections to servers.
 *
 * Guarantee  Nothing is sent to a server before its certificate was checked: that a trusted
 *            authority signed it, that it is valid today, and that it is for the host that was
 *            meant. There is no way around the check. Who has a certificate of his own making gives
 *            that as --tls-ca; who reaches a server by another name than its certificate has gives
 *            that name as --tls-name.
 * Threads    One. Nothing here waits: what cannot be done yet is REDIS_TLS_AGAIN. */
#ifndef LETHE_CLI_REDIS_TLS_H
#define LETHE_CLI_REDIS_TLS_H

#include <stdbool.h>
#include <stddef.h>

enum { REDIS_WHY_BYTES = 700 };

/* What all connections share: whom to trust, and who we are. */
struct redis_tls;

/* Each may be NULL. */
struct redis_tls_options {
    const char *ca;                /* a file or a folder of certificates; NULL: the system's */
    const char *certificate, *key; /* files: who we are */
    const char *name;              /* what the servers' certificates are for; NULL: their hosts */
};

/* Reads the files. Returns EXIT_DONE, or the exit code of what is wrong, after saying so. */
int redis_tls_new(const struct redis_tls_options *options, struct redis_tls **out);
void redis_tls_free(struct redis_tls *tls); /* takes NULL */

/* One connection. */
struct redis_tls_session;

/* Begins with a connected socket, which stays the caller's. NULL when memory is short. */
struct redis_tls_session *redis_tls_begin(struct redis_tls *tls, int descriptor, const char *host);
void redis_tls_end(struct redis_tls_session *session); /* takes NULL */

enum redis_tls_result {
    REDIS_TLS_DONE,
    REDIS_TLS_AGAIN,  /* when the socket can be read, or written if that is wanted */
    REDIS_TLS_LOST,   /* the connection is gone */
    REDIS_TLS_REFUSED /* one side refuses the other, and will do so again */
};

/* For the last two results why becomes what happened and, if there is one, the remedy. */
enum redis_tls_result redis_tls_shake_hands(struct redis_tls_session *session,
                                            char why[REDIS_WHY_BYTES]);
enum redis_tls_result redis_tls_read(struct redis_tls_session *session, void *data, size_t room,
                                     size_t *size, char why[REDIS_WHY_BYTES]);
enum redis_tls_result redis_tls_write(struct redis_tls_session *session, const void *data,
                                      size_t size, size_t *written, char why[REDIS_WHY_BYTES]);

/* Whether the last call waits until the socket can be written. */
bool redis_tls_wants_to_write(const struct redis_tls_session *session);

#endif
