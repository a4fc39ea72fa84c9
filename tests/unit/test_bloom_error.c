/* Goal: the measured false-positive rate is what was planned, and what info says it is. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>

#include "lethe/bloom.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"

struct sizing {
    lethe_bloom_layout layout;
    uint64_t capacity;
    double error;
    unsigned filters; /* how many, with different keys: small filters vary */
    uint64_t trials_a_filter;
};

/* Enough trials that a rate 6% too high is noticed for all but the smallest errors. */
static const struct sizing sizings[] = {
    {LETHE_BLOOM_CLASSIC, 1, 0.1, 20000, 200},
    {LETHE_BLOOM_CLASSIC, 10, 0.1, 20000, 200},
    {LETHE_BLOOM_CLASSIC, 10, 0.01, 20000, 500},
    {LETHE_BLOOM_CLASSIC, 100, 0.01, 5000, 2000},
    {LETHE_BLOOM_CLASSIC, 1000, 0.5, 50, 20000},
    {LETHE_BLOOM_CLASSIC, 10000, 1e-3, 20, 500000},
    {LETHE_BLOOM_CLASSIC, 1000000, 0.01, 1, 2000000},
    {LETHE_BLOOM_CLASSIC, 3000, 1e-5, 10, 2000000},
    {LETHE_BLOOM_BLOCKED, 1, 0.1, 2000, 200},
    {LETHE_BLOOM_BLOCKED, 10, 0.01, 5000, 500},
    {LETHE_BLOOM_BLOCKED, 100, 0.01, 2000, 2000},
    {LETHE_BLOOM_BLOCKED, 10000, 0.1, 20, 100000},
    {LETHE_BLOOM_BLOCKED, 10000, 1e-3, 20, 500000},
    {LETHE_BLOOM_BLOCKED, 1000000, 0.01, 1, 2000000},
    {LETHE_BLOOM_BLOCKED, 3000, 1e-5, 10, 2000000},
};

static void measured_errors_are_as_planned(void **state) {
    (void)state;
    struct test_random random = {5};
    for (size_t i = 0; i < sizeof sizings / sizeof sizings[0]; i++) {
        const struct sizing *sizing = &sizings[i];
        lethe_bloom *filter;
        assert_ok(
            lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .layout = sizing->layout,
                                           .capacity = sizing->capacity, .error = sizing->error),
                            &filter));
        double planned = bloom_shape(filter).error, estimated = 0;
        uint64_t hits = 0, trials = 0;
        for (unsigned f = 0; f < sizing->filters; f++) {
            lethe_bloom_clear(filter);
            for (uint64_t key = 0; key < sizing->capacity; key++)
                lethe_bloom_add_hash(filter, lethe_hash_u64(1, test_random_next(&random)));
            estimated += bloom_stats(filter).error_estimate / sizing->filters;
            for (uint64_t t = 0; t < sizing->trials_a_filter; t++) {
                lethe_hash hash = lethe_hash_u64(1, test_random_next(&random));
                hits += lethe_bloom_test_hash(filter, hash);
            }
            trials += sizing->trials_a_filter;
        }
        print_message("layout %d, %llu keys: asked %g, planned %.3g, info %.3g, measured %.3g\n",
                      sizing->layout, (unsigned long long)sizing->capacity, sizing->error, planned,
                      estimated, (double)hits / (double)trials);
        assert_true(rate_is_at_most(hits, trials, sizing->error));
        assert_true(rate_is_within(hits, trials, estimated, 0.02));
        /* The plan is exact for large filters, and a bound for small ones. */
        if (sizing->capacity >= 1000) assert_true(rate_is_within(hits, trials, planned, 0.03));
        lethe_bloom_free(filter);
    }
}

/* Goal: two keys never share all their bits by the arithmetic of the probes.
 * Method: one key in a large filter; a million others that differ from its hash a little. With
 * x_i = low + i * high the ones that are close in both would collide. */
static void close_hashes_do_not_collide(void **state) {
    (void)state;
    lethe_bloom *filter;
    assert_ok(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .bits = 1000000, .hashes = 7),
                              &filter));
    lethe_hash key = lethe_hash_u64(1, 1);
    lethe_bloom_add_hash(filter, key);
    uint64_t hits = 0;
    for (uint64_t i = 1; i <= 1000; i++) {
        for (uint64_t j = 1; j <= 1000; j++) {
            hits += lethe_bloom_test_hash(
                filter, (lethe_hash){.low = key.low + i * 1009, .high = key.high + j * 1013});
        }
    }
    assert_int_equal(hits, 0);
    lethe_bloom_free(filter);
}

static void keys_are_counted_from_bits(void **state) {
    (void)state;
    for (int layout = 0; layout < 2; layout++) {
        lethe_bloom *a, *b;
        lethe_bloom_options options = LETHE_OPTIONS(
            lethe_bloom_options, .layout = (lethe_bloom_layout)layout, .capacity = 200000);
        assert_ok(lethe_bloom_new(&options, &a));
        assert_ok(lethe_bloom_new(&options, &b));
        uint64_t seed = lethe_bloom_seed(a);
        for (uint64_t key = 0; key < 150000; key++) {
            if (key < 100000) lethe_bloom_add_hash(a, lethe_hash_u64(seed, key));
            if (key >= 60000) lethe_bloom_add_hash(b, lethe_hash_u64(seed, key));
        }
        lethe_bloom_add_hash(a, lethe_hash_u64(seed, 1)); /* again: counts as an addition only */
        lethe_bloom_stats stats = bloom_stats(a);
        assert_int_equal(stats.additions, 100001);
        assert_true(fabs(stats.distinct_estimate - 100000) < 1000);
        double both;
        assert_ok(lethe_bloom_intersection_estimate(a, b, &both));
        assert_true(fabs(both - 40000) < 1500);
        lethe_bloom_clear(b);
        assert_ok(lethe_bloom_intersection_estimate(a, b, &both));
        assert_true(both == 0);
        lethe_bloom_free(a);
        lethe_bloom_free(b);
    }
}

static void a_full_filter_says_so(void **state) {
    (void)state;
    for (int layout = 0; layout < 2; layout++) {
        lethe_bloom *filter;
        lethe_bloom_options options = LETHE_OPTIONS(
            lethe_bloom_options, .layout = (lethe_bloom_layout)layout, .bits = 512, .hashes = 8);
        assert_ok(lethe_bloom_new(&options, &filter));
        for (uint64_t key = 0; key < 10000; key++)
            lethe_bloom_add_hash(filter, lethe_hash_u64(1, key));
        lethe_bloom_stats stats = bloom_stats(filter);
        assert_true(stats.fill == 1 && stats.error_estimate == 1);
        assert_true(isinf(stats.distinct_estimate));
        double both;
        assert_ok(lethe_bloom_intersection_estimate(filter, filter, &both));
        assert_false(isnan(both));
        lethe_bloom_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_errors_are_as_planned),
        cmocka_unit_test(close_hashes_do_not_collide),
        cmocka_unit_test(keys_are_counted_from_bits),
        cmocka_unit_test(a_full_filter_says_so),
    };
    return cmocka_run_group_tests_name("bloom_error", tests, NULL, NULL);
}
