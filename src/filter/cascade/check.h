/* filter/cascade/check.h - reading every byte of a cascade that nobody has open, and changing
 * none. */
#ifndef LETHE_CASCADE_CHECK_H
#define LETHE_CASCADE_CHECK_H

#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/status.h"

struct lethe_cascade_health {
    uint64_t seed;       /* of its keys' hashes */
    uint64_t sequence;   /* of the last checkpoint */
    uint64_t insertions; /* in runs and in the log; removals are not taken off */
};

/* Reads the manifest, every page of every run, and the log as far as the manifest says. Unlike
 * opening it makes, removes and writes no file, and works where nothing can be written. Memory:
 * that of one run's fences. Errors: LETHE_ENOTFOUND (no cascade), LETHE_ECORRUPT, LETHE_EVERSION,
 * LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_check(const char *folder,
                                                  const lethe_allocator *allocator,
                                                  struct lethe_cascade_health *out);

#endif
