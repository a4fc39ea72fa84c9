/* engine/log/state.h - the store's one record about itself, written with every commit. */
#ifndef LETHE_ENGINE_LOG_STATE_H
#define LETHE_ENGINE_LOG_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/disk/disk.h"

/* Limits of a sketch in place of counters. */
#define LETHE_STATE_LEAST_SKETCH_BYTES UINT64_C(4096)
#define LETHE_STATE_MOST_SKETCH_BYTES (UINT64_C(1) << 32)
#define LETHE_STATE_MOST_SKETCH_TOP (UINT32_C(1) << 20)

/* Outcomes over the store's life. */
typedef struct lethe_totals {
    uint64_t applied, duplicates, late, future, refused, mismatched, confirmed_false;
    /* Earlier versions counted them as refused. */
    uint64_t overflow, invalid;
    uint64_t limited;
} lethe_totals;

typedef struct lethe_state {
    /* Keys all hashes; drawn when the store was made. */
    uint64_t seed;
    /* The number of this commit. The first is 1. */
    uint64_t commit;
    /* COUNTERS has everything up to this commit. */
    uint64_t folded;

    /* The store's time, and the machine's own clock at the same moment. */
    uint64_t clock_ms;
    uint64_t boot_ms;
    unsigned char boot_id[16];
    /* With event time: ids of what was applied before this were forgotten. 0: W says it all. */
    uint64_t known_from_ms;

    uint64_t window_ms;
    double error;
    /* As last opened for writing. */
    bool exact, check_payload, event_time;
    /* There is a ledger. */
    bool forever;
    /* INDEX has every id that IDS has without a digest. */
    bool has_index;
    /* The window is of the forgetful kind. It never changes. */
    bool forgetful;
    /* There is the family of claims, with the record about them. Earlier versions leave this out,
     * and drop it. */
    bool has_claims;

    /* Ids in IDS. */
    uint64_t log_ids;
    /* Segments in CHANGES after `folded`. */
    uint64_t change_segments;
    /* IDS was dropped up to this commit: those ids left the window. The ledger, if there is one,
     * has those of them that were applied since it was made. */
    uint64_t dropped;

    /* Of a sketch in place of counters; 0 where there is none. They never change. */
    uint64_t sketch_bytes;
    uint32_t sketch_top;
    /* Digits after the point of all values. It never changes. */
    uint32_t scale;

    lethe_totals totals;
    /* Of the window, as of a moment ago: for readers, which have none. */
    double window_error;
    uint64_t window_memory_bytes, window_ids;
} lethe_state;

/* Errors: LETHE_ENOTFOUND (no such record), LETHE_ECORRUPT, LETHE_EVERSION, those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_state_load(lethe_disk *disk, lethe_state *out,
                                               lethe_detail *detail);
/* Adds the record to a batch. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_state_put(const lethe_state *state, lethe_batch *batch,
                                              lethe_disk *disk);
/* Whether it is the key of this record. */
bool lethe_state_is_record(lethe_bytes key);

#endif
