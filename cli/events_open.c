/* events_open.c - opens a file of events, and finds out where to go on in it. */
#include "events_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events_parse.h"
#include "exit_code.h"
#include "resume_find.h"

/* Reads more; false when that has ended the work. */
static bool fill(struct event_gatherer *gatherer) {
    enum source_result result = event_stream_fill(&gatherer->stream, &gatherer->failure);
    if (result == SOURCE_END) gatherer->is_last = true;
    return result == SOURCE_MORE || result == SOURCE_END;
}

/* At the start of the file: reads enough to recognise it by. */
static bool read_head(struct event_gatherer *gatherer) {
    struct event_stream *stream = &gatherer->stream;
    gatherer->is_last = false;
    gatherer->frame = (struct event_frame){0};
    gatherer->is_resumable = event_source_is_regular(stream->source);
    while (gatherer->is_resumable && stream->head_size < RESUME_SAMPLE_BYTES &&
           !gatherer->is_last) {
        if (!fill(gatherer)) return false;
    }
    return true;
}

/* Text in UTF-16, as some programs on Windows write it: every letter has another byte beside it. */
static bool is_wide(const char *text) {
    return (memcmp(text, "\xff\xfe", 2) == 0 && text[3] == '\0') ||
           (memcmp(text, "\xfe\xff", 2) == 0 && text[2] == '\0');
}

