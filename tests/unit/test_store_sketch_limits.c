/* Goal:   the limits of a store with a sketch: it stays of its kind, refuses what a sketch cannot
 *         do, and survives records that are not its own and failed allocations.
 * Method: small stores; records are written and removed behind the engine's back; each
 *         allocation fails once. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "support/heap.h"
#include "support/store.h"
#include "support/store_records.h"

static const uint64_t SKETCH_BYTES = 16384, SEED = 12345; /* so small that keys share counters */

static lethe_status try_open(const char *folder, lethe_store_options options,
                             lethe_detail *detail) {
    lethe_store *store;
    *detail = (lethe_detail){""};
    lethe_status status = test_store_try_open(folder, options, &store, detail);
    if (status == LETHE_OK) test_store_close(store);
    return status;
}

static void a_store_stays_of_one_kind(void **state) {
    (void)state;
    struct test_folder exact, sketched;
    test_folder_make(&exact);
    test_folder_make(&sketched);
    lethe_detail detail;
    lethe_store_options wanted = {.create = true, .sketch_bytes = 1 << 20, .sketch_top = 10};
    assert_ok(try_open(exact.path, (lethe_store_options){.create = true}, &detail));
    assert_ok(try_open(sketched.path, wanted, &detail));
    assert_int_equal(try_open(exact.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "exact counters"));
    assert_ok(try_open(sketched.path, (lethe_store_options){0}, &detail));
    assert_ok(try_open(sketched.path, wanted, &detail));
    wanted.sketch_top = 0;
    assert_ok(try_open(sketched.path, wanted, &detail));
    wanted.sketch_top = 11;
    assert_int_equal(try_open(sketched.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "10 most frequent"));
    wanted.sketch_top = 0;
    wanted.sketch_bytes = 2 << 20;
    assert_int_equal(try_open(sketched.path, wanted, &detail), LETHE_EINVAL);
    assert_non_null(strstr(detail.text, "1048576 bytes"));
    const lethe_store_options bad[] = {
        {.create = true, .sketch_bytes = 4095},
        {.create = true, .sketch_bytes = UINT64_C(1) << 33},
        {.create = true, .sketch_top = 5},
        {.create = true, .sketch_bytes = 1 << 20, .sketch_top = (1 << 20) + 1}};
    test_folder_remove(&exact);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        test_folder_make(&exact);
        assert_int_equal(try_open(exact.path, bad[i], &detail), LETHE_EINVAL);
        test_folder_remove(&exact);
    }
    test_folder_remove(&sketched);
}

static bool visit_none(void *context, lethe_bytes key, int64_t value) {
    (void)context, (void)key, (void)value;
    fail();
    return false;
}

static void what_a_sketch_cannot_do_is_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store;
    lethe_store_options options = {.create = true, .sketch_bytes = 4096};
    assert_ok(test_store_try_open(folder.path, options, &store, NULL));
    lethe_bytes key = {"key", 3};
    int64_t value = 5;
    bool existed;
    assert_int_equal(lethe_store_set(store, &key, &value, 1), LETHE_EINVAL);
    assert_int_equal(lethe_store_delete(store, &key, 1, &existed), LETHE_EINVAL);
    assert_int_equal(lethe_store_each(store, (lethe_bytes){0}, visit_none, NULL), LETHE_EINVAL);
    assert_ok(lethe_store_top(store, 10, visit_none, NULL));
    test_store_close(store);
    test_folder_remove(&folder);
    test_folder_make(&folder);
    options.sketch_bytes = 0;
    lethe_estimate estimate;
    assert_ok(test_store_try_open(folder.path, options, &store, NULL));
    assert_int_equal(lethe_store_estimate(store, &key, 1, &estimate), LETHE_EINVAL);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Records that somebody else wrote into a store: family, key, value; no value deletes. */
struct foreign {
    const char *what;
    enum lethe_family family;
    lethe_bytes key, value;
};

#define KEY(text) \
    { .data = (text), .size = sizeof(text) - 1 }
#define COMMIT_9 KEY("\0\0\0\0\0\0\0\11")

/* A store with a sketch of one piece, saved, and a few commits. */
static void make_small(const struct test_folder *folder) {
    lethe_store *store;
    lethe_store_options options = {.create = true, .seed = SEED, .sketch_bytes = SKETCH_BYTES};
    assert_ok(test_store_try_open(folder->path, options, &store, NULL));
    for (unsigned i = 0; i < 5; i++) {
        char id[8];
        lethe_change change = {.key = {"a", 1}, .delta = 3};
        lethe_operation operation = {
            .id = {id, (size_t)sprintf(id, "%u", i)}, .changes = &change, .change_count = 1};
        uint8_t outcome;
        assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    }
    test_store_close(store);
}

