/* top.c - `lethe top`: the largest counters. */
#include "frame/commands.h"
#include "redis/usage.h"
#include "say/message.h"
#include "store/counters.h"
#include "usage/usage.h"

struct listing {
    struct counters counters;
    int code;
};

static bool print_one(void *context, lethe_bytes key, int64_t value) {
    struct listing *listing = context;
    listing->code = store_print(listing->counters.printing, key, value);
    return listing->code == EXIT_DONE;
}

static int check_period(const struct arguments *arguments) {
    bool has_by = arguments_has(arguments, "by"), has_at = arguments_has(arguments, "at");
    if (has_by != has_at)
        return arguments_fail(arguments, "--by and --at belong together: the periods, and a time "
                                         "in one of them");
    return EXIT_DONE;
}

static int print_table_period(const struct arguments *arguments, size_t number,
                              struct listing *listing) {
    struct redis_table *table = listing->counters.table;
    char name[REDIS_PERIOD_BYTES];
    uint64_t at_ms = 0, length_ms;
    int code = usage_read_time(arguments, "at", "", &at_ms);
    if (code == EXIT_DONE)
        code = redis_usage_by(table, arguments_text(arguments, "by"), &length_ms, name);
    if (code != EXIT_DONE) return code;
    return redis_top_at(table, length_ms, at_ms, number, print_one, listing);
}

/* The largest of one period. */
static int print_period(const struct arguments *arguments, size_t number, struct listing *listing) {
    static lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    const struct counters *counters = &listing->counters;
    uint64_t at_ms = 0;
    if (counters->table != NULL) return print_table_period(arguments, number, listing);
    (void)lethe_store_info(counters->store, &stats);
    int code = usage_read_time(arguments, "at", stats.zone, &at_ms);
    if (code != EXIT_DONE) return code;
    lethe_status status = lethe_store_top_at(counters->store, arguments_text(arguments, "by"),
                                             at_ms, number, print_one, listing);
    if (status == LETHE_OK)
        return usage_check_reach(counters->store, counters->name, arguments_text(arguments, "by"),
                                 at_ms);
    return store_fail_call(status, "read the usage of", counters->name, counters->store);
}

int run_top(const struct arguments *arguments) {
    struct listing listing = {.code = EXIT_DONE};
    uint64_t number = 20;
    int code = counters_check(arguments);
    if (code == EXIT_DONE) code = check_period(arguments);
    if (code == EXIT_DONE) code = arguments_count(arguments, "number", 1, 10000000, &number);
    if (code == EXIT_DONE) code = counters_open(arguments, false, &listing.counters);
    if (code != EXIT_DONE) return code;
    code = arguments_has(arguments, "by")
               ? print_period(arguments, (size_t)number, &listing)
               : counters_top(&listing.counters, (size_t)number, print_one, &listing);
    if (listing.code != EXIT_DONE) code = listing.code;
    return counters_close(&listing.counters, code);
}
