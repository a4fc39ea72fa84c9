/* Goal:   the forgetful filter keeps to its limits: options, memory cap, failing allocations,
 *         merges; and its batches answer as its single calls do.
 * Method: options around their limits; loads above a cap; each allocation fails once; two
 *         filters with the same salts. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/forgetful.h"
#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { WINDOW_MS = 60000 };

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

static lethe_status try_options(lethe_forgetful_options options) {
    lethe_forgetful *filter;
    options.size = sizeof options;
    lethe_status status = lethe_forgetful_new(&options, &filter);
    assert_true((filter != NULL) == (status == LETHE_OK));
    lethe_forgetful_free(filter);
    return status;
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    assert_ok(try_options((lethe_forgetful_options)LETHE_INIT(lethe_forgetful_options)));
    const lethe_forgetful_options bad[] = {
        {.setting = (lethe_forgetful_setting)3},
        {.window_ms = 999},
        {.window_ms = UINT64_C(30) * 86400000 + 1},
        {.error = 0.11},
        {.error = 9e-13},
        {.error = NAN},
        {.error = -0.5},
        {.slack = 0.01},
        {.slack = 1.5},
        {.slack = NAN},
        {.capacity = (UINT64_C(1) << 36) + 1},
        {.max_memory_bytes = 65535},
        {.policy = (lethe_policy)2},
        {.bits = 1000},
        {.hashes = 3},
        {.past = 1},
        {.period_ms = 1000},
        {.check = LETHE_FORGETFUL_SIMPLE},
        {.adapt = 1},
        {.salted = true},
        {.setting = LETHE_FORGETFUL_PAPER, .slack = 0.25},
        {.setting = LETHE_FORGETFUL_PAPER, .capacity = 1},
        {.setting = LETHE_FORGETFUL_PAPER, .policy = LETHE_POLICY_DEGRADE},
        {.setting = LETHE_FORGETFUL_PAPER, .hashes = 65},
        {.setting = LETHE_FORGETFUL_PAPER, .past = 4095},
        {.setting = LETHE_FORGETFUL_PAPER, .adapt = 4},
        {.setting = LETHE_FORGETFUL_PAPER, .adapt = 2, .period_ms = 999},
        {.setting = LETHE_FORGETFUL_PAPER, .error = 1.5},
        {.setting = LETHE_FORGETFUL_PAPER, .bits = (UINT64_C(1) << 40) + 1},
        {.setting = LETHE_FORGETFUL_PAPER, .check = (lethe_forgetful_check_kind)2},
        {.setting = LETHE_FORGETFUL_PAPER, .window_ms = 10001}, /* 2 * 5 s do not cover it */
        {.setting = LETHE_FORGETFUL_PAPER, .max_memory_bytes = 1000},
        {.setting = LETHE_FORGETFUL_PRINTED, .slack = 0.25},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(try_options(bad[i]), LETHE_EINVAL);
    assert_ok(try_options(
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = 1000, .error = 0.1, .slack = 1)));
    assert_ok(try_options(LETHE_OPTIONS(lethe_forgetful_options, .error = 1e-12, .slack = 0.02)));
    assert_ok(try_options(
        LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PAPER, .past = 4094)));
}

/* Goal: a cap is kept to the byte, and what gives way is what the policy says.
 * Method: ten times the load that fits, for three windows. */
