/* lines.c - splits streams into batches of lines.
 *
 * IDEA    A batch points into the stream's buffer: nothing is copied. When only the beginning of a
 *         line is left, the stream is filled again.
 * I1      From the stream's position, `searched` bytes hold no newline. A byte is searched once,
 *         however small the pieces are that a pipe gives.
 * I2      A reader that follows reads no further than the first reader has read, because the
 *         stream's limit is where the first one is.
 * I3      The mark of a place is never inside a line: a last line without a newline is not in it.
 * I4      Before the first line is delivered, compressed files were verified.
 * LIMIT   A line of more than LINE_LIMIT bytes is refused: it is from a binary file, not a line. */
#include "input/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "input/byte_order.h"
#include "input/verify.h"
#include "say/message.h"
#include "say/progress.h"

static const size_t LINE_LIMIT = (size_t)1 << 30;

/* One of the inputs, as far as it is read. */
struct line_file {
    /* Kept for a reader that follows; -1: not, or that reader has it. */
    int descriptor;
    uint64_t start, end;
};

struct line_reader {
    const struct inputs *inputs;
    size_t next_input;
    struct stream stream;
    size_t searched;
    /* At the end of the input, its last line, which has no newline in the file, is the only one
     * left. */
    bool is_unended;
    struct resume_mark mark_before; /* of that line */

    line_start *start; /* may be NULL */
    line_pending *pending;
    void *start_context, *pending_context;
    const atomic_bool *stop; /* may be NULL */
    bool ignores_signals, has_verified, has_given;
    /* What is delivered is not split: lines[0] is all of it. */
    bool gives_text;
    size_t most;

    /* Of each input, if they are kept; otherwise NULL. */
    struct line_file *files;
    size_t kept, first_kept;
    /* The reader that is followed; may be NULL. */
    struct line_reader *first;

    uint64_t lines_in_file, lines_total, bytes_before;
    lethe_bytes lines[LINES_PER_BATCH + 1];
};

int lines_open(const struct inputs *inputs, struct line_reader **out) {
    *out = NULL;
    struct line_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL || !stream_init(&reader->stream, false)) {
        free(reader);
        return message_fail(EXIT_ENVIRONMENT, "not enough memory to read lines; free some");
    }
    reader->inputs = inputs;
    reader->stream.takes_binary = inputs->takes_binary;
    *out = reader;
    return EXIT_DONE;
}

void lines_free(struct line_reader *reader) {
    if (reader == NULL) return;
    lines_keep_no_more(reader);
    stream_free(&reader->stream);
    free(reader);
}

static int fail(const struct line_reader *reader, struct input_failure *failure) {
    input_failure_advise(failure, reader->has_given || reader->first != NULL);
    return message_fail(failure->code, "%s", failure->text);
}

void lines_resume(struct line_reader *reader, line_start *start, void *context) {
    reader->stream.tracks = true;
    reader->start = start;
    reader->start_context = context;
}

void lines_leave_unended(struct line_reader *reader, line_pending *pending, void *context) {
    reader->pending = pending;
    reader->pending_context = context;
}

void lines_stop_on(struct line_reader *reader, const atomic_bool *stop) {
    reader->stop = stop;
}

/* Keeps the file for a reader that follows, from where this one is. */
static int keep(struct line_reader *reader, size_t input) {
    int descriptor = source_descriptor(reader->stream.source);
    if (reader->files == NULL || descriptor < 0) return EXIT_DONE;
    int kept = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (kept < 0) {
        struct input_failure failure = {.code = EXIT_ENVIRONMENT};
        inputs_explain(reader->inputs->paths[input], errno, failure.text, sizeof failure.text);
        return fail(reader, &failure);
    }
    uint64_t at = reader->stream.offset;
    reader->files[input] = (struct line_file){.descriptor = kept, .start = at, .end = at};
    reader->kept++;
    return EXIT_DONE;
}

