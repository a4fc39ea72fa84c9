/* Goal:   a sketch on a device gives the CPU's answers, to the bit.
 * Method: sketches of every kind, width, depth and size of counters, with counters that are full,
 *         asked for the same keys on the device and on the CPU, in batches of every size; hashes of
 *         every length of key. On a machine without a device the program says so. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/opencl.h"
#include "support/opencl.h"
#include "support/random.h"

enum { KEYS = 3000, BATCH = 700 };

static lethe_opencl *device;

static int open_device(void **state) {
    (void)state;
    device =
        test_opencl_open(&LETHE_OPTIONS(lethe_opencl_options, .batch = BATCH, .profile = true));
    return 0;
}

static int close_device(void **state) {
    (void)state;
    lethe_opencl_close(device);
    return 0;
}

/* Key i has length i: all lengths, over every limit between the ways of XXH3. */
static void hashes_of_all_lengths_are_the_cpus(void **state) {
    (void)state;
    if (device == NULL) skip();
    enum { LENGTHS = 2200, LONGEST = 100003 };
    static const uint64_t seeds[] = {LETHE_DEFAULT_SEED, 0, 1, UINT64_MAX, 0x123456789abcdef0};
    unsigned char *bytes = malloc(LONGEST);
    struct test_random random = {5};
    for (size_t i = 0; i < LONGEST; i++)
        bytes[i] = (unsigned char)test_random_next(&random);
    static lethe_bytes keys[LENGTHS + 3];
    static lethe_hash hashes[LENGTHS + 3];
    for (size_t i = 0; i < LENGTHS; i++)
        keys[i] = (lethe_bytes){bytes + i % 7, i};
    keys[LENGTHS] = (lethe_bytes){bytes, 65536};
    keys[LENGTHS + 1] = (lethe_bytes){bytes, LONGEST};
    keys[LENGTHS + 2] = (lethe_bytes){NULL, 0};
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        assert_ok(lethe_opencl_hash_batch(device, seeds[s], keys, LENGTHS + 3, hashes, NULL));
        for (size_t i = 0; i < LENGTHS + 3; i++) {
            lethe_hash right = lethe_hash_bytes(seeds[s], keys[i].data, keys[i].size);
            if (hashes[i].low != right.low || hashes[i].high != right.high)
                fail_msg("seed %zu, a key of %zu bytes", s, keys[i].size);
        }
    }
    free(bytes);
}

/* A sketch of these options, with weights that fill some counters. */
static lethe_sketch *filled(const lethe_sketch_options *options, uint64_t seed) {
    lethe_sketch *sketch;
    assert_ok(lethe_sketch_new(options, &sketch));
    static lethe_hash hashes[KEYS];
    static uint64_t weights[KEYS];
    struct test_random random = {seed};
    test_opencl_draw(seed, hashes, KEYS);
    for (size_t i = 0; i < KEYS; i++) {
        unsigned bits = (unsigned)test_random_below(&random, options->counter_bits + 1);
        weights[i] = i % 50 == 0 ? (bits < 64 ? UINT64_C(1) << bits : UINT64_MAX) : 1 + i % 7;
    }
    assert_ok(lethe_sketch_add_batch(sketch, hashes, KEYS, weights, NULL));
    return sketch;
}

/* Asks both for keys that are there and keys that are not. */
static void compare_answers(lethe_opencl_sketch *there, const lethe_sketch *here, uint64_t seed) {
    static lethe_hash hashes[2 * KEYS];
    static uint64_t right[2 * KEYS], counts[2 * KEYS];
    static uint8_t right_full[2 * KEYS], full[2 * KEYS];
    test_opencl_draw(seed, hashes, 2 * KEYS);
    assert_ok(lethe_sketch_count_batch(here, hashes, 2 * KEYS, right, right_full));
    memset(full, 7, sizeof full);
    assert_ok(lethe_opencl_sketch_count_batch(there, hashes, 2 * KEYS, counts, full, NULL));
    assert_memory_equal(counts, right, sizeof right);
    assert_memory_equal(full, right_full, sizeof full);
}

