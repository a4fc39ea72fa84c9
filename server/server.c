/* server.c - begins and ends the server, and hears signals.
 *
 * IDEA    Signals are blocked in all threads. The main thread takes them one by one, and once a
 *         second looks after connections. SIGTERM and SIGINT end the server, SIGHUP has tokens and
 *         certificates read again.
 * I1      The end goes in an order in which nothing is left that could still be waited for: no new
 *         connections; requests under way are answered; workers, then the waiter; connections; the
 *         store, which commits what it still has. */
#include "server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "frame/exit_code.h"
#include "input/integer.h"
#include "say/message.h"
#include "server/caps.h"
#include "server/http.h"
#include "server/log.h"
#include "server/parsing.h"
#include "server/state.h"
#include "server/tables.h"

enum { PROBLEM_BYTES = 512 };

/* Reports to the service manager, if there is one, as sd_notify does. */
static void notify_manager(const char *state) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path) return;
    size_t size = strlen(path);
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') address.sun_path[0] = '\0';
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return;
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size);
    (void)sendto(descriptor, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
                 length);
    close(descriptor);
}

/* An address, and not a name that begins like one. */
static bool is_loopback(const char *listen) {
    struct in_addr address;
    char host[INET_ADDRSTRLEN] = "";
    size_t size = strcspn(listen, ":");
    if (size < sizeof host) memcpy(host, listen, size);
    return (strncmp(host, "127.", 4) == 0 && inet_pton(AF_INET, host, &address) == 1) ||
           strncmp(listen, "[::1]:", 6) == 0 || strncmp(listen, "localhost:", 10) == 0;
}

/* Whether it is HOST:PORT, with a port that there is. */
static bool is_address(const char *listen) {
    const char *colon = strrchr(listen, ':');
    uint64_t port;
    return colon != NULL && colon != listen &&
           integer_parse_natural((lethe_bytes){.data = colon + 1, .size = strlen(colon + 1)},
                                 &port) &&
           port <= UINT16_MAX;
}

static int check_options(const struct server_options *options) {
    if (!is_address(options->listen)) {
        return message_fail(EXIT_USAGE,
                            "--listen %s is not HOST:PORT, with a port from 0 to 65535; give one "
                            "such as 127.0.0.1:8420",
                            options->listen);
    }
    if ((options->tls_cert == NULL) != (options->tls_key == NULL))
        return message_fail(EXIT_USAGE, "--tls-cert and --tls-key belong together; give both");
    if (is_loopback(options->listen) || options->insecure) return EXIT_DONE;
    if (options->token_file != NULL && options->tls_cert != NULL) return EXIT_DONE;
    return message_fail(EXIT_USAGE,
                        "--listen %s can be reached from other machines: give --token-file, "
                        "--tls-cert and --tls-key, or --insecure if something else protects it",
                        options->listen);
}

/* What events may not have. The time comes last: not every store minds it. */
static const struct event_guard guards[] = {
    {"specversion", "1.0", "the specversion is not 1.0; send CloudEvents of version 1.0"},
    {"time", NULL,
     "the event has a time, which this store would not use: it counts per period by its own clock; "
     "leave 'time' out, or start the server with --ignore-time, or with a store that was made with "
     "--event-time"}};

/* The zone of times that do not say theirs; NULL: they are refused. That the periods are those of
 * UTC, where nobody named a zone, does not say what a local time is. */
static const char *zone_of_times(const struct server *server) {
    const char *given = server->options->store->zone;
    if (given != NULL) return given;
    return server->zone[0] != '\0' && strcmp(server->zone, "UTC") != 0 ? server->zone : NULL;
}

/* Fields of a format, with the time if the store goes by that. Where the store has periods, and
 * not by the time of events, one that says when it happened would be counted in another period.
 * Before there is a store, this says whether the fields make sense at all. */
static bool make_format(const struct server *server, const char *fields, bool is_cloud,
                        struct event_format *out, struct event_problem *problem) {
    bool minds_time =
        !server->event_time && server->per[0] != '\0' && !server->options->ignore_time;
    char all[EVENT_NAMES_BYTES];
    const char *usual = is_cloud ? "" : "id=id,key=key,delta=delta";
    const char *option = is_cloud ? "--cloud-fields" : EVENT_FIELDS_OPTION;
    if (fields == NULL) fields = usual;
    struct event_format_options options = {.kind = EVENTS_JSONL,
                                           .fields = fields[0] != '\0' ? fields : NULL,
                                           .fields_option = option,
                                           .zone = zone_of_times(server),
                                           .has_periods = true,
                                           .is_cloud = is_cloud,
                                           .takes_changes = !is_cloud,
                                           .takes_base64 = !is_cloud,
                                           .guards = is_cloud ? guards : guards + 1,
                                           .guard_count = (size_t)is_cloud + minds_time};
    if (!event_format_make(&options, out, problem)) return false;
    if (!server->event_time || event_format_has_time(out)) return true;
    int length = snprintf(all, sizeof all, "%s%stime=time", fields, fields[0] != '\0' ? "," : "");
    if ((size_t)length >= sizeof all) {
        event_problem_set(problem, "%s is too long; name less", option);
        return false;
    }
    options.fields = all;
    return event_format_make(&options, out, problem);
}