int lines_keep(struct line_reader *reader) {
    size_t count = reader->inputs->count;
    reader->files = malloc(count * sizeof *reader->files);
    for (size_t i = 0; i < count && reader->files != NULL; i++) {
        reader->files[i] = (struct line_file){.descriptor = -1};
    }
    bool is_open = reader->stream.source != NULL;
    reader->first_kept = reader->next_input - (is_open ? 1 : 0);
    return is_open ? keep(reader, reader->first_kept) : EXIT_DONE;
}

void lines_keep_no_more(struct line_reader *reader) {
    for (size_t i = 0; i < reader->inputs->count && reader->files != NULL; i++) {
        if (reader->files[i].descriptor >= 0) close(reader->files[i].descriptor);
    }
    free(reader->files);
    reader->files = NULL;
    reader->kept = 0;
}

void lines_follow(struct line_reader *reader, struct line_reader *first) {
    if (first->files == NULL) return;
    reader->first = first;
    reader->next_input = first->first_kept;
}

size_t lines_kept(const struct line_reader *reader) {
    return reader->kept;
}

void lines_limit(struct line_reader *reader, size_t most) {
    reader->most = most;
}

void lines_ignore_signals(struct line_reader *reader) {
    reader->ignores_signals = true;
}

uint64_t lines_delivered(const struct line_reader *reader) {
    return reader->lines_total;
}

uint64_t lines_bytes(const struct line_reader *reader) {
    const struct source *source = reader->stream.source;
    return reader->bytes_before + (source != NULL ? source_bytes(source) : 0);
}

bool lines_would_wait(const struct line_reader *reader) {
    const struct stream *stream = &reader->stream;
    if (stream->source == NULL || reader->is_unended) return false;
    const char *data = stream_data(stream);
    size_t searched = reader->searched;
    if (memchr(data + searched, '\n', stream_size(stream) - searched) != NULL) return false;
    return source_would_wait(stream->source);
}

void lines_place(struct line_reader *reader, struct line_place *out) {
    struct stream *stream = &reader->stream;
    out->input = reader->next_input - 1;
    out->has_mark = stream->is_tracked;
    if (!out->has_mark) return;
    out->mark = reader->is_unended ? reader->mark_before : place_mark(stream, 0);
    out->has_mark = out->mark.offset > 0;
}

/* Points lines[0..) at the complete lines in the buffer. */
static size_t split(struct line_reader *reader) {
    struct stream *stream = &reader->stream;
    const char *from = stream_data(stream);
    const char *end = from + stream_size(stream);
    const char *line = from, *search = from + reader->searched;
    size_t most =
        reader->most > 0 && reader->most < LINES_PER_BATCH ? reader->most : LINES_PER_BATCH;
    size_t count = 0;
    while (count < most) {
        const char *newline = memchr(search, '\n', (size_t)(end - search));
        if (newline == NULL) {
            search = end;
            break;
        }
        size_t marks = byte_order_marks(line, (size_t)(newline - line));
        if (marks > 0 && count > 0) { /* it begins the next batch, whose texts lie together */
            search = line;
            break;
        }
        line += marks;
        size_t size = (size_t)(newline - line);
        if (reader->is_unended && marks > 0 && size == 0) { /* no line, but an empty file's end */
            line = search = newline + 1;
            break;
        }
        if (size > 0 && newline[-1] == '\r') size--;
        reader->lines[count++] = (lethe_bytes){.data = line, .size = size};
        line = search = newline + 1;
    }
    reader->lines[count] = (lethe_bytes){.data = line, .size = 0};
    stream_take(stream, (size_t)(line - from));
    reader->searched = (size_t)(search - line);
    return count;
}

