/* Goal: the hash never changes: it is in files. */
#include "support/test.h"

#include <string.h>

#include "lethe/hash.h"
#include "lethe/status.h"

/* Method: values recorded from XXH3-128 of xxHash 0.8.1. */
static void values_are_fixed(void **state) {
    (void)state;
    lethe_hash empty = lethe_hash_bytes(LETHE_DEFAULT_SEED, NULL, 0);
    assert_int_equal(empty.low, UINT64_C(0x546d30e7b0bb19f9));
    assert_int_equal(empty.high, UINT64_C(0xe1e14b55e21132ef));
    lethe_hash word = lethe_hash_bytes(LETHE_DEFAULT_SEED, "lethe", 5);
    assert_int_equal(word.low, UINT64_C(0x3ef0a955c4f84314));
    assert_int_equal(word.high, UINT64_C(0x37fbc50f08af236f));
    char text[300];
    memset(text, 'x', sizeof text);
    lethe_hash longer = lethe_hash_bytes(7, text, sizeof text);
    assert_int_equal(longer.low, UINT64_C(0x65afa05e0f083a41));
    assert_int_equal(longer.high, UINT64_C(0x929877c9ac8814d6));
}

static void a_number_is_its_eight_bytes(void **state) {
    (void)state;
    const unsigned char bytes[] = {8, 7, 6, 5, 4, 3, 2, 1};
    lethe_hash a = lethe_hash_u64(5, UINT64_C(0x0102030405060708));
    lethe_hash b = lethe_hash_bytes(5, bytes, sizeof bytes);
    assert_memory_equal(&a, &b, sizeof a);
}

static void batches_are_single_hashes(void **state) {
    (void)state;
    enum { COUNT = 100 };
    char text[COUNT];
    lethe_bytes keys[COUNT];
    uint64_t numbers[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        text[i] = (char)i;
        keys[i] = (lethe_bytes){text, i};
        numbers[i] = i * i;
    }
    lethe_hash of_keys[COUNT], of_numbers[COUNT];
    lethe_hash_batch(9, keys, COUNT, of_keys);
    lethe_hash_u64_batch(9, numbers, COUNT, of_numbers);
    for (size_t i = 0; i < COUNT; i++) {
        lethe_hash key = lethe_hash_bytes(9, keys[i].data, keys[i].size);
        lethe_hash number = lethe_hash_u64(9, numbers[i]);
        assert_memory_equal(&of_keys[i], &key, sizeof key);
        assert_memory_equal(&of_numbers[i], &number, sizeof number);
    }
}

static void the_seed_matters(void **state) {
    (void)state;
    assert_true(lethe_hash_u64(1, 1).low != lethe_hash_u64(2, 1).low);
    assert_true(lethe_hash_u64(1, 1).high != lethe_hash_u64(2, 1).high);
}

static void every_status_has_a_phrase(void **state) {
    (void)state;
    for (int status = LETHE_OK; status <= LETHE_EDEVICE; status++)
        assert_string_not_equal(lethe_strerror((lethe_status)status), "unknown status");
    assert_string_equal(lethe_strerror((lethe_status)12345), "unknown status");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_fixed),          cmocka_unit_test(a_number_is_its_eight_bytes),
        cmocka_unit_test(batches_are_single_hashes), cmocka_unit_test(the_seed_matters),
        cmocka_unit_test(every_status_has_a_phrase),
    };
    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
