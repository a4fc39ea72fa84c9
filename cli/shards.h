/* shards.h - which of many lines came before: found out on disk, after all of them were read.
 *
 * Hashes of lines are added in order; when the last one is there, each shard of them is read back and gone through in
 * memory, and lines that are copies of earlier ones are marked. It takes about nine bytes of disk and a bit of
 * memory a line, whatever the memory is; what is written is read once.
 *
 * Cost     Adding: a store a line. Finding: two cache misses a line at most, prefetched, on all cores.
 * Error    Two different lines are taken for the same with probability 2^-SHARDS_FINGERPRINT_BITS.
 * Threads  One; finding starts its own and ends them. */
#ifndef LETHE_CLI_SHARDS_H
#define LETHE_CLI_SHARDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

enum { SHARDS_FINGERPRINT_BITS = 62 };

struct shards;

/* Shards in a folder, which is empty and looks so: their files have no names. memory_bytes is what the process may use, nearly. The caller frees
 * them. Returns EXIT_DONE; or EXIT_ENVIRONMENT after saying why, as the next two do. */
int shards_open(const char *folder, uint64_t memory_bytes, struct shards **out);
void shards_free(struct shards *shards); /* takes NULL */

/* The hashes of the next lines. */
int shards_add(struct shards *shards, const lethe_hash *hashes, size_t count);

/* Marks the copies. Nothing is added after it. Stops early when a signal asks to. */
int shards_find(struct shards *shards);

/* Stores for count lines from number first on, the first of all being 0, whether each is a copy. After shards_find. */
void shards_copies(const struct shards *shards, uint64_t first, size_t count, uint8_t *out);

uint64_t shards_disk_bytes(const struct shards *shards);
uint64_t shards_memory_bytes(const struct shards *shards); /* of finding, all threads */

#endif
