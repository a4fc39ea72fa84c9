/* paper/published_cascade.h - the cascade filter as its paper prints it, to be compared with ours.
 *
 * QF0 is in memory. QF1, QF2, ... are in files; QF1 is as large as QF0, and each other is twice the
 * one before it. Each is empty or full. When QF0 is full, the smallest empty QFi is found, and QF0
 * to QFi-1 are merged into it, while insertion waits. A fingerprint has the same bits everywhere:
 * a level that is twice as large takes one for its quotient and stores one less. A lookup asks
 * every level that is not empty.
 *
 * A removal takes a key out of QF0, or adds a tombstone, which cancels one entry when they meet in
 * a merge. */
#ifndef LETHE_CLI_PAPER_PUBLISHED_CASCADE_H
#define LETHE_CLI_PAPER_PUBLISHED_CASCADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

struct published_cascade_options {
    const char *folder;        /* exists; files are made and removed in it */
    unsigned quotient_bits;    /* of QF0 */
    unsigned fingerprint_bits; /* quotient and remainder, of all levels */
    uint64_t memory_entries;   /* that QF0 takes before it is full */
    bool has_tombstones;       /* a fourth bit a slot; without it nothing can be removed */
};

struct published_cascade;

/* Each function that can fail returns false, or NULL, with errno. After a failure only free may
 * follow. */
struct published_cascade *published_cascade_new(const struct published_cascade_options *options);
/* Removes the files too. Takes NULL. */
void published_cascade_free(struct published_cascade *cascade);

/* Fetches the memory that an insertion soon after will look at first. */
void published_cascade_prefetch(const struct published_cascade *cascade, lethe_hash hash);
bool published_cascade_insert(struct published_cascade *cascade, lethe_hash hash);
/* The key must be there. */
bool published_cascade_remove(struct published_cascade *cascade, lethe_hash hash);
/* *reads grows by the pages that were read. */
bool published_cascade_test(struct published_cascade *cascade, lethe_hash hash, bool *is_present,
                            uint64_t *reads);

/* Reads one page of the largest level, for comparison: any number chooses one. False, with errno 0,
 * when no level is on disk. */
bool published_cascade_read(struct published_cascade *cascade, uint64_t random);

/* Levels on disk that are not empty. */
unsigned published_cascade_levels(const struct published_cascade *cascade);
size_t published_cascade_bytes(const struct published_cascade *cascade); /* of QF0 */
/* What the next insertion would find: whether QF0 is full. */
bool published_cascade_is_full(const struct published_cascade *cascade);

#endif
