/* lines.c - reads lines in batches.
 *
 * IDEA    Blocks are read into one buffer, and a batch points into it. When only the beginning of a
 *         line is left, that piece moves to the front and the next block goes behind it, so
 *         what is copied is less than a line a block.
 * LAYOUT  buffer: [delivered | lines to deliver, the last one perhaps only begun | free]
 *                            ^position                                           ^filled
 *         searched lies between these two: from position up to it there is no newline.
 * I1      position <= searched <= filled < capacity: a byte is always free behind the data, for
 *         the newline that a last line lacks.
 * I2      A byte is searched for a newline once, however small the pieces are that a pipe gives.
 * WHY     read() into a buffer that stays in the cache is as fast as mmap, works on pipes, and a
 *         file that shrinks meanwhile is a short file and not a SIGBUS.
 * LIMIT   A line of more than LINE_LIMIT bytes is refused: it is a binary file, not a line. */
#include "lines.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "interrupt.h"
#include "message.h"
#include "resume_find.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;
static const size_t LINE_LIMIT = (size_t)1 << 30;

/* One of the inputs, as far as it is read. */
struct line_file {
    int descriptor; /* of one that is kept; -1 otherwise */
    uint64_t start, end;
};

struct line_reader {
    const struct inputs *inputs;
    size_t next_input;
    const char *path; /* being read, or NULL between two files */
    int descriptor;
    bool is_file; /* it is named and regular */
    bool ignores_signals;
    line_start *start; /* may be NULL */
    line_pending *pending;
    void *start_context, *pending_context;
    struct line_file *files; /* of each input, where they are kept; otherwise NULL */
    size_t kept;
    struct line_reader *first; /* who is followed; may be NULL */
    size_t most;
    uint64_t lines_in_file;
    uint64_t bytes_in_file;   /* up to the last one read */
    struct resume_file ended; /* the last file that was read to its end */
    bool is_unended;          /* the last line had no newline in the file */
    uint64_t lines_total, bytes_total;
    char *buffer;
    size_t capacity, position, searched, filled;
    struct resume_track track; /* of what was delivered, if there is `start` */
    lethe_bytes lines[LINES_PER_BATCH];
};

int lines_open(const struct inputs *inputs, struct line_reader **out) {
    *out = NULL;
    struct line_reader *reader = calloc(1, sizeof *reader);
    char *buffer = malloc(2 * BLOCK_BYTES);
    if (reader == NULL || buffer == NULL) {
        free(reader);
        free(buffer);
        return message_fail(EXIT_ENVIRONMENT, "not enough memory to read lines; free some");
    }
    reader->inputs = inputs;
    reader->descriptor = -1;
    reader->buffer = buffer;
    reader->capacity = 2 * BLOCK_BYTES;
    *out = reader;
    return EXIT_DONE;
}

static bool is_kept(const struct line_reader *reader, size_t input) {
    return reader->files != NULL && reader->files[input].descriptor >= 0;
}

static void let_go(struct line_reader *reader, size_t input) {
    if (!is_kept(reader, input)) return;
    close(reader->files[input].descriptor);
    reader->files[input].descriptor = -1;
    reader->kept--;
}

void lines_free(struct line_reader *reader) {
    if (reader == NULL) return;
    for (size_t i = 0; i < reader->inputs->count && reader->files != NULL; i++) {
        let_go(reader, i);
    }
    if (reader->path != NULL && reader->files == NULL && reader->first == NULL) {
        inputs_close(reader->descriptor);
    }
    free(reader->files);
    free(reader->buffer);
    free(reader);
}

void lines_resume(struct line_reader *reader, line_start *start, void *context) {
    reader->start = start;
    reader->start_context = context;
}

void lines_leave_unended(struct line_reader *reader, line_pending *pending, void *context) {
    reader->pending = pending;
    reader->pending_context = context;
}

void lines_keep(struct line_reader *reader) {
    size_t count = reader->inputs->count;
    reader->files = malloc(count * sizeof *reader->files);
    for (size_t i = 0; i < count && reader->files != NULL; i++) {
        reader->files[i] = (struct line_file){.descriptor = -1};
    }
}

