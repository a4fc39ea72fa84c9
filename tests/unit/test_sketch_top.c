/* Goal: the list of the most frequent keys is exact where the error leaves no doubt, and its
 *       bounds are true. */
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/sketch.h"
#include "support/frequencies.h"
#include "support/random.h"
#include "support/reports.h"

enum { TOP = 20, ITEMS = 20000, LENGTH = 400000 };

/* Keys of different lengths, some longer than a key's first room. */
static lethe_bytes key_of(uint32_t item, char text[128]) {
    int size = snprintf(text, 128, "item-%" PRIu32, item);
    if (item % 3 == 0) size += snprintf(text + size, 128 - (size_t)size, "%070d", 0);
    return (lethe_bytes){text, (size_t)size};
}

static uint32_t item_of(const lethe_sketch_top_entry *entry) {
    uint32_t item = 0;
    const char *text = entry->key.data;
    for (size_t i = 5; i < entry->key.size && i < 5 + 10 && text[i] >= '0'; i++) {
        if (item != 0 && item % 3 == 0 && entry->key.size - i == 70) break;
        item = 10 * item + (uint32_t)(text[i] - '0');
    }
    return item;
}

static void add_stream(lethe_sketch *sketch, const struct frequencies *frequencies, size_t first,
                       size_t last) {
    char text[64][128];
    lethe_bytes keys[64];
    for (size_t i = first; i < last; i += 64) {
        size_t count = last - i < 64 ? last - i : 64;
        for (size_t j = 0; j < count; j++)
            keys[j] = key_of(frequencies->stream[i + j], text[j]);
        assert_ok(lethe_sketch_add_key_batch(sketch, keys, count, NULL, NULL));
    }
}

/* Whoever's frequency exceeds that of rank TOP by the error is listed, and no count is wrong. */
static void judge(const lethe_sketch *sketch, const struct frequencies *frequencies,
                  bool never_under) {
    lethe_sketch_top_entry entries[TOP + 5];
    size_t listed;
    assert_ok(lethe_sketch_top(sketch, entries, TOP + 5, &listed));
    assert_int_equal(listed, TOP);
    bool is_listed[ITEMS] = {false};
    uint64_t worst = 0; /* the largest error of any estimate, so the test has no luck in it */
    for (uint32_t item = 0; item < ITEMS; item++) {
        char text[128];
        lethe_bytes key = key_of(item, text);
        uint64_t count = sketch_count(sketch, key.data, key.size).count;
        uint64_t exact = frequencies->exact[item];
        uint64_t error = count > exact ? count - exact : exact - count;
        worst = error > worst ? error : worst;
    }
    for (size_t i = 0; i < listed; i++) {
        uint32_t item = item_of(&entries[i]);
        char text[128];
        lethe_bytes key = key_of(item, text);
        assert_int_equal(entries[i].key.size, key.size);
        assert_memory_equal(entries[i].key.data, key.data, key.size);
        assert_true(i == 0 || entries[i].count <= entries[i - 1].count);
        assert_true(entries[i].at_least <= frequencies->exact[item]);
        assert_true(!never_under || entries[i].count >= frequencies->exact[item]);
        assert_true(entries[i].count <= frequencies->exact[item] + worst);
        is_listed[item] = true;
    }
    uint64_t sure = 0;
    for (uint32_t item = 0; item < ITEMS; item++) {
        if (frequencies->exact[item] <= 2 * worst) continue;
        uint32_t higher = 0;
        for (uint32_t other = 0; other < ITEMS; other++)
            higher +=
                other != item && frequencies->exact[other] + 2 * worst >= frequencies->exact[item];
        if (higher >= TOP) continue;
        sure++;
        assert_true(is_listed[item]);
    }
    print_message("error %" PRIu64 ", %" PRIu64 " of %d surely listed\n", worst, sure, TOP);
    assert_true(sure >= 10);
}

