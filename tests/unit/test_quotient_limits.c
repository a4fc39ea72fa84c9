/* Goal: options out of range, full and crowded filters, failed allocations and absurd counts are
 *       errors after which nothing has changed; the error rate is the one promised; all code
 *       paths make the same bytes. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/quotient/quotient.h"
#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"

static lethe_quotient *make(lethe_quotient_options options) {
    lethe_quotient *filter;
    assert_ok(lethe_quotient_new(&options, &filter));
    return filter;
}

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    const lethe_quotient_options bad[] = {
        LETHE_OPTIONS(lethe_quotient_options, .capacity = LETHE_QUOTIENT_MAX_CAPACITY + 1),
        LETHE_OPTIONS(lethe_quotient_options, .error = 0.6),
        LETHE_OPTIONS(lethe_quotient_options, .error = 1e-16),
        LETHE_OPTIONS(lethe_quotient_options, .error = -1),
        LETHE_OPTIONS(lethe_quotient_options, .error = NAN),
        LETHE_OPTIONS(lethe_quotient_options, .capacity = 10, .remainder_bits = 8),
        LETHE_OPTIONS(lethe_quotient_options, .capacity = 10, .slots = 64),
        LETHE_OPTIONS(lethe_quotient_options, .error = 0.1, .slots = 64),
        LETHE_OPTIONS(lethe_quotient_options, .slots = LETHE_QUOTIENT_MAX_SLOTS + 1),
        LETHE_OPTIONS(lethe_quotient_options, .slots = UINT64_MAX),
        LETHE_OPTIONS(lethe_quotient_options, .slots = 64, .remainder_bits = 58),
        LETHE_OPTIONS(lethe_quotient_options, .slots = 192, .remainder_bits = 57),
        LETHE_OPTIONS(lethe_quotient_options, .slots = LETHE_QUOTIENT_MAX_SLOTS,
                      .remainder_bits = 24),
        LETHE_OPTIONS(lethe_quotient_options, .capacity = LETHE_QUOTIENT_MAX_CAPACITY,
                      .error = 1e-9),
        LETHE_OPTIONS(lethe_quotient_options, .capacity = 1000, .grow_to = 999),
        LETHE_OPTIONS(lethe_quotient_options, .capacity = 1000,
                      .grow_to = LETHE_QUOTIENT_MAX_CAPACITY + 1),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
        lethe_quotient *filter;
        assert_int_equal(lethe_quotient_plan(&bad[i], &shape), LETHE_EINVAL);
        assert_int_equal(lethe_quotient_new(&bad[i], &filter), LETHE_EINVAL);
        assert_null(filter);
    }
}

/* Goal: a plan keeps the error at capacity, at most 90% full, and wastes little. */
static void plans_keep_their_promises(void **state) {
    (void)state;
    for (uint64_t capacity = 1; capacity <= LETHE_QUOTIENT_MAX_CAPACITY;
         capacity = capacity * 3 + 1) {
        for (double error = 0.5; error > 2e-7; error /= 3) {
            lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
            assert_ok(lethe_quotient_plan(
                &LETHE_OPTIONS(lethe_quotient_options, .capacity = capacity, .error = error),
                &shape));
            double range = (double)shape.max_fingerprint + 1;
            assert_true((double)capacity / range <= error);
            assert_true(shape.error <= error && shape.error > 0);
            assert_true((double)capacity <= 0.9 * (double)shape.slots);
            assert_true((double)shape.slots <= (double)capacity / 0.9 * 1.01 + 64);
            assert_true(shape.remainder_bits == 1 || 2.3 * (double)capacity / range > error ||
                        capacity < 64);
        }
    }
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    assert_ok(lethe_quotient_plan(&LETHE_OPTIONS(lethe_quotient_options, .capacity = 1000,
                                                 .grow_to = 1000000, .error = 0.001),
                                  &shape));
    assert_true(1000000 / ((double)shape.max_fingerprint + 1) <= 0.001);
    assert_ok(lethe_quotient_plan(
        &LETHE_OPTIONS(lethe_quotient_options, .slots = 128, .remainder_bits = 57), &shape));
    assert_true(shape.max_fingerprint == UINT64_MAX);
}

/* Method: twenty million absent keys are asked for; the share that seems present is distinct /
 *         range. */
