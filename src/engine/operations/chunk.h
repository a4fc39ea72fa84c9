/* engine/operations/chunk.h - a chunk of operations on its way from submit to its outcomes.
 *
 *   submit.c   cuts submissions into chunks, and puts these into groups
 *   screen.c   lengths and times: what can be decided without looking anything up
 *   decide.c   window, ledger, values
 *   simple.c   the same for simple operations that were hashed ahead (prepared.h)
 *   confirm.c  exact mode: what the window takes for a duplicate is looked up
 *   set.c      counters that are set or deleted by hand */
#ifndef LETHE_ENGINE_OPERATIONS_CHUNK_H
#define LETHE_ENGINE_OPERATIONS_CHUNK_H

#include "engine/operations/prepared.h"
#include "engine/store.h"

/* An answer of the window that deciding an earlier operation may have made untrue. */
enum { LETHE_ASK_AGAIN = 255 };

/* Operations of a chunk that passed the screen, in order. */
typedef struct lethe_chunk {
    size_t count;
    /* The window has answered for the operations before this one. */
    size_t asked;
    /* Some operation has changes with bounds. */
    bool has_bounds;
    /* With a ledger: the window may have forgotten an id that is still on its way to disk. */
    bool asks_pending;
    /* With a ledger: the window knows every id that the ledger has. */
    bool window_has_all;

    /* Which operations they are. */
    uint16_t at[LETHE_CHUNK];
    lethe_log_id ids[LETHE_CHUNK];
    /* The ids as window and ledger know them. */
    lethe_hash hashes[LETHE_CHUNK];
    /* The store's time at each operation, and the time that its id is recorded under. */
    uint64_t clocks[LETHE_CHUNK];
    uint64_t recorded[LETHE_CHUNK];
    /* lethe_answer, or LETHE_ASK_AGAIN. */
    uint8_t answers[LETHE_CHUNK];
    /* It is late, and to be counted all the same if nothing knows its id. */
    bool is_late[LETHE_CHUNK];
    /* 1: the ledger says that the id was applied. */
    uint8_t in_ledger[LETHE_CHUNK];
} lethe_chunk;

/* screen.c: outcomes[i] becomes LETHE_OUTCOME_APPLIED for the operations that go on, which are put
 * into the chunk. After the `count` operations the submission has `following` more, which are only
 * looked at. prepared has the same operations, or is NULL. */
void lethe_engine_screen(lethe_store *store, const lethe_operation *operations,
                         const lethe_prepared_one *prepared, size_t count, size_t following,
                         lethe_chunk *chunk, uint8_t *outcomes);

/* The same of simple operations of a store with event time, those from `from` on; all that follow
 * are looked at. */
void lethe_engine_screen_simple(lethe_store *store, const lethe_prepared *prepared, size_t from,
                                size_t count, lethe_chunk *chunk, uint8_t *outcomes);

/* Where the answers to operations go: outcomes, and for each change of each of them in turn its
 * value, its limit, or neither, where these are NULL. Limits are zeros before. */
typedef struct lethe_answers {
    uint8_t *outcomes;
    int64_t *values;
    lethe_limit *limits;
} lethe_answers;

/* A change of a payload. */
struct lethe_chosen {
    const lethe_change *change;
};
/* What an operation changes: all that a duplicate must agree with. Valid until its bounds are
 * judged. */
typedef struct lethe_payload {
    const lethe_change *all;   /* of the operation */
    struct lethe_chosen *each; /* NULL: these are all of them */
    size_t count;
    /* Distinguishes one set of changes from another, in whatever order; never 0, except where
     * nobody asks for it. */
    uint32_t digest;
} lethe_payload;

/* decide.c: decides a chunk, into the filling group, which has room for it. prepared has the same
 * operations, or is NULL. */
LETHE_MUST_CHECK lethe_status lethe_engine_decide(lethe_store *store,
                                                  const lethe_operation *operations,
                                                  const lethe_prepared_one *prepared, size_t count,
                                                  size_t following, lethe_answers answers);
/* With a ledger, before the first step: what can be asked about the whole chunk. */
LETHE_MUST_CHECK lethe_status lethe_engine_ask_ahead(lethe_store *store, lethe_chunk *chunk);
/* Asks the window about the operations of the next step of the clock, in one call, once all before
 * them are decided. */
LETHE_MUST_CHECK lethe_status lethe_engine_ask_step(lethe_store *store, lethe_chunk *chunk);
/* What window and ledger say of an operation, now that all before it are decided. *outcome becomes
 * LETHE_OUTCOME_APPLIED if it is fresh. payload: in exact mode. */
LETHE_MUST_CHECK lethe_status lethe_engine_judge(lethe_store *store, const lethe_payload *payload,
                                                 lethe_chunk *chunk, size_t at,
                                                 lethe_outcome *outcome);
/* Whether an operation whose id nobody knows may have been applied all the same: before ids were
 * kept for ever. */
static inline bool lethe_engine_is_before_memory(const lethe_store *store, uint64_t time_ms) {
    return store->options.event_time && time_ms < store->state.known_from_ms;
}
/* A fresh operation is not applied: its id is removed from the window, and what the window said of
 * later operations of the chunk is not true any more. */
void lethe_engine_take_back(lethe_store *store, lethe_chunk *chunk, size_t at);

/* simple.c: whether simple operations of a store can be decided there. */
bool lethe_engine_has_simple(const lethe_store *store);
/* Decides up to LETHE_CHUNK simple operations, those from `from` on, as lethe_engine_decide does.
 * Cost: three cache misses each, which overlap. */
LETHE_MUST_CHECK lethe_status lethe_engine_decide_simple(lethe_store *store,
                                                         const lethe_prepared *prepared,
                                                         size_t from, size_t count,
                                                         uint8_t *outcomes);

/* confirm.c */
/* Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_engine_read_payload(lethe_store *store,
                                                        const lethe_operation *operation,
                                                        lethe_payload *out);
/* The digest of an operation with this one change. */
uint32_t lethe_engine_digest_one(uint64_t seed, const lethe_change *change);
/* Whether an id that was applied is on its way to disk, where groups keep their ids. */
bool lethe_engine_is_pending(lethe_store *store, lethe_log_id id);
/* Adds an id that was applied to the index. Errors: those of lethe_index_add. */
LETHE_MUST_CHECK lethe_status lethe_engine_index_id(lethe_store *store, lethe_log_id id,
                                                    lethe_index_entry entry);
/* Fetches what confirming the duplicates from `from` to `to` will read. */
void lethe_engine_prepare_to_confirm(const lethe_store *store, const lethe_chunk *chunk,
                                     size_t from, size_t to);
/* Whether what the window calls a duplicate is one. *outcome becomes LETHE_OUTCOME_APPLIED if it is
 * fresh: the window then records it. */
LETHE_MUST_CHECK lethe_status lethe_engine_confirm(lethe_store *store, const lethe_payload *payload,
                                                   const lethe_chunk *chunk, size_t at,
                                                   lethe_outcome *outcome);

/* submit.c: makes room for more operations in the filling group, by sealing it if need be. */
LETHE_MUST_CHECK lethe_status lethe_engine_make_room(lethe_store *store, size_t more);
/* Decides operations in the filling group, which has room for them. Errors: the store can't go
 * on. */
LETHE_MUST_CHECK lethe_status lethe_engine_decide_together(lethe_store *store,
                                                           const lethe_operation *operations,
                                                           size_t count, uint8_t *outcomes,
                                                           int64_t *values);

#endif