void lines_follow(struct line_reader *reader, struct line_reader *first) {
    if (first->files != NULL) reader->first = first;
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

static bool must_stop(const struct line_reader *reader) {
    return !reader->ignores_signals && interrupt_requested();
}

void lines_place(const struct line_reader *reader, struct line_place *out) {
    out->input = reader->next_input - 1;
    out->has_mark = reader->is_file && reader->start != NULL && reader->track.offset > 0;
    if (!out->has_mark) return;
    out->mark = resume_track_mark(&reader->track, 0);
    out->mark.file = reader->ended;
    if (reader->path != NULL) (void)resume_look(reader->descriptor, &out->mark.file);
}

uint64_t lines_delivered(const struct line_reader *reader) {
    return reader->lines_total;
}

uint64_t lines_bytes(const struct line_reader *reader) {
    return reader->bytes_total;
}

bool lines_would_wait(const struct line_reader *reader) {
    if (reader->path == NULL) return false;
    if (memchr(reader->buffer + reader->searched, '\n', reader->filled - reader->searched)) {
        return false;
    }
    struct pollfd input = {.fd = reader->descriptor, .events = POLLIN};
    return poll(&input, 1, 0) == 0;
}

/* Moves the beginning of a line to the front, and makes room for another block behind it. */
static int make_room(struct line_reader *reader) {
    size_t kept = reader->filled - reader->position;
    if (kept > LINE_LIMIT) {
        return message_fail(EXIT_BAD_DATA,
                            "%s, line %" PRIu64 " is longer than %zu MiB; is it a file of lines?",
                            inputs_name(reader->path), reader->lines_in_file + 1, LINE_LIMIT >> 20);
    }
    if (reader->position > 0) {
        memmove(reader->buffer, reader->buffer + reader->position, kept);
        reader->searched -= reader->position;
        reader->filled = kept;
        reader->position = 0;
    }
    if (reader->capacity - kept > BLOCK_BYTES) return EXIT_DONE;
    char *larger = realloc(reader->buffer, 2 * reader->capacity);
    if (larger == NULL) {
        return message_fail(EXIT_ENVIRONMENT,
                            "not enough memory for line %" PRIu64 " of %s; free some",
                            reader->lines_in_file + 1, inputs_name(reader->path));
    }
    reader->buffer = larger;
    reader->capacity *= 2;
    return EXIT_DONE;
}

/* How far the file may be read: as far as the one who is followed has read it. */
static uint64_t end_of_file(const struct line_reader *reader) {
    const struct line_reader *first = reader->first;
    size_t input = reader->next_input - 1;
    if (first == NULL) return UINT64_MAX;
    return first->path != NULL && first->next_input - 1 == input ? first->bytes_in_file
                                                                 : first->files[input].end;
}

static ssize_t read_some(const struct line_reader *reader, size_t room) {
    char *to = reader->buffer + reader->filled;
    uint64_t end = end_of_file(reader);
    if (!reader->is_file) return read(reader->descriptor, to, room);
    if (room > end - reader->bytes_in_file) room = (size_t)(end - reader->bytes_in_file);
    /* By offset: a reader who follows has the same descriptor. */
    return room > 0 ? pread(reader->descriptor, to, room, (off_t)reader->bytes_in_file) : 0;
}

/* Reads a block behind what is there. *at_end tells that the file has no more, or that a
 * signal asked to stop. */
static int read_block(struct line_reader *reader, bool *at_end) {
    int code = make_room(reader);
    if (code != EXIT_DONE) return code;
    size_t room = reader->capacity - reader->filled - 1;
    /* A long line is read in large pieces; short ones in blocks that stay in the cache. */
    if (reader->filled < BLOCK_BYTES && room > BLOCK_BYTES) room = BLOCK_BYTES;
    /* Just enough to see whether a newline follows the longest line that is allowed. */
    if (room > LINE_LIMIT + 1 - reader->filled) room = LINE_LIMIT + 1 - reader->filled;
    for (;;) {
        if (!reader->inputs->all_regular) interrupt_wait_readable(reader->descriptor);
        *at_end = must_stop(reader);
        if (*at_end) return EXIT_DONE;
        ssize_t got = read_some(reader, room);
        if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (got < 0) return inputs_fail(reader->path);
        reader->filled += (size_t)got;
        reader->bytes_total += (size_t)got;
        reader->bytes_in_file += (size_t)got;
        *at_end = got == 0;
        return EXIT_DONE;
    }
}

/* Points lines[0..) at the complete lines in the buffer. */
static size_t split(struct line_reader *reader) {
    size_t count = 0;
    const char *line = reader->buffer + reader->position;
    const char *search = reader->buffer + reader->searched;
    const char *end = reader->buffer + reader->filled;
    size_t most =
        reader->most > 0 && reader->most < LINES_PER_BATCH ? reader->most : LINES_PER_BATCH;
    while (count < most) {
        const char *newline = memchr(search, '\n', (size_t)(end - search));
        if (newline == NULL) {
            search = end;
            break;
        }
        reader->lines[count++] = (lethe_bytes){.data = line, .size = (size_t)(newline - line)};
        line = search = newline + 1;
    }
    const char *from = reader->buffer + reader->position;
    if (reader->start != NULL && reader->is_file && !reader->is_unended) {
        resume_track_feed(&reader->track, from, (size_t)(line - from));
    }
    reader->position = (size_t)(line - reader->buffer);
    reader->searched = (size_t)(search - reader->buffer);
    return count;
}

/* Leaves the beginning of a line to the next time, in a file that may still grow. */
static void leave_unended(struct line_reader *reader) {
    struct stat status;
    size_t bytes = reader->filled - reader->position;
    if (reader->pending == NULL || bytes == 0) return;
    if (fstat(reader->descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (must_stop(reader)) return;
    reader->pending(reader->pending_context, reader->next_input - 1, reader->lines_in_file + 1,
                    bytes);
    reader->filled = reader->searched = reader->position;
    reader->bytes_in_file -= bytes;
}

/* Ends the file. A line that it left without a newline gets one, and is split off next. */
static void end_file(struct line_reader *reader) {
    size_t input = reader->next_input - 1;
    leave_unended(reader);
    if (reader->start != NULL) (void)resume_look(reader->descriptor, &reader->ended);
    if (reader->files != NULL) {
        reader->files[input].end = reader->bytes_in_file;
    } else if (reader->first != NULL) {
        let_go(reader->first, input);
    } else {
        inputs_close(reader->descriptor);
    }
    reader->path = NULL;
    reader->is_unended = reader->filled > reader->position;
    if (reader->is_unended) reader->buffer[reader->filled++] = '\n';
}

/* Whether a file is gzip's or zstd's, by how it begins. */
static bool is_compressed(int descriptor) {
    char first[4];
    if (pread(descriptor, first, sizeof first, 0) != (ssize_t)sizeof first) return false;
    return memcmp(first, "\x1f\x8b\x08", 3) == 0 || memcmp(first, "\x28\xb5\x2f\xfd", 4) == 0;
}

/* Goes to where reading of the file begins. */
static int find_start(struct line_reader *reader) {
    struct stat status;
    size_t input = reader->next_input - 1;
    reader->bytes_in_file = 0;
    reader->is_unended = false;
    reader->is_file = strcmp(reader->path, "-") != 0 && fstat(reader->descriptor, &status) == 0 &&
                      S_ISREG(status.st_mode);
    if (reader->is_file && is_compressed(reader->descriptor)) {
        return message_fail(EXIT_BAD_DATA,
                            "%s is compressed, and has no lines as it is; give them through a "
                            "pipe, as from zcat or zstdcat",
                            reader->path);
    }
    if (reader->first != NULL) reader->bytes_in_file = reader->first->files[input].start;
    if (reader->start != NULL && reader->is_file) {
        resume_track_start(&reader->track);
        int code = reader->start(reader->start_context, input, reader->descriptor, &reader->track,
                                 &reader->bytes_in_file);
        if (code != EXIT_DONE) return code;
    }
    reader->bytes_total += reader->bytes_in_file;
    if (reader->files == NULL) return EXIT_DONE;
    reader->files[input] =
        (struct line_file){.descriptor = reader->descriptor, .start = reader->bytes_in_file};
    reader->kept++;
    return EXIT_DONE;
}

static int open_next(struct line_reader *reader) {
    size_t input = reader->next_input++;
    const char *path = reader->inputs->paths[input];
    int code = EXIT_DONE;
    reader->descriptor = reader->first != NULL ? reader->first->files[input].descriptor : -1;
    if (reader->descriptor < 0) code = inputs_open(path, &reader->descriptor);
    if (code != EXIT_DONE || reader->descriptor < 0) return code;
    reader->path = path;
    reader->lines_in_file = 0;
    code = find_start(reader);
    if (code != EXIT_DONE && !is_kept(reader, input) && reader->first == NULL) {
        inputs_close(reader->descriptor);
        reader->path = NULL;
    }
    return code;
}

int lines_next(struct line_reader *reader, struct line_batch *out) {
    *out = (struct line_batch){.lines = reader->lines};
    while (!must_stop(reader)) {
        size_t count = split(reader);
        if (count > 0) {
            reader->lines_in_file += count;
            reader->lines_total += count;
            out->count = count;
            return EXIT_DONE;
        }
        int code = EXIT_DONE;
        if (reader->path != NULL) {
            bool at_end = false;
            code = read_block(reader, &at_end);
            if (at_end) end_file(reader);
        } else if (reader->next_input < reader->inputs->count) {
            code = open_next(reader);
        } else {
            return EXIT_DONE;
        }
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}
