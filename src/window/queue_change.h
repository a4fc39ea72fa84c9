/* window/queue_change.h - changes within a block other than adding a youngest entry: what moving,
 * removing and refreshing entries need. A part of window/queue.h. */
#ifndef LETHE_WINDOW_QUEUE_CHANGE_H
#define LETHE_WINDOW_QUEUE_CHANGE_H

#include "window/queue.h"

/* The age of entry number number, in periods. */
LETHE_INLINE unsigned lethe_queue_age(const struct lethe_queue_shape *shape, lethe_queue_ages ages,
                                      unsigned number) {
    return lethe_queue_select(shape, ages, number) - number;
}

LETHE_INLINE void lethe_queue_copy(const struct lethe_queue_shape *shape, unsigned char *block,
                                   unsigned from, unsigned to) {
    lethe_queue_put(shape, block, to, lethe_queue_remainder(shape, block, from));
}

/* Adds an entry of that age to a block that is not full. Younger entries move up to make room. */
LETHE_INLINE void lethe_queue_insert(const struct lethe_queue_shape *shape, unsigned char *block,
                                     uint64_t period, unsigned age, uint64_t remainder) {
    lethe_queue_ages ages = lethe_queue_ages_at(shape, block, period);
    ages &= lethe_queue_below(shape, lethe_queue_end(shape, ages));
    unsigned position = age == 0 ? 0 : lethe_queue_select(shape, ~ages, age - 1) + 1;
    lethe_queue_ages below = ages & lethe_queue_below(shape, position);
    ages = below | (lethe_queue_ages)1 << position | (ages ^ below) << 1;
    unsigned head = lethe_queue_next(shape, lethe_queue_head(shape, block));
    unsigned number = position - age;
    lethe_queue_write(shape, block, ages, head, period);
    for (unsigned i = 0; i < number; i++) {
        lethe_queue_copy(shape, block, lethe_queue_turn(shape, head, i + 1),
                         lethe_queue_turn(shape, head, i));
    }
    lethe_queue_put(shape, block, lethe_queue_turn(shape, head, number), remainder);
}

/* Lets the entries that are younger than number, which is alive in period, close the gap that it
 * leaves: the slot of the head is free then. Returns the ages without it. */
LETHE_INLINE lethe_queue_ages lethe_queue_close_gap(const struct lethe_queue_shape *shape,
                                                    unsigned char *block, uint64_t period,
                                                    unsigned number, unsigned head) {
    lethe_queue_ages ages = lethe_queue_ages_at(shape, block, period);
    ages &= lethe_queue_below(shape, lethe_queue_end(shape, ages));
    unsigned position = lethe_queue_select(shape, ages, number);
    lethe_queue_ages below = ages & lethe_queue_below(shape, position);
    for (unsigned i = number; i > 0; i--) {
        lethe_queue_copy(shape, block, lethe_queue_turn(shape, head, i - 1),
                         lethe_queue_turn(shape, head, i));
    }
    /* Its one is dropped, and the bits above move down. */
    return below | (ages >> 1 & ~lethe_queue_below(shape, position));
}

/* Removes entry number number, which is alive in period. */
LETHE_INLINE void lethe_queue_remove(const struct lethe_queue_shape *shape, unsigned char *block,
                                     uint64_t period, unsigned number) {
    unsigned head = lethe_queue_head(shape, block);
    lethe_queue_ages ages = lethe_queue_close_gap(shape, block, period, number, head);
    lethe_queue_write(shape, block, ages, lethe_queue_turn(shape, head, 1), period);
}

/* Removes entry number number, which is alive in period, and adds a youngest one, at once. */
LETHE_INLINE void lethe_queue_replace(const struct lethe_queue_shape *shape, unsigned char *block,
                                      uint64_t period, unsigned number, uint64_t remainder) {
    unsigned head = lethe_queue_head(shape, block);
    lethe_queue_ages ages = lethe_queue_close_gap(shape, block, period, number, head);
    lethe_queue_write(shape, block, ages << 1 | 1, head, period);
    lethe_queue_put(shape, block, head, remainder);
}

/* Drops expired entries and stamps the block with the period. */
LETHE_INLINE void lethe_queue_refresh(const struct lethe_queue_shape *shape, unsigned char *block,
                                      uint64_t period) {
    if (lethe_queue_stamp(shape, block) == (uint8_t)period) return;
    lethe_queue_ages ages = lethe_queue_ages_at(shape, block, period);
    ages &= lethe_queue_below(shape, lethe_queue_end(shape, ages));
    lethe_queue_write(shape, block, ages, lethe_queue_head(shape, block), period);
}

#endif
