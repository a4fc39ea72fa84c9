/* Goal:   every failed allocation is reported, leaks nothing and changes nothing.
 * Method: for every row of structures/structure.h, allocation n = 0, 1, ... fails, until none does:
 *         of making and filling, of loading, and of each change and copy of what is there. */
#include "support/test.h"

#include <string.h>

#include "support/heap.h"
#include "support/structures.h"

/* The bytes that an object is saved as, while its allocator works again. */
static void save_well(const struct structure *row, const void *object, struct test_heap *heap,
                      lethe_memory_writer *writer) {
    heap->fail_at = SIZE_MAX;
    sample_save(row, object, writer);
}

static void check_outcome(const struct structure *row, const char *step, size_t n,
                          lethe_status status, const void *made) {
    if (status != LETHE_OK && status != LETHE_ENOMEM)
        fail_msg("%s: %s, allocation %zu: %s", row->name, step, n, lethe_strerror(status));
    if ((made != NULL) != (status == LETHE_OK)) fail_msg("%s: %s: no result", row->name, step);
}

static void making_survives_it(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    EACH_STRUCTURE(row) {
        lethe_status status = LETHE_ENOMEM;
        size_t n = 0;
        for (; status != LETHE_OK; n++) {
            struct test_heap heap;
            test_heap_init(&heap, n);
            void *object = &heap;
            status = sample_try(row, &folder, &heap.allocator, &object);
            check_outcome(row, "making", n, status, object);
            row->free(object);
            if (heap.live_blocks != 0) fail_msg("%s: making leaks", row->name);
        }
        if (n < 2) fail_msg("%s: does not take memory from its allocator", row->name);
    }
    test_folder_remove(&folder);
}

static void loading_survives_it(void **state) {
    (void)state;
    struct specimens specimens = specimens_gather();
    for (size_t i = 0; i < specimens.count; i++) {
        const struct specimen *specimen = &specimens.all[i];
        lethe_status status = LETHE_ENOMEM;
        size_t n = 0;
        for (; status != LETHE_OK; n++) {
            struct test_heap heap;
            test_heap_init(&heap, n);
            void *loaded = &heap;
            status = sample_load(specimen->row, specimen->data, specimen->size, &heap.allocator,
                                 &loaded);
            check_outcome(specimen->row, "loading", n, status, loaded);
            specimen->row->free(loaded);
            if (heap.live_blocks != 0) fail_msg("%s: loading leaks", specimen->name);
        }
        if (n < 2) fail_msg("%s: does not take memory from its allocator", specimen->name);
    }
    specimens_free(&specimens);
}

/* What is done to an object whose allocator fails. */
enum step { SAVE, COPY, ADD, MERGE, STEPS };

static const char *const step_names[] = {"saving", "copying", "adding", "merging"};

static bool has_step(const struct structure *row, enum step step) {
    switch (step) {
    case SAVE:
        return true;
    case COPY:
        return row->copy != NULL;
    case ADD:
        return row->add != NULL;
    default:
        return row->merge != NULL;
    }
}

static lethe_status take_step(const struct structure *row, enum step step, void *object,
                              void *other) {
    lethe_status status = LETHE_OK;
    lethe_memory_writer writer = {0};
    void *copy = NULL;
    switch (step) {
    case SAVE:
        status = row->save(object, lethe_sink_to_memory(&writer));
        lethe_memory_writer_free(&writer);
        break;
    case COPY:
        status = row->copy(object, &copy);
        assert_true((copy != NULL) == (status == LETHE_OK));
        row->free(copy);
        break;
    case ADD: {
        lethe_hash hash = sample_hash(row, object, 5000);
        status = row->add(object, &hash, 1, SAMPLE_NOW_MS);
        break;
    }
    default:
        status = row->merge(object, other);
        break;
    }
    return status;
}

static bool has_time(const struct structure *row, const void *object) {
    struct structure_facts facts;
    assert_ok(structure_report(row, object, 0, &facts));
    return structure_fact(&facts, "clock_ms") != NULL;
}

/* Whether two objects answer alike about the keys of a sample, and about others. */
static bool answer_alike(const struct structure *row, const void *one, const void *other) {
    for (uint64_t n = 0; n < 5001; n += n < SAMPLE_KEYS ? 1 : 130) {
        lethe_hash hash = sample_hash(row, one, n);
        uint8_t first, second;
        assert_ok(row->test(one, &hash, 1, SAMPLE_NOW_MS, &first));
        assert_ok(row->test(other, &hash, 1, SAMPLE_NOW_MS, &second));
        if (first != second) return false;
    }
    return true;
}

/* One step with its n-th allocation failing; the object is then as it was. Adding to a structure
 * that has time may move its clock all the same, and is counted as refused. */
static lethe_status try_step(const struct structure *row, enum step step, size_t n) {
    struct test_heap heap;
    test_heap_init(&heap, SIZE_MAX);
    void *object, *other;
    assert_ok(sample_try(row, NULL, &heap.allocator, &object));
    assert_ok(sample_try(row, NULL, &heap.allocator, &other));
    lethe_memory_writer before, before_other, after, after_other;
    save_well(row, object, &heap, &before);
    save_well(row, other, &heap, &before_other);
    heap.fail_at = heap.allocations + n;
    lethe_status status = take_step(row, step, object, other);
    check_outcome(row, step_names[step], n, status, status == LETHE_OK ? object : NULL);
    save_well(row, object, &heap, &after);
    save_well(row, other, &heap, &after_other);
    bool changed = before.size != after.size || memcmp(before.data, after.data, before.size) != 0;
    bool changed_other = before_other.size != after_other.size ||
                         memcmp(before_other.data, after_other.data, before_other.size) != 0;
    if (step == ADD && has_time(row, object)) changed = !answer_alike(row, object, other);
    if (status != LETHE_OK && (changed || changed_other))
        fail_msg("%s: %s changed it, with allocation %zu failing", row->name, step_names[step], n);
    lethe_memory_writer *writers[] = {&before, &before_other, &after, &after_other};
    for (size_t i = 0; i < 4; i++)
        lethe_memory_writer_free(writers[i]);
    row->free(object);
    row->free(other);
    if (heap.live_blocks != 0) fail_msg("%s: %s leaks", row->name, step_names[step]);
    return status;
}

static void each_step_survives_it(void **state) {
    (void)state;
    EACH_STRUCTURE(row) {
        if (row->save == NULL) continue;
        for (enum step step = SAVE; step < STEPS; step++) {
            lethe_status status = has_step(row, step) ? LETHE_ENOMEM : LETHE_OK;
            for (size_t n = 0; status != LETHE_OK; n++)
                status = try_step(row, step, n);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_survives_it),
        cmocka_unit_test(loading_survives_it),
        cmocka_unit_test(each_step_survives_it),
    };
    return cmocka_run_group_tests_name("structures_allocations", tests, NULL, NULL);
}
