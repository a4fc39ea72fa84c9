/* Goal: every instruction set computes the same bits and answers; readers beside a writer never
 *       read below the least true frequency during their call. */
#include "support/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "sketch/sketch.h"
#include "support/random.h"
#include "support/reports.h"

enum { KEYS = 3000 };

/* All that a sketch has said and saved. */
struct outcome {
    lethe_memory_writer saved;
    uint64_t counts[KEYS];
    uint8_t flags[KEYS];
};

/* Drives a sketch of the current level through all its operations. */
static void exercise(const lethe_sketch_options *options, struct outcome *outcome) {
    *outcome = (struct outcome){0};
    lethe_sketch *sketch, *other;
    assert_ok(lethe_sketch_new(options, &sketch));
    assert_ok(lethe_sketch_new(options, &other));
    lethe_hash keys[KEYS];
    uint64_t weights[KEYS];
    struct test_random random = {9};
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = lethe_hash_u64(3, i % 700);
        weights[i] = 1 + test_random_below(&random, 9);
    }
    assert_ok(lethe_sketch_add_batch(sketch, keys, KEYS, weights, NULL));
    assert_ok(lethe_sketch_add_batch(sketch, keys + 1, 1001, NULL, NULL));
    for (size_t i = 0; i < 77; i++)
        assert_ok(lethe_sketch_add_hash(other, keys[i], weights[i]));
    assert_ok(lethe_sketch_merge(sketch, other));
    lethe_status removed = lethe_sketch_remove_batch(sketch, keys, 900, NULL, outcome->flags);
    assert_true(removed == LETHE_OK || removed == LETHE_ENOTFOUND ||
                options->kind == LETHE_SKETCH_LOG ||
                options->removal == LETHE_SKETCH_REMOVAL_NONE ||
                options->kind == LETHE_SKETCH_CONSERVATIVE);
    assert_ok(lethe_sketch_count_batch(sketch, keys, KEYS, outcome->counts, outcome->flags));
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(&outcome->saved)));
    lethe_sketch_free(sketch);
    lethe_sketch_free(other);
}

static void all_paths_agree(void **state) {
    (void)state;
    static const uint32_t depths[] = {1, 2, 3, 4, 5, 8, 9, 32};
    static struct outcome expected, actual;
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        for (uint32_t bits = 8; bits <= (kind == LETHE_SKETCH_LOG ? 16 : 64); bits *= 2) {
            for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
                lethe_sketch_options options = LETHE_OPTIONS(
                    lethe_sketch_options, .kind = (lethe_sketch_kind)kind, .counter_bits = bits,
                    .depth = depths[i], .width = i == 3 ? 300001 : 97 + i);
                lethe_cpu_force(LETHE_CPU_SCALAR);
                exercise(&options, &expected);
                for (int level = 1; level <= (int)lethe_cpu_detect(); level++) {
                    lethe_cpu_force((lethe_cpu_level)level);
                    exercise(&options, &actual);
                    assert_memory_equal(expected.counts, actual.counts, sizeof expected.counts);
                    assert_memory_equal(expected.flags, actual.flags, sizeof expected.flags);
                    assert_int_equal(expected.saved.size, actual.saved.size);
                    assert_memory_equal(expected.saved.data, actual.saved.data, actual.saved.size);
                    lethe_memory_writer_free(&actual.saved);
                }
                lethe_memory_writer_free(&expected.saved);
            }
        }
    }
    lethe_cpu_force(lethe_cpu_detect());
}

/* Goal: the choice is really made by the CPU level. */
static void the_level_chooses_the_path(void **state) {
    (void)state;
    for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
        lethe_cpu_force((lethe_cpu_level)level);
        lethe_sketch *sketch;
        assert_ok(lethe_sketch_new(NULL, &sketch));
#if defined(__x86_64__)
        const struct lethe_sketch_operations *avx2 = &lethe_sketch_avx2[LETHE_SKETCH_COUNT_MIN][2];
        assert_int_equal(sketch->operations == avx2, level >= LETHE_CPU_AVX2);
#endif
        lethe_sketch_free(sketch);
    }
    lethe_cpu_force(lethe_cpu_detect());
}

/* A writer's keys: some that it only adds, some that it only removes after having added a lot, and
 * many others that come and go in the same counters. Each has its true frequency beside it. */
enum { GROWING = 50, SHRINKING = 50, OTHERS = 2000, START = 20000, ROUNDS = 2000, READERS = 2 };

struct shared {
    lethe_sketch *sketch;
    atomic_uint_least64_t growing[GROWING], shrinking[SHRINKING];
    atomic_bool done;
    atomic_uint_least64_t queries, misses;
};

static lethe_hash hash_of(uint64_t key) {
    return lethe_hash_u64(LETHE_DEFAULT_SEED, key);
}

/* What is only added is at least what was complete before the call; what is only removed at
 * least what is left after it. */
