/* engine/ids/index_internal.h - the parts of an index.
 *
 *   index.c          adding, looking up, forgetting      tail.c           the newest entries
 *   index_seal.c     tails become runs                   index_merge.c    runs become fewer
 *   index_thread.c   a thread that does both             run.c            one run
 *   index_ahead.c    memory of tails, ahead of need      chunks.c         memory for runs
 *   index_earlier.c  records of earlier versions */
#ifndef LETHE_ENGINE_IDS_INDEX_INTERNAL_H
#define LETHE_ENGINE_IDS_INDEX_INTERNAL_H

#include "engine/ids/index.h"
#include "engine/ids/tail.h"
#include "os/path.h"

/* Runs that are merged into one; how often an id can be merged; the most tails. */
enum { LETHE_INDEX_FAN = LETHE_RUN_WAYS, LETHE_INDEX_LEVELS = 16, LETHE_INDEX_TAILS = 8 };

/* Runs of one level on their way to become one of the next. */
typedef struct lethe_index_merge {
    /* NULL: no merge is under way. */
    lethe_run_writer writer;
    /* The oldest first. */
    lethe_run_reader readers[LETHE_INDEX_FAN];
} lethe_index_merge;

/* A place in the list of runs. */
typedef struct lethe_index_slot {
    lethe_run *run;
} lethe_index_slot;

typedef struct lethe_index_thread lethe_index_thread;

struct lethe_index {
    lethe_index_options options;
    char path[LETHE_OS_PATH_BYTES];

    /* The oldest first. The last of tail_count takes what is added, and those before it change no
     * more. Behind it may be others, for later. */
    lethe_tail tails[LETHE_INDEX_TAILS];
    unsigned tail_count, tail_most;
    lethe_tail_form form;
    /* Of the items of the last tail; those before are backed, or will be soon. */
    uint64_t backed_bytes;

    /* The oldest tails, as long as they become a run. */
    lethe_tail_writer sealing;
    /* NULL while the index is small, and where whoever adds does its work. */
    lethe_index_thread *thread;
    bool thread_failed;

    /* The oldest first: lethe_index_slot each. */
    lethe_buffer runs;
    /* Of runs, in memory. */
    lethe_chunks memory;
    uint64_t run_bytes;
    lethe_index_merge merges[LETHE_INDEX_LEVELS];
    /* Ids that were added since sealing and merges last went on. */
    uint64_t owed;
    /* For a shelf of a file. */
    lethe_buffer room;
};

static inline size_t lethe_index_run_count(const lethe_index *index) {
    return index->runs.size / sizeof(lethe_index_slot);
}
static inline lethe_index_slot *lethe_index_runs(const lethe_index *index) {
    return (lethe_index_slot *)(void *)index->runs.data;
}

/* Takes a run in, as the latest. Frees it on error. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_index_take_run(lethe_index *index, lethe_run *run);
/* Where a run of this many items is to be written: NULL is in memory. */
const char *lethe_index_place(const lethe_index *index, uint64_t items);

/* index_seal.c */
static inline bool lethe_index_is_sealing(const lethe_index *index) {
    return index->sealing.run.run != NULL;
}
/* Makes an empty tail the one that takes ids. It may begin to seal the oldest ones, and wait until
 * others are. Errors: those of lethe_index_add. */
LETHE_MUST_CHECK lethe_status lethe_index_turn_tail(lethe_index *index);
/* Goes on with whatever is under way, after so many ids were added. */
LETHE_MUST_CHECK lethe_status lethe_index_go_on(lethe_index *index, uint64_t added);

/* Starts the thread, unless there is to be none. False: there is none. */
bool lethe_index_start_thread(lethe_index *index);

/* index_ahead.c */
/* Has memory backed that will be needed soon. Cost: mostly none. */
void lethe_index_back_ahead(lethe_index *index);

/* index_merge.c */
static inline bool lethe_index_is_merging(const lethe_index_merge *merge) {
    return merge->writer.run != NULL;
}
/* Moves up to *items of a merge, which becomes less by as many. *ended becomes whether all were
 * moved. */
LETHE_MUST_CHECK lethe_status lethe_index_merge_slice(lethe_index_merge *merge, uint64_t *items,
                                                      bool *ended);
/* Puts the run of a merge, of which all was moved, in the place of those that it was made from. */
LETHE_MUST_CHECK lethe_status lethe_index_finish_merge(lethe_index *index, unsigned level);
/* Begins what can be merged. Errors: those of lethe_run_reader_begin. */
LETHE_MUST_CHECK lethe_status lethe_index_begin_merges(lethe_index *index);
/* Goes on with all merges, by this many items each. */
LETHE_MUST_CHECK lethe_status lethe_index_merge_on(lethe_index *index, uint64_t items);
/* Gives up the merge that reads this run, if there is one. */
void lethe_index_cancel_merge(lethe_index *index, const lethe_run *run);
void lethe_index_cancel_merges(lethe_index *index);

#endif
