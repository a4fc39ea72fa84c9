/* Goal: every instruction set computes the same bits and answers, and readers may share a
 *       filter. */
#include "support/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "filter/bloom/bloom.h"
#include "support/random.h"
#include "support/reports.h"

#if defined(TEST_HAS_EMULATED_AVX512)
extern const struct lethe_bloom_operations lethe_bloom_blocked_avx512_emulated;
#endif

enum { KEYS = 3000, LINES = 97 };

struct path {
    const char *name;
    const struct lethe_bloom_operations *operations;
};

/* The paths that can run here, the scalar one first. */
static size_t list_paths(struct path *paths) {
    size_t count = 0;
    paths[count++] = (struct path){"scalar", &lethe_bloom_blocked_scalar};
#if defined(__x86_64__)
    if (lethe_cpu_detect() >= LETHE_CPU_AVX2)
        paths[count++] = (struct path){"avx2", &lethe_bloom_blocked_avx2};
    if (lethe_cpu_detect() >= LETHE_CPU_AVX512)
        paths[count++] = (struct path){"avx512", &lethe_bloom_blocked_avx512};
#endif
#if defined(TEST_HAS_EMULATED_AVX512)
    paths[count++] = (struct path){"avx512 emulated", &lethe_bloom_blocked_avx512_emulated};
#endif
    return count;
}

struct outcome {
    _Alignas(64) uint64_t words[LINES * LETHE_BLOOM_LINE_WORDS];
    uint8_t answers[4][KEYS];
};

/* Drives one path through all its operations and records everything it said and wrote. */
static void exercise(const struct lethe_bloom_operations *operations, uint32_t hashes,
                     struct outcome *outcome) {
    memset(outcome, 0, sizeof *outcome);
    struct lethe_bloom_bits bits = {.words = outcome->words, .range = LINES, .hashes = hashes};
    lethe_hash keys[KEYS];
    for (uint64_t i = 0; i < KEYS; i++)
        keys[i] = lethe_hash_u64(3, i % 2000);
    for (size_t i = 0; i < 400; i++)
        operations->add(&bits, keys[i]);
    operations->add_batch(&bits, keys + 400, 300);
    for (size_t i = 0; i < KEYS; i++)
        outcome->answers[0][i] = operations->test(&bits, keys[i]);
    operations->test_batch(&bits, keys, KEYS, outcome->answers[1]);
    operations->add_and_test_batch(&bits, keys + 700, 500, outcome->answers[2]);
    for (size_t i = 1000; i < 1500; i++)
        outcome->answers[3][i] = operations->add_and_test(&bits, keys[i]);
}

static void all_paths_agree(void **state) {
    (void)state;
    struct path paths[4];
    size_t count = list_paths(paths);
    struct outcome *expected = aligned_alloc(64, (sizeof *expected + 63) / 64 * 64);
    struct outcome *actual = aligned_alloc(64, (sizeof *actual + 63) / 64 * 64);
    for (uint32_t hashes = 8; hashes <= 32; hashes += 8) {
        exercise(paths[0].operations, hashes, expected);
        assert_memory_equal(expected->answers[0], expected->answers[1], KEYS);
        for (size_t i = 1; i < count; i++) {
            exercise(paths[i].operations, hashes, actual);
            print_message("%u hashes: %s\n", hashes, paths[i].name);
            assert_memory_equal(expected->words, actual->words, sizeof expected->words);
            assert_memory_equal(expected->answers, actual->answers, sizeof expected->answers);
        }
    }
    free(expected);
    free(actual);
}

/* Goal: the choice is really made by the CPU level. */
static void the_level_chooses_the_path(void **state) {
    (void)state;
    struct path paths[4];
    list_paths(paths);
    for (int level = 0; level <= (int)lethe_cpu_detect(); level++) {
        lethe_cpu_force((lethe_cpu_level)level);
        lethe_bloom *filter;
        lethe_bloom_options options =
            LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED);
        assert_ok(lethe_bloom_new(&options, &filter));
        assert_ptr_equal(filter->operations, paths[level].operations);
        lethe_bloom_free(filter);
    }
    lethe_cpu_force(lethe_cpu_detect());
}

/* Keys of a classical filter whose words are random: stretches that were added, stretches that were
 * not, and both mixed. With seven eighths of the bits set, keys fail at every probe. */