static void answers_of_every_sketch_are_the_cpus(void **state) {
    (void)state;
    if (device == NULL) skip();
    static const uint32_t depths[] = {1, 2, 3, 4, 5, 8, 13, 32};
    static const uint64_t widths[] = {1, 7, 256, 1000, 65537};
    static const uint32_t sizes[] = {8, 16, 32, 64};
    uint64_t seed = 1;
    for (int kind = LETHE_SKETCH_COUNT_MIN; kind <= LETHE_SKETCH_FID; kind++) {
        for (size_t i = 0; i < 8 * 5 * 4; i++, seed++) {
            lethe_sketch_options options = LETHE_OPTIONS(
                lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .depth = depths[i % 8],
                .width = widths[i / 8 % 5], .counter_bits = sizes[i / 40]);
            if (kind == LETHE_SKETCH_LOG && options.counter_bits > 16) continue;
            lethe_sketch *here = filled(&options, seed);
            lethe_opencl_sketch *there;
            assert_ok(lethe_opencl_sketch_upload(device, here, &there, NULL));
            compare_answers(there, here, seed);
            lethe_opencl_sketch_free(there);
            lethe_sketch_free(here);
        }
    }
}

/* Exports of version 2 have one field more, and their counters come later. */
static void sketches_of_the_second_version_too(void **state) {
    (void)state;
    if (device == NULL) skip();
    const lethe_sketch_options all[] = {
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 300, .depth = 3,
                      .is_depth = 5, .is_width = 700, .counter_bits = 32),
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_LOG, .width = 301, .depth = 3,
                      .counter_bits = 8, .removal = LETHE_SKETCH_REMOVAL_SUBTRACTION),
    };
    for (uint64_t i = 0; i < 2; i++) {
        lethe_sketch *here = filled(&all[i], 70 + i), *back;
        lethe_opencl_sketch *there;
        assert_ok(lethe_opencl_sketch_upload(device, here, &there, NULL));
        compare_answers(there, here, 70 + i);
        assert_ok(lethe_opencl_sketch_download(there, &back, NULL));
        lethe_memory_writer before = {0}, after = {0};
        assert_ok(lethe_sketch_export(here, lethe_sink_to_memory(&before)));
        assert_ok(lethe_sketch_export(back, lethe_sink_to_memory(&after)));
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, before.size);
        lethe_memory_writer_free(&before);
        lethe_memory_writer_free(&after);
        lethe_sketch_free(back);
        lethe_opencl_sketch_free(there);
        lethe_sketch_free(here);
    }
}

/* Keys of every size, hashed by the device; and batches of every size around that of the device. */
static void batches_may_have_any_size(void **state) {
    (void)state;
    if (device == NULL) skip();
    lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                                                 .width = 3000, .counter_bits = 32);
    lethe_sketch *here;
    assert_ok(lethe_sketch_new(&options, &here));
    static char texts[KEYS][24];
    static lethe_bytes keys[KEYS];
    static lethe_hash hashes[KEYS];
    for (size_t i = 0; i < KEYS; i++) {
        keys[i] = (lethe_bytes){texts[i], (size_t)snprintf(texts[i], 24, "key %zu", i * i * i)};
        assert_ok(lethe_sketch_add(here, keys[i].data, keys[i].size, 1 + i % 5));
    }
    lethe_hash_batch(lethe_sketch_seed(here), keys, KEYS, hashes);
    lethe_opencl_sketch *there;
    assert_ok(lethe_opencl_sketch_upload(device, here, &there, NULL));
    static const size_t counts[] = {
        0, 1, 2, 63, 64, 65, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, 2 * BATCH + 1, KEYS};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        static uint64_t right[KEYS + 1], by_hash[KEYS + 1], by_key[KEYS + 1];
        memset(by_hash, 0xee, sizeof by_hash);
        memset(by_key, 0xee, sizeof by_key);
        memset(right, 0xee, sizeof right);
        assert_ok(lethe_sketch_count_batch(here, hashes, counts[i], right, NULL));
        assert_ok(lethe_opencl_sketch_count_batch(there, hashes, counts[i], by_hash, NULL, NULL));
        assert_ok(lethe_opencl_sketch_count_key_batch(there, keys, counts[i], by_key, NULL, NULL));
        /* The answers after the last one are untouched. */
        assert_memory_equal(by_hash, right, sizeof right);
        assert_memory_equal(by_key, right, sizeof right);
    }
    assert_ok(lethe_opencl_sketch_count_batch(there, NULL, 0, NULL, NULL, NULL));
    lethe_opencl_times times = LETHE_INIT(lethe_opencl_times);
    assert_ok(lethe_opencl_get_times(device, &times));
    assert_true(times.kernel_ns > 0 && times.to_device_ns > 0 && times.from_device_ns > 0);
    assert_ok(lethe_opencl_get_times(device, &times));
    assert_int_equal(times.kernel_ns, 0);
    lethe_opencl_sketch_free(there);
    lethe_sketch_free(here);
}

