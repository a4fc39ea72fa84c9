/* Goal: word arithmetic is right, and both implementations of select agree. */
#include "support/test.h"

#include "core/bits.h"
#include "core/cpu.h"
#include "lethe/version.h"
#include "support/random.h"

static unsigned naive_select(uint64_t word, unsigned index) {
    for (unsigned bit = 0; bit < 64; bit++) {
        if ((word >> bit & 1) != 0 && index-- == 0) return bit;
    }
    return 64;
}

#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("bmi,bmi2"))) static unsigned pdep_select(uint64_t word, unsigned index) {
    return (unsigned)_tzcnt_u64(_pdep_u64(UINT64_C(1) << index, word));
}
#endif

/* Method: words of every density, all indexes, against counting bit by bit. */
static void select_finds_each_bit(void **state) {
    (void)state;
    struct test_random random = {1};
    for (int round = 0; round < 20000; round++) {
        uint64_t word = test_random_next(&random);
        for (int thin = round % 5; thin > 0; thin--)
            word &= test_random_next(&random);
        if (round % 7 == 0) word = ~word;
        for (unsigned index = 0; index < 66; index++) {
            unsigned expected = naive_select(word, index);
            assert_int_equal(lethe_select64_portable(word, index), expected);
            assert_int_equal(lethe_select64(word, index), expected);
#if defined(__x86_64__)
            if (lethe_cpu_detect() >= LETHE_CPU_AVX2 && index < 64)
                assert_int_equal(pdep_select(word, index), expected);
#endif
        }
    }
}

static void rank_is_the_inverse_of_select(void **state) {
    (void)state;
    struct test_random random = {2};
    for (int round = 0; round < 10000; round++) {
        uint64_t word = test_random_next(&random);
        assert_int_equal(lethe_rank64(word, 64), lethe_popcount64(word));
        for (unsigned index = 0; index < lethe_popcount64(word); index++)
            assert_int_equal(lethe_rank64(word, lethe_select64(word, index)), index);
    }
}

static void multiply_high_keeps_the_upper_half(void **state) {
    (void)state;
    assert_int_equal(lethe_multiply_high(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
    assert_int_equal(lethe_multiply_high(UINT64_C(1) << 63, 10), 5);
    assert_int_equal(lethe_multiply_high(UINT64_MAX, 1), 0);
}

/* Method: whatever LETHE_CPU said, a level can be forced that the hardware has, and its name
 *         fits. */
static void the_cpu_path_has_a_name(void **state) {
    (void)state;
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    lethe_cpu_level before = lethe_cpu();
    assert_true(before <= lethe_cpu_detect());
    for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
        lethe_cpu_force((lethe_cpu_level)level);
        assert_string_equal(lethe_cpu_path(), names[level]);
    }
    lethe_cpu_force(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(select_finds_each_bit),
        cmocka_unit_test(rank_is_the_inverse_of_select),
        cmocka_unit_test(multiply_high_keeps_the_upper_half),
        cmocka_unit_test(the_cpu_path_has_a_name),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
