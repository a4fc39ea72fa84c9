/* Goal:   a public function whose arguments lack something says LETHE_EINVAL, changes nothing and
 *         leaves no result behind; one that returns no status does what its header says.
 * Method: a table of calls, one for each argument that each function needs. Structs with a size are
 *         given every wrong one. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/lethe.h"
#include "support/folder.h"
#include "support/refusals.h"
#include "support/reports.h"

static void bloom_filters(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    uint8_t present = 7;
    double estimate = 7;
    lethe_memory_writer writer = {0};
    lethe_sink sink = lethe_sink_to_memory(&writer);
    lethe_bloom *filter, *made = ANYTHING, *copied = ANYTHING, *loaded = ANYTHING,
                         *from_file = ANYTHING, *half = ANYTHING;
    lethe_bloom_options no_size = {.capacity = 10};
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape), bad_shape = {.size = 8};
    lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats), bad_stats = {.size = 8};
    assert_ok(lethe_bloom_new(NULL, &filter));

    const struct refusal refusals[] = {
        REFUSAL(lethe_bloom_plan(NULL, NULL)),
        REFUSAL(lethe_bloom_plan(NULL, &bad_shape)),
        REFUSAL(lethe_bloom_plan(&no_size, &shape)),
        REFUSAL(lethe_bloom_new(NULL, NULL)),
        REFUSAL(lethe_bloom_new(&no_size, &made)),
        REFUSAL(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .allocator = &half_allocator),
                                &half)),
        REFUSAL(lethe_bloom_copy(NULL, &copied)),
        REFUSAL(lethe_bloom_copy(filter, NULL)),
        REFUSAL(lethe_bloom_get_shape(NULL, &shape)),
        REFUSAL(lethe_bloom_get_shape(filter, NULL)),
        REFUSAL(lethe_bloom_get_shape(filter, &bad_shape)),
        REFUSAL(lethe_bloom_info(NULL, &stats)),
        REFUSAL(lethe_bloom_info(filter, NULL)),
        REFUSAL(lethe_bloom_info(filter, &bad_stats)),
        REFUSAL(lethe_bloom_add_batch(NULL, &hash, 1)),
        REFUSAL(lethe_bloom_add_batch(filter, NULL, 1)),
        REFUSAL(lethe_bloom_test_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_bloom_test_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_bloom_test_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_bloom_add_and_test_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_bloom_add_and_test_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_bloom_add_and_test_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_bloom_merge(NULL, filter)),
        REFUSAL(lethe_bloom_merge(filter, NULL)),
        REFUSAL(lethe_bloom_intersection_estimate(NULL, filter, &estimate)),
        REFUSAL(lethe_bloom_intersection_estimate(filter, NULL, &estimate)),
        REFUSAL(lethe_bloom_intersection_estimate(filter, filter, NULL)),
        REFUSAL(lethe_bloom_save(NULL, sink)),
        REFUSAL(lethe_bloom_save(filter, no_sink)),
        REFUSAL(lethe_bloom_load(no_source, NULL, &loaded)),
        REFUSAL(lethe_bloom_load(no_source, NULL, NULL)),
        REFUSAL(lethe_bloom_save_file(NULL, "/dev/null/no", NULL)),
        REFUSAL(lethe_bloom_save_file(filter, NULL, NULL)),
        REFUSAL(lethe_bloom_load_file(NULL, NULL, &from_file, NULL)),
        REFUSAL(lethe_bloom_load_file("/dev/null/no", NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(made);
    assert_null(half);
    assert_null(copied);
    assert_null(loaded);
    assert_null(from_file);
    assert_int_equal(present, 7);
    assert_true(estimate == 0);
    assert_int_equal(writer.size, 0);
    assert_int_equal(shape.bits + stats.bits_set, 0);
    assert_int_equal(bloom_stats(filter).additions, 0);

    lethe_bloom_free(NULL);
    lethe_bloom_clear(NULL);
    lethe_bloom_add(NULL, "a", 1);
    lethe_bloom_add_hash(NULL, hash);
    assert_false(lethe_bloom_test(NULL, "a", 1));
    assert_false(lethe_bloom_test_hash(NULL, hash));
    assert_false(lethe_bloom_add_and_test(NULL, "a", 1));
    assert_false(lethe_bloom_add_and_test_hash(NULL, hash));
    assert_int_equal(lethe_bloom_seed(NULL), 0);
    lethe_bloom_add(filter, NULL, 3); /* no bytes */
    assert_true(lethe_bloom_test(filter, "", 0));
    assert_ok(lethe_bloom_add_batch(filter, NULL, 0));
    assert_ok(lethe_bloom_test_batch(filter, NULL, 0, NULL));
    assert_ok(lethe_bloom_add_and_test_batch(filter, NULL, 0, NULL));
    lethe_bloom_free(filter);
}

