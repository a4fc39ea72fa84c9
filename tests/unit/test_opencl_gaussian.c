/* Goal:   a Gaussian Bloom filter on a device has the CPU's slots, to the bit, and gives its
 *         answers; a filter with bells of the caller's own is what Definition 2 says.
 * Method: filters of every size of slots and number of hash functions, in both forms, filled on the
 *         device and on the CPU and saved; a model in plain loops for the caller's bells. On a
 *         machine without a device the program says so. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/opencl.h"
#include "support/opencl.h"
#include "support/random.h"

enum { KEYS = 200, ABSENT = 1500, BATCH = 64 };

static lethe_opencl *device;

static int open_device(void **state) {
    (void)state;
    device = test_opencl_open(&LETHE_OPTIONS(lethe_opencl_options, .batch = BATCH));
    return 0;
}

static int close_device(void **state) {
    (void)state;
    lethe_opencl_close(device);
    return 0;
}

static void assert_same_filter(const lethe_gaussian *a, const lethe_gaussian *b) {
    lethe_memory_writer first = {0}, second = {0};
    assert_ok(lethe_gaussian_save(a, lethe_sink_to_memory(&first)));
    assert_ok(lethe_gaussian_save(b, lethe_sink_to_memory(&second)));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
}

static void assert_same_bloom(const lethe_bloom *a, const lethe_bloom *b) {
    lethe_memory_writer first = {0}, second = {0};
    assert_ok(lethe_bloom_save(a, lethe_sink_to_memory(&first)));
    assert_ok(lethe_bloom_save(b, lethe_sink_to_memory(&second)));
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.data, second.data, first.size);
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
}

/* Fills a filter on both sides, compares answers, and brings it back in every way. */
static void compare(const lethe_gaussian_options *options, lethe_opencl_form form, uint64_t seed) {
    lethe_gaussian *here, *back;
    lethe_opencl_gaussian *there;
    lethe_hash keys[KEYS], absent[ABSENT];
    uint8_t right[ABSENT], present[ABSENT];
    test_opencl_draw(seed, keys, KEYS);
    test_opencl_draw(~seed, absent, ABSENT);
    assert_ok(lethe_gaussian_new(options, &here));
    assert_ok(lethe_gaussian_add_batch(here, keys, 10)); /* what is there stays there */
    assert_ok(lethe_opencl_gaussian_upload(device, here, form, &there, NULL));
    assert_ok(lethe_gaussian_add_batch(here, keys + 10, KEYS - 10));
    assert_ok(lethe_opencl_gaussian_add_batch(there, keys + 10, KEYS - 10, NULL));
    assert_ok(lethe_gaussian_test_batch(here, absent, ABSENT, right));
    assert_ok(lethe_opencl_gaussian_test_batch(there, absent, ABSENT, present, NULL));
    assert_memory_equal(present, right, ABSENT);
    assert_ok(lethe_opencl_gaussian_test_batch(there, keys, KEYS, present, NULL));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(present[i], 1);
    assert_ok(lethe_opencl_gaussian_download(there, &back, NULL));
    assert_same_filter(back, here);
    lethe_bloom *bloom, *extracted;
    assert_ok(lethe_gaussian_extract(here, &bloom));
    assert_ok(lethe_opencl_gaussian_extract(there, &extracted, NULL));
    assert_same_bloom(extracted, bloom);
    lethe_bloom_free(bloom);
    lethe_bloom_free(extracted);
    lethe_gaussian_free(back);
    lethe_gaussian_free(here);
    lethe_opencl_gaussian_free(there);
}

static void every_filter_has_the_cpus_slots(void **state) {
    (void)state;
    if (device == NULL) skip();
    static const uint32_t slot_bits[] = {1, 2, 3, 4, 5, 6, 7, 8, 32, 64};
    static const uint32_t hashes[] = {1, 3, 7, 20};
    struct test_random random = {9};
    for (size_t i = 0; i < 10 * 4 * 2; i++) {
        lethe_gaussian_options options = LETHE_OPTIONS(
            lethe_gaussian_options, .slot_bits = slot_bits[i % 10], .hashes = hashes[i / 10 % 4],
            .spacing = (lethe_gaussian_spacing)(i / 40), .slots = 1 << 20);
        lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
        assert_ok(lethe_gaussian_plan(&options, &shape));
        uint64_t least = 2 * shape.radius + 1;
        options.slots = i % 3 == 0 ? least : least + test_random_below(&random, 5000);
        compare(&options, LETHE_OPENCL_LOCAL, i);
        compare(&options, LETHE_OPENCL_WHOLE, i);
    }
}

