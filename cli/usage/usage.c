/* usage.c - `lethe usage`: what counters got in each period. */
#include "usage/usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame/commands.h"
#include "redis/usage.h"
#include "say/escape.h"
#include "say/message.h"
#include "store/counters.h"

static int check_forms(const struct arguments *arguments) {
    static const char *const forms[] = {"json", "csv", "plot", "svg"};
    const char *given = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (!arguments_has(arguments, forms[i])) continue;
        if (given != NULL) {
            return arguments_fail(arguments, "--%s and --%s cannot be used together", given,
                                  forms[i]);
        }
        given = forms[i];
    }
    if (arguments_has(arguments, "prefix") && arguments->operand_count > 0)
        return arguments_fail(arguments, "give keys, or --prefix, and not both");
    return EXIT_DONE;
}

static int read_prefix(const struct arguments *arguments, char *room, size_t size,
                       lethe_usage_query *query) {
    const char *prefix = arguments_text(arguments, "prefix");
    if (prefix == NULL) return EXIT_DONE;
    lethe_bytes text = {.data = prefix, .size = strlen(prefix)};
    if (text.size > size)
        return message_fail(EXIT_USAGE, "--prefix is longer than any key; give a shorter one");
    return store_read_key(text, EXIT_USAGE, room, &query->prefix);
}

/* The resolution's name as the store has it: 60m is 1h. */
static const char *name_of(const char *by, const lethe_store_stats *stats, char *out, size_t size) {
    if (by == NULL) {
        snprintf(out, size, "%.*s", (int)strcspn(stats->per, ","), stats->per);
        return out;
    }
    return strcmp(by, "60m") == 0 || strcmp(by, "60min") == 0 || strcmp(by, "3600s") == 0 ? "1h"
                                                                                          : by;
}

/* Where the counters are: a store, or a table in a server. */
struct source {
    lethe_store *store;
    struct redis_table *table;
    const char *name;
    /* The resolution, as it is printed, and its length in a table. */
    const char *by;
    uint64_t length_ms;
};

static int visit_rows(const struct source *source, const lethe_usage_query *query,
                      lethe_usage_visit visit, void *context) {
    if (source->table != NULL) {
        struct redis_usage_query asked = {.by = query->by,
                                          .from_ms = query->from_ms,
                                          .to_ms = query->to_ms,
                                          .keys = query->keys,
                                          .key_count = query->key_count,
                                          .prefix = query->prefix};
        return redis_usage(source->table, &asked, source->length_ms, visit, context);
    }
    lethe_status status = lethe_store_usage(source->store, query, visit, context);
    if (status == LETHE_OK) return EXIT_DONE;
    return store_fail_call(status, "read the usage of", source->name, source->store);
}

static int run_query(const struct arguments *arguments, const struct source *source,
                     const lethe_usage_query *query) {
    bool plots = arguments_has(arguments, "plot");
    const char *svg = arguments_text(arguments, "svg");
    unsigned scale = source->store != NULL ? lethe_store_scale(source->store) : 0;
    struct usage_printer printer = {.by = source->by,
                                    .scale = scale,
                                    .json = arguments_has(arguments, "json"),
                                    .csv = arguments_has(arguments, "csv")};
    struct usage_gathered gathered = {.by = source->by, .scale = scale};
    bool draws = plots || svg != NULL;
    int code = draws ? EXIT_DONE : usage_print_heading(&printer);
    if (code != EXIT_DONE) return code;
    code = draws ? visit_rows(source, query, usage_gather_row, &gathered)
                 : visit_rows(source, query, usage_print_row, &printer);
    if (code == EXIT_DONE) code = printer.code != EXIT_DONE ? printer.code : gathered.code;
    if (code == EXIT_DONE && plots) code = usage_plot(&gathered);
    if (code == EXIT_DONE && svg != NULL) code = usage_draw(&gathered, svg);
    usage_gathered_free(&gathered);
    return code;
}

/* Reads the times, in the zone of the store, and prints what is asked for. */
static int run_with(const struct arguments *arguments, const struct source *source,
                    const char *zone, lethe_usage_query *query) {
    int code = usage_read_time(arguments, "from", zone, &query->from_ms);
    if (code == EXIT_DONE) code = usage_read_time(arguments, "to", zone, &query->to_ms);
    /* 0 would be no end, and is before the first moment. */
    bool has_end = arguments_has(arguments, "to");
    if (code == EXIT_DONE && has_end && query->from_ms >= query->to_ms)
        code = arguments_fail(arguments, "--to is not after --from");
    return code == EXIT_DONE ? run_query(arguments, source, query) : code;
}

static int run_store(const struct arguments *arguments, const struct counters *counters,
                     lethe_usage_query *query) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    char name[32];
    (void)lethe_store_info(counters->store, &stats);
    struct source source = {.store = counters->store,
                            .name = counters->name,
                            .by = name_of(query->by, &stats, name, sizeof name)};
    return run_with(arguments, &source, stats.zone, query);
}

/* The periods of a server are those of UTC. */
static int run_table(const struct arguments *arguments, const struct counters *counters,
                     lethe_usage_query *query) {
    char name[REDIS_PERIOD_BYTES];
    struct source source = {.table = counters->table, .name = counters->name, .by = name};
    int code = redis_usage_by(counters->table, query->by, &source.length_ms, name);
    return code == EXIT_DONE ? run_with(arguments, &source, "", query) : code;
}

int run_usage(const struct arguments *arguments) {
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    char prefix[ESCAPE_FACTOR * LETHE_KEY_LIMIT_BYTES];
    lethe_bytes *keys = NULL;
    struct counters counters;
    int code = check_forms(arguments);
    if (code == EXIT_DONE) code = counters_check(arguments);
    if (code == EXIT_DONE) code = read_prefix(arguments, prefix, sizeof prefix, &query);
    if (code == EXIT_DONE)
        code = store_read_keys(arguments->operands, arguments->operand_count, &keys);
    if (code == EXIT_DONE) code = counters_open(arguments, false, &counters);
    if (code != EXIT_DONE) {
        free(keys);
        return code;
    }
    query.by = arguments_text(arguments, "by");
    query.keys = keys;
    query.key_count = arguments->operand_count;
    code = (counters.table != NULL ? run_table : run_store)(arguments, &counters, &query);
    free(keys);
    return counters_close(&counters, code);
}
