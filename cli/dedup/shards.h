/* shards.h - finds the duplicates among many lines, on disk, after all lines were read.
 *
 * Hashes of lines are added in order, each to one of the shards. When the last one is there, each
 * shard is read back and gone through in memory, and lines that came before are marked as
 * duplicates. A line takes about nine bytes on disk and one bit of memory, however much memory
 * there is. What is written is read once.
 *
 * Cost     Adding: one store per line. Finding: at most two cache misses per line, prefetched, on
 *          all cores.
 * Error    Two different lines are taken for the same with probability 2^-SHARDS_FINGERPRINT_BITS.
 * Threads  One; finding starts its own and ends them. */
#ifndef LETHE_CLI_DEDUP_SHARDS_H
#define LETHE_CLI_DEDUP_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum { SHARDS_FINGERPRINT_BITS = 62 };

struct shards;

/* Makes shards in an empty folder, which stays empty: their files have no names. memory_bytes is
 * nearly all that the process may use. The caller frees them. Returns EXIT_DONE, or
 * EXIT_ENVIRONMENT after saying why, as the next two do. */
int shards_open(const char *folder, uint64_t memory_bytes, struct shards **out);
void shards_free(struct shards *shards); /* takes NULL */

/* Adds the hashes of the next lines. */
int shards_add(struct shards *shards, const lethe_hash *hashes, size_t count);

/* Finds the duplicates. Nothing is added after that. Stops early when a signal asks to. */
int shards_find(struct shards *shards);

/* After shards_find: stores for each of `count` lines whether it is a duplicate. `first` is the
 * number of the first of them; that of the first line of all is 0. */
void shards_duplicates(const struct shards *shards, uint64_t first, size_t count, uint8_t *out);

uint64_t shards_disk_bytes(const struct shards *shards);
uint64_t shards_memory_bytes(const struct shards *shards); /* of finding, all threads */

#endif
