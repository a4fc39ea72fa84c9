/* http.c - takes requests in and sends answers; see http.h.
 *
 * IDEA    The library calls on_request when the headers are there, for each piece of the body, when
 *         the body is complete, and again when a connection that was suspended is resumed. What
 *         waits for the disk or runs elsewhere is suspended meanwhile, and takes no thread.
 * I1      A connection is suspended before its request is given away, since the other thread may
 *         resume it at once.
 * I2      A sender that is cut off while it sends may never see the answer. So a request that is
 *         refused before its body is read throws the body away if that is small; otherwise it is
 *         answered at once, and the connection lingers (http_linger.c). The library takes no
 *         answer in the middle of a body: one that turns out to be too large is read on.
 * I3      There are no more connections than may be. A daemon of the library has as many alone, and
 *         leaves others waiting. Those of several daemons, which a new certificate leads to, are
 *         counted here, and the library can only close one that is too many. */
#include "server/http.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "server/body.h"
#include "server/caps.h"
#include "server/http_internal.h"
#include "server/routes.h"
#include "server/state.h"

enum { DISCARDED_BYTES = 1 << 20 };

static const char *look_up_header(void *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static const char *look_up_argument(void *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

/* What an MHD_KeyValueIterator is given. */
struct walk {
    request_visit *visit;
    void *context;
};

static enum MHD_Result show_argument(void *context, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    const struct walk *walk = context;
    (void)kind;
    (void)value;
    walk->visit(walk->context, name != NULL ? name : "");
    return MHD_YES;
}

/* A request_walk. */
static void each_argument(void *connection, request_visit *visit, void *context) {
    struct walk walk = {.visit = visit, .context = context};
    (void)MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, show_argument, &walk);
}

/* Of the request in it. */
static struct exchange *exchange_of(struct request *request) {
    return (struct exchange *)((char *)request - offsetof(struct exchange, request));
}

static void add_header(struct MHD_Response *response, const char *name, const char *value) {
    (void)MHD_add_response_header(response, name, value);
}

void http_add_headers(const struct exchange *exchange, struct MHD_Response *response) {
    const struct request *request = &exchange->request;
    add_header(response, "Content-Type", request->type);
    add_header(response, "X-Content-Type-Options", "nosniff");
    if (request->policy != NULL) {
        add_header(response, "Content-Security-Policy", request->policy);
        add_header(response, "Referrer-Policy", "no-referrer");
    }
    if (request->tag[0] != '\0') add_header(response, "ETag", request->tag);
    add_header(response, "Cache-Control", request->tag[0] != '\0' ? "no-cache" : "no-store");
    if (request->asks_again) add_header(response, "Retry-After", "1");
    if (request->asks_token) add_header(response, "WWW-Authenticate", "Bearer");
    if (request->allow != NULL) add_header(response, "Allow", request->allow);
    if (exchange->closes || atomic_load(&exchange->http->is_draining))
        add_header(response, "Connection", "close");
}

enum MHD_Result http_send(struct exchange *exchange) {
    struct request *request = &exchange->request;
    if (request->answer.has_failed) {
        text_free(&request->answer);
        request_problem(request, 500, "Out of memory", "the answer is too large; ask for less");
    }
    struct text *answer = &request->answer;
    double size = (double)(request->file != NULL ? request->file_size : answer->size);
    links_stage(exchange->connection, LINK_SENDS, BODY_SECONDS + size / BODY_BYTES_PER_SECOND);
    struct MHD_Response *response =
        request->file != NULL
            ? MHD_create_response_from_buffer(request->file_size, (void *)(uintptr_t)request->file,
                                              MHD_RESPMEM_PERSISTENT)
            : MHD_create_response_from_buffer(answer->size, answer->data, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) return MHD_NO;
    if (request->file == NULL) *answer = (struct text){0}; /* it is the response's now */
    http_add_headers(exchange, response);
    enum MHD_Result result = MHD_queue_response(exchange->connection, request->status, response);
    MHD_destroy_response(response);
    return result;
}

void http_go_on(struct request *request) {
    struct exchange *exchange = exchange_of(request);
    request_leave(request);
    MHD_resume_connection(exchange->connection);
}

/* When the server ends, whatever still comes is not answered. */
static void refuse_late(struct request *request) {
    request_problem(request, 503, "Server is ending", "the server ends; send this again");
    request->asks_again = true;
}

void http_has_run(struct request *request) {
    body_free(request); /* before the answer waits for the disk, or for a slow reader */
    if (request->ticket != 0) {
        if (waiter_add(&request->server->waiter, request)) return;
        refuse_late(request);
    }
    http_go_on(request);
}

/* Whether a request takes long, or may wait: events do if the disk is so slow that the store can
 * take no more. If they waited here, nobody would be answered. */
static bool needs_worker(const struct request *request) {
    return request->route->is_slow || request->body.size > INLINE_BODY_BYTES ||
           request->header(request->connection, "Content-Encoding") != NULL ||
           (strcmp(request->route->method, "POST") == 0 &&
            waiter_is_slow(&request->server->waiter));
}

/* All other workers may wait for the disk when figures are wanted. In a reader they don't: there
 * it is figures that take long, since each looks at what was written meanwhile. */
static struct workers *workers_of(const struct request *request) {
    const struct route *route = request->route;
    bool is_reader = request->server->options->read_only;
    bool is_figures = route->run == answer_status || route->run == answer_metrics;
    return is_figures && !is_reader ? &request->server->figures : &request->server->workers;
}

/* Calls the function of the route, here or in another thread. */
static enum MHD_Result run(struct exchange *exchange) {
    struct request *request = &exchange->request;
    exchange->has_run = true;
    links_stage(exchange->connection, LINK_ANSWERS, 0);
    if (request->status == 0 && request->route->is_stream) {
        body_free(request); /* a stream may last for days */
        return live_answer(exchange->http->live, exchange);
    }
    if (request->status == 0 && needs_worker(request)) {
        MHD_suspend_connection(exchange->connection); /* I1 */
        if (workers_add(workers_of(request), request)) return MHD_YES;
        refuse_late(request);
        http_go_on(request);
        return MHD_YES;
    }
    if (request->status == 0) request->route->run(request);
    if (request->ticket == 0) {
        request_leave(request);
        body_free(request);
        return http_send(exchange);
    }
    MHD_suspend_connection(exchange->connection); /* I1 */
    http_has_run(request);
    return MHD_YES;
}

static enum MHD_Result begin(struct http *http, struct MHD_Connection *connection, const char *url,
                             const char *method, void **context) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange == NULL) return MHD_NO;
    *context = exchange;
    atomic_fetch_add(&http->exchanges, 1);
    exchange->connection = connection;
    exchange->http = http;
    struct request *request = &exchange->request;
    request->server = http->server;
    request->connection = connection;
    request->header = look_up_header;
    request->argument = look_up_argument;
    request->each_argument = each_argument;
    routes_find(request, method, url);
    uint64_t size, most = http->server->max_body_bytes;
    if (!headers_check(exchange, &size)) { /* where the body ends is not known */
        exchange->closes = exchange->has_run = exchange->lingers = true;
        return http_send(exchange);
    }
    if (request->status == 0 && size > most && size != UINT64_MAX) {
        request_problem(request, 413, "Content too large",
                        "the body is larger than %" PRIu64 " bytes; send several", most);
    }
    if (request->status == 0 && atomic_load(&http->is_draining)) refuse_late(request);
    exchange->discards = request->status != 0;
    if (exchange->discards && size > DISCARDED_BYTES) { /* I2 */
        exchange->has_run = exchange->closes = exchange->lingers = true;
        return http_send(exchange);
    }
    if (size == UINT64_MAX) size = most;
    links_stage(connection, LINK_BODY, BODY_SECONDS + (double)size / BODY_BYTES_PER_SECOND);
    return MHD_YES;
}

