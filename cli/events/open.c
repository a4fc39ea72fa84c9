/* open.c - opens a file of events, and finds out where to continue in it.
 *
 * IDEA    The header is taken first, because a mark before its end means nothing. Then the mark of
 *         the file is looked for, and whether it may be used depends on the manner of reading.
 * I1      A mark moves only with the file that it was made for, or where nothing is lost with
 * it. */
#include "events/open.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "events/parse.h"
#include "frame/exit_code.h"
#include "input/place.h"

/* Whether the work goes on after a read. */
static bool goes_on(enum source_result result) {
    return result == SOURCE_MORE || result == SOURCE_END;
}

static bool fail_header(struct event_gatherer *gatherer, const char *path, const char *what) {
    input_failure_set(&gatherer->failure, EXIT_BAD_DATA, "%s:1: %s", inputs_name(path), what);
    return false;
}

/* Takes the first record, which names the columns. */
static bool take_header(struct event_gatherer *gatherer, const char *path,
                        struct event_batch *batch) {
    struct stream *stream = &gatherer->stream;
    struct event_record record;
    char delimiter = event_frame_delimiter(&gatherer->format);
    for (;;) {
        enum stream_text text = stream_skip_mark(stream, &gatherer->failure);
        if (text == TEXT_WIDE) return false;
        if (text == TEXT_READY) {
            size_t size = stream_size(stream);
            if (event_frame_find(&gatherer->frame, delimiter, stream_data(stream), size,
                                 event_is_complete(gatherer), &record)) {
                break;
            }
            if (size > EVENT_LINE_LIMIT_BYTES) {
                return fail_header(gatherer, path,
                                   "the header is longer than 1 MiB; is this a file of events?");
            }
        }
        if (stream->is_last) { /* an empty file needs no header */
            gatherer->lacks_header = stream_size(stream) > 0;
            return true;
        }
        if (!goes_on(stream_fill(stream, &gatherer->failure))) return false;
    }
    lethe_bytes header = {.data = stream_data(stream), .size = record.size};
    struct event_problem problem;
    if (!event_parse_header(&gatherer->format, header, batch, &problem)) {
        return fail_header(gatherer, path, problem.text);
    }
    if (gatherer->options->headers != NULL &&
        !event_header_keep(gatherer->options->headers, header, &gatherer->header)) {
        input_failure_set(&gatherer->failure, EXIT_ENVIRONMENT,
                          "not enough memory to read %s; free some", inputs_name(path));
        return false;
    }
    stream_take(stream, record.taken);
    gatherer->line = record.lines;
    gatherer->frame = (struct event_frame){0};
    return true;
}

/* Goes back to the first event. */
static bool go_back(struct event_gatherer *gatherer) {
    gatherer->line = gatherer->start_line;
    return goes_on(stream_restart(&gatherer->stream, gatherer->start_offset, &gatherer->failure));
}

/* Says that the file was read in another manner, and what to do. */
static bool fail_manner(struct event_gatherer *gatherer, const char *path,
                        const struct resume_mark *mark) {
    static const char none[] = "neither --csv nor --jsonl nor --fields";
    input_failure_set(
        &gatherer->failure, EXIT_USAGE,
        "%s was read up to byte %" PRIu64
        " with %s, and now %s is given; give the same options again to continue there, or "
        "--from-start to read all of it in the new way (ids within the window are still "
        "recognised)",
        path, mark->offset, mark->manner[0] != '\0' ? mark->manner : none,
        gatherer->manner[0] != '\0' ? gatherer->manner : none);
    return false;
}

/* Says that events of the file, which were counted and are forgotten, would be counted again. */
static bool fail_again(struct event_gatherer *gatherer, const char *path,
                       const struct resume_mark *mark) {
    input_failure_set(&gatherer->failure, EXIT_USAGE,
                      "%s was counted up to byte %" PRIu64
                      " before, and --from-start with --late count would count those events again "
                      "that have left the window since; leave one of the two out",
                      path, mark->offset);
    return false;
}

/* Whether what is read of this file moves the mark. A file that has all that the mark's file had,
 * and more, must leave the mark to that file, which may be read again when its ids have left the
 * window. Nothing is lost with a mark before which nothing was counted, nor with one that is made
 * anew in another manner. */
