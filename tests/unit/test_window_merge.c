/* Goal:   windows that are alike merge, and know what both knew; others are refused, and nothing
 *         changes.
 * Method: windows that differ in one option; many shards; a cap that the sum would exceed. */
#include "support/test.h"

#include "support/heap.h"
#include "support/reports.h"
#include "support/window.h"

static lethe_hash hash_of(uint64_t id) {
    return lethe_hash_u64(5, id);
}

static void unlike_windows_are_not_merged(void **state) {
    (void)state;
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_window_options options[] = {
        {.window_ms = 2000},
        {.window_ms = 2001},
        {.window_ms = 2000, .kind = LETHE_WINDOW_FORGETFUL},
        {.window_ms = 2000, .seed = 3},
        {.window_ms = 2000, .slack = 0.1},
        {.window_ms = 2000, .stripes = 1},
        {.window_ms = 2000, .allocator = &heap.allocator},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        options[i].size = sizeof options[i];
    lethe_window *window = test_window_make(&options[0]);
    assert_ok(lethe_window_add(window, hash_of(1), 5));
    for (size_t i = 1; i < sizeof options / sizeof options[0]; i++) {
        lethe_window *other = test_window_make(&options[i]);
        assert_ok(lethe_window_add(other, hash_of(2), 5));
        assert_int_equal(lethe_window_merge(window, other), LETHE_EMISMATCH);
        assert_int_equal(window_stats(other, 5).ids, 1);
        lethe_window_free(other);
    }
    assert_int_equal(lethe_window_merge(window, window), LETHE_EMISMATCH);
    assert_int_equal(window_stats(window, 5).ids, 1);
    lethe_window_free(window);
}

/* Many shards into one: all are known, the error is the sum and shows, and growth goes on. */
static void many_windows_become_one(void **state) {
    (void)state;
    enum { SHARDS = 12, IDS = 4000 };
    for (int kind = 0; kind < 2; kind++) {
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .kind = (lethe_window_kind)kind,
                          .window_ms = 100000, .error = 1e-12);
        lethe_window *window = test_window_make(&options);
        uint64_t merged = 0;
        for (uint64_t shard = 0; shard < SHARDS; shard++) {
            lethe_window *other = test_window_make(&options);
            for (uint64_t id = 0; id < IDS; id++)
                assert_ok(lethe_window_add(other, hash_of(shard * IDS + id), id));
            lethe_status status = lethe_window_merge(window, other);
            assert_true(status == LETHE_OK || status == LETHE_EFULL);
            if (status == LETHE_OK) merged = shard + 1;
            lethe_window_free(other);
            if (status != LETHE_OK) break;
        }
        assert_true(merged >= 6);
        for (uint64_t id = 0; id < merged * IDS; id++)
            assert_int_equal(lethe_window_test(window, hash_of(id), IDS), LETHE_ANSWER_DUPLICATE);
        assert_int_equal(window_stats(window, IDS).ids, merged * IDS);
        /* However many parts there are, new ids find room. */
        for (uint64_t id = 0; id < 100000; id++)
            assert_ok(lethe_window_add(window, hash_of((UINT64_C(1) << 40) + id), IDS));
        lethe_window_free(window);
    }
}

/* A merge that would exceed the cap is refused, whatever the policy, and changes nothing. */
static void a_merge_stays_within_the_cap(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (int policy = 0; policy < 2; policy++) {
            lethe_window_options options = LETHE_OPTIONS(
                lethe_window_options, .kind = (lethe_window_kind)kind, .window_ms = 100000,
                .error = 1e-9, .max_memory_bytes = 400000, .policy = (lethe_policy)policy);
            lethe_window *window = test_window_make(&options), *other = test_window_make(&options);
            for (uint64_t id = 0; id < 30000; id++) {
                assert_ok(lethe_window_add(window, hash_of(id), id));
                assert_ok(lethe_window_add(other, hash_of(id + 30000), id));
            }
            lethe_window_stats before = window_stats(window, 30000);
            assert_int_equal(lethe_window_merge(window, other), LETHE_EFULL);
            assert_int_equal(window_stats(window, 30000).memory_bytes, before.memory_bytes);
            assert_int_equal(window_stats(window, 30000).ids, before.ids);
            for (uint64_t id = 0; id < 30000; id++) {
                assert_int_equal(lethe_window_test(other, hash_of(id + 30000), 30000),
                                 LETHE_ANSWER_DUPLICATE);
            }
            lethe_window_free(window);
            lethe_window_free(other);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unlike_windows_are_not_merged),
        cmocka_unit_test(many_windows_become_one),
        cmocka_unit_test(a_merge_stays_within_the_cap),
    };
    return cmocka_run_group_tests_name("window_merge", tests, NULL, NULL);
}
