/* follow.h - reads files as they grow, through rotation, until it is told to stop.
 *
 * Each file is read to its end, one after the other in the order of the inputs, and then as it
 * grows. When its name belongs to another file, that is read from its start, or from its mark; the
 * old one is read on beside it until nobody has written to it for a while. A file that was cut
 * short or written anew is read from its start. One that is not there is waited for. A last line
 * waits for its newline.
 *
 * Memory   About 1 MiB for each file.
 * Threads  One thread follows. Another may wake it, and ask how far behind it is. */
#ifndef LETHE_CLI_EVENTS_FOLLOW_H
#define LETHE_CLI_EVENTS_FOLLOW_H

#include "events/gather.h"

struct event_follower;

/* Follows the inputs, EVENT_FOLLOWED_LIMIT at most, which must outlive it, as must options and
 * *stop. Returns NULL when memory or descriptors are short. */
struct event_follower *event_follower_new(const struct inputs *inputs,
                                          const struct event_options *options,
                                          const atomic_bool *stop);
void event_follower_free(struct event_follower *follower); /* takes NULL */

/* Before the first event_follow: where earlier runs stopped, to which the follower adds; and the
 * store's scale. */
void event_follower_start(struct event_follower *follower, struct resume_table *table,
                          unsigned scale);

/* Makes the next batch, as event_gather does; waits until there is one. Returns false when a signal
 * came or *stop was set, or when something failed. */
bool event_follow(struct event_follower *follower, struct event_batch *batch);

/* Why it ended. */
const struct input_failure *event_follower_failure(const struct event_follower *follower);

/* Has it look at *stop. */
void event_follower_wake(struct event_follower *follower);

/* Whether all was read that was there at the beginning, and is in batches. */
bool event_follower_caught_up(const struct event_follower *follower);

/* How many bytes of the files were not read yet, when it last looked. */
uint64_t event_follower_behind(const struct event_follower *follower);

#endif
