/* http_listen.c - begins and ends listening: the socket, certificates, draining.
 *
 * WHY     Certificates belong to a daemon of the library. When they are read again a second daemon
 *         takes the same socket over; the first one goes on with the connections that it has, and
 *         is ended when it has none.
 * I1      Certificates can always be changed, whatever connections stay open: there are only so
 *         many daemons, and of the oldest one the connections are ended in time. Those that are the
 *         same as before need no new daemon. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "frame/clock.h"
#include "server/caps.h"
#include "server/http_internal.h"
#include "server/log.h"
#include "server/state.h"

enum { BACKLOG = 1024, FILE_LIMIT_BYTES = 1 << 20, RETIRE_SECONDS = 2 };

/* All of a file, with a NUL after it. */
static char *read_file(const char *path, char *problem, size_t size) {
    FILE *file = fopen(path, "re");
    char *text = file != NULL ? malloc(FILE_LIMIT_BYTES + 1) : NULL;
    size_t length = text != NULL ? fread(text, 1, FILE_LIMIT_BYTES + 1, file) : 0;
    bool fine = text != NULL && !ferror(file) && length > 0 && length <= FILE_LIMIT_BYTES;
    if (!fine) snprintf(problem, size, "cannot read %s: %s", path, strerror(errno));
    if (fine) text[length] = '\0';
    if (file != NULL) fclose(file);
    if (!fine) free(text);
    return fine ? text : NULL;
}

/* Reads the certificate and its key into *certificate and *key, which stay NULL without TLS. */
static bool read_certificate(const struct server_options *options, char **certificate, char **key,
                             char *problem, size_t size) {
    *certificate = *key = NULL;
    if (options->tls_cert == NULL) return true;
    *certificate = read_file(options->tls_cert, problem, size);
    if (*certificate != NULL) *key = read_file(options->tls_key, problem, size);
    if (*key != NULL) return true;
    free(*certificate);
    *certificate = NULL;
    return false;
}

/* Splits HOST:PORT. */
static bool split(const char *listen, char *host, size_t room, const char **port) {
    const char *colon = strrchr(listen, ':');
    size_t size = colon != NULL ? (size_t)(colon - listen) : 0;
    if (size == 0 || size >= room || colon[1] == '\0') return false;
    size_t bracket = listen[0] == '[' && listen[size - 1] == ']';
    memcpy(host, listen + bracket, size - 2 * bracket);
    host[size - 2 * bracket] = '\0';
    *port = colon + 1;
    return true;
}

static int open_socket(const struct addrinfo *address) {
    int on = 1, descriptor = socket(address->ai_family,
                                    address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -1;
    (void)setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

static bool take_address(struct http *http, const char *where, char *problem, size_t size) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    char host[256], service[16];
    const char *port;
    if (!split(where, host, sizeof host, &port)) {
        snprintf(problem, size, "--listen %s is not HOST:PORT; give one such as 127.0.0.1:8420",
                 where);
        return false;
    }
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0) {
        snprintf(problem, size, "cannot listen at %s: %s", where, gai_strerror(error));
        return false;
    }
    http->listener = open_socket(found);
    if (http->listener < 0)
        snprintf(problem, size, "cannot listen at %s: %s", where, strerror(errno));
    freeaddrinfo(found);
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (http->listener < 0) return false;
    if (getsockname(http->listener, (struct sockaddr *)&bound, &length) == 0 &&
        getnameinfo((struct sockaddr *)&bound, length, NULL, 0, service, sizeof service,
                    NI_NUMERICSERV) == 0) {
        http->port = (unsigned)strtoul(service, NULL, 10);
    }
    return true;
}

/* Stops taking connections; the library no longer closes the socket, so that is done here. */
static void quiesce(struct MHD_Daemon *daemon) {
    MHD_socket listener = MHD_quiesce_daemon(daemon);
    if (listener != MHD_INVALID_SOCKET) close(listener);
}

static void end_carrier(struct carrier *carrier) {
    if (carrier == NULL) return;
    if (carrier->daemon != NULL) MHD_stop_daemon(carrier->daemon);
    links_end(&carrier->links);
    free(carrier);
}

/* A daemon with the certificate, for the socket. NULL if it cannot be. */
static struct carrier *begin_carrier(struct http *http) {
    struct carrier *carrier = calloc(1, sizeof *carrier);
    if (carrier == NULL) return NULL;
    links_begin(&carrier->links, &http->connections);
    int listener = dup(http->listener);
    /* If the library fails, it has closed the socket. To close it again could close another
     * thread's. */
    if (listener >= 0) carrier->daemon = http_start_daemon(http, &carrier->links, listener);
    if (carrier->daemon != NULL) return carrier;
    end_carrier(carrier);
    return NULL;
}

static void say_unusable(const struct http *http, char *problem, size_t size) {
    snprintf(problem, size, "cannot start to serve%s",
             http->certificate != NULL ? ": check the certificate and its key" : "");
}

