/* dedup/adding.h - puts new lines into the cascade in a thread of its own, behind who asks about
 * them.
 *
 * Guarantee  Lines enter the cascade in the order in which they are handed over. After a failure
 *            none that comes later enters it, and every later call reports the failure.
 * Memory     ADDING_BATCHES times the hashes of the largest batch.
 * Threads    Two: one hands lines over, one adds them. All calls here are for the first. */
#ifndef LETHE_CLI_DEDUP_ADDING_H
#define LETHE_CLI_DEDUP_ADDING_H

#include "lethe/cascade.h"

enum { ADDING_BATCHES = 3 };

struct adding;

/* Starts the thread. NULL: there is no memory or no thread for it. */
struct adding *adding_new(lethe_cascade *cascade);
/* Ends the thread once it has added what was handed over. Takes NULL. */
void adding_free(struct adding *adding);

/* Room for the hashes of the next batch, once a batch is free; NULL: there is no memory. */
lethe_hash *adding_room(struct adding *adding, size_t count);
/* Hands over the first count hashes of that room. Returns the first failure of adding that is known
 * by now, as lethe_cascade_add_batch. */
lethe_status adding_put(struct adding *adding, size_t count);
/* Waits until all that was handed over is in the cascade. Returns as adding_put. */
lethe_status adding_wait(struct adding *adding);

#endif