/* Keys of every size, hashed by the device; batches of every size, also none. */
static void keys_are_hashed_on_the_device(void **state) {
    (void)state;
    if (device == NULL) skip();
    lethe_gaussian *here, *back;
    lethe_opencl_gaussian *there;
    assert_ok(lethe_gaussian_new(&LETHE_OPTIONS(lethe_gaussian_options, .capacity = 2000), &here));
    assert_ok(lethe_opencl_gaussian_upload(device, here, LETHE_OPENCL_LOCAL, &there, NULL));
    static unsigned char bytes[400];
    lethe_bytes keys[400];
    uint8_t present[400];
    for (size_t i = 0; i < 400; i++) {
        bytes[i] = (unsigned char)(i * 7);
        keys[i] = (lethe_bytes){bytes, i};
        lethe_gaussian_add(here, bytes, i);
    }
    /* Bytes are all set only now: hash them again as they are. */
    lethe_gaussian_clear(here);
    static const size_t counts[] = {0, 1, BATCH - 1, BATCH, BATCH + 1, 400 - 3 * BATCH - 1};
    size_t first = 0;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; first += counts[i++])
        assert_ok(lethe_opencl_gaussian_add_key_batch(there, keys + first, counts[i], NULL));
    assert_int_equal(first, 400);
    for (size_t i = 0; i < 400; i++)
        lethe_gaussian_add(here, keys[i].data, keys[i].size);
    assert_ok(lethe_opencl_gaussian_test_key_batch(there, keys, 400, present, NULL));
    for (size_t i = 0; i < 400; i++)
        assert_int_equal(present[i], 1);
    assert_ok(lethe_opencl_gaussian_download(there, &back, NULL));
    assert_same_filter(back, here);
    lethe_gaussian_free(back);
    lethe_gaussian_free(here);
    lethe_opencl_gaussian_free(there);
}

/* Bells that fall linearly over the whole field, the slower the later; one of them has a dent. */
static double own_bell(uint32_t hash, uint64_t distance, uint64_t slots) {
    if (distance == 0) return 1;
    if (hash == 1 && distance == 3) return 0;
    if (hash == 2 && distance == 2) return 1 - 1e-12; /* 1 as a float, if nobody takes care */
    return 1 - (double)distance / (double)slots / (1 + hash);
}

/* What a slot makes of a level. */
static double rounded(double level, uint64_t distance, uint32_t bits) {
    if (distance == 0) return 1;
    if (bits == 64) return level;
    if (bits == 32) return fmin((float)level, 1 - 0x1p-24);
    double top = (1 << bits) - 1;
    return fmin(floor(level * top), top - 1) / top;
}

