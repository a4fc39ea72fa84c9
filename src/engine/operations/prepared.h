/* engine/operations/prepared.h - operations whose ids and keys were hashed before they are
 * submitted.
 *
 *   prepare.c  hashes them, in any thread and without the store's lock
 *   simple.c   decides simple ones
 *   submit.c   takes them in */
#ifndef LETHE_ENGINE_OPERATIONS_PREPARED_H
#define LETHE_ENGINE_OPERATIONS_PREPARED_H

#include "engine/log/segment.h"

/* A simple operation: one change without bounds, and no flags except LETHE_OPERATION_COUNT_LATE,
 * which is looked up where it matters. What its other fields hold does not matter where key_size is
 * 0: the operation is not simple, and may not even be valid.
 * 32 bytes: half a cache line is all that deciding reads of an operation, besides its key. */
typedef struct lethe_prepared_one {
    /* Of the id, as the log keeps it. */
    uint64_t id_low;
    uint16_t id_high;
    uint16_t key_size;
    /* Of the key (values/tally.h). */
    uint32_t tag;
    const char *key;
    int64_t delta;
} lethe_prepared_one;

_Static_assert(sizeof(lethe_prepared_one) == 32, "two share a cache line");

struct lethe_prepared {
    const lethe_allocator *allocator;
    size_t capacity;
    /* What was prepared, and for which opening of a store; 0: nothing. A pointer would not do: the
     * next store may get the address of one that was closed, with another seed and other modes. */
    uint64_t opening;
    const lethe_operation *operations;
    size_t count;
    lethe_prepared_one *all; /* capacity of them */
    /* In exact mode, of what each changes: see confirm.c. As many. */
    uint32_t *digests;
    /* With event time, of each. As many. */
    uint64_t *times;
};

static inline bool lethe_prepared_is_simple(const lethe_prepared_one *one) {
    return one->key_size > 0;
}

static inline lethe_log_id lethe_prepared_id(const lethe_prepared_one *one) {
    return (lethe_log_id){.low = one->id_low, .high = one->id_high};
}

#endif
