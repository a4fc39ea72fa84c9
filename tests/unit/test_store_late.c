/* Goal:   a late operation that is to be counted (LETHE_OPERATION_COUNT_LATE) is applied once, in
 *         every mode: it is a duplicate wherever something still knows its id, it is remembered
 *         from then on, it does not move the clock, and it outlasts a kill.
 * Method: small stores by event time, in each mode. */
#include <stdio.h>

#include "support/test.h"

#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, OLD_MS = START_MS - 5 * WINDOW_MS };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

/* Each without what must not be combined with it. */
static lethe_store_options in_mode(size_t mode) {
    lethe_store_options options = usual;
    if (mode == 1) options.exact = LETHE_SWITCH_ON;
    if (mode == 2) options.check_payload = LETHE_SWITCH_ON;
    if (mode == 3) options.sketch_bytes = 65536;
    if (mode >= 4) options.forgetful = LETHE_SWITCH_ON;
    if (mode == 5) options.exact = LETHE_SWITCH_ON;
    return options;
}
enum { MODES = 6 };

/* Applies one operation on the counter "k" that is to be counted if it is late. */
static lethe_outcome count_late(lethe_store *store, const char *id, int64_t delta,
                                uint64_t time_ms) {
    uint8_t outcome = UINT8_MAX;
    lethe_change change = {.key = test_text("k"), .delta = delta};
    lethe_operation operation = {.id = test_text(id),
                                 .changes = &change,
                                 .change_count = 1,
                                 .time_ms = time_ms,
                                 .flags = LETHE_OPERATION_COUNT_LATE};
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    return (lethe_outcome)outcome;
}