static lethe_memory_writer export_of(const lethe_sketch *sketch) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_sketch_export(sketch, lethe_sink_to_memory(&writer)));
    return writer;
}

static lethe_memory_writer saved(const lethe_sketch *sketch) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(&writer)));
    return writer;
}

static void assert_same_bytes(lethe_memory_writer a, lethe_memory_writer b) {
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    lethe_memory_writer_free(&a);
    lethe_memory_writer_free(&b);
}

static lethe_source source_of(lethe_memory_reader *reader, const lethe_memory_writer *writer) {
    *reader = (lethe_memory_reader){.data = writer->data, .size = writer->size};
    return lethe_source_from_memory(reader);
}

/* A sketch from an export follows later exports, refuses those of others and damaged ones, and
 * comes back as the last of them. */
static void exports_are_applied(void **state) {
    (void)state;
    if (device == NULL) skip();
    for (int kind = LETHE_SKETCH_COUNT_MIN; kind <= LETHE_SKETCH_FID; kind++) {
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .width = 501,
                          .counter_bits = 16);
        lethe_sketch *here = filled(&options, 3);
        lethe_memory_writer first = export_of(here);
        lethe_memory_reader reader;
        lethe_opencl_sketch *there;
        assert_ok(lethe_opencl_sketch_import(device, source_of(&reader, &first), &there, NULL));
        compare_answers(there, here, 3);
        lethe_hash one = {1, 2};
        assert_int_equal(lethe_opencl_sketch_add_batch(there, &one, 1, NULL, NULL), LETHE_EINVAL);

        lethe_sketch_clear(here);
        assert_ok(lethe_sketch_add_hash(here, one, 9));
        lethe_memory_writer second = export_of(here);
        assert_ok(lethe_opencl_sketch_apply(there, source_of(&reader, &second), NULL));
        compare_answers(there, here, 3);

        lethe_detail detail;
        options.width = 502;
        lethe_sketch *other = filled(&options, 3);
        lethe_memory_writer foreign = export_of(other);
        assert_int_equal(lethe_opencl_sketch_apply(there, source_of(&reader, &foreign), &detail),
                         LETHE_EMISMATCH);
        ((char *)second.data)[second.size / 2] ^= 1;
        assert_int_equal(lethe_opencl_sketch_apply(there, source_of(&reader, &second), &detail),
                         LETHE_ECORRUPT);
        assert_true(strlen(detail.text) > 0);
        compare_answers(there, here, 3);
        lethe_sketch *back;
        assert_ok(lethe_opencl_sketch_download(there, &back, NULL));
        assert_same_bytes(export_of(back), export_of(here));
        lethe_sketch_free(back);
        lethe_memory_writer_free(&first);
        lethe_memory_writer_free(&second);
        lethe_memory_writer_free(&foreign);
        lethe_opencl_sketch_free(there);
        lethe_sketch_free(here);
        lethe_sketch_free(other);
    }
}

/* Additions on the device and on the CPU leave the same bytes, with counters that fill up too; the
 * few counters of the narrowest sketch are wanted by all work items at once. */
