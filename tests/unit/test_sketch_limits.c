/* Goal: options at and beyond their limits, counters that are full, and memory that is not
 *       there: refused or told, and nothing changed. */
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "lethe/sketch.h"
#include "support/heap.h"
#include "support/reports.h"

static void plans_follow_the_options(void **state) {
    (void)state;
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    assert_ok(lethe_sketch_plan(NULL, &shape));
    assert_true(shape.kind == LETHE_SKETCH_COUNT_MIN && shape.width == 65536 && shape.depth == 4 &&
                shape.counter_bits == 32 && shape.memory_bytes == 1 << 20 && shape.top == 0);
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 30000);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_int_equal(shape.is_width, 300000);
    assert_int_equal(shape.is_depth, 4);
    assert_int_equal(shape.query_memory_bytes, 480000);
    assert_int_equal(shape.memory_bytes, 12 * 480000);
    assert_int_equal(shape.removal, LETHE_SKETCH_REMOVAL_SUBTRACTION);
    options = LETHE_OPTIONS(lethe_sketch_options, .epsilon = 0.001, .delta = 0.01);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_true(shape.width == 2719 && shape.depth == 5);
    assert_true(shape.epsilon <= 0.001 && shape.delta <= 0.01);
    options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_COUNT, .epsilon = 0.01,
                            .delta = 0.05);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_true(shape.width >= 40000 && shape.width < 40010 && shape.depth % 2 == 1);
    assert_true(shape.epsilon <= 0.01 && shape.delta <= 0.05);
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        options = LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind,
                                .memory_bytes = 1000000);
        assert_ok(lethe_sketch_plan(&options, &shape));
        assert_true(shape.memory_bytes <= 1000000 && shape.memory_bytes > 999000);
    }
    options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .memory_bytes = 1000000,
                            .depth = 6, .is_depth = 2);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_true(shape.memory_bytes <= 1000000 && shape.memory_bytes > 999000);
    assert_true(shape.is_depth == 2 && shape.depth == 6 && shape.is_width == 10 * shape.width);
    assert_int_equal(shape.memory_bytes, 4 * shape.width * (6 + 6 + 10 * 2));
    options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .is_width = 1000,
                            .memory_bytes = 1000000, .depth = 6, .is_depth = 2);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_int_equal(shape.width, (250000 - 2000) / 12);
    options = LETHE_OPTIONS(lethe_sketch_options, .width = LETHE_SKETCH_MAX_WIDTH, .depth = 16,
                            .counter_bits = 8);
    assert_ok(lethe_sketch_plan(&options, &shape));
    assert_int_equal(shape.memory_bytes, UINT64_C(1) << 32);
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    const lethe_sketch_options bad[] = {
        {.kind = (lethe_sketch_kind)5},
        {.kind = (lethe_sketch_kind)-1},
        {.width = LETHE_SKETCH_MAX_WIDTH + 1},
        {.width = UINT64_MAX},
        {.width = UINT64_MAX / 4 + 1, .depth = 4}, /* w * d wraps to 0 */
        {.width = LETHE_SKETCH_MAX_WIDTH, .depth = 17},
        {.depth = 33},
        {.depth = UINT32_MAX},
        {.counter_bits = 1},
        {.counter_bits = 24},
        {.counter_bits = 128},
        {.kind = LETHE_SKETCH_LOG, .counter_bits = 32},
        {.kind = LETHE_SKETCH_LOG, .counter_bits = 64},
        {.is_width = 10},
        {.kind = LETHE_SKETCH_FID, .is_width = LETHE_SKETCH_MAX_WIDTH + 1},
        {.is_depth = 2},
        {.kind = LETHE_SKETCH_FID, .is_depth = 33},
        {.kind = LETHE_SKETCH_FID, .is_depth = UINT64_MAX},
        {.kind = LETHE_SKETCH_FID, .is_depth = UINT64_MAX, .memory_bytes = 1000000},
        {.kind = LETHE_SKETCH_FID, .is_width = LETHE_SKETCH_MAX_WIDTH, .is_depth = 17},
        {.kind = LETHE_SKETCH_FID, .is_width = UINT64_MAX, .memory_bytes = 1000000},
        {.epsilon = NAN},
        {.epsilon = -0.1},
        {.epsilon = 1},
        {.epsilon = INFINITY},
        {.epsilon = 1e-9},
        {.epsilon = 1e-300},
        {.epsilon = 0.01, .delta = NAN},
        {.epsilon = 0.01, .delta = 0.6},
        {.epsilon = 0.01, .delta = 1e-13},
        {.epsilon = 0.01, .delta = -1},
        {.delta = 0.1},
        {.epsilon = 0.01, .depth = 4},
        {.epsilon = 0.01, .width = 10},
        {.memory_bytes = 1000, .width = 10},
        {.memory_bytes = 1000, .epsilon = 0.1},
        {.memory_bytes = 15},
        {.kind = LETHE_SKETCH_FID, .memory_bytes = 1000, .is_width = 100},
        {.kind = LETHE_SKETCH_FID, .memory_bytes = 1000, .is_width = 25, .is_depth = 10},
        {.removal = LETHE_SKETCH_REMOVAL_SUBTRACTION},
        {.kind = LETHE_SKETCH_LOG, .removal = LETHE_SKETCH_REMOVAL_COUNT_MIN},
        {.kind = LETHE_SKETCH_FID, .removal = (lethe_sketch_removal)4},
        {.top = LETHE_SKETCH_MAX_TOP + 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_sketch_options options = bad[i];
        options.size = sizeof options;
        options.allocator = &heap.allocator;
        lethe_sketch *sketch;
        if (lethe_sketch_new(&options, &sketch) != LETHE_EINVAL) fail_msg("number %zu", i);
        assert_null(sketch);
        assert_int_equal(heap.allocations, 0);
    }
}

