/* gather.c - takes records out of a stream and puts events into a batch.
 *
 * I1      A batch ends after a whole record. Each record is an operation of the batch, or counted
 *         as unreadable. An empty line at the end of a file is no mistake, and is not taken: if the
 *         file grows, the line is in its middle, as if all had been there at once.
 * I2      When more is read, the unread bytes are at most a line of the longest length and one byte
 *         more: a longer line is thrown away piece by piece.
 * I3      A mark is never inside a CSV record: only from its start is it known which line ends are
 *         in quotes. */
#include "events/gather.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events/open.h"
#include "events/parse.h"
#include "frame/exit_code.h"
#include "input/byte_order.h"
#include "input/place.h"

bool event_gatherer_init(struct event_gatherer *gatherer, const struct inputs *inputs,
                         const struct event_options *options, struct resume_table *table,
                         const atomic_bool *stop) {
    memset(gatherer, 0, sizeof *gatherer);
    gatherer->inputs = inputs;
    gatherer->options = options;
    gatherer->table = table;
    gatherer->stop = stop;
    gatherer->until_ms = gatherer->believed_ms = UINT64_MAX;
    gatherer->format = options->format;
    event_format_describe(&options->format, gatherer->manner);
    gatherer->stream.takes_binary = inputs->takes_binary;
    return stream_init(&gatherer->stream, true);
}

void event_gatherer_free(struct event_gatherer *gatherer) {
    stream_free(&gatherer->stream);
}

enum {
    SIMPLE_PAUSE = 64,
    /* Fewer simple lines than this are not worth looking at what follows them. */
    SIMPLE_WORTH = 4
};

/* What to do after the records in the buffer. */
enum step { STEP_MORE = 0, STEP_FULL, STEP_WAITS, STEP_FAILED };

/* Of the open file. */
static const char *path_of(const struct event_gatherer *gatherer) {
    return gatherer->inputs->paths[gatherer->next_input - 1];
}

/* Counts a line as unreadable and keeps the reason; or, if that is asked for, ends the reading
 * before it. */
static bool note_unreadable(struct event_gatherer *gatherer, struct event_batch *batch,
                            uint64_t line, const struct event_problem *problem) {
    if (gatherer->options->stops_on_error) {
        input_failure_set(&gatherer->failure, EXIT_BAD_DATA,
                          "%s:%" PRIu64 ": %s (stopped here; all lines before it are counted%s)",
                          inputs_name(path_of(gatherer)), line, problem->text,
                          gatherer->options->merges ? ", and the other files up to their time"
                                                    : "");
        return false;
    }
    batch->unreadable++;
    size_t made = gatherer->follows ? batch->complaint_count : gatherer->complaints_made;
    if (made < EVENT_COMPLAINTS_SHOWN) {
        gatherer->complaints_made++;
        batch->complaint_room[batch->complaint_count++] =
            (struct event_complaint){.share = gatherer->share, .line = line, .problem = *problem};
    }
    return true;
}

static bool note_too_long(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct event_problem problem;
    event_problem_set(&problem, "the %s longer than 1 MiB; %s",
                      gatherer->format.kind == EVENTS_CSV ? "record that begins here is"
                                                          : "line is",
                      event_frame_is_open(&gatherer->frame)
                          ? "if its quotes should end earlier, close them, and double those inside"
                          : "is this a file of events?");
    return note_unreadable(gatherer, batch, gatherer->line + 1, &problem);
}

/* Ends the reading before a record whose quotes do not end. What is in them may look like events.
 * The mark stays before it, so that the mended file is read on from there. */
static enum step fail_open(struct event_gatherer *gatherer, size_t opened) {
    const char *path = gatherer->inputs->paths[gatherer->next_input - 1];
    input_failure_set(&gatherer->failure, EXIT_BAD_DATA,
                      "%s:%" PRIu64 ": a quoted field that begins in this line does not end; close "
                      "its quotes, double those inside it, and count the input again (stopped "
                      "here; %s)",
                      inputs_name(path), gatherer->line + 1 + opened,
                      gatherer->options->looks
                          ? "nothing of this run is counted"
                          : "all records before it are counted, and nothing after it");
    return STEP_FAILED;
}

