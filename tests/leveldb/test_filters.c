/* Goal: a filter as LevelDB gets it loses no key, tells damage from itself, and survives any
 *       bytes. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/leveldb.h"
#include "support/golden.h"
#include "support/heap.h"
#include "support/random.h"

enum { MOST_KEYS = 600, KEY_LENGTH = 16 };

static const char *const kinds[] = {"bloom", "blocked", "gaussian", "quotient"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static char texts[MOST_KEYS][2 * KEY_LENGTH];
static const char *keys[MOST_KEYS];
static size_t sizes[MOST_KEYS];

/* Keys of 0 to 15 bytes. */
static int make_keys(void **state) {
    (void)state;
    for (unsigned i = 0; i < MOST_KEYS; i++) {
        snprintf(texts[i], sizeof texts[i], "%x-%015u", i, i);
        keys[i] = texts[i];
        sizes[i] = i % KEY_LENGTH;
    }
    return 0;
}

static lethe_leveldb *make(const char *kind, const lethe_leveldb_options *options) {
    lethe_leveldb *policy;
    assert_ok(lethe_leveldb_new(kind, options, &policy));
    return policy;
}

static void no_key_is_lost(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        lethe_leveldb *policy = make(kinds[k], NULL);
        lethe_leveldb *other =
            make(kinds[k], &LETHE_OPTIONS(lethe_leveldb_options, .bits_per_key = 21));
        for (size_t count = 0; count <= MOST_KEYS; count += 1 + count / 8) {
            size_t size;
            char *filter = lethe_leveldb_create(policy, keys, sizes, count, &size);
            assert_true(filter != NULL && size > 0);
            for (size_t i = 0; i < count; i++) {
                assert_true(lethe_leveldb_match(policy, keys[i], sizes[i], filter, size));
                assert_true(lethe_leveldb_match(other, keys[i], sizes[i], filter, size));
            }
            free(filter);
        }
        lethe_leveldb_free(policy);
        lethe_leveldb_free(other);
    }
}

/* Goal: a damaged filter matches every key of its own, always; and a good one rejects most others.
 * Method: every single bit, and random bytes at every place, in filters of 40 keys. */
static void damage_is_noticed(void **state) {
    (void)state;
    struct test_random random = {1};
    for (int k = 0; k < KINDS; k++) {
        lethe_leveldb *policy = make(kinds[k], NULL);
        size_t size, count = 40, absent = 0;
        char *filter = lethe_leveldb_create(policy, keys, sizes, count, &size);
        for (size_t i = count; i < MOST_KEYS; i++)
            absent += !lethe_leveldb_match(policy, keys[i], 15, filter, size);
        assert_true(absent > (MOST_KEYS - count) * 8 / 10);
        for (size_t flip = 0; flip < size * 16; flip++) {
            char kept = filter[flip / 16];
            unsigned change = flip % 16 < 8 ? 1U << flip % 8 : 1 + test_random_below(&random, 255);
            filter[flip / 16] = (char)(kept ^ (char)change);
            for (size_t i = 0; i < count; i++)
                assert_true(lethe_leveldb_match(policy, keys[i], sizes[i], filter, size));
            filter[flip / 16] = kept;
        }
        free(filter);
        lethe_leveldb_free(policy);
    }
}

/* Goal: bytes of any size get an answer, and a cut or joined filter the careful one. */
static void any_bytes_are_answered(void **state) {
    (void)state;
    struct test_random random = {2};
    for (int k = 0; k < KINDS; k++) {
        lethe_leveldb *policy = make(kinds[k], NULL);
        uint64_t absent = 0;
        for (int times = 0; times < 50000; times++) {
            size_t size = test_random_below(&random, 200);
            char *bytes = malloc(size > 0 ? size : 1);
            for (size_t i = 0; i < size; i++)
                bytes[i] = (char)test_random_next(&random);
            absent += !lethe_leveldb_match(policy, "styx", 4, bytes, size);
            free(bytes);
        }
        assert_true(absent < 10); /* one in 65,536 passes for a filter */
        size_t size;
        char *filter = lethe_leveldb_create(policy, keys, sizes, 100, &size);
        for (size_t cut = 0; cut < size; cut++) {
            char *part = malloc(cut > 0 ? cut : 1);
            memcpy(part, filter, cut);
            for (size_t i = 0; i < 100; i++)
                assert_true(lethe_leveldb_match(policy, keys[i], sizes[i], part, cut));
            free(part);
        }
        free(filter);
        lethe_leveldb_free(policy);
    }
}

