/* Goal:   a fold's counters come out in the order of their keys, whatever the keys are like.
 * Method: a tally of different keys from alphabets that provoke ties (few letters, zero bytes,
 *         long common beginnings, keys that begin others), sorted, and each compared with the
 *         one before it, byte by byte; none is lost. Some are split first, and each part is sorted
 *         by itself. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "engine/values/fold_order.h"
#include "support/random.h"

enum { KEY_BYTES = 60, MOST = 20000, MANY = 5000, STEM_BYTES = 13 };

struct kind {
    unsigned letters;  /* bytes are 0..letters-1 */
    unsigned common;   /* all keys begin with so many equal bytes */
    unsigned shortest; /* bytes of their own */
    unsigned longest;
    size_t count;
    unsigned groups; /* if any: one letter of so many, and twelve equal bytes, begin a key's own */
};

static int compare(const lethe_tally_record *a, const lethe_tally_record *b) {
    size_t size = a->key_size < b->key_size ? a->key_size : b->key_size;
    int order = memcmp(a->key, b->key, size);
    return order != 0 ? order : (int)a->key_size - (int)b->key_size;
}

static size_t fill(lethe_tally *tally, const struct kind *kind, struct test_random *random,
                   lethe_folding *foldings) {
    size_t made = 0;
    for (size_t i = 0; i < kind->count; i++) {
        char key[KEY_BYTES];
        memset(key, 'c', kind->common);
        size_t size =
            kind->common + kind->shortest +
            (size_t)test_random_below(random, kind->longest - kind->shortest + UINT64_C(1));
        for (size_t j = kind->common; j < size; j++)
            key[j] = (char)test_random_below(random, kind->letters);
        if (kind->groups > 0) {
            memset(key + kind->common, 'g', STEM_BYTES);
            key[kind->common] = (char)test_random_below(random, kind->groups);
        }
        lethe_bytes bytes = {key, size};
        uint32_t tag = lethe_tally_tag(lethe_hash_bytes(1, key, size));
        if (size == 0 || lethe_tally_find(tally, tag, bytes) != NULL) continue;
        lethe_tally_record *record = lethe_tally_add(tally, tag, bytes);
        assert_non_null(record);
        foldings[made] = (lethe_folding){.record = record, .value = (int64_t)made};
        made++;
    }
    return made;
}

static void try_kind(const struct kind *kind, uint64_t seed) {
    static lethe_folding foldings[MOST];
    static bool seen[MOST];
    struct test_random random = {seed};
    lethe_tally *tally;
    assert_ok(lethe_tally_new(NULL, 0, &tally));
    size_t count = fill(tally, kind, &random, foldings);
    size_t lower = seed % 2 == 0 ? lethe_fold_split(foldings, count) : 0;
    if (seed % 2 == 0 && count > MANY) assert_in_range(lower, count * 2 / 5, count * 3 / 5);
    lethe_fold_order(foldings, lower);
    lethe_fold_order(foldings + lower, count - lower);
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < count; i++) {
        assert_false(seen[foldings[i].value]);
        seen[foldings[i].value] = true;
        if (i > 0) assert_true(compare(foldings[i - 1].record, foldings[i].record) < 0);
    }
    lethe_tally_free(tally);
}

static void keys_come_in_order(void **state) {
    (void)state;
    static const struct kind kinds[] = {
        {256, 0, 1, 30, MOST, 0},
        {10, 5, 7, 7, MOST, 0},
        {2, 0, 0, 30, MOST, 0},
        {1, 3, 0, 30, 200, 0},
        {2, 20, 12, 20, MOST, 0},
        {256, 0, 8, 8, MOST, 0},
        {3, 0, 1, 5, MOST, 0},
        {256, 30, 0, 2, MOST, 0},
        {.letters = 10, .common = 2, .shortest = 20, .longest = 20, .count = MOST, .groups = 5},
        {.letters = 2, .shortest = 13, .longest = 45, .count = MOST, .groups = 3},
        {.letters = 1, .shortest = 13, .longest = 50, .count = MOST, .groups = 200},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (uint64_t seed = 1; seed <= 5; seed++)
            try_kind(&kinds[i], seed);
    }
}

static void few_and_none(void **state) {
    (void)state;
    lethe_fold_order(NULL, 0);
    assert_int_equal(lethe_fold_split(NULL, 0), 0);
    for (size_t count = 1; count < 60; count++)
        try_kind(&(struct kind){4, 2, 0, 12, count, 0}, count);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_in_order),
        cmocka_unit_test(few_and_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