/* Points lines[0] at the text of all complete lines in the buffer; returns whether there is any. */
static size_t take_text(struct line_reader *reader) {
    struct stream *stream = &reader->stream;
    const char *from = stream_data(stream);
    size_t size = stream_size(stream), searched = reader->searched;
    const char *last = memrchr(from + searched, '\n', size - searched);
    size_t whole = last == NULL ? 0 : (size_t)(last - from) + 1, given = whole;
    if (reader->is_unended && whole > 0) { /* as in split: marks alone are no last line */
        const char *before = memrchr(from, '\n', whole - 1);
        const char *line = before == NULL ? from : before + 1;
        size_t line_size = (size_t)(last - line);
        if (line_size > 0 && byte_order_marks(line, line_size) == line_size)
            given = (size_t)(line - from);
    }
    reader->lines[0] = (lethe_bytes){.data = from, .size = given};
    stream_take(stream, whole);
    reader->searched = size - whole;
    return given > 0;
}

/* How far the input may be read: as far as the reader that is followed has read it, and just far
 * enough to see whether a newline follows the longest line. */
static uint64_t limit_of(const struct line_reader *reader) {
    const struct line_reader *first = reader->first;
    size_t input = reader->next_input - 1;
    uint64_t limit = reader->stream.offset + LINE_LIMIT + 1;
    if (first == NULL) return limit;
    bool is_open =
        first->stream.source != NULL && first->next_input - 1 == input && !first->is_unended;
    /* While it is open, only its whole lines: it may leave the rest to the next run. */
    uint64_t end = is_open ? first->stream.offset : first->files[input].end;
    return end < limit ? end : limit;
}

static void close_input(struct line_reader *reader) {
    reader->bytes_before += source_bytes(reader->stream.source);
    reader->is_unended = false;
    stream_close(&reader->stream);
}

/* At the end of an input: leaves the beginning of a line to the next run if the file may grow;
 * otherwise gives it the newline that it lacks, so that it is split off next. */
static void end_input(struct line_reader *reader) {
    struct stream *stream = &reader->stream;
    size_t input = reader->next_input - 1, bytes = stream_size(stream);
    if (bytes > 0 && reader->pending != NULL && source_may_grow(stream->source)) {
        reader->pending(reader->pending_context, input, bytes);
        bytes = 0;
    }
    if (reader->files != NULL) reader->files[input].end = stream->offset + bytes;
    if (bytes == 0) {
        close_input(reader);
        return;
    }
    if (stream->is_tracked) reader->mark_before = place_mark(stream, 0);
    reader->is_unended = true;
    stream->buffer[stream->filled++] = '\n';
}

/* Reads more of the input, or ends it. */
static int fill(struct line_reader *reader) {
    struct stream *stream = &reader->stream;
    struct input_failure failure;
    if (stream_size(stream) > LINE_LIMIT && reader->gives_text) {
        return message_fail(EXIT_BAD_DATA,
                            "%s has a line longer than %zu MiB; is it a file of lines?",
                            inputs_name(source_path(stream->source)), LINE_LIMIT >> 20);
    }
    if (stream_size(stream) > LINE_LIMIT) {
        return message_fail(
            EXIT_BAD_DATA, "%s, line %" PRIu64 " is longer than %zu MiB; is it a file of lines?",
            inputs_name(source_path(stream->source)), reader->lines_in_file + 1, LINE_LIMIT >> 20);
    }
    stream->limit = limit_of(reader);
    enum source_result result = stream_fill(stream, &failure);
    if (result == SOURCE_FAILED) return fail(reader, &failure);
    /* What might have been the beginning of a UTF-16 text has not been searched before. */
    bool is_searched = reader->searched == stream_size(stream);
    if (result == SOURCE_END && is_searched) end_input(reader);
    return EXIT_DONE;
}

/* Passes over a byte order mark, and then splits off what lines there are. */
static int take_lines(struct line_reader *reader, size_t *count) {
    struct input_failure failure;
    enum stream_text text = stream_skip_mark(&reader->stream, &failure);
    if (text == TEXT_WIDE) return fail(reader, &failure);
    *count = text != TEXT_READY ? 0 : reader->gives_text ? take_text(reader) : split(reader);
    reader->has_given = reader->has_given || *count > 0;
    if (reader->gives_text) return EXIT_DONE;
    reader->lines_in_file += *count;
    reader->lines_total += *count;
    return EXIT_DONE;
}

