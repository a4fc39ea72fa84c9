/* usage.h - what the counters of a table in a server got in each period: the sum over the table's
 * partitions. usage.c has the essay.
 *
 * What partitions that are missing had is not in it: redis_lost_check (redis/lost.h), when all is
 * read, says so.
 *
 * Functions return EXIT_DONE, or the exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_REDIS_USAGE_H
#define LETHE_CLI_REDIS_USAGE_H

#include "redis/periods.h"
#include "redis/table.h"

struct redis_usage_query {
    /* By which periods, as people write it; NULL: the first that the table has. */
    const char *by;
    /* As in a lethe_usage_query. */
    uint64_t from_ms, to_ms;
    const lethe_bytes *keys;
    size_t key_count;
    lethe_bytes prefix;
};

/* Finds the period that the query is by, and writes its name. A table that does not count per it is
 * EXIT_USAGE. */
int redis_usage_by(struct redis_table *table, const char *by, uint64_t *length_ms,
                   char name[REDIS_PERIOD_BYTES]);

/* Calls visit as lethe_store_usage does. All buckets of the counters are in memory meanwhile. Those
 * that change while they are read may have either value. */
int redis_usage(struct redis_table *table, const struct redis_usage_query *query,
                uint64_t length_ms, lethe_usage_visit visit, void *context);

/* Calls visit for the number largest buckets of the period that a time is in, as redis_top does. */
int redis_top_at(struct redis_table *table, uint64_t length_ms, uint64_t at_ms, size_t number,
                 bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);

#endif
