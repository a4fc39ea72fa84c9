/* filter/cascade/state.h - a cascade as its parts see it. */
#ifndef LETHE_CASCADE_STATE_H
#define LETHE_CASCADE_STATE_H

#include "filter/cascade/log.h"
#include "filter/cascade/manifest.h"
#include "filter/cascade/plan.h"
#include "filter/cascade/run.h"
#include "filter/cascade/stream.h"
#include "filter/cascade/table.h"
#include "os/claim.h"
#include "os/lock.h"
#include "os/thread.h"

enum { LETHE_CASCADE_MAX_JOBS = 8, LETHE_CASCADE_MAX_OBSOLETE = 4096 };

struct lethe_cascade_range {
    struct lethe_cascade_table *active;
    struct lethe_cascade_table *frozen[LETHE_CASCADE_MAX_TABLES]; /* full ones, newest first */
    unsigned frozen_count;
    struct lethe_cascade_run *runs[LETHE_CASCADE_MAX_RUNS]; /* newest first */
    unsigned run_count;
    bool is_flushing; /* its oldest frozen table */
};

/* A flush or a merge under way. A thread that works on it has it for a step. */
struct lethe_cascade_job {
    bool is_used, is_busy, has_begun;
    bool is_scan;   /* no merge: makes a level filter for its one input */
    bool is_bottom; /* nothing of its range is older than its inputs */
    unsigned range;
    struct lethe_cascade_table *table; /* a flush, else NULL */
    struct lethe_cascade_run *inputs[LETHE_CASCADE_MAX_RUNS];
    unsigned input_count;
    unsigned level;    /* of the run that comes out */
    uint64_t expected; /* entries of all inputs */
    uint64_t input_bytes;
    uint64_t unmatched;    /* tombstones that met nothing */
    uint64_t filter_bytes; /* what the level filter may take */
    uint64_t run_id;
    struct lethe_cascade_frame frame;
    struct lethe_cascade_stream *stream;
    struct lethe_cascade_writer writer;
    struct lethe_cascade_sieve *filter;
    struct lethe_cascade_run *output;
};

struct lethe_cascade_lookup; /* lookup.c: what one call that looks up needs */

struct lethe_cascade {
    struct lethe_cascade_shape shape;
    struct lethe_cascade_setting setting;
    struct lethe_cascade_words words;
    const lethe_allocator *allocator;
    char folder[LETHE_CASCADE_FOLDER_BYTES];

    /* Locks, in the order in which they may be taken. */
    lethe_os_lock writing;      /* calls that insert or remove; the log's end */
    lethe_os_lock committing;   /* the manifest, and which log files are there */
    lethe_os_lock state;        /* all that follows */
    lethe_os_condition changed; /* a job made progress */

    uint64_t *slots; /* of all tables: one block, so that it gets huge pages */
    size_t slot_bytes;
    struct lethe_cascade_table tables[LETHE_CASCADE_MAX_TABLES];
    struct lethe_cascade_table *free_tables[LETHE_CASCADE_MAX_TABLES];
    struct lethe_cascade_range ranges[LETHE_CASCADE_MAX_RANGES];
    struct lethe_cascade_job jobs[LETHE_CASCADE_MAX_JOBS];
    struct lethe_cascade_run *obsolete[LETHE_CASCADE_MAX_OBSOLETE]; /* that the manifest may name */
    struct lethe_cascade_run *unused;
    struct lethe_cascade_log log;
    struct lethe_cascade_record *record; /* under writing: the one that is written */
    uint64_t next_key;                   /* keys that are in tables and runs */
    uint64_t next_run_id;
    uint64_t clock_ms;
    uint64_t generation; /* of the manifest */
    uint64_t sequence;
    unsigned char note[LETHE_CASCADE_MAX_NOTE_BYTES];
    uint64_t filter_bytes;                /* of level filters, under way included */
    struct lethe_cascade_lookup *lookups; /* that no call uses */

    uint64_t inserted, removed, unmatched, pages_read, filtered;
    uint64_t flushed_bytes, written_bytes;
    lethe_os_claim claim;
    char claimed[LETHE_OS_PATH_BYTES];                /* its path, from the root on */
    unsigned free_count, range_count, obsolete_count; /* of the lists above */
    uint32_t note_bytes;
    /* Commits that wait for the record that is being applied to end; the next record waits for
     * them. */
    unsigned waiting_commits;
    bool is_applying; /* a record: next_key moves when all of it is in */
    bool is_committing;
    bool is_broken; /* a sync failed: what is on disk is not known until the next open */
    bool uses_uring;
};

