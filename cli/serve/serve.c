/* serve.c - `lethe serve`: the command line of the server. */
#include "frame/commands.h"
#include "server/server.h"
#include "store/store.h"

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
        .listen = listen != NULL ? listen : "127.0.0.1:8420",
        .read_only = arguments_has(arguments, "read-only"),
        .hosts = arguments_text(arguments, "hosts"),
        .token_file = arguments_text(arguments, "token-file"),
        .tls_cert = arguments_text(arguments, "tls-cert"),
        .tls_key = arguments_text(arguments, "tls-key"),
        .insecure = arguments_has(arguments, "insecure"),
        .fields = arguments_text(arguments, "fields"),
        .cloud_fields = arguments_text(arguments, "cloud-fields"),
        .backups = arguments_text(arguments, "backups"),
        .logs_json = log != NULL && log[0] == 'j',
    };
    size_t ignored;
    int code = store_folder(arguments, &options.folder);
    if (code == EXIT_DONE) code = store_read_new(arguments, &store);
    if (code == EXIT_DONE) code = read_modes(arguments, &store);
    if (code == EXIT_DONE) code = arguments_choice(arguments, "log", &ignored);
    if (code == EXIT_DONE)
        code = arguments_size(arguments, "max-body", 1024, 1 << 30, &options.max_body_bytes);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "max-connections", 1, 65536, &options.max_connections);
    if (code == EXIT_DONE)
        code = arguments_count(arguments, "max-counters", 1, UINT64_MAX, &options.max_counters);
    return code == EXIT_DONE ? server_run(&options) : code;
}
