/* lines.h - reads inputs line by line, in batches and without copying. input.h says what a line is.
 *
 * Batches are what the hash and the filters want: they take many keys at a time. Two inputs never
 * share a line, nor a batch.
 *
 * Memory   A block, or the longest line if that is longer, twice at most.
 * Threads  A reader belongs to one thread. */
#ifndef LETHE_CLI_INPUT_LINES_H
#define LETHE_CLI_INPUT_LINES_H

#include <stdatomic.h>

#include "input/inputs.h"
#include "input/place.h"
#include "lethe/hash.h"

enum { LINES_PER_BATCH = 1024 };

struct line_batch {
    /* In the order of the input, valid until the next call. Their texts follow each other in
     * memory, each with its line end; a last line that had none has a newline. lines[count].data is
     * the end of all. */
    const lethe_bytes *lines;
    /* 0 at the end of all inputs, or when a signal asked to stop. */
    size_t count;
};

/* How many bytes the lines have with their line ends. count is that of the batch or less. */
static inline size_t line_text_size(const lethe_bytes *lines, size_t count) {
    return (size_t)((const char *)lines[count].data - (const char *)lines[0].data);
}

struct line_reader;

/* Makes a reader of inputs, which must outlive it. The caller frees it.
 * Returns EXIT_DONE or EXIT_ENVIRONMENT. */
int lines_open(const struct inputs *inputs, struct line_reader **out);
void lines_free(struct line_reader *reader); /* takes NULL */

/* Reads the next lines, as many as are there, at least one. The first call also verifies compressed
 * files (verify.h). Returns EXIT_DONE; or, after saying
 * why, EXIT_ENVIRONMENT (reading failed) or EXIT_BAD_DATA (damaged compression, UTF-16, a line
 * longer than 1 GiB). */
int lines_next(struct line_reader *reader, struct line_batch *out);

/* Reads whole lines without looking at them: *out is their text, each with its line end, as many as
 * are there, at least one; empty at the end of all inputs, or when a signal asked to stop. Valid
 * until the next call. A reader gives either batches or texts. Of texts, lines_delivered counts
 * nothing. Returns as lines_next does. */
int lines_next_text(struct line_reader *reader, lethe_bytes *out);

/* Whether the next call would have to wait for input: a good time to show what is done. */
bool lines_would_wait(const struct line_reader *reader);

/* Called when a named regular file is opened and its head is read. Goes to where reading begins:
 * the start, or the first byte of a line. Returns EXIT_DONE, or another code after saying why the
 * file is not to be read. */
typedef int line_start(void *context, size_t input, struct stream *stream);

/* Called for a last line that has no newline. */
typedef void line_pending(void *context, size_t input, uint64_t bytes);

/* These are called before the first lines_next. */

/* Begins each file where `start` says, and tracks what is read, so that it can be marked. */
void lines_resume(struct line_reader *reader, line_start *start, void *context);
/* Does not deliver a last line without a newline in a regular file that may grow, but calls
 * `pending`. */
void lines_leave_unended(struct line_reader *reader, line_pending *pending, void *context);
/* Reads what `first` reads from where it began to keep its files, from the very files and no
 * further than first, whatever was done to them and their names since. first outlives this
 * reader. */
void lines_follow(struct line_reader *reader, struct line_reader *first);
/* Ends when *stop is true, as for a signal, also while it waits for input. Another thread may set
 * it. */
void lines_stop_on(struct line_reader *reader, const atomic_bool *stop);
/* Goes on although a signal asked to stop: for lines that must be read to finish what is begun. */
void lines_ignore_signals(struct line_reader *reader);

/* Keeps files open when they are read, for a reader that follows, from here on: called before the
 * first lines_next or between two. All inputs are named regular files. Returns EXIT_DONE, or
 * EXIT_ENVIRONMENT after saying why. */
int lines_keep(struct line_reader *reader);
/* From here on no more; the reader that followed is freed before. */
void lines_keep_no_more(struct line_reader *reader);
/* How many files are kept that were read and that no reader has followed into. */
size_t lines_kept(const struct line_reader *reader);

/* From now on at most so many lines per call; 0: as many as there are. */
void lines_limit(struct line_reader *reader, size_t most);

/* After the lines of the last batch. */
struct line_place {
    /* Which of the inputs. */
    size_t input;
    /* It can be resumed there: */
    bool has_mark;
    /* Before the last line, if that had no newline: it may grow. */
    struct resume_mark mark;
};

void lines_place(struct line_reader *reader, struct line_place *out);

/* How many lines were delivered, and how many bytes of the files were read, so far. */
uint64_t lines_delivered(const struct line_reader *reader);
uint64_t lines_bytes(const struct line_reader *reader);

/* Called with each batch of lines_each. */
typedef int line_visit(void *context, struct line_reader *reader, const struct line_batch *batch);

/* Reads all lines, and shows progress if `shows`. Returns the first code of `visit` that is not
 * EXIT_DONE, or of lines_next; EXIT_DONE also when a signal asked to stop. */
int lines_each(const struct inputs *inputs, bool shows, line_visit *visit, void *context);

#endif
