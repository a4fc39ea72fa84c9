/* engine/ids/renew.h - makes a window that has grown again, as one part.
 *
 * A window that nobody gave a capacity grows by parts, and an id is looked for in each of them. The
 * log has all ids that the window must know. So once the parts are many, a thread fills a window of
 * the right size from the log, and puts it in the place of the old one. */
#ifndef LETHE_ENGINE_IDS_RENEW_H
#define LETHE_ENGINE_IDS_RENEW_H

#include <stdatomic.h>

#include "lethe/store.h"
#include "os/thread.h"

typedef struct lethe_renewal {
    bool running;
    /* It is to end as soon as it can, without a new window. */
    _Atomic bool gives_up;
    /* So many operations must be applied before the next one can pay. */
    uint64_t not_before;
    /* How many windows were put in place. */
    uint64_t renewed;

    lethe_os_thread thread;
    bool has_thread; /* running, or to be joined */
} lethe_renewal;

/* With the lock, after a commit was sealed: begins a renewal if one pays. Cost: that of
 * lethe_window_info, in a store with many ids. */
void lethe_renew_if_due(lethe_store *store);
/* With the lock, which is given up meanwhile: has a running one give up, and waits until it has. */
void lethe_renew_stop(lethe_store *store);
/* Without the lock, after the last of them has ended: waits for its thread. */
void lethe_renew_join(lethe_store *store);

#endif
