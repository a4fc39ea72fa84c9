/* lethe/holds.h - reserve now, settle later: amounts that are set aside under a limit.
 *
 * A caller that does not know yet how much something will use sets the largest amount aside, under
 * an id and for the length of a lease. That amount is held: it is not part of the counter's value,
 * but every highest value that an operation or a hold carries counts it. Later the caller settles
 * the hold with the amount that was really used, or releases it if nothing was. Then nothing is
 * held any more.
 *
 *     place ---> held --- settle (actual) ---> actual is added to the counter, once
 *       |          |----- release -----------> nothing is
 *       |          '----- the lease ends ----> nothing is held; settle is then a new take
 *       '--> limited: value + held + amount would be above max
 *
 * Guarantee  H1  After a hold was placed or settled, or an operation has raised the value, under a
 *                max, value + held <= max. There are two exceptions: a settlement with
 *                LETHE_SETTLE_FORCE, which lethe_holds_info counts, and what has no bound (set, and
 *                changes without one).
 *            H2  A lease lasts at least as long as was asked for, from the call on, by the clock of
 *                claims (C2 of lethe/claims.h). The first call after its end ends it.
 *            H3  A hold ends once. How it ended is remembered exactly, for W: the same settlement
 *                again is a duplicate, and a different one is a mismatch. After W it is forgotten,
 *                within another W / 4.
 *            H4  A settlement and what it adds to the counter and to its buckets are one commit.
 *            H5  When a call returns, its answer is durable, and so is everything that the answer
 *                rests on, whoever wrote it. A crash at any moment leaves a hold as it was or as it
 *                becomes.
 *            H6  Settle and release need no room in the window, and are never refused for it.
 * Memory     About 200 bytes, the id, and three times the key for each hold that is open; 60 bytes
 *            and the key more for each resolution that the store counts per.
 * Disk       About 150 bytes, the id twice and the key for each hold that was open within W.
 * Cost       Opening the store, to write or to read, and lethe_store_refresh read every hold, to
 *            see that none is missing: about 1 microsecond each. Calls: see there.
 * Threads    Any thread may call any function. Calls at the same time are committed together.
 * Caveats    The ids of holds have nothing to do with those of operations and of claims: the same
 *            bytes may be all three. Deleting or setting a counter does not change what is held of
 *            it.
 *            In a store by event time, holds go by elapsed time, and what is settled belongs to the
 *            bucket of the wall clock.
 *            A store that keeps a sketch has no holds.
 *            A store that is restored from a backup has the holds of that moment.
 *            A store with holds is refused by versions of lethe that do not know of them. */
#ifndef LETHE_HOLDS_H
#define LETHE_HOLDS_H

#include "lethe/claims.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lethe_hold_answer {
    /* place: the amount is held. */
    LETHE_HOLD_HELD = 0,
    /* settle: the actual amount was added, and nothing is held any more. */
    LETHE_HOLD_SETTLED = 1,
    /* release: nothing is held any more. */
    LETHE_HOLD_RELEASED = 2,
    /* place: this hold was placed before, and may have ended since. settle: it was settled with the
     * same amount. release: it was released. */
    LETHE_HOLD_DUPLICATE = 3,
    /* place, settle: value + held would be above max. Nothing has changed, and the refusal is not
     * remembered. */
    LETHE_HOLD_LIMITED = 4,
    /* place: the id stands for another hold. settle: it was settled with another amount, or
     * released. release: it was settled. Nothing has changed. */
    LETHE_HOLD_MISMATCH = 5,
    /* place, settle: a sum would not fit into 64 bits. Nothing has changed. */
    LETHE_HOLD_OVERFLOW = 6,
    /* settle, release: there is no such hold. It was never placed, or ended more than W ago. */
    LETHE_HOLD_UNKNOWN = 7
} lethe_hold_answer;

/* "held", "settled", ... ; never NULL. Cost: O(1). */
LETHE_API const char *lethe_hold_answer_name(lethe_hold_answer answer);

typedef enum lethe_hold_state {
    /* No such hold. */
    LETHE_HOLD_IS_NONE = 0,
    LETHE_HOLD_IS_OPEN = 1,
    /* The lease has ended: nothing is held. It can still be settled, as a new take, or released. */
    LETHE_HOLD_IS_LAPSED = 2,
    LETHE_HOLD_IS_SETTLED = 3,
    LETHE_HOLD_IS_RELEASED = 4
} lethe_hold_state;

/* "none", "open", ... ; never NULL. Cost: O(1). */
LETHE_API const char *lethe_hold_state_name(lethe_hold_state state);

