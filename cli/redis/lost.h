/* lost.h - the description of a table, or some of its partitions, are lost: deleted, evicted, or
 * gone with a server that came back empty.
 *
 * Whoever makes a table makes all of its partitions at once. So one that is missing later was lost,
 * with what was counted in it, and the server answers for it as if nothing had been. Each reading
 * says which partitions it rests on, and when all is read it is seen whether they are there.
 *
 * The seed by which ids are spread is stored nowhere else. With another seed most ids would go to
 * other partitions, which do not remember them, and duplicates would be counted. So a description
 * is never made anew while partitions exist. */
#ifndef LETHE_CLI_REDIS_LOST_H
#define LETHE_CLI_REDIS_LOST_H

#include "redis/table.h"

enum { REDIS_KEY_BYTES = REDIS_NAME_LIMIT_BYTES + 16 };

/* Looks for partitions of a table that is said not to be there: all that it would have with
 * partition_count of them, and the first and the last for every other number. found gets the key of
 * one, or is empty. Returns EXIT_DONE, or the code of what was wrong, after saying so. */
int redis_lost_search(struct redis_table *table, char found[REDIS_KEY_BYTES]);

/* To be called again and again while counting. After each new connection it sends for the
 * description, and writes it again if it is gone. One that spreads ids in another way ends the
 * client with EXIT_BAD_DATA. */
void redis_lost_watch(struct redis_table *table);

/* What is read rests on the partitions of these counters, or, without keys and in a table that is
 * spread by id, on all. */
void redis_lost_need(struct redis_table *table, const lethe_bytes *keys, size_t count);

/* To be called after reading. EXIT_BAD_DATA, after saying so: partitions are missing on which what
 * was read rests. One that is not there yet, because somebody makes the table at this moment, is
 * waited for a little.
 * Cost: a question for each partition that is needed; none, if there is only one. */
int redis_lost_check(struct redis_table *table);

#endif