/* Throws away what there is of a record. STEP_FULL when its end was found. */
static enum step discard(struct event_gatherer *gatherer) {
    struct stream *stream = &gatherer->stream;
    struct event_frame *frame = &gatherer->frame;
    struct event_record record;
    bool has_end = event_frame_pass(frame, event_frame_delimiter(&gatherer->format),
                                    stream_data(stream), stream_size(stream), &record);
    stream_take(stream, record.taken);
    if (!has_end) {
        bool is_open = event_frame_is_open(frame) && event_is_complete(gatherer);
        return is_open ? fail_open(gatherer, frame->opened) : STEP_MORE;
    }
    gatherer->is_discarding = false;
    gatherer->line += record.lines;
    *frame = (struct event_frame){0};
    return STEP_FULL;
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
    event_frame_rest(&gatherer->frame);
    return STEP_FULL;
}

/* Whether the operation that was added last is to be left for later. */
static bool must_wait(struct event_gatherer *gatherer, const struct event_batch *batch) {
    gatherer->next_ms = batch->operations[batch->count - 1].time_ms;
    gatherer->waits =
        gatherer->next_ms >= gatherer->until_ms && gatherer->next_ms <= gatherer->believed_ms;
    return gatherer->waits;
}

/* Adds the operation of a record. */
static enum step add_record(struct event_gatherer *gatherer, struct event_batch *batch,
                            lethe_bytes bytes, uint64_t line) {
    struct event_problem problem;
    size_t limit = gatherer->options->batch_limit;
    if (!event_batch_has_room(batch, bytes.size) || (limit > 0 && batch->count >= limit)) {
        return STEP_FULL;
    }
    struct event_extent before = event_batch_extent(batch);
    enum event_result result = event_parse(&gatherer->format, bytes, line, batch, &problem);
    if (result == EVENT_NO_ROOM) return STEP_FULL;
    if (result == EVENT_UNREADABLE) {
        return note_unreadable(gatherer, batch, line, &problem) ? STEP_MORE : STEP_FAILED;
    }
    if (must_wait(gatherer, batch)) {
        event_batch_cut(batch, before);
        return STEP_WAITS;
    }
    if (gatherer->options->counts_late) {
        batch->operation_room[before.count].flags = LETHE_OPERATION_COUNT_LATE;
    }
    return STEP_MORE;
}

/* Takes one record that was found. */
static enum step take_record(struct event_gatherer *gatherer, struct event_batch *batch,
                             const struct event_record *record) {
    struct stream *stream = &gatherer->stream;
    lethe_bytes bytes = {.data = stream_data(stream), .size = record->size};
    uint64_t line = gatherer->line + 1;
    if (record->is_open) return fail_open(gatherer, record->opened);
    enum step step = STEP_MORE;
    if (record->size > EVENT_LINE_LIMIT_BYTES) {
        if (!note_too_long(gatherer, batch)) return STEP_FAILED;
    } else if (record->is_broken) {
        struct event_problem problem;
        event_problem_set(&problem,
                          "the quoted field that begins in line %" PRIu64 " ends in line %" PRIu64
                          ", and is followed by more than a delimiter; close its quotes, and "
                          "double those inside it",
                          line + record->opened, gatherer->line + record->lines);
        if (!note_unreadable(gatherer, batch, line, &problem)) return STEP_FAILED;
    } else {
        step = add_record(gatherer, batch, bytes, line);
    }
    gatherer->frame = (struct event_frame){0}; /* one that stays is looked for anew */
    if (step != STEP_MORE) return step;
    stream_take(stream, record->taken);
    gatherer->line += record->lines;
    return STEP_MORE;
}

/* Takes simple lines, if there are any, as take_record would take each. Where lines turn out not to
 * be simple, they are looked for less and less often. */
static void take_simple_lines(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    if (gatherer->simple_after > 0) gatherer->simple_after--;
    /* A line whose beginning was looked at before comes in pieces. */
    if (gatherer->simple_after > 0 || gatherer->frame.searched > 0) return;
    size_t before = batch->count;
    lethe_bytes text = {.data = stream_data(stream), .size = stream_size(stream)};
    size_t taken = gatherer->take_simple(&gatherer->simple, text, gatherer->line + 1, batch);
    stream_take(stream, taken);
    gatherer->line += batch->count - before;
    if (batch->count - before >= SIMPLE_WORTH) {
        gatherer->simple_pause = 0;
    } else {
        if (gatherer->simple_pause < SIMPLE_PAUSE) gatherer->simple_pause += 1;
        gatherer->simple_after = gatherer->simple_pause;
    }
}

