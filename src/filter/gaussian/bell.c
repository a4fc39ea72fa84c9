/* filter/gaussian/bell.c - from the number of a hash function to the levels of its bell.
 *
 * A bell is exp(-d^2 / 2s^2) at distance d, for a deviation of s slots; beyond 3s it is nothing.
 *
 * LEVELS   A packed slot of t bits counts in steps of 1/(2^t - 1), and a value is rounded down to a
 *          step. So only the middle, which is 1, becomes all ones: the value that Definition 3
 *          looks for.
 *
 * SPACING  What a bell is for: where hash function j filled a slot, a key that asks there by hash
 *          function i > j shall find the neighbours too low. For that the bells must differ, and it
 *          is enough that each lies above the one before it. Every slot that a bell raises beyond
 *          that hides what others have to say. The paper's deviations 1, 2, ..., k are good in
 *          slots of many bits; in few, wide bells are all alike around the middle (14 of 15 steps
 *          at k = 5 out to a distance of one and more) and raise ten slots and more to either side.
 *          Ours go evenly from 0.3, a bare slot, since below the first there is nothing to
 *          distinguish it from, to 2, or 1.4 in slots of two bits, where wider ones round to the
 *          same. The ends are those that left the fewest false positives for k = 2 to 10 at half
 *          and at full load, and the optimum is flat. `lethe paper gbf-spacing` repeats the
 *          measurement.
 *
 * FAST     Schraudolph writes an integer linear in the exponent into the upper half of a double,
 *          which makes a power of two of its whole part, and interpolates linearly between them. */
#include "filter/gaussian/bell.h"

#include <math.h>

#define FIRST_DEVIATION 0.3
#define LAST_DEVIATION 2.0
#define LAST_DEVIATION_OF_TWO_BITS 1.4

static double deviation(const struct lethe_gaussian_rule *rule, uint32_t hash) {
    double result = hash;
    if (rule->spacing == LETHE_GAUSSIAN_SPACING_EVEN) {
        double last = rule->slot_bits == 2 ? LAST_DEVIATION_OF_TWO_BITS : LAST_DEVIATION;
        double share = rule->hashes > 1 ? (double)(hash - 1) / (rule->hashes - 1) : 0;
        result = FIRST_DEVIATION + share * (last - FIRST_DEVIATION);
    }
    return rule->deviation_cap > 0 ? fmin(result, rule->deviation_cap) : result;
}

/* exp(exponent) for exponents from -5 to 0. The constants are 2^20 / ln 2, and 1023 * 2^20 less
 * what makes the mean square error smallest. */
static double fast_exponential(double exponent) {
    int64_t upper = (int64_t)(1512775.3951951856 * exponent) + (1072693248 - 60801);
    uint64_t word = (uint64_t)upper << 32;
    double result;
    memcpy(&result, &word, sizeof result);
    return result;
}

double lethe_gaussian_level(const struct lethe_gaussian_rule *rule, uint32_t hash,
                            uint32_t distance) {
    double top = lethe_gaussian_top(rule->slot_bits);
    if (distance == 0) return top;
    double width = deviation(rule, hash);
    /* A deviation of 2 reaches 6 slots, also when the multiplication makes it a little less. */
    if (rule->slot_bits == 1 || distance > floor(3 * width + 1e-9)) return 0;
    double exponent = -((double)distance * distance) / (2 * width * width);
    double value = rule->exponential == LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH
                       ? fast_exponential(exponent)
                       : exp(exponent);
    if (!lethe_gaussian_is_packed(rule->slot_bits)) {
        /* Nothing but the middle is 1, also when a float rounds. */
        if (rule->slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) value = (float)value;
        return fmin(value, 1 - 0x1p-24);
    }
    return fmin(floor(value * top), top - 1);
}

uint32_t lethe_gaussian_radius(const struct lethe_gaussian_rule *rule, uint32_t hash) {
    uint32_t radius = 0;
    while (radius < LETHE_GAUSSIAN_MAX_RADIUS && lethe_gaussian_level(rule, hash, radius + 1) > 0)
        radius++;
    return radius;
}

uint32_t lethe_gaussian_widest(const struct lethe_gaussian_rule *rule) {
    uint32_t widest = 0;
    for (uint32_t hash = 1; hash <= rule->hashes; hash++) {
        uint32_t radius = lethe_gaussian_radius(rule, hash);
        if (radius > widest) widest = radius;
    }
    return widest;
}
