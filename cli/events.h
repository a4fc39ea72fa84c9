/* events.h - reads events in a thread of its own, ahead of the one who counts them.
 *
 * Memory   Four batches and a buffer, whatever the input is like: some 20 MiB at most.
 * Threads  One thread calls these functions. */
#ifndef LETHE_CLI_EVENTS_H
#define LETHE_CLI_EVENTS_H

#include "events_gather.h"

struct event_reader;

/* Starts reading. inputs, options and table must outlive the reader, which uses the table alone until it is
 * freed. Returns EXIT_DONE or EXIT_ENVIRONMENT. */
int events_open(const struct inputs *inputs, const struct event_options *options,
                struct resume_table *table, struct event_reader **out);

/* Waits for a batch, or the end, for patience_ms at most, a second or less. Returns whether the next call has something to
 * return at once. */
bool events_await(struct event_reader *reader, unsigned patience_ms);

/* The next batch, or NULL when there is no more: all is read, a signal came, or something failed. It stays as it is
 * until it is released; batches are released in the order in which they came. */
const struct event_batch *events_next(struct event_reader *reader);
/* The batch that is `ahead` behind the one which events_next will return, and which stays to be taken; NULL if there is
 * none, or no room to read it yet. Where `waits` says so, one that is being read is waited for. */
const struct event_batch *events_ahead(struct event_reader *reader, size_t ahead, bool waits);
void events_release(struct event_reader *reader);

/* After NULL: EXIT_DONE, or why there is no more, which this call prints. */
int events_end(struct event_reader *reader);

/* Stops reading and frees all. Takes NULL. */
void events_free(struct event_reader *reader);

#endif
