/* bench/disk_bloom.h - the peer of the cascade: a Bloom filter on disk, with a buffer in memory.
 *
 * As good as it can be made here: all the bits of a key are in one page of 4 KiB, so a lookup
 * reads one page; keys are gathered in memory, and a full buffer is sorted by region and worked
 * in with one sequential pass over the file, by two threads. */
#ifndef LETHE_BENCH_DISK_BLOOM_H
#define LETHE_BENCH_DISK_BLOOM_H

#include <stddef.h>
#include <stdint.h>

#include <lethe/hash.h>

struct disk_bloom;

struct disk_bloom *disk_bloom_make(const char *path, uint64_t capacity, double error,
                                   uint64_t memory_bytes);
void disk_bloom_insert(struct disk_bloom *filter, const lethe_hash *hashes, size_t count);
/* Works in what is still in memory. */
void disk_bloom_flush(struct disk_bloom *filter);
void disk_bloom_test(struct disk_bloom *filter, const lethe_hash *hashes, size_t count,
                     uint8_t *present);
uint64_t disk_bloom_bytes(const struct disk_bloom *filter);
/* Closes and removes the file. */
void disk_bloom_free(struct disk_bloom *filter);

#endif