/* Goal: a counter that is full stays so, and the answers that rest on it say it. */
static void full_counters_say_so(void **state) {
    (void)state;
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        for (uint32_t bits = 8; bits <= (kind == LETHE_SKETCH_LOG ? 16 : 64); bits *= 2) {
            lethe_sketch_options options = LETHE_OPTIONS(
                lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .width = 1000,
                .counter_bits = bits,
                .removal = kind == LETHE_SKETCH_CONSERVATIVE ? LETHE_SKETCH_REMOVAL_SUBTRACTION
                                                             : LETHE_SKETCH_REMOVAL_DEFAULT);
            lethe_sketch *sketch;
            assert_ok(lethe_sketch_new(&options, &sketch));
            uint64_t max = sketch_stats(sketch).counter_max;
            assert_ok(lethe_sketch_add(sketch, "small", 5, 7));
            if (kind != LETHE_SKETCH_LOG) {
                assert_ok(lethe_sketch_add(sketch, "key", 3, max - 1));
                assert_false(sketch_count(sketch, "key", 3).saturated);
                assert_int_equal(sketch_count(sketch, "key", 3).count, max - 1);
                assert_ok(lethe_sketch_add(sketch, "key", 3, 1));
            } else {
                assert_ok(lethe_sketch_add(sketch, "key", 3, 2 * max));
            }
            for (int i = 0; i < 3; i++) {
                struct sketch_answer answer = sketch_count(sketch, "key", 3);
                assert_true(answer.saturated);
                assert_int_equal(answer.count, max);
                assert_ok(lethe_sketch_add(sketch, "key", 3, i == 0 ? 1 : UINT64_MAX));
            }
            if (kind != LETHE_SKETCH_LOG) {
                /* What is full does not shrink: how far it was beyond is not known. */
                assert_ok(lethe_sketch_remove(sketch, "key", 3, 5));
                assert_int_equal(sketch_count(sketch, "key", 3).count, max);
                assert_true(sketch_count(sketch, "key", 3).saturated);
            }
            assert_false(sketch_count(sketch, "small", 5).saturated);
            if (kind != LETHE_SKETCH_LOG && kind != LETHE_SKETCH_COUNT)
                assert_true(sketch_count(sketch, "small", 5).count >= 7);
            assert_true(sketch_stats(sketch).counters_saturated >= 4);
            assert_true(sketch_stats(sketch).total == UINT64_MAX);
            assert_ok(lethe_sketch_merge(sketch, sketch));
            assert_true(sketch_count(sketch, "key", 3).saturated);
            lethe_sketch_free(sketch);
        }
    }
}

/* Goal: a sample tells about what all counters do, and with room for all of them the same. */
static void a_sample_tells_what_all_counters_do(void **state) {
    (void)state;
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .width = 100003,
                          .depth = 3, .counter_bits = 8);
        lethe_sketch *sketch;
        assert_ok(lethe_sketch_new(&options, &sketch));
        for (uint32_t i = 0; i < 30000; i++)
            assert_ok(lethe_sketch_add(sketch, &i, sizeof i, i % 4 == 0 ? UINT64_MAX / 65536 : 1));
        const lethe_sketch_stats all = sketch_stats(sketch);
        lethe_sketch_stats same = LETHE_INIT(lethe_sketch_stats),
                           some = LETHE_INIT(lethe_sketch_stats);
        assert_ok(lethe_sketch_estimate(sketch, 300009, &same));
        assert_memory_equal(&same, &all, sizeof all);
        assert_ok(lethe_sketch_estimate(sketch, 50000, &some));
        double used = (double)all.counters_used, full = (double)all.counters_saturated;
        assert_true(full > 10000 && used > 2 * full);
        /* The deviation is about 1% of the counters used, and 2% of the full ones. */
        assert_true(fabs((double)some.counters_used - used) < 0.06 * used);
        assert_true(fabs((double)some.counters_saturated - full) < 0.12 * full);
        assert_true(some.total == all.total && some.counter_max == all.counter_max);
        assert_true(some.error_above >= all.error_above);
        assert_ok(lethe_sketch_estimate(sketch, 1, &some));
        lethe_sketch_free(sketch);
    }
}