static void names_tell_kind_and_seed(void **state) {
    (void)state;
    lethe_leveldb *plain = make("quotient", NULL);
    lethe_leveldb *wide =
        make("quotient", &LETHE_OPTIONS(lethe_leveldb_options, .bits_per_key = 20));
    lethe_leveldb *seeded = make("quotient", &LETHE_OPTIONS(lethe_leveldb_options, .seed = 7));
    lethe_leveldb *bloom = make("bloom", NULL);
    assert_string_equal(lethe_leveldb_name(plain), "lethe.quotient.v1");
    assert_string_equal(lethe_leveldb_name(wide), "lethe.quotient.v1");
    assert_string_equal(lethe_leveldb_name(bloom), "lethe.bloom.v1");
    assert_memory_equal(lethe_leveldb_name(seeded), "lethe.quotient.v1.", 18);
    assert_int_equal(strlen(lethe_leveldb_name(seeded)), 18 + 16);
    lethe_leveldb_free(plain);
    lethe_leveldb_free(wide);
    lethe_leveldb_free(seeded);
    lethe_leveldb_free(bloom);
    lethe_leveldb_free(NULL);
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        lethe_leveldb *policy = make(kinds[k], NULL);
        size_t size;
        char *filter = lethe_leveldb_create(policy, keys, sizes, 30, &size), name[64];
        snprintf(name, sizeof name, "leveldb-%s-v1.bin", kinds[k]);
        golden_check(name, filter, size);
        free(filter);
        lethe_leveldb_free(policy);
    }
}

#define OPTIONS(...) LETHE_OPTIONS(lethe_leveldb_options, __VA_ARGS__)

static void bad_options_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *kind;
        lethe_leveldb_options options;
    } bad[] = {
        {NULL, OPTIONS(.hashes = 0)},           {"", OPTIONS(.hashes = 0)},
        {"Bloom", OPTIONS(.hashes = 0)},        {"cuckoo", OPTIONS(.hashes = 0)},
        {"bloom", OPTIONS(.bits_per_key = -1)}, {"bloom", OPTIONS(.bits_per_key = 1e9)},
        {"bloom", OPTIONS(.slot_bits = 2)},     {"bloom", OPTIONS(.hashes = 33)},
        {"gaussian", OPTIONS(.slot_bits = 9)},  {"quotient", OPTIONS(.bits_per_key = 2)},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_leveldb *policy = (lethe_leveldb *)&policy;
        assert_int_equal(lethe_leveldb_new(bad[i].kind, &bad[i].options, &policy), LETHE_EINVAL);
        assert_null(policy);
        leveldb_filterpolicy_t *made = (leveldb_filterpolicy_t *)&made;
        assert_int_equal(lethe_leveldb_policy(bad[i].kind, &bad[i].options, &made), LETHE_EINVAL);
        assert_null(made);
    }
}

static void each_failed_allocation_is_reported(void **state) {
    (void)state;
    lethe_status status = LETHE_ENOMEM;
    for (size_t n = 0; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        lethe_leveldb *policy;
        status = lethe_leveldb_new(
            "gaussian", &LETHE_OPTIONS(lethe_leveldb_options, .allocator = &heap.allocator),
            &policy);
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_true((policy != NULL) == (status == LETHE_OK));
        lethe_leveldb_free(policy);
        assert_int_equal(heap.live_blocks, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_lost),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(any_bytes_are_answered),
        cmocka_unit_test(names_tell_kind_and_seed),
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(each_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests_name("leveldb filters", tests, make_keys, NULL);
}
