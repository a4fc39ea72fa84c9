/* Goal:   a window refuses options that make no sense, takes the extremes of what is allowed,
 *         survives every failed allocation, and counts exactly.
 * Method: options around their limits; each allocation fails once; ids in random order beside
 *         exact counts. */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/window.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(5, id);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    const lethe_window_options bad[] = {
        {.error = -1e-3},
        {.error = 0.11},
        {.error = 9e-13},
        {.error = NAN},
        {.error = INFINITY},
        {.slack = -0.25},
        {.slack = 0.019},
        {.slack = 1.01},
        {.slack = NAN},
        {.window_ms = 999},
        {.window_ms = UINT64_C(30) * 24 * 3600 * 1000 + 1},
        {.window_ms = UINT64_MAX},
        {.capacity = UINT64_MAX},
        {.stripes = 3},
        {.stripes = 128},
        {.stripes = UINT32_MAX},
        {.kind = (lethe_window_kind)2},
        {.policy = (lethe_policy)2},
        {.kind = LETHE_WINDOW_FORGETFUL, .refresh_on_duplicate = true},
        {.kind = LETHE_WINDOW_FORGETFUL, .error = NAN},
        {.kind = LETHE_WINDOW_FORGETFUL, .stripes = 6},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_window_options options = bad[i];
        options.size = sizeof options;
        options.allocator = &heap.allocator;
        lethe_window *window = (lethe_window *)&heap;
        if (lethe_window_new(&options, &window) != LETHE_EINVAL)
            fail_msg("option set %zu was accepted", i);
        assert_null(window);
        assert_int_equal(heap.live_blocks, 0);
    }
}

static void zero_is_the_default(void **state) {
    (void)state;
    lethe_window *window = test_window_make(NULL);
    lethe_window_stats stats = window_stats(window, 0);
    assert_int_equal(stats.kind, LETHE_WINDOW_QUOTIENT);
    assert_int_equal(stats.window_ms, 600000);
    assert_true(stats.error_target == 1e-6 && stats.slack <= 0.25);
    assert_int_equal(stats.seed, LETHE_DEFAULT_SEED);
    assert_int_equal(lethe_window_seed(window), LETHE_DEFAULT_SEED);
    assert_int_equal(stats.ids + stats.fresh + stats.duplicates + stats.refused, 0);
    assert_int_equal(stats.oldest_age_ms, 0);
    assert_int_equal(stats.strain, 0);
    lethe_window_free(window);
    lethe_window_free(NULL);
}

/* The extremes of what is allowed work. */
static void extremes_are_allowed(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        const lethe_window_options extreme[] = {
            {.error = 1e-12, .slack = 0.02, .window_ms = 1000},
            {.error = 0.1, .slack = 1, .window_ms = UINT64_C(30) * 24 * 3600 * 1000},
            {.stripes = 64, .capacity = 1},
            {.error = 1e-12, .capacity = 1},
        };
        for (size_t i = 0; i < sizeof extreme / sizeof extreme[0]; i++) {
            lethe_window_options options = extreme[i];
            options.size = sizeof options;
            options.kind = (lethe_window_kind)kind;
            lethe_window *window = test_window_make(&options);
            for (uint64_t id = 0; id < 3000; id++)
                assert_ok(lethe_window_add(window, hash_of(id), 7));
            for (uint64_t id = 0; id < 3000; id++)
                assert_int_equal(lethe_window_test(window, hash_of(id), 7), LETHE_ANSWER_DUPLICATE);
            lethe_window_free(window);
        }
    }
}

static void a_hint_above_the_cap_is_told(void **state) {
    (void)state;
    lethe_window *window;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .capacity = 1000000, .max_memory_bytes = 100000);
    assert_int_equal(lethe_window_new(&options, &window), LETHE_EFULL);
    assert_null(window);
    options = LETHE_OPTIONS(lethe_window_options, .max_memory_bytes = 1);
    assert_int_equal(lethe_window_new(&options, &window), LETHE_EFULL);
    assert_null(window);
}

