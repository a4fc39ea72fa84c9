/* window/chain.h - a chain of parts: a window of the quotient kind for one thread.
 *
 * The public functions, in window.c, add stripes and locks. chain.c has the essay. */
#ifndef LETHE_WINDOW_CHAIN_H
#define LETHE_WINDOW_CHAIN_H

#include "core/codec.h"
#include "lethe/window.h"
#include "window/part.h"

/* A merge leaves room for the parts that growth will add: growth.h makes them larger where there
 * are many. Without a merge, a window of a thousand million ids has 27 parts. The size of a chain
 * counts under a cap, so where one of these numbers is raised another has to go down: copies of a
 * window that are of an earlier version must have as much room. */
enum { LETHE_CHAIN_MAX_PARTS = 64, LETHE_CHAIN_MAX_MERGED = 48, LETHE_CHAIN_MAX_GRAVES = 40 };
_Static_assert(LETHE_CHAIN_MAX_PARTS + LETHE_CHAIN_MAX_GRAVES == 104, "as much as it ever was");

/* The most ids that a chain can be told to expect. */
#define LETHE_CHAIN_MAX_HINT (UINT64_C(1) << 36)

/* One slab of expired parts is freed per this many calls. */
enum { LETHE_CHAIN_CALLS_A_DIG = 256 };

/* How much of the parts is swept at a time, and how often at most, while there is a lag. */
enum { LETHE_CHAIN_SWEEP_BYTES = 512 * 1024, LETHE_CHAIN_SWEEP_MS = 8 };

/* Later times are treated as this one, so that no product of a time overflows. */
#define LETHE_CHAIN_MAX_TIME_MS (UINT64_MAX / 64)

typedef struct lethe_chain {
    /* With the defaults filled in. */
    lethe_window_options options;
    /* G, the periods in a window. */
    unsigned generations;

    /* The latest time seen, its period floor(clock_ms G / W), and when the next period starts. */
    uint64_t clock_ms;
    uint64_t period;
    uint64_t period_end_ms;

    /* Newest first. The newest is written, all are read. */
    lethe_part *parts[LETHE_CHAIN_MAX_PARTS];
    unsigned part_count;

    /* Expired parts, whose memory is freed little by little. */
    lethe_part *graves[LETHE_CHAIN_MAX_GRAVES];
    unsigned grave_count;
    unsigned calls_until_dig;

    /* Whether the sweep of a part may lag. */
    bool is_sweeping;

    /* Whether the cap was a limit when room was last needed. */
    bool is_capped;

    /* Ids added in this period and in the previous one. */
    uint64_t arrivals, arrivals_before;

    uint64_t fresh, duplicates, refused;
    uint64_t peak_memory_bytes;

    /* When no room could be made: that moment, plus 1, and the arrivals then; 0: not known. Until
     * time passes, or an id is added or removed, trying again is useless. No longer than that: what
     * is not saved must not decide, and a forecast falls while no ids arrive. */
    uint64_t full_at_ms, full_arrivals;

    /* Before this period, an id may have entries in more than one part. */
    uint64_t repeats_until;

    /* Whether the ids that are added now were accepted before: chain_refill.c. Not saved. */
    bool is_refilling;
} lethe_chain;

/* Checks options and fills in their defaults. Pure. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_chain_plan(const lethe_window_options *options,
                                               lethe_window_options *out);

LETHE_MUST_CHECK lethe_status lethe_chain_init(lethe_chain *chain,
                                               const lethe_window_options *options);
/* Takes a zeroed chain. */
void lethe_chain_drop(lethe_chain *chain);

/* Sets the clock, at most to LETHE_CHAIN_MAX_TIME_MS, and the fields that follow from it. The
 * parts stay as they are. */
void lethe_chain_set_clock(lethe_chain *chain, uint64_t clock_ms);

/* Growth, in chain_growth.c. */

/* The first moment of a period. */
uint64_t lethe_chain_start_of(const lethe_chain *chain, uint64_t period);
/* The memory of all parts, including expired ones. The chain itself is part of its stripe. */
uint64_t lethe_chain_memory(const lethe_chain *chain);
/* The memory of the parts that are not expired. Decisions under a cap use this number. Replicas
 * of a window may free expired parts at different times, but must take the same decisions. */
