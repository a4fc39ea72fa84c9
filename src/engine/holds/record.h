/* engine/holds/record.h - a hold as it is in CLAIMS: what it is in memory, and its bytes.
 *
 * Pure functions; docs/format/store.md has the layout. Everything is checked when it is read. */
#ifndef LETHE_ENGINE_HOLDS_RECORD_H
#define LETHE_ENGINE_HOLDS_RECORD_H

#include "engine/claims/record.h"
#include "lethe/holds.h"

enum {
    LETHE_HOLD_FIXED_BYTES = 64,
    LETHE_HOLD_RECORD_LIMIT_BYTES = LETHE_HOLD_FIXED_BYTES + LETHE_KEY_LIMIT_BYTES
};
_Static_assert((int)LETHE_HOLD_RECORD_LIMIT_BYTES <= (int)LETHE_CLAIMS_COPY_LIMIT_BYTES,
               "a copy has room for a hold");

/* The key is borrowed. */
typedef struct lethe_hold_record {
    /* Open: the lease may have ended. Lapsed: it has, and the queue knows. */
    lethe_hold_state state;
    /* What max is on: 0 the counter, otherwise its bucket of the resolution with this place, from 1
     * on. */
    uint32_t place;
    /* In the queue of those that have ended; 0 while it is open. */
    uint64_t number;
    /* The last millisecond of the lease; and when it was settled or released, otherwise 0; by the
     * clock of claims. */
    uint64_t deadline_ms, ended_ms;
    /* Its buckets are those of this moment. */
    uint64_t wall_ms;
    int64_t amount, max, actual;
    lethe_bytes key;
} lethe_hold_record;

size_t lethe_hold_store(unsigned char out[LETHE_HOLD_RECORD_LIMIT_BYTES],
                        const lethe_hold_record *hold);
/* Errors: LETHE_ECORRUPT, LETHE_EVERSION. */
LETHE_MUST_CHECK lethe_status lethe_hold_load(lethe_bytes record, lethe_hold_record *out);

/* Whether nothing but its settlement or its release has ended it. */
static inline bool lethe_hold_is_unsettled(const lethe_hold_record *hold) {
    return hold->state == LETHE_HOLD_IS_OPEN || hold->state == LETHE_HOLD_IS_LAPSED;
}

#endif
