/* lethe/holds.h - reserve now, settle later: amounts that are set aside under a limit.
 *
 * Whoever does not know yet how much something will use sets the most of it aside, under an id and
 * for the time of a lease. That much is held: it is apart from the counter's value, and every
 * highest value that an operation or a hold carries counts it. Later what it really was is settled,
 * or nothing of it was and it is released, and the rest is free again.
 *
 *     place ---> held --- settle (actual) ---> actual is added to the counter, once
 *       |          |----- release -----------> nothing is
 *       |          '----- the lease ends ----> nothing is held; settle is then a new take
 *       '--> limited: value + held + amount would be above max
 *
 * Guarantee  H1  value + held <= max whenever a hold was placed or settled, or an operation raised
 *                the value, under that max; except by a settlement with LETHE_SETTLE_FORCE, which
 *                lethe_holds_info counts, and what asks no bound (set, and changes without one).
 *            H2  A lease lasts as long as was asked for, or longer, counted from the call, by the
 *                clock of claims (C2 of lethe/claims.h). It ends when a call comes after it.
 *            H3  A hold ends once. What is known of it is exact, and is known for W after its end:
 *                the same settlement again is a duplicate, and another one a mismatch. Only then is
 *                it forgotten, within W / 4.
 *            H4  A settlement, what it adds to the counter and to its buckets are one commit.
 *            H5  When a call returns, what it answers is durable, also where somebody else did what
 *                the answer rests on. A crash at any moment leaves a hold as it was or as it
 *                becomes.
 *            H6  Settle and release need no room in the window, and are never refused for it.
 * Memory     About 200 bytes, the id, and three times the key for each hold that is open; 60 bytes
 *            and the key more for each resolution that the store counts per.
 * Disk       About 150 bytes, the id twice and the key for each hold that was open within W.
 * Cost       Opening the store, to write or to read, and lethe_store_refresh read every hold, to
 *            see that none is missing: about 1 microsecond each. Calls: see there.
 * Threads    Any thread may call any function. Calls at the same time are committed together.
 * Caveats    Holds have nothing to do with the ids of operations and of claims: the same bytes may
 *            be all three. To delete or to set a counter leaves what is held of it as it is.
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
    /* place: so much is held. */
    LETHE_HOLD_HELD = 0,
    /* settle: the actual amount was added, and nothing is held any more. */
    LETHE_HOLD_SETTLED = 1,
    /* release: nothing is held any more. */
    LETHE_HOLD_RELEASED = 2,
    /* place: this hold was placed before, and may have ended since. settle: it was settled with the
     * same amount. release: it was released. */
    LETHE_HOLD_DUPLICATE = 3,
    /* place, settle: it would be above max. Nothing has changed, and a refusal is not
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
    /* What is set aside: 1 and more. */
    int64_t amount;
    /* The most that value and held may become together. */
    int64_t max;
    /* LETHE_CHANGE_BUCKET: max is on the bucket of the present period, of this resolution
     * (lethe_store_resolution), as with lethe_change. Otherwise both are 0. */
    uint32_t flags;
    uint32_t resolution;
    /* For how long, 1 ms to 30 days. Of a hold that is shown, 0. */
    uint64_t lease_ms;

    /* --- what get and each show besides --- */

    lethe_hold_state state;
    uint32_t reserved;
    /* Settled: with so much. */
    int64_t actual;
    /* Its buckets are those of this moment of the wall clock, since 1970. */
    uint64_t wall_ms;
    /* Open: of the lease. Otherwise: until the hold may be forgotten. */
    uint64_t left_ms;
    /* What id and key are in; for lethe_hold_free. */
    void *memory;
    size_t memory_bytes;
    const lethe_allocator *allocator;
} lethe_hold;

/* Frees the bytes of a hold that get filled in, and empties it. Takes NULL. */
LETHE_API void lethe_hold_free(lethe_hold *hold);

/* Sets an amount aside. The same hold again is a duplicate, whatever lease it asks for: an answer
 * that got lost costs nothing.
 *
 * limit, unless NULL, says how the counter, or the bucket of the hold, stands under max after the
 * call: `left` is max less the value and less what is held. It is zeros with MISMATCH and UNKNOWN.
 * Answers: HELD, DUPLICATE, LIMITED, MISMATCH, OVERFLOW.
 * Cost: two reads from disk, and a wait for the disk. The first hold of a store takes longer. The
 * holds that are forgotten on the way are a few per call.
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

/* Adds what a hold really was to its counter, 0 or more, and ends the hold. Up to the hold's amount
 * that fits, unless set or changes without bounds have used up the range of 64 bits meanwhile; what
 * is beyond is judged by the hold's max. It belongs to the bucket in which
 * the hold was placed; if retention has dropped that meanwhile, only the counter has it, and there
 * is no room for more than was held.
 * After the end of the lease it is a new take: now, in the present bucket, under the hold's max.
 * flags: LETHE_SETTLE_FORCE or 0.
 * Answers: SETTLED, DUPLICATE, LIMITED, MISMATCH, OVERFLOW, UNKNOWN. Cost and errors: as place. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_hold_settle(lethe_store *store, lethe_bytes id,
                                                          int64_t actual, uint32_t flags,
                                                          lethe_hold_answer *answer,
                                                          lethe_limit *limit);

/* Ends a hold of which nothing was used, also after its lease: it can't be settled then.
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
    /* Neither settled nor released; those of them whose lease has ended may be among the others. */
    uint64_t open;
    /* How they ended is still known. */
    uint64_t ended;
    /* How often LETHE_SETTLE_FORCE has passed a limit, over the store's life. */
    uint64_t forced;
    /* Of the open ones; 0 in a reader. */
    uint64_t memory_bytes;
} lethe_holds_stats;

/* Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_holds_info(const lethe_store *store,
                                                         lethe_holds_stats *out);

#ifdef __cplusplus
}
#endif

#endif