static void *read_on(void *context) {
    struct shared *shared = context;
    uint64_t queries = 0, misses = 0;
    for (uint64_t i = 0; !atomic_load(&shared->done) || queries == 0; i++) {
        lethe_hash hashes[GROWING + SHRINKING];
        uint64_t counts[GROWING + SHRINKING], least[GROWING];
        for (uint64_t key = 0; key < GROWING + SHRINKING; key++)
            hashes[key] = hash_of(key);
        for (uint64_t key = 0; key < GROWING; key++)
            least[key] = atomic_load(&shared->growing[key]);
        if (i % 2 == 0) {
            lethe_sketch_count_batch(shared->sketch, hashes, GROWING + SHRINKING, counts, NULL);
        } else {
            for (uint64_t key = 0; key < GROWING + SHRINKING; key++)
                counts[key] = sketch_count_hash(shared->sketch, hashes[key]).count;
        }
        for (uint64_t key = 0; key < GROWING; key++)
            misses += counts[key] < least[key];
        for (uint64_t key = 0; key < SHRINKING; key++)
            misses += counts[GROWING + key] < atomic_load(&shared->shrinking[key]);
        queries += GROWING + SHRINKING;
    }
    atomic_fetch_add(&shared->queries, queries);
    atomic_fetch_add(&shared->misses, misses);
    return NULL;
}

static void write_on(struct shared *shared, uint64_t seed) {
    struct test_random random = {seed};
    static uint8_t present[OTHERS];
    memset(present, 0, sizeof present);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t key = test_random_below(&random, GROWING);
        uint64_t weight = 1 + test_random_below(&random, 3);
        assert_ok(lethe_sketch_add_hash(shared->sketch, hash_of(key), weight));
        atomic_fetch_add(&shared->growing[key], weight);
        key = test_random_below(&random, SHRINKING);
        atomic_fetch_sub(&shared->shrinking[key], weight);
        assert_ok(lethe_sketch_remove_hash(shared->sketch, hash_of(GROWING + key), weight));
        for (int i = 0; i < 20; i++) {
            uint64_t other = test_random_below(&random, OTHERS);
            lethe_hash hash = hash_of(GROWING + SHRINKING + other);
            if (present[other]) {
                assert_ok(lethe_sketch_remove_hash(shared->sketch, hash, 7));
            } else {
                assert_ok(lethe_sketch_add_hash(shared->sketch, hash, 7));
            }
            present[other] = !present[other];
        }
    }
}

static void readers_are_never_too_low(void **state) {
    (void)state;
    static const lethe_sketch_options kinds[] = {
        {.kind = LETHE_SKETCH_COUNT_MIN, .width = 200},
        {.kind = LETHE_SKETCH_CONSERVATIVE,
         .width = 200,
         .removal = LETHE_SKETCH_REMOVAL_SUBTRACTION},
        {.kind = LETHE_SKETCH_FID, .width = 200},
        {.kind = LETHE_SKETCH_FID, .width = 200, .removal = LETHE_SKETCH_REMOVAL_COUNT_MIN},
    };
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        static struct shared shared;
        memset(&shared, 0, sizeof shared);
        lethe_sketch_options options = kinds[kind];
        options.size = sizeof options;
        assert_ok(lethe_sketch_new(&options, &shared.sketch));
        for (uint64_t key = 0; key < SHRINKING; key++) {
            assert_ok(lethe_sketch_add_hash(shared.sketch, hash_of(GROWING + key), START));
            atomic_store(&shared.shrinking[key], START);
        }
        pthread_t threads[READERS];
        for (int i = 0; i < READERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, read_on, &shared), 0);
        write_on(&shared, kind + 1);
        atomic_store(&shared.done, true);
        for (int i = 0; i < READERS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        print_message("%d queries beside the writer\n", (int)atomic_load(&shared.queries));
        assert_int_equal(atomic_load(&shared.misses), 0);
        lethe_sketch_free(shared.sketch);
    }
}

/* Goal: a reader of exports goes on while later ones are applied, and is never below the older
 *       of two. */
static void exports_are_applied_under_readers(void **state) {
    (void)state;
    static struct shared shared;
    memset(&shared, 0, sizeof shared);
    lethe_sketch *whole;
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 100);
    assert_ok(lethe_sketch_new(&options, &whole));
    lethe_memory_writer writer = {0};
    assert_ok(lethe_sketch_export(whole, lethe_sink_to_memory(&writer)));
    lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
    assert_ok(lethe_sketch_import(lethe_source_from_memory(&reader), NULL, &shared.sketch));
    lethe_memory_writer_free(&writer);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_on, &shared), 0);
    for (int round = 0; round < 60; round++) {
        for (uint64_t key = 0; key < GROWING; key++)
            assert_ok(lethe_sketch_add_hash(whole, hash_of(key), 1 + key % 5));
        assert_ok(lethe_sketch_export(whole, lethe_sink_to_memory(&writer)));
        reader = (lethe_memory_reader){.data = writer.data, .size = writer.size};
        assert_ok(lethe_sketch_apply(shared.sketch, lethe_source_from_memory(&reader)));
        lethe_memory_writer_free(&writer);
        for (uint64_t key = 0; key < GROWING; key++)
            atomic_fetch_add(&shared.growing[key], 1 + key % 5);
    }
    atomic_store(&shared.done, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&shared.misses), 0);
    lethe_sketch_free(shared.sketch);
    lethe_sketch_free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_paths_agree),
        cmocka_unit_test(the_level_chooses_the_path),
        cmocka_unit_test(readers_are_never_too_low),
        cmocka_unit_test(exports_are_applied_under_readers),
    };
    return cmocka_run_group_tests_name("sketch_threads", tests, NULL, NULL);
}