static void count_min_is_built_on_the_device(void **state) {
    (void)state;
    if (device == NULL) skip();
    static lethe_hash hashes[KEYS];
    static uint64_t weights[KEYS];
    static const uint64_t widths[] = {1, 5, 1000};
    test_opencl_draw(77, hashes, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        weights[i] = i % 100 == 99 ? UINT64_C(1) << (i / 100 * 2) : 1 + i % 3;
    for (uint32_t bits = 8; bits <= 64; bits *= 2) {
        for (size_t w = 0; w < 3; w++) {
            lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .width = widths[w],
                                                         .depth = 5, .counter_bits = bits);
            lethe_sketch *here = filled(&options, 4), *back;
            lethe_opencl_sketch *there;
            assert_ok(lethe_opencl_sketch_upload(device, here, &there, NULL));
            for (int round = 0; round < 2; round++) {
                const uint64_t *some = round == 0 ? NULL : weights;
                assert_ok(lethe_opencl_sketch_add_batch(there, hashes, KEYS, some, NULL));
                assert_ok(lethe_sketch_add_batch(here, hashes, KEYS, some, NULL));
            }
            const lethe_bytes key = {"a key", 5};
            assert_ok(lethe_opencl_sketch_add_key_batch(there, &key, 1, NULL, NULL));
            assert_ok(lethe_sketch_add(here, key.data, key.size, 1));
            assert_ok(lethe_opencl_sketch_download(there, &back, NULL));
            assert_same_bytes(saved(back), saved(here));
            lethe_sketch_free(back);
            lethe_opencl_sketch_free(there);
            lethe_sketch_free(here);
        }
    }
}

static void what_cannot_be_right_is_refused(void **state) {
    (void)state;
    if (device == NULL) skip();
    lethe_hash one = {1, 2};
    uint64_t zero = 0, count;
    for (int kind = LETHE_SKETCH_COUNT_MIN; kind <= LETHE_SKETCH_FID; kind++) {
        lethe_sketch_options options = LETHE_OPTIONS(
            lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .width = 10, .counter_bits = 8);
        lethe_sketch *here;
        lethe_opencl_sketch *there;
        assert_ok(lethe_sketch_new(&options, &here));
        assert_ok(lethe_opencl_sketch_upload(device, here, &there, NULL));
        bool right = kind == LETHE_SKETCH_COUNT_MIN;
        assert_int_equal(lethe_opencl_sketch_add_batch(there, &one, 1, NULL, NULL),
                         right ? LETHE_OK : LETHE_EINVAL);
        assert_int_equal(lethe_opencl_sketch_add_batch(there, &one, 1, &zero, NULL), LETHE_EINVAL);
        assert_ok(lethe_opencl_sketch_count_batch(there, &one, 1, &count, NULL, NULL));
        assert_int_equal(count, right);
        assert_int_equal(lethe_opencl_sketch_count_batch(there, NULL, 1, &count, NULL, NULL),
                         LETHE_EINVAL);
        assert_int_equal(lethe_opencl_sketch_count_batch(there, &one, 1, NULL, NULL, NULL),
                         LETHE_EINVAL);
        lethe_bytes no_bytes = {NULL, 3};
        assert_int_equal(
            lethe_opencl_sketch_count_key_batch(there, &no_bytes, 1, &count, NULL, NULL),
            LETHE_EINVAL);
        lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
        assert_ok(lethe_opencl_sketch_get_shape(there, &shape));
        assert_true(shape.width == 10 && shape.kind == (lethe_sketch_kind)kind);
        lethe_opencl_sketch_free(there);
        lethe_sketch_free(here);
    }
    lethe_opencl_options options = LETHE_OPTIONS(lethe_opencl_options, .index = 1000);
    lethe_opencl *none;
    lethe_detail detail;
    assert_int_equal(lethe_opencl_open(&options, &none, &detail), LETHE_ENOTFOUND);
    assert_true(none == NULL && strstr(detail.text, "OpenCL device") != NULL);
    options = LETHE_OPTIONS(lethe_opencl_options, .batch = LETHE_OPENCL_MAX_BATCH + 1);
    assert_int_equal(lethe_opencl_open(&options, &none, NULL), LETHE_EINVAL);
    options = LETHE_OPTIONS(lethe_opencl_options, .type = (lethe_opencl_type)4);
    assert_int_equal(lethe_opencl_open(&options, &none, NULL), LETHE_EINVAL);
    lethe_opencl_info info = LETHE_INIT(lethe_opencl_info);
    assert_ok(lethe_opencl_find(NULL, &info, NULL));
    assert_true(info.name[0] != '\0' && info.memory_bytes > 0 && info.compute_units > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_of_all_lengths_are_the_cpus),
        cmocka_unit_test(answers_of_every_sketch_are_the_cpus),
        cmocka_unit_test(sketches_of_the_second_version_too),
        cmocka_unit_test(batches_may_have_any_size),
        cmocka_unit_test(exports_are_applied),
        cmocka_unit_test(count_min_is_built_on_the_device),
        cmocka_unit_test(what_cannot_be_right_is_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