/* Whether lines of this batch can be taken together: none of them has to wait for its time. */
static void prepare_simple(struct event_gatherer *gatherer, const struct event_batch *batch) {
    size_t limit = gatherer->options->batch_limit;
    bool can_be = !gatherer->options->counts_late && batch->given_id.size == 0 &&
                  gatherer->until_ms == UINT64_MAX &&
                  simple_rule_make(&gatherer->format, &gatherer->simple);
    gatherer->simple.most = limit > 0 && limit < EVENTS_PER_BATCH ? limit : EVENTS_PER_BATCH;
    gatherer->take_simple = can_be ? simple_choose(gatherer->format.kind) : NULL;
}

/* Takes what the stream holds into the batch. */
static enum step take_records(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    char delimiter = event_frame_delimiter(&gatherer->format);
    uint64_t start = stream->offset;
    enum stream_text text = stream_skip_mark(stream, &gatherer->failure);
    if (text != TEXT_READY) return text == TEXT_WIDE ? STEP_FAILED : STEP_MORE;
    /* Its first bytes may have been taken for the beginning of a line when there was no more. */
    if (stream->offset != start) gatherer->frame = (struct event_frame){0};
    if (gatherer->is_inside_line) {
        enum step step = leave_line(gatherer, batch);
        if (step != STEP_FULL) return step;
    }
    while (batch->unreadable < EVENTS_PER_BATCH) {
        enum step step = gatherer->is_discarding ? discard(gatherer) : STEP_FULL;
        if (step != STEP_FULL) return step;
        if (gatherer->take_simple != NULL) take_simple_lines(gatherer, batch);
        const char *data = stream_data(stream);
        size_t size = stream_size(stream);
        struct event_record record;
        if (!event_frame_find(&gatherer->frame, delimiter, data, size, event_is_complete(gatherer),
                              &record)) {
            if (size <= EVENT_LINE_LIMIT_BYTES) return STEP_MORE;
            /* The mark before it comes with what is before it (I3). */
            if (delimiter != '\0' && batch->count + batch->unreadable > 0) return STEP_FULL;
            if (!note_too_long(gatherer, batch)) return STEP_FAILED;
            gatherer->is_discarding = true;
            continue;
        }
        /* An empty line, perhaps at the end of the file (I1). */
        if (record.taken == size && record.size == byte_order_marks(data, record.size))
            return STEP_MORE;
        step = take_record(gatherer, batch, &record);
        if (step != STEP_MORE) return step;
    }
    return STEP_FULL;
}

static bool is_empty_line(const char *data, size_t size) {
    size_t marks = byte_order_marks(data, size), left = size - marks;
    return (left == 1 && data[marks] == '\n') ||
           (left == 2 && data[marks] == '\r' && data[marks + 1] == '\n');
}

void event_note_pending(const struct event_gatherer *gatherer, struct event_share *share) {
    const char *data = stream_data(&gatherer->stream);
    size_t size = stream_size(&gatherer->stream);
    if (event_is_complete(gatherer) || gatherer->is_inside_line) return;
    if (is_empty_line(data, size)) return; /* I1 */
    share->pending_bytes = size;
    share->pending_line = gatherer->line + 1;
    share->is_pending_open = memchr(data, '\n', size) != NULL;
}

void event_gather_begin(struct event_gatherer *gatherer, struct event_batch *batch) {
    size_t input = gatherer->next_input - 1;
    gatherer->share = event_batch_add_share(batch, input, path_of(gatherer));
    gatherer->has_share = true;
    struct event_share *share = &batch->share_room[gatherer->share];
    share->starts_input = gatherer->starts_input;
    share->resumed_at = gatherer->resumed_at;
    share->header = gatherer->header;
    share->was_taken = gatherer->was_taken;
    memcpy(share->warning, gatherer->warning, sizeof share->warning);
    gatherer->starts_input = false;
    gatherer->warning[0] = '\0';
}