static void foreign_records_are_refused(void **state) {
    (void)state;
    const struct foreign all[] = {
        {"no piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), {0}},
        {"an empty piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), KEY("")},
        {"another piece", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\0"), KEY("LETHE?")},
        {"a piece too many", LETHE_FAMILY_COUNTERS, KEY("\0\0\0\1"), KEY("x")},
        {"a counter", LETHE_FAMILY_COUNTERS, KEY("clicks"), KEY("\2")},
        {"no size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"), {0}},
        {"a short size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"), KEY("\1")},
        {"a large size", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"),
         KEY("\377\377\377\377\377\377\377\377")},
        {"a size of nothing", LETHE_FAMILY_COUNTERS, KEY("\377\377\377\377"),
         KEY("\0\0\0\0\0\0\0\0")},
        {"a sketch of an earlier commit", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\0\0\0\0\0\0\0\1")},
        {"a sketch of a commit to come", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\0\0\0\0\1\0\0\0")},
        {"a commit that is no number", LETHE_FAMILY_COUNTERS, KEY(""), KEY("\1")},
        {"no commit", LETHE_FAMILY_COUNTERS, KEY(""), {0}},
        {"values among the deltas", LETHE_FAMILY_CHANGES, COMMIT_9, KEY("\1\0\0\0\1\0\0\0\2a\2")},
        {"a removal of what is not there", LETHE_FAMILY_CHANGES, COMMIT_9,
         KEY("\2\0\0\0\1\0\0\0\1b\1")},
        {"a change that nobody noted", LETHE_FAMILY_CHANGES, COMMIT_9,
         KEY("\2\0\0\0\1\0\0\0\1b\2")},
        {"a commit of no number", LETHE_FAMILY_CHANGES, KEY("\377"), KEY("\2\0\0\0\1\0\0\0\1b\2")},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        make_small(&folder);
        test_store_write_record(folder.path, all[i].family, all[i].key, all[i].value);
        lethe_store *store;
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        lethe_detail detail = {""};
        lethe_status status = lethe_store_open(folder.path, NULL, &store, &detail);
        if (status != LETHE_ECORRUPT) print_error("%s: %d\n", all[i].what, (int)status);
        assert_int_equal(status, LETHE_ECORRUPT);
        assert_true(detail.text[0] != '\0');
        detail.text[0] = '\0';
        assert_int_equal(lethe_store_check(folder.path, &health, &detail), LETHE_ECORRUPT);
        assert_true(detail.text[0] != '\0');
        test_folder_remove(&folder);
    }
}

/* Each allocation of a whole life fails once (with a sanitizer, every third): an error, or nothing
 * noticed; and what was acknowledged is there. */
static void short_memory_is_told(void **state) {
    (void)state;
    bool done = false;
    for (size_t fail_at = 0; !done; fail_at += TEST_SIZED(1, 3)) {
        struct test_folder folder;
        struct test_heap heap;
        test_folder_make(&folder);
        test_heap_init(&heap, fail_at);
        lethe_store *store;
        lethe_store_options options = {.create = true,
                                       .seed = SEED,
                                       .sketch_bytes = SKETCH_BYTES,
                                       .sketch_top = 3,
                                       .allocator = &heap.allocator};
        bool acknowledged = false;
        lethe_status status = test_store_try_open(folder.path, options, &store, NULL);
        if (status == LETHE_OK) {
            lethe_change changes[] = {{.key = {"a", 1}, .delta = 3},
                                      {.key = {"b", 1}, .delta = 2},
                                      {.key = {"a", 1}, .delta = -1}};
            lethe_operation operation = {
                .id = {"id", 2}, .changes = changes, .change_count = 3, .time_ms = 0};
            uint8_t outcome;
            status = lethe_store_apply(store, &operation, 1, &outcome, NULL);
            acknowledged = status == LETHE_OK && outcome == LETHE_OUTCOME_APPLIED;
            lethe_status closed = lethe_store_close(store, NULL);
            if (status == LETHE_OK) status = closed;
        }
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_int_equal(heap.live_bytes, 0);
        done = status == LETHE_OK && heap.allocations <= fail_at;
        if (acknowledged) {
            lethe_bytes key = {"a", 1};
            int64_t value;
            bool found;
            assert_ok(lethe_store_open(folder.path, NULL, &store, NULL));
            assert_ok(lethe_store_get(store, &key, 1, &value, &found));
            assert_int_equal(value, 2);
            test_store_close(store);
        }
        test_folder_remove(&folder);
    }
}

/* Goal:   a call that fails leaves nothing in the store that points to the caller's keys, and none
 *         of its additions: what it put off is not made later.
 * Method: one of the first allocations of a large call fails. After it, either all keys have a
 *         value (the failure came after deciding) or none has. */
static void what_a_failed_call_put_off_is_dropped(void **state) {
    (void)state;
    enum { COUNT = 900 };
    static char ids[COUNT][16];
    static lethe_change changes[COUNT];
    static lethe_operation operations[COUNT];
    static uint8_t outcomes[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        (void)snprintf(ids[i], sizeof ids[i], "key-%u", i);
        changes[i] = (lethe_change){.key = test_text(ids[i]), .delta = 1};
        operations[i] =
            (lethe_operation){.id = test_text(ids[i]), .changes = &changes[i], .change_count = 1};
    }
    unsigned failed = 0;
    for (size_t fail_at = 0; fail_at < 12; fail_at++) {
        struct test_folder folder;
        struct test_heap heap;
        test_folder_make(&folder);
        test_heap_init(&heap, SIZE_MAX);
        lethe_store *store =
            test_store_open(folder.path, (lethe_store_options){.create = true,
                                                               .seed = SEED,
                                                               .sketch_bytes = 1 << 20,
                                                               .allocator = &heap.allocator});
        heap.fail_at = heap.allocations + fail_at;
        uint64_t ticket;
        lethe_status status =
            lethe_store_submit(store, operations, COUNT, NULL, 0, outcomes, NULL, &ticket);
        bool is_met = heap.allocations > heap.fail_at;
        heap.fail_at = SIZE_MAX;
        unsigned present = 0;
        for (unsigned i = 0; i < COUNT; i++)
            present += test_store_value(store, ids[i]) > 0;
        assert_true(present == 0 || present == COUNT);
        failed += status != LETHE_OK;
        (void)lethe_store_close(store, NULL);
        test_folder_remove(&folder);
        if (!is_met) break;
    }
    assert_true(failed > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_stays_of_one_kind),
        cmocka_unit_test(what_a_sketch_cannot_do_is_refused),
        cmocka_unit_test(foreign_records_are_refused),
        cmocka_unit_test(short_memory_is_told),
        cmocka_unit_test(what_a_failed_call_put_off_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