static void nothing_is_removed_from_nothing(void **state) {
    (void)state;
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .width = 100);
        lethe_sketch *sketch;
        assert_ok(lethe_sketch_new(&options, &sketch));
        bool can = kind != LETHE_SKETCH_LOG && kind != LETHE_SKETCH_CONSERVATIVE;
        assert_int_equal(lethe_sketch_remove(sketch, "x", 1, 1),
                         can ? LETHE_ENOTFOUND : LETHE_EINVAL);
        assert_ok(lethe_sketch_add(sketch, "y", 1, 5));
        if (can) {
            assert_int_equal(lethe_sketch_remove(sketch, "y", 1, 6), LETHE_ENOTFOUND);
            assert_ok(lethe_sketch_remove(sketch, "y", 1, 5));
            assert_int_equal(sketch_stats(sketch).counters_used, 0);
        }
        assert_int_equal(lethe_sketch_add(sketch, "y", 1, 0), LETHE_EINVAL);
        assert_ok(lethe_sketch_add_batch(sketch, NULL, 0, NULL, NULL));
        lethe_sketch_count_batch(sketch, NULL, 0, NULL, NULL);
        assert_ok(lethe_sketch_add(sketch, NULL, 0, 1));
        assert_true(sketch_count(sketch, "", 0).count >= 1);
        lethe_sketch_clear(sketch);
        assert_int_equal(sketch_stats(sketch).counters_used, 0);
        assert_int_equal(sketch_stats(sketch).total, 0);
        lethe_sketch_free(sketch);
    }
    lethe_sketch_free(NULL);
}

/* Goal:   a batch tries every item; the results and the status name those that were refused.
 * Method: weights of zero and keys that are half filled or too long, among good ones. */
static void a_batch_tries_every_item(void **state) {
    (void)state;
    lethe_sketch *sketch, *listing;
    assert_ok(lethe_sketch_new(NULL, &sketch));
    lethe_hash hashes[4];
    for (uint64_t i = 0; i < 4; i++)
        hashes[i] = lethe_hash_u64(lethe_sketch_seed(sketch), i);
    uint64_t weights[4] = {0, 2, 0, 5}, more[4] = {1, 1, 3, 5};
    uint8_t done[4] = {9, 9, 9, 9};
    const uint8_t odd[4] = {0, 1, 0, 1};
    assert_int_equal(lethe_sketch_add_batch(sketch, hashes, 4, weights, done), LETHE_EINVAL);
    assert_memory_equal(done, odd, sizeof done);
    assert_int_equal(lethe_sketch_total(sketch), 7);
    assert_int_equal(lethe_sketch_count_hash(sketch, hashes[1], NULL), 2);
    assert_int_equal(lethe_sketch_remove_batch(sketch, hashes, 4, more, done), LETHE_ENOTFOUND);
    assert_memory_equal(done, odd, sizeof done);
    assert_int_equal(lethe_sketch_total(sketch), 1);
    more[0] = 0;
    assert_int_equal(lethe_sketch_remove_batch(sketch, hashes, 3, more, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_sketch_total(sketch), 0);
    lethe_sketch_free(sketch);

    assert_ok(lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .top = 5), &listing));
    static char longest[LETHE_SKETCH_MAX_KEY_BYTES + 1];
    const lethe_bytes keys[4] = {{NULL, 1}, {"a", 1}, {longest, sizeof longest}, {"", 0}};
    assert_int_equal(lethe_sketch_add_key_batch(listing, keys, 4, NULL, done), LETHE_EINVAL);
    assert_memory_equal(done, odd, sizeof done);
    assert_int_equal(sketch_stats(listing).top_listed, 2);
    assert_int_equal(lethe_sketch_remove_key_batch(listing, keys, 4, NULL, done), LETHE_EINVAL);
    assert_memory_equal(done, odd, sizeof done);
    assert_int_equal(lethe_sketch_total(listing), 0);
    lethe_sketch_free(listing);
}