static void the_error_is_as_told(void **state) {
    (void)state;
    static const double errors[] = {0.3, 0.01, 0.0005};
    for (int i = 0; i < 3; i++) {
        lethe_quotient *filter =
            make(LETHE_OPTIONS(lethe_quotient_options, .capacity = 100000, .error = errors[i]));
        for (uint64_t key = 0; key < 100000; key++)
            assert_ok(lethe_quotient_add_hash(filter, hash_of(key), 1));
        double told = quotient_stats(filter).error_estimate;
        assert_true(told <= errors[i]);
        uint64_t hits = 0, trials = 7000000;
        for (uint64_t key = 0; key < trials; key++)
            hits += lethe_quotient_test_hash(filter, hash_of(100000 + key));
        assert_true(rate_is_within(hits, trials, told, 0.05));
        assert_true(rate_is_at_most(hits, trials, errors[i]));
        lethe_quotient_free(filter);
    }
}

/* Goal: 95% of the slots can be used, then adding is LETHE_EFULL; all keys stay; removing makes
 *       room again. */
static void full_is_an_error_and_loses_nothing(void **state) {
    (void)state;
    static const uint32_t widths[] = {3, 8, 11, 16, 40};
    static const uint64_t slots[] = {64, 640, 200000};
    for (size_t i = 0; i < 15; i++) {
        lethe_quotient *filter = make(LETHE_OPTIONS(lethe_quotient_options, .slots = slots[i % 3],
                                                    .remainder_bits = widths[i / 3]));
        uint64_t keys = 0;
        lethe_status status;
        while ((status = lethe_quotient_add_hash(filter, hash_of(keys), 1)) == LETHE_OK)
            keys++;
        lethe_quotient_stats stats = quotient_stats(filter);
        assert_int_equal(status, LETHE_EFULL);
        assert_int_equal(stats.total, keys);
        assert_true(stats.load >= 0.95);
        assert_true(lethe_quotient_is_sound(filter));
        for (uint64_t key = 0; key < keys; key++)
            assert_true(lethe_quotient_test_hash(filter, hash_of(key)));
        lethe_hash batch[3] = {hash_of(keys), hash_of(keys + 1), hash_of(keys + 2)};
        uint8_t added[3];
        status = lethe_quotient_add_batch(filter, batch, 3, added);
        size_t done = (size_t)added[0] + added[1] + added[2];
        assert_int_equal(status, done == 3 ? LETHE_OK : LETHE_EFULL);
        for (uint64_t key = 0; key < keys; key++)
            assert_ok(lethe_quotient_remove_hash(filter, hash_of(key), 1));
        assert_int_equal(quotient_stats(filter).total, done);
        assert_true(lethe_quotient_is_sound(filter));
        lethe_quotient_free(filter);
    }
}

static void it_grows_to_its_cap(void **state) {
    (void)state;
    lethe_quotient *filter = make(
        LETHE_OPTIONS(lethe_quotient_options, .capacity = 1000, .grow_to = 100000, .error = 0.001));
    uint64_t keys = 0;
    while (lethe_quotient_add_hash(filter, hash_of(keys), 1) == LETHE_OK) {
        keys++;
        lethe_quotient_stats stats = quotient_stats(filter);
        assert_true(keys > 100000 || stats.error_estimate <= 0.001);
    }
    assert_true(keys >= 100000 && keys < 250000);
    assert_true(quotient_stats(filter).doublings >= 6);
    for (uint64_t key = 0; key < keys; key++)
        assert_true(lethe_quotient_test_hash(filter, hash_of(key)));
    lethe_quotient_free(filter);
}

/* Goal: fingerprints chosen to crowd one bucket, or to fill one block after the other, are
 *       refused at some time, and quickly; those that were taken stay. */
