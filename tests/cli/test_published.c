/* Goal:   the published quotient and cascade filters, with which `lethe paper` compares ours, are
 *         what the paper describes: multisets of fingerprints, exactly.
 * Method: fingerprints of a few bits, so that there is an exact count of each one. Random
 *         insertions and removals are compared with the counts, all of them and in order; clusters
 *         are long because the filters are small and nearly full. Then the paper's Figure 1, slot
 *         by slot; a cascade of more pages than its buffers hold; and disks that fail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "paper/published_cascade.h"
#include "paper/published_level.h"
#include "support/random.h"

enum { SMALL_BITS = 12, SMALL = 1 << SMALL_BITS };

static lethe_hash hash_with(uint64_t fingerprint, unsigned bits) {
    return (lethe_hash){.high = fingerprint << (64 - bits)};
}

/* Every fingerprint has the count of the model, and reading in order yields just those. */
static void assert_equals(const struct published_quotient *filter,
                          const struct published_shape *shape, const int *counts) {
    uint64_t total = 0;
    for (uint64_t i = 0; i < SMALL; i++) {
        assert_int_equal(published_quotient_balance(filter, i), counts[i]);
        total += (uint64_t)counts[i];
    }
    assert_int_equal(published_quotient_count(filter), total);
    struct level_reader *reader = level_reader_of(filter, shape);
    assert_non_null(reader);
    for (uint64_t i = 0; i < SMALL; i++) {
        for (int copy = 0; copy < counts[i]; copy++) {
            uint64_t entry;
            assert_true(level_reader_next(reader, &entry));
            assert_int_equal(entry, i);
        }
    }
    uint64_t more;
    assert_false(level_reader_next(reader, &more));
    assert_int_equal(errno, 0);
    level_reader_close(reader);
}

static void a_filter_equals_exact_counts(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct test_random random = {seed};
        struct published_shape shape = {.quotient_bits = 4 + seed % 5};
        shape.remainder_bits = SMALL_BITS - shape.quotient_bits;
        struct published_quotient *filter = published_quotient_new(&shape);
        assert_non_null(filter);
        static int counts[SMALL];
        memset(counts, 0, sizeof counts);
        uint64_t most = (UINT64_C(1) << shape.quotient_bits) * 15 / 16;
        /* From all fingerprints, or from few, which makes long runs and copies. */
        uint64_t range = seed % 2 == 0 ? SMALL : 64;
        for (int step = 0; step < 3000; step++) {
            uint64_t key = SMALL - 1 - test_random_below(&random, range) * (SMALL / range);
            bool adds = test_random_below(&random, 100) < (step / 500 % 2 == 0 ? 70 : 30);
            if (adds && published_quotient_count(filter) < most) {
                assert_true(published_quotient_insert(filter, key));
                counts[key]++;
            } else if (!adds) {
                assert_int_equal(published_quotient_remove(filter, key), counts[key] > 0);
                if (counts[key] > 0) counts[key]--;
            }
            if (step % 250 == 0) assert_equals(filter, &shape, counts);
        }
        assert_equals(filter, &shape, counts);
        published_quotient_clear(filter);
        memset(counts, 0, sizeof counts);
        assert_equals(filter, &shape, counts);
        published_quotient_free(filter);
    }
}

static void a_full_filter_refuses_and_stays_as_it_was(void **state) {
    (void)state;
    struct published_shape shape = {.quotient_bits = 4, .remainder_bits = SMALL_BITS - 4};
    struct published_quotient *filter = published_quotient_new(&shape);
    assert_non_null(filter);
    static int counts[SMALL];
    memset(counts, 0, sizeof counts);
    int inserted = 0;
    while (published_quotient_insert(filter, SMALL - 1 - inserted % 3)) {
        counts[SMALL - 1 - inserted % 3]++;
        inserted++;
        assert_in_range(inserted, 1, 32);
    }
    assert_true(inserted >= 16); /* as many as there are quotients, all of them the last one's */
    assert_equals(filter, &shape, counts);
    published_quotient_free(filter);
}

