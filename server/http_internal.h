/* http_internal.h - what the files of http.h share. */
#ifndef LETHE_SERVER_HTTP_INTERNAL_H
#define LETHE_SERVER_HTTP_INTERNAL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "server/http.h"

enum { FORMER_LIMIT = 8 };

enum link_stage { LINK_IDLE = 0, LINK_BODY, LINK_ANSWERS };

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
    struct link *first;
};

void links_begin(struct links *links);
void links_end(struct links *links);
/* An MHD_NotifyConnectionCallback; the context is the links. */
void links_notify(void *context, struct MHD_Connection *connection, void **socket_context,
                  enum MHD_ConnectionNotificationCode code);
/* The connection does something else now, for so many seconds at most. */
void links_stage(struct MHD_Connection *connection, enum link_stage stage, double seconds);
void links_end_slow(struct links *links);

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
};

struct http {
    struct server *server;
    /* The one that takes connections, and those from before certificates were read again. */
    struct MHD_Daemon *daemon, *former[FORMER_LIMIT];
    size_t former_count;
    int listener;
    unsigned port;
    char *certificate, *key;
    struct links links;
    atomic_size_t exchanges;
    atomic_bool is_draining;
    struct live *live;
};

/* http_live.c: answers that go on. */
struct live *live_begin(struct server *server);
/* Answers a request with a stream. */
enum MHD_Result live_answer(struct live *live, struct exchange *exchange);
/* Ends all streams. */
void live_stop(struct live *live);
void live_end(struct live *live);

/* Starts a daemon of the library with a listening socket, which it owns from then on. */
struct MHD_Daemon *http_start_daemon(struct http *http, int listener);

/* Sends the answer of an exchange. */
enum MHD_Result http_send(struct exchange *exchange);
void http_add_headers(const struct exchange *exchange, struct MHD_Response *response);

#endif