/* --- cascade.c --- */
/* Moves the clock on; state is held. */
void lethe_cascade_tell_time(lethe_cascade *cascade, uint64_t now_ms);
/* Entries in memory; state is held. */
uint64_t lethe_cascade_memory_entries(const lethe_cascade *cascade);
uint64_t lethe_cascade_run_entries(const lethe_cascade *cascade);
/* Whether the folder is still where it was opened. If it was moved, another one may be at its path,
 * whose files have the same names: nothing may be written or removed there. */
bool lethe_cascade_is_in_place(const lethe_cascade *cascade);
/* Gives up a reference; state is held. A run without references waits for free_unused, which also
 * removes its file unless a manifest may name it. */
void lethe_cascade_release_run(lethe_cascade *cascade, struct lethe_cascade_run *run);
/* Closing and removing large files takes its time: no lock is held. */
void lethe_cascade_free_unused(lethe_cascade *cascade);

/* --- insert.c --- */
/* Applies words, logged first unless they come from the log; writing is held. */
LETHE_MUST_CHECK lethe_status lethe_cascade_apply(lethe_cascade *cascade,
                                                  const uint64_t *fingerprints, size_t count,
                                                  bool removes, uint64_t now_ms, size_t *done);
/* A record from the log: applies what runs do not cover yet. */
LETHE_MUST_CHECK lethe_status lethe_cascade_reapply(lethe_cascade *cascade,
                                                    const struct lethe_cascade_record *record,
                                                    const uint64_t *covered_keys);
static inline uint64_t lethe_cascade_fingerprint(const lethe_cascade *cascade, lethe_hash hash) {
    return hash.high >> (64 - cascade->shape.fingerprint_bits);
}
static inline unsigned lethe_cascade_range_of(const lethe_cascade *cascade, uint64_t fingerprint) {
    return (unsigned)(fingerprint >> (cascade->shape.fingerprint_bits - cascade->shape.range_bits));
}

/* --- work.c --- */
/* What a step did. A run that can't be read is set aside, and that is no failure of the step. */
struct lethe_cascade_progress {
    bool did;            /* something: there was a job */
    lethe_status damage; /* that was met, or LETHE_OK */
};
/* Does a step of a job. Where flushes is set, only of a flush. */
LETHE_MUST_CHECK lethe_status lethe_cascade_step(lethe_cascade *cascade, uint64_t budget,
                                                 bool flushes,
                                                 struct lethe_cascade_progress *progress);
/* Whether all spare tables wait to be written, and none ever will be: nothing is under way, and
 * nothing can begin. State is held. */
bool lethe_cascade_stands_still(const lethe_cascade *cascade);
/* Empties a table that is in a run now, and that nobody reads. */
void lethe_cascade_free_table(lethe_cascade *cascade, struct lethe_cascade_table *table);
/* Whether insertions should help with merging; state is held. */
bool lethe_cascade_is_behind(const lethe_cascade *cascade);
/* Drops all jobs. */
void lethe_cascade_drop_jobs(lethe_cascade *cascade);

/* --- job.c --- */
/* Reads about budget entries; *finished when the output is complete. No lock is held. */
LETHE_MUST_CHECK lethe_status lethe_cascade_job_step(lethe_cascade *cascade,
                                                     struct lethe_cascade_job *job, uint64_t budget,
                                                     bool *finished);
/* Frees what the job made. */
void lethe_cascade_job_drop(lethe_cascade *cascade, struct lethe_cascade_job *job);

/* --- commit.c --- */
/* Whether a manifest is due that nobody asked for; state is held. */
bool lethe_cascade_commit_is_due(const lethe_cascade *cascade);
struct lethe_cascade_note {
    uint64_t sequence;
    const void *data;
    size_t size;
};
/* Syncs what there is and writes the manifest, with the note if there is one, else the last one's.
 * Waits for the record that is being applied, so a thread that applies one must not call it. Where
 * holds_writing is set, writing is held, and given up as soon as what to write is known. */
LETHE_MUST_CHECK lethe_status lethe_cascade_commit(lethe_cascade *cascade,
                                                   const struct lethe_cascade_note *note,
                                                   bool holds_writing);
LETHE_MUST_CHECK lethe_status lethe_cascade_sync_log(lethe_cascade *cascade);

/* --- lookup.c --- */
/* Looks keys up: counts[i] becomes how many there are, where counts is not NULL, and present[i]
 * whether there is any. With settles_repeats, which is for one batch that fits setting.lookup_keys,
 * the second of two equal keys is there when the first one is not. */
LETHE_MUST_CHECK lethe_status lethe_cascade_look_up(lethe_cascade *cascade,
                                                    const lethe_hash *hashes, size_t count,
                                                    uint64_t now_ms, bool settles_repeats,
                                                    uint8_t *present, uint64_t *counts);
void lethe_cascade_free_lookups(lethe_cascade *cascade);
/* Makes one, so that the first lookup finds it. */
LETHE_MUST_CHECK lethe_status lethe_cascade_prepare_lookup(lethe_cascade *cascade);

#endif
