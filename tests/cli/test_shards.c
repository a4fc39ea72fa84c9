/* Goal:   shards mark just those lines whose hash came before, however little memory there is.
 * Method: hashes with duplicates are added and each mark is compared with a search among all hashes
 * before it, sorted;
 *         also with memory for a part of a shard only, with hashes that all fall into one part of
 *         one shard, and with gaps between the lines of a shard that no step spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "dedup/shards.h"
#include "output/temporary.h"
#include "say/message.h"

enum { MOST = 400000 };

static uint64_t scramble(uint64_t number) {
    number = (number ^ number >> 31) * UINT64_C(0x7fb5d329728ea185);
    number = (number ^ number >> 27) * UINT64_C(0x81dadef4bc2dd44d);
    return number ^ number >> 33;
}

struct entry {
    uint64_t hash, line;
};

static int compare(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return a->line < b->line ? -1 : 1;
}

/* What the marks must be. */
static uint8_t *expected_of(const lethe_hash *hashes, size_t count) {
    struct entry *entries = malloc((count + 1) * sizeof *entries);
    uint8_t *expected = calloc(count + 1, 1);
    assert_non_null(entries);
    assert_non_null(expected);
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct entry){hashes[i].low, i};
    qsort(entries, count, sizeof *entries, compare);
    for (size_t i = 1; i < count; i++)
        expected[entries[i].line] = entries[i].hash == entries[i - 1].hash;
    free(entries);
    return expected;
}

static void check(const lethe_hash *hashes, size_t count, uint64_t memory_bytes) {
    char folder[TEMPORARY_BYTES];
    struct shards *shards;
    uint8_t *expected = expected_of(hashes, count), *marks = malloc(count + 1);
    assert_non_null(marks);
    assert_int_equal(temporary_make("test", folder), EXIT_DONE);
    assert_int_equal(shards_open(folder, memory_bytes, &shards), EXIT_DONE);
    for (size_t done = 0, size = 1; done < count; done += size, size = size * 5 % 4093 + 1) {
        if (size > count - done) size = count - done;
        assert_int_equal(shards_add(shards, hashes + done, size), EXIT_DONE);
    }
    assert_int_equal(shards_find(shards), EXIT_DONE);
    shards_duplicates(shards, 0, count, marks);
    assert_memory_equal(marks, expected, count);
    assert_true(shards_disk_bytes(shards) >= 8 * count);
    shards_free(shards);
    temporary_remove(folder);
    assert_int_not_equal(access(folder, F_OK), 0);
    free(expected);
    free(marks);
}

static lethe_hash *make(size_t count, uint64_t different, uint64_t seed) {
    lethe_hash *hashes = calloc(count + 1, sizeof *hashes);
    assert_non_null(hashes);
    for (size_t i = 0; i < count; i++)
        hashes[i].low = scramble(seed + scramble(i) % different);
    return hashes;
}

static void marks_are_right(void **state) {
    (void)state;
    static const struct {
        size_t count;
        uint64_t different, memory_bytes;
    } cases[] = {{0, 1, 1 << 20},         {1, 1, 1 << 20},       {1000, 1, 1 << 20},
                 {MOST, 200000, 1 << 28}, {MOST, 1, 1 << 20},    {MOST, UINT64_MAX, 1 << 24},
                 {MOST, 200000, 1 << 15}, {MOST, 3000, 1 << 16}, {MOST, UINT64_MAX, 1 << 14}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lethe_hash *hashes = make(cases[i].count, cases[i].different, 1000 * i);
        check(hashes, cases[i].count, cases[i].memory_bytes);
        free(hashes);
    }
}

/* All hashes agree in their first bits, so that parts are as unequal as can be. */
static void hashes_that_are_not_spread(void **state) {
    (void)state;
    enum { COUNT = 60000 };
    lethe_hash *hashes = make(COUNT, 40000, 7);
    for (unsigned bits = 6; bits <= 12; bits += 3) {
        for (size_t i = 0; i < COUNT; i++)
            hashes[i].low = hashes[i].low << bits >> bits;
        check(hashes, COUNT, 1 << 17);
    }
    free(hashes);
}

/* Lines of one shard that are far apart: a step is a number of lines, or many. */
static void long_gaps(void **state) {
    (void)state;
    lethe_hash *hashes = make(MOST, UINT64_MAX, 3);
    for (size_t i = 0; i < MOST; i++) {
        uint64_t number = i % 3 == 0 ? i / 2 : i;
        bool is_rare = i % 255 == 0 || i % 256 == 1 || i % 7001 == 0;
        hashes[i].low =
            (is_rare ? 0 : UINT64_C(1) << 63) | scramble(number) >> 1 >> (is_rare ? 5 : 0);
    }
    check(hashes, MOST, 1 << 22);
    free(hashes);
}

static void a_place_that_cannot_be_written(void **state) {
    (void)state;
    struct shards *shards;
    assert_int_equal(shards_open("/no/such/folder", 1 << 20, &shards), EXIT_ENVIRONMENT);
    shards_free(shards);
    shards_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_right),
        cmocka_unit_test(hashes_that_are_not_spread),
        cmocka_unit_test(long_gaps),
        cmocka_unit_test(a_place_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
