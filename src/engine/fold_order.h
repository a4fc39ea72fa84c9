/* engine/fold_order.h - putting the counters of a fold in the order of their keys. */
#ifndef LETHE_ENGINE_FOLD_ORDER_H
#define LETHE_ENGINE_FOLD_ORDER_H

#include "engine/tally.h"

/* A counter as it goes to the store. */
typedef struct lethe_folding {
    uint64_t prefix; /* eight bytes of the key, for lethe_fold_order */
    const lethe_tally_record *record;
    int64_t value;
    bool absent; /* it is to be deleted */
} lethe_folding;

/* Sorts by key, byte by byte, a shorter key before one that it begins; the keys are all different. In place.
 * Cost: two misses a key, and about 30 ns. */
void lethe_fold_order(lethe_folding *foldings, size_t count);

#endif
