/* http.h - HTTP, by libmicrohttpd: connections, headers, bodies and answers.
 *
 * http.c takes requests in and sends answers, http_links.c knows the connections and ends slow
 * ones, http_live.c has the answers that go on. Nothing else in this folder knows the library. */
#ifndef LETHE_SERVER_HTTP_H
#define LETHE_SERVER_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "server/request.h"

struct server;
struct http;

/* Takes the address and reads the certificate, which may be wrong: before there is a store, since a
 * new one would stay. Answers nobody yet. Returns NULL with a message in problem. */
struct http *http_prepare(struct server *server, char *problem, size_t size);
/* Listens and serves. Returns false with a message in problem. */
bool http_begin(struct http *http, char *problem, size_t size);
/* The port that it listens at. */
unsigned http_port(const struct http *http);
/* New connections use what certificate and key files have now. Old ones go on as they are. */
bool http_reload(struct http *http, char *problem, size_t size);
/* Tokens were read again: ends the streams of those that are gone or were changed. */
void http_check_streams(struct http *http);
/* Ends connections whose senders or readers are too slow. Once a second. */
void http_tick(struct http *http);
/* Takes no new connections, and waits for requests under way, for some time at most. Does nothing
 * if it did not begin. */
void http_drain(struct http *http);
/* When no request waits for anything any more. Takes NULL. */
void http_end(struct http *http);

/* After the function of a request's route has run in another thread. */
void http_has_run(struct request *request);
/* The request has its answer. */
void http_go_on(struct request *request);

#endif
