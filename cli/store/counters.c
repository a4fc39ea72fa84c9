/* counters.c - one way to counters, two places where they are. */
#include "store/counters.h"

#include "redis/lost.h"
#include "redis/read.h"
#include "say/message.h"

enum { RETRY_MS = 20000 };

int counters_check(const struct arguments *arguments) {
    static const char *const of_servers[] = {"user",     "password-file", "tls-ca",
                                             "tls-cert", "tls-key",       "tls-name"};
    bool has_store = arguments_has(arguments, "db"), has_server = arguments_has(arguments, "redis");
    if (has_store && has_server) {
        return arguments_fail(arguments, "--db and --redis cannot be used together");
    }
    if (!has_store && !has_server) {
        return arguments_fail(
            arguments,
            "--db DIR is missing: the folder of the store; or give --redis URL for a server");
    }
    if (has_store && arguments_has(arguments, "table")) {
        return arguments_fail(arguments, "--table needs --redis; a store is one table");
    }
    for (size_t i = 0; i < sizeof of_servers / sizeof of_servers[0] && has_store; i++) {
        if (!arguments_has(arguments, of_servers[i])) continue;
        return arguments_fail(arguments, "--%s needs --redis", of_servers[i]);
    }
    if (has_server && !arguments_has(arguments, "table")) {
        return arguments_fail(arguments, "--table T is missing: the table's name");
    }
    return EXIT_DONE;
}

int counters_open(const struct arguments *arguments, bool to_write, struct counters *out) {
    *out = (struct counters){.printing = {.json = arguments_has(arguments, "json")}};
    int code = counters_check(arguments);
    if (code != EXIT_DONE) return code;
    if (arguments_has(arguments, "redis")) {
        struct redis_table_options options = {.client.retry_ms = RETRY_MS};
        code = redis_table_open(arguments, &options, &out->table);
        if (code == EXIT_DONE) out->name = out->table->shown;
        return code;
    }
    out->name = arguments_text(arguments, "db");
    code = to_write ? store_open(out->name, NULL, &out->store)
                    : store_open_reader(arguments, &out->store);
    out->printing.scale = lethe_store_scale(out->store);
    return code;
}

int counters_close(struct counters *counters, int code) {
    if (counters->table == NULL) return store_close(counters->name, counters->store, code);
    int lost = EXIT_DONE;
    if (code == EXIT_DONE || code == EXIT_NEGATIVE) lost = redis_lost_check(counters->table);
    redis_table_close(counters->table);
    return lost != EXIT_DONE ? lost : code;
}

/* instead: what to do if a sketch cannot do that. */
static int check(struct counters *counters, lethe_status status, const char *attempt,
                 const char *instead) {
    if (status == LETHE_OK) return EXIT_DONE;
    if (status == LETHE_EINVAL && instead != NULL && store_has_sketch(counters->store)) {
        return message_fail(EXIT_USAGE, "%s keeps a sketch: %s", counters->name, instead);
    }
    return store_fail_call(status, attempt, counters->name, counters->store);
}

int counters_get(struct counters *counters, const lethe_bytes *keys, size_t count, int64_t *values,
                 bool *found) {
    if (counters->table != NULL) return redis_get(counters->table, keys, count, values, found);
    return check(counters, lethe_store_get(counters->store, keys, count, values, found),
                 "read the store", NULL);
}

int counters_estimate(struct counters *counters, const lethe_bytes *keys, size_t count,
                      lethe_estimate *estimates) {
    lethe_status status = LETHE_EINVAL;
    if (counters->table == NULL)
        status = lethe_store_estimate(counters->store, keys, count, estimates);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_USAGE, "%s has exact counters, which need no --bounds; leave it out",
                        counters->name);
}

int counters_delete(struct counters *counters, const lethe_bytes *keys, size_t count,
                    bool *existed) {
    if (counters->table != NULL) return redis_delete(counters->table, keys, count, existed);
    return check(counters, lethe_store_delete(counters->store, keys, count, existed),
                 "write the store",
                 "it has no counters to delete; count a delta below zero instead");
}

int counters_each(struct counters *counters, lethe_bytes prefix,
                  bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    if (counters->table != NULL) return redis_each(counters->table, prefix, visit, context);
    return check(counters, lethe_store_each(counters->store, prefix, visit, context),
                 "read the store",
                 "the keys are not stored; use 'lethe top', or 'lethe get' with keys");
}

int counters_top(struct counters *counters, size_t number,
                 bool (*visit)(void *, lethe_bytes, int64_t), void *context) {
    if (counters->table != NULL) return redis_top(counters->table, number, visit, context);
    return check(counters, lethe_store_top(counters->store, number, visit, context),
                 "read the store", NULL);
}
