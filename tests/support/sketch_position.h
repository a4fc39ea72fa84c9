/* tests/support/sketch_position.h - where the counters of a key are, once more. */
#ifndef LETHE_TESTS_SUPPORT_SKETCH_POSITION_H
#define LETHE_TESTS_SUPPORT_SKETCH_POSITION_H

#include "sketch/place.h"

/* The position of a key in a row, by the definition in docs/format/sketch.md. */
static inline uint64_t test_sketch_position(lethe_hash hash, uint32_t row, uint64_t width) {
    hash = lethe_place_group(hash, row / 4);
    uint64_t word = row % 4 < 2 ? hash.low : hash.high;
    return (row % 2 == 0 ? word & UINT32_MAX : word >> 32) * width >> 32;
}

#endif