/* Tries once more what failed for want of memory: only one allocation fails. */
static bool failed_once(lethe_status status, int *failures) {
    assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
    *failures += status == LETHE_ENOMEM;
    return status == LETHE_ENOMEM;
}

static void record_each(lethe_window *window, uint64_t first, uint64_t end, int *failures) {
    for (uint64_t id = first; id < end; id++) {
        lethe_answer answer;
        lethe_status status = lethe_window_add_and_test(window, hash_of(id), id, &answer);
        if (failed_once(status, failures)) {
            assert_int_equal(answer, LETHE_ANSWER_REFUSED);
            for (uint64_t earlier = first; earlier < id; earlier++) {
                assert_int_equal(lethe_window_test(window, hash_of(earlier), id),
                                 LETHE_ANSWER_DUPLICATE);
            }
            assert_ok(lethe_window_add_and_test(window, hash_of(id), id, &answer));
        }
        assert_int_equal(answer, LETHE_ANSWER_FRESH);
    }
}

/* Makes two windows, fills them, merges, saves and loads. Returns whether an allocation failed: not
 * every failure shows, since giving memory back may be put off. */
static bool run_with_failure(lethe_window_kind kind, size_t fail_at) {
    enum { IDS = 3000 };
    struct test_heap heap;
    test_heap_init(&heap, fail_at);
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = 100000, .error = 1e-12,
                      .stripes = 2, .allocator = &heap.allocator);
    lethe_window *window, *other, *loaded = NULL;
    int failures = 0;
    if (failed_once(lethe_window_new(&options, &window), &failures)) {
        assert_null(window);
        assert_ok(lethe_window_new(&options, &window));
    }
    if (failed_once(lethe_window_new(&options, &other), &failures)) {
        assert_null(other);
        assert_ok(lethe_window_new(&options, &other));
    }
    record_each(window, 0, IDS, &failures);
    record_each(other, IDS, 2 * IDS, &failures);
    if (failed_once(lethe_window_merge(window, other), &failures)) {
        assert_int_equal(window_stats(window, 0).ids, IDS);
        assert_int_equal(window_stats(other, 0).ids, IDS);
        assert_ok(lethe_window_merge(window, other));
    }
    assert_int_equal(window_stats(other, 0).ids, 0);
    lethe_memory_writer writer = {0};
    if (failed_once(lethe_window_save(window, lethe_sink_to_memory(&writer)), &failures)) {
        lethe_memory_writer_free(&writer);
        assert_ok(lethe_window_save(window, lethe_sink_to_memory(&writer)));
    }
    for (int attempt = 0; attempt < 2 && loaded == NULL; attempt++) {
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        lethe_status status =
            lethe_window_load(lethe_source_from_memory(&reader), &heap.allocator, &loaded);
        assert_true(failed_once(status, &failures) == (loaded == NULL));
    }
    for (uint64_t id = 0; id < 2 * IDS; id++)
        assert_int_equal(lethe_window_test(loaded, hash_of(id), 2 * IDS), LETHE_ANSWER_DUPLICATE);
    lethe_memory_writer_free(&writer);
    lethe_window_free(loaded);
    lethe_window_free(window);
    lethe_window_free(other);
    assert_int_equal(heap.live_blocks, 0);
    assert_int_equal(heap.live_bytes, 0);
    assert_true(failures <= 1);
    return heap.allocations > fail_at;
}

/* Goal:   every failed allocation is reported, leaks nothing and costs no id its memory.
 * Method: fail allocation n = 0, 1, ... until none fails any more. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        size_t n = 0;
        while (run_with_failure((lethe_window_kind)kind, n))
            n++;
        assert_true(n > 20);
    }
}

/* Goal:   counters are exact.
 * Method: random ids, singly and in batches, against an exact map; at 1e-12 nothing looks alike. */
