/* batch.h - a batch of events, and the memory that it is gathered in.
 *
 * A batch has its own copy of its lines. Ids and keys point into that copy, or after it where they
 * were unescaped. The memory is taken once and used again and again. */
#ifndef LETHE_CLI_EVENTS_BATCH_H
#define LETHE_CLI_EVENTS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "events/problem.h"
#include "events/time.h"
#include "input/resume.h"
#include "lethe/store.h"

enum {
    EVENTS_PER_BATCH = 4096,
    /* A longer line is unreadable. */
    EVENT_LINE_LIMIT_BYTES = 1 << 20,
    /* Of a batch's lines, and of what is unescaped from them. */
    EVENT_TEXT_BYTES = 4 << 20,
    /* By one reader; further bad lines are only counted. */
    EVENT_COMPLAINTS_SHOWN = 10
};

/* A line that is unreadable. */
struct event_complaint {
    uint64_t line;
    struct event_problem problem;
};

struct event_batch {
    /* Which of the inputs it is from, and the path of that; a batch never spans two. */
    size_t input;
    const char *path;

    const lethe_operation *operations;
    /* Of each operation: the line as it was written, without its line end. */
    const lethe_bytes *lines;
    /* Of each operation, from 1. */
    const uint64_t *line_numbers;
    size_t count;

    /* Lines that are not operations, and what is wrong with the first of them. */
    size_t unreadable;
    const struct event_complaint *complaints;
    size_t complaint_count;

    /* Of the byte after the last line, in the decompressed input. */
    uint64_t offset;
    /* The number of the last line. */
    uint64_t line;
    /* Read so far from the file as it is on disk. */
    uint64_t bytes;

    /* The unit of a time that was chosen by its size, and the operation that has it; UNIT_BY_SIZE
     * if there is none. */
    enum event_time_unit guessed_unit;
    size_t guessed_at;

    /* It is the first batch of its file; it may have no lines. */
    bool starts_input;
    /* Where reading of the file began. */
    uint64_t resumed_at;
    /* What the user should know about the file; often empty. */
    char warning[320];
    /* Some events of the file were counted before, whatever its mark says now. */
    bool was_taken;

    /* How far the file is read now can be remembered. The caller sets RESUME_UNTAKEN. */
    bool has_mark;
    char mark_name[RESUME_NAME_BYTES];
    struct resume_mark mark;

    /* At the end of the file: the size and number of a last line that may not be complete yet. */
    uint64_t pending_bytes, pending_line;
    /* It is several lines: a quoted field that does not end. */
    bool is_pending_open;

    /* For those who fill the batch. */
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

/* Empties the batch, for lines of the input at path. */
void event_batch_clear(struct event_batch *batch, size_t input, const char *path);

/* Whether there is room for a line of so many bytes and for all that is made of it: as much again,
 * and an id that is joined. An empty batch
 * has room for every line that is not over the limit. */
bool event_batch_has_room(const struct event_batch *batch, size_t size);

/* Takes room for a line, or for what was unescaped from it, after has_room has promised it. Each
 * byte of a line is unescaped at most once: roles that share a field share the result. */
char *event_batch_take(struct event_batch *batch, size_t size);

#endif
