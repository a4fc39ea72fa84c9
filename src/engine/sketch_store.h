/* engine/sketch_store.h - a store's sketch as it is on disk: saved now and then, and the log behind it.
 *
 * docs/format/counter.md, "A store with a sketch". */
#ifndef LETHE_ENGINE_SKETCH_STORE_H
#define LETHE_ENGINE_SKETCH_STORE_H

#include "engine/state.h"
#include "engine/store.h"
#include "lethe/sketch.h"

/* The sketch of a store with such a state: FID, of the size that the state tells, keyed by the store's secret. */
lethe_sketch_options lethe_sketch_store_options(const lethe_state *state,
                                                const lethe_allocator *allocator);

/* How a sketch lies in COUNTERS. */
typedef struct lethe_sketch_saved {
    uint64_t cut;    /* the commit that it is of; 0 if none was saved yet */
    uint32_t pieces; /* records that it takes */
} lethe_sketch_saved;

/* Reads the sketch, or makes an empty one if none was saved yet. On error *out is NULL. Errors: LETHE_ECORRUPT (also if
 * it is not the one that the state speaks of), LETHE_EVERSION, LETHE_ENOMEM, those of the store. */
LETHE_MUST_CHECK lethe_status lethe_sketch_store_load(lethe_store *store, const lethe_state *state,
                                                      const lethe_allocator *allocator,
                                                      lethe_sketch **out, lethe_sketch_saved *saved,
                                                      lethe_detail *detail);

/* Writes a sketch in place of the one that saved tells of, all of it or nothing, and updates saved. */
LETHE_MUST_CHECK lethe_status lethe_sketch_store_save(lethe_store *store,
                                                      const lethe_sketch *sketch, uint64_t cut,
                                                      const lethe_allocator *allocator,
                                                      lethe_sketch_saved *saved,
                                                      lethe_detail *detail);

/* Makes the changes of a segment once more, and adds their number to *changes. Errors: LETHE_ECORRUPT, also for a removal that
 * can't be right; then a part of them is made. LETHE_EVERSION, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_sketch_store_replay(lethe_sketch *sketch, lethe_bytes segment,
                                                        uint64_t *changes);

#endif
