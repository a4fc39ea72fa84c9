/* events_open.c - opens a file of events, and finds out where to go on in it. */
#include "events_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events_parse.h"
#include "exit_code.h"

/* Marks that begin like the file are tried from the furthest on; a compressed file is decompressed for each. */
enum { TRIES = 8 };

/* Reads more; false when that has ended the work. */
static bool fill(struct event_gatherer *gatherer) {
    enum source_result result = event_stream_fill(&gatherer->stream, &gatherer->failure);
    if (result == SOURCE_END) gatherer->is_last = true;
    return result == SOURCE_MORE || result == SOURCE_END;
}

/* Opens the file at its start, with enough in the buffer to recognise it by. */
static bool open_at_start(struct event_gatherer *gatherer, const char *path) {
    struct event_stream *stream = &gatherer->stream;
    if (!event_stream_open(stream, path, gatherer->stop, &gatherer->failure)) return false;
    gatherer->is_last = false;
    gatherer->frame = (struct event_frame){0};
    gatherer->is_resumable = event_source_is_regular(stream->source);
    while (gatherer->is_resumable && stream->head_size < RESUME_SAMPLE_BYTES &&
           !gatherer->is_last) {
        if (!fill(gatherer)) return false;
    }
    return true;
}

bool event_skip_byte_order_mark(struct event_gatherer *gatherer) {
    static const char mark[] = "\xef\xbb\xbf";
    struct event_stream *stream = &gatherer->stream;
    if (stream->offset > 0 || gatherer->format.kind == EVENTS_PLAIN) return true;
    size_t size = stream->filled - stream->position;
    if (size > 3) size = 3;
    if (memcmp(stream->buffer + stream->position, mark, size) != 0) return true;
    if (size == 3) event_stream_take(stream, 3);
    return size == 3 || gatherer->is_last;
}

static bool fail_header(struct event_gatherer *gatherer, const char *path, const char *what) {
    event_failure_set(&gatherer->failure, EXIT_BAD_DATA, "%s:1: %s", inputs_name(path), what);
    return false;
}

/* Takes the first record, which names the columns. */
static bool take_header(struct event_gatherer *gatherer, const char *path,
                        struct event_batch *batch) {
    struct event_stream *stream = &gatherer->stream;
    struct event_record record;
    for (;;) {
        if (event_skip_byte_order_mark(gatherer)) {
            size_t size = stream->filled - stream->position;
            if (event_frame_find(&gatherer->frame, true, stream->buffer + stream->position, size,
                                 EVENT_LINE_LIMIT_BYTES, gatherer->is_last, &record)) {
                break;
            }
            if (size > EVENT_LINE_LIMIT_BYTES) {
                return fail_header(gatherer, path,
                                   "the header is longer than 1 MiB; is this a CSV file?");
            }
        }
        if (gatherer->is_last) return true; /* an empty file needs no header */
        if (!fill(gatherer)) return false;
    }
    lethe_bytes header = {.data = stream->buffer + stream->position, .size = record.size};
    struct event_problem problem;
    if (!event_parse_header(&gatherer->options->format, header, batch, &gatherer->format,
                            &problem)) {
        return fail_header(gatherer, path, problem.text);
    }
    event_stream_take(stream, record.taken);
    gatherer->line = record.lines;
    gatherer->frame = (struct event_frame){0};
    return true;
}

/* Goes back to the first event. */
static bool rewind_stream(struct event_gatherer *gatherer, const char *path) {
    if (!open_at_start(gatherer, path)) return false;
    gatherer->line = gatherer->start_line;
    enum source_result result =
        event_stream_skip(&gatherer->stream, gatherer->start_offset, &gatherer->failure);
    return result == SOURCE_MORE || result == SOURCE_END;
}

/* Goes on from the mark's place, which the stream is at. */
static bool resume_at(struct event_gatherer *gatherer, const struct resume_entry *entry,
                      const char *path) {
    memcpy(gatherer->mark_name, entry->name, sizeof gatherer->mark_name);
    if (gatherer->options->from_start) return rewind_stream(gatherer, path);
    gatherer->line = entry->mark.line;
    gatherer->resumed_at = entry->mark.offset;
    gatherer->is_inside_line = gatherer->stream.buffer[gatherer->stream.position - 1] != '\n';
    return true;
}

/* Looks for the mark that belongs to the file, and goes to its place. */
static bool find_place(struct event_gatherer *gatherer, const char *path) {
    struct event_stream *stream = &gatherer->stream;
    uint64_t furthest = 0, before = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        const struct resume_entry *entry =
            resume_candidate(gatherer->table, stream->head, stream->head_size, before);
        if (entry == NULL || entry->mark.offset < gatherer->start_offset) break;
        before = entry->mark.offset;
        if (furthest == 0) furthest = before;
        enum source_result result = event_stream_skip(stream, before, &gatherer->failure);
        if (result == SOURCE_MORE && resume_tail_matches(&entry->mark, event_stream_tail(stream))) {
            return resume_at(gatherer, entry, path);
        }
        if (result == SOURCE_FAILED || result == SOURCE_STOPPED) return false;
        if (!rewind_stream(gatherer, path)) return false;
    }
    if (furthest == 0 || gatherer->options->from_start) return true;
    snprintf(gatherer->warning, sizeof gatherer->warning,
             "begins like a file that was read up to byte %" PRIu64
             ", but is not the same up to there: it was cut short or replaced; reading it from the "
             "start (ids within the window are still recognised)",
             furthest);
    return true;
}

bool event_open_next(struct event_gatherer *gatherer, struct event_batch *batch) {
    const char *path = gatherer->inputs->paths[gatherer->next_input++];
    gatherer->format = gatherer->options->format;
    gatherer->is_open = true;
    gatherer->starts_input = true;
    gatherer->is_inside_line = gatherer->is_discarding = false;
    gatherer->line = gatherer->resumed_at = 0;
    gatherer->mark_name[0] = gatherer->warning[0] = '\0';
    if (!open_at_start(gatherer, path)) return false;
    if (event_format_has_header(&gatherer->format) && !take_header(gatherer, path, batch)) {
        return false;
    }
    gatherer->start_offset = gatherer->stream.offset;
    gatherer->start_line = gatherer->line;
    bool fine = !gatherer->is_resumable || find_place(gatherer, path);
    gatherer->marked_at = gatherer->resumed_at;
    return fine;
}