static void quotient_filters(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    const uint64_t fingerprint = 1;
    uint8_t present = 7;
    uint64_t count = 7;
    lethe_memory_writer writer = {0};
    lethe_sink sink = lethe_sink_to_memory(&writer);
    lethe_quotient *filter, *results[8];
    for (size_t i = 0; i < 8; i++)
        results[i] = ANYTHING;
    lethe_quotient_options no_size = {.capacity = 10};
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape), bad_shape = {.size = 8};
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats), bad_stats = {.size = 8};
    assert_ok(lethe_quotient_new(NULL, &filter));
    const lethe_quotient *const some[] = {filter, NULL};

    const struct refusal refusals[] = {
        REFUSAL(lethe_quotient_plan(NULL, NULL)),
        REFUSAL(lethe_quotient_plan(NULL, &bad_shape)),
        REFUSAL(lethe_quotient_plan(&no_size, &shape)),
        REFUSAL(lethe_quotient_new(NULL, NULL)),
        REFUSAL(lethe_quotient_new(&no_size, &results[0])),
        REFUSAL(lethe_quotient_new(
            &LETHE_OPTIONS(lethe_quotient_options, .allocator = &half_allocator), &results[1])),
        REFUSAL(lethe_quotient_copy(NULL, &results[2])),
        REFUSAL(lethe_quotient_copy(filter, NULL)),
        REFUSAL(lethe_quotient_clear(NULL)),
        REFUSAL(lethe_quotient_get_shape(NULL, &shape)),
        REFUSAL(lethe_quotient_get_shape(filter, NULL)),
        REFUSAL(lethe_quotient_get_shape(filter, &bad_shape)),
        REFUSAL(lethe_quotient_info(NULL, &stats)),
        REFUSAL(lethe_quotient_info(filter, NULL)),
        REFUSAL(lethe_quotient_info(filter, &bad_stats)),
        REFUSAL(lethe_quotient_add(NULL, "a", 1, 1)),
        REFUSAL(lethe_quotient_remove(NULL, "a", 1, 1)),
        REFUSAL(lethe_quotient_add_hash(NULL, hash, 1)),
        REFUSAL(lethe_quotient_remove_hash(NULL, hash, 1)),
        REFUSAL(lethe_quotient_add_fingerprint(NULL, 1, 1)),
        REFUSAL(lethe_quotient_remove_fingerprint(NULL, 1, 1)),
        REFUSAL(lethe_quotient_add_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_quotient_add_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_quotient_remove_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_quotient_remove_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_quotient_test_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_quotient_test_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_quotient_test_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_quotient_count_batch(NULL, &hash, 1, &count)),
        REFUSAL(lethe_quotient_count_batch(filter, NULL, 1, &count)),
        REFUSAL(lethe_quotient_count_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_quotient_add_fingerprint_batch(NULL, &fingerprint, 1, &present)),
        REFUSAL(lethe_quotient_add_fingerprint_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_quotient_test_fingerprint_batch(NULL, &fingerprint, 1, &present)),
        REFUSAL(lethe_quotient_test_fingerprint_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_quotient_test_fingerprint_batch(filter, &fingerprint, 1, NULL)),
        REFUSAL(lethe_quotient_new_merged(NULL, 1, &results[3])),
        REFUSAL(lethe_quotient_new_merged(some, 2, &results[4])),
        REFUSAL(lethe_quotient_new_merged(some, 1, NULL)),
        REFUSAL(lethe_quotient_merge(NULL, filter)),
        REFUSAL(lethe_quotient_merge(filter, NULL)),
        REFUSAL(lethe_quotient_double(NULL)),
        REFUSAL(lethe_quotient_halve(NULL)),
        REFUSAL(lethe_quotient_save(NULL, sink)),
        REFUSAL(lethe_quotient_save(filter, no_sink)),
        REFUSAL(lethe_quotient_load(no_source, NULL, &results[5])),
        REFUSAL(lethe_quotient_load(no_source, NULL, NULL)),
        REFUSAL(lethe_quotient_save_file(NULL, "/dev/null/no", NULL)),
        REFUSAL(lethe_quotient_save_file(filter, NULL, NULL)),
        REFUSAL(lethe_quotient_load_file(NULL, NULL, &results[6], NULL)),
        REFUSAL(lethe_quotient_load_file("/dev/null/no", NULL, NULL, NULL)),
        REFUSAL(lethe_quotient_map_file(NULL, NULL, &results[7], NULL)),
        REFUSAL(lethe_quotient_map_file("/dev/null/no", NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    for (size_t i = 0; i < 8; i++)
        assert_null(results[i]);
    assert_int_equal(present, 7);
    assert_int_equal(count, 7);
    assert_int_equal(writer.size, 0);
    assert_int_equal(shape.slots + stats.slots_used, 0);
    assert_int_equal(quotient_stats(filter).total, 0);

    lethe_quotient_free(NULL);
    assert_false(lethe_quotient_test(NULL, "a", 1));
    assert_false(lethe_quotient_test_hash(NULL, hash));
    assert_false(lethe_quotient_test_fingerprint(NULL, 1));
    assert_int_equal(lethe_quotient_count(NULL, "a", 1), 0);
    assert_int_equal(lethe_quotient_count_hash(NULL, hash), 0);
    assert_int_equal(lethe_quotient_count_fingerprint(NULL, 1), 0);
    assert_int_equal(lethe_quotient_seed(NULL), 0);
    assert_int_equal(lethe_quotient_fingerprint(NULL, hash), 0);
    assert_ok(lethe_quotient_add_hash(filter, hash, 1));
    lethe_quotient_entry entry;
    lethe_quotient_cursor none = lethe_quotient_seek(NULL, 0);
    lethe_quotient_cursor first = lethe_quotient_seek(filter, 0);
    assert_int_equal(lethe_quotient_next(&none, &entry, 1), 0);
    assert_int_equal(lethe_quotient_next(NULL, &entry, 1), 0);
    assert_int_equal(lethe_quotient_next(&first, NULL, 1), 0);
    assert_int_equal(lethe_quotient_next(&first, &entry, 1), 1);
    assert_ok(lethe_quotient_add_batch(filter, NULL, 0, NULL));
    assert_ok(lethe_quotient_remove_batch(filter, NULL, 0, NULL));
    assert_ok(lethe_quotient_test_batch(filter, NULL, 0, NULL));
    assert_ok(lethe_quotient_count_batch(filter, NULL, 0, NULL));
    lethe_quotient_free(filter);
}

static void gaussian_filters(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    uint8_t present = 7;
    lethe_memory_writer writer = {0};
    lethe_sink sink = lethe_sink_to_memory(&writer);
    lethe_bloom *bloom = ANYTHING, *classical;
    lethe_gaussian *filter, *results[8];
    for (size_t i = 0; i < 8; i++)
        results[i] = ANYTHING;
    lethe_gaussian_options no_size = {.capacity = 10};
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape), bad_shape = {.size = 8};
    lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats), bad_stats = {.size = 8};
    assert_ok(lethe_gaussian_new(NULL, &filter));
    assert_ok(lethe_bloom_new(NULL, &classical));

    const struct refusal refusals[] = {
        REFUSAL(lethe_gaussian_plan(NULL, NULL)),
        REFUSAL(lethe_gaussian_plan(NULL, &bad_shape)),
        REFUSAL(lethe_gaussian_plan(&no_size, &shape)),
        REFUSAL(lethe_gaussian_new(NULL, NULL)),
        REFUSAL(lethe_gaussian_new(&no_size, &results[0])),
        REFUSAL(lethe_gaussian_new(
            &LETHE_OPTIONS(lethe_gaussian_options, .allocator = &half_allocator), &results[1])),
        REFUSAL(lethe_gaussian_copy(NULL, &results[2])),
        REFUSAL(lethe_gaussian_copy(filter, NULL)),
        REFUSAL(lethe_gaussian_new_like(NULL, 1000, 0, 0, &results[3])),
        REFUSAL(lethe_gaussian_new_like(filter, 1000, 0, 0, NULL)),
        REFUSAL(lethe_gaussian_get_shape(NULL, &shape)),
        REFUSAL(lethe_gaussian_get_shape(filter, NULL)),
        REFUSAL(lethe_gaussian_get_shape(filter, &bad_shape)),
        REFUSAL(lethe_gaussian_info(NULL, &stats)),
        REFUSAL(lethe_gaussian_info(filter, NULL)),
        REFUSAL(lethe_gaussian_info(filter, &bad_stats)),
        REFUSAL(lethe_gaussian_estimate(NULL, 10, &stats)),
        REFUSAL(lethe_gaussian_estimate(filter, 10, NULL)),
        REFUSAL(lethe_gaussian_add_batch(NULL, &hash, 1)),
        REFUSAL(lethe_gaussian_add_batch(filter, NULL, 1)),
        REFUSAL(lethe_gaussian_test_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_gaussian_test_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_gaussian_test_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_gaussian_add_and_test_batch(NULL, &hash, 1, &present)),
        REFUSAL(lethe_gaussian_add_and_test_batch(filter, NULL, 1, &present)),
        REFUSAL(lethe_gaussian_add_and_test_batch(filter, &hash, 1, NULL)),
        REFUSAL(lethe_gaussian_merge(NULL, filter)),
        REFUSAL(lethe_gaussian_merge(filter, NULL)),
        REFUSAL(lethe_gaussian_extract(NULL, &bloom)),
        REFUSAL(lethe_gaussian_extract(filter, NULL)),
        REFUSAL(lethe_gaussian_promote(NULL, NULL, &results[4])),
        REFUSAL(lethe_gaussian_promote(classical, &no_size, &results[5])),
        REFUSAL(lethe_gaussian_promote(classical, NULL, NULL)),
        REFUSAL(lethe_gaussian_save(NULL, sink)),
        REFUSAL(lethe_gaussian_save(filter, no_sink)),
        REFUSAL(lethe_gaussian_load(no_source, NULL, &results[6])),
        REFUSAL(lethe_gaussian_load(no_source, NULL, NULL)),
        REFUSAL(lethe_gaussian_save_file(NULL, "/dev/null/no", NULL)),
        REFUSAL(lethe_gaussian_save_file(filter, NULL, NULL)),
        REFUSAL(lethe_gaussian_load_file(NULL, NULL, &results[7], NULL)),
        REFUSAL(lethe_gaussian_load_file("/dev/null/no", NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    for (size_t i = 0; i < 8; i++)
        assert_null(results[i]);
    assert_null(bloom);
    assert_int_equal(present, 7);
    assert_int_equal(writer.size, 0);
    assert_int_equal(shape.slots + stats.slots_full, 0);
    assert_int_equal(gaussian_stats(filter).additions, 0);

    lethe_gaussian_free(NULL);
    lethe_gaussian_clear(NULL);
    lethe_gaussian_add(NULL, "a", 1);
    lethe_gaussian_add_hash(NULL, hash);
    assert_false(lethe_gaussian_test(NULL, "a", 1));
    assert_false(lethe_gaussian_test_hash(NULL, hash));
    assert_false(lethe_gaussian_add_and_test(NULL, "a", 1));
    assert_false(lethe_gaussian_add_and_test_hash(NULL, hash));
    assert_int_equal(lethe_gaussian_seed(NULL), 0);
    lethe_gaussian_shape made = gaussian_shape(filter);
    assert_true(lethe_gaussian_slot(NULL, 0) == 0);
    assert_true(lethe_gaussian_slot(filter, made.slots) == 0);
    assert_true(lethe_gaussian_bell(NULL, 1, 0) == 0);
    assert_true(lethe_gaussian_bell(filter, 0, 0) == 0);
    assert_true(lethe_gaussian_bell(filter, made.hashes + 1, 0) == 0);
    assert_true(lethe_gaussian_bell(filter, made.hashes, 0) == 1);
    assert_ok(lethe_gaussian_add_batch(filter, NULL, 0));
    assert_ok(lethe_gaussian_test_batch(filter, NULL, 0, NULL));
    lethe_gaussian_free(filter);
    lethe_bloom_free(classical);
}

static void packed_blocks(void **state) {
    (void)state;
    const lethe_hash hash = {.low = 1, .high = 2};
    unsigned char block[16] = {7};
    lethe_packed *packed, *made = ANYTHING, *half = ANYTHING;
    lethe_packed_options no_size = {.bits_per_key = 10};
    assert_ok(lethe_packed_new(NULL, &packed));
    const struct refusal refusals[] = {
        REFUSAL(lethe_packed_new(NULL, NULL)),
        REFUSAL(lethe_packed_new(&no_size, &made)),
        REFUSAL(lethe_packed_new(&LETHE_OPTIONS(lethe_packed_options, .allocator = &half_allocator),
                                 &half)),
        REFUSAL(lethe_packed_build(NULL, &hash, 1, block, sizeof block)),
        REFUSAL(lethe_packed_build(packed, NULL, 1, block, sizeof block)),
        REFUSAL(lethe_packed_build(packed, &hash, 1, NULL, sizeof block)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(made);
    assert_null(half);
    assert_int_equal(block[0], 7);
    lethe_packed_free(NULL);
    assert_int_equal(lethe_packed_hashes(NULL), 0);
    assert_int_equal(lethe_packed_size(NULL, 10), 0);
    assert_int_equal(lethe_packed_hash(NULL, "a", 1).low, lethe_hash_bytes(0, "a", 1).low);
    assert_true(lethe_packed_test(NULL, hash, block, sizeof block));
    assert_true(lethe_packed_test(packed, hash, NULL, sizeof block));
    assert_ok(lethe_packed_build(packed, NULL, 0, block, sizeof block));
    assert_false(lethe_packed_test(packed, hash, block, sizeof block));
    assert_ok(lethe_packed_build(packed, &hash, 1, NULL, 0));
    lethe_packed_free(packed);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bloom_filters),
        cmocka_unit_test(quotient_filters),
        cmocka_unit_test(gaussian_filters),
        cmocka_unit_test(packed_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
