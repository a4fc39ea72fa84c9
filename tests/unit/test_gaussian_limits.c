/* Goal: options out of range are refused, allocations that fail are reported, and readers may
 *       share a filter. */
#include "support/test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "filter/gaussian/bell.h"
#include "lethe/gaussian.h"
#include "support/heap.h"
#include "support/reports.h"

static void bad_options_are_refused(void **state) {
    (void)state;
    const lethe_gaussian_options bad[] = {
        LETHE_OPTIONS(lethe_gaussian_options, .slots = (UINT64_C(1) << 40) + 1),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = UINT64_MAX),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .hashes = 65),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .hashes = UINT32_MAX),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .slot_bits = 9),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .slot_bits = 16),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .slot_bits = 33),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .slot_bits = UINT32_MAX),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 8,
                      .hashes = 5), /* a bell of four bits reaches four slots: nine */
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 30, .hashes = 5, .slot_bits = 64,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .spacing = (lethe_gaussian_spacing)2),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100,
                      .exponential = (lethe_gaussian_exponential)2),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .deviation_cap = NAN),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .deviation_cap = -1),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .deviation_cap = 65),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .deviation_cap = INFINITY),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .capacity = 1),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .error = 0.1),
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 100, .error = NAN),
        LETHE_OPTIONS(lethe_gaussian_options, .hashes = 3),
        LETHE_OPTIONS(lethe_gaussian_options, .error = NAN),
        LETHE_OPTIONS(lethe_gaussian_options, .error = 0.6),
        LETHE_OPTIONS(lethe_gaussian_options, .error = -0.1),
        LETHE_OPTIONS(lethe_gaussian_options, .capacity = UINT64_MAX),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_gaussian *filter = (lethe_gaussian *)&filter;
        lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
        assert_int_equal(lethe_gaussian_plan(&bad[i], &shape), LETHE_EINVAL);
        assert_int_equal(lethe_gaussian_new(&bad[i], &filter), LETHE_EINVAL);
        assert_null(filter);
    }
    lethe_gaussian_free(NULL);
}

static void defaults_and_edges_are_taken(void **state) {
    (void)state;
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    assert_ok(lethe_gaussian_plan(NULL, &shape));
    assert_int_equal(shape.slot_bits, 4);
    assert_int_equal(shape.hashes, 7);
    assert_int_equal(shape.capacity, 65536);
    assert_int_equal(shape.radius, 4);
    assert_ok(lethe_gaussian_plan(&LETHE_OPTIONS(lethe_gaussian_options, .slots = 9, .hashes = 5),
                                  &shape));
    assert_int_equal(shape.memory_bytes, 8);
    /* A size that was asked for by capacity grows to the widest bell. */
    lethe_gaussian_options tiny =
        LETHE_OPTIONS(lethe_gaussian_options, .capacity = 1, .error = 1e-15, .slot_bits = 64,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED);
    assert_ok(lethe_gaussian_plan(&tiny, &shape));
    assert_int_equal(shape.slots, 2 * shape.radius + 1);
    /* One slot is a filter, when bells are bare. */
    lethe_gaussian *filter;
    lethe_gaussian_options one =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 1, .hashes = 1, .slot_bits = 3);
    assert_ok(lethe_gaussian_new(&one, &filter));
    assert_false(lethe_gaussian_test(filter, "a", 1));
    lethe_gaussian_add(filter, "a", 1);
    assert_true(lethe_gaussian_test(filter, "b", 1));
    lethe_gaussian_free(filter);
}

/* Goal: nothing but the middle is full, however wide the bell and however the exponential is
 *       computed. */
static void only_the_middle_is_full(void **state) {
    (void)state;
    static const uint32_t slot_types[] = {1, 2, 3, 4, 5, 6, 7, 8, 32, 64};
    for (size_t type = 0; type < 10; type++) {
        for (int choice = 0; choice < 4; choice++) {
            struct lethe_gaussian_rule rule = {.hashes = 64,
                                               .slot_bits = slot_types[type],
                                               .spacing = (lethe_gaussian_spacing)(choice % 2),
                                               .exponential =
                                                   (lethe_gaussian_exponential)(choice / 2)};
            double top = lethe_gaussian_top(rule.slot_bits);
            for (uint32_t hash = 1; hash <= 64; hash++) {
                double previous = top;
                assert_true(lethe_gaussian_level(&rule, hash, 0) == top);
                for (uint32_t distance = 1; distance < 200; distance++) {
                    double level = lethe_gaussian_level(&rule, hash, distance);
                    assert_true(level < top && level <= previous && level >= 0);
                    assert_true(hash == 64 ||
                                level <= lethe_gaussian_level(&rule, hash + 1, distance));
                    previous = level;
                }
                assert_true(previous == 0);
            }
        }
    }
}