static void unlike_sketches_are_not_merged(void **state) {
    (void)state;
    const lethe_sketch_options first =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 100, .depth = 3);
    lethe_sketch_options others[9];
    for (int i = 0; i < 9; i++)
        others[i] = first;
    others[0].kind = LETHE_SKETCH_CONSERVATIVE;
    others[1].width = 101;
    others[2].depth = 4;
    others[3].is_width = 1001;
    others[4].counter_bits = 64;
    others[5].removal = LETHE_SKETCH_REMOVAL_COUNT_MIN;
    others[6].top = 1;
    others[7].seed = 1;
    others[8].is_depth = 4;
    lethe_sketch *sketch, *other;
    assert_ok(lethe_sketch_new(&first, &sketch));
    assert_ok(lethe_sketch_add(sketch, "a", 1, 3));
    for (int i = 0; i < 9; i++) {
        assert_ok(lethe_sketch_new(&others[i], &other));
        assert_ok(lethe_sketch_add(other, "a", 1, 5));
        assert_int_equal(lethe_sketch_merge(sketch, other), LETHE_EMISMATCH);
        assert_int_equal(lethe_sketch_merge(other, sketch), LETHE_EMISMATCH);
        assert_int_equal(sketch_count(sketch, "a", 1).count, 3);
        assert_int_equal(sketch_stats(sketch).total, 3);
        lethe_sketch_free(other);
    }
    lethe_sketch_free(sketch);
}

/* Everything that allocates, in one go; the first failure ends it. */
static lethe_status try_all(const lethe_allocator *allocator, lethe_sketch *made[3]) {
    lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                                                 .width = 50, .top = 100, .allocator = allocator);
    lethe_status status = lethe_sketch_new(&options, &made[0]);
    for (uint64_t key = 0; status == LETHE_OK && key < 200; key++)
        status = lethe_sketch_add(made[0], &key, sizeof key, 1);
    char longer[500] = {0};
    if (status == LETHE_OK) status = lethe_sketch_add(made[0], longer, sizeof longer, 1000);
    if (status == LETHE_OK) status = lethe_sketch_copy(made[0], &made[1]);
    if (status == LETHE_OK) status = lethe_sketch_merge(made[0], made[1]);
    lethe_sketch_top_entry entries[10];
    size_t listed;
    if (status == LETHE_OK) status = lethe_sketch_top(made[0], entries, 10, &listed);
    options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_LOG, .width = 9,
                            .allocator = allocator);
    if (status == LETHE_OK) status = lethe_sketch_new(&options, &made[2]);
    return status;
}

static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    lethe_status status = LETHE_ENOMEM;
    size_t n = 0;
    for (; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        lethe_sketch *made[3] = {NULL, NULL, NULL};
        status = try_all(&heap.allocator, made);
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_true(status != LETHE_OK || made[2] != NULL);
        for (int i = 0; i < 3; i++)
            lethe_sketch_free(made[i]);
        assert_int_equal(heap.live_blocks, 0);
    }
    assert_true(n > 200);
}

/* A failed merge has changed nothing, also where the lists were to be joined. */
static void a_failed_merge_changes_nothing(void **state) {
    (void)state;
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .width = 50, .top = 3, .allocator = &heap.allocator);
    lethe_sketch *sketch, *other;
    assert_ok(lethe_sketch_new(&options, &sketch));
    assert_ok(lethe_sketch_new(&options, &other));
    assert_ok(lethe_sketch_add(sketch, "a", 1, 3));
    assert_ok(lethe_sketch_add(other, "b", 1, 5));
    for (size_t n = 0;; n++) {
        heap.fail_at = heap.allocations + n;
        lethe_status status = lethe_sketch_merge(sketch, other);
        heap.fail_at = SIZE_MAX;
        if (status == LETHE_OK) break;
        assert_int_equal(status, LETHE_ENOMEM);
        assert_int_equal(sketch_stats(sketch).total, 3);
        assert_int_equal(sketch_stats(sketch).top_listed, 1);
        assert_int_equal(sketch_count(sketch, "b", 1).count, 0);
    }
    assert_int_equal(sketch_stats(sketch).top_listed, 2);
    lethe_sketch_free(sketch);
    lethe_sketch_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_follow_the_options),
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(full_counters_say_so),
        cmocka_unit_test(a_sample_tells_what_all_counters_do),
        cmocka_unit_test(nothing_is_removed_from_nothing),
        cmocka_unit_test(a_batch_tries_every_item),
        cmocka_unit_test(unlike_sketches_are_not_merged),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(a_failed_merge_changes_nothing),
    };
    return cmocka_run_group_tests_name("sketch_limits", tests, NULL, NULL);
}
