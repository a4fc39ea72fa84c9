/* engine/decide.h - a chunk of operations on its way from the screen to its outcomes. */
#ifndef LETHE_ENGINE_DECIDE_H
#define LETHE_ENGINE_DECIDE_H

#include "engine/engine.h"

/* Operations of a chunk that passed the screen, in order. */
typedef struct lethe_chunk {
    size_t count;
    size_t asked;             /* the window has answered for those before this one */
    uint16_t at[LETHE_CHUNK]; /* which operations */
    lethe_log_id ids[LETHE_CHUNK];
    lethe_hash hashes[LETHE_CHUNK]; /* as the window knows them */
    uint64_t clocks[LETHE_CHUNK];   /* the store's time at each */
    uint64_t recorded[LETHE_CHUNK]; /* the time it is recorded under */
    uint8_t answers[LETHE_CHUNK];   /* lethe_window_answer, or LETHE_ASK_AGAIN */
    uint8_t in_ledger[LETHE_CHUNK]; /* 1: applied once, by what the ledger says */
} lethe_chunk;

/* An answer that settling an earlier operation may have made untrue. */
enum { LETHE_ASK_AGAIN = 255 };

bool lethe_engine_is_key(lethe_bytes key);

/* screen.c: what can be told without asking anybody: lengths, and time. outcomes[i] becomes LETHE_APPLIED for those
 * that go on, which are put into the chunk. Behind the `count` operations of the chunk the submission has `following`
 * more, which are looked at only. */
void lethe_engine_screen(lethe_counter *counter, const lethe_operation *operations, size_t count,
                         size_t following, lethe_chunk *chunk, uint8_t *outcomes);

/* decide.c: decides a chunk, into the filling group, which has room for it. values may be NULL. */
LETHE_MUST_CHECK lethe_status lethe_engine_decide(lethe_counter *counter,
                                                  const lethe_operation *operations, size_t count,
                                                  size_t following, size_t tag_count,
                                                  uint8_t *outcomes, int64_t *values);

/* apply.c: makes an operation's changes, or, where *overflows says so, none of them. */
LETHE_MUST_CHECK lethe_status lethe_engine_change(lethe_counter *counter,
                                                  const lethe_operation *operation,
                                                  const uint32_t *tags, bool *overflows);
/* apply.c: what the operation's counters hold now. */
LETHE_MUST_CHECK lethe_status lethe_engine_values(lethe_counter *counter,
                                                  const lethe_operation *operation,
                                                  int64_t *values);

#endif
