/* http_internal.h - what the files of http.h share. */
#ifndef LETHE_SERVER_HTTP_INTERNAL_H
#define LETHE_SERVER_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http.h"

enum { FORMER_LIMIT = 8 };

/* What a connection does: nothing, or its headers come; its body comes; somebody looks for its
 * answer, which takes as long as it takes; its answer is sent. */
enum link_stage { LINK_IDLE = 0, LINK_BODY, LINK_ANSWERS, LINK_SENDS };

/* A connection, as long as it lasts. */
struct link {
    struct links *links;
    int descriptor;
    enum link_stage stage;
    double deadline_s;
    struct link *next, **at;
};

struct links {
    pthread_mutex_t lock;
    /* How many connections there are, of all daemons. */
    atomic_size_t *open;
    struct link *first;
    /* The server ends. */
    bool hurries;
    /* These connections end: each as soon as it waits for no answer. */
    bool retires;
};

void links_begin(struct links *links, atomic_size_t *open);
void links_end(struct links *links);
/* An MHD_NotifyConnectionCallback; the context is the links. */
void links_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                  enum MHD_ConnectionNotificationCode code);
/* The connection does something else now, for so many seconds at most. */
void links_stage(struct MHD_Connection *connection, enum link_stage stage, double seconds);
void links_end_slow(struct links *links);
/* From now on nobody has more than a few seconds. */
void links_hurry(struct links *links);
/* Ends all connections but those that wait for an answer, which end when they have it. */
void links_retire(struct links *links);
/* Whether a connection is one that ends. */
bool links_is_retired(struct MHD_Connection *connection);

/* One request while it is carried. */
struct exchange {
    struct request request;
    struct MHD_Connection *connection;
    struct http *http;
    bool has_run;
    /* Its body is thrown away. */
    bool discards;
    size_t discarded;
    /* The connection ends with the answer. */
    bool closes;
    /* It is answered while its body is still coming. */
    bool lingers;
};

/* A daemon of the library, and its connections. */
struct carrier {
    struct MHD_Daemon *daemon;
    struct links links;
};

struct http {
    struct server *server;
    /* The one that takes connections, and those from before certificates changed, oldest first. */
    struct carrier *carrier, *former[FORMER_LIMIT];
    size_t former_count;
    int listener;
    unsigned port;
    char *certificate, *key;
    atomic_size_t exchanges, connections;
    atomic_bool is_draining;
    struct live *live;
    struct lingers *linger;
};

/* http_linger.c: senders that were answered early, and go on sending. NULL if memory is short. */
struct lingers *linger_begin(void);
/* Keeps the connection, whose answer was sent and which is about to be closed. */
void linger_add(struct lingers *linger, struct MHD_Connection *connection, bool is_tls);
void linger_end(struct lingers *linger); /* takes NULL */

/* http_live.c: answers that go on. */
struct live *live_begin(struct server *server);
/* Answers a request with a stream. */
enum MHD_Result live_answer(struct live *live, struct exchange *exchange);
/* Ends the streams whose tokens are gone, or may do something else by now. */
void live_check(struct live *live);
/* Ends the streams whose connections end. */
void live_retire(struct live *live);
/* Ends all streams. */
void live_stop(struct live *live);
void live_end(struct live *live);

/* Starts a daemon of the library with a listening socket, which it owns from then on. */
struct MHD_Daemon *http_start_daemon(struct http *http, struct links *links, int listener);
/* Whether a daemon could use the certificate and its key. */
bool http_try_certificate(struct http *http);

/* http_headers.c: answers what can be read in two ways with a problem. Returns false if the end of
 * the body cannot be known; otherwise *size is the body's, UINT64_MAX if it comes in pieces. */
bool headers_check(struct exchange *exchange, uint64_t *size);

/* Sends the answer of an exchange. */
enum MHD_Result http_send(struct exchange *exchange);
void http_add_headers(const struct exchange *exchange, struct MHD_Response *response);

#endif