static void a_cap_is_kept(lethe_policy policy) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    enum { CAP_BYTES = 100000, IDS = 80000 };
    lethe_forgetful *filter;
    lethe_forgetful_options options = LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS,
                                                    .error = 1e-3, .max_memory_bytes = CAP_BYTES,
                                                    .policy = policy, .allocator = &heap.allocator);
    assert_ok(lethe_forgetful_new(&options, &filter));
    static uint64_t recorded_ms[IDS * 3];
    memset(recorded_ms, 0, sizeof recorded_ms);
    uint64_t refused = 0, known = 0, hits = 0, trials = 0;
    for (uint64_t key = 0; key < 3 * IDS; key++) {
        uint64_t now_ms = 1 + key * WINDOW_MS / IDS;
        lethe_status status = lethe_forgetful_add(filter, hash_of(key), now_ms);
        if (status == LETHE_EFULL) {
            refused++;
        } else {
            assert_ok(status);
            recorded_ms[key] = now_ms;
        }
        /* Whatever gives way, an id that was taken is known for a window. */
        uint64_t past = key - key * 7919 % (key + 1);
        if (recorded_ms[past] != 0 && now_ms - recorded_ms[past] <= WINDOW_MS) {
            assert_true(lethe_forgetful_test(filter, hash_of(past), now_ms));
            known++;
        }
        hits += lethe_forgetful_test(filter, hash_of(UINT64_C(1) << 40 | key), now_ms);
        trials++;
        assert_true(heap.peak_bytes <= CAP_BYTES);
    }
    lethe_forgetful_stats stats = forgetful_stats(filter, 0);
    assert_true(known > IDS / 10);
    assert_int_equal(stats.memory_bytes, heap.live_bytes);
    assert_int_equal(stats.refused, refused);
    assert_true((stats.strain & LETHE_STRAIN_MEMORY) != 0);
    print_message("cap, policy %d: %.1f%% refused, error %.3g, estimated %.3g\n", policy,
                  100.0 * (double)refused / (3.0 * IDS), (double)hits / (double)trials,
                  stats.error_estimate);
    if (policy == LETHE_POLICY_REFUSE) {
        assert_true(refused > 0);
        assert_true(rate_is_at_most(hits, trials, 1e-3));
        assert_true(stats.error_estimate <= 1e-3);
        /* And the room is used: 100,000 bytes hold some 32,000 ids of a window. */
        assert_true(3 * IDS - refused > 3 * 20000);
    } else {
        assert_int_equal(refused, 0);
        assert_true((stats.strain & LETHE_STRAIN_ERROR) != 0);
        assert_true(stats.error_estimate > 1e-3);
    }
    /* When the load is gone so is the strain. */
    uint64_t later_ms = 5 * WINDOW_MS;
    assert_ok(lethe_forgetful_add(filter, hash_of(1), later_ms));
    assert_int_equal(forgetful_stats(filter, later_ms).strain, 0);
    lethe_forgetful_free(filter);
    assert_int_equal(heap.live_blocks, 0);
}

static void a_cap_refuses(void **state) {
    (void)state;
    a_cap_is_kept(LETHE_POLICY_REFUSE);
}

static void a_cap_degrades(void **state) {
    (void)state;
    a_cap_is_kept(LETHE_POLICY_DEGRADE);
}

/* Goal: a refusal changes nothing but its own count. */
static void a_refusal_changes_nothing(void **state) {
    (void)state;
    lethe_forgetful *filter;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS, .max_memory_bytes = 65536);
    assert_ok(lethe_forgetful_new(&options, &filter));
    uint64_t key = 0;
    while (lethe_forgetful_add(filter, hash_of(key), 5000) == LETHE_OK)
        key++;
    lethe_forgetful_stats before = forgetful_stats(filter, 5000);
    lethe_answer answer = LETHE_ANSWER_FRESH;
    assert_int_equal(lethe_forgetful_add_and_test(filter, hash_of(key), 5000, &answer),
                     LETHE_EFULL);
    assert_int_equal(answer, LETHE_ANSWER_REFUSED);
    assert_false(lethe_forgetful_test(filter, hash_of(key), 5000));
    assert_ok(lethe_forgetful_add_and_test(filter, hash_of(0), 5000, &answer));
    assert_int_equal(answer, LETHE_ANSWER_DUPLICATE);
    lethe_forgetful_stats after = forgetful_stats(filter, 5000);
    assert_int_equal(after.refused, before.refused + 1);
    assert_int_equal(after.ids_held, before.ids_held);
    assert_int_equal(after.memory_bytes, before.memory_bytes);
    assert_true((after.strain & LETHE_STRAIN_REFUSED) != 0);
    /* The rest of a batch is tried. */
    lethe_hash hashes[4] = {hash_of(1), hash_of(key), hash_of(2), hash_of(key + 1)};
    const uint8_t expected[4] = {LETHE_ANSWER_DUPLICATE, LETHE_ANSWER_REFUSED,
                                 LETHE_ANSWER_DUPLICATE, LETHE_ANSWER_REFUSED};
    uint8_t found[4] = {9, 9, 9, 9};
    assert_int_equal(lethe_forgetful_add_and_test_batch(filter, hashes, 4, 5000, found),
                     LETHE_EFULL);
    assert_memory_equal(found, expected, sizeof found);
    assert_int_equal(forgetful_stats(filter, 5000).refused, after.refused + 2);
    lethe_forgetful_free(filter);
}

/* Goal: batches answer what single calls answer, id by id, false positives included.
 * Method: two filters with the same salts; a large error and tiny periods, so that everything that
 * can happen within a batch does. */
