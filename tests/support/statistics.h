/* tests/support/statistics.h - is this rate what was promised?
 *
 * A test draws enough samples with a fixed seed that the verdicts below do not depend on luck: they
 * allow 4.5 standard deviations, three in a million, and a miss of a few per cent is many. */
#ifndef LETHE_TESTS_SUPPORT_STATISTICS_H
#define LETHE_TESTS_SUPPORT_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether hits of trials can come from a probability of at most (at least, about) rate. */
bool rate_is_at_most(uint64_t hits, uint64_t trials, double rate);
bool rate_is_at_least(uint64_t hits, uint64_t trials, double rate);

/* Whether the true probability behind hits of trials can lie within tolerance (0.15: 15%) of
 * rate. */
bool rate_is_within(uint64_t hits, uint64_t trials, double rate, double tolerance);

#endif
