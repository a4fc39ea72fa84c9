/* events_gather.h - files, one after the other, become batches of events.
 *
 * This is the whole reader but for its thread: open a file, find out where to go on in it, take its header, find
 * records, parse them, and describe the place reached. */
#ifndef LETHE_CLI_EVENTS_GATHER_H
#define LETHE_CLI_EVENTS_GATHER_H

#include "events_batch.h"
#include "events_format.h"
#include "events_frame.h"
#include "events_stream.h"
#include "inputs.h"

struct event_options {
    struct event_format format;
    bool stops_on_error; /* at the first line that is wrong; otherwise it is counted and skipped */
    bool from_start;     /* whatever the marks say */
    bool last_line;      /* a last line without a newline is whole, also in a file that may grow */
    size_t batch_limit;  /* events in a batch; 0 -> EVENTS_PER_BATCH, which is the most */
};

struct event_gatherer {
    const struct inputs *inputs;
    const struct event_options *options;
    struct resume_table *table;
    const atomic_bool *stop;
    struct event_failure failure; /* code is EXIT_DONE while all is well */

    size_t next_input;
    bool is_open, has_ended;
    bool is_last;        /* the file has no more than what is in the stream */
    bool starts_input;   /* no batch of this file has been made yet */
    bool is_inside_line; /* a line that had no end when the file was last read may go on */
    bool is_discarding;  /* the rest of a line that is too long */
    bool is_resumable;
    bool lacks_header; /* all that there is of the file is the beginning of its header */
    bool was_taken;    /* some of the file's events were counted before */
    uint64_t start_offset, start_line; /* behind the header */
    uint64_t resumed_at;
    uint64_t marked_at;    /* the place of the last mark */
    uint64_t others_place; /* of a mark that this file agrees with and leaves to another; or 0 */
    uint64_t line;         /* lines taken */
    size_t complaints_made;
    char mark_name[RESUME_NAME_BYTES]; /* empty until there is one */
    char warning[320];
    char manner[EVENT_MANNER_BYTES];
    struct event_format format; /* with the columns that the header gave */
    struct event_frame frame;
    struct event_stream stream;
};

/* Whether what is in the stream is all that the file will ever have. A last line of a file that may grow is not
 * whole while it has no newline. */
static inline bool event_is_complete(const struct event_gatherer *gatherer) {
    return gatherer->is_last &&
           (gatherer->options->last_line || !event_source_may_grow(gatherer->stream.source));
}

/* inputs, options and table must outlive it; the gatherer adds marks of what it reads to the table. While it
 * waits for input, *stop (may be NULL) or a signal ends it. Returns false when memory is short. */
bool event_gatherer_init(struct event_gatherer *gatherer, const struct inputs *inputs,
                         const struct event_options *options, struct resume_table *table,
                         const atomic_bool *stop);
void event_gatherer_free(struct event_gatherer *gatherer);

/* Makes the next batch: a full one, or what is there when a file ends or a pipe has no more for now. Each file has
 * at least one. Returns false when there is none: all is read, a signal came, or failure says why. */
bool event_gather(struct event_gatherer *gatherer, struct event_batch *batch);

#endif