/* Goes to where reading of the input that was just opened begins. */
static int find_start(struct line_reader *reader, size_t input) {
    struct stream *stream = &reader->stream;
    struct input_failure failure;
    enum source_result result = SOURCE_MORE;
    int code = EXIT_DONE;
    if (reader->first != NULL) {
        stream->limit = limit_of(reader);
        uint64_t start = reader->first->files[input].start;
        if (start > 0) result = stream_seek(stream, start, &failure);
    } else if (reader->start != NULL && stream->is_tracked) {
        result = stream_read_head(stream, &failure);
        if (result == SOURCE_MORE) code = reader->start(reader->start_context, input, stream);
    }
    if (result == SOURCE_FAILED) return fail(reader, &failure);
    return code;
}

static bool open_stream(struct line_reader *reader, size_t input, struct input_failure *failure) {
    struct line_reader *first = reader->first;
    const char *path = reader->inputs->paths[input];
    if (first == NULL || first->files[input].descriptor < 0) {
        return stream_open(&reader->stream, path, reader->stop, failure);
    }
    int descriptor = first->files[input].descriptor;
    first->files[input].descriptor = -1;
    first->kept--;
    return stream_adopt(&reader->stream, path, descriptor, failure);
}

static int open_next(struct line_reader *reader) {
    struct input_failure failure;
    size_t input = reader->next_input++;
    if (!open_stream(reader, input, &failure)) return fail(reader, &failure);
    if (reader->ignores_signals) source_ignore_signals(reader->stream.source);
    reader->lines_in_file = 0;
    reader->searched = 0;
    int code = find_start(reader, input);
    return code == EXIT_DONE ? keep(reader, input) : code;
}

/* I4. What is followed was read before. */
static int verify(struct line_reader *reader) {
    bool is_needed = !reader->has_verified && reader->first == NULL;
    reader->has_verified = true;
    return is_needed ? inputs_verify(reader->inputs) : EXIT_DONE;
}

static bool should_stop(const struct line_reader *reader) {
    if (reader->stop != NULL && *reader->stop) return true;
    return !reader->ignores_signals && interrupt_requested();
}

int lines_next(struct line_reader *reader, struct line_batch *out) {
    *out = (struct line_batch){.lines = reader->lines};
    int code = verify(reader);
    while (code == EXIT_DONE && !should_stop(reader)) {
        if (reader->stream.source == NULL) {
            if (reader->next_input == reader->inputs->count) break;
            code = open_next(reader);
            continue;
        }
        code = take_lines(reader, &out->count);
        if (code != EXIT_DONE || out->count > 0) break;
        if (reader->is_unended) {
            close_input(reader);
        } else {
            code = fill(reader);
        }
    }
    return code;
}

int lines_next_text(struct line_reader *reader, lethe_bytes *out) {
    struct line_batch batch;
    reader->gives_text = true;
    int code = lines_next(reader, &batch);
    *out = code == EXIT_DONE && batch.count > 0 ? reader->lines[0] : (lethe_bytes){.size = 0};
    return code;
}

int lines_each(const struct inputs *inputs, bool shows, line_visit *visit, void *context) {
    struct line_reader *reader;
    int code = lines_open(inputs, &reader);
    if (reader == NULL) return code;
    struct progress progress;
    progress_begin(&progress, shows, "lines", inputs->bytes);
    struct line_batch batch;
    while ((code = lines_next(reader, &batch)) == EXIT_DONE && batch.count > 0) {
        code = visit(context, reader, &batch);
        if (code != EXIT_DONE) break;
        progress_update(&progress, lines_delivered(reader), lines_bytes(reader));
    }
    progress_end(&progress);
    lines_free(reader);
    return code;
}
