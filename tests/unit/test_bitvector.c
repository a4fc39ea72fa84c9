/* Goal: rank and select over large vectors are exact, on every CPU path. */
#include "support/test.h"

#include "core/bitvector.h"
#include "core/cpu.h"
#include "support/heap.h"
#include "support/random.h"

/* Checks every position and every set bit against a running count. */
static void check_against_counting(const lethe_bitvector *vector) {
    uint64_t rank = 0;
    for (uint64_t position = 0; position < vector->bits; position++) {
        assert_int_equal(lethe_bitvector_rank(vector, position), rank);
        if (!lethe_bitvector_get(vector, position)) continue;
        assert_int_equal(lethe_bitvector_select(vector, rank), position);
        rank++;
    }
    assert_int_equal(lethe_bitvector_rank(vector, vector->bits), rank);
    assert_int_equal(lethe_bitvector_select(vector, rank), vector->bits);
}

/* Method: sizes around the block of 512, densities from empty to full, on each CPU path. */
static void rank_and_select_match_counting(void **state) {
    (void)state;
    static const uint64_t sizes[] = {1, 63, 64, 65, 511, 512, 513, 1024, 5000, 40001};
    struct test_random random = {3};
    for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
        lethe_cpu_force((lethe_cpu_level)level);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            for (unsigned density = 0; density <= 8; density++) {
                lethe_bitvector vector;
                assert_ok(lethe_bitvector_init(&vector, sizes[i], NULL));
                for (uint64_t bit = 0; bit < sizes[i]; bit++) {
                    if (test_random_below(&random, 8) < density) lethe_bitvector_set(&vector, bit);
                }
                lethe_bitvector_index(&vector);
                check_against_counting(&vector);
                lethe_bitvector_drop(&vector);
            }
        }
    }
    lethe_cpu_force(lethe_cpu_detect());
}

static void bits_can_be_cleared(void **state) {
    (void)state;
    lethe_bitvector vector;
    assert_ok(lethe_bitvector_init(&vector, 1000, NULL));
    lethe_bitvector_set(&vector, 999);
    lethe_bitvector_set(&vector, 5);
    lethe_bitvector_clear(&vector, 5);
    lethe_bitvector_index(&vector);
    assert_int_equal(lethe_bitvector_select(&vector, 0), 999);
    lethe_bitvector_drop(&vector);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    lethe_bitvector vector;
    assert_int_equal(lethe_bitvector_init(&vector, 0, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_bitvector_init(&vector, UINT64_MAX, NULL), LETHE_EINVAL);
    assert_null(vector.words);
}

static void init_survives_each_failed_allocation(void **state) {
    (void)state;
    lethe_status status = LETHE_ENOMEM;
    for (size_t n = 0; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        lethe_bitvector vector;
        status = lethe_bitvector_init(&vector, 10000, &heap.allocator);
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        lethe_bitvector_drop(&vector);
        assert_int_equal(heap.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_and_select_match_counting),
        cmocka_unit_test(bits_can_be_cleared),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(init_survives_each_failed_allocation),
    };
    return cmocka_run_group_tests_name("bitvector", tests, NULL, NULL);
}