static void make_classic(struct test_random *random, struct lethe_bloom_bits *bits,
                         lethe_hash *keys) {
    for (uint64_t i = 0; i < (bits->range + 63) / 64; i++)
        bits->words[i] =
            test_random_next(random) | test_random_next(random) | test_random_next(random);
    for (size_t i = 0, added = 0; i < KEYS; i++) {
        if (i % 400 == 0) added = test_random_below(random, 3);
        keys[i] = lethe_hash_u64(11, i);
        if (added == 0 || (added == 1 && test_random_below(random, 2) == 0))
            lethe_bloom_classic.add(bits, keys[i]);
    }
}

/* Goal:   a batch in a classical filter answers as single calls do, whether the caches hold the
 *         filter or not, for every number of probes, in batches of every size.
 * Method: filters on both sides of the bound between the two ways of classic.c (2 MiB). */
static void classic_batches_answer_as_single_calls(void **state) {
    (void)state;
    enum { CACHED_BITS = 1 << 24 };
    static const uint64_t ranges[] = {64, 100003, CACHED_BITS - 1, CACHED_BITS, CACHED_BITS + 77};
    struct test_random random = {.state = 5};
    uint64_t *words = aligned_alloc(64, CACHED_BITS / 8 + 64);
    static lethe_hash keys[KEYS];
    static uint8_t single[KEYS], batch[KEYS];
    for (uint32_t hashes = 1; hashes <= 64; hashes++) {
        for (size_t r = 0; r < sizeof ranges / sizeof ranges[0]; r++) {
            /* The middle of the range of k is as the rest, and large filters take time. */
            if (ranges[r] >= CACHED_BITS - 1 && hashes > 16 && hashes < 61) continue;
            struct lethe_bloom_bits bits = {.words = words, .range = ranges[r], .hashes = hashes};
            make_classic(&random, &bits, keys);
            for (size_t i = 0; i < KEYS; i++)
                single[i] = lethe_bloom_classic.test(&bits, keys[i]);
            memset(batch, 2, sizeof batch);
            for (size_t done = 0, size = 0; done < KEYS; done += size) {
                size = test_random_below(&random, test_random_below(&random, 8) == 0 ? 1000 : 70);
                if (size > KEYS - done) size = KEYS - done;
                lethe_bloom_classic.test_batch(&bits, keys + done, size, batch + done);
            }
            assert_memory_equal(single, batch, KEYS);
        }
    }
    free(words);
}

static void *read_all(void *context) {
    const lethe_bloom *filter = context;
    uint8_t present[KEYS];
    lethe_hash hashes[KEYS];
    uint64_t found = 0;
    for (uint64_t i = 0; i < KEYS; i++)
        hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, i);
    lethe_bloom_test_batch(filter, hashes, KEYS, present);
    for (size_t i = 0; i < KEYS; i++)
        found += present[i] && lethe_bloom_test_hash(filter, hashes[i]);
    return (void *)(uintptr_t)(found + (bloom_stats(filter).bits_set == 0));
}

/* Method: four threads read one filter; the thread sanitizer watches. */
static void readers_share_a_filter(void **state) {
    (void)state;
    for (int layout = 0; layout < 2; layout++) {
        lethe_bloom *filter;
        lethe_bloom_options options =
            LETHE_OPTIONS(lethe_bloom_options, .layout = (lethe_bloom_layout)layout);
        assert_ok(lethe_bloom_new(&options, &filter));
        for (uint64_t i = 0; i < KEYS; i++)
            lethe_bloom_add_hash(filter, lethe_hash_u64(LETHE_DEFAULT_SEED, i));
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, read_all, filter), 0);
        for (int i = 0; i < 4; i++) {
            void *found;
            assert_int_equal(pthread_join(threads[i], &found), 0);
            assert_int_equal((uintptr_t)found, KEYS);
        }
        lethe_bloom_free(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_paths_agree),
        cmocka_unit_test(classic_batches_answer_as_single_calls),
        cmocka_unit_test(the_level_chooses_the_path),
        cmocka_unit_test(readers_share_a_filter),
    };
    return cmocka_run_group_tests_name("bloom_paths", tests, NULL, NULL);
}