static void counters_are_exact(void **state) {
    (void)state;
    enum { KEYS = 5000, BATCH = 100 };
    for (int kind = 0; kind < 2; kind++) {
        lethe_window *window =
            test_window_make(&LETHE_OPTIONS(lethe_window_options, .kind = (lethe_window_kind)kind,
                                            .window_ms = 1000000, .error = 1e-12, .stripes = 2));
        struct test_random random = {11};
        static bool is_known[KEYS];
        memset(is_known, 0, sizeof is_known);
        uint64_t fresh = 0, duplicates = 0;
        for (uint64_t round = 0; round < 300; round++) {
            lethe_hash ids[BATCH];
            uint8_t answers[BATCH];
            uint64_t keys[BATCH];
            for (size_t i = 0; i < BATCH; i++) {
                keys[i] = test_random_below(&random, KEYS);
                ids[i] = hash_of(keys[i]);
            }
            if (round % 2 == 0) {
                assert_ok(lethe_window_add_and_test_batch(window, ids, BATCH, round, answers));
            } else {
                for (size_t i = 0; i < BATCH; i++) {
                    lethe_answer answer;
                    assert_ok(lethe_window_add_and_test(window, ids[i], round, &answer));
                    answers[i] = (uint8_t)answer;
                }
            }
            for (size_t i = 0; i < BATCH; i++) {
                assert_int_equal(answers[i],
                                 is_known[keys[i]] ? LETHE_ANSWER_DUPLICATE : LETHE_ANSWER_FRESH);
                fresh += !is_known[keys[i]];
                duplicates += is_known[keys[i]];
                is_known[keys[i]] = true;
            }
            lethe_window_stats stats = window_stats(window, round);
            assert_int_equal(stats.fresh, fresh);
            assert_int_equal(stats.duplicates, duplicates);
            assert_int_equal(stats.ids, fresh);
            assert_int_equal(stats.refused, 0);
            assert_int_equal(stats.clock_ms, round);
        }
        lethe_window_free(window);
    }
}

/* Two windows that are asked the same, one of which may have been saved and loaded meanwhile. */
static lethe_answer ask_both(lethe_window *const windows[2], uint64_t id, uint64_t now_ms) {
    lethe_answer answers[2];
    for (int i = 0; i < 2; i++)
        (void)!lethe_window_add_and_test(windows[i], hash_of(id), now_ms, &answers[i]);
    assert_int_equal(answers[0], answers[1]);
    return answers[0];
}

/* At its cap a window refuses for as long as a burst lets it expect too many ids. A copy, which was
 * not there when it refused, must take the next one at the same moment. */
static void a_copy_at_the_cap_decides_as_its_original(void **state) {
    (void)state;
    enum { PERIOD_MS = 2000, EARLY_MS = 100, LATE_MS = 1900 };
    unsigned later = 0;
    for (uint64_t cap_bytes = 30000; cap_bytes < 50000; cap_bytes += 1000) {
        lethe_window *windows[2];
        for (int i = 0; i < 2; i++)
            windows[i] = test_window_make(&LETHE_OPTIONS(
                lethe_window_options, .window_ms = 30 * PERIOD_MS, .max_memory_bytes = cap_bytes));
        uint64_t id = 0, period = 500;
        while (id < 3000)
            (void)ask_both(windows, id++, period * PERIOD_MS);
        /* One part of 4096 is left, and fills slowly up to the last burst. */
        for (period += 65; period < 585; period++) {
            for (int i = 0; i < 200; i++)
                (void)ask_both(windows, id++, period * PERIOD_MS + EARLY_MS);
        }
        while (ask_both(windows, id++, period * PERIOD_MS + EARLY_MS) != LETHE_ANSWER_REFUSED)
            continue;
        test_window_reload(&windows[1]);
        later += ask_both(windows, id, period * PERIOD_MS + LATE_MS) == LETHE_ANSWER_FRESH;
        test_window_assert_same(windows[0], windows[1]);
        lethe_window_free(windows[0]);
        lethe_window_free(windows[1]);
    }
    assert_true(later > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_at_the_cap_decides_as_its_original),
        cmocka_unit_test(counters_are_exact),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(zero_is_the_default),
        cmocka_unit_test(extremes_are_allowed),
        cmocka_unit_test(a_hint_above_the_cap_is_told),
        cmocka_unit_test(each_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("window_limits", tests, NULL, NULL);
}