uint64_t lethe_chain_living_bytes(const lethe_chain *chain);
/* What the memory of these parts may grow to. */
uint64_t lethe_chain_committed_bytes(const lethe_chain *chain);
/* Frees expired parts until the cap leaves room for needed_bytes of parts. */
void lethe_chain_make_way(lethe_chain *chain, uint64_t needed_bytes);
void lethe_chain_note_peak(lethe_chain *chain);
/* Adds a new part, or makes an older one the newest again. Errors: LETHE_EFULL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_chain_make_room(lethe_chain *chain);
/* Takes an empty part back that make_room has just made. */
void lethe_chain_drop_newest(lethe_chain *chain);
/* Makes a part the newest; LETHE_ENOMEM if it can't be made. */
LETHE_MUST_CHECK lethe_status lethe_chain_put_part(lethe_chain *chain,
                                                   const struct lethe_part_shape *shape);
/* Follows the clock into a later period. */
void lethe_chain_begin_period(lethe_chain *chain);
/* Continues the sweep of the parts by a small piece. When it is called depends only on the
 * times that the clock shows, so replicas that are given the same times sweep alike. */
void lethe_chain_sweep(lethe_chain *chain);
/* Frees at most budget slabs of expired parts; true if none is left. */
bool lethe_chain_dig(lethe_chain *chain, unsigned budget);

/* Refilling, in chain_refill.c. */

/* As lethe_window_refill, for a chain without ids. Errors, with nothing changed: LETHE_EFULL,
 * LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_chain_refill(lethe_chain *chain, uint64_t ids);
/* While it lasts: makes a part for a few ids more, whether the cap leaves room for it or not.
 * Errors: LETHE_EFULL (far beyond the cap), LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_chain_open_beyond(lethe_chain *chain, uint64_t alive,
                                                      double share);

/* The operations, as lethe/window.h describes them. */

void lethe_chain_prefetch(const lethe_chain *chain, lethe_hash id);
lethe_answer lethe_chain_test(const lethe_chain *chain, lethe_hash id, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_chain_add(lethe_chain *chain, lethe_hash id, uint64_t now_ms);
/* added may be NULL. */
LETHE_MUST_CHECK lethe_status lethe_chain_add_batch(lethe_chain *chain, const lethe_hash *ids,
                                                    size_t count, uint64_t now_ms, uint8_t *added);
/* Its two steps: follows the clock, and adds ids at the time that it shows. */
void lethe_chain_follow(lethe_chain *chain, uint64_t now_ms);
LETHE_MUST_CHECK lethe_status lethe_chain_add_now(lethe_chain *chain, const lethe_hash *ids,
                                                  size_t count, uint8_t *added);
/* In lanes.c. crew is not NULL. */
LETHE_MUST_CHECK lethe_status lethe_chain_add_runs(lethe_chain *chain, const lethe_hash *ids,
                                                   const lethe_window_run *runs, size_t run_count,
                                                   const lethe_crew *crew);
LETHE_MUST_CHECK lethe_status lethe_chain_add_and_test(lethe_chain *chain, lethe_hash id,
                                                       uint64_t now_ms, lethe_answer *answer);
LETHE_MUST_CHECK lethe_status lethe_chain_add_and_test_batch(lethe_chain *chain,
                                                             const lethe_hash *ids, size_t count,
                                                             uint64_t now_ms, uint8_t *answers);
void lethe_chain_test_batch(const lethe_chain *chain, const lethe_hash *ids, size_t count,
                            uint64_t now_ms, uint8_t *answers);
LETHE_MUST_CHECK lethe_status lethe_chain_remove(lethe_chain *chain, lethe_hash id,
                                                 uint64_t now_ms);
bool lethe_chain_work(lethe_chain *chain, uint64_t now_ms, unsigned budget);
lethe_window_stats lethe_chain_info(const lethe_chain *chain, uint64_t now_ms);

/* Whether other's parts can be taken over. Errors: as lethe_window_merge. */
LETHE_MUST_CHECK lethe_status lethe_chain_can_merge(const lethe_chain *chain,
                                                    const lethe_chain *other);
/* Takes them over, after can_merge returned LETHE_OK. */
void lethe_chain_merge(lethe_chain *chain, lethe_chain *other);

/* Saving: the length of the payload, and the payload itself. Loading: into a chain that init
 * made with the saved options, from a frame of any version. *may_list is how many slabs the file
 * may still list. On error the chain is dropped. */
uint64_t lethe_chain_saved_bytes(const lethe_chain *chain);
void lethe_chain_encode(const lethe_chain *chain, lethe_encoder *encoder);
LETHE_MUST_CHECK lethe_status lethe_chain_decode(lethe_chain *chain, uint64_t *may_list,
                                                 lethe_decoder *decoder);

#endif
