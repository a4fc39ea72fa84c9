/* window/chain.h - tables in a row: a window of the quotient kind for one thread.
 *
 * The public functions are in window.c, which locks and stripes; this is what lies behind them. */
#ifndef LETHE_WINDOW_CHAIN_H
#define LETHE_WINDOW_CHAIN_H

#include "core/codec.h"
#include "lethe/window.h"
#include "window/table.h"

/* A merge leaves room for the tables that growth will make: each is for at least an eighth of all
 * that is remembered, so about ten of its own are alive at once at the worst. */
enum { LETHE_CHAIN_MAX_TABLES = 40, LETHE_CHAIN_MAX_MERGED = 24, LETHE_CHAIN_MAX_GRAVES = 64 };

/* One segment of expired tables is given back in so many calls. */
enum { LETHE_CHAIN_CALLS_A_DIG = 256 };

/* So much of the tables is swept at once, so often at the most, while there is something to sweep. */
enum { LETHE_CHAIN_SWEEP_BYTES = 512 * 1024, LETHE_CHAIN_SWEEP_MS = 8 };

/* Later times are taken for this one, so that no product of a time overflows. */
#define LETHE_CHAIN_MAX_TIME_MS (UINT64_MAX / 64)

typedef struct lethe_chain {
    lethe_window_options options;                /* defaults filled in */
    unsigned generations;                        /* G */
    uint64_t clock_ms;                           /* the latest time told */
    uint64_t period;                             /* floor(clock_ms G / W) */
    uint64_t period_end_ms;                      /* the first moment of the next one */
    lethe_table *tables[LETHE_CHAIN_MAX_TABLES]; /* the first is written, all are read */
    unsigned table_count;
    lethe_table
        *graves[LETHE_CHAIN_MAX_GRAVES]; /* expired tables whose memory is on its way back */
    unsigned grave_count;
    unsigned calls_until_dig;
    bool is_sweeping;                   /* a table's sweep may lag behind */
    uint64_t arrivals, arrivals_before; /* recorded in this period, and in the one before */
    uint64_t fresh, duplicates, refused;
    uint64_t peak_memory_bytes;
    bool is_capped; /* the cap was in the way when room was last needed */
    /* When no room could be made: the period after that one, and the ids alive then. Until one of them
     * changes there is none to be made. */
    uint64_t full_until, full_alive;
    /* Before this period an id may have entries in more than one table. */
    uint64_t copies_until;
} lethe_chain;

/* Checks options and fills in defaults. Pure. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_chain_plan(const lethe_window_options *options,
                                               lethe_window_options *out);

LETHE_MUST_CHECK lethe_status lethe_chain_init(lethe_chain *chain,
                                               const lethe_window_options *options);
/* Takes a zeroed chain. */
void lethe_chain_drop(lethe_chain *chain);

/* Sets the clock and what follows from it, at most LETHE_CHAIN_MAX_TIME_MS; the tables stay as they
 * are. */
void lethe_chain_set_clock(lethe_chain *chain, uint64_t clock_ms);

/* Growth, in chain_growth.c. */

/* The first moment of a period. */
uint64_t lethe_chain_start_of(const lethe_chain *chain, uint64_t period);
/* All there is, without the chain itself, which is part of its stripe. */
uint64_t lethe_chain_memory(const lethe_chain *chain);
/* That without what is on its way back. Decisions under a cap go by this: when memory goes back differs between copies of a
 * window, and what they decide must not. */
uint64_t lethe_chain_living_bytes(const lethe_chain *chain);
/* What that may come to with the tables it has. */
uint64_t lethe_chain_committed_bytes(const lethe_chain *chain);
/* Gives back what waits for it until the cap leaves room for so many bytes of tables. */
void lethe_chain_make_way(lethe_chain *chain, uint64_t needed_bytes);
void lethe_chain_note_peak(lethe_chain *chain);
/* Makes another table the newest, or goes on with an older one. Errors: LETHE_EFULL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_chain_make_room(lethe_chain *chain);
/* Follows the clock into a later period. */
void lethe_chain_begin_period(lethe_chain *chain);
/* Goes on with the sweep of the tables by a small piece. When that is done depends on nothing but the times that the clock
 * shows, so that a copy whose clock shows the same times is swept alike. */
void lethe_chain_sweep(lethe_chain *chain);
/* Gives back at most budget segments of expired tables; true when there are none left. */
bool lethe_chain_dig(lethe_chain *chain, unsigned budget);

/* Operations: what lethe/window.h says of a window. */

void lethe_chain_prefetch(const lethe_chain *chain, lethe_hash id);
lethe_window_answer lethe_chain_check(const lethe_chain *chain, lethe_hash id, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_chain_record(lethe_chain *chain, lethe_hash id,
                                                 uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_chain_record_batch(lethe_chain *chain, const lethe_hash *ids,
                                                       size_t count, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_chain_check_and_record(lethe_chain *chain, lethe_hash id,
                                                           uint64_t now_ms,
                                                           lethe_window_answer *answer);
LETHE_MUST_CHECK lethe_status lethe_chain_check_and_record_batch(lethe_chain *chain,
                                                                 const lethe_hash *ids,
                                                                 size_t count, uint64_t now_ms,
                                                                 uint8_t *answers);
void lethe_chain_check_batch(const lethe_chain *chain, const lethe_hash *ids, size_t count,
                             uint64_t now_ms, uint8_t *answers);
LETHE_MUST_CHECK lethe_status lethe_chain_forget(lethe_chain *chain, lethe_hash id,
                                                 uint64_t now_ms);
bool lethe_chain_work(lethe_chain *chain, uint64_t now_ms, unsigned budget);
lethe_window_stats lethe_chain_info(const lethe_chain *chain, uint64_t now_ms);

/* Whether other's tables could be taken over: errors as for lethe_window_merge. */
LETHE_MUST_CHECK lethe_status lethe_chain_can_merge(const lethe_chain *chain,
                                                    const lethe_chain *other);
/* Takes them over, after can_merge said LETHE_OK. */
void lethe_chain_merge(lethe_chain *chain, lethe_chain *other);

/* Saving: the payload's length, and the payload itself. Loading: into a chain made by init with the
 * saved options, from a frame of any version; on error it is dropped. */
uint64_t lethe_chain_saved_bytes(const lethe_chain *chain);
void lethe_chain_encode(const lethe_chain *chain, lethe_encoder *encoder);
LETHE_MUST_CHECK lethe_status lethe_chain_decode(lethe_chain *chain, lethe_decoder *decoder);

#endif