static void batches_equal_single_calls(void **state) {
    (void)state;
    struct test_random random = {11};
    for (int setting = 0; setting < 2; setting++) {
        lethe_forgetful *single, *batch;
        lethe_forgetful_options options =
            LETHE_OPTIONS(lethe_forgetful_options, .setting = (lethe_forgetful_setting)setting,
                          .window_ms = setting == 0 ? 10000 : 0, .error = 0.1);
        assert_ok(lethe_forgetful_new(&options, &single));
        assert_ok(lethe_forgetful_new(&options, &batch));
        uint64_t now_ms = 1, duplicates = 0;
        for (int round = 0; round < 300; round++) {
            lethe_hash hashes[700];
            uint8_t found[700], checked[700];
            size_t count = test_random_below(&random, 700);
            for (size_t i = 0; i < count; i++)
                hashes[i] = hash_of(test_random_below(&random, 30000));
            lethe_forgetful_test_batch(batch, hashes, count, now_ms, checked);
            for (size_t i = 0; i < count; i++)
                assert_int_equal(checked[i], lethe_forgetful_test(single, hashes[i], now_ms));
            assert_ok(lethe_forgetful_add_and_test_batch(batch, hashes, count, now_ms, found));
            for (size_t i = 0; i < count; i++) {
                lethe_answer answer;
                assert_ok(lethe_forgetful_add_and_test(single, hashes[i], now_ms, &answer));
                assert_int_equal(found[i], answer);
                duplicates += answer == LETHE_ANSWER_DUPLICATE;
            }
            now_ms += test_random_below(&random, 300);
        }
        lethe_forgetful_stats a = forgetful_stats(single, now_ms),
                              b = forgetful_stats(batch, now_ms);
        assert_int_equal(a.duplicates, duplicates);
        assert_int_equal(b.duplicates, duplicates);
        assert_int_equal(a.fresh, b.fresh);
        assert_int_equal(a.filters, b.filters);
        lethe_forgetful_free(single);
        lethe_forgetful_free(batch);
    }
}

/* One life with every call that allocates. Stops at the first refusal. */
static lethe_status live(const lethe_allocator *allocator, int setting, lethe_forgetful **out) {
    lethe_forgetful *copy = NULL;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .setting = (lethe_forgetful_setting)setting,
                      .window_ms = setting == 0 ? 2000 : 10000, .adapt = setting == 0 ? 0 : 3,
                      .error = setting == 0 ? 1e-3 : 1e-6,
                      .max_memory_bytes = setting == 0 ? 0 : 30000, .allocator = allocator);
    lethe_status status = lethe_forgetful_new(&options, out);
    uint64_t recorded = 0;
    for (; status == LETHE_OK && recorded < 1500; recorded++) {
        status = lethe_forgetful_add(*out, hash_of(recorded), recorded * 4);
        if (status != LETHE_OK) break;
        forgetful_work(*out, recorded * 4, 8);
    }
    /* Whatever failed, what was recorded within the window is still known. */
    for (uint64_t key = recorded > 400 ? recorded - 400 : 0; key < recorded; key++)
        assert_true(lethe_forgetful_test(*out, hash_of(key), recorded * 4));
    if (status == LETHE_OK) status = lethe_forgetful_copy(*out, &copy);
    if (status == LETHE_OK && setting == 0) status = lethe_forgetful_merge(*out, copy);
    lethe_memory_writer writer = {0};
    if (status == LETHE_OK) status = lethe_forgetful_save(*out, lethe_sink_to_memory(&writer));
    if (status == LETHE_OK) {
        lethe_forgetful_free(copy);
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        status = lethe_forgetful_load(lethe_source_from_memory(&reader), allocator, &copy);
    }
    lethe_memory_writer_free(&writer);
    lethe_forgetful_free(copy);
    return status;
}

/* Goal: every failed allocation is reported (or done without) and leaks nothing.
 * Method: fail allocation n = 0, 1, ... until none is left to fail. */
static void each_allocation_may_fail(void **state) {
    (void)state;
    for (int setting = 0; setting < 2; setting++) {
        size_t failed = 0;
        for (size_t n = 0;; n++) {
            struct test_heap heap;
            test_heap_init(&heap, n);
            lethe_forgetful *filter = NULL;
            lethe_status status = live(&heap.allocator, setting, &filter);
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
            if (filter != NULL) {
                assert_int_equal(forgetful_stats(filter, 0).memory_bytes, heap.live_bytes);
            }
            lethe_forgetful_free(filter);
            assert_int_equal(heap.live_blocks, 0);
            failed += status != LETHE_OK;
            if (heap.allocations <= n) break;
        }
        assert_true(failed > 10);
    }
}