void event_gather_some(struct event_gatherer *gatherer, struct event_batch *batch) {
    gatherer->is_at_end = false;
    prepare_simple(gatherer, batch);
    for (;;) {
        gatherer->waits = false;
        enum step step = gatherer->lacks_header ? STEP_MORE : take_records(gatherer, batch);
        if (step == STEP_FAILED) gatherer->has_ended = true;
        if (step != STEP_MORE) return;
        if (gatherer->stream.is_last) {
            gatherer->is_at_end = gatherer->follows;
            if (gatherer->follows) return;
            event_note_pending(gatherer, &batch->share_room[gatherer->share]);
            gatherer->is_open = false;
            return;
        }
        bool has_content = batch->count > 0 || batch->unreadable > 0;
        if (has_content && source_would_wait(gatherer->stream.source)) return;
        size_t unread = stream_size(&gatherer->stream);
        enum source_result result = stream_fill(&gatherer->stream, &gatherer->failure);
        if (result == SOURCE_STOPPED || result == SOURCE_FAILED) {
            gatherer->has_ended = true;
            return;
        }
        gatherer->was_rewritten = gatherer->follows && result == SOURCE_MORE &&
                                  !stream_still_has(&gatherer->stream, unread);
        if (gatherer->was_rewritten) return;
    }
}

/* Describes the place that was reached. */
static struct resume_mark describe_place(struct event_gatherer *gatherer) {
    struct resume_mark mark = place_mark(&gatherer->stream, gatherer->line);
    snprintf(mark.manner, sizeof mark.manner, "%s", gatherer->manner);
    if (gatherer->is_discarding) mark.flags |= RESUME_INSIDE;
    return mark;
}

/* I3 */
static bool can_be_marked(const struct event_gatherer *gatherer) {
    return !gatherer->is_discarding || gatherer->format.kind != EVENTS_CSV ||
           event_frame_is_rest(&gatherer->frame);
}

void event_remember_place(struct event_gatherer *gatherer) {
    if (gatherer->mark_name[0] == '\0' || !can_be_marked(gatherer)) return;
    struct resume_mark mark = describe_place(gatherer);
    (void)resume_put(gatherer->table, gatherer->mark_name, &mark);
}

/* Marks the place that the share ends at, so that a later run can go on there. */
static void make_mark(struct event_gatherer *gatherer, struct event_share *share) {
    struct stream *stream = &gatherer->stream;
    if (!gatherer->is_resumable || stream->offset <= gatherer->marked_at) return;
    if (!can_be_marked(gatherer)) return;
    gatherer->marked_at = stream->offset;
    struct resume_mark *mark = &share->mark;
    *mark = describe_place(gatherer);
    bool is_new = gatherer->mark_name[0] == '\0';
    if (is_new) resume_new_name(gatherer->table, mark, gatherer->mark_name);
    /* If the same content is read later in this run, it is recognised by this mark. Beside a file
     * that is followed, that may be while the file is open. Without memory for the mark it is read,
     * and the window recognises its ids. */
    if (is_new || gatherer->follows || !gatherer->is_open)
        (void)resume_put(gatherer->table, gatherer->mark_name, mark);
    share->has_mark = true;
    memcpy(share->mark_name, gatherer->mark_name, sizeof share->mark_name);
}

void event_gather_end(struct event_gatherer *gatherer, struct event_batch *batch) {
    struct event_share *share = &batch->share_room[gatherer->share];
    share->offset = gatherer->stream.offset;
    share->line = gatherer->line;
    make_mark(gatherer, share);
    gatherer->has_share = false;
    if (gatherer->is_open) return;
    gatherer->bytes_before += source_bytes(gatherer->stream.source);
    stream_close(&gatherer->stream);
}

uint64_t event_gathered_bytes(const struct event_gatherer *gatherer) {
    const struct source *source = gatherer->stream.source;
    return gatherer->bytes_before + (source != NULL ? source_bytes(source) : 0);
}

bool event_gather(struct event_gatherer *gatherer, struct event_batch *batch) {
    if (gatherer->has_ended) return false;
    if (!gatherer->is_open) {
        gatherer->has_ended = gatherer->next_input == gatherer->inputs->count;
        if (gatherer->has_ended) return false;
        event_batch_clear(batch);
        if (!event_open_next(gatherer, batch)) {
            gatherer->has_ended = true;
            return false;
        }
    }
    event_batch_clear(batch);
    event_gather_begin(gatherer, batch);
    event_gather_some(gatherer, batch);
    event_gather_end(gatherer, batch);
    batch->bytes = event_gathered_bytes(gatherer);
    return true;
}
