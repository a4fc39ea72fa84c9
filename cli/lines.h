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
#include "resume_track.h"

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

/* Asked whenever a named regular file is opened: at which byte to begin in it, 0 or the first of a line. The track is at its
 * start, and must be brought there too. Returns EXIT_DONE, or another code after saying why not to read it. */
typedef int line_start(void *context, size_t input, int descriptor, struct resume_track *track,
                       uint64_t *offset);

/* Told of a last line that has no newline, whose number it gets. */
typedef void line_pending(void *context, size_t input, uint64_t line, uint64_t bytes);

/* Before the first call of lines_next: begins where `start` says, and follows what is read, so that it can be marked. */
void lines_resume(struct line_reader *reader, line_start *start, void *context);
/* The same: a last line without a newline in a regular file, which may still grow, is not delivered; `pending` is told instead. */
void lines_leave_unended(struct line_reader *reader, line_pending *pending, void *context);
/* The same: keeps files open when they are read, for one who follows. */
void lines_keep(struct line_reader *reader);
/* The same: reads what `first` has read, from the very files and no further, whatever was done to them and their names since. first
 * keeps its files, all named and regular, and outlives this one. */
void lines_follow(struct line_reader *reader, struct line_reader *first);
/* How many files are kept that are read and were not followed to their end. */
size_t lines_kept(const struct line_reader *reader);

/* From now on at most so many lines a call; 0: as many as there are. */
void lines_limit(struct line_reader *reader, size_t most);

/* Goes on although a signal asked to stop: for lines that must be read to finish what is begun. */
void lines_ignore_signals(struct line_reader *reader);

/* Behind the lines of the last batch, which are all of one file. */
struct line_place {
    size_t input;            /* which of the inputs */
    bool has_mark;           /* it can be resumed there: */
    struct resume_mark mark; /* that of the last line if it had no newline: it may grow */
};
void lines_place(const struct line_reader *reader, struct line_place *out);

/* How many lines were delivered, and how many bytes read, so far. */
uint64_t lines_delivered(const struct line_reader *reader);
uint64_t lines_bytes(const struct line_reader *reader);

#endif
