/* core/hash.c - XXH3-128, inlined from xxHash's header so that short keys cost no call. */
#include "lethe/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/bits.h"

static inline lethe_hash hash(uint64_t seed, const void *data, size_t size) {
    XXH128_hash_t value = XXH3_128bits_withSeed(data, size, seed);
    return (lethe_hash){.low = value.low64, .high = value.high64};
}

lethe_hash lethe_hash_bytes(uint64_t seed, const void *data, size_t size) {
    if (data == NULL) size = 0;
    return hash(seed, data, size);
}

lethe_hash lethe_hash_u64(uint64_t seed, uint64_t value) {
    uint64_t little = lethe_little_endian64(value);
    return hash(seed, &little, sizeof little);
}

void lethe_hash_batch(uint64_t seed, const lethe_bytes *keys, size_t count, lethe_hash *out) {
    if (keys == NULL || out == NULL) return;
    for (size_t i = 0; i < count; i++) {
        out[i] = hash(seed, keys[i].data, keys[i].data != NULL ? keys[i].size : 0);
    }
}

void lethe_hash_u64_batch(uint64_t seed, const uint64_t *values, size_t count, lethe_hash *out) {
    if (values == NULL || out == NULL) return;
    for (size_t i = 0; i < count; i++) {
        uint64_t little = lethe_little_endian64(values[i]);
        out[i] = hash(seed, &little, sizeof little);
    }
}
