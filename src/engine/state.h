/* engine/state.h - the store's one record about itself, written with every commit. */
#ifndef LETHE_ENGINE_STATE_H
#define LETHE_ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/store.h"

/* Of a sketch in place of counters. */
#define LETHE_STATE_LEAST_SKETCH_BYTES UINT64_C(4096)
#define LETHE_STATE_MOST_SKETCH_BYTES (UINT64_C(1) << 32)
#define LETHE_STATE_MOST_SKETCH_TOP (UINT32_C(1) << 20)

typedef struct lethe_totals {
    uint64_t applied, duplicates, late, ahead, refused, differing, confirmed_false;
} lethe_totals;

typedef struct lethe_state {
    uint64_t seed;   /* of all hashes; drawn when the store was made */
    uint64_t commit; /* this one's number; the first is 1 */
    uint64_t folded; /* COUNTERS has everything up to this commit */
    uint64_t clock_ms;
    uint64_t boot_ms; /* when that was, by the machine's own clock */
    unsigned char boot_id[16];
    uint64_t window_ms;
    double error;
    uint64_t log_ids;         /* in IDS */
    uint64_t change_segments; /* in CHANGES, behind `folded` */
    bool forever;             /* there is a ledger */
    uint64_t dropped;         /* from IDS, up to this commit; the ledger has them */
    uint64_t
        known_from_ms; /* event time: of what was applied before, ids were forgotten; 0: W says it all */
    bool has_index;                        /* INDEX has every id that IDS has */
    bool exact, check_payload, event_time; /* as last opened for writing */
    /* Of a store that keeps a sketch in place of counters; 0 in one that does not. Never changed. */
    uint64_t sketch_bytes;
    uint32_t sketch_top;
    lethe_totals totals;
    /* Of the window, as of a moment ago: for readers, who have none. */
    double window_error;
    uint64_t window_memory_bytes, window_ids;
} lethe_state;

/* Errors: LETHE_ENOTFOUND (no such record), LETHE_ECORRUPT, LETHE_EVERSION, those of the store. */
LETHE_MUST_CHECK lethe_status lethe_state_load(lethe_store *store, lethe_state *out,
                                               lethe_detail *detail);
/* Adds the record to a batch. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_state_put(const lethe_state *state, lethe_batch *batch,
                                              lethe_store *store);

/* check.c: reads every byte of the store in folder, which nobody may write meanwhile, and changes nothing; of its ledger too
 * where with_ledger says so. Errors: as lethe_counter_check. */
LETHE_MUST_CHECK lethe_status lethe_store_examine(const char *folder, bool with_ledger,
                                                  lethe_state *state, lethe_counter_health *out,
                                                  lethe_detail *detail);

#endif
