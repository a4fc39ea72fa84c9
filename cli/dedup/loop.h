/* dedup/loop.h - what the two ways of dedup_all share: quick.c, while memory answers, and all.c. */
#ifndef LETHE_CLI_DEDUP_LOOP_H
#define LETHE_CLI_DEDUP_LOOP_H

#include "dedup/asking.h"
#include "dedup/dedup.h"
#include "dedup/front.h"
#include "say/progress.h"

/* Lines that wait to be asked about. */
struct waiting {
    lethe_hash *hashes;
    uint8_t *present;
    size_t count, capacity;

    /* Reads them a second time. NULL: their text is here, each line with its line end. */
    struct line_reader *again;
    char *text;
    size_t text_size, text_capacity;
};

struct loop {
    struct dedup *dedup;
    struct line_reader *reader;
    struct asking asking;
    struct waiting waiting;
    struct progress progress;

    /* While lines are read by another thread. */
    struct front *front;
    atomic_bool stop;
    /* There can be no other thread. */
    bool has_no_front;

    /* After the last line that was read. */
    struct line_place place;
    bool has_place;
    /* When the last checkpoint was made. */
    double saved_s;
};

/* Lines up to a place were read: notes where the input before it was left, if this is another. */
int loop_reached(struct loop *loop, const struct line_place *place);
/* Adds up what came of lines that were asked about. */
void loop_settle(struct loop *loop, const uint8_t *present, size_t count);
/* Makes a checkpoint of all that was asked about, if one is due or nothing follows. */
int loop_save_if_due(struct loop *loop, bool is_last);

/* Reads, asks and prints in two threads as long as there is room in memory. *more: there may be
 * more to read, because there is no room any more, or no other thread (has_no_front). Returns
 * EXIT_DONE, or another code after saying why. */
int dedup_quick(struct loop *loop, bool *more);

#endif
