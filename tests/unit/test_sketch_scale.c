/* Goal: logarithmic counters go to the levels that scale.h names.
 * Method: from random levels, random weights are added and subtracted, of all sizes and up to what
 *         a counter can hold and beyond. Going through all levels one by one says which is the
 *         highest whose value is at most what is wanted. */
#include "support/test.h"

#include "sketch/scale.h"
#include "support/random.h"

enum { ROUNDS = 3000 };

/* The level that is wanted, or the one above it, from `least` to `most`. */
static uint64_t expected(const struct lethe_scale *scale, uint64_t least, uint64_t most,
                         double wanted, double chance) {
    uint64_t level = least;
    while (level < most && lethe_scale_value(scale, level + 1) <= wanted)
        level++;
    if (level == most) return most;
    double missing = wanted - lethe_scale_value(scale, level);
    return level + (chance * lethe_scale_power(scale, level) < missing);
}

static void check(uint32_t bits, uint64_t seed) {
    struct test_random random = {.state = seed};
    struct lethe_scale scale;
    lethe_scale_init(&scale, bits);
    uint64_t max = (UINT64_C(1) << bits) - 1;
    for (int round = 0; round < ROUNDS; round++) {
        /* Levels and weights of all magnitudes. */
        uint64_t level = test_random_below(&random, 1 + test_random_below(&random, max));
        double weight =
            (double)(2 + (test_random_next(&random) >> (20 + test_random_below(&random, 43))));
        if (round % 3 == 0) weight = 2 + (double)(round % 50);
        double chance = lethe_scale_chance(&random.state);
        double value = lethe_scale_value(&scale, level);
        assert_int_equal(lethe_scale_raise(&scale, level, weight, chance, max),
                         expected(&scale, level, max, value + weight, chance));
        uint64_t lower = value <= weight ? 0 : expected(&scale, 0, level, value - weight, chance);
        assert_int_equal(lethe_scale_lower(&scale, level, weight, chance), lower);
    }
    assert_int_equal(lethe_scale_raise(&scale, max - 1, 1e18, 0.5, max), max);
    assert_int_equal(lethe_scale_raise(&scale, max, 7, 0.5, max), max);
}

static void levels_are_those_of_the_definition(void **state) {
    (void)state;
    check(8, 1);
    check(16, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_those_of_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
