/* lethe/hash.h - the one hash of Lethe: a key becomes 128 bits, once.
 *
 * Guarantee  The hash of given bytes under a given seed is the same on every CPU and in every
 *            release: it is written into files. It is XXH3-128 with that seed.
 * Threads    Pure functions.
 * Caveats    XXH3 is keyed but not cryptographic. A random seed that outsiders never see
 *            keeps them from preparing keys that collide; whoever can read the seed can.
 *
 * Filters and windows take hashes rather than keys in their batch forms, so a key that
 * passes through several structures is hashed once; they must share a seed for that. */
#ifndef LETHE_HASH_H
#define LETHE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Structures that are given no seed use this one, so that they can be merged. */
#define LETHE_DEFAULT_SEED UINT64_C(0x4c65746865303031)

typedef struct lethe_hash {
    uint64_t low;
    uint64_t high;
} lethe_hash;

typedef struct lethe_bytes {
    const void *data; /* may be NULL when size is 0 */
    size_t size;
} lethe_bytes;

/* Hashes size bytes. Cost: O(size); a few multiplications up to 16 bytes. */
LETHE_API lethe_hash lethe_hash_bytes(uint64_t seed, const void *data, size_t size);

/* Hashes the 8 little-endian bytes of value: what lethe_hash_bytes gives for them. */
LETHE_API lethe_hash lethe_hash_u64(uint64_t seed, uint64_t value);

/* Hash count keys into out[0..count). Cost: as count single calls, less their overhead. */
LETHE_API void lethe_hash_batch(uint64_t seed, const lethe_bytes *keys, size_t count,
                                lethe_hash *out);
LETHE_API void lethe_hash_u64_batch(uint64_t seed, const uint64_t *values, size_t count,
                                    lethe_hash *out);

#ifdef __cplusplus
}
#endif

#endif