static bool may_move(const struct event_gatherer *gatherer, const struct resume_mark *mark,
                     bool is_other) {
    if (!mark->has_blocks || is_other || (mark->flags & RESUME_UNTAKEN) != 0) return true;
    uint64_t identity = place_identity(&gatherer->stream);
    return identity != 0 && identity == mark->file.identity;
}

/* Whether nothing was counted before the mark, and the mark is of another file. So it is with a
 * list of late events that is read with a longer window, if all events of the mark's file were
 * late. */
static bool is_uncounted_copy(const struct event_gatherer *gatherer,
                              const struct resume_mark *mark) {
    if ((mark->flags & RESUME_UNTAKEN) == 0) return false;
    uint64_t identity = place_identity(&gatherer->stream);
    return identity != 0 && mark->file.identity != 0 && identity != mark->file.identity;
}

/* Goes on from the place of the file's mark. */
static bool resume_at(struct event_gatherer *gatherer, const struct resume_entry *entry,
                      const char *path) {
    struct stream *stream = &gatherer->stream;
    const struct resume_mark *mark = &entry->mark;
    bool is_untaken = (mark->flags & RESUME_UNTAKEN) != 0;
    bool is_other = mark->has_blocks && strcmp(mark->manner, gatherer->manner) != 0;
    if (may_move(gatherer, mark, is_other)) {
        memcpy(gatherer->mark_name, entry->name, sizeof gatherer->mark_name);
    } else {
        gatherer->others_place = mark->offset;
    }
    gatherer->was_taken = !is_untaken;
    /* Nothing of it was counted: its events were late, and now are to be counted all the same. */
    bool begins_again = is_untaken && (is_other || gatherer->options->counts_late);
    if (gatherer->options->from_start && gatherer->options->counts_late && !is_untaken) {
        return fail_again(gatherer, path, mark);
    }
    if (gatherer->options->from_start || begins_again || is_uncounted_copy(gatherer, mark)) {
        return go_back(gatherer);
    }
    if (is_other) return fail_manner(gatherer, path, mark);
    enum source_result result = place_go(stream, mark, &gatherer->failure);
    if (result == SOURCE_END) {
        input_failure_set(&gatherer->failure, EXIT_ENVIRONMENT,
                          "%s cannot be read up to byte %" PRIu64
                          ", where the last run stopped; check the device, or did it shrink?",
                          path, mark->offset);
    }
    if (result != SOURCE_MORE) return false;
    gatherer->line = mark->line;
    gatherer->resumed_at = mark->offset;
    gatherer->is_discarding = (mark->flags & RESUME_INSIDE) != 0;
    if (gatherer->is_discarding) event_frame_rest(&gatherer->frame);
    (void)stream_mark(stream, 0); /* the last byte is in the track */
    gatherer->is_inside_line =
        mark->line > 0 && !gatherer->is_discarding && resume_track_last(&stream->track) != '\n';
    return true;
}

/* Looks for the mark that belongs to the file, and goes to its place. */
static bool find_place(struct event_gatherer *gatherer, const char *path) {
    struct stream *stream = &gatherer->stream;
    struct place place;
    if (place_find(stream, gatherer->table, gatherer->start_offset, &place, &gatherer->failure) !=
        SOURCE_MORE) {
        return false;
    }
    if (place.entry != NULL) return resume_at(gatherer, place.entry, path);
    if (stream->offset != gatherer->start_offset && !go_back(gatherer)) return false;
    /* Where all of the sample is a header, files of the same kind begin alike. */
    if (place.furthest == 0 || gatherer->options->from_start ||
        gatherer->start_offset >= RESUME_SAMPLE_BYTES) {
        return true;
    }
    snprintf(gatherer->warning, sizeof gatherer->warning,
             "begins like a file that was read up to byte %" PRIu64
             ", but is not the same up to there: it was cut short or replaced; reading it from the "
             "start (ids within the window are still recognised)",
             place.furthest);
    return true;
}

