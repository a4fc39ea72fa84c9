/* Goal:   changes made together are what single calls make of them, or, where one is refused, none
 *         at all.
 * Method: random changes of few keys in a narrow sketch, so that they share counters; a copy
 *         gets them one by one. Both are saved and compared byte by byte. With counters of 8
 *         bits, they also fill up. */
#include "support/test.h"

#include <string.h>

#include "lethe/sketch.h"
#include "support/heap.h"
#include "support/random.h"
#include "support/reports.h"

enum { KEYS = 60, MOST = 50, ROUNDS = 400 };

static void write_down(const lethe_sketch *sketch, lethe_memory_writer *out) {
    *out = (lethe_memory_writer){0};
    assert_ok(lethe_sketch_save(sketch, lethe_sink_to_memory(out)));
}

static bool are_same(const lethe_sketch *a, const lethe_sketch *b) {
    lethe_memory_writer first, second;
    write_down(a, &first);
    write_down(b, &second);
    bool same = first.size == second.size && memcmp(first.data, second.data, first.size) == 0;
    lethe_memory_writer_free(&first);
    lethe_memory_writer_free(&second);
    return same;
}

static lethe_status change_one_by_one(lethe_sketch *sketch, const lethe_sketch_delta *deltas,
                                      size_t count) {
    for (size_t i = 0; i < count; i++) {
        const lethe_sketch_delta *each = &deltas[i];
        if (each->delta == 0) continue;
        if (each->delta < 0) {
            lethe_status status =
                lethe_sketch_remove(sketch, each->key.data, each->key.size, (uint64_t)-each->delta);
            if (status != LETHE_OK) return status;
            continue;
        }
        assert_ok(lethe_sketch_add(sketch, each->key.data, each->key.size, (uint64_t)each->delta));
        if (sketch_count(sketch, each->key.data, each->key.size).saturated) {
            return LETHE_EFULL;
        }
    }
    return LETHE_OK;
}

struct tried {
    unsigned made, missing, full;
};

static void try_changes(lethe_sketch *sketch, struct test_random *random, struct tried *tried) {
    static char names[KEYS][4];
    lethe_sketch_delta deltas[MOST];
    size_t count = 1 + test_random_below(random, test_random_below(random, 2) == 0 ? 3 : MOST);
    for (size_t i = 0; i < count; i++) {
        uint64_t number = test_random_below(random, KEYS);
        names[number][0] = 'k';
        names[number][1] = (char)(' ' + number);
        deltas[i] = (lethe_sketch_delta){.key = {names[number], 2},
                                         .delta = (int64_t)test_random_below(random, 15) - 3};
    }
    lethe_sketch *copy, *before;
    assert_ok(lethe_sketch_copy(sketch, &copy));
    assert_ok(lethe_sketch_copy(sketch, &before));
    lethe_status expected = change_one_by_one(copy, deltas, count);
    assert_int_equal(lethe_sketch_change(sketch, deltas, count), expected);
    assert_true(are_same(sketch, expected == LETHE_OK ? copy : before));
    tried->made += expected == LETHE_OK;
    tried->missing += expected == LETHE_ENOTFOUND;
    tried->full += expected == LETHE_EFULL;
    lethe_sketch_free(copy);
    lethe_sketch_free(before);
}

static void all_or_none(void **state) {
    (void)state;
    const lethe_sketch_options kinds[] = {
        {.kind = LETHE_SKETCH_COUNT_MIN},
        {.kind = LETHE_SKETCH_CONSERVATIVE, .removal = LETHE_SKETCH_REMOVAL_SUBTRACTION},
        {.kind = LETHE_SKETCH_FID},
        {.kind = LETHE_SKETCH_FID, .removal = LETHE_SKETCH_REMOVAL_COUNT_MIN, .depth = 6},
        {.kind = LETHE_SKETCH_FID, .top = KEYS},
        {.kind = LETHE_SKETCH_COUNT, .top = KEYS},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        for (uint32_t bits = 8; bits <= 64; bits *= 2) {
            lethe_sketch_options options = kinds[i];
            options.size = sizeof options;
            options.width = 40;
            options.counter_bits = bits;
            lethe_sketch *sketch;
            assert_ok(lethe_sketch_new(&options, &sketch));
            struct test_random random = {.state = 100 * i + bits};
            struct tried tried = {0};
            for (unsigned round = 0; round < ROUNDS; round++)
                try_changes(sketch, &random, &tried);
            assert_true(tried.made > 20);
            if (options.kind != LETHE_SKETCH_COUNT) assert_true(tried.missing > 20);
            if (bits == 8) assert_true(tried.full > 20);
            lethe_sketch_free(sketch);
        }
    }
}

static void what_cannot_be_changed_is_refused(void **state) {
    (void)state;
    lethe_sketch *sketch, *reader;
    lethe_sketch_delta deltas[] = {{{"a", 1}, 5}, {{"b", 1}, -1}};
    assert_ok(
        lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_LOG), &sketch));
    assert_int_equal(lethe_sketch_change(sketch, deltas, 2), LETHE_EINVAL);
    assert_int_equal(lethe_sketch_total(sketch), 0);
    assert_ok(lethe_sketch_change(sketch, deltas, 1));
    assert_ok(lethe_sketch_change(sketch, deltas, 0));
    assert_int_equal(lethe_sketch_total(sketch), 5);
    lethe_memory_writer exported = {0};
    assert_ok(lethe_sketch_export(sketch, lethe_sink_to_memory(&exported)));
    lethe_memory_reader bytes = {.data = exported.data, .size = exported.size};
    assert_ok(lethe_sketch_import(lethe_source_from_memory(&bytes), NULL, &reader));
    assert_int_equal(lethe_sketch_change(reader, deltas, 1), LETHE_EINVAL);
    lethe_memory_writer_free(&exported);
    lethe_sketch_free(reader);
    lethe_sketch_free(sketch);
    assert_ok(
        lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID), &sketch));
    deltas[0].delta = INT64_MIN;
    assert_int_equal(lethe_sketch_change(sketch, deltas, 1), LETHE_ENOTFOUND);
    deltas[0].delta = INT64_MAX;
    assert_int_equal(lethe_sketch_change(sketch, deltas, 1), LETHE_EFULL);
    lethe_sketch_stats stats = sketch_stats(sketch);
    assert_true(stats.total == 0 && stats.counters_used == 0 && stats.counter_highest == 0);
    lethe_sketch_free(sketch);
}

/* Many changes need memory to be written down in: without it nothing changes. */
static void short_memory_changes_nothing(void **state) {
    (void)state;
    enum { MANY = 1000 };
    static lethe_sketch_delta deltas[MANY];
    for (size_t i = 0; i < MANY; i++)
        deltas[i] = (lethe_sketch_delta){.key = {&deltas[i], 3}, .delta = 1};
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    lethe_sketch *sketch;
    assert_ok(lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                                              .allocator = &heap.allocator),
                               &sketch));
    heap.fail_at = heap.allocations;
    assert_int_equal(lethe_sketch_change(sketch, deltas, MANY), LETHE_ENOMEM);
    assert_int_equal(lethe_sketch_total(sketch), 0);
    assert_ok(lethe_sketch_change(sketch, deltas, MANY));
    assert_int_equal(lethe_sketch_total(sketch), MANY);
    lethe_sketch_free(sketch);
    assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(what_cannot_be_changed_is_refused),
        cmocka_unit_test(short_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
