/* lethe/hash.h - the one hash of Lethe: a key becomes 128 bits, once.
 *
 * Guarantee  The hash of given bytes under a given seed is the same on every CPU and in every
 *            release, because it is written into files. It is XXH3-128 with that seed.
 * Threads    Pure functions.
 * Caveats    XXH3 is keyed but not cryptographic. A random seed that outsiders never see keeps them
 *            from preparing keys that collide. Whoever can read the seed can prepare such keys.
 *
 * The batch functions of filters and windows take hashes, not keys. A key that passes through
 * several structures is hashed once if they share a seed. */
#ifndef LETHE_HASH_H
#define LETHE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The seed of structures that are given none, so that they can be merged. */
#define LETHE_DEFAULT_SEED UINT64_C(0x4c65746865303031)

typedef struct lethe_hash {
    uint64_t low;
    uint64_t high;
} lethe_hash;

/* Some bytes of the caller's. Hashing takes NULL data for no bytes; functions that return a status
 * refuse NULL data with a size above 0. */
typedef struct lethe_bytes {
    const void *data;
    size_t size;
} lethe_bytes;

/* Hashes size bytes; NULL counts as no bytes. Cost: O(size); a few multiplications up to 16. */
LETHE_API lethe_hash lethe_hash_bytes(uint64_t seed, const void *data, size_t size);

/* Hashes the 8 little-endian bytes of value: the same as lethe_hash_bytes of those bytes. */
LETHE_API lethe_hash lethe_hash_u64(uint64_t seed, uint64_t value);

/* Hash count keys into out[0..count). Nothing happens where an array is NULL.
 * Cost: that of count single calls, without their overhead. */
LETHE_API void lethe_hash_batch(uint64_t seed, const lethe_bytes *keys, size_t count,
                                lethe_hash *out);
LETHE_API void lethe_hash_u64_batch(uint64_t seed, const uint64_t *values, size_t count,
                                    lethe_hash *out);

#ifdef __cplusplus
}
#endif

#endif
