/* merge.h - files, merged by the time of their events, become batches.
 *
 * The logs of two servers tell of the same hours. Read one after the other, the second one's events
 * would be late. So the event that is taken next is the oldest of those that come next in the
 * files; among equals, that of the file that is named first. Within a file the order of lines
 * stays, even if its times go back.
 *
 * Memory   For each open file about 0.8 MiB, up to 3 MiB if its lines are very long, and what its
 *          decompression takes. At most EVENT_FILES_OPEN are open: a file is opened when its turn
 *          comes, and closed at its end. One batch, and 32 bytes for each file.
 * Threads  One thread at a time. */
#ifndef LETHE_CLI_EVENTS_MERGE_H
#define LETHE_CLI_EVENTS_MERGE_H

#include "events/gather.h"

enum { EVENT_FILES_OPEN = 64 };

struct event_merge;

/* Named regular files, whose events have times. The arguments are those of event_gatherer_init.
 * NULL when memory is short. */
struct event_merge *event_merge_new(const struct inputs *inputs,
                                    const struct event_options *options, const atomic_bool *stop);
void event_merge_free(struct event_merge *merge); /* takes NULL */

/* Before the first batch: looks at every file, where the marks of the table say, for the time of
 * its first event. The table must outlive the merge, which adds marks to it; scale is that of the
 * store. Returns false when a file cannot be read on, as the failure says, or a signal came. */
bool event_merge_survey(struct event_merge *merge, struct resume_table *table, unsigned scale);

/* Makes the next batch: a full one, or what is left at the end. Each file has at least one share.
 * Returns as event_gather does. */
bool event_merge_gather(struct event_merge *merge, struct event_batch *batch);

const struct input_failure *event_merge_failure(const struct event_merge *merge);

#endif