/* Takes a piece of the body. */
static enum MHD_Result take(struct exchange *exchange, const char *data, size_t size) {
    struct request *request = &exchange->request;
    uint64_t most = request->server->max_body_bytes;
    if (!exchange->discards && size > most - request->body.size) {
        request_problem(request, 413, "Content too large",
                        "the body is larger than %" PRIu64 " bytes; send several", most);
        exchange->discards = true;
    }
    if (!exchange->discards) {
        exchange->discards = !body_add(request, data, size);
        return MHD_YES;
    }
    exchange->discarded += size;
    return exchange->discarded > LINGER_BYTES ? MHD_NO : MHD_YES;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request_context) {
    struct http *http = context;
    struct exchange *exchange = *request_context;
    (void)version;
    if (exchange == NULL) return begin(http, connection, url, method, request_context);
    if (*size > 0) {
        enum MHD_Result result = take(exchange, data, *size);
        *size = 0;
        return result;
    }
    if (exchange->has_run) return http_send(exchange);
    if (exchange->request.body.has_failed) {
        request_problem(&exchange->request, 503, "Out of memory", "memory is short; send less");
    }
    return run(exchange);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode code) {
    struct http *http = context;
    struct exchange *exchange = *request_context;
    if (exchange == NULL) return;
    *request_context = NULL;
    if (exchange->lingers && code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
        linger_add(http->linger, connection, http->server->options->tls_cert != NULL);
    links_stage(connection, LINK_IDLE, IDLE_SECONDS);
    watch_answered(&http->server->watch, exchange->request.status);
    body_free(&exchange->request);
    text_free(&exchange->request.answer);
    free(exchange);
    atomic_fetch_sub(&http->exchanges, 1);
}

/* Escapes are left as they are: a key may have any byte, and routes.c unescapes it. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

/* An MHD_AcceptPolicyCallback. I3: threads that accept at the same moment may each accept one. */
static enum MHD_Result may_connect(void *context, const struct sockaddr *address,
                                   socklen_t length) {
    struct http *http = context;
    (void)address;
    (void)length;
    return atomic_load(&http->connections) < http->server->max_connections ? MHD_YES : MHD_NO;
}

/* 1.2 and later, in the words of GnuTLS; the library does not change it. */
static char tls_versions[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

/* What a daemon is told of TLS: nothing without a certificate. */
struct tls_options {
    struct MHD_OptionItem items[4];
};

static struct tls_options tls_options_of(const struct http *http) {
    if (http->certificate == NULL) return (struct tls_options){{{MHD_OPTION_END, 0, NULL}}};
    return (struct tls_options){{
        {MHD_OPTION_HTTPS_MEM_CERT, 0, http->certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, http->key},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, tls_versions},
        {MHD_OPTION_END, 0, NULL},
    }};
}

bool http_try_certificate(struct http *http) {
    struct tls_options tls = tls_options_of(http);
    if (http->certificate == NULL) return true;
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_TLS | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, on_request, http,
                         MHD_OPTION_ARRAY, tls.items, MHD_OPTION_END);
    if (daemon != NULL) MHD_stop_daemon(daemon);
    return daemon != NULL;
}

/* poll, and not epoll: with epoll, libmicrohttpd 0.9.75 takes the listening socket out of its set
 * both in MHD_quiesce_daemon and in its own threads, and ends the process when one comes after the
 * other. */
struct MHD_Daemon *http_start_daemon(struct http *http, struct links *links, int listener) {
    const struct server *server = http->server;
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO;
    struct tls_options tls = tls_options_of(http);
    if (http->certificate != NULL) flags |= MHD_USE_TLS;
    return MHD_start_daemon(
        flags, 0, may_connect, http, on_request, http, MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_THREAD_POOL_SIZE, server->threads, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)server->max_connections, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_MEMORY_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)STALL_SECONDS,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_NOTIFY_CONNECTION, links_notify,
        links, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_ARRAY, tls.items,
        MHD_OPTION_END);
}
