/* engine/claims/claims.h - claims: work that must happen once, with its answer kept; and what holds
 * (engine/holds) share with them: the clock of leases, steps, queues and the record about all.
 *
 *   record.c   the bytes                          time.c    the clock of claims
 *   step.c     what a call writes, and reading what is not on disk yet
 *   known.c    the record of a claim or of a hold: copied, replaced, shown
 *   decide.c   begin, renew, done, abort          tidy.c    forgetting, a little with each call
 *   call.c     the functions of lethe/claims.h that change something
 *   look.c     those that only read               expect.c  whether all claims are there
 *
 * Everything is guarded by the store's lock. docs/design/claims.md says why it is built so. */
#ifndef LETHE_ENGINE_CLAIMS_CLAIMS_H
#define LETHE_ENGINE_CLAIMS_CLAIMS_H

#include "engine/buffer.h"
#include "engine/claims/record.h"
#include "engine/log/state.h"

/* The cap of all replies in a new store. */
#define LETHE_CLAIMS_REPLIES_BYTES (UINT64_C(256) << 20)

/* Those of a store. */
typedef struct lethe_claims {
    /* The store has or had a claim: every commit carries the record about them. */
    bool exist;
    /* As the filling group will be committed with. */
    lethe_claims_record record;
    /* The clock was base_ms when the machine's was base_boot_ms. */
    uint64_t base_ms, base_boot_ms;
    /* Of this start of the machine: what commits write. The record's is that of its commit. */
    unsigned char base_boot_id[16];
    /* What a call is about to write. */
    lethe_buffer step;
} lethe_claims;

/* Reads the record about all, if there is one, and starts the clock. Errors: as lethe_claims_load,
 * except LETHE_ENOTFOUND. */
LETHE_MUST_CHECK lethe_status lethe_claims_open(lethe_claims *claims, lethe_disk *disk,
                                                const lethe_allocator *allocator,
                                                lethe_detail *detail);
void lethe_claims_close(lethe_claims *claims);

/* --- time.c --- */

/* The clocks of the machine. */
typedef struct lethe_claims_clocks {
    uint64_t boot_ms, wall_ms;
    unsigned char boot_id[16];
} lethe_claims_clocks;
lethe_claims_clocks lethe_claims_read_clocks(void);

/* What the clock of claims shows when those of the machine show this. */
uint64_t lethe_claims_carry_on(const lethe_claims_record *record,
                               const lethe_claims_clocks *clocks);
void lethe_claims_start_clock(lethe_claims *claims);
uint64_t lethe_claims_now(const lethe_claims *claims);
/* The same, also of a reader. */
uint64_t lethe_claims_time_of(const lethe_store *store);
/* Sets all clocks of the record to this moment: before it is written. */
void lethe_claims_stamp(lethe_claims *claims);

/* --- step.c --- */

/* Writes of one call, which become part of the filling group together. The first error sticks. */
typedef struct lethe_claims_step {
    lethe_buffer *writes;
    lethe_claims_record after;
    lethe_status status;
} lethe_claims_step;

void lethe_claims_step_begin(lethe_store *store, lethe_claims_step *out);
void lethe_claims_step_put(lethe_claims_step *step, const lethe_claim_key *key, lethe_bytes value);
void lethe_claims_step_delete(lethe_claims_step *step, const lethe_claim_key *key);
/* Errors: LETHE_ENOMEM; nothing has changed then. */
LETHE_MUST_CHECK lethe_status lethe_claims_step_end(lethe_store *store, lethe_claims_step *step);

/* A store gets the family with its first claim or hold. */
LETHE_MUST_CHECK lethe_status lethe_claims_need_family(lethe_store *store, lethe_detail *detail);

/* What a call does with the lock, and with room for its operations. *commit: what the answer rests
 * on. */
typedef lethe_status (*lethe_claims_body)(void *call, uint64_t *commit, lethe_detail *detail);
/* Takes the lock, makes room, has it done, and waits until what the answer rests on is durable. */
LETHE_MUST_CHECK lethe_status lethe_claims_run(lethe_store *store, size_t operations,
                                               lethe_claims_body body, void *call);

/* A record of CLAIMS: on its way to disk, or there. */
typedef struct lethe_claims_found {
    /* data is NULL if there is none. Valid until released or until a step ends. */
    lethe_bytes value;
    /* The commit that this rests on; 0: it is durable. */
    uint64_t commit;
    lethe_record record;
} lethe_claims_found;
LETHE_MUST_CHECK lethe_status lethe_claims_find(lethe_store *store, const lethe_claim_key *key,
                                                lethe_claims_found *out, lethe_detail *detail);
static inline void lethe_claims_release(lethe_claims_found *found) {
    lethe_record_release(&found->record);
}

/* --- known.c --- */

/* The record of a claim or of a hold as it is: a copy, which steps do not change. */
typedef struct lethe_claims_copy {
    bool exists;
    /* The commit that this rests on; 0: it is durable. */
    uint64_t commit;
    lethe_claim_key key;
    unsigned char bytes[LETHE_CLAIMS_COPY_LIMIT_BYTES];
    /* 0 if the record is too large, and damaged therefore. */
    size_t size;
} lethe_claims_copy;
static inline lethe_bytes lethe_claims_copy_bytes(const lethe_claims_copy *copy) {
    return (lethe_bytes){.data = copy->bytes, .size = copy->size};
}
LETHE_MUST_CHECK lethe_status lethe_claims_copy_record(lethe_store *store, char kind,
                                                       lethe_bytes id, lethe_claims_copy *out,
                                                       lethe_detail *detail);
/* Replaces a record in a step: by another one, or by none if its data is NULL. Keeps the sum of
 * digests. */
