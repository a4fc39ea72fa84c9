/* Goal: every size from 1 to 2^40 is planned without overflow, and nonsense is refused. */
#include "support/test.h"

#include <math.h>

#include "filter/bloom/bloom.h"

static const lethe_bloom_layout layouts[] = {LETHE_BLOOM_CLASSIC, LETHE_BLOOM_BLOCKED};

/* Method: all powers of two and of ten with their neighbours; the planned error is at most the
 *         one asked for, one unit less would miss it, and size grows with capacity. */
static void capacities_are_planned(void **state) {
    (void)state;
    static const double errors[] = {0.5, 0.1, 0.01, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15};
    for (int layout = 0; layout < 2; layout++) {
        for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
            uint64_t previous = 0;
            for (unsigned power = 0; power <= 40; power++) {
                lethe_bloom_options options =
                    LETHE_OPTIONS(lethe_bloom_options, .layout = layouts[layout],
                                  .capacity = UINT64_C(1) << power, .error = errors[e]);
                lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
                lethe_status status = lethe_bloom_plan(&options, &shape);
                if (status == LETHE_EINVAL) {
                    /* Only the blocked layout runs out, where errors are tiny and keys many. */
                    assert_true(layouts[layout] == LETHE_BLOOM_BLOCKED && power > 38 && e >= 6);
                    continue;
                }
                assert_ok(status);
                assert_true(shape.error > 0 && shape.error <= errors[e]);
                assert_true(shape.bits >= previous);
                assert_int_equal(shape.memory_bytes, (shape.bits + 63) / 64 * 8);
                assert_true(lethe_bloom_is_valid_size(shape.layout, shape.bits, shape.hashes));
                previous = shape.bits;
                uint64_t unit = layouts[layout] == LETHE_BLOOM_BLOCKED ? 512 : 1;
                uint64_t least = layouts[layout] == LETHE_BLOOM_BLOCKED ? 512 : 64;
                if (shape.bits > least) {
                    double less = lethe_bloom_expected_error(shape.layout, shape.bits - unit,
                                                             shape.hashes, shape.capacity);
                    assert_true(less > errors[e] * (1 - 1e-9));
                }
            }
        }
    }
}

/* The textbook: 1.44 log2(1/e) bits a key. */
static void large_filters_have_the_known_size(void **state) {
    (void)state;
    for (double error = 0.1; error > 1e-13; error /= 10) {
        lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
        assert_ok(lethe_bloom_plan(
            &LETHE_OPTIONS(lethe_bloom_options, .capacity = 100000000, .error = error), &shape));
        double ideal = -log(error) / (log(2) * log(2));
        assert_true(fabs((double)shape.bits / 1e8 / ideal - 1) < 0.01);
    }
}

static void bits_and_hashes_are_taken_as_given(void **state) {
    (void)state;
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    assert_ok(
        lethe_bloom_plan(&LETHE_OPTIONS(lethe_bloom_options, .bits = 6250, .hashes = 5), &shape));
    assert_int_equal(shape.bits, 6250);
    assert_int_equal(shape.hashes, 5);
    assert_int_equal(shape.memory_bytes, 98 * 8);
    assert_ok(lethe_bloom_plan(&LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED,
                                              .bits = 513, .hashes = 16),
                               &shape));
    assert_int_equal(shape.bits, 1024);
    assert_ok(lethe_bloom_plan(&LETHE_OPTIONS(lethe_bloom_options, .bits = 1), &shape));
    assert_int_equal(shape.hashes, 7);
}

static void nonsense_is_refused(void **state) {
    (void)state;
    const lethe_bloom_options bad[] = {
        LETHE_OPTIONS(lethe_bloom_options, .error = NAN),
        LETHE_OPTIONS(lethe_bloom_options, .error = -0.01),
        LETHE_OPTIONS(lethe_bloom_options, .error = 0.51),
        LETHE_OPTIONS(lethe_bloom_options, .error = INFINITY),
        LETHE_OPTIONS(lethe_bloom_options, .error = 1e-16),
        LETHE_OPTIONS(lethe_bloom_options, .capacity = (UINT64_C(1) << 40) + 1),
        LETHE_OPTIONS(lethe_bloom_options, .capacity = UINT64_MAX),
        LETHE_OPTIONS(lethe_bloom_options, .bits = UINT64_MAX),
        LETHE_OPTIONS(lethe_bloom_options, .bits = (UINT64_C(1) << 47) + 1),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 100, .hashes = 65),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 100, .hashes = 5, .capacity = 10),
        LETHE_OPTIONS(lethe_bloom_options, .bits = 100, .hashes = 5, .error = 0.1),
        LETHE_OPTIONS(lethe_bloom_options, .hashes = 5),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = 512, .hashes = 7),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = 512,
                      .hashes = 40),
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED, .bits = UINT64_MAX,
                      .hashes = 8),
        LETHE_OPTIONS(lethe_bloom_options, .layout = (lethe_bloom_layout)2),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
        lethe_bloom *filter;
        assert_int_equal(lethe_bloom_plan(&bad[i], &shape), LETHE_EINVAL);
        assert_int_equal(lethe_bloom_new(&bad[i], &filter), LETHE_EINVAL);
        assert_null(filter);
    }
}

static void defaults_are_defaults(void **state) {
    (void)state;
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    assert_ok(lethe_bloom_plan(NULL, &shape));
    assert_int_equal(shape.capacity, 65536);
    assert_int_equal(shape.layout, LETHE_BLOOM_CLASSIC);
    assert_true(shape.seed == LETHE_DEFAULT_SEED);
    assert_true(shape.error <= 0.01);
}

/* Goal: a filter larger than any memory is an error, not a crash. */
static void the_impossible_is_no_memory(void **state) {
    (void)state;
    lethe_bloom *filter;
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .capacity = UINT64_C(1) << 40, .error = 1e-15);
    assert_int_equal(lethe_bloom_new(&options, &filter), LETHE_ENOMEM);
    assert_null(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacities_are_planned),
        cmocka_unit_test(large_filters_have_the_known_size),
        cmocka_unit_test(bits_and_hashes_are_taken_as_given),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(defaults_are_defaults),
        cmocka_unit_test(the_impossible_is_no_memory),
    };
    return cmocka_run_group_tests_name("bloom_plan", tests, NULL, NULL);
}
