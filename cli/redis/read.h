/* read.h - the counters of a table in a server: each is the sum over the table's partitions.
 *
 * What partitions that are missing had is not in what these functions give: redis_lost_check
 * (redis/lost.h), when all is read, says so.
 *
 * Functions return EXIT_DONE, or the exit code of what is wrong, after saying so. */
#ifndef LETHE_CLI_REDIS_READ_H
#define LETHE_CLI_REDIS_READ_H

#include "redis/table.h"

int redis_get(struct redis_table *table, const lethe_bytes *keys, size_t count, int64_t *values,
              bool *found);

/* Deletes counters in all partitions. existed says which there were. */
int redis_delete(struct redis_table *table, const lethe_bytes *keys, size_t count, bool *existed);

/* Calls visit for each counter whose key begins with prefix, in the order of their bytes, until it
 * returns false. All of them are in memory meanwhile. Those that change while they are read may
 * have either value. */
int redis_each(struct redis_table *table, lethe_bytes prefix,
               bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);

/* The same for the first `most` (1 or more) of those that do not come before `from`. Only these are
 * in memory meanwhile, with their parts in each partition, and about as many again. */
int redis_each_from(struct redis_table *table, lethe_bytes prefix, lethe_bytes from, size_t most,
                    bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);

/* The same as redis_each for the number largest, the largest first, and of equal ones the first by
 * its bytes. */
int redis_top(struct redis_table *table, size_t number,
              bool (*visit)(void *context, lethe_bytes key, int64_t value), void *context);

#endif
