/* filter/gaussian/bell.h - the bells: how wide, how high at a distance, and as levels of a slot. */
#ifndef LETHE_FILTER_GAUSSIAN_BELL_H
#define LETHE_FILTER_GAUSSIAN_BELL_H

#include "filter/gaussian/word.h"
#include "lethe/gaussian.h"

/* No bell reaches farther: three deviations of the widest published one. */
enum { LETHE_GAUSSIAN_MAX_RADIUS = 3 * LETHE_GAUSSIAN_MAX_HASHES };

/* What decides the bells of a filter. */
struct lethe_gaussian_rule {
    uint32_t hashes;
    uint32_t slot_bits; /* 1..8, 32 or 64 */
    lethe_gaussian_spacing spacing;
    lethe_gaussian_exponential exponential;
    double deviation_cap; /* 0: none */
};

static inline bool lethe_gaussian_is_packed(uint32_t slot_bits) {
    return slot_bits <= LETHE_GAUSSIAN_MAX_SLOT_BITS;
}

/* The level that stands for 1: all ones, or 1 itself. */
static inline double lethe_gaussian_top(uint32_t slot_bits) {
    return lethe_gaussian_is_packed(slot_bits) ? (double)((1U << slot_bits) - 1) : 1;
}

/* What hash function number hash, from 1, writes at a distance: a whole number of steps in packed
 * slots, otherwise 0 to 1; 0 from the end of the bell on. */
double lethe_gaussian_level(const struct lethe_gaussian_rule *rule, uint32_t hash,
                            uint32_t distance);

/* How far the bell of that hash function reaches: the last distance where it is above 0. */
uint32_t lethe_gaussian_radius(const struct lethe_gaussian_rule *rule, uint32_t hash);

/* How far the widest one does. */
uint32_t lethe_gaussian_widest(const struct lethe_gaussian_rule *rule);

#endif
