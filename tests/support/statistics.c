/* tests/support/statistics.c - see statistics.h. Counts of rare hits are Poisson, nearly normal
 * from some twenty on; below that the square root of the expected count plus a constant covers
 * them. */
#include "support/statistics.h"

#include <math.h>

#define DEVIATIONS 4.5

static double noise(double expected) {
    return DEVIATIONS * sqrt(expected) + DEVIATIONS;
}

bool rate_is_at_most(uint64_t hits, uint64_t trials, double rate) {
    double expected = rate * (double)trials;
    return (double)hits <= expected + noise(expected);
}

bool rate_is_at_least(uint64_t hits, uint64_t trials, double rate) {
    double expected = rate * (double)trials;
    return (double)hits >= expected - noise(expected);
}

bool rate_is_within(uint64_t hits, uint64_t trials, double rate, double tolerance) {
    return rate_is_at_most(hits, trials, rate * (1 + tolerance)) &&
           rate_is_at_least(hits, trials, rate * (1 - tolerance));
}
