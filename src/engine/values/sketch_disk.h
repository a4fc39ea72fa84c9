/* engine/values/sketch_disk.h - a store's sketch on disk: saved now and then, and the log after it.
 *
 * docs/format/store.md, "A store with a sketch". */
#ifndef LETHE_ENGINE_VALUES_SKETCH_DISK_H
#define LETHE_ENGINE_VALUES_SKETCH_DISK_H

#include "engine/disk/disk.h"
#include "engine/log/state.h"
#include "lethe/sketch.h"

/* The sketch of a store with this state: FID, of the state's size, keyed by the store's secret. */
lethe_sketch_options lethe_sketch_disk_options(const lethe_state *state,
                                               const lethe_allocator *allocator);

/* How a sketch lies in COUNTERS. */
typedef struct lethe_sketch_saved {
    /* The commit that it is of; 0 if none was saved yet. */
    uint64_t cut;
    /* Records that it takes. */
    uint32_t pieces;
} lethe_sketch_saved;

/* Reads the sketch, or makes an empty one if none was saved yet. On error *out is NULL. Errors:
 * LETHE_ECORRUPT (also if it is not the sketch that the state describes), LETHE_EVERSION,
 * LETHE_ENOMEM, those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_sketch_disk_load(lethe_disk *disk, const lethe_state *state,
                                                     const lethe_allocator *allocator,
                                                     lethe_sketch **out, lethe_sketch_saved *saved,
                                                     lethe_detail *detail);

/* Writes a sketch in place of the saved one, all of it or nothing, and updates *saved. */
LETHE_MUST_CHECK lethe_status lethe_sketch_disk_save(lethe_disk *disk, const lethe_sketch *sketch,
                                                     uint64_t cut, const lethe_allocator *allocator,
                                                     lethe_sketch_saved *saved,
                                                     lethe_detail *detail);

/* Makes the changes of a segment again, and adds their number to *changes. On error some of them
 * are made. Errors: LETHE_ECORRUPT (also for a removal that can't be right), LETHE_EVERSION,
 * LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_sketch_disk_replay(lethe_sketch *sketch, lethe_bytes segment,
                                                       uint64_t *changes);

#endif
