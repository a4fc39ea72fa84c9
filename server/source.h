/* source.h - where figures come from if there is no store: the once-tables of a server.
 *
 * Whoever starts the server provides a source (cli/serve/redis.c). Nothing here knows how a source
 * asks, and a source knows nothing of HTTP. A source only reads. */
#ifndef LETHE_SERVER_SOURCE_H
#define LETHE_SERVER_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/store.h"

enum { SOURCE_PROBLEM_BYTES = 512, SOURCE_PER_BYTES = 160, SOURCE_BY_BYTES = 32 };

/* One table, as it was seen. What it points to stays as it is during the visit. */
struct source_table {
    lethe_bytes name;
    uint64_t partitions, missing;
    uint64_t applied, duplicates, refused;
    uint64_t ids, counters, memory_bytes, window_bytes, window_ms;
    /* The age of the oldest id, at most; and that of the partition where it is least, of those that
     * have ids. */
    uint64_t oldest_ms, kept_ms;
    double error_target;
    /* Of the worst partition. */
    double error_now;
    /* Since it was first seen. */
    double expected_lost;
    uint64_t claims_running, claims_done, holds_open;
    uint32_t strain;
    bool may_be_evicted, is_forgetful;
    /* Per which periods it counts: 1h,1d; empty: none. */
    char per[SOURCE_PER_BYTES];
};

/* What a look found out besides. */
struct source_look {
    /* Tables that there are and that are not shown, because there are too many. */
    uint64_t skipped;
    /* How long to rest before the next look, at least. */
    uint64_t rest_ms;
    /* After a failure: why. */
    char problem[SOURCE_PROBLEM_BYTES];
};

struct source_visitor {
    void *context;
    void (*on_table)(void *context, const struct source_table *table);
    /* A table that was asked for by its name and cannot be shown, and why. */
    void (*on_absent)(void *context, lethe_bytes name, const char *why);
};

enum source_result {
    SOURCE_DONE = 0,
    SOURCE_ABSENT,     /* there is no such table, or it is not one of those that are shown */
    SOURCE_BAD,        /* the question makes no sense for this table */
    SOURCE_DAMAGED,    /* what is there cannot be read */
    SOURCE_INCOMPLETE, /* partitions are missing, and what was visited lacks what they had */
    SOURCE_LOST        /* the server does not answer; it may later */
};

typedef bool source_visit(void *context, lethe_bytes key, int64_t value);

/* A reading of one table. */
struct source_reading {
    lethe_bytes table;
    /* After anything else than SOURCE_DONE: why. */
    char problem[SOURCE_PROBLEM_BYTES];
    /* usage: by which periods, as the answer names them; written before the first visit. */
    char by[SOURCE_BY_BYTES];
};

/* Any number of threads may read at the same time; one looks. */
struct source {
    void *context;
    /* Where it is, for people. */
    const char *shown;

    /* Looks at all tables. May take seconds. Returns false after a problem, and then what was seen
     * before stays. */
    bool (*look)(void *context, struct source_look *out);
    /* Calls the visitor with what the last look saw; waits for nothing. By the same thread. */
    void (*show)(void *context, const struct source_visitor *visitor);

    enum source_result (*get)(void *context, struct source_reading *reading, lethe_bytes key,
                              int64_t *value, bool *found);
    /* Counters in the order of their keys: the first `most` of those that begin so and do not come
     * before `from`. Only these are in memory meanwhile, a few times over. */
    enum source_result (*each)(void *context, struct source_reading *reading, lethe_bytes prefix,
                               lethe_bytes from, size_t most, source_visit *visit,
                               void *visit_context);
    /* The largest ones: of all time, or by a period (NULL: the first) at a time, if at_ms is not
     * 0. */
    enum source_result (*top)(void *context, struct source_reading *reading, const char *by,
                              uint64_t at_ms, size_t number, source_visit *visit,
                              void *visit_context);
    enum source_result (*usage)(void *context, struct source_reading *reading,
                                const lethe_usage_query *query, lethe_usage_visit visit,
                                void *visit_context);
};

#endif
