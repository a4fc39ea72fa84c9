/* filter/packed/bloom.c - the classical filter without a header; packed.c has the layout. */
#include "filter/bloom/probe.h"
#include "filter/packed/packed.h"

static uint32_t best_hashes(const lethe_packed_options *options) {
    return lethe_packed_classic_hashes(options->bits_per_key, LETHE_PACKED_MAX_HASHES);
}

static unsigned note(const lethe_packed *packed, size_t count, size_t array_bytes) {
    (void)count;
    (void)array_bytes;
    return packed->options.hashes;
}

static void build(const lethe_packed *packed, const lethe_hash *hashes, size_t count,
                  unsigned char *array, size_t array_bytes) {
    uint64_t bits = (uint64_t)array_bytes * 8;
    for (size_t i = 0; i < count; i++) {
        lethe_hash hash = hashes[i];
        for (uint32_t probe = 0; probe < packed->options.hashes; probe++) {
            uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, bits);
            array[position / 8] |= (unsigned char)(1U << position % 8);
        }
    }
}

static bool test(const lethe_packed *packed, lethe_hash hash, const unsigned char *array,
                 size_t array_bytes, unsigned hashes) {
    (void)packed;
    if (hashes == 0 || hashes > LETHE_PACKED_MAX_HASHES) return true;
    uint64_t bits = (uint64_t)array_bytes * 8;
    for (uint32_t probe = 0; probe < hashes; probe++) {
        uint64_t position = lethe_bloom_next_position(&hash.low, hash.high, bits);
        if ((array[position / 8] >> position % 8 & 1) == 0) return false;
    }
    return true;
}

const struct lethe_packed_operations lethe_packed_bloom = {
    .unit_bytes = 1,
    .bits_least = 1,
    .hashes_most = LETHE_PACKED_MAX_HASHES,
    .hashes_step = 1,
    .best_hashes = best_hashes,
    .note = note,
    .build = build,
    .test = test,
};
