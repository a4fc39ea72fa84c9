/* core/bitvector.h - a vector of bits with rank and select.
 *
 * Memory   one bit each, rounded up to 512, and a quarter more for the index.
 * Threads  readers may share it; a writer needs it alone.
 *
 * rank and select need the index, which describes the bits as they were when it was built:
 * set or clear bits, then lethe_bitvector_index, then ask. */
#ifndef LETHE_CORE_BITVECTOR_H
#define LETHE_CORE_BITVECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/allocator.h"

typedef struct lethe_bitvector {
    uint64_t *words;
    uint64_t *index; /* two words for each block of eight: see bitvector.c */
    uint64_t bits;
    uint64_t blocks;
    const lethe_allocator *allocator;
} lethe_bitvector;

/* Makes bits zero bits. Errors: LETHE_EINVAL (0, or more than 2^47), LETHE_ENOMEM; then *out is
 * zeroed. */
LETHE_MUST_CHECK lethe_status lethe_bitvector_init(lethe_bitvector *out, uint64_t bits,
                                                   const lethe_allocator *allocator);
/* Takes a zeroed one. */
void lethe_bitvector_drop(lethe_bitvector *vector);

static inline bool lethe_bitvector_get(const lethe_bitvector *vector, uint64_t position) {
    return vector->words[position / 64] >> (position % 64) & 1;
}

static inline void lethe_bitvector_set(lethe_bitvector *vector, uint64_t position) {
    vector->words[position / 64] |= UINT64_C(1) << (position % 64);
}

static inline void lethe_bitvector_clear(lethe_bitvector *vector, uint64_t position) {
    vector->words[position / 64] &= ~(UINT64_C(1) << (position % 64));
}

/* Describes the bits as they are now. Cost: O(bits). */
void lethe_bitvector_index(lethe_bitvector *vector);

/* How many bits below position are set; position is 0..bits. Cost: O(1), two cache misses. */
uint64_t lethe_bitvector_rank(const lethe_bitvector *vector, uint64_t position);

/* The position of set bit number ordinal, from 0, or bits when there are not that many.
 * Cost: O(log bits). */
uint64_t lethe_bitvector_select(const lethe_bitvector *vector, uint64_t ordinal);

#endif
