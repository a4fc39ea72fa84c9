/* client.h - requests to a server or a cluster, each repeated until it is acknowledged.
 *
 * Guarantee  A request is done when the server that has its slot has answered every command in it
 *            and, if replicas are to be waited for, a later WAIT on the same connection found
 *            enough of them. Until then it is sent again: after time-outs, lost connections, MOVED,
 *            ASK, TRYAGAIN, CLUSTERDOWN, LOADING, READONLY, NOREPLICAS and failovers. So a request
 *            may be executed several times, which must not matter, as with ONCE.* commands.
 * Limits     A request that is not acknowledged within retry_ms ends the client: its code is then
 *            EXIT_ENVIRONMENT. An error that repetition cannot fix (a wrong password, a certificate
 *            that is not trusted, no module, a wrong type, no memory) ends it at once.
 * Threads    One. Nothing is sent or received except within redis_client_work. */
#ifndef LETHE_CLI_REDIS_CLIENT_H
#define LETHE_CLI_REDIS_CLIENT_H

#include "redis/link.h"
#include "redis/slots.h"

struct redis_client_options {
    unsigned replicas; /* to wait for after writes */
    uint64_t retry_ms;
    bool waits_for_servers; /* at the beginning, for servers to which nobody can connect yet */
};

struct redis_client {
    const struct redis_access *access;
    struct redis_client_options options;
    int code; /* EXIT_DONE while it lives; otherwise the user was told why */
    bool is_cluster;
    struct redis_link **links; /* one for each server that was ever heard of */
    size_t link_count;
    size_t single;                      /* without a cluster: the server in use */
    uint16_t link_of_slot[REDIS_SLOTS]; /* in a cluster */
    bool needs_map;                     /* who has which slot is to be asked again */
    uint64_t mapped_ms;                 /* when it was last asked */
    uint64_t ask_ms;                    /* how long to wait for that answer */
    size_t next_asked;                  /* whom to ask next */
    struct redis_list waiting;          /* to be sent */
    size_t open_count;                  /* requests that are not done */
    uint64_t resent;                    /* how often one was sent again */
    uint64_t openings;    /* how often a connection was begun, or found that a key is gone */
    bool has_lost;        /* a key was gone */
    uint64_t patience_ms; /* retry_ms, or less after an interrupt */
    char problem[1024];   /* why something was last sent again, and by whom */
};

/* Connects, and asks a cluster for its slots. A server that takes the connection and does not
 * answer, or is not ready, is asked again for retry_ms. If nobody can connect, that is an error at
 * once, unless the options say to wait. Returns EXIT_DONE, or the code of what was wrong, after
 * saying so. access must outlive the client. */
int redis_client_open(const struct redis_access *access, const struct redis_client_options *options,
                      struct redis_client **out);
void redis_client_close(struct redis_client *client); /* takes NULL */

/* How many masters there are: 1 without a cluster. */
size_t redis_client_masters(const struct redis_client *client);

/* Takes a request in, which stays the caller's. */
void redis_client_submit(struct redis_client *client, struct redis_request *request);

/* Sends and hears what it can, waiting for at most timeout_ms if nothing can be done. Returns the
 * client's code. */
int redis_client_work(struct redis_client *client, int timeout_ms);

/* Works until a request that was submitted is done, or all are (NULL). Returns the client's
 * code. */
int redis_client_finish(struct redis_client *client, const struct redis_request *request);

#endif
