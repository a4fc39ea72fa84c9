/* engine/log/log.h - the log: what makes operations durable.
 *
 *   group.c    the operations of one commit         segment.c  the bytes that a commit writes
 *   commit.c   from a full group to the disk        periods.c  which ids are old enough to go
 *   recover.c  from the disk to memory              lost.c     ids that an earlier version lost
 *   state.c    the store's record about itself, which every commit carries */
#ifndef LETHE_ENGINE_LOG_LOG_H
#define LETHE_ENGINE_LOG_LOG_H

#include "engine/log/group.h"
#include "engine/log/periods.h"
#include "os/thread.h"

typedef struct lethe_log {
    /* The group with number n is groups[n % LETHE_GROUPS]. */
    lethe_group groups[LETHE_GROUPS];
    /* The group that takes operations; the last one that takes no more, filling - 1; the last one
     * that is on disk. */
    uint64_t filling, sealed, durable;

    lethe_periods periods;

    /* There is something to seal or to write; something is durable, folded, or failed. */
    lethe_os_condition work, done;
    lethe_os_thread committer;
    bool committer_runs;
} lethe_log;

static inline lethe_group *lethe_log_group(lethe_log *log, uint64_t number) {
    return &log->groups[number % LETHE_GROUPS];
}

static inline lethe_group *lethe_log_filling(lethe_log *log) {
    return lethe_log_group(log, log->filling);
}

/* The commit that what was decided so far is waiting for. */
static inline uint64_t lethe_log_ticket(lethe_log *log) {
    return lethe_group_is_empty(lethe_log_filling(log)) ? log->sealed : log->filling;
}

/* commit.c: with the lock. */
/* Begins the group after the last commit that is on disk. */
LETHE_MUST_CHECK lethe_status lethe_log_begin(lethe_store *store);
/* Closes the filling group and hands it to the committer; begins the next, waiting for room. Does
 * nothing to an empty group. Errors: of this or an earlier commit. */
LETHE_MUST_CHECK lethe_status lethe_log_seal(lethe_store *store);
/* Waits until the commit is on disk. Errors: of a commit; it is not on disk then. */
LETHE_MUST_CHECK lethe_status lethe_log_wait(lethe_store *store, uint64_t commit);
/* Registers the time when the first operation comes into the filling group. */
void lethe_log_open_group(lethe_group *group);
/* The committing thread; the context is the store. */
void *lethe_log_committer_main(void *context);

/* recover.c */
/* Fills values, window, ledger, periods and index from the disk. */
LETHE_MUST_CHECK lethe_status lethe_log_recover(lethe_store *store, lethe_detail *detail);
/* For a reader: fills the values only. */
LETHE_MUST_CHECK lethe_status lethe_log_replay(lethe_store *store, lethe_detail *detail);
/* For a reader: sums the log up in periods. */
LETHE_MUST_CHECK lethe_status lethe_log_survey(lethe_store *store, lethe_detail *detail);
/* Before a store is opened to write, which changes files: whether it reaches as far as was
 * acknowledged, and has what its state says. */
LETHE_MUST_CHECK lethe_status lethe_log_inspect(lethe_disk *disk, lethe_detail *detail);

/* Walks through the segments of changes after the last fold that the state says. */
LETHE_MUST_CHECK lethe_status lethe_changes_walk_begin(lethe_disk *disk, const lethe_state *state,
                                                       lethe_walk **out, lethe_detail *detail);
/* Explains why something on disk can't be used. Returns status. */
lethe_status lethe_explain_damage(const char *what, lethe_status status, lethe_detail *detail);

/* lost.c: a segment of ids that is missing from the log. */
typedef struct lethe_lost {
    uint64_t commit, ids;
    /* None of its ids was recorded later. */
    uint64_t latest_ms;
} lethe_lost;
typedef lethe_status (*lethe_lost_visit)(lethe_store *store, uint64_t commit, lethe_bytes segment);
/* Puts the log in order if no duplicate of what is lost can be counted, and says so in
 * store->notice. Shows visit the segment, if it could be made again. Errors: LETHE_ECORRUPT (a
 * duplicate could be counted), those of the disk. */
LETHE_MUST_CHECK lethe_status lethe_log_mend(lethe_store *store, const lethe_lost *lost,
                                             lethe_lost_visit visit, lethe_detail *detail);

#endif
