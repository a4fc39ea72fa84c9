/* counters.h - counters wherever they are: in a store on disk (--db) or in a server (--redis).
 *
 * Commands that read and delete counters need not know which. Functions return EXIT_DONE, or the
 * exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_STORE_COUNTERS_H
#define LETHE_CLI_STORE_COUNTERS_H

#include "redis/table.h"
#include "store/store.h"

struct counters {
    const char *name; /* for messages */
    lethe_store *store;
    struct redis_table *table; /* one of the two */
    /* By --json and the store's scale; a table has whole numbers. */
    struct store_printing printing;
};

/* Whether --db, or --redis and --table, are given: one of the two places, and all of it. */
int counters_check(const struct arguments *arguments);

/* Opens what the options name: to read, or to write. */
int counters_open(const struct arguments *arguments, bool to_write, struct counters *out);

/* Closes, and says so if what was read of a table lacks partitions. Returns code, or, if that is of
 * no failure, what closing gave. */
int counters_close(struct counters *counters, int code);

int counters_get(struct counters *counters, const lethe_bytes *keys, size_t count, int64_t *values,
                 bool *found);
/* Of a store with a sketch only. */
int counters_estimate(struct counters *counters, const lethe_bytes *keys, size_t count,
                      lethe_estimate *estimates);
int counters_delete(struct counters *counters, const lethe_bytes *keys, size_t count,
                    bool *existed);
int counters_each(struct counters *counters, lethe_bytes prefix,
                  bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);
int counters_top(struct counters *counters, size_t number,
                 bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);

#endif
