/* Goal: the judges themselves can say no. */
#include "support/test.h"

#include "lethe/status.h"
#include "support/heap.h"
#include "support/model_set.h"
#include "support/random.h"
#include "support/statistics.h"

static void rates_are_judged_both_ways(void **state) {
    (void)state;
    assert_true(rate_is_at_most(10000, 1000000, 0.01));
    assert_true(rate_is_at_most(10400, 1000000, 0.01));
    assert_false(rate_is_at_most(10600, 1000000, 0.01));
    assert_false(rate_is_at_least(9400, 1000000, 0.01));
    assert_true(rate_is_within(11000, 1000000, 0.01, 0.15));
    assert_false(rate_is_within(12500, 1000000, 0.01, 0.15));
    assert_false(rate_is_within(7500, 1000000, 0.01, 0.15));
    assert_false(rate_is_at_most(30, 1000000, 1e-9));
}

static void the_model_set_is_exact(void **state) {
    (void)state;
    struct model_set set = {0};
    for (uint64_t key = 1; key < 10000; key += 2)
        assert_true(model_set_add(&set, key));
    for (uint64_t key = 1; key < 10000; key++) {
        assert_int_equal(model_set_has(&set, key), key % 2);
        if (key % 2 == 1) assert_false(model_set_add(&set, key));
    }
    assert_int_equal(set.count, 5000);
    model_set_free(&set);
}

static void the_heap_fails_when_told(void **state) {
    (void)state;
    struct test_heap heap;
    test_heap_init(&heap, 1);
    void *first = heap.allocator.allocate_zeroed(heap.allocator.context, 10);
    assert_non_null(first);
    assert_null(heap.allocator.allocate_zeroed(heap.allocator.context, 10));
    assert_int_equal(heap.live_bytes, 10);
    heap.allocator.release(heap.allocator.context, first, 10);
    assert_int_equal(heap.live_bytes, 0);
}

static void random_numbers_stay_below(void **state) {
    (void)state;
    struct test_random random = {0};
    unsigned counts[3] = {0};
    for (int i = 0; i < 30000; i++)
        counts[test_random_below(&random, 3)]++;
    for (int i = 0; i < 3; i++)
        assert_true(rate_is_within(counts[i], 30000, 1.0 / 3, 0.01));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_judged_both_ways),
        cmocka_unit_test(the_model_set_is_exact),
        cmocka_unit_test(the_heap_fails_when_told),
        cmocka_unit_test(random_numbers_stay_below),
    };
    return cmocka_run_group_tests_name("support", tests, NULL, NULL);
}
