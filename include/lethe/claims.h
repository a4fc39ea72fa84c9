/* lethe/claims.h - work that must happen once, with its answer kept: claims in a store.
 *
 * A caller that is about to do a piece of work begins its claim, under the work's id and with a
 * token that nobody else has, such as 16 random bytes. One holder at a time gets the answer `new`,
 * and does the work. It completes the claim with a reply, which everybody who begins the same id
 * from then on receives, or it aborts the claim. A holder that vanishes loses the claim when its
 * lease has ended and somebody else begins it.
 *
 *     begin ---> new --- work --- done (reply)            recorded
 *       |          \--- renew, renew, ... ---/
 *       |--> running: somebody else is at work, and this is what is left of the lease
 *       |--> done: here is the reply
 *       '--> mismatch: the id was begun for something else
 *
 * Guarantee  C1  A claim is given to one token at a time. It is given to another one only after its
 *                lease has ended, or after it was aborted or forgotten.
 *            C2  A lease lasts at least as long as was asked for, from the call on. It ends by the
 *                machine's own clock, which nobody can set. So neither a kill, nor a step of the
 *                wall clock, nor a restart of the machine ends it early. After a restart only the
 *                time since the machine came up again counts, and no more of it than the wall clock
 *                has advanced: a lease lasts longer by the time that the machine was off.
 *            C3  When done returns LETHE_CLAIM_RECORDED, the completion and its reply are durable,
 *                and the first one stays: whoever begins the id within W of it gets the answer
 *                LETHE_CLAIM_DONE. After W the claim is forgotten, within another W / 4.
 *            C4  When a call returns, its answer is durable, and so is everything that the answer
 *                rests on, whoever wrote it. A crash at any moment leaves a claim as it was or as
 *                it becomes.
 *            C5  Ids, tokens and fingerprints are compared byte by byte: no id is taken for
 *                another.
 * Memory     None for claims at rest: they are on disk. For each call under way its reply, twice.
 * Disk       About 100 bytes, the id twice, the token, the fingerprint and the reply for each claim
 *            that was begun or done within W. Replies have a cap (lethe_claims_limit).
 * Cost       Opening the store, to write or to read, and lethe_store_refresh read every claim, to
 *            see that none is missing: about 1 microsecond each. Calls: see there.
 * Threads    Any thread may call any function. Calls at the same time are committed together.
 * Caveats    One recorded completion is not one execution. A holder whose lease ended may still be
 *            at work while another one does the same: keep leases long and renew them, and have
 *            the work itself check what it can.
 *            Claims have nothing to do with the ids of operations: the same bytes may be both.
 *            In a store by event time, too, claims go by elapsed time.
 *            A store that is restored from a backup has the claims of that moment. On another
 *            machine whose wall clock is ahead, leases end early by as much.
 *            A store with claims is refused by versions of lethe that do not know of them. */
#ifndef LETHE_CLAIMS_H
#define LETHE_CLAIMS_H

#include "lethe/store.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LETHE_TOKEN_LIMIT_BYTES = 255,
    LETHE_FINGERPRINT_LIMIT_BYTES = 255,
    /* Of one reply. */
    LETHE_REPLY_LIMIT_BYTES = 1 << 20,
    /* In the cap of all replies, a smaller one counts as this many bytes. */
    LETHE_REPLY_LEAST_BYTES = 1 << 10
};
/* 30 days. */
#define LETHE_LEASE_LIMIT_MS UINT64_C(2592000000)

typedef enum lethe_claim_answer {
    /* begin: the caller holds the claim, and does the work. It may have held it before. */
    LETHE_CLAIM_NEW = 0,
    /* begin: another token holds it. */
    LETHE_CLAIM_RUNNING = 1,
    /* begin, renew, abort: the work is done. */
    LETHE_CLAIM_DONE = 2,
    /* begin: the id was begun with another fingerprint. */
    LETHE_CLAIM_MISMATCH = 3,
    /* renew: the lease lasts at least lease_ms from now on. */
    LETHE_CLAIM_RENEWED = 4,
    /* done: this is the completion. */
    LETHE_CLAIM_RECORDED = 5,
    /* done: this token has recorded a completion before, whose reply stays. */
    LETHE_CLAIM_DUPLICATE = 6,
    /* abort: nobody holds the claim, and it is forgotten. */
    LETHE_CLAIM_ABORTED = 7,
    /* renew, done, abort: the claim is another token's, which holds it or completed it. It was
     * given to that one after the lease of this one had ended, if this one ever held it. */
    LETHE_CLAIM_LOST = 8,
    /* renew, done, abort: there is no such claim. It was never begun, or was aborted; or it was
     * done or left alone more than W ago. */
    LETHE_CLAIM_UNKNOWN = 9
} lethe_claim_answer;

/* "new", "running", ... ; never NULL. Cost: O(1). */
LETHE_API const char *lethe_claim_answer_name(lethe_claim_answer answer);

typedef enum lethe_claim_state {
    /* No such claim. */
    LETHE_CLAIM_IS_NONE = 0,
    LETHE_CLAIM_IS_RUNNING = 1,
    /* The lease has ended: the next one to begin it gets it. Until then its holder may renew it and
     * record its completion. */
    LETHE_CLAIM_IS_LAPSED = 2,
    LETHE_CLAIM_IS_DONE = 3
} lethe_claim_state;