/* Goal: Schraudolph's exponential is near the exact one wherever a bell is computed. */
static void the_fast_exponential_is_near(void **state) {
    (void)state;
    struct lethe_gaussian_rule exact = {
        .hashes = 64, .slot_bits = 64, .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED};
    struct lethe_gaussian_rule fast = exact;
    fast.exponential = LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH;
    double most = 0;
    for (uint32_t distance = 1; distance <= 192; distance++) {
        double a = lethe_gaussian_level(&exact, 64, distance);
        most = fmax(most, fabs(lethe_gaussian_level(&fast, 64, distance) / a - 1));
    }
    print_message("at most %.4f off\n", most);
    assert_true(most > 0.01 && most < 0.04);
}

enum stage { NEW, COPY, LIKE, EXTRACT, PROMOTE, SAVE, LOAD, STAGES };

/* One of the calls that allocate, on a heap that may fail. */
static lethe_status attempt(enum stage stage, uint32_t slot_bits, const lethe_allocator *allocator,
                            const lethe_bloom *bloom, const lethe_memory_writer *saved) {
    lethe_gaussian *filter = NULL, *copy = NULL;
    lethe_bloom *extracted = NULL;
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 300, .hashes = 6, .slot_bits = slot_bits,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED, .allocator = allocator);
    lethe_gaussian_options promotion =
        LETHE_OPTIONS(lethe_gaussian_options, .slot_bits = slot_bits, .allocator = allocator);
    lethe_memory_writer writer = {0};
    lethe_memory_reader reader = {.data = saved->data, .size = saved->size};
    lethe_status status = LETHE_OK;
    if (stage == PROMOTE) {
        status = lethe_gaussian_promote(bloom, &promotion, &filter);
    } else if (stage == LOAD) {
        status = lethe_gaussian_load(lethe_source_from_memory(&reader), allocator, &filter);
    } else {
        status = lethe_gaussian_new(&options, &filter);
    }
    assert_true((filter != NULL) == (status == LETHE_OK));
    if (status == LETHE_OK && stage == COPY) {
        status = lethe_gaussian_copy(filter, &copy);
        assert_true((copy != NULL) == (status == LETHE_OK));
    }
    if (status == LETHE_OK && stage == LIKE) {
        status = lethe_gaussian_new_like(filter, 1000, 0, 0, &copy);
        assert_true((copy != NULL) == (status == LETHE_OK));
    }
    if (status == LETHE_OK && stage == EXTRACT) {
        status = lethe_gaussian_extract(filter, &extracted);
        assert_true((extracted != NULL) == (status == LETHE_OK));
    }
    if (status == LETHE_OK && stage == SAVE)
        status = lethe_gaussian_save(filter, lethe_sink_to_memory(&writer));
    lethe_memory_writer_free(&writer);
    lethe_bloom_free(extracted);
    lethe_gaussian_free(copy);
    lethe_gaussian_free(filter);
    return status;
}

