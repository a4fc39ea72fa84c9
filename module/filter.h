/* module/filter.h - filters as data types: items are added, tested and, where that exists, removed.
 *
 * A filter's type has the functions below and takes its commands and its `repeat` from here: PREFIX.ADD, MADD, TEST,
 * MTEST, and with filter_removals REMOVE and MREMOVE. module/fbf.c and module/qf.c are the patterns. */
#ifndef LETHE_MODULE_FILTER_H
#define LETHE_MODULE_FILTER_H

#include "frame.h"

/* The head of every filter's value. */
struct filter {
    struct value head;
    uint64_t seed; /* by which items are hashed */
};

/* What a filter can do with items, given by their hashes; a value is what the type makes. */
struct filter_operations {
    bool counts_copies; /* to add what is there already is a change too */
    /* Adds all, or the first few (*done) and then the status says why; was_there[i] becomes 1 or 0. */
    lethe_status (*add)(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there,
                        size_t *done);
    void (*test)(const void *value, const lethe_hash *hashes, size_t count, uint8_t *is_there);
    /* was_there[i] becomes 1, and the item is taken out once; or 0. NULL: items can't be removed. */
    void (*remove)(void *value, const lethe_hash *hashes, size_t count, uint8_t *was_there);
};

extern const struct command filter_commands[], filter_removals[];

/* The steps A (add) and R (remove) of an effect: a number n, 4 bytes, and n hashes of 16. */
bool filter_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply);

#endif
