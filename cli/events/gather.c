/* gather.c - takes records out of a stream and puts events into a batch.
 *
 * I1      A batch ends after a whole record. Each record is an operation of the batch, or counted
 *         as unreadable, or the empty line at the end of a file.
 * I2      When more is read, the unread bytes are at most a line of the longest length and one byte
 *         more: a longer line is thrown away piece by piece. */
#include "events/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events/open.h"
#include "events/parse.h"
#include "frame/exit_code.h"
#include "input/place.h"

bool event_gatherer_init(struct event_gatherer *gatherer, const struct inputs *inputs,
                         const struct event_options *options, struct resume_table *table,
                         const atomic_bool *stop) {
    memset(gatherer, 0, sizeof *gatherer);
    gatherer->inputs = inputs;
    gatherer->options = options;
    gatherer->table = table;
    gatherer->stop = stop;
    gatherer->format = options->format;
    event_format_describe(&options->format, gatherer->manner);
    gatherer->stream.takes_binary = inputs->takes_binary;
    return stream_init(&gatherer->stream, true);
}

void event_gatherer_free(struct event_gatherer *gatherer) {
    stream_free(&gatherer->stream);
}

/* What to do after the records in the buffer. */
enum step { STEP_MORE = 0, STEP_FULL, STEP_FAILED };

/* Counts a line as unreadable and keeps the reason; or, if that is asked for, ends the reading
 * before it. */
static bool note_unreadable(struct event_gatherer *gatherer, struct event_batch *batch,
                            uint64_t line, const struct event_problem *problem) {
    if (gatherer->options->stops_on_error) {
        input_failure_set(&gatherer->failure, EXIT_BAD_DATA,
                          "%s:%" PRIu64 ": %s (stopped here; all lines before it are counted)",
                          inputs_name(batch->path), line, problem->text);
        return false;
    }
    batch->unreadable++;
    if (gatherer->complaints_made < EVENT_COMPLAINTS_SHOWN) {
        gatherer->complaints_made++;
        batch->complaint_room[batch->complaint_count++] =
            (struct event_complaint){.line = line, .problem = *problem};
    }
    return true;
}

static bool note_too_long(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct event_problem problem;
    event_problem_set(&problem, "the line is longer than 1 MiB; is this a file of events?");
    return note_unreadable(gatherer, batch, gatherer->line + 1, &problem);
}

/* Throws away what is left of a line. Returns whether its end was found. */
static bool discard(struct event_gatherer *gatherer) {
    struct stream *stream = &gatherer->stream;
    const char *from = stream_data(stream);
    size_t size = stream_size(stream);
    const char *newline = memchr(from, '\n', size);
    stream_take(stream, newline != NULL ? (size_t)(newline - from) + 1 : size);
    if (newline == NULL) return false;
    gatherer->is_discarding = false;
    gatherer->line++;
    return true;
}

/* When the file was last read, its last line had no newline, and was counted. If only the newline
 * has come since, all is well; if more of the line has come, that line was not whole. */
static enum step leave_line(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    const char *data = stream_data(stream);
    size_t size = stream_size(stream);
    size_t end = size > 0 && data[0] == '\r';
    if (size == end) return STEP_MORE;
    gatherer->is_inside_line = false;
    if (data[end] == '\n') {
        stream_take(stream, end + 1);
        return STEP_FULL;
    }
    struct event_problem problem;
    event_problem_set(&problem, "the file ended within this line when it was last read, and what "
                                "there was of it is counted; write whole lines");
    if (!note_unreadable(gatherer, batch, gatherer->line, &problem)) return STEP_FAILED;
    gatherer->line--; /* it is counted again when its end is found */
    gatherer->is_discarding = true;
    return STEP_FULL;
}

/* Takes one record that was found. */
static enum step take_record(struct event_gatherer *gatherer, struct event_batch *batch,
                             const struct event_record *record) {
    struct stream *stream = &gatherer->stream;
    lethe_bytes bytes = {.data = stream_data(stream), .size = record->size};
    uint64_t line = gatherer->line + 1;
    if (record->size > EVENT_LINE_LIMIT_BYTES) {
        if (!note_too_long(gatherer, batch)) return STEP_FAILED;
    } else if (record->is_broken) {
        struct event_problem problem;
        event_problem_set(&problem, "a quoted field that begins in this line does not end, is "
                                    "followed by more than a delimiter, or is longer than 1 MiB; "
                                    "close its quotes, and double those inside it");
        if (!note_unreadable(gatherer, batch, line, &problem)) return STEP_FAILED;
    } else {
        struct event_problem problem;
        size_t limit = gatherer->options->batch_limit;
        if (!event_batch_has_room(batch, record->size) || (limit > 0 && batch->count >= limit)) {
            return STEP_FULL;
        }
        enum event_result result = event_parse(&gatherer->format, bytes, line, batch, &problem);
        if (result == EVENT_NO_ROOM) return STEP_FULL;
        if (result == EVENT_UNREADABLE && !note_unreadable(gatherer, batch, line, &problem)) {
            return STEP_FAILED;
        }
    }
    stream_take(stream, record->taken);
    gatherer->line += record->lines;
    gatherer->frame = (struct event_frame){0};
    return STEP_MORE;
}

