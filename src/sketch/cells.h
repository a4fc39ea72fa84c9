/* sketch/cells.h - counters of 8, 16, 32 or 64 bits, read and written one at a time.
 *
 * A counter's size is the logarithm of its bytes, 0 to 3. Loads and stores are atomic and relaxed,
 * because readers may look at the part that answers while a writer changes it. Callers on the hot
 * path pass a constant size, so no switch is left in the machine code. */
#ifndef LETHE_SKETCH_CELLS_H
#define LETHE_SKETCH_CELLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/inline.h"

LETHE_INLINE uint64_t lethe_cell_get(const void *cells, uint64_t at, unsigned size) {
    switch (size) {
    case 0:
        return atomic_load_explicit((const _Atomic(uint8_t) *)cells + at, memory_order_relaxed);
    case 1:
        return atomic_load_explicit((const _Atomic(uint16_t) *)cells + at, memory_order_relaxed);
    case 2:
        return atomic_load_explicit((const _Atomic(uint32_t) *)cells + at, memory_order_relaxed);
    default:
        return atomic_load_explicit((const _Atomic(uint64_t) *)cells + at, memory_order_relaxed);
    }
}

LETHE_INLINE void lethe_cell_set(void *cells, uint64_t at, unsigned size, uint64_t value) {
    switch (size) {
    case 0:
        atomic_store_explicit((_Atomic(uint8_t) *)cells + at, (uint8_t)value, memory_order_relaxed);
        break;
    case 1:
        atomic_store_explicit((_Atomic(uint16_t) *)cells + at, (uint16_t)value,
                              memory_order_relaxed);
        break;
    case 2:
        atomic_store_explicit((_Atomic(uint32_t) *)cells + at, (uint32_t)value,
                              memory_order_relaxed);
        break;
    default:
        atomic_store_explicit((_Atomic(uint64_t) *)cells + at, value, memory_order_relaxed);
        break;
    }
}

LETHE_INLINE uint64_t lethe_cell_full(unsigned size) {
    return UINT64_MAX >> (64 - (8u << size));
}

LETHE_INLINE uint64_t least_of(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* value + weight, or full; value is at most full. With counters below 64 bits, a weight beyond full
 * is as good as full, and the sum of two such numbers cannot overflow. */
LETHE_INLINE uint64_t grown(uint64_t value, uint64_t weight, unsigned size) {
    uint64_t full = lethe_cell_full(size);
    if (size == 3) return value + weight < value ? full : value + weight;
    return least_of(value + least_of(weight, full), full);
}

/* value - weight, except that a full counter stays full. The caller knows that value >= weight. */
LETHE_INLINE uint64_t shrunk(uint64_t value, uint64_t weight, unsigned size) {
    return value == lethe_cell_full(size) ? value : value - weight;
}

/* Does something for each row, in copies one after the other where the depth is a constant. The
 * compiler would not do that of itself: to it, an atomic load or store is a call. */
#define FOR_EACH_ROW(row, depth, statement)                                                 \
    do {                                                                                    \
        if (__builtin_constant_p(depth)) {                                                  \
            _Pragma("GCC unroll 5") for (uint32_t row = 0; row < (depth); row++) statement; \
        } else {                                                                            \
            for (uint32_t row = 0; row < (depth); row++)                                    \
                statement;                                                                  \
        }                                                                                   \
    } while (0)

LETHE_INLINE uint64_t least_counter(const void *cells, const uint32_t *at, uint32_t depth,
                                    unsigned size) {
    uint64_t least = UINT64_MAX;
    FOR_EACH_ROW(row, depth, least = least_of(least, lethe_cell_get(cells, at[row], size)));
    return least;
}

#endif