static void figure_1_slot_by_slot(void **state) {
    (void)state;
    /* A to H with their quotients; the remainders a to h are 1 to 8. */
    static const unsigned quotients[8] = {1, 1, 3, 3, 3, 4, 6, 6};
    static const char *const expected[10] = {"---", "100", "011", "100", "111",
                                             "011", "101", "001", "011", "---"};
    struct published_shape shape = {.quotient_bits = 4, .remainder_bits = 4};
    struct published_quotient *filter = published_quotient_new(&shape);
    assert_non_null(filter);
    static const unsigned order[8] = {7, 2, 5, 0, 4, 6, 1, 3};
    for (int i = 0; i < 8; i++)
        assert_true(published_quotient_insert(filter, quotients[order[i]] << 4 | (order[i] + 1)));
    for (unsigned i = 0; i < 10; i++) {
        struct published_slot slot = published_quotient_slot(filter, i);
        char flags[4] = {slot.is_occupied ? '1' : '0', slot.is_continuation ? '1' : '0',
                         slot.is_shifted ? '1' : '0', '\0'};
        assert_string_equal(slot.is_empty ? "---" : flags, expected[i]);
        if (!slot.is_empty) assert_int_equal(slot.remainder, i);
    }
    published_quotient_free(filter);
}

static void make_folder(char folder[64]) {
    strcpy(folder, "/tmp/lethe-published-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void cascade_test(struct published_cascade *cascade, lethe_hash hash, bool expected) {
    bool is_present;
    uint64_t reads = 0;
    assert_true(published_cascade_test(cascade, hash, &is_present, &reads));
    assert_int_equal(is_present, expected);
}

static void a_cascade_equals_exact_counts(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct test_random random = {seed};
        bool removes = seed % 2 == 0;
        struct published_cascade *cascade = published_cascade_new(
            &(struct published_cascade_options){.folder = folder,
                                                .quotient_bits = 5,
                                                .fingerprint_bits = SMALL_BITS,
                                                .memory_entries = 24,
                                                .has_tombstones = removes});
        assert_non_null(cascade);
        static int counts[SMALL];
        memset(counts, 0, sizeof counts);
        for (int step = 0; step < 1400; step++) {
            uint64_t key = test_random_below(&random, seed < 5 ? SMALL : 200);
            if (removes && counts[key] > 0 && test_random_below(&random, 2) == 0) {
                assert_true(published_cascade_remove(cascade, hash_with(key, SMALL_BITS)));
                counts[key]--;
            } else {
                assert_true(published_cascade_insert(cascade, hash_with(key, SMALL_BITS)));
                counts[key]++;
            }
            if (step % 700 == 699) {
                for (uint64_t i = 0; i < SMALL; i += i < 200 ? 1 : 17)
                    cascade_test(cascade, hash_with(i, SMALL_BITS), counts[i] > 0);
            }
        }
        published_cascade_free(cascade);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing was left there */
}

/* As many levels as there are ones in the number of times that QF0 was full, read one page each. */
static void levels_are_a_binary_counter(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    enum { MEMORY = 768, FILLED = 100 };
    struct published_cascade *cascade = published_cascade_new(&(struct published_cascade_options){
        .folder = folder, .quotient_bits = 10, .fingerprint_bits = 40, .memory_entries = MEMORY});
    assert_non_null(cascade);
    assert_false(published_cascade_read(cascade, 1));
    assert_int_equal(errno, 0);
    uint64_t key = 0;
    for (unsigned filled = 0; filled <= FILLED; filled++) {
        assert_int_equal(published_cascade_levels(cascade),
                         __builtin_popcount(filled > 0 ? filled - 1 : 0));
        for (int i = 0; i < MEMORY; i++)
            assert_true(published_cascade_insert(cascade, lethe_hash_u64(1, key++)));
        assert_true(published_cascade_is_full(cascade));
    }
    for (uint64_t i = 0; i < key; i += 97)
        cascade_test(cascade, lethe_hash_u64(1, i), true);
    uint64_t reads = 0, asked = 1000;
    for (uint64_t i = 0; i < asked; i++) {
        bool is_present;
        assert_true(published_cascade_test(cascade, lethe_hash_u64(2, i), &is_present, &reads));
        assert_false(is_present);
    }
    for (uint64_t i = 0; i < 100; i++)
        assert_true(published_cascade_read(cascade, lethe_hash_u64(3, i).low));
    double per_lookup = (double)reads / (double)asked;
    assert_true(per_lookup >= published_cascade_levels(cascade));
    assert_true(per_lookup < 1.02 * published_cascade_levels(cascade));
    published_cascade_free(cascade);
    assert_int_equal(rmdir(folder), 0);
}

/* Files of many buffers, and of empty pages at either end. */
static void files_larger_than_a_buffer(void **state) {
    (void)state;
    char folder[64], path[80];
    make_folder(folder);
    snprintf(path, sizeof path, "%s/level", folder);
    struct published_shape shape = {.quotient_bits = 18, .remainder_bits = 22};
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct test_random random = {seed};
        /* A few in the middle, none, and nearly all slots of the upper half and of the whole. */
        static const uint64_t counts[] = {5, 0, 120000, 240000};
        uint64_t count = counts[seed - 1], first = seed == 4 ? 0 : UINT64_C(1) << 39;
        uint64_t step = ((UINT64_C(1) << 40) - first) / (count + 1);
        uint64_t *entries = calloc((size_t)count + 1, sizeof *entries);
        struct level_writer *writer = level_writer_open(path, &shape);
        assert_non_null(writer);
        uint64_t entry = first;
        uint64_t written = 0;
        for (; written < count && entry >> 22 < (1 << 18); written++) {
            entries[written] = entry;
            assert_true(level_writer_put(writer, entry));
            entry += 1 + test_random_below(&random, 2 * step);
        }
        assert_true(level_writer_close(writer));
        struct level_reader *reader = level_reader_open(path, &shape);
        assert_non_null(reader);
        for (uint64_t i = 0; i < written; i++) {
            uint64_t read;
            assert_true(level_reader_next(reader, &read));
            assert_int_equal(read, entries[i]);
        }
        assert_false(level_reader_next(reader, &entry));
        assert_int_equal(errno, 0);
        level_reader_close(reader);
        free(entries);
        unlink(path);
    }
    rmdir(folder);
}

