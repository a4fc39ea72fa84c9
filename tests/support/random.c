/* tests/support/random.c - SplitMix64: any seed will do, and it never repeats in a test. */
#include "support/random.h"

uint64_t test_random_next(struct test_random *random) {
    uint64_t value = random->state += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

uint64_t test_random_below(struct test_random *random, uint64_t range) {
    __extension__ typedef unsigned __int128 uint128;
    return (uint64_t)(((uint128)test_random_next(random) * range) >> 64);
}