/* Takes what the stream holds into the batch. */
static enum step take_records(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    char delimiter = event_frame_delimiter(&gatherer->format);
    enum stream_text text = stream_skip_mark(stream, &gatherer->failure);
    if (text != TEXT_READY) return text == TEXT_WIDE ? STEP_FAILED : STEP_MORE;
    if (gatherer->is_inside_line) {
        enum step step = leave_line(gatherer, batch);
        if (step != STEP_FULL) return step;
    }
    while (batch->unreadable < EVENTS_PER_BATCH) {
        if (gatherer->is_discarding && !discard(gatherer)) return STEP_MORE;
        const char *data = stream_data(stream);
        size_t size = stream_size(stream);
        struct event_record record;
        if (!event_frame_find(&gatherer->frame, delimiter, data, size, EVENT_LINE_LIMIT_BYTES,
                              event_is_complete(gatherer), &record)) {
            if (size <= EVENT_LINE_LIMIT_BYTES) return STEP_MORE;
            if (!note_too_long(gatherer, batch)) return STEP_FAILED;
            gatherer->is_discarding = true;
            gatherer->frame = (struct event_frame){0};
            continue;
        }
        if (record.size == 0 && record.taken == size) {
            /* An empty line is no mistake at the end of a file, which only the next read shows. */
            if (!stream->is_last) return STEP_MORE;
            stream_take(stream, record.taken);
            gatherer->line += record.lines;
            return STEP_MORE;
        }
        enum step step = take_record(gatherer, batch, &record);
        if (step != STEP_MORE) return step;
    }
    return STEP_FULL;
}

/* What is left of a file that may grow is the beginning of a line, and is read again the next
 * time. */
static void note_pending(const struct event_gatherer *gatherer, struct event_batch *batch) {
    const struct stream *stream = &gatherer->stream;
    if (event_is_complete(gatherer) || gatherer->is_inside_line) return;
    batch->pending_bytes = stream_size(stream);
    batch->pending_line = gatherer->line + 1;
    batch->is_pending_open =
        memchr(stream_data(stream), '\n', (size_t)batch->pending_bytes) != NULL;
}

/* Fills a batch from the open file. */
static void fill_batch(struct event_gatherer *gatherer, struct event_batch *batch) {
    for (;;) {
        enum step step = gatherer->lacks_header ? STEP_MORE : take_records(gatherer, batch);
        if (step == STEP_FAILED) gatherer->has_ended = true;
        if (step != STEP_MORE) return;
        if (gatherer->stream.is_last) {
            note_pending(gatherer, batch);
            gatherer->is_open = false;
            return;
        }
        bool has_content = batch->count > 0 || batch->unreadable > 0;
        if (has_content && source_would_wait(gatherer->stream.source)) return;
        enum source_result result = stream_fill(&gatherer->stream, &gatherer->failure);
        if (result == SOURCE_STOPPED || result == SOURCE_FAILED) {
            gatherer->has_ended = true;
            return;
        }
    }
}

/* Describes the place that the batch ends at, so that a later run can go on there. */
static void make_mark(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    if (!gatherer->is_resumable || stream->offset <= gatherer->marked_at) return;
    gatherer->marked_at = stream->offset;
    struct resume_mark *mark = &batch->mark;
    *mark = place_mark(stream, gatherer->line);
    snprintf(mark->manner, sizeof mark->manner, "%s", gatherer->manner);
    if (gatherer->is_discarding) mark->flags |= RESUME_INSIDE;
    bool is_new = gatherer->mark_name[0] == '\0';
    if (is_new) resume_new_name(gatherer->table, mark, gatherer->mark_name);
    /* If the same content is read later in this run, it is recognised by this mark. Without
     * memory for the mark it is read, and the window recognises its ids. */
    if (is_new || !gatherer->is_open) (void)resume_put(gatherer->table, gatherer->mark_name, mark);
    batch->has_mark = true;
    memcpy(batch->mark_name, gatherer->mark_name, sizeof batch->mark_name);
}

bool event_gather(struct event_gatherer *gatherer, struct event_batch *batch) {
    if (gatherer->has_ended) return false;
    if (!gatherer->is_open) {
        gatherer->has_ended = gatherer->next_input == gatherer->inputs->count;
        if (gatherer->has_ended) return false;
        size_t next = gatherer->next_input;
        event_batch_clear(batch, next, gatherer->inputs->paths[next]);
        if (!event_open_next(gatherer, batch)) {
            gatherer->has_ended = true;
            return false;
        }
    }
    size_t input = gatherer->next_input - 1;
    event_batch_clear(batch, input, gatherer->inputs->paths[input]);
    fill_batch(gatherer, batch);
    batch->offset = gatherer->stream.offset;
    batch->line = gatherer->line;
    batch->bytes = source_bytes(gatherer->stream.source);
    batch->starts_input = gatherer->starts_input;
    batch->resumed_at = gatherer->resumed_at;
    batch->was_taken = gatherer->was_taken;
    memcpy(batch->warning, gatherer->warning, sizeof batch->warning);
    make_mark(gatherer, batch);
    gatherer->starts_input = false;
    gatherer->warning[0] = '\0';
    if (!gatherer->is_open) stream_close(&gatherer->stream);
    return true;
}
