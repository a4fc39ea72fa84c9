/* lines.h - reads files line by line, in batches and without copying.
 *
 * A line is the bytes before a newline; every other byte, also NUL and carriage return, belongs to
 * it. A last line needs no newline, and two files never share a line. Batches are what the hash
 * and the filters want: they take many keys at a time.
 *
 * Memory   A block, or the longest line if that is longer, twice at most.
 * Threads  A reader belongs to one thread. */
#ifndef LETHE_CLI_LINES_H
#define LETHE_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inputs.h"
#include "lethe/hash.h"

enum { LINES_PER_BATCH = 1024 };

struct line_batch {
    /* In the order of the input, one behind the other in memory, each with a newline after its
     * last byte: also one that had none. Valid until the next call. */
    const lethe_bytes *lines;
    size_t count; /* 0 at the end of all inputs, or when a signal asked to stop */
};

struct line_reader;

/* Makes a reader of inputs, which must outlive it. The caller frees it.
 * Returns EXIT_DONE or EXIT_ENVIRONMENT. */
int lines_open(const struct inputs *inputs, struct line_reader **out);
void lines_free(struct line_reader *reader); /* takes NULL */

/* Reads the next lines, as many as are there, at least one. Returns EXIT_DONE; or, after saying
 * so, EXIT_ENVIRONMENT (reading failed) or EXIT_BAD_DATA (a line is longer than 1 GiB). */
int lines_next(struct line_reader *reader, struct line_batch *out);

/* Whether the next call would have to wait for input: a good time to show what is done. */
bool lines_would_wait(const struct line_reader *reader);

/* Asked whenever a file is opened: at which byte to begin in it, 0 or the first of a line. */
typedef uint64_t line_start(void *context, size_t input, int descriptor);

/* Before the first call of lines_next. */
void lines_start_at(struct line_reader *reader, line_start *start, void *context);

/* Goes on although a signal asked to stop: for lines that must be read to finish what is begun. */
void lines_ignore_signals(struct line_reader *reader);

/* Behind the lines of the last batch, which are all of one file. */
struct line_place {
    size_t input; /* which of the inputs */
    uint64_t
        offset; /* of the next line; that of the last line if that had no newline: it may grow */
};
struct line_place lines_place(const struct line_reader *reader);

/* How many lines were delivered, and how many bytes read, so far. */
uint64_t lines_delivered(const struct line_reader *reader);
uint64_t lines_bytes(const struct line_reader *reader);

#endif
