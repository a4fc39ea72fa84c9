/* filter/cascade/manifest.h - what a cascade consists of: its shape, its runs, and how much of
 * the log they cover. */
#ifndef LETHE_CASCADE_MANIFEST_H
#define LETHE_CASCADE_MANIFEST_H

#include "filter/cascade/plan.h"
#include "filter/cascade/run.h"
#include "lethe/io.h"

enum { LETHE_CASCADE_MAX_RUNS = 64 /* of a range */ };

struct lethe_cascade_manifest_range {
    uint64_t covered_key; /* keys of this range with smaller numbers are in its runs */
    uint32_t run_count;
    struct lethe_cascade_run_facts runs[LETHE_CASCADE_MAX_RUNS]; /* newest first */
};

struct lethe_cascade_manifest {
    struct lethe_cascade_shape shape;
    bool is_exact;        /* what the log has after end_key does not belong to the state */
    uint64_t next_run_id; /* no run has this or a larger one */
    uint64_t end_key;     /* the log holds all keys up to here that runs don't cover */
    uint64_t clock_ms;
    uint64_t sequence; /* the caller's */
    uint32_t note_bytes;
    unsigned char note[LETHE_CASCADE_MAX_NOTE_BYTES];
    struct lethe_cascade_manifest_range ranges[LETHE_CASCADE_MAX_RANGES];
};

LETHE_MUST_CHECK lethe_status
lethe_cascade_manifest_save(const struct lethe_cascade_manifest *manifest, lethe_sink sink);
/* Believes nothing: out makes sense when it is LETHE_OK.
 * Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_MUST_CHECK lethe_status lethe_cascade_manifest_load(lethe_source source,
                                                          struct lethe_cascade_manifest *out);

/* Where it fails, *is_in_place says whether the next open may find this manifest all the same:
 * os/file.h. */
LETHE_MUST_CHECK lethe_status lethe_cascade_manifest_write(
    const char *folder, const struct lethe_cascade_manifest *manifest, bool *is_in_place);
LETHE_MUST_CHECK lethe_status lethe_cascade_manifest_read(const char *folder,
                                                          struct lethe_cascade_manifest *out);

#endif
