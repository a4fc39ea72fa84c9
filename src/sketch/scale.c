/* sketch/scale.c - the levels of logarithmic counters: scale.h says what they mean.
 *
 * PAPER  G. Pitel, G. Fouquier, Count-Min-Log sketch: approximately counting with approximate
 *        counters, 2015; after R. Morris, Counting large numbers of events in small registers,
 *        1978. */
#include "sketch/scale.h"

#include <math.h>

enum { ENTRIES = 256 };

void lethe_scale_init(struct lethe_scale *scale, uint32_t counter_bits) {
    scale->base = counter_bits == 8 ? 1.08 : 1.00025;
    double power = 1;
    for (int i = 0; i < ENTRIES; i++) {
        scale->low[i] = power;
        power *= scale->base;
    }
    double step = power; /* x^256 */
    power = 1;
    for (int i = 0; i < ENTRIES; i++) {
        scale->high[i] = power;
        power *= step;
    }
}

double lethe_scale_relative_error(const struct lethe_scale *scale) {
    return sqrt((scale->base - 1) / 2);
}

/* The highest level, from level to max, whose value is at most wanted. */
static uint64_t level_of(const struct lethe_scale *scale, uint64_t level, double wanted,
                         uint64_t max) {
    /* It is rarely far: steps that double lead to a short range. */
    uint64_t low = level, step = 1;
    while (step <= max - low && lethe_scale_value(scale, low + step) <= wanted) {
        low += step;
        step *= 2;
    }
    uint64_t high = step <= max - low ? low + step - 1 : max;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (lethe_scale_value(scale, middle) <= wanted) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* A level, from level to max, whose value is wanted on average. */
static uint64_t round_level(const struct lethe_scale *scale, uint64_t level, double wanted,
                            double chance, uint64_t max) {
    uint64_t below = level_of(scale, level, wanted, max);
    if (below >= max) return max;
    double missing = wanted - lethe_scale_value(scale, below);
    return below + (chance * lethe_scale_power(scale, below) < missing);
}

uint64_t lethe_scale_raise(const struct lethe_scale *scale, uint64_t level, double weight,
                           double chance, uint64_t max) {
    if (level >= max) return max;
    if (weight == 1) return level + (chance * lethe_scale_power(scale, level) < 1);
    return round_level(scale, level, lethe_scale_value(scale, level) + weight, chance, max);
}

uint64_t lethe_scale_lower(const struct lethe_scale *scale, uint64_t level, double weight,
                           double chance) {
    double wanted = lethe_scale_value(scale, level) - weight;
    if (wanted <= 0) return 0;
    if (weight == 1) return level - (chance * lethe_scale_power(scale, level - 1) < 1);
    return round_level(scale, 0, wanted, chance, level);
}