/* A hold: what is asked for, and what there is. */
typedef struct lethe_hold {
    /* sizeof(lethe_hold): see LETHE_INIT. */
    size_t size;

    /* --- what place is given --- */

    /* 1 to 1024 bytes each. */
    lethe_bytes id;
    lethe_bytes key;
    /* What is set aside: 1 or more. */
    int64_t amount;
    /* The most that value and held may become together. */
    int64_t max;
    /* LETHE_CHANGE_BUCKET: max is on the bucket of the present period, of this resolution
     * (lethe_store_resolution), as with lethe_change. Otherwise both are 0. */
    uint32_t flags;
    uint32_t resolution;
    /* How long, 1 ms to 30 days; 0 in a hold that is shown. */
    uint64_t lease_ms;

    /* --- what get and each show besides --- */

    lethe_hold_state state;
    uint32_t reserved;
    /* The amount that it was settled with. */
    int64_t actual;
    /* The moment, by the wall clock since 1970, whose buckets it belongs to. */
    uint64_t wall_ms;
    /* Open: what is left of the lease. Otherwise: the time until the hold may be forgotten. */
    uint64_t left_ms;
    /* What id and key are in; for lethe_hold_free. */
    void *memory;
    size_t memory_bytes;
    const lethe_allocator *allocator;
} lethe_hold;

/* Frees the bytes of a hold that get filled in, and empties it. Takes NULL. */
LETHE_API void lethe_hold_free(lethe_hold *hold);

/* Sets an amount aside. The same hold again is a duplicate, whatever lease it asks for: an answer
 * that got lost does no harm.
 *
 * limit, unless NULL, says how the counter, or the bucket of the hold, stands under max after the
 * call: `left` is max minus the value minus what is held. All of it is zero with MISMATCH and
 * UNKNOWN.
 * Answers: HELD, DUPLICATE, LIMITED, MISMATCH, OVERFLOW.
 * Cost: two reads from disk, and a wait for the disk. The first hold of a store takes longer. Each
 * call also forgets a few old holds.
 * Errors: LETHE_EINVAL (a size, an amount, the lease, a resolution that the store does not have or
 * that goes by event time, a sketch, read_only: lethe_store_explain says which), and those of
 * lethe_store_apply. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_hold_place(lethe_store *store, const lethe_hold *hold,
                                                         lethe_hold_answer *answer,
                                                         lethe_limit *limit);

enum {
    /* Settle even above max. */
    LETHE_SETTLE_FORCE = 1
};

/* Adds what was really used, 0 or more, to the counter of a hold, and ends the hold. Up to the
 * hold's amount it always fits, unless set or changes without bounds have meanwhile used up the
 * range of 64 bits; what is beyond the amount is judged by the hold's max. It belongs to the bucket
 * in which the hold was placed. If retention has dropped that bucket meanwhile, only the counter
 * gets it, and there is no room for more than was held.
 * After the end of the lease, settling is a new take: now, in the present bucket, under the hold's
 * max.
 * flags: LETHE_SETTLE_FORCE or 0.
 * Answers: SETTLED, DUPLICATE, LIMITED, MISMATCH, OVERFLOW, UNKNOWN. Cost and errors: as place. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_hold_settle(lethe_store *store, lethe_bytes id,
                                                          int64_t actual, uint32_t flags,
                                                          lethe_hold_answer *answer,
                                                          lethe_limit *limit);

/* Ends a hold of which nothing was used, even after its lease. It cannot be settled any more.
 * Answers: RELEASED, DUPLICATE, MISMATCH, UNKNOWN. Cost and errors: as place. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_hold_release(lethe_store *store, lethe_bytes id,
                                                           lethe_hold_answer *answer);

/* Looks at a hold; also in a reader. A writer sees what is durable. The caller owns *out
 * (lethe_hold_free). If there is none, its state says so.
 * Cost: a read from disk. Errors: LETHE_EINVAL (the id), LETHE_ECORRUPT, LETHE_EIO,
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_hold_get(lethe_store *store, lethe_bytes id,
                                                       lethe_hold *out);

/* Calls visit for each hold that is known from the id `from` on (empty: the first), in the order of
 * their bytes, until it returns false; also in a reader. What it is given is valid during the call.
 * visit must not call the store.
 * Cost: 1 microsecond per hold. Errors: as get. */
typedef bool (*lethe_hold_visit)(void *context, const lethe_hold *hold);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_holds_each(lethe_store *store, lethe_bytes from,
                                                         lethe_hold_visit visit, void *context);

typedef struct lethe_holds_stats {
    /* sizeof(lethe_holds_stats): see LETHE_INIT. */
    size_t size;
    /* Neither settled nor released, and within their lease. A reader may count some here whose
     * lease has ended. */
    uint64_t open;
    /* Those whose end, or that of their lease, is still remembered. */
    uint64_t ended;
    /* How often LETHE_SETTLE_FORCE has passed a limit, over the store's life. */
    uint64_t forced;
    /* Of the open ones; 0 in a reader. */
    uint64_t memory_bytes;
    /* What is held of all counters together, in units of the store's scale; UINT64_MAX stands for
     * more. 0 in a reader. */
    uint64_t held;
} lethe_holds_stats;

/* Cost: O(1), and O(log n) for each lease that has ended since the last call. Errors:
 * LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_holds_info(const lethe_store *store,
                                                         lethe_holds_stats *out);

#ifdef __cplusplus
}
#endif

#endif
