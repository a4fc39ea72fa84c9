/* batch.h - a batch of events, and the memory that it is gathered in.
 *
 * Its events are from one input, or, where files are merged by time (merge.h), from several. What
 * it has of one input is a share: how far that is read after the batch, and what there is to
 * report.
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
    /* By one reader, or in one batch of files that are followed; further bad lines are only
     * counted. */
    EVENT_COMPLAINTS_SHOWN = 10,
    /* What follows a quoted field that has not ended in so many bytes is probably held back by a
     * stray quote. */
    EVENT_OPEN_BYTES = 32 << 10,
    /* How many files can be followed at once, and as many again that were rotated away. */
    EVENT_FOLLOWED_LIMIT = 256,
    EVENT_SLOTS = 2 * EVENT_FOLLOWED_LIMIT,
    /* Of one batch; a share's number fits into a byte. */
    EVENT_SHARES_LIMIT = 64
};

/* A line that is unreadable. */
struct event_complaint {
    size_t share;
    uint64_t line;
    struct event_problem problem;
};

/* What a batch has of one input. */
struct event_share {
    /* Which of the inputs, and its path. */
    size_t input;
    const char *path;
    /* Which of the files that are open at once; another file has it once a batch starts one. Of
     * files that are merged: the input. */
    size_t slot;

    /* Of the byte after the last line, in the decompressed input. */
    uint64_t offset;
    /* The number of the last line. */
    uint64_t line;

    /* The header of the file, if it has one and headers are kept (event_options). */
    lethe_bytes header;

    /* It is the first share of its input; it may have no lines. */
    bool starts_input;
    /* Where reading of the file began. */
    uint64_t resumed_at;
    /* Of files that are followed: its file came when all others were read. */
    bool is_later;
    /* What the user should know about the file; often empty. */
    char warning[320];
    /* What happened to the file, in a batch without lines; mostly empty. */
    char note[320];
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
};

struct event_batch {
    /* One at least, and one for an input at most. */
    const struct event_share *shares;
    size_t share_count;

    const lethe_operation *operations;
    /* Of each operation: which share it belongs to. */
    const uint8_t *share_numbers;
    /* Of each operation: the line as it was written, without its line end. */
    const lethe_bytes *lines;
    /* Of each operation, from 1. */
    const uint64_t *line_numbers;
    size_t count;

    /* Lines that are not operations, and what is wrong with the first of them. */
    size_t unreadable;
    const struct event_complaint *complaints;
    size_t complaint_count;

    /* Read so far from all files as they are on disk. */
    uint64_t bytes;
    /* Files whose turn has come, and which wait because too many are open (merge.h); said once. */
    size_t crowd;

    /* The unit of a time that was chosen by its size, and the operation that has it; UNIT_BY_SIZE
     * if there is none. */
    enum event_time_unit guessed_unit;
    size_t guessed_at;

    /* What the next event is to have for an id: one that has none is given this, and one that has
     * another is unreadable. Empty: each has its own. It must outlive the batch. */
    lethe_bytes given_id;

    /* What was made of its operations ahead (events_prepare); NULL: nothing. */
    void *prepared;

    /* For those who fill the batch. */
    struct event_share *share_room;
    lethe_operation *operation_room;
    uint8_t *share_number_room;
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

void event_batch_clear(struct event_batch *batch);

/* Adds an empty share, and returns its number. There must be fewer than EVENT_SHARES_LIMIT. */
size_t event_batch_add_share(struct event_batch *batch, size_t input, const char *path);

static inline const struct event_share *event_share_of(const struct event_batch *batch,
                                                       size_t operation) {
    return &batch->shares[batch->share_numbers[operation]];
}

/* Whether one of its shares has a mark. */
bool event_batch_has_mark(const struct event_batch *batch);

/* What the operations of a batch take of it. Setting it back removes those added since. */
struct event_extent {
    size_t count, change_count, text_used;
    enum event_time_unit guessed_unit;
};
struct event_extent event_batch_extent(const struct event_batch *batch);
void event_batch_cut(struct event_batch *batch, struct event_extent extent);

/* Whether there is room for a line of so many bytes and for all that is made of it: as much again,
 * and an id that is joined. An empty batch
 * has room for every line that is not over the limit. */
bool event_batch_has_room(const struct event_batch *batch, size_t size);

/* Takes room for a line, or for what was unescaped from it, after has_room has promised it. Each
 * byte of a line is unescaped at most once: roles that share a field share the result. */
char *event_batch_take(struct event_batch *batch, size_t size);

#endif
