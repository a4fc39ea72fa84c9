/* engine/values/fold_order.h - putting the counters of a fold in the order of their keys. */
#ifndef LETHE_ENGINE_VALUES_FOLD_ORDER_H
#define LETHE_ENGINE_VALUES_FOLD_ORDER_H

#include "engine/disk/disk.h"
#include "engine/log/segment.h"
#include "engine/values/tally.h"

/* A counter on its way to COUNTERS. */
typedef struct lethe_folding {
    /* Eight bytes of the key, for lethe_fold_order. */
    uint64_t prefix;
    const lethe_tally_record *record;
    int64_t value;
    /* The counter is deleted. */
    bool absent;
    /* So many buckets beside it go with it, and where they are. */
    uint8_t beside_count;
    uint32_t beside_at;
} lethe_folding;

/* A bucket beside a counter on its way to BUCKETS. */
typedef struct lethe_folding_beside {
    int64_t value;
    uint64_t label : 40, which : 8, absent : 8;
} lethe_folding_beside;

/* Adds a value to a table, or that it is deleted. */
static inline void lethe_fold_put(lethe_fold_table *table, lethe_bytes key, int64_t value,
                                  bool absent) {
    unsigned char bytes[LETHE_VALUE_LIMIT_BYTES];
    if (absent) {
        lethe_fold_table_delete(table, key);
    } else {
        size_t size = lethe_value_store(bytes, value);
        lethe_fold_table_put(table, key, (lethe_bytes){.data = bytes, .size = size});
    }
}

/* Sorts by key, byte by byte, a key before those that begin with it; the keys are all different. In
 * place. Cost: two cache misses per key, and about 30 ns. */
void lethe_fold_order(lethe_folding *foldings, size_t count);

/* Moves about half of them to the front, such that each key there is below all others, and returns
 * how many these are. In place. Cost: one comparison per key. */
size_t lethe_fold_split(lethe_folding *foldings, size_t count);

#endif
