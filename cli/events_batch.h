/* events_batch.h - a batch of events, and the memory that it is gathered in.
 *
 * A batch owns a copy of its lines; ids and keys point into that copy, or, where they were escaped,
 * behind it. Its memory is taken once and used again and again. */
#ifndef LETHE_CLI_EVENTS_BATCH_H
#define LETHE_CLI_EVENTS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events_problem.h"
#include "lethe/counter.h"
#include "resume.h"

enum {
    EVENTS_PER_BATCH = 4096,
    EVENT_LINE_LIMIT_BYTES = 1 << 20, /* a longer line is rejected */
    EVENT_TEXT_BYTES = 4 << 20,       /* of a batch's lines and what is unescaped from them */
    EVENT_COMPLAINTS_SHOWN = 10       /* of one reader; further bad lines are only counted */
};

/* A line that was rejected. */
struct event_complaint {
    uint64_t line;
    struct event_problem problem;
};

struct event_batch {
    size_t input;     /* the place of its file among the inputs; a batch never spans two */
    const char *path; /* of that file */
    const lethe_operation *operations;
    const lethe_bytes *lines;     /* of each operation, as it was written, without its newline */
    const uint64_t *line_numbers; /* of each operation, from 1 */
    size_t count;
    size_t rejected;                          /* lines that are no operations */
    const struct event_complaint *complaints; /* what is wrong with the first of them */
    size_t complaint_count;
    uint64_t offset; /* of the byte behind the last line, in the decompressed stream */
    uint64_t line;   /* the number of the last line */
    uint64_t bytes;  /* read so far from the file as it lies on disk */

    bool starts_input;   /* the first of its file; it may have no lines */
    uint64_t resumed_at; /* where reading of that file began */
    char warning[320];   /* something the user should know about that file; often empty */
    bool was_taken; /* some events of that file were counted before, whatever its mark says now */
    bool has_mark;  /* how far the file is read now can be remembered: */
    char mark_name[RESUME_NAME_BYTES];
    struct resume_mark mark; /* the caller sets RESUME_UNTAKEN */
    uint64_t pending_bytes;  /* at the end of the file, of a last line that may not be whole yet */
    uint64_t pending_line;   /* its number */
    bool is_pending_open;    /* it has several lines: a quoted field that does not end */

    /* For those who fill it. */
    lethe_operation *operation_room;
    lethe_bytes *line_room;
    uint64_t *number_room;
    struct event_complaint *complaint_room;
    lethe_change *changes;
    size_t change_count;
    char *text;
    size_t text_used;
};

/* Takes the memory. Returns false when there is not enough; then nothing is taken. */
bool event_batch_init(struct event_batch *batch);
void event_batch_free(struct event_batch *batch); /* also one that is all zero */

/* Empties it, for the file at path. */
void event_batch_clear(struct event_batch *batch, size_t input, const char *path);

/* Whether a line of size bytes, and all that is made of it, finds room; in an empty batch every line that is not
 * over the limit does. */
bool event_batch_has_room(const struct event_batch *batch, size_t size);

/* Room for size bytes, for a line or for what was escaped in it: has_room has promised it. Each byte of a line is
 * written anew once at the most, so what several roles share is shared. */
char *event_batch_take(struct event_batch *batch, size_t size);

#endif