static void late_operations_are_counted_once(void **state) {
    (void)state;
    for (size_t mode = 0; mode < MODES; mode++) {
        struct test_folder folder, killed;
        test_folder_make(&folder);
        lethe_store *store = test_store_open(folder.path, in_mode(mode));
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_add(store, "b", OLD_MS), LETHE_OUTCOME_LATE);
        assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_APPLIED_LATE);
        assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
        /* What is not late is decided as ever, and what was applied on time is known by its id. */
        assert_int_equal(count_late(store, "c", 1, START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(count_late(store, "c", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
        /* The clock stays, so others are as late as before. */
        lethe_store_stats stats = test_store_stats(store);
        assert_int_equal(stats.clock_ms, START_MS);
        assert_int_equal(stats.applied, 3);
        assert_int_equal(stats.late, 1);
        test_store_kill(&folder, &killed);
        test_store_close(store);
        test_folder_remove(&folder);

        store = test_store_open(killed.path, (lethe_store_options){0});
        assert_int_equal(test_store_value(store, "k"), 3);
        assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
        /* It is remembered for W after it was counted, whatever its own time is. */
        assert_int_equal(test_store_add(store, "d", START_MS + WINDOW_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_add(store, "e", START_MS + 3 * WINDOW_MS),
                         LETHE_OUTCOME_APPLIED);
        assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_APPLIED_LATE);
        test_store_close(store);
        test_folder_remove(&killed);
    }
}

/* In one submission the window is asked ahead, and answers for operations before them change. */
static void copies_within_one_submission(void **state) {
    (void)state;
    enum { COUNT = 600 };
    static lethe_operation operations[COUNT];
    static uint8_t outcomes[COUNT];
    lethe_change change = {.key = test_text("k"), .delta = 1};
    static char names[COUNT][16];
    for (size_t round = 0; round < 2 * (size_t)MODES; round++) {
        struct test_folder folder;
        test_folder_make(&folder);
        size_t mode = round / 2, count = COUNT - round % 2; /* prepared, or not */
        lethe_store *store = test_store_open(folder.path, in_mode(mode));
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
        for (size_t i = 0; i < COUNT; i++) {
            (void)snprintf(names[i], sizeof names[i], "id-%zu", i % 200);
            /* Late, on time and moving the clock, in turn; then all of them again, and again. */
            uint64_t time_ms = i % 3 == 0 ? OLD_MS + i : i % 3 == 1 ? START_MS : START_MS + 10 * i;
            operations[i] = (lethe_operation){.id = test_text(names[i]),
                                              .changes = &change,
                                              .change_count = 1,
                                              .time_ms = time_ms,
                                              .flags = LETHE_OPERATION_COUNT_LATE};
        }
        uint64_t ticket;
        test_store_submit_either(store, operations, count, outcomes, &ticket);
        for (size_t i = 0; i < count; i++) {
            lethe_outcome first = i % 3 == 0 ? LETHE_OUTCOME_APPLIED_LATE : LETHE_OUTCOME_APPLIED;
            assert_int_equal(outcomes[i], i < 200 ? first : LETHE_OUTCOME_DUPLICATE);
        }
        assert_int_equal(test_store_value(store, "k"), 201);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* The index says for certain whether a late id was applied, also after W if it still has it; and
 * what it was applied with. */
static void payloads_are_compared(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, in_mode(2));
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_APPLIED_LATE);
    assert_int_equal(count_late(store, "b", 2, OLD_MS), LETHE_OUTCOME_MISMATCH);
    /* A moment after W the window still hints at the id, and the index has it. An operation that
     * is on time may have the same id by then; a late one is the same operation. */
    assert_int_equal(test_store_add(store, "c", START_MS + WINDOW_MS + 1), LETHE_OUTCOME_APPLIED);
    assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_add(store, "b", START_MS + WINDOW_MS + 1), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 4);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* In exact mode the window has what was asked for, whether it was applied or not. So an operation
 * that was not may bring an id back to mind that the index still has: at any age, a late one is
 * the same operation, and one that is on time is a new one. */
static void the_index_knows_at_any_age(void **state) {
    (void)state;
    static const struct {
        size_t mode;
        lethe_outcome late;
    } cases[] = {{0, LETHE_OUTCOME_APPLIED_LATE},
                 {1, LETHE_OUTCOME_DUPLICATE},
                 {2, LETHE_OUTCOME_DUPLICATE},
                 {4, LETHE_OUTCOME_APPLIED_LATE},
                 {5, LETHE_OUTCOME_DUPLICATE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t after_ms = START_MS + 2 * WINDOW_MS;
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store *store = test_store_open(folder.path, in_mode(cases[i].mode));
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_add(store, "b", after_ms), LETHE_OUTCOME_APPLIED);
        assert_int_equal(count_late(store, "a", INT64_MAX, after_ms), LETHE_OUTCOME_OVERFLOW);
        assert_int_equal(count_late(store, "a", 1, START_MS), cases[i].late);
        lethe_outcome on_time = cases[i].late == LETHE_OUTCOME_DUPLICATE ? LETHE_OUTCOME_APPLIED
                                                                         : LETHE_OUTCOME_DUPLICATE;
        assert_int_equal(test_store_add(store, "a", after_ms), on_time);
        assert_int_equal(test_store_value(store, "k"), 3);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* Where ids are kept for ever, only what was late before that is late. */
static void ids_that_were_forgotten_before_the_ledger(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_add(store, "a", OLD_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "b", START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    lethe_store_options forever = usual;
    forever.forever = LETHE_SWITCH_ON;
    store = test_store_open(folder.path, forever);
    assert_int_equal(test_store_add(store, "c", OLD_MS), LETHE_OUTCOME_LATE);
    assert_int_equal(count_late(store, "c", 1, OLD_MS), LETHE_OUTCOME_APPLIED_LATE);
    assert_int_equal(count_late(store, "c", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
    /* For ever. */
    assert_int_equal(test_store_add(store, "d", START_MS + 20 * WINDOW_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(count_late(store, "c", 1, OLD_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_add(store, "c", OLD_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(count_late(store, "e", 1, START_MS + 1), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 5);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void what_is_not_applied_changes_nothing(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(count_late(store, "b", INT64_MAX, OLD_MS), LETHE_OUTCOME_OVERFLOW);
    assert_int_equal(count_late(store, "b", 1, OLD_MS), LETHE_OUTCOME_APPLIED_LATE);
    /* Flags that nobody knows make an operation invalid. */
    uint8_t outcome;
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operation = {.id = test_text("c"),
                                 .changes = &change,
                                 .change_count = 1,
                                 .time_ms = START_MS,
                                 .flags = UINT32_C(1) << 31 | LETHE_OPERATION_COUNT_LATE};
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_INVALID);
    test_store_close(store);
    /* By the wall clock nothing is late, and the flag says nothing. */
    test_folder_remove(&folder);
    test_folder_make(&folder);
    store = test_store_open(folder.path, (lethe_store_options){.create = true});
    assert_int_equal(count_late(store, "a", 1, 0), LETHE_OUTCOME_APPLIED);
    assert_int_equal(count_late(store, "a", 1, 0), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_operations_are_counted_once),
        cmocka_unit_test(copies_within_one_submission),
        cmocka_unit_test(payloads_are_compared),
        cmocka_unit_test(the_index_knows_at_any_age),
        cmocka_unit_test(ids_that_were_forgotten_before_the_ledger),
        cmocka_unit_test(what_is_not_applied_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
