/* serve.c - `lethe serve`: the command line of the server. */
#include "frame/commands.h"
#include "serve/redis.h"
#include "server/server.h"
#include "store/store.h"

/* What a store is opened with, and what events are; and how Redis is reached. */
static const char *const of_stores[] = {"read-only",     "fields",    "cloud-fields", "backups",
                                        "window",        "error",     "memory",       "exact",
                                        "check-payload", "forever",   "event-time",   "ignore-time",
                                        "scale",         "per",       "zone",         "keep",
                                        "max-counters",  "max-holds", "max-body",     "max-bodies"};
static const char *const of_redis[] = {"table",         "user",           "password-file",
                                       "redis-tls-ca",  "redis-tls-cert", "redis-tls-key",
                                       "redis-tls-name"};

/* Either a store or Redis, and only the options of that. */
static int check_place(const struct arguments *arguments) {
    bool has_store = arguments_has(arguments, "db"), has_redis = arguments_has(arguments, "redis");
    if (has_store && has_redis)
        return arguments_fail(arguments, "--db and --redis cannot be used together");
    if (!has_store && !has_redis) {
        return arguments_fail(arguments, "--db DIR is missing: the folder of the store; or give "
                                         "--redis URL to show the tables of a server");
    }
    for (size_t i = 0; i < sizeof of_stores / sizeof of_stores[0] && has_redis; i++) {
        if (arguments_has(arguments, of_stores[i]))
            return arguments_fail(arguments, "--%s needs --db; with --redis tables are only shown",
                                  of_stores[i]);
    }
    for (size_t i = 0; i < sizeof of_redis / sizeof of_redis[0] && has_store; i++) {
        if (arguments_has(arguments, of_redis[i]))
            return arguments_fail(arguments, "--%s needs --redis", of_redis[i]);
    }
    if (arguments_has(arguments, "event-time") && arguments_has(arguments, "ignore-time"))
        return arguments_fail(arguments, "--event-time and --ignore-time cannot be used together");
    if (arguments_has(arguments, "forever") &&
        (arguments_has(arguments, "exact") || arguments_has(arguments, "check-payload"))) {
        return arguments_fail(arguments,
                              "--forever cannot be used with --exact or --check-payload: "
                              "a ledger cannot be searched exactly");
    }
    return EXIT_DONE;
}

static int serve_redis(const struct arguments *arguments, struct server_options *options) {
    struct redis_source *source;
    int code = redis_source_open(arguments, &source, &options->source);
    if (code != EXIT_DONE) return code;
    options->folder = options->source->shown;
    options->read_only = true;
    code = server_run(options);
    redis_source_close(source);
    return code;
}

static int read_modes(const struct arguments *arguments, lethe_store_options *options) {
    int code =
        arguments_size(arguments, "memory", 1 << 16, UINT64_C(1) << 50, &options->max_memory_bytes);
    if (arguments_has(arguments, "exact")) options->exact = LETHE_SWITCH_ON;
    if (arguments_has(arguments, "check-payload")) options->check_payload = LETHE_SWITCH_ON;
    if (arguments_has(arguments, "forever")) options->forever = LETHE_SWITCH_ON;
    if (arguments_has(arguments, "event-time")) options->event_time = LETHE_SWITCH_ON;
    options->read_only = arguments_has(arguments, "read-only");
    if (options->read_only) options->create = false;
    return code;
}

int run_serve(const struct arguments *arguments) {
    lethe_store_options store = LETHE_INIT(lethe_store_options);
    const char *listen = arguments_text(arguments, "listen");
    const char *log = arguments_text(arguments, "log");
    struct server_options options = {
        .store = &store,
        .fail = store_fail,
        .listen = listen != NULL ? listen : "127.0.0.1:8420",
        .read_only = arguments_has(arguments, "read-only"),
        .hosts = arguments_text(arguments, "hosts"),
        .token_file = arguments_text(arguments, "token-file"),
        .tls_cert = arguments_text(arguments, "tls-cert"),
        .tls_key = arguments_text(arguments, "tls-key"),
        .insecure = arguments_has(arguments, "insecure"),
        .fields = arguments_text(arguments, "fields"),
        .cloud_fields = arguments_text(arguments, "cloud-fields"),
        .ignore_time = arguments_has(arguments, "ignore-time"),
        .backups = arguments_text(arguments, "backups"),
        .logs_json = log != NULL && log[0] == 'j',
    };
    size_t ignored;
    int code = check_place(arguments);
    bool has_redis = arguments_has(arguments, "redis");
    if (code == EXIT_DONE && !has_redis) code = store_folder(arguments, &options.folder);
    if (code == EXIT_DONE && !has_redis) code = store_read_new(arguments, &store);
    if (code == EXIT_DONE && !has_redis) code = read_modes(arguments, &store);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "log", &ignored);
    if (code == EXIT_DONE)
        code = arguments_size(arguments, "max-body", 1024, 1 << 30, &options.max_body_bytes);
    if (code == EXIT_DONE)
        code = arguments_size(arguments, "max-bodies", 1 << 16, UINT64_C(1) << 50,
                              &options.max_bodies_bytes);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "max-connections", 1, 65536, &options.max_connections);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "max-counters", 1, UINT64_MAX, &options.max_counters);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "max-holds", 1, UINT64_MAX, &options.max_holds);
    if (code != EXIT_DONE) return code;
    return has_redis ? serve_redis(arguments, &options) : server_run(&options);
}
