/* paper/disk_bloom.h - the two Bloom filters on disk that the paper compares the cascade filter
 * with.
 *
 * Both set k bits for a key, anywhere in a file, past the page cache. The traditional one changes a
 * page for each bit, and has all memory as a cache of pages. The elevator one queues bits in all
 * memory, and when that is full goes over the file once, in order. */
#ifndef LETHE_CLI_PAPER_DISK_BLOOM_H
#define LETHE_CLI_PAPER_DISK_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

struct disk_bloom;

/* Makes a filter in a file at path, all zero. NULL, with errno, when that fails. */
struct disk_bloom *disk_bloom_make(const char *path, uint64_t bits, unsigned hashes,
                                   size_t memory_bytes, bool is_elevator);
/* False, with errno, when the disk fails. */
bool disk_bloom_insert(struct disk_bloom *filter, lethe_hash hash);
/* Writes bits over the whole file of which half are set, as in a filter that is as full as it was
 * made for. Only tests may follow. */
bool disk_bloom_fill_half(struct disk_bloom *filter);
/* Reads a page for each bit, up to the first that is not set; *reads grows by their number. */
bool disk_bloom_test(const struct disk_bloom *filter, lethe_hash hash, bool *is_present,
                     uint64_t *reads);
/* Closes and removes the file. Takes NULL. */
void disk_bloom_free(struct disk_bloom *filter);

#endif
