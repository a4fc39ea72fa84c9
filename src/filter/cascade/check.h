/* filter/cascade/check.h - reading a cascade that nobody changes, and changing nothing. */
#ifndef LETHE_CASCADE_CHECK_H
#define LETHE_CASCADE_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "backup/set.h"
#include "filter/cascade/manifest.h"
#include "lethe/allocator.h"
#include "lethe/status.h"

struct lethe_cascade_found {
    uint64_t insertions;     /* in runs and in the log; removals are not taken off */
    uint64_t log_insertions; /* of these, in the log alone */
    uint64_t next_key;       /* after the last one in the log */
    uint64_t runs;
    struct lethe_cascade_manifest manifest;
};

/* Reads the manifest, every page of every run unless reads_runs is false, and the log as far as the
 * manifest says. Unlike opening it makes, removes and writes no file, and works where nothing can
 * be written. Memory: that of one run's fences. Errors: LETHE_ENOTFOUND (no cascade),
 * LETHE_ECORRUPT, LETHE_EVERSION, LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_examine(const char *folder, bool reads_runs,
                                                    const lethe_allocator *allocator,
                                                    struct lethe_cascade_found *out);

/* Takes in the files of a cascade which is in a folder of the set: "", or "ledger/". Errors: those
 * of lethe_set_add. */
LETHE_MUST_CHECK lethe_status lethe_cascade_gather(lethe_set *set, const char *inner);

#endif