/* Goal: what can't be merged is not, and a merge past the target shows. */
static void merges_are_judged(void **state) {
    (void)state;
    lethe_forgetful *into, *from, *other;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS, .error = 1e-3);
    assert_ok(lethe_forgetful_new(&options, &into));
    assert_ok(lethe_forgetful_new(&options, &from));
    lethe_forgetful_options others[] = {
        {.window_ms = WINDOW_MS + 1}, {.window_ms = WINDOW_MS, .seed = 5}, {.setting = 1}};
    for (int i = 0; i < 3; i++) {
        others[i].size = sizeof others[i];
        assert_ok(lethe_forgetful_new(&others[i], &other));
        assert_int_equal(lethe_forgetful_merge(into, other), LETHE_EMISMATCH);
        lethe_forgetful_free(other);
    }
    for (uint64_t key = 0; key < 60000; key++) {
        assert_ok(lethe_forgetful_add(into, hash_of(2 * key), key * 2));
        assert_ok(lethe_forgetful_add(from, hash_of(2 * key + 1), key * 2));
    }
    uint64_t end_ms = 60000 * 2;
    double before = forgetful_stats(into, end_ms).error_estimate;
    for (int i = 0; i < 3; i++)
        assert_ok(lethe_forgetful_merge(into, from));
    lethe_forgetful_stats stats = forgetful_stats(into, end_ms);
    assert_true(stats.error_estimate > 3 * before && stats.error_estimate > 1e-3);
    assert_int_equal(stats.strain, LETHE_STRAIN_ERROR);
    assert_ok(lethe_forgetful_merge(from, from));
    for (uint64_t key = 60000 - 29000; key < 60000; key++) {
        assert_true(lethe_forgetful_test(into, hash_of(2 * key), end_ms));
        assert_true(lethe_forgetful_test(into, hash_of(2 * key + 1), end_ms));
        assert_true(lethe_forgetful_test(from, hash_of(2 * key + 1), end_ms));
    }
    /* A window later the error is its own again. */
    for (uint64_t key = 0; key < 40000; key++)
        assert_ok(lethe_forgetful_add(into, hash_of(1000000 + key), end_ms + key * 2));
    while (forgetful_work(into, end_ms + 80000, 8))
        continue;
    assert_int_equal(forgetful_stats(into, end_ms + 80000).strain, 0);
    lethe_forgetful_free(into);
    lethe_forgetful_free(from);
}

static void info_tells_what_is_held(void **state) {
    (void)state;
    lethe_forgetful *filter;
    assert_ok(lethe_forgetful_new(&LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS),
                                  &filter));
    lethe_forgetful_stats stats = forgetful_stats(filter, 77);
    assert_true(stats.ids_held == 0 && stats.oldest_age_ms == 0 && stats.error_estimate == 0);
    lethe_answer answer;
    for (uint64_t key = 0; key < 100; key++) {
        assert_ok(lethe_forgetful_add_and_test(filter, hash_of(key), 1000, &answer));
        assert_int_equal(answer, LETHE_ANSWER_FRESH);
        assert_ok(lethe_forgetful_add_and_test(filter, hash_of(key), 2000, &answer));
        assert_int_equal(answer, LETHE_ANSWER_DUPLICATE);
    }
    stats = forgetful_stats(filter, 31000);
    assert_int_equal(stats.ids_held, 100);
    assert_int_equal(stats.oldest_age_ms, 30000);
    assert_int_equal(stats.fresh, 100);
    assert_int_equal(stats.duplicates, 100);
    assert_int_equal(stats.clock_ms, 2000);
    uint64_t ids = 0;
    for (uint32_t i = 0; i < stats.filters; i++) {
        lethe_forgetful_filter member = forgetful_member(filter, i, 31000);
        assert_true(member.bits_set <= member.bits && member.is_live && !member.is_alone);
        ids += member.ids_as_first;
    }
    assert_int_equal(ids, 100);
    lethe_forgetful_clear(filter);
    assert_int_equal(forgetful_stats(filter, 0).fresh, 0);
    assert_false(lethe_forgetful_test(filter, hash_of(1), 2000));
    lethe_forgetful_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_cap_refuses),
        cmocka_unit_test(a_cap_degrades),
        cmocka_unit_test(a_refusal_changes_nothing),
        cmocka_unit_test(batches_equal_single_calls),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(merges_are_judged),
        cmocka_unit_test(info_tells_what_is_held),
    };
    return cmocka_run_group_tests_name("forgetful_limits", tests, NULL, NULL);
}