static void crowds_are_refused(void **state) {
    (void)state;
    lethe_quotient *filter =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 65536, .remainder_bits = 40,
                           .grow_to = UINT64_C(1) << 30));
    uint64_t crowd = 0;
    while (lethe_quotient_add_fingerprint(filter, (UINT64_C(77) << 40) + 3 * crowd, 1) == LETHE_OK)
        crowd++;
    assert_true(crowd >= 255 && crowd <= LETHE_QUOTIENT_MAX_HOMED);
    assert_int_equal(quotient_stats(filter).doublings, 0);
    assert_true(lethe_quotient_is_sound(filter));
    for (uint64_t i = 0; i < crowd; i++)
        assert_int_equal(lethe_quotient_count_fingerprint(filter, (UINT64_C(77) << 40) + 3 * i), 1);
    lethe_quotient_free(filter);

    /* One entry in each bucket of a thousand blocks, then one more in the first. */
    filter = make(LETHE_OPTIONS(lethe_quotient_options, .slots = 131072, .remainder_bits = 40));
    for (uint64_t quotient = 0; quotient < UINT64_C(1000) * 64; quotient++)
        assert_ok(lethe_quotient_add_fingerprint(filter, quotient << 40, 1));
    lethe_quotient *copy;
    assert_ok(lethe_quotient_copy(filter, &copy));
    assert_int_equal(lethe_quotient_add_fingerprint(filter, 1, 1), LETHE_EFULL);
    assert_int_equal(lethe_quotient_add_fingerprint(filter, 1, 5), LETHE_EFULL);
    assert_memory_equal(filter->table.remainders, copy->table.remainders,
                        filter->shape.memory_bytes);
    assert_int_equal(quotient_stats(filter).counted, 0);
    lethe_quotient_free(copy);
    lethe_quotient_free(filter);
}

static void counts_do_not_overflow(void **state) {
    (void)state;
    lethe_quotient *filter = make((lethe_quotient_options)LETHE_INIT(lethe_quotient_options)),
                   *merged;
    assert_ok(lethe_quotient_add(filter, "a", 1, UINT64_MAX - 1));
    assert_int_equal(lethe_quotient_add(filter, "a", 1, 2), LETHE_EFULL);
    assert_int_equal(lethe_quotient_count(filter, "a", 1), UINT64_MAX - 1);
    const lethe_quotient *two[] = {filter, filter};
    assert_int_equal(lethe_quotient_new_merged(two, 2, &merged), LETHE_EFULL);
    assert_null(merged);
    assert_ok(lethe_quotient_add(filter, "b", 1, 5));
    assert_true(quotient_stats(filter).total == UINT64_MAX);
    assert_ok(lethe_quotient_remove(filter, "a", 1, UINT64_MAX - 1));
    assert_false(lethe_quotient_test(filter, "a", 1));
    assert_int_equal(lethe_quotient_count(filter, "b", 1), 5);
    assert_int_equal(lethe_quotient_add(filter, "b", 1, 0), LETHE_EINVAL);
    assert_int_equal(lethe_quotient_remove(filter, "b", 1, 0), LETHE_EINVAL);
    assert_int_equal(lethe_quotient_remove(filter, "b", 1, 6), LETHE_ENOTFOUND);
    assert_int_equal(lethe_quotient_count(filter, "b", 1), 5);
    lethe_quotient_free(filter);
}

static void fingerprints_out_of_range_are_refused(void **state) {
    (void)state;
    lethe_quotient *filter =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 192, .remainder_bits = 4));
    uint64_t beyond = filter->max_fingerprint + 1;
    assert_int_equal(beyond, 192 * 16);
    assert_ok(lethe_quotient_add_fingerprint(filter, beyond - 1, 1));
    assert_int_equal(lethe_quotient_add_fingerprint(filter, beyond, 1), LETHE_EINVAL);
    assert_int_equal(lethe_quotient_remove_fingerprint(filter, beyond, 1), LETHE_EINVAL);
    assert_false(lethe_quotient_test_fingerprint(filter, beyond));
    assert_int_equal(lethe_quotient_count_fingerprint(filter, UINT64_MAX), 0);
    uint64_t batch[] = {5, 6, beyond, 7};
    uint8_t present[4], added[4];
    assert_int_equal(lethe_quotient_add_fingerprint_batch(filter, batch, 4, added), LETHE_EINVAL);
    assert_memory_equal(added, ((uint8_t[]){1, 1, 0, 1}), 4);
    lethe_quotient_test_fingerprint_batch(filter, batch, 4, present);
    assert_memory_equal(present, ((uint8_t[]){1, 1, 0, 1}), 4);
    lethe_quotient_cursor cursor = lethe_quotient_seek(filter, beyond);
    lethe_quotient_entry entry;
    assert_int_equal(lethe_quotient_next(&cursor, &entry, 1), 0);
    lethe_quotient_free(filter);
}

