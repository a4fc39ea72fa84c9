/* gather.h - inputs, one after the other, become batches of events.
 *
 * This is the whole reader except its thread. It opens a file, finds out where to continue in it,
 * takes its header, finds records, parses them, and describes the place that it has reached. */
#ifndef LETHE_CLI_EVENTS_GATHER_H
#define LETHE_CLI_EVENTS_GATHER_H

#include "events/batch.h"
#include "events/format.h"
#include "events/frame.h"
#include "input/inputs.h"
#include "input/stream.h"

struct event_options {
    struct event_format format;
    /* Stop at the first line that is wrong; otherwise it is counted and skipped. */
    bool stops_on_error;
    /* Read from the start, whatever the marks say. */
    bool from_start;
    /* A last line without a newline is complete, also in a file that may grow. */
    bool last_line;
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

    /* With the columns that the header gave. Batches point to its literals, which never change. */
    struct event_format format;
    struct event_frame frame;
    struct stream stream;
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

/* Makes the next batch: a full one, or what is there when a file ends or a pipe has no more for
 * now. Each file has at least one. Returns false when there is none: all is read, a signal came, or
 * failure says why. */
bool event_gather(struct event_gatherer *gatherer, struct event_batch *batch);

#endif
