/* Goal:   exact mode is exact at any error of the window, begins and ends at any time, and tells
 *         another payload from a duplicate.
 * Method: small stores by event time, closed and opened again in other modes. */
#include "support/test.h"

#include <stdio.h>

#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static void another_payload_is_told(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.check_payload = true;
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    for (unsigned round = 0; round < 2; round++) {
        assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_apply(store, "a", "k", 2, START_MS), LETHE_OUTCOME_MISMATCH);
        assert_int_equal(test_store_apply(store, "a", "l", 1, START_MS), LETHE_OUTCOME_MISMATCH);
        test_store_close(store); /* and the same when it comes from disk */
        store = test_store_open(folder.path, options);
    }
    assert_int_equal(test_store_value(store, "k"), 1);
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.mismatched, 4);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* The changes of an operation happen together, so their order says nothing. */
static void the_order_of_changes_does_not_matter(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.check_payload = true;
    const lethe_change k1 = {.key = {"k", 1}, .delta = 1}, l2 = {.key = {"l", 1}, .delta = 2};
    const lethe_change k2 = {.key = {"k", 1}, .delta = 2}, l1 = {.key = {"l", 1}, .delta = 1};
    const struct {
        lethe_change changes[3];
        size_t count;
        lethe_outcome outcome;
    } sent[] = {
        {{k1, l2, k1}, 3, LETHE_OUTCOME_APPLIED},   {{k1, l2, k1}, 3, LETHE_OUTCOME_DUPLICATE},
        {{l2, k1, k1}, 3, LETHE_OUTCOME_DUPLICATE}, {{k1, k1, l2}, 3, LETHE_OUTCOME_DUPLICATE},
        {{k1, l2}, 2, LETHE_OUTCOME_MISMATCH},      {{k1, l2, l2}, 3, LETHE_OUTCOME_MISMATCH},
        {{k2, l1, k1}, 3, LETHE_OUTCOME_MISMATCH},  {{k1}, 1, LETHE_OUTCOME_MISMATCH},
    };
    lethe_store *store = test_store_open(folder.path, options);
    for (size_t i = 0; i < sizeof sent / sizeof sent[0]; i++) {
        uint8_t outcome;
        lethe_operation operation = {.id = {"a", 1},
                                     .changes = sent[i].changes,
                                     .change_count = sent[i].count,
                                     .time_ms = START_MS};
        assert_int_equal(lethe_store_apply(store, &operation, 1, &outcome, NULL), LETHE_OK);
        assert_int_equal(outcome, sent[i].outcome);
        test_store_close(store);
        store = test_store_open(folder.path, options);
    }
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Exact mode may be switched on and off: the index follows the log. */
static void exact_mode_begins_and_ends_at_any_time(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options exact = usual, off = usual;
    exact.exact = LETHE_SWITCH_ON;
    off.exact = LETHE_SWITCH_OFF;
    const lethe_store_options *const turns[] = {&usual, &exact, &off, &exact, &usual};
    const bool is_exact[] = {false, true, false, true, true};
    unsigned digests = 0; /* the log keeps those that it has */
    char id[16];
    for (unsigned turn = 0; turn < 5; turn++) {
        lethe_store *store = test_store_open(folder.path, *turns[turn]);
        for (unsigned i = 0; i < 50 * turn; i++) {
            sprintf(id, "%u", i);
            assert_int_equal(test_store_apply(store, id, "k", 1, START_MS),
                             LETHE_OUTCOME_DUPLICATE);
        }
        for (unsigned i = 50 * turn; i < 50 * turn + 50; i++) {
            sprintf(id, "%u", i);
            assert_int_equal(test_store_apply(store, id, "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
        }
        test_store_close(store);
        lethe_store_health health = LETHE_INIT(lethe_store_health);
        assert_ok(lethe_store_check(folder.path, &health, NULL));
        digests += is_exact[turn] ? 50 : 0;
        assert_int_equal(health.index_entries, digests);
    }
    test_folder_remove(&folder);
}

/* At an error of 0.1 the window is wrong all the time, and exact mode never. */
static void exact_mode_is_exact(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.exact = true;
    options.error = 0.1;
    lethe_store *store = test_store_open(folder.path, options);
    enum { COUNT = 20000 };
    static lethe_operation operations[COUNT];
    static char ids[COUNT][12];
    static uint8_t outcomes[COUNT];
    lethe_change change = {.key = test_text("k"), .delta = 1};
    for (unsigned i = 0; i < COUNT; i++) {
        operations[i] = (lethe_operation){.id = {ids[i], (size_t)sprintf(ids[i], "%u", i)},
                                          .changes = &change,
                                          .change_count = 1,
                                          .time_ms = START_MS + i};
    }
    for (unsigned round = 0; round < 2; round++) {
        assert_ok(lethe_store_apply(store, operations, COUNT, outcomes, NULL));
        for (unsigned i = 0; i < COUNT; i++) {
            assert_int_equal(outcomes[i],
                             round == 0 ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE);
        }
    }
    lethe_store_stats stats = test_store_stats(store);
    assert_true(stats.confirmed_false > 0);
    assert_int_equal(test_store_value(store, "k"), COUNT);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* A writer tells what it has in memory. A reader has none of it. */
static void memory_is_told(void **state) {
    (void)state;
    enum { COUNT = 1000, ITEM_BYTES = 18 };
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.exact = true;
    lethe_store *store = test_store_open(folder.path, options);
    char id[16];
    for (unsigned i = 0; i < COUNT; i++) {
        sprintf(id, "%u", i);
        assert_int_equal(test_store_apply(store, id, "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    }
    lethe_store_stats stats = test_store_stats(store);
    assert_true(stats.index_memory_bytes >= COUNT * ITEM_BYTES);
    assert_true(stats.index_memory_bytes <= stats.index_bytes);
    assert_true(stats.groups_memory_bytes > 0);
    assert_true(stats.database_memory_bytes >= stats.log_bytes); /* nothing was flushed */
    lethe_store *reader = test_store_open_reader(folder.path);
    stats = test_store_stats(reader);
    assert_int_equal(stats.applied, COUNT);
    assert_int_equal(stats.index_memory_bytes, 0);
    assert_int_equal(stats.groups_memory_bytes, 0);
    assert_int_equal(stats.database_memory_bytes, 0);
    test_store_close(reader);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_payload_is_told),
        cmocka_unit_test(the_order_of_changes_does_not_matter),
        cmocka_unit_test(exact_mode_begins_and_ends_at_any_time),
        cmocka_unit_test(exact_mode_is_exact),
        cmocka_unit_test(memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