static void strangers_do_not_merge(void **state) {
    (void)state;
    lethe_quotient *a =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 128, .remainder_bits = 8));
    lethe_quotient *b =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 128, .remainder_bits = 9));
    lethe_quotient *c =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 128, .remainder_bits = 8, .seed = 5));
    lethe_quotient *merged;
    assert_int_equal(lethe_quotient_new_merged((const lethe_quotient *[]){a, b}, 2, &merged),
                     LETHE_EMISMATCH);
    assert_int_equal(lethe_quotient_new_merged((const lethe_quotient *[]){a, c}, 2, &merged),
                     LETHE_EMISMATCH);
    assert_int_equal(lethe_quotient_new_merged(NULL, 0, &merged), LETHE_EINVAL);
    assert_null(merged);
    assert_int_equal(lethe_quotient_merge(a, b), LETHE_EMISMATCH);
    assert_ok(lethe_quotient_add(a, "x", 1, 1));
    assert_ok(lethe_quotient_merge(a, a));
    assert_int_equal(lethe_quotient_count(a, "x", 1), 2);
    lethe_quotient_free(a);
    lethe_quotient_free(b);
    lethe_quotient_free(c);
}

/* Goal: merging many is the sum of all, whatever their slots. */
static void many_merge_at_once(void **state) {
    (void)state;
    enum { FILTERS = 37 };
    lethe_quotient *filters[FILTERS], *merged, *one_by_one;
    one_by_one =
        make(LETHE_OPTIONS(lethe_quotient_options, .slots = 640 * 64, .remainder_bits = 14));
    for (unsigned i = 0; i < FILTERS; i++) {
        filters[i] = make(LETHE_OPTIONS(lethe_quotient_options, .slots = UINT64_C(1280) << i % 4,
                                        .remainder_bits = 19 - i % 4));
        for (uint64_t key = 0; key < 500; key++) {
            lethe_hash hash = hash_of(i * 200 + key);
            assert_ok(lethe_quotient_add_hash(filters[i], hash, 1 + key % 3));
            assert_ok(lethe_quotient_add_hash(one_by_one, hash, 1 + key % 3));
        }
    }
    assert_ok(lethe_quotient_new_merged((const lethe_quotient *const *)filters, FILTERS, &merged));
    assert_true(lethe_quotient_is_sound(merged));
    while (merged->shape.slots < one_by_one->shape.slots)
        assert_ok(lethe_quotient_double(merged));
    while (merged->shape.slots > one_by_one->shape.slots)
        assert_ok(lethe_quotient_halve(merged));
    assert_memory_equal(merged->table.remainders, one_by_one->table.remainders,
                        merged->shape.memory_bytes);
    assert_int_equal(quotient_stats(merged).total, quotient_stats(one_by_one).total);
    for (uint64_t key = 0; key < 8000; key++)
        assert_int_equal(lethe_quotient_count_hash(merged, hash_of(key)),
                         lethe_quotient_count_hash(one_by_one, hash_of(key)));
    for (unsigned i = 0; i < FILTERS; i++)
        lethe_quotient_free(filters[i]);
    lethe_quotient_free(merged);
    lethe_quotient_free(one_by_one);
}