/* Method: fail allocation n = 0, 1, ... until the call succeeds. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    static const uint32_t slot_types[] = {3, 4, 8, 32, 64};
    lethe_bloom *bloom;
    assert_ok(
        lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .bits = 400, .hashes = 5), &bloom));
    for (size_t type = 0; type < 5; type++) {
        lethe_memory_writer saved = {0};
        lethe_gaussian *filter;
        lethe_gaussian_options options = LETHE_OPTIONS(lethe_gaussian_options, .slots = 300,
                                                       .hashes = 6, .slot_bits = slot_types[type]);
        assert_ok(lethe_gaussian_new(&options, &filter));
        assert_ok(lethe_gaussian_save(filter, lethe_sink_to_memory(&saved)));
        lethe_gaussian_free(filter);
        for (int stage = 0; stage < STAGES; stage++) {
            lethe_status status = LETHE_ENOMEM;
            size_t n = 0;
            for (; status != LETHE_OK; n++) {
                struct test_heap heap;
                test_heap_init(&heap, n);
                status =
                    attempt((enum stage)stage, slot_types[type], &heap.allocator, bloom, &saved);
                assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
                assert_int_equal(heap.live_blocks, 0);
            }
            assert_true(n > 3);
        }
        lethe_memory_writer_free(&saved);
    }
    lethe_bloom_free(bloom);
}

static void bad_promotions_are_refused(void **state) {
    (void)state;
    lethe_bloom *classic, *blocked, *small;
    lethe_gaussian *filter;
    assert_ok(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .capacity = 100), &classic));
    assert_ok(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED),
                              &blocked));
    assert_ok(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .bits = 8, .hashes = 5), &small));
    const lethe_gaussian_options bad[] = {
        LETHE_OPTIONS(lethe_gaussian_options, .slots = 1),
        LETHE_OPTIONS(lethe_gaussian_options, .hashes = 1),
        LETHE_OPTIONS(lethe_gaussian_options, .capacity = 1),
        LETHE_OPTIONS(lethe_gaussian_options, .error = 0.1),
        LETHE_OPTIONS(lethe_gaussian_options, .seed = 1),
        LETHE_OPTIONS(lethe_gaussian_options, .slot_bits = 9),
        LETHE_OPTIONS(lethe_gaussian_options, .error = NAN),
        LETHE_OPTIONS(lethe_gaussian_options, .deviation_cap = NAN),
    };
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(lethe_gaussian_promote(classic, &bad[i], &filter), LETHE_EINVAL);
        assert_null(filter);
    }
    assert_int_equal(lethe_gaussian_promote(blocked, NULL, &filter), LETHE_EINVAL);
    assert_int_equal(lethe_gaussian_promote(small, NULL, &filter), LETHE_EINVAL);
    assert_ok(lethe_gaussian_promote(classic, NULL, &filter));
    assert_int_equal(gaussian_shape(filter).capacity, 100);
    lethe_gaussian_free(filter);
    lethe_bloom_free(classic);
    lethe_bloom_free(blocked);
    lethe_bloom_free(small);
}

enum { KEYS = 3000 };

static void *read_all(void *context) {
    const lethe_gaussian *filter = context;
    uint8_t present[KEYS];
    lethe_hash hashes[KEYS];
    uint64_t found = 0;
    for (uint64_t i = 0; i < KEYS; i++)
        hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, i);
    lethe_gaussian_test_batch(filter, hashes, KEYS, present);
    for (size_t i = 0; i < KEYS; i++)
        found += present[i] && lethe_gaussian_test_hash(filter, hashes[i]);
    lethe_memory_writer writer = {0};
    bool saved = lethe_gaussian_save(filter, lethe_sink_to_memory(&writer)) == LETHE_OK;
    lethe_memory_writer_free(&writer);
    return (void *)(uintptr_t)(found + (gaussian_stats(filter).slots_full == 0) + !saved);
}

/* Method: four threads read one filter; the thread sanitizer watches. */
static void readers_share_a_filter(void **state) {
    (void)state;
    static const uint32_t slot_types[] = {4, 8, 32};
    for (size_t type = 0; type < 3; type++) {
        lethe_gaussian *filter;
        lethe_gaussian_options options =
            LETHE_OPTIONS(lethe_gaussian_options, .capacity = KEYS, .slot_bits = slot_types[type]);
        assert_ok(lethe_gaussian_new(&options, &filter));
        for (uint64_t i = 0; i < KEYS; i++)
            lethe_gaussian_add_hash(filter, lethe_hash_u64(LETHE_DEFAULT_SEED, i));
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, read_all, filter), 0);
        for (int i = 0; i < 4; i++) {
            void *found;
            assert_int_equal(pthread_join(threads[i], &found), 0);
            assert_int_equal((uintptr_t)found, KEYS);
        }
        lethe_gaussian_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(defaults_and_edges_are_taken),
        cmocka_unit_test(only_the_middle_is_full),
        cmocka_unit_test(the_fast_exponential_is_near),
        cmocka_unit_test(each_failed_allocation_is_survived),
        cmocka_unit_test(bad_promotions_are_refused),
        cmocka_unit_test(readers_share_a_filter),
    };
    return cmocka_run_group_tests_name("gaussian_limits", tests, NULL, NULL);
}
