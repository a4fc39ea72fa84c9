/* module/types/filter.h - filters as data types: items are added, tested and, in some, removed.
 *
 * A filter's type has the functions below and takes its commands and its `repeat` from here:
 * PREFIX.ADD, MADD, TEST and MTEST, and with filter_removals REMOVE and MREMOVE. Items are given
 * by their hashes. */
#ifndef LETHE_MODULE_TYPES_FILTER_H
#define LETHE_MODULE_TYPES_FILTER_H

#include "command/command.h"
#include "types/held.h"

struct effect_reader;

/* What a filter can do with items. */
struct filter_operations {
    /* To add an item that is there already is a change too. */
    bool counts_duplicates;
    /* Adds items. answers[i] becomes a lethe_answer: refused where the item was not added, and then
     * the status says why. */
    lethe_status (*add)(struct held *value, const lethe_hash *hashes, size_t count,
                        uint8_t *answers);
    void (*test)(const struct held *value, const lethe_hash *hashes, size_t count,
                 uint8_t *is_there);
    /* was_there[i] becomes 1, and the item is removed once; or 0. NULL: items can't be removed. */
    void (*remove)(struct held *value, const lethe_hash *hashes, size_t count, uint8_t *was_there);
};

/* Rows of options of filters that do not forget. */
#define OPTION_ROW_OF_CAPACITY(type_, field_, meaning_)                           \
    {                                                                             \
        .token = "CAPACITY", .name = "items", .kind = OPTION_LARGE,               \
        .offset = offsetof(type_, field_), .least = 1, .most = UINT64_C(1) << 40, \
        .fallback = "65536", .meaning = meaning_                                  \
    }
#define OPTION_ROW_OF_ERROR(type_, field_, meaning_)                                      \
    {                                                                                     \
        .token = "ERROR", .name = "error", .kind = OPTION_FRACTION,                       \
        .offset = offsetof(type_, field_), .least_fraction = 1e-15, .most_fraction = 0.5, \
        .fallback = "0.01", .meaning = meaning_                                           \
    }

extern const struct command filter_commands[], filter_removals[];

redis_command_function filter_add, filter_madd, filter_test, filter_mtest, filter_remove,
    filter_mremove;

/* The steps A (add) and R (remove) of an effect: a number n, 4 bytes, and n hashes of 16. */
bool filter_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply);

#endif
