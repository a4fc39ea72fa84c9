/* engine/values/fold.h - moving values from the log into COUNTERS, now and then. */
#ifndef LETHE_ENGINE_VALUES_FOLD_H
#define LETHE_ENGINE_VALUES_FOLD_H

#include "lethe/store.h"
#include "os/thread.h"

typedef struct lethe_fold {
    bool wanted, running;
    /* The store is being closed: nobody needs less memory after the fold. */
    bool is_last;
    /* The commit that a running fold goes up to. */
    uint64_t cut;
    /* The last commit that is folded. The next commit records it in the state. */
    uint64_t done;
    /* Changes that COUNTERS does not have. */
    uint64_t unfolded_bytes, unfolded_changes;

    /* Segments of changes since the last fold before the store was opened: all of them; those that
     * are folded; those up to the cut; those that the state on disk says are folded. */
    uint64_t segments, folded_segments, cut_segments, recorded_segments;

    lethe_os_condition wake;
    lethe_os_thread thread;
    bool thread_runs;
} lethe_fold;

/* The folding thread; the context is the store. */
void *lethe_fold_main(void *context);
/* With the lock: folds everything up to now, for the last time, and waits for it. */
LETHE_MUST_CHECK lethe_status lethe_fold_all(lethe_store *store);
/* With the lock, after a commit was sealed: wakes the folding thread if enough has come
 * together. */
void lethe_fold_if_due(lethe_store *store);

#endif