static void heavy_hitters_are_listed(void **state) {
    (void)state;
    struct frequencies frequencies;
    frequencies_make(&frequencies, ITEMS, LENGTH, true, 3);
    for (int kind = 0; kind <= LETHE_SKETCH_FID; kind++) {
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = (lethe_sketch_kind)kind,
                          .width = kind == LETHE_SKETCH_COUNT_MIN ? 8000 : 4000, .top = TOP);
        lethe_sketch *sketch, *other;
        assert_ok(lethe_sketch_new(&options, &sketch));
        add_stream(sketch, &frequencies, 0, LENGTH);
        judge(sketch, &frequencies, kind != LETHE_SKETCH_LOG && kind != LETHE_SKETCH_COUNT);
        /* The same from two halves, merged, saved and loaded. */
        lethe_sketch_clear(sketch);
        assert_ok(lethe_sketch_new(&options, &other));
        add_stream(sketch, &frequencies, 0, LENGTH / 2);
        add_stream(other, &frequencies, LENGTH / 2, LENGTH);
        assert_ok(lethe_sketch_merge(sketch, other));
        lethe_sketch_free(other);
        lethe_memory_writer writer = {0};
        assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(&writer)));
        lethe_memory_reader reader = {.data = writer.data, .size = writer.size};
        assert_ok(lethe_sketch_load(lethe_source_from_memory(&reader), NULL, &other));
        lethe_memory_writer_free(&writer);
        judge(other, &frequencies, kind != LETHE_SKETCH_LOG && kind != LETHE_SKETCH_COUNT);
        lethe_sketch_free(other);
        lethe_sketch_free(sketch);
    }
    frequencies_free(&frequencies);
}

/* Goal: removing brings keys down the list, with true bounds all along. */
static void removals_are_seen(void **state) {
    (void)state;
    lethe_sketch_options options =
        LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID, .width = 500, .top = 10);
    lethe_sketch *sketch;
    assert_ok(lethe_sketch_new(&options, &sketch));
    uint64_t exact[300] = {0};
    struct test_random random = {1};
    for (int round = 0; round < 30000; round++) {
        uint64_t key = test_random_below(&random, 1 + test_random_below(&random, 300));
        uint64_t weight = 1 + test_random_below(&random, 4);
        if (test_random_below(&random, 3) == 0 && exact[key] >= weight) {
            assert_ok(lethe_sketch_remove(sketch, &key, sizeof key, weight));
            exact[key] -= weight;
        } else {
            assert_ok(lethe_sketch_add(sketch, &key, sizeof key, weight));
            exact[key] += weight;
        }
        if (round % 100 != 0) continue;
        lethe_sketch_top_entry entries[10];
        size_t listed;
        assert_ok(lethe_sketch_top(sketch, entries, 10, &listed));
        for (size_t i = 0; i < listed; i++) {
            memcpy(&key, entries[i].key.data, sizeof key);
            assert_true(entries[i].at_least <= exact[key] && exact[key] <= entries[i].count);
        }
    }
    lethe_sketch_free(sketch);
}

static void what_has_no_list_says_so(void **state) {
    (void)state;
    lethe_sketch *sketch;
    lethe_sketch_top_entry entry;
    size_t listed = 9;
    assert_ok(lethe_sketch_new(NULL, &sketch));
    assert_int_equal(lethe_sketch_top(sketch, &entry, 1, &listed), LETHE_EINVAL);
    assert_int_equal(listed, 0);
    lethe_sketch_free(sketch);
    lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .top = 1);
    assert_ok(lethe_sketch_new(&options, &sketch));
    assert_ok(lethe_sketch_top(sketch, &entry, 1, &listed));
    assert_int_equal(listed, 0);
    /* Without the keys themselves nothing can be listed; a key that is too long can't be. */
    lethe_hash hash = {1, 2};
    assert_int_equal(lethe_sketch_add_hash(sketch, hash, 1), LETHE_EINVAL);
    assert_int_equal(lethe_sketch_remove_hash(sketch, hash, 1), LETHE_EINVAL);
    char *longest = calloc(1, LETHE_SKETCH_MAX_KEY_BYTES + 1);
    assert_int_equal(lethe_sketch_add(sketch, longest, LETHE_SKETCH_MAX_KEY_BYTES + 1, 1),
                     LETHE_EINVAL);
    assert_int_equal(sketch_stats(sketch).total, 0);
    assert_ok(lethe_sketch_add(sketch, longest, LETHE_SKETCH_MAX_KEY_BYTES, 1));
    assert_ok(lethe_sketch_top(sketch, &entry, 1, &listed));
    assert_true(listed == 1 && entry.key.size == LETHE_SKETCH_MAX_KEY_BYTES && entry.count == 1);
    free(longest);
    lethe_sketch_free(sketch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heavy_hitters_are_listed),
        cmocka_unit_test(removals_are_seen),
        cmocka_unit_test(what_has_no_list_says_so),
    };
    return cmocka_run_group_tests_name("sketch_top", tests, NULL, NULL);
}
