/* sketch/scale.h - the values of logarithmic counters.
 *
 * A counter at level c has the value V(c) = (x^c - 1) / (x - 1): 0, 1, 1 + x, 1 + x + x^2 ...
 * Adding a weight v at level c leads to the highest level whose value is at most V(c) + v, or to
 * the level above it, with the probability that makes the expected value exact. For v = 1 that is
 * the paper's rule: one step up with probability x^-c.
 *
 * x^c is the product of one entry from each of two tables of 256. The tables are made by
 * multiplication alone, so every machine computes the same bits. */
#ifndef LETHE_SKETCH_SCALE_H
#define LETHE_SKETCH_SCALE_H

#include <stdint.h>

struct lethe_scale {
    /* x^i and x^(256 i). */
    double low[256], high[256];
    /* x. */
    double base;
};

/* 8 bits: x = 1.08, up to 4e9. 16 bits: x = 1.00025, up to 5e10. The bases are those of the
 * paper. */
void lethe_scale_init(struct lethe_scale *scale, uint32_t counter_bits);

/* One standard deviation of a counter with a large value, relative to that value. */
double lethe_scale_relative_error(const struct lethe_scale *scale);

static inline double lethe_scale_power(const struct lethe_scale *scale, uint64_t level) {
    return scale->high[level >> 8 & 255] * scale->low[level & 255];
}

static inline double lethe_scale_value(const struct lethe_scale *scale, uint64_t level) {
    return (lethe_scale_power(scale, level) - 1) / (scale->base - 1);
}

/* The value of a level, rounded. */
static inline uint64_t lethe_scale_count(const struct lethe_scale *scale, uint64_t level) {
    return (uint64_t)(lethe_scale_value(scale, level) + 0.5);
}

/* Draws the next random number, 0 <= number < 1. */
static inline double lethe_scale_chance(uint64_t *state) {
    uint64_t bits = *state += UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((bits ^ bits >> 31) >> 11) * 0x1p-53;
}

/* The level after adding weight at a level, at most max. chance is a random number that was
 * drawn. */
uint64_t lethe_scale_raise(const struct lethe_scale *scale, uint64_t level, double weight,
                           double chance, uint64_t max);

/* The level after subtracting weight at a level, at least 0: unless it is 0, its value is lower by
 * weight on average. */
uint64_t lethe_scale_lower(const struct lethe_scale *scale, uint64_t level, double weight,
                           double chance);

#endif