static void a_caller_may_bring_his_own_bells(void **state) {
    (void)state;
    if (device == NULL) skip();
    enum { SLOTS = 301, HASHES = 3, ADDED = 6 };
    static const uint32_t sizes[] = {2, 3, 8, 32, 64};
    static double levels[HASHES * SLOTS], model[SLOTS], values[SLOTS];
    for (size_t i = 0; i < HASHES * SLOTS; i++)
        levels[i] = own_bell((uint32_t)(i / SLOTS), i % SLOTS, SLOTS);
    for (size_t type = 0; type < 5; type++) {
        lethe_opencl_field_options options =
            LETHE_OPTIONS(lethe_opencl_field_options, .slots = SLOTS, .hashes = HASHES,
                          .slot_bits = sizes[type], .levels = levels, .reach = SLOTS - 1);
        lethe_opencl_gaussian *there;
        assert_ok(lethe_opencl_gaussian_new(device, &options, &there, NULL));
        /* The Bloom filter of the same m and k says where the middles are. */
        lethe_bloom *bloom, *extracted;
        assert_ok(lethe_bloom_new(
            &LETHE_OPTIONS(lethe_bloom_options, .bits = SLOTS, .hashes = HASHES), &bloom));
        lethe_hash hashes[ADDED + 500];
        test_opencl_draw(type, hashes, ADDED + 500);
        memset(model, 0, sizeof model);
        uint64_t places[ADDED + 500][HASHES];
        for (size_t key = 0; key < ADDED + 500; key++) {
            uint64_t power = 1;
            for (int i = 0; i < HASHES; i++) {
                power *= UINT64_C(0xd1342543de82ef95);
                __extension__ typedef unsigned __int128 wide;
                places[key][i] =
                    (uint64_t)((wide)(hashes[key].low * power + hashes[key].high) * SLOTS >> 64);
            }
        }
        for (size_t key = 0; key < ADDED; key++) {
            lethe_bloom_add_hash(bloom, hashes[key]);
            for (uint64_t at = 0; at < SLOTS * HASHES; at++) {
                uint64_t slot = at / HASHES, place = places[key][at % HASHES];
                uint64_t distance = slot > place ? slot - place : place - slot;
                model[slot] = fmax(model[slot], rounded(levels[at % HASHES * SLOTS + distance],
                                                        distance, sizes[type]));
            }
        }
        assert_ok(lethe_opencl_gaussian_add_batch(there, hashes, ADDED, NULL));
        assert_ok(lethe_opencl_gaussian_read(there, values, SLOTS, NULL));
        for (size_t i = 0; i < SLOTS; i++)
            assert_true(values[i] == model[i]);
        uint8_t present[ADDED + 500];
        assert_ok(lethe_opencl_gaussian_test_batch(there, hashes, ADDED + 500, present, NULL));
        for (size_t key = 0; key < ADDED + 500; key++) {
            bool right = true;
            for (uint64_t at = 0; at < SLOTS * HASHES; at++) {
                uint64_t slot = at / HASHES, place = places[key][at % HASHES];
                uint64_t distance = slot > place ? slot - place : place - slot;
                right &= model[slot] >=
                         rounded(levels[at % HASHES * SLOTS + distance], distance, sizes[type]);
            }
            assert_int_equal(present[key], right);
        }
        assert_ok(lethe_opencl_gaussian_extract(there, &extracted, NULL));
        assert_same_bloom(extracted, bloom);
        lethe_gaussian *none;
        assert_int_equal(lethe_opencl_gaussian_download(there, &none, NULL), LETHE_EINVAL);
        lethe_bloom_free(bloom);
        lethe_bloom_free(extracted);
        lethe_opencl_gaussian_free(there);
    }
}

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    if (device == NULL) skip();
    double levels[] = {1, 0.5, 1, 0.5}, high[] = {1, 1}, low[] = {0.5, 0.5}, negative[] = {1, -0.1},
           no_number[] = {1, NAN};
    const lethe_opencl_field_options bad[] = {
        {.slots = 0, .hashes = 1, .levels = levels},
        {.slots = UINT64_C(1) << 33, .hashes = 1, .levels = levels},
        {.slots = 9, .hashes = 0, .levels = levels},
        {.slots = 9, .hashes = 65, .levels = levels},
        {.slots = 9, .hashes = 1, .levels = levels, .slot_bits = 9},
        {.slots = 9, .hashes = 1, .levels = levels, .reach = 9},
        {.slots = UINT64_C(1) << 32, .hashes = 2, .levels = levels, .reach = UINT32_MAX},
        {.slots = 9, .hashes = 1, .levels = NULL, .reach = 1},
        {.slots = 9, .hashes = 1, .levels = high, .reach = 1},
        {.slots = 9, .hashes = 1, .levels = low, .reach = 1},
        {.slots = 9, .hashes = 1, .levels = negative, .reach = 1},
        {.slots = 9, .hashes = 1, .levels = no_number, .reach = 1},
    };
    lethe_opencl_gaussian *there;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_opencl_field_options options = bad[i];
        options.size = sizeof options;
        there = (lethe_opencl_gaussian *)&options;
        assert_int_equal(lethe_opencl_gaussian_new(device, &options, &there, NULL), LETHE_EINVAL);
        assert_null(there);
    }
    lethe_opencl_field_options options = LETHE_OPTIONS(lethe_opencl_field_options, .slots = 9,
                                                       .hashes = 2, .levels = levels, .reach = 1);
    assert_ok(lethe_opencl_gaussian_new(device, &options, &there, NULL));
    double values[9];
    assert_int_equal(lethe_opencl_gaussian_read(there, values, 8, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_opencl_gaussian_add_batch(there, NULL, 1, NULL), LETHE_EINVAL);
    lethe_opencl_gaussian_free(there);
    lethe_gaussian *here;
    assert_ok(lethe_gaussian_new(NULL, &here));
    assert_int_equal(lethe_opencl_gaussian_upload(device, here, (lethe_opencl_form)2, &there, NULL),
                     LETHE_EINVAL);
    lethe_gaussian_free(here);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_filter_has_the_cpus_slots),
        cmocka_unit_test(keys_are_hashed_on_the_device),
        cmocka_unit_test(a_caller_may_bring_his_own_bells),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