/* Goal: each failed allocation is reported, leaks nothing and changes nothing. */
static void failed_allocations_change_nothing(void **state) {
    (void)state;
    bool went_through = false;
    for (size_t n = 0; !went_through; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        lethe_quotient *filter = NULL, *copy = NULL, *merged = NULL;
        lethe_quotient_options options =
            LETHE_OPTIONS(lethe_quotient_options, .slots = 128, .remainder_bits = 20,
                          .grow_to = 10000, .allocator = &heap.allocator);
        lethe_status status = lethe_quotient_new(&options, &filter);
        assert_true((filter != NULL) == (status == LETHE_OK));
        uint64_t keys = 0;
        for (; status == LETHE_OK && keys < 500; keys++)
            status = lethe_quotient_add_hash(filter, hash_of(keys), 1 + keys % 4);
        if (status != LETHE_OK && keys > 0) keys--;
        for (uint64_t key = 0; key < keys; key++)
            assert_int_equal(lethe_quotient_count_hash(filter, hash_of(key)), 1 + key % 4);
        if (filter != NULL) assert_true(lethe_quotient_is_sound(filter));
        if (status == LETHE_OK) status = lethe_quotient_copy(filter, &copy);
        if (status == LETHE_OK)
            status =
                lethe_quotient_new_merged((const lethe_quotient *[]){filter, copy}, 2, &merged);
        if (status == LETHE_OK) status = lethe_quotient_double(merged);
        if (status == LETHE_OK) {
            for (uint64_t key = 0; key < keys; key++)
                assert_int_equal(lethe_quotient_count_hash(merged, hash_of(key)),
                                 2 + 2 * (key % 4));
        }
        went_through = status == LETHE_OK;
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        lethe_quotient_free(filter);
        lethe_quotient_free(copy);
        lethe_quotient_free(merged);
        assert_int_equal(heap.live_blocks, 0);
    }
}

/* Fills a filter with one set of operations, and takes every third key out again. */
static lethe_quotient *fill_with(const struct lethe_quotient_operations *operations,
                                 lethe_quotient_options options) {
    lethe_quotient *filter = make(options);
    if (operations != NULL) filter->operations = operations;
    uint64_t keys = options.slots - options.slots / 19;
    lethe_hash hashes[256];
    for (uint64_t key = 0; key < keys; key += 256) {
        size_t count = keys - key < 256 ? (size_t)(keys - key) : 256;
        for (size_t i = 0; i < count; i++)
            hashes[i] = hash_of(key + i);
        assert_ok(lethe_quotient_add_batch(filter, hashes, count, NULL));
    }
    for (uint64_t key = 0; key < keys; key += 3)
        assert_ok(lethe_quotient_remove_hash(filter, hash_of(key), 1));
    return filter;
}

/* Goal: scalar and SIMD, special and general width: the same bytes. */
static void all_paths_make_the_same_bytes(void **state) {
    (void)state;
    for (uint32_t bits = 1; bits <= LETHE_QUOTIENT_MAX_REMAINDER_BITS - 9; bits++) {
        lethe_quotient_options options =
            LETHE_OPTIONS(lethe_quotient_options, .slots = 64 * 150, .remainder_bits = bits);
        if (bits > 25 && bits % 5 != 0) continue;
        const struct lethe_quotient_operations *paths[4] = {
            NULL, &lethe_quotient_portable[LETHE_QUOTIENT_ANY_WIDTH]};
        size_t count = 2;
        enum lethe_quotient_width special = bits == 8    ? LETHE_QUOTIENT_8_BITS
                                            : bits == 16 ? LETHE_QUOTIENT_16_BITS
                                                         : LETHE_QUOTIENT_ANY_WIDTH;
        paths[count++] = &lethe_quotient_portable[special];
#if defined(__x86_64__)
        if (lethe_cpu_detect() >= LETHE_CPU_AVX2)
            paths[count++] = &lethe_quotient_avx2[LETHE_QUOTIENT_ANY_WIDTH];
#endif
        lethe_quotient *first = fill_with(paths[0], options);
        assert_true(lethe_quotient_is_sound(first));
        for (size_t i = 1; i < count; i++) {
            lethe_quotient *other = fill_with(paths[i], options);
            assert_memory_equal(first->table.remainders, other->table.remainders,
                                first->shape.memory_bytes);
            lethe_quotient_free(other);
        }
        lethe_quotient_free(first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(plans_keep_their_promises),
        cmocka_unit_test(the_error_is_as_told),
        cmocka_unit_test(full_is_an_error_and_loses_nothing),
        cmocka_unit_test(it_grows_to_its_cap),
        cmocka_unit_test(crowds_are_refused),
        cmocka_unit_test(counts_do_not_overflow),
        cmocka_unit_test(fingerprints_out_of_range_are_refused),
        cmocka_unit_test(strangers_do_not_merge),
        cmocka_unit_test(many_merge_at_once),
        cmocka_unit_test(failed_allocations_change_nothing),
        cmocka_unit_test(all_paths_make_the_same_bytes),
    };
    return cmocka_run_group_tests_name("quotient_limits", tests, NULL, NULL);
}
