/* engine/ids/fill.h - fills a window with the ids of the log, in threads of its own.
 *
 * The caller reads segments and hands over their runs; the threads add them to the window. It
 * becomes the window that the caller would have made alone, one run after the other:
 * lethe_window_add_runs. */
#ifndef LETHE_ENGINE_IDS_FILL_H
#define LETHE_ENGINE_IDS_FILL_H

#include "engine/log/segment.h"
#include "lethe/window.h"

typedef struct lethe_fill lethe_fill;

/* Starts filling the window, which belongs to the threads until the end, with at most that many, or
 * eight. NULL if there is no memory or not even one thread for that; then the caller fills it
 * alone. */
lethe_fill *lethe_fill_begin(lethe_window *window, unsigned threads);

/* Hands over a run; waits while the threads are far behind. Returns the first error so far.
 * Errors: those of lethe_window_add_runs. */
LETHE_MUST_CHECK lethe_status lethe_fill_run(lethe_fill *fill, const unsigned char *log_ids,
                                             lethe_id_run run);

/* Waits until all runs are in the window, and ends the threads. Returns the first error. Takes
 * NULL. */
LETHE_MUST_CHECK lethe_status lethe_fill_end(lethe_fill *fill);

#endif