static bool make_formats(struct server *server, struct event_problem *problem) {
    const struct server_options *options = server->options;
    return make_format(server, options->fields, false, &server->json, problem) &&
           make_format(server, options->cloud_fields, true, &server->cloud, problem);
}

/* Whether a format is one of events for this store. */
static bool fit_format(const struct server *server, struct event_format *format,
                       struct event_problem *problem) {
    if (event_format_has_time(format) && !server->event_time) {
        event_problem_set(problem,
                          "%s names a time, and the store goes by its own clock; leave the time "
                          "out, or give a folder for a new store and --event-time",
                          format->fields_option);
        return false;
    }
    return event_format_set_scale(format, server->scale, problem);
}

/* What the store is like, which formats and answers depend on. */
static int learn(struct server *server) {
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    struct event_problem problem;
    (void)lethe_store_info(server->door.store, &stats);
    server->scale = stats.scale;
    server->event_time = stats.event_time;
    server->check_payload = stats.check_payload;
    server->has_sketch = stats.sketch_bytes > 0;
    if (server->event_time && server->options->ignore_time) {
        return message_fail(EXIT_USAGE,
                            "%s goes by the time of events, which --ignore-time is to ignore; "
                            "leave that out, or name another folder",
                            server->options->folder);
    }
    memcpy(server->per, stats.per, sizeof server->per);
    memcpy(server->zone, stats.zone, sizeof server->zone);
    const char *zone =
        server->zone[0] != '\0' && strcmp(server->zone, "UTC") != 0 ? server->zone : "+00:00";
    if (!event_zone_set(zone, &server->moments.zone, &problem) || !make_formats(server, &problem) ||
        !fit_format(server, &server->json, &problem) ||
        !fit_format(server, &server->cloud, &problem)) {
        return message_fail(EXIT_USAGE, "%s", problem.text);
    }
    return EXIT_DONE;
}

static int begin_tables(struct server *server) {
    struct event_problem problem;
    (void)event_zone_set("+00:00", &server->moments.zone, &problem);
    if (!workers_begin(&server->workers, WORKERS)) return message_fail_memory();
    server->tables = tables_begin(server, server->options->source);
    return server->tables != NULL ? EXIT_DONE : message_fail_memory();
}

/* The path of a folder, which need not be there yet: what is there of it without links, and then
 * the rest. False if not even the working folder is there. */
static bool resolve(const char *folder, char out[PATH_MAX]) {
    char there[PATH_MAX];
    size_t size = strlen(folder);
    if (size >= sizeof there) return false;
    memcpy(there, folder, size + 1);
    while (realpath(size > 0 ? there : ".", out) == NULL) {
        if (size == 0 || (size == 1 && there[0] == '/')) return false;
        while (size > 0 && there[size - 1] != '/')
            size--;
        while (size > 1 && there[size - 1] == '/')
            size--;
        there[size] = '\0';
    }
    const char *rest = folder + size;
    size_t used = strlen(out), left = strlen(rest);
    while (left > 0 && rest[left - 1] == '/')
        left--;
    while (left > 0 && *rest == '/') {
        rest++;
        left--;
    }
    if (left == 0) return true;
    const char *slash = out[used - 1] == '/' ? "" : "/";
    return used + 1 + left < PATH_MAX &&
           snprintf(out + used, PATH_MAX - used, "%s%.*s", slash, (int)left, rest) > 0;
}

/* Whether a folder is the store's or below it. Neither need be there yet. */
static bool is_within(const char *folder, const char *store) {
    char outer[PATH_MAX], inner[PATH_MAX];
    if (!resolve(store, outer) || !resolve(folder, inner)) return false;
    size_t size = strlen(outer);
    return strncmp(inner, outer, size) == 0 && (inner[size] == '\0' || inner[size] == '/');
}

