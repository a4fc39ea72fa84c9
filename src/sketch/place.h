/* sketch/place.h - the positions of a key's counters.
 *
 * Each of the first four rows uses its own 32 bits of the key's 128-bit hash: x_0 and x_1 are the
 * halves of low, x_2 and x_3 those of high. The counter in row i is number floor(x_i * width /
 * 2^32). So any width is possible, without a division. Every further four rows use the 128 bits
 * mixed again. Positions count from the first counter of the part; row i starts at i * width.
 *
 * The most likely counter of a row gets at most ceil(2^32 / width) of the 2^32 values: a share
 * of at most 1/width + 2^-32, which plan.c uses.
 *
 * The signs of a count sketch come from a product of all 128 bits, not from the bits that choose
 * the counter. */
#ifndef LETHE_SKETCH_PLACE_H
#define LETHE_SKETCH_PLACE_H

#include <stdint.h>

#include "lethe/hash.h"

enum { LETHE_PLACE_ROWS = 4 };

static inline uint64_t lethe_place_mix(uint64_t value) {
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return value ^ value >> 32;
}

/* The hash whose bits rows 4 * group to 4 * group + 3 use. */
static inline lethe_hash lethe_place_group(lethe_hash hash, uint32_t group) {
    if (group == 0) return hash;
    uint64_t turned = hash.high << 23 | hash.high >> 41;
    return (lethe_hash){
        .low = lethe_place_mix((hash.low ^ turned) + group * UINT64_C(0x9e3779b97f4a7c15)),
        .high = lethe_place_mix((hash.high + hash.low) ^ group * UINT64_C(0xd1342543de82ef95)),
    };
}

/* The positions in four rows; first is the position at which the first of them starts. */
static inline void lethe_place_rows(lethe_hash hash, uint32_t width, uint32_t first,
                                    uint32_t at[LETHE_PLACE_ROWS]) {
    at[0] = first + (uint32_t)((hash.low & UINT32_MAX) * width >> 32);
    at[1] = first + width + (uint32_t)((hash.low >> 32) * width >> 32);
    at[2] = first + 2 * width + (uint32_t)((hash.high & UINT32_MAX) * width >> 32);
    at[3] = first + 3 * width + (uint32_t)((hash.high >> 32) * width >> 32);
}

/* The position in the first of those rows alone. */
static inline uint32_t lethe_place_row(lethe_hash hash, uint32_t width, uint32_t first) {
    return first + (uint32_t)((hash.low & UINT32_MAX) * width >> 32);
}

/* Bit i is the sign in row i. */
static inline uint32_t lethe_place_signs(lethe_hash hash) {
    uint64_t turned = hash.high << 29 | hash.high >> 35;
    return (uint32_t)((hash.low ^ turned) * UINT64_C(0x9fb21c651e98df25) >> 32);
}

#endif