bool event_skip_byte_order_mark(struct event_gatherer *gatherer) {
    static const char mark[] = "\xef\xbb\xbf";
    struct event_stream *stream = &gatherer->stream;
    const char *text = stream->buffer + stream->position;
    size_t size = stream->filled - stream->position;
    if (stream->offset > 0 || size == 0) return true;
    bool may_be_wide = text[0] == '\xff' || text[0] == '\xfe';
    if (may_be_wide && size < 4 && !gatherer->is_last) return false;
    if (may_be_wide && size >= 4 && is_wide(text)) {
        event_failure_set(&gatherer->failure, EXIT_BAD_DATA,
                          "%s is text in UTF-16; write it in UTF-8, as `iconv -f UTF-16 -t UTF-8` "
                          "does",
                          inputs_name(gatherer->inputs->paths[gatherer->next_input - 1]));
        return false;
    }
    if (size > 3) size = 3;
    if (memcmp(text, mark, size) != 0) return true;
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
        if (!event_skip_byte_order_mark(gatherer)) {
            if (gatherer->failure.code != EXIT_DONE) return false;
        } else {
            size_t size = stream->filled - stream->position;
            if (event_frame_find(&gatherer->frame, true, stream->buffer + stream->position, size,
                                 EVENT_LINE_LIMIT_BYTES, event_is_complete(gatherer), &record)) {
                break;
            }
            if (size > EVENT_LINE_LIMIT_BYTES) {
                return fail_header(gatherer, path,
                                   "the header is longer than 1 MiB; is this a CSV file?");
            }
        }
        if (gatherer->is_last) { /* an empty file needs no header */
            gatherer->lacks_header = stream->filled > stream->position;
            return true;
        }
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
static bool go_back(struct event_gatherer *gatherer) {
    if (!event_stream_rewind(&gatherer->stream)) {
        event_failure_set(&gatherer->failure, EXIT_ENVIRONMENT,
                          "cannot go back to the start of %s; check the device",
                          gatherer->inputs->paths[gatherer->next_input - 1]);
        return false;
    }
    if (!read_head(gatherer)) return false;
    gatherer->line = gatherer->start_line;
    enum source_result result =
        event_stream_skip(&gatherer->stream, gatherer->start_offset, &gatherer->failure);
    return result == SOURCE_MORE || result == SOURCE_END;
}

/* Says that the file was read in another manner, and what to do. */
static bool fail_manner(struct event_gatherer *gatherer, const char *path,
                        const struct resume_mark *mark) {
    static const char none[] = "neither --csv nor --jsonl nor --fields";
    event_failure_set(
        &gatherer->failure, EXIT_USAGE,
        "%s was read up to byte %" PRIu64
        " with %s, and now %s is given; give the same again to go on there, or "
        "--from-start to read all of it as you say now (ids within the window are still "
        "recognised)",
        path, mark->offset, mark->manner[0] != '\0' ? mark->manner : none,
        gatherer->manner[0] != '\0' ? gatherer->manner : none);
    return false;
}

/* What tells the file from others; 0 if it is compressed. */
static uint64_t identity_of(const struct event_gatherer *gatherer) {
    struct resume_file file = {0};
    int descriptor = event_source_file(gatherer->stream.source);
    if (descriptor >= 0) (void)resume_look(descriptor, &file);
    return file.identity;
}

/* Whether what is read of this file moves the mark. Another file that has all that the mark's file had, and more, must leave it to
 * that one, which may be read again when its ids have left the window. Nothing is lost with a mark before which nothing was
 * counted, nor with one that is made anew in another manner. */
static bool may_move(const struct event_gatherer *gatherer, const struct resume_mark *mark,
                     bool is_other) {
    if (!mark->has_blocks || is_other || (mark->flags & RESUME_UNTAKEN) != 0) return true;
    uint64_t identity = identity_of(gatherer);
    return identity != 0 && identity == mark->file.identity;
}

/* Whether nothing was counted before the mark, and it is another file's: such as a list of late events, which is read to count
 * them in a longer window, where all events of the mark's file were late. */
static bool is_uncounted_copy(const struct event_gatherer *gatherer,
                              const struct resume_mark *mark) {
    if ((mark->flags & RESUME_UNTAKEN) == 0) return false;
    uint64_t identity = identity_of(gatherer);
    return identity != 0 && mark->file.identity != 0 && identity != mark->file.identity;
}

/* Goes on from the place of the file's mark. */
static bool resume_at(struct event_gatherer *gatherer, const struct resume_entry *entry,
                      const char *path) {
    struct event_stream *stream = &gatherer->stream;
    const struct resume_mark *mark = &entry->mark;
    bool is_untaken = (mark->flags & RESUME_UNTAKEN) != 0;
    bool is_other = mark->has_blocks && strcmp(mark->manner, gatherer->manner) != 0;
    if (may_move(gatherer, mark, is_other)) {
        memcpy(gatherer->mark_name, entry->name, sizeof gatherer->mark_name);
    } else {
        gatherer->others_place = mark->offset;
    }
    gatherer->was_taken = !is_untaken;
    if (gatherer->options->from_start || (is_other && is_untaken) ||
        is_uncounted_copy(gatherer, mark)) {
        return go_back(gatherer);
    }
    if (is_other) return fail_manner(gatherer, path, mark);
    if (event_source_file(stream->source) >= 0) {
        enum source_result result = event_stream_seek(stream, mark);
        if (result == SOURCE_STOPPED) return false;
        if (result != SOURCE_MORE) {
            event_failure_set(&gatherer->failure, EXIT_ENVIRONMENT,
                              "%s can't be read up to byte %" PRIu64
                              ", where the last run stopped; check the device, or did it shrink?",
                              path, mark->offset);
            return false;
        }
    } else {
        if (!go_back(gatherer)) return false;
        if (event_stream_skip(stream, mark->offset, &gatherer->failure) != SOURCE_MORE)
            return false;
    }
    gatherer->is_last = false;
    gatherer->line = mark->line;
    gatherer->resumed_at = mark->offset;
    gatherer->is_discarding = (mark->flags & RESUME_INSIDE) != 0;
    (void)event_stream_mark(stream, 0); /* the last byte is in the track */
    gatherer->is_inside_line =
        !gatherer->is_discarding && resume_track_last(&stream->track) != '\n';
    return true;
}

/* Decompresses the file once, and compares all of it with each candidate. False when that has ended the work. */
static bool search_packed(struct event_gatherer *gatherer, const struct resume_search *search,
                          const struct resume_entry **out) {
    struct event_stream *stream = &gatherer->stream;
    for (size_t i = 0; i < search->count; i++) {
        const struct resume_entry *entry = search->candidates[i];
        enum source_result result =
            event_stream_skip(stream, entry->mark.offset, &gatherer->failure);
        if (result == SOURCE_END) break;
        if (result != SOURCE_MORE) return false;
        struct resume_mark here = event_stream_mark(stream, 0);
        if (resume_same_place(&entry->mark, &here)) *out = entry;
    }
    return *out != NULL || go_back(gatherer);
}

/* Looks for the mark that belongs to the file, and goes to its place. */
static bool find_place(struct event_gatherer *gatherer, const char *path) {
    struct event_stream *stream = &gatherer->stream;
    struct resume_search search = resume_search_begin(gatherer->table, stream->head,
                                                      stream->head_size, gatherer->start_offset);
    const struct resume_entry *entry = NULL;
    uint64_t furthest = search.count > 0 ? search.candidates[search.count - 1]->mark.offset : 0;
    int file = event_source_file(stream->source);
    bool fine = true;
    if (search.count > 0 && file >= 0) {
        fine = resume_search_file(&search, file, &entry) != RESUME_STOPPED;
    } else if (search.count > 0) {
        fine = search_packed(gatherer, &search, &entry);
    }
    if (search.is_short_of_memory) {
        event_failure_set(&gatherer->failure, EXIT_ENVIRONMENT,
                          "not enough memory to find out how far %s was read; free some", path);
        fine = false;
    }
    resume_search_end(&search);
    if (!fine) return false;
    if (entry != NULL) return resume_at(gatherer, entry, path);
    /* Where all of the sample is a header, files of the same kind begin alike. */
    if (furthest == 0 || gatherer->options->from_start ||
        gatherer->start_offset >= RESUME_SAMPLE_BYTES) {
        return true;
    }
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
    gatherer->is_inside_line = gatherer->is_discarding = gatherer->lacks_header = false;
    gatherer->was_taken = false;
    gatherer->line = gatherer->resumed_at = gatherer->others_place = 0;
    gatherer->mark_name[0] = gatherer->warning[0] = '\0';
    if (!event_stream_open(&gatherer->stream, path, gatherer->stop, &gatherer->failure) ||
        !read_head(gatherer)) {
        return false;
    }
    if (event_format_has_header(&gatherer->format) && !take_header(gatherer, path, batch)) {
        return false;
    }
    gatherer->start_offset = gatherer->stream.offset;
    gatherer->start_line = gatherer->line;
    bool fine = !gatherer->is_resumable || find_place(gatherer, path);
    gatherer->marked_at = gatherer->start_offset;
    if (gatherer->resumed_at > gatherer->marked_at) gatherer->marked_at = gatherer->resumed_at;
    /* Read from the start, it needs no mark before that one. */
    if (gatherer->others_place > gatherer->marked_at) gatherer->marked_at = gatherer->others_place;
    return fine;
}
