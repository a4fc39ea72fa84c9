/* gather.h - inputs, one after the other, become batches of events. (merge.h: all at once.)
 *
 * This is the whole reader except its thread. It opens a file, finds out where to continue in it,
 * takes its header, finds records, parses them, and describes the place that it has reached. */
#ifndef LETHE_CLI_EVENTS_GATHER_H
#define LETHE_CLI_EVENTS_GATHER_H

#include "events/batch.h"
#include "events/format.h"
#include "events/frame.h"
#include "events/kept_header.h"
#include "events/simple.h"
#include "input/inputs.h"
#include "input/stream.h"

struct event_options {
    struct event_format format;
    /* Stop at the first line that is wrong; otherwise it is counted and skipped. */
    bool stops_on_error;
    /* The files are merged by the events' time (merge.h). */
    bool merges;
    /* Of such files: an event that is further ahead of the wall clock than this is not waited for,
     * because the store does not take it; 0 -> every one is. */
    uint64_t max_future_ms;
    /* Read from the start, whatever the marks say. */
    bool from_start;
    /* A last line without a newline is complete, also in a file that may grow. */
    bool last_line;
    /* Read the files on as they grow, through rotation, until a signal comes (follow.h). */
    bool follows;
    /* How long a file that was rotated away must be quiet until it is closed; 0 -> a minute. */
    uint64_t linger_ms;
    /* Events that are late are to be counted: each operation says so, and a file of which nothing
     * was counted is read from its start. */
    bool counts_late;
    /* Where headers are kept; NULL: they are not. */
    struct event_kept_headers *headers;
    /* The files are only looked at: nothing is counted yet. */
    bool looks;
    /* Events in a batch; 0 -> EVENTS_PER_BATCH, which is the most. */
    size_t batch_limit;
};

struct event_gatherer {
    const struct inputs *inputs;
    const struct event_options *options;
    struct resume_table *table;
    const atomic_bool *stop;
    /* Its code is EXIT_DONE while all is well. */
    struct input_failure failure;

    size_t next_input;
    bool is_open, has_ended;
    /* Bytes of the files before the open one, as they are on disk. */
    uint64_t bytes_before;

    /* An event whose time is not before this is left where it is; UINT64_MAX: none is. */
    uint64_t until_ms;
    /* Nor is one left whose time is after this. */
    uint64_t believed_ms;
    /* The next event is such a one, and this is its time. */
    bool waits;
    uint64_t next_ms;
    /* Its share of the batch that is being filled. */
    bool has_share;
    size_t share;

    /* The next input was looked at ahead, and is open. */
    bool is_ahead;
    /* No batch of this file has been made yet. */
    bool starts_input;
    /* A line that had no end when the file was last read may go on here. */
    bool is_inside_line;
    /* The rest of a line that is too long is being thrown away. */
    bool is_discarding;
    bool is_resumable;
    /* All that there is of the file is the beginning of its header. */
    bool lacks_header;
    /* Some of the file's events were counted before. */
    bool was_taken;
    /* The file's end is not the last of it: it stays open for event_gather to be called again. */
    bool follows;
    /* All that there is for now of such a file is taken, except the beginning of a line. */
    bool is_at_end;
    /* What was read of the file is no longer in it: somebody wrote it anew. */
    bool was_rewritten;

    /* After the header. */
    uint64_t start_offset, start_line;
    uint64_t resumed_at;
    /* The place of the last mark. */
    uint64_t marked_at;
    /* Of a mark that this file agrees with and leaves to another file; or 0. */
    uint64_t others_place;
    /* Lines taken. */
    uint64_t line;
    size_t complaints_made;
    /* Empty until there is one. */
    char mark_name[RESUME_NAME_BYTES];
    char warning[320];
    char manner[EVENT_MANNER_BYTES];
    /* Of the open file, if it is kept. */
    lethe_bytes header;

    /* With the columns that the header gave. Batches point to its literals, which never change. */
    struct event_format format;
    struct event_frame frame;
    struct stream stream;

    /* Takes simple lines; NULL: in this format none are. */
    simple_function *take_simple;
    struct simple_rule simple;
    /* So many records are taken one by one before simple lines are looked for again, and were the
     * last time. */
    size_t simple_after, simple_pause;
};

/* Whether what is in the stream is all that the file will ever have. In a file that may grow, a
 * last line is not complete while it has no newline. */
static inline bool event_is_complete(const struct event_gatherer *gatherer) {
    return gatherer->stream.is_last &&
           (gatherer->options->last_line || !source_may_grow(gatherer->stream.source));
}

/* inputs, options and table must outlive it; the gatherer adds marks of what it reads to the table.
 * While it waits for input, *stop (may be NULL) or a signal ends it. Returns false when memory is
 * short. */
bool event_gatherer_init(struct event_gatherer *gatherer, const struct inputs *inputs,
                         const struct event_options *options, struct resume_table *table,
                         const atomic_bool *stop);
void event_gatherer_free(struct event_gatherer *gatherer);

/* The three steps of which a batch is made. They are for one that merges several gatherers, each
 * with a file of its own. */

/* Adds a share for the open file to the batch, which has room for it. */
void event_gather_begin(struct event_gatherer *gatherer, struct event_batch *batch);
/* Takes events of the open file into its share. Afterwards either has_ended is set: a signal came
 * or the failure says why; or is_open is not: there is no more; or waits is; or the batch is full,
 * or a pipe has no more for now. */
void event_gather_some(struct event_gatherer *gatherer, struct event_batch *batch);
/* Completes the share, and closes a file that has no more. */
void event_gather_end(struct event_gatherer *gatherer, struct event_batch *batch);

/* How much was read of its files, as they are on disk. */
uint64_t event_gathered_bytes(const struct event_gatherer *gatherer);

/* Makes the next batch: a full one, or what is there when a file ends or a pipe has no more for
 * now. Each file has at least one. Returns false when there is none: all is read, a signal came, or
 * failure says why. */
bool event_gather(struct event_gatherer *gatherer, struct event_batch *batch);

/* At the end of an open file that may grow: notes in its share the beginning of a line that is
 * left, which is read again the next time. */
void event_note_pending(const struct event_gatherer *gatherer, struct event_share *share);

/* Puts how far the open file was read into the table, for when it is met again in this run. */
void event_remember_place(struct event_gatherer *gatherer);

#endif
