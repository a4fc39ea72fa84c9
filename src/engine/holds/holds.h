/* engine/holds/holds.h - holds: amounts that are set aside under a limit.
 *
 *   record.c   the bytes                      open.c   those that are open, in memory
 *   decide.c   place, settle, release         tidy.c   what has ended, a little with each call
 *   look.c     the functions of lethe/holds.h that only read
 *
 * Records, queue, clock and commits are those of claims (engine/claims/claims.h); the sums of what
 * is held are the values' (engine/values/held.h). Everything is guarded by the store's lock.
 * docs/design/holds.md says why it is built so. */
#ifndef LETHE_ENGINE_HOLDS_HOLDS_H
#define LETHE_ENGINE_HOLDS_HOLDS_H

#include "engine/claims/claims.h"
#include "engine/holds/record.h"
#include "engine/values/tally.h"

/* --- open.c --- */

/* A hold that is open, or whose lease has ended and the queue does not know it yet. */
typedef struct lethe_hold_open {
    uint64_t deadline_ms, wall_ms;
    int64_t amount;
    /* In the heap. */
    size_t place;
    /* The next one that has lapsed. */
    struct lethe_hold_open *next;
    uint16_t id_size, key_size;
    /* The id, and the key. */
    char bytes[];
} lethe_hold_open;

/* Those of a store that is written. */
typedef struct lethe_holds {
    /* A heap by the ends of the leases: what is held. */
    lethe_hold_open **heap;
    size_t count, capacity;
    /* By id, where each is: the value of a record is an address. */
    lethe_tally *by_id;
    uint64_t gone; /* records without one */
    /* Those whose lease has ended, in that order; before them, those whose lease had ended when the
     * store was opened. Of these nothing is held. */
    lethe_hold_open *lapsed, **lapsed_end;
    uint64_t bytes;
    /* The sum of what the heap has, in two words. */
    uint64_t held_low, held_high;
} lethe_holds;

/* Reads the open ones, for a writer whose values are there. Errors: LETHE_ECORRUPT,
 * LETHE_EVERSION, LETHE_ENOMEM, those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_holds_open(lethe_store *store, lethe_detail *detail);
void lethe_holds_close(lethe_store *store);

/* From now on so much is held. Errors: LETHE_EFULL (the sum does not fit), LETHE_ENOMEM; nothing
 * has changed then. Cost: O(log n). */
LETHE_MUST_CHECK lethe_status lethe_holds_add(lethe_store *store, lethe_bytes id,
                                              const lethe_hold_record *hold);
/* Of an open one, nothing is held any more. Cost: O(log n). */
void lethe_holds_remove(lethe_store *store, lethe_bytes id);
/* Ends the leases that are over at this time. To be called before bounds are judged. Cost: O(log n)
 * for each; O(1) if there is none. */
void lethe_holds_lapse(lethe_store *store, uint64_t now_ms);
/* Frees the first of those that have lapsed. */
void lethe_holds_drop_lapsed(lethe_store *store);

/* --- tidy.c --- */

/* A hold as it is. Its bytes are those of the copy. */
typedef struct lethe_hold_known {
    lethe_claims_copy copy;
    lethe_hold_record hold;
} lethe_hold_known;

LETHE_MUST_CHECK lethe_status lethe_holds_read(lethe_store *store, lethe_bytes id,
                                               lethe_hold_known *out, lethe_detail *detail);
/* Whether it ended too long ago to be remembered at this time. */
bool lethe_hold_is_old(uint64_t window_ms, const lethe_hold_record *hold, uint64_t now_ms);
/* Replaces a hold in a step: by another one, or by none. */
void lethe_holds_replace(lethe_claims_step *step, const lethe_hold_known *before,
                         const lethe_hold_record *after);
/* Puts a hold that ends at the end of the queue, and sets its number. */
void lethe_holds_queue(lethe_claims_step *step, lethe_bytes id, uint64_t now_ms,
                       lethe_hold_record *hold);
/* Forgets a few of the holds that ended long ago, and records the end of a few leases. */
LETHE_MUST_CHECK lethe_status lethe_holds_tidy(lethe_store *store, uint64_t now_ms,
                                               lethe_detail *detail);

#endif
