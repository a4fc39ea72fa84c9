/* place.h - finds where an earlier run stopped reading an input, and goes there. See input.h for
 * the stack.
 *
 * The caller opens a stream that tracks, reads its head, looks for the mark, decides whether the
 * mark is to be used, and then either goes to it or restarts the stream. */
#ifndef LETHE_CLI_INPUT_PLACE_H
#define LETHE_CLI_INPUT_PLACE_H

#include "input/resume.h"
#include "input/stream.h"

struct place {
    /* The mark that belongs to the input; NULL if none does. */
    const struct resume_entry *entry;
    /* How far an input was read that begins like this one; 0 if there is none. Without an entry,
     * this input was cut short or replaced. */
    uint64_t furthest;
};

/* Looks for the mark of a stream whose head is read. Marks before `least` are left out. Returns
 * SOURCE_MORE, after which the stream may be anywhere; or why the work has ended. Cost: that of
 * resume_search_file; a compressed file that begins like one that was read is decompressed up to
 * the furthest of these marks. */
enum source_result place_find(struct stream *stream, const struct resume_table *table,
                              uint64_t least, struct place *out, struct input_failure *failure);

/* What identifies the file of a stream; 0 if it is not a file. */
uint64_t place_identity(const struct stream *stream);

/* Goes to a mark that was found. SOURCE_END when the file cannot be read up to there. */
enum source_result place_go(struct stream *stream, const struct resume_mark *mark,
                            struct input_failure *failure);

/* Describes the position, with the file that it is in. */
struct resume_mark place_mark(struct stream *stream, uint64_t line);

#endif
