/* tests/support/random.h - a small random generator; a test prints the seed it used. */
#ifndef LETHE_TESTS_SUPPORT_RANDOM_H
#define LETHE_TESTS_SUPPORT_RANDOM_H

#include <stdint.h>

struct test_random {
    uint64_t state;
};

/* 64 random bits. */
uint64_t test_random_next(struct test_random *random);

/* 0..range-1; range is at least 1. */
uint64_t test_random_below(struct test_random *random, uint64_t range);

#endif