static int begin_store(struct server *server) {
    const struct server_options *options = server->options;
    lethe_detail detail = {""};
    struct event_problem problem;
    /* A store that was made, and then not served, would keep what it was made with. */
    if (!make_formats(server, &problem)) return message_fail(EXIT_USAGE, "%s", problem.text);
    if (options->backups != NULL && is_within(options->backups, options->folder)) {
        return message_fail(EXIT_USAGE,
                            "--backups %s is in the store itself; name another folder, best on "
                            "another disk",
                            options->backups);
    }
    lethe_status status = door_open(&server->door, options->folder, options->store, &detail);
    if (status != LETHE_OK)
        return options->fail(status, "open the store", options->folder, &detail);
    if (detail.text[0] != '\0') log_warn("store_notice", "%s", detail.text);
    int code = learn(server);
    if (code != EXIT_DONE) return code;
    if (!waiter_begin(&server->waiter) || !workers_begin(&server->workers, WORKERS) ||
        !workers_begin(&server->figures, 1) || !watch_begin(&server->watch, server)) {
        return message_fail_memory();
    }
    return EXIT_DONE;
}

static int begin(struct server *server) {
    const struct server_options *options = server->options;
    char problem[PROBLEM_BYTES] = "";
    if (!access_init(&server->access, options->token_file, problem, sizeof problem))
        return message_fail(EXIT_ENVIRONMENT, "%s", problem);
    server->http = http_prepare(server, problem, sizeof problem);
    if (server->http == NULL) return message_fail(EXIT_ENVIRONMENT, "%s", problem);
    int code = options->source != NULL ? begin_tables(server) : begin_store(server);
    if (code != EXIT_DONE) return code;
    bool has_begun = http_begin(server->http, problem, sizeof problem);
    return has_begun ? EXIT_DONE : message_fail(EXIT_ENVIRONMENT, "%s", problem);
}

/* I1 */
static int end(struct server *server, int code) {
    lethe_detail detail = {""};
    if (server->http != NULL) http_drain(server->http);
    if (server->watch.server != NULL) watch_end(&server->watch);
    if (server->workers.last != NULL) workers_end(&server->workers);
    if (server->figures.last != NULL) workers_end(&server->figures);
    tables_end(server->tables);
    if (server->waiter.has_thread) waiter_end(&server->waiter);
    http_end(server->http);
    if (server->door.has_keeper) {
        lethe_status status = door_close(&server->door, &detail);
        if (status != LETHE_OK && code == EXIT_DONE)
            code =
                server->options->fail(status, "close the store", server->options->folder, &detail);
    }
    parsing_free_all(&server->batches);
    access_free(&server->access);
    return code;
}

static void reload(struct server *server) {
    char problem[PROBLEM_BYTES] = "";
    notify_manager("RELOADING=1");
    bool fine = access_reload(&server->access, problem, sizeof problem);
    http_check_streams(server->http);
    fine = fine && http_reload(server->http, problem, sizeof problem);
    if (fine)
        log_note("reloaded", "tokens and certificates were read again");
    else
        log_warn("reload_failed", "%s", problem);
    notify_manager("READY=1");
}

/* Until a signal ends it. */
static void serve(struct server *server, const sigset_t *signals) {
    const struct timespec second = {.tv_sec = 1};
    for (;;) {
        int number = sigtimedwait(signals, NULL, &second);
        http_tick(server->http); /* however often a signal comes */
        if (number == SIGHUP) {
            reload(server);
        } else if (number >= 0 && number != SIGPIPE) {
            log_note("ending", "ending: %s", strsignal(number));
            notify_manager("STOPPING=1");
            return;
        }
    }
}

static unsigned count_threads(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 2 ? 2 : count > 16 ? 16 : (unsigned)count;
}

int server_run(const struct server_options *options) {
    static struct server server;
    sigset_t signals;
    int code = check_options(options);
    if (code != EXIT_DONE) return code;
    log_begin(options->logs_json);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    server = (struct server){
        .options = options,
        .threads = count_threads(),
        .max_body_bytes = options->max_body_bytes > 0 ? options->max_body_bytes : MAX_BODY_BYTES,
        .max_connections =
            options->max_connections > 0 ? options->max_connections : MAX_CONNECTIONS,
        .max_holds = options->max_holds > 0 ? options->max_holds : MAX_HOLDS,
        .bodies = {.most = options->max_bodies_bytes},
        .checks_hosts = is_loopback(options->listen) || options->hosts != NULL};
    if (server.bodies.most == 0) server.bodies.most = BODIES_FACTOR * server.max_body_bytes;
    pthread_mutex_init(&server.batches.lock, NULL);
    code = begin(&server);
    if (code == EXIT_DONE) {
        log_note("started", "serving %s at %s://%.*s:%u", options->folder,
                 options->tls_cert != NULL ? "https" : "http",
                 (int)(strrchr(options->listen, ':') - options->listen), options->listen,
                 http_port(server.http));
        notify_manager("READY=1");
        serve(&server, &signals);
    }
    return end(&server, code);
}
