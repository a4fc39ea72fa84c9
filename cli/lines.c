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
#include <unistd.h>

#include "interrupt.h"
#include "message.h"

static const size_t BLOCK_BYTES = (size_t)256 << 10;
static const size_t LINE_LIMIT = (size_t)1 << 30;

struct line_reader {
    const struct inputs *inputs;
    size_t next_input;
    const char *path; /* being read, or NULL between two files */
    int descriptor;
    bool ignores_signals;
    line_start *start; /* may be NULL */
    void *start_context;
    uint64_t lines_in_file;
    uint64_t bytes_in_file; /* up to the last one read */
    size_t unended;         /* bytes of a last line without a newline; 0: it had one */
    uint64_t lines_total, bytes_total;
    char *buffer;
    size_t capacity, position, searched, filled;
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

void lines_free(struct line_reader *reader) {
    if (reader == NULL) return;
    if (reader->path != NULL) inputs_close(reader->descriptor);
    free(reader->buffer);
    free(reader);
}

void lines_start_at(struct line_reader *reader, line_start *start, void *context) {
    reader->start = start;
    reader->start_context = context;
}

void lines_ignore_signals(struct line_reader *reader) {
    reader->ignores_signals = true;
}

static bool must_stop(const struct line_reader *reader) {
    return !reader->ignores_signals && interrupt_requested();
}

struct line_place lines_place(const struct line_reader *reader) {
    struct line_place place = {.input = reader->next_input - 1};
    if (reader->path != NULL) {
        place.offset = reader->bytes_in_file - (reader->filled - reader->position);
    } else if (reader->position == reader->filled) {
        place.offset = reader->bytes_in_file - reader->unended;
    } else { /* lines before the last one, and that one with a newline that the file has not */
        place.offset =
            reader->bytes_in_file + (reader->unended > 0) - (reader->filled - reader->position);
    }
    return place;
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
        ssize_t got = read(reader->descriptor, reader->buffer + reader->filled, room);
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
    while (count < LINES_PER_BATCH) {
        const char *newline = memchr(search, '\n', (size_t)(end - search));
        if (newline == NULL) {
            search = end;
            break;
        }
        reader->lines[count++] = (lethe_bytes){.data = line, .size = (size_t)(newline - line)};
        line = search = newline + 1;
    }
    reader->position = (size_t)(line - reader->buffer);
    reader->searched = (size_t)(search - reader->buffer);
    return count;
}

/* Closes the file. A line that it left without a newline gets one, and is split off next. */
static void end_file(struct line_reader *reader) {
    inputs_close(reader->descriptor);
    reader->path = NULL;
    reader->unended = reader->filled - reader->position;
    if (reader->unended > 0) reader->buffer[reader->filled++] = '\n';
}

/* Goes to where reading of the file begins. */
static int seek_start(struct line_reader *reader) {
    reader->bytes_in_file = 0;
    if (reader->start == NULL) return EXIT_DONE;
    uint64_t offset =
        reader->start(reader->start_context, reader->next_input - 1, reader->descriptor);
    if (offset == 0) return EXIT_DONE;
    if (lseek(reader->descriptor, (off_t)offset, SEEK_SET) < 0) return inputs_fail(reader->path);
    reader->bytes_in_file = offset;
    reader->bytes_total += offset;
    return EXIT_DONE;
}

static int open_next(struct line_reader *reader) {
    const char *path = reader->inputs->paths[reader->next_input++];
    int code = inputs_open(path, &reader->descriptor);
    if (code != EXIT_DONE || reader->descriptor < 0) return code;
    reader->path = path;
    reader->lines_in_file = 0;
    return seek_start(reader);
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
