/* cascade_worker.h - a thread that does the merging of a cascade while others fill it. */
#ifndef LETHE_CLI_FILTER_CASCADE_WORKER_H
#define LETHE_CLI_FILTER_CASCADE_WORKER_H

#include <stdbool.h>

#include "lethe/cascade.h"

struct cascade_worker;

/* Starts it. NULL when there is no memory for a thread: then inserting does the merging itself.
 * A failure of merging is reported by the next insertion. */
struct cascade_worker *cascade_worker_start(lethe_cascade *cascade);

/* Ends it, before the cascade is closed. Takes NULL. */
void cascade_worker_stop(struct cascade_worker *worker);

#endif
