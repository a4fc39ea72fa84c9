/* events.h - reads events in a thread of its own, ahead of the thread that counts them.
 *
 * Inputs are read one after the other; several files whose events have times are merged by them
 * (merge.h); files may be followed (follow.h).
 *
 * Memory   Four batches and a buffer, whatever the input is like: at most some 20 MiB; more batches
 *          where events have a time and a batch has less than 32 of them; 1 MiB for each file that
 *          is followed; for files that are merged, what merge.h says.
 * Threads  One thread calls these functions. */
#ifndef LETHE_CLI_EVENTS_EVENTS_H
#define LETHE_CLI_EVENTS_EVENTS_H

#include "events/gather.h"

struct event_reader;

/* Makes a reader, and looks at the files: whether they are text, and have the columns that are
 * wanted, and whether all that is compressed is sound (verify.h). inputs and options must outlive
 * it. Returns EXIT_DONE; or, after saying why, the code for what is wrong, or that of a signal. */
int events_open(const struct inputs *inputs, const struct event_options *options,
                struct event_reader **out);

/* Looks whether all files can be read on where the marks of the table say, so that a run that is
 * refused because of one of them has not counted another; and which of them comes first, where they
 * are merged. Events are read with the scale of the store, which fits the format
 * (event_format_set_scale). Returns as events_open does. The table must outlive the reader, which
 * uses it alone until it is freed. */
int events_survey(struct event_reader *reader, struct resume_table *table, unsigned scale);

/* What the reading thread does with each batch, so that the counting thread need not. */
struct event_preparer {
    /* Makes room for what is made of a batch; NULL when memory is short. */
    void *(*make)(void *context);
    void (*prepare)(void *context, const struct event_batch *batch, void *room);
    void (*drop)(void *room);
    void *context;
};

/* Has batches prepared from now on: what is made of one is in its `prepared`. Before the start; the
 * preparer must outlive the reader. Returns EXIT_DONE or EXIT_ENVIRONMENT. */
int events_prepare(struct event_reader *reader, const struct event_preparer *preparer);

/* Starts reading, after the survey. Returns EXIT_DONE or EXIT_ENVIRONMENT. */
int events_start(struct event_reader *reader);

/* Looks whether the files can be read on at the marks in the table, and reads no event; pipes and
 * standard input are left alone. *is_unread becomes whether a file has bytes after its mark.
 * Returns EXIT_DONE, or the code of what is wrong, after saying it. */
int events_check(const struct inputs *inputs, const struct event_options *options,
                 struct resume_table *table, bool *is_unread);

/* With files that are followed: whether all was read that was there at the beginning; batches of
 * that may still have to be taken. */
bool events_caught_up(const struct event_reader *reader);
/* With files that are followed: how many bytes of them were not read yet. */
uint64_t events_behind(const struct event_reader *reader);

/* Waits for a batch, or the end, for at most patience_ms, a second or less. Returns whether
 * events_next would return at once. */
bool events_await(struct event_reader *reader, unsigned patience_ms);

/* The next batch, or NULL when there is no more: all is read, a signal came, or something failed. A
 * batch stays as it is until it is released. Batches are released in the order in which they
 * came. */
const struct event_batch *events_next(struct event_reader *reader);
/* Looks at a later batch, which stays to be taken: the one that events_next will return for `ahead`
 * 0, or one of those after it. NULL if there is none, or no room to read it yet. With `waits`,
 * waits for a batch that is being read. */
const struct event_batch *events_ahead(struct event_reader *reader, size_t ahead, bool waits);
void events_release(struct event_reader *reader);

/* After NULL: prints why there is no more, if something failed. Returns the exit code for that, or
 * EXIT_DONE. */
int events_end(struct event_reader *reader);

/* Stops reading and frees all. Takes NULL. */
void events_free(struct event_reader *reader);

#endif
