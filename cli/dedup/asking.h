/* dedup/asking.h - which lines are new: asks the lines that are kept in memory (resident.h) where
 * there are some, and the cascade.
 *
 * Guarantee  A line that was asked about is not new again. With `remembers`, the cascade has each
 *            line that was answered once asking_settle returns, so that a checkpoint covers it.
 *            While nobody adds in another thread, it has them when asking_ask returns.
 * Threads    One; and another that adds, from asking_begin_adding to asking_end_adding. */
#ifndef LETHE_CLI_DEDUP_ASKING_H
#define LETHE_CLI_DEDUP_ASKING_H

#include "dedup/adding.h"
#include "dedup/resident.h"
#include "lethe/cascade.h"

/* Why nothing is kept in memory, or that it is. */
enum asking_state {
    ASKING_NOT_YET, /* reading all that the cascade has would cost more than it saves so far */
    ASKING_KEPT,
    ASKING_NEVER /* there is no room, or none any more */
};

struct asking {
    lethe_cascade *cascade;
    bool remembers;
    enum asking_state state;
    struct resident *resident;

    /* For what is kept, and the error to keep there; 0: nothing is. */
    uint64_t resident_bytes;
    double resident_error;
    /* How many lines are expected; 0: as many as there is room for. */
    uint64_t expected;
    /* With `remembers`: bits of fingerprints in the cascade, how many of them are in memory, and
     * how many may be. */
    uint32_t bits;
    uint64_t kept, most;
    /* Puts what is new into the cascade; NULL: asking_ask does. */
    struct adding *adding;

    /* What the cascade is asked, and what it answers. */
    lethe_hash *asked;
    uint8_t *answers;
    size_t capacity;
};

/* Whether to keep lines in memory from now on: `lines` were asked about in this run. */
bool asking_should_keep(const struct asking *asking, uint64_t lines);
/* Does so, if there is room. */
void asking_keep(struct asking *asking);
/* Whether lines are kept, and more of them can be. */
bool asking_is_quick(const struct asking *asking);

/* From here on another thread puts new lines into the cascade, while memory answers and if there
 * can be one. It takes ADDING_BATCHES times the hashes of the largest batch. */
void asking_begin_adding(struct asking *asking);
/* Waits until the cascade has all lines that were answered. Errors: as
 * lethe_cascade_add_batch; then the cascade lacks some of them. */
lethe_status asking_settle(struct asking *asking);
/* The same, and ends that thread. */
lethe_status asking_end_adding(struct asking *asking);

void asking_drop(struct asking *asking); /* takes one that was never used */

/* present[i] becomes whether the line of hashes[i] came before. *done: how many lines, from the
 * first, have their answer. Errors: as lethe_cascade_add_and_test_batch, also of lines of earlier
 * calls that another thread was to add. */
lethe_status asking_ask(struct asking *asking, const lethe_hash *hashes, size_t count,
                        uint8_t *present, size_t *done);

/* The probability that a new line is taken for one that came before, now. */
double asking_error(const struct asking *asking);

struct asking_facts {
    double error; /* as asking_error */
    uint64_t entries, memory_bytes, disk_bytes;
};
/* While nobody adds in another thread. */
struct asking_facts asking_facts_of(const struct asking *asking);

#endif