struct http *http_prepare(struct server *server, char *problem, size_t size) {
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        snprintf(problem, size, "memory is short");
        return NULL;
    }
    http->server = server;
    http->listener = -1;
    bool fine = read_certificate(server->options, &http->certificate, &http->key, problem, size) &&
                take_address(http, server->options->listen, problem, size);
    if (fine && http_try_certificate(http)) return http;
    if (fine) say_unusable(http, problem, size);
    http_end(http);
    return NULL;
}

bool http_begin(struct http *http, char *problem, size_t size) {
    if (listen(http->listener, BACKLOG) != 0) { /* another program has taken it meanwhile */
        snprintf(problem, size, "cannot listen at %s: %s", http->server->options->listen,
                 strerror(errno));
        return false;
    }
    http->live = live_begin(http->server);
    http->linger = linger_begin();
    if (http->live != NULL && http->linger != NULL) http->carrier = begin_carrier(http);
    if (http->carrier == NULL) say_unusable(http, problem, size);
    return http->carrier != NULL;
}

unsigned http_port(const struct http *http) {
    return http->port;
}

/* Ends those that have no connection left. */
static void end_former(struct http *http) {
    size_t kept = 0;
    for (size_t i = 0; i < http->former_count; i++) {
        const union MHD_DaemonInfo *info =
            MHD_get_daemon_info(http->former[i]->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
        if (info == NULL || info->num_connections > 0)
            http->former[kept++] = http->former[i];
        else
            end_carrier(http->former[i]);
    }
    http->former_count = kept;
}

/* I1. Of the oldest one the connections were ended before; its last answers may take a moment. */
static bool has_room(struct http *http) {
    double until = clock_seconds() + RETIRE_SECONDS;
    struct timespec pause = {.tv_nsec = 5000000};
    for (end_former(http); http->former_count == FORMER_LIMIT; end_former(http)) {
        if (clock_seconds() >= until) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* The daemon that takes connections becomes a former one. */
static void succeed(struct http *http, struct carrier *carrier) {
    quiesce(http->carrier->daemon);
    http->former[http->former_count++] = http->carrier;
    http->carrier = carrier;
    if (http->former_count < FORMER_LIMIT) return;
    links_retire(&http->former[0]->links); /* I1 */
    live_retire(http->live);
}

bool http_reload(struct http *http, char *problem, size_t size) {
    char *certificate, *key, *old_certificate = http->certificate, *old_key = http->key;
    if (http->certificate == NULL) return true;
    if (!read_certificate(http->server->options, &certificate, &key, problem, size)) return false;
    if (certificate == NULL) return true; /* none is asked for */
    bool is_same = strcmp(certificate, old_certificate) == 0 && strcmp(key, old_key) == 0;
    bool fine = is_same || has_room(http);
    struct carrier *carrier = NULL;
    if (!fine) {
        snprintf(problem, size,
                 "requests from before the last %d changes are not answered yet; the certificate "
                 "stays, send SIGHUP again",
                 FORMER_LIMIT);
    } else if (!is_same) {
        http->certificate = certificate;
        http->key = key;
        carrier = begin_carrier(http);
        fine = carrier != NULL;
        if (!fine)
            snprintf(problem, size, "the new certificate or key cannot be used; the old ones stay");
    }
    if (carrier != NULL) {
        succeed(http, carrier);
        certificate = old_certificate;
        key = old_key;
    } else {
        http->certificate = old_certificate;
        http->key = old_key;
    }
    free(certificate);
    free(key);
    return fine;
}

void http_check_streams(struct http *http) {
    live_check(http->live);
}

/* All connections, of all daemons. */
static void each_links(struct http *http, void (*act)(struct links *links)) {
    act(&http->carrier->links);
    for (size_t i = 0; i < http->former_count; i++) {
        act(&http->former[i]->links);
    }
}

void http_tick(struct http *http) {
    each_links(http, links_end_slow);
    end_former(http);
}

void http_drain(struct http *http) {
    double until = clock_seconds() + DRAIN_SECONDS;
    struct timespec pause = {.tv_nsec = 5000000};
    if (http->carrier == NULL) return;
    atomic_store(&http->is_draining, true);
    quiesce(http->carrier->daemon);
    live_stop(http->live);
    each_links(http, links_hurry);
    while (atomic_load(&http->exchanges) > 0 && clock_seconds() < until) {
        nanosleep(&pause, NULL);
        each_links(http, links_end_slow);
    }
}

void http_end(struct http *http) {
    if (http == NULL) return;
    if (http->live != NULL) live_stop(http->live);
    while (http->former_count > 0) {
        end_carrier(http->former[--http->former_count]);
    }
    end_carrier(http->carrier);
    linger_end(http->linger);
    if (http->live != NULL) live_end(http->live);
    if (http->listener >= 0) close(http->listener);
    free(http->certificate);
    free(http->key);
    free(http);
}
