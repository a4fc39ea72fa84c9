/* engine/values/held.h - what is held of counters: apart from their values, and counted by every
 * bound on how high these may become.
 *
 * Sums in memory, of a counter and of its bucket of each resolution; they follow from the open
 * holds (engine/holds). Needs the store's lock. */
#ifndef LETHE_ENGINE_VALUES_HELD_H
#define LETHE_ENGINE_VALUES_HELD_H

#include "engine/values/tally.h"
#include "lethe/store.h"

typedef struct lethe_values lethe_values;

typedef struct lethe_held {
    /* NULL until something is held. */
    lethe_tally *sums;
    /* Records of which nothing is held any more. */
    uint64_t idle;
} lethe_held;

void lethe_held_close(lethe_held *held);

/* An amount of a key is held, in the buckets of a moment of the wall clock. Errors: LETHE_EFULL
 * (the sum would not fit into 64 bits), LETHE_ENOMEM; nothing is held then. */
LETHE_MUST_CHECK lethe_status lethe_held_add(lethe_values *values, lethe_bytes key,
                                             uint64_t wall_ms, int64_t amount);
/* It is held no more. */
void lethe_held_remove(lethe_values *values, lethe_bytes key, uint64_t wall_ms, int64_t amount);

/* What is held of what the bounds of a change are on. */
int64_t lethe_held_of(lethe_values *values, const lethe_change *change);

/* Whether a counter and its present buckets could take an amount beside what is held of them, in 64
 * bits each. Errors: those of lethe_values_read. */
LETHE_MUST_CHECK lethe_status lethe_held_fits(lethe_values *values, lethe_bytes key, int64_t amount,
                                              bool *fits, lethe_detail *detail);

uint64_t lethe_held_memory_bytes(const lethe_held *held);

#endif