void lethe_claims_step_replace(lethe_claims_step *step, const lethe_claims_copy *before,
                               lethe_bytes after, uint64_t *digest);

/* Looks at something with the lock, also in a reader, and waits until what it rests on is
 * durable. */
LETHE_MUST_CHECK lethe_status lethe_claims_look(lethe_store *store, lethe_claims_body body,
                                                void *call);

/* When a walk began. */
typedef struct lethe_claims_moment {
    uint64_t window_ms, replies_from, now_ms;
} lethe_claims_moment;
/* Shows a record of a walk, unless it is old. Errors: LETHE_ECORRUPT, LETHE_EVERSION. */
typedef lethe_status (*lethe_claims_show)(void *context, const lethe_claims_moment *moment,
                                          lethe_bytes id, lethe_bytes record, bool *goes_on);
/* Walks over the records of a kind, from an id on. what: "a claim", for errors. Takes a NULL store
 * for LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_claims_walk(lethe_store *store, char kind, const char *what,
                                                lethe_bytes from, lethe_claims_show show,
                                                void *context);

/* Whether more than a span has passed since a moment. */
static inline bool lethe_claims_has_passed(uint64_t since_ms, uint64_t now_ms, uint64_t span_ms) {
    return now_ms > since_ms && now_ms - since_ms > span_ms;
}

/* --- decide.c --- */

/* A claim as it is. Its bytes are those of the copy. */
typedef struct lethe_claim_known {
    lethe_claims_copy copy;
    lethe_claim_record claim;
} lethe_claim_known;

LETHE_MUST_CHECK lethe_status lethe_claims_read(lethe_store *store, lethe_bytes id,
                                                lethe_claim_known *out, lethe_detail *detail);
/* Whether a claim is too old to be remembered at this time. */
static inline bool lethe_claim_is_old(uint64_t window_ms, const lethe_claim_record *claim,
                                      uint64_t now_ms) {
    return lethe_claims_has_passed(claim->moment_ms, now_ms, window_ms);
}
/* Replaces a claim in a step: by another one, or by none. */
void lethe_claims_replace(lethe_claims_step *step, const lethe_claim_known *before,
                          const lethe_claim_record *after);
/* Adds a record to a queue. */
void lethe_claims_queue(lethe_claims_step *step, char kind, uint64_t number,
                        const lethe_claim_entry *entry);
/* Puts an open claim at the end of the queue, and sets its number. */
void lethe_claims_queue_open(lethe_claims_step *step, lethe_bytes id, uint64_t now_ms,
                             lethe_claim_record *claim);

/* What a call asks for. */
typedef struct lethe_claim_request {
    lethe_bytes id, token, fingerprint, reply;
    uint64_t lease_ms;
} lethe_claim_request;

/* These decide at this time, from `known`, which is what there is; what they change goes into the
 * step. */
typedef lethe_claim_answer lethe_claim_decide(const lethe_store *store,
                                              const lethe_claim_request *request,
                                              const lethe_claim_known *known, uint64_t now_ms,
                                              lethe_claims_step *step);
lethe_claim_decide lethe_claims_decide_begin, lethe_claims_decide_renew, lethe_claims_decide_done,
    lethe_claims_decide_abort;

/* --- tidy.c --- */

/* The first of a queue, copied. */
typedef struct lethe_claims_first {
    uint64_t number;
    lethe_claim_key key;
    unsigned char bytes[LETHE_CLAIM_ENTRY_LIMIT_BYTES];
    lethe_claim_entry entry;
} lethe_claims_first;
/* *is_due: there is one, and more than a span has passed since it got there. */
LETHE_MUST_CHECK lethe_status lethe_claims_read_first(lethe_store *store, char kind,
                                                      const lethe_claim_range *queue,
                                                      uint64_t now_ms, uint64_t span_ms,
                                                      lethe_claims_first *out, bool *is_due,
                                                      lethe_detail *detail);

/* Forgets a few of the claims that are old enough. */
LETHE_MUST_CHECK lethe_status lethe_claims_forget(lethe_store *store, uint64_t now_ms,
                                                  lethe_detail *detail);
/* Drops the oldest replies until the others are within their cap, a thousand at most. */
LETHE_MUST_CHECK lethe_status lethe_claims_drop_replies(lethe_store *store, lethe_detail *detail);

/* --- look.c --- */

/* What there is to say of a claim that is not old. Its bytes are borrowed, and the reply is left
 * out. */
lethe_claim lethe_claim_describe(uint64_t window_ms, uint64_t replies_from, lethe_bytes id,
                                 const lethe_claim_record *claim, uint64_t now_ms);
/* Copies the bytes that it has borrowed, and adds its reply if there is one. Errors: LETHE_ECORRUPT
 * (the reply is missing), LETHE_ENOMEM, those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_claim_keep(lethe_store *store, const lethe_claim_record *claim,
                                               lethe_claim *described, lethe_detail *detail);

/* --- expect.c --- */

/* Whether all claims and holds are there that the record about them counts, and that record if the
 * state says that there is one. Cost: 1 microsecond for each.
 * Errors: LETHE_ECORRUPT, LETHE_EVERSION, LETHE_ENOMEM, those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_claims_expect(lethe_disk *disk, const lethe_state *state,
                                                  lethe_detail *detail);
/* Reads every record of CLAIMS, and that they agree with each other. Counts claims and holds. */
LETHE_MUST_CHECK lethe_status lethe_claims_examine(lethe_disk *disk, const lethe_state *state,
                                                   uint64_t *claims, uint64_t *holds,
                                                   lethe_detail *detail);

#endif