static void failures_are_reported(void **state) {
    (void)state;
    char folder[64];
    make_folder(folder);
    struct published_cascade_options options = {
        .folder = folder, .quotient_bits = 5, .fingerprint_bits = 20, .memory_entries = 24};
    struct published_cascade *cascade = published_cascade_new(&options);
    assert_non_null(cascade);
    assert_false(published_cascade_remove(cascade, hash_with(1, 20)));
    assert_int_equal(errno, ENOTSUP);
    assert_int_equal(rmdir(folder), 0);
    bool fine = true;
    for (int i = 0; i < 25 && fine; i++) {
        errno = 0;
        fine = published_cascade_insert(cascade, lethe_hash_u64(1, (uint64_t)i));
        assert_int_equal(fine, i < 24);
    }
    assert_int_equal(errno, ENOENT);
    published_cascade_free(cascade);

    /* A file that was cut off: the merge and the lookup that need it fail. */
    make_folder(folder);
    cascade = published_cascade_new(&options);
    assert_non_null(cascade);
    for (int i = 0; i < 48; i++)
        assert_true(published_cascade_insert(cascade, lethe_hash_u64(1, (uint64_t)i)));
    char path[80];
    snprintf(path, sizeof path, "%s/level-1", folder);
    assert_int_equal(truncate(path, 0), 0);
    bool is_present;
    uint64_t reads = 0;
    errno = 0;
    assert_false(published_cascade_test(cascade, lethe_hash_u64(2, 1), &is_present, &reads));
    assert_int_equal(errno, EIO);
    assert_false(published_cascade_insert(cascade, lethe_hash_u64(1, 48)));
    assert_int_equal(errno, EIO);
    published_cascade_free(cascade);
    snprintf(path, sizeof path, "%s/level-2", folder);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_equals_exact_counts),
        cmocka_unit_test(a_full_filter_refuses_and_stays_as_it_was),
        cmocka_unit_test(figure_1_slot_by_slot),
        cmocka_unit_test(a_cascade_equals_exact_counts),
        cmocka_unit_test(levels_are_a_binary_counter),
        cmocka_unit_test(files_larger_than_a_buffer),
        cmocka_unit_test(failures_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
