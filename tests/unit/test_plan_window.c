/* Goal:   lethe_window_plan says what a window takes, within a tenth, and refuses what no window
 *         can be asked for.
 * Method: windows of several errors, sizes, slacks and stripes get ids at a steady rate for three
 *         W, with the capacity given and without; what they take in the end and at most is compared
 *         with the plan. A slow test of larger ones runs with LETHE_SIZE=large. */
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/reports.h"
#include "support/window.h"

enum { BATCH = 64, WINDOW_MS = 3600000, LIVES = 3 };

struct measured {
    uint64_t memory_bytes, peak_bytes;
    double error;
};

/* Feeds ids for three W, so many in each. */
static struct measured measure(const lethe_window_options *options, uint64_t ids) {
    lethe_window *window = test_window_make(options);
    struct measured measured = {0};
    lethe_hash hashes[BATCH];
    uint8_t answers[BATCH];
    uint64_t total = LIVES * ids, now_ms = 0;
    uint64_t batch = ids / 5000 < BATCH ? ids / 5000 + 1 : BATCH;
    for (uint64_t next = 0; next < total;) {
        size_t count = total - next < batch ? (size_t)(total - next) : batch;
        for (size_t i = 0; i < count; i++)
            hashes[i] = lethe_hash_u64(lethe_window_seed(window), next + i);
        now_ms = next * WINDOW_MS / ids;
        assert_ok(lethe_window_add_and_test_batch(window, hashes, count, now_ms, answers));
        next += count;
        lethe_window_stats stats = window_stats(window, now_ms);
        if (stats.memory_bytes > measured.peak_bytes) measured.peak_bytes = stats.memory_bytes;
    }
    /* What expired is given back little by little. */
    while (window_work(window, now_ms, 64)) {
    }
    lethe_window_stats stats = window_stats(window, now_ms);
    measured.memory_bytes = stats.memory_bytes;
    measured.error = stats.error_estimate;
    lethe_window_free(window);
    return measured;
}

static void expect_near(const char *what, uint64_t planned, uint64_t found, double tolerance,
                        uint64_t ids, double error) {
    double off = (double)planned / (double)found - 1;
    if (getenv("LETHE_PLAN_SHOW") != NULL)
        fprintf(stderr, "%-8s %9llu ids at %-6g planned %10llu found %10llu %+.1f%%\n", what,
                (unsigned long long)ids, error, (unsigned long long)planned,
                (unsigned long long)found, off * 100);
    else if (fabs(off) > tolerance)
        fail_msg("%s of %llu ids at %g: planned %llu, found %llu, %+.1f%%", what,
                 (unsigned long long)ids, error, (unsigned long long)planned,
                 (unsigned long long)found, off * 100);
}

static void compare(lethe_window_options options, uint64_t ids) {
    options.size = sizeof options;
    options.window_ms = WINDOW_MS;
    lethe_window_needs needs = LETHE_INIT(lethe_window_needs);
    assert_ok(lethe_window_plan(&options, ids, &needs));
    struct measured measured = measure(&options, ids);
    expect_near("memory", needs.memory_bytes, measured.memory_bytes, 0.1, ids, options.error);
    /* The most is there for a moment, and depends on which parts have just expired. */
    expect_near("peak", needs.peak_memory_bytes, measured.peak_bytes, 0.15, ids, options.error);
    assert_int_equal(needs.ids, ids);
    assert_true(needs.error <= options.error * 1.001);
    assert_true(measured.error <= options.error * 1.001);
    assert_true(needs.peak_memory_bytes >= needs.memory_bytes);
    assert_true(needs.slabs * needs.slab_bytes <= needs.memory_bytes);
}

static const double errors[] = {0.1, 1e-3, 1e-6, 1e-9, 1e-12};
enum { ERRORS = sizeof errors / sizeof errors[0] };

static void capacity_is_given(void **state) {
    (void)state;
    const uint64_t sizes[] = {1000, 40000, 300000, 4000000};
    for (size_t i = 0; i < (test_is_large() ? 4 : 3); i++) {
        for (size_t j = 0; j < ERRORS; j++)
            compare((lethe_window_options){.error = errors[j], .capacity = sizes[i]}, sizes[i]);
    }
}

static void window_grows(void **state) {
    (void)state;
    const uint64_t sizes[] = {500, 5000, 30000, 140000, 700000, 3000000, 9000000};
    for (size_t i = 0; i < (test_is_large() ? 7 : 5); i++) {
        for (size_t j = 0; j < ERRORS; j++)
            compare((lethe_window_options){.error = errors[j]}, sizes[i]);
    }
}

static void slack_and_stripes(void **state) {
    (void)state;
    compare((lethe_window_options){.error = 1e-6, .slack = 0.02, .capacity = 100000}, 100000);
    compare((lethe_window_options){.error = 1e-6, .slack = 0.02}, 100000);
    compare((lethe_window_options){.error = 1e-6, .slack = 1}, 100000);
    compare((lethe_window_options){.error = 1e-9, .stripes = 4, .capacity = 200000}, 200000);
    compare((lethe_window_options){.error = 1e-9, .stripes = 8}, 400000);
    /* A capacity that is too small, and one that is too large. */
    compare((lethe_window_options){.error = 1e-9, .capacity = 20000}, 200000);
    compare((lethe_window_options){.error = 1e-9, .capacity = 200000}, 150000);
}

static void nothing_is_a_plan_too(void **state) {
    (void)state;
    lethe_window_needs needs = LETHE_INIT(lethe_window_needs);
    assert_ok(lethe_window_plan(NULL, 0, &needs));
    assert_true(needs.memory_bytes > 0 && needs.parts == 1 && needs.error == 0);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    const lethe_window_options bad[] = {
        {.error = 1},
        {.error = NAN},
        {.error = 1e-13},
        {.slack = 2},
        {.window_ms = 999},
        {.stripes = 3},
        {.stripes = 128},
        {.capacity = UINT64_MAX},
        {.kind = LETHE_WINDOW_FORGETFUL},
        {.policy = (lethe_policy)7},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_window_options options = bad[i];
        options.size = sizeof options;
        lethe_window_needs needs = LETHE_INIT(lethe_window_needs);
        assert_int_equal(lethe_window_plan(&options, 1000, &needs), LETHE_EINVAL);
        assert_int_equal(needs.memory_bytes, 0);
    }
    assert_int_equal(lethe_window_plan(NULL, 1, NULL), LETHE_EINVAL);
    lethe_window_needs needs = {0};
    assert_int_equal(lethe_window_plan(NULL, 1, &needs), LETHE_EINVAL);
    needs.size = sizeof needs;
    assert_int_equal(lethe_window_plan(NULL, UINT64_MAX, &needs), LETHE_EFULL);
    assert_int_equal(lethe_window_plan(NULL, UINT64_C(1) << 40, &needs), LETHE_EFULL);
    assert_ok(lethe_window_plan(NULL, UINT64_C(1) << 37, &needs));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capacity_is_given),         cmocka_unit_test(window_grows),
        cmocka_unit_test(slack_and_stripes),         cmocka_unit_test(nothing_is_a_plan_too),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("plan_window", tests, NULL, NULL);
}