/* Opens one of the inputs, by its descriptor if that is not below 0, and takes its header. */
static bool open_input(struct event_gatherer *gatherer, size_t input, int descriptor,
                       struct event_batch *batch) {
    const char *path = gatherer->inputs->paths[input];
    struct stream *stream = &gatherer->stream;
    gatherer->is_inside_line = gatherer->is_discarding = gatherer->lacks_header = false;
    gatherer->was_taken = false;
    gatherer->line = gatherer->resumed_at = gatherer->others_place = 0;
    gatherer->mark_name[0] = gatherer->warning[0] = '\0';
    gatherer->frame = (struct event_frame){0};
    gatherer->header = (lethe_bytes){0};
    bool is_open = descriptor < 0 ? stream_open(stream, path, gatherer->stop, &gatherer->failure)
                                  : stream_adopt(stream, path, descriptor, &gatherer->failure);
    if (!is_open) return false;
    gatherer->is_resumable = stream->is_tracked;
    if (gatherer->is_resumable && (stream_read_head(stream, &gatherer->failure) != SOURCE_MORE ||
                                   stream_is_wide(stream, &gatherer->failure))) {
        return false;
    }
    if (event_format_has_header(&gatherer->format) && !take_header(gatherer, path, batch)) {
        return false;
    }
    gatherer->start_offset = stream->offset;
    gatherer->start_line = gatherer->line;
    return true;
}

/* What is followed is a file that grows line by line. */
static bool check_followed(struct event_gatherer *gatherer, const char *path) {
    if (source_may_grow(gatherer->stream.source)) return true;
    input_failure_set(
        &gatherer->failure, EXIT_USAGE,
        "%s is compressed, and a file that is followed must be text that grows; count "
        "it without --follow first",
        path);
    return false;
}

enum event_opening event_open_followed(struct event_gatherer *gatherer, int descriptor,
                                       struct event_batch *batch) {
    gatherer->next_input = 0;
    gatherer->is_open = gatherer->was_rewritten = false;
    if (!open_input(gatherer, 0, descriptor, batch) ||
        !check_followed(gatherer, gatherer->inputs->paths[0])) {
        return EVENT_NOT_OPENED;
    }
    gatherer->is_ahead = !event_format_has_header(&gatherer->format) || gatherer->line > 0;
    if (gatherer->is_ahead) return EVENT_OPENED;
    stream_close(&gatherer->stream);
    return EVENT_NOT_YET;
}

/* Looks at one of the inputs, and closes it again. */
static bool look_at(struct event_gatherer *gatherer, size_t input, struct event_batch *batch) {
    const char *path = gatherer->inputs->paths[input];
    if (!inputs_is_file(path)) return true;
    bool is_fine = open_input(gatherer, input, -1, batch) &&
                   (!gatherer->options->follows || check_followed(gatherer, path));
    stream_close(&gatherer->stream);
    return is_fine;
}

bool event_look_ahead(struct event_gatherer *gatherer, struct event_batch *batch) {
    const struct inputs *inputs = gatherer->inputs;
    size_t first = gatherer->options->follows ? 0 : 1;
    for (size_t i = inputs->count; i-- > first;) {
        if (!look_at(gatherer, i, batch)) return false;
    }
    if (gatherer->options->follows) return true;
    /* A pipe is not waited for, unless it must say what its columns are. */
    gatherer->is_ahead =
        inputs_is_file(inputs->paths[0]) || event_format_has_header(&gatherer->format);
    return !gatherer->is_ahead || open_input(gatherer, 0, -1, batch);
}

bool event_open_next(struct event_gatherer *gatherer, struct event_batch *batch) {
    size_t input = gatherer->next_input++;
    gatherer->is_open = true;
    gatherer->starts_input = true;
    if (!gatherer->is_ahead && !open_input(gatherer, input, -1, batch)) return false;
    gatherer->is_ahead = false;
    bool fine = !gatherer->is_resumable || find_place(gatherer, gatherer->inputs->paths[input]);
    gatherer->marked_at = gatherer->start_offset;
    if (gatherer->resumed_at > gatherer->marked_at) gatherer->marked_at = gatherer->resumed_at;
    /* Read from the start, it needs no mark before that one. */
    if (gatherer->others_place > gatherer->marked_at) gatherer->marked_at = gatherer->others_place;
    return fine;
}