typedef struct lethe_claim {
    /* sizeof(lethe_claim): see LETHE_INIT. */
    size_t size;
    lethe_claim_state state;
    /* Done, with a reply that made room for later ones: it is not known, and was not empty. */
    bool reply_gone;
    bool reserved[3];
    /* Running: of the lease. Done or lapsed: until the claim may be forgotten. */
    uint64_t left_ms;
    /* Done: of the reply, also where it is gone or not given here. */
    uint64_t reply_bytes;
    lethe_bytes id;
    lethe_bytes token;
    lethe_bytes fingerprint;
    lethe_bytes reply;
    /* What the bytes above are in; for lethe_claim_free. */
    void *memory;
    size_t memory_bytes;
    const lethe_allocator *allocator;
} lethe_claim;

/* Frees the bytes of a claim that begin or get filled in, and empties it. Takes NULL. */
LETHE_API void lethe_claim_free(lethe_claim *claim);

/* Begins the claim of an id of 1 to 1024 bytes, for lease_ms from now: 1 ms to 30 days. The
 * fingerprint, up to 255 bytes, says what the work is: a hash of the request, for example. The same
 * id with another one is LETHE_CLAIM_MISMATCH. No fingerprint is the same as an empty one.
 *
 * A token that holds the claim, or held it when its lease ended, is answered LETHE_CLAIM_NEW again,
 * and its lease then lasts at least lease_ms from now. So an answer that got lost locks nobody out.
 *
 * claim, unless NULL, is filled in if the answer is RUNNING, DONE or MISMATCH, without the token;
 * with DONE it has the reply. The caller owns it (lethe_claim_free). On error it is empty, and
 * nothing has changed.
 * Cost: two reads from disk, and a wait for the disk; with DONE the reply is read. The first claim
 * of a store takes longer. Each call also forgets a few old claims.
 * Errors: LETHE_EINVAL (a size, the lease, read_only: lethe_store_explain says which), and those of
 * lethe_store_apply. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_claim_begin(lethe_store *store, lethe_bytes id, lethe_bytes token, lethe_bytes fingerprint,
                  uint64_t lease_ms, lethe_claim_answer *answer, lethe_claim *claim);

/* Makes the holder's lease last at least lease_ms from now; it is never made shorter. This works
 * even after the lease has ended, unless the claim was given to another token.
 * Answers: RENEWED, DONE, LOST, UNKNOWN. Cost and errors: as begin. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claim_renew(lethe_store *store, lethe_bytes id,
                                                          lethe_bytes token, uint64_t lease_ms,
                                                          lethe_claim_answer *answer);

/* Records that the work is done, with its reply, of up to 1 MiB. It succeeds even after the lease
 * has ended, unless the claim was given to another token.
 * Answers: RECORDED, DUPLICATE, LOST, UNKNOWN. Cost: as begin; up to 1024 older replies make room.
 * Errors: as begin. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claim_done(lethe_store *store, lethe_bytes id,
                                                         lethe_bytes token, lethe_bytes reply,
                                                         lethe_claim_answer *answer);

/* The same, and applies operations in the same commit, if the answer is RECORDED: the completion
 * and what it counts are durable together or not at all. At most as many operations as a commit
 * has (commit_operations). outcomes and values are as in lethe_store_apply; with any other answer
 * they are left as they are.
 * Cost: as done and lethe_store_apply. Errors: as both. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claim_done_with(lethe_store *store, lethe_bytes id,
                                                              lethe_bytes token, lethe_bytes reply,
                                                              const lethe_operation *operations,
                                                              size_t count, uint8_t *outcomes,
                                                              int64_t *values,
                                                              lethe_claim_answer *answer);

/* Gives the claim up: whoever comes next begins it anew, with any fingerprint.
 * Answers: ABORTED, DONE, LOST, UNKNOWN. Cost and errors: as begin. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claim_abort(lethe_store *store, lethe_bytes id,
                                                          lethe_bytes token,
                                                          lethe_claim_answer *answer);

/* Looks at a claim, with its reply; also in a reader. A writer sees what is durable. The caller
 * owns *out (lethe_claim_free). If there is none, its state says so.
 * Cost: one or two reads from disk. Errors: LETHE_EINVAL (the id), LETHE_ECORRUPT, LETHE_EIO,
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claim_get(lethe_store *store, lethe_bytes id,
                                                        lethe_claim *out);

/* Calls visit for each claim from the id `from` on (empty: the first), in the order of their bytes,
 * until it returns false; also in a reader. What it is given has no reply, and is valid during the
 * call. visit must not call the store.
 * Cost: 1 microsecond per claim. Errors: as get. */
typedef bool (*lethe_claim_visit)(void *context, const lethe_claim *claim);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claims_each(lethe_store *store, lethe_bytes from,
                                                          lethe_claim_visit visit, void *context);

/* Sets the cap of all replies together; 0 keeps none. The store remembers it; 256 MiB in a new one.
 * The oldest replies make room, 1024 with each call from now on. Their claims stay done, and
 * reply_gone says that the reply is missing. Durable on return.
 * Cost: as begin. Errors: as begin. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claims_limit(lethe_store *store,
                                                           uint64_t replies_bytes);

typedef struct lethe_claims_stats {
    /* sizeof(lethe_claims_stats): see LETHE_INIT. */
    size_t size;
    /* Begun and not done, running or lapsed. */
    uint64_t open;
    uint64_t done;
    /* As the cap counts them, and the cap. */
    uint64_t reply_bytes;
    uint64_t reply_limit_bytes;
    /* On disk, roughly. */
    uint64_t disk_bytes;
    /* The time that claims go by: what has passed since the store's first. */
    uint64_t clock_ms;
} lethe_claims_stats;

/* Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_claims_info(const lethe_store *store,
                                                          lethe_claims_stats *out);

#ifdef __cplusplus
}
#endif

#endif
