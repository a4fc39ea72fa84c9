/* filter/bloom/probe.h - where the bits of a key lie in a classical filter; classic.c says why.
 *
 * Also how filters that hold the same keys are made independent of each other: each multiplies the
 * key's low hash by an odd number of its own, its salt, before the probes begin. A salt of 1 is
 * none. Exclusive or would not do: it moves the positions of two keys alike, so keys that are
 * close in one filter stay close in the next. */
#ifndef LETHE_FILTER_BLOOM_PROBE_H
#define LETHE_FILTER_BLOOM_PROBE_H

#include <stdint.h>

#include "core/bits.h"
#include "lethe/hash.h"

#define LETHE_BLOOM_MULTIPLIER UINT64_C(0xd1342543de82ef95)
/* Goes back: the two multiplied are 1. */
#define LETHE_BLOOM_INVERSE UINT64_C(0x572b5ee77a54e3bd)

/* The next of a key's positions; state starts as the low hash. */
static inline uint64_t lethe_bloom_next_position(uint64_t *state, uint64_t high, uint64_t range) {
    *state *= LETHE_BLOOM_MULTIPLIER;
    return lethe_multiply_high(*state + high, range);
}

/* The positions from the last to the first: state starts as the low hash times MULTIPLIER^k. */
static inline uint64_t lethe_bloom_previous_position(uint64_t *state, uint64_t high,
                                                     uint64_t range) {
    uint64_t position = lethe_multiply_high(*state + high, range);
    *state *= LETHE_BLOOM_INVERSE;
    return position;
}

/* The hash as a filter with this salt sees it; salt is odd, so that no two hashes become one. */
static inline lethe_hash lethe_bloom_salted(lethe_hash hash, uint64_t salt) {
    return (lethe_hash){.low = hash.low * salt, .high = hash.high};
}

#endif
