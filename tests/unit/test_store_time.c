/* Goal:   an event's time decides whether it is late, in the future, or judged by the window; W and
 *         the kind of clock outlast a restart.
 * Method: small stores by event time, and one by the wall clock. */
#include <unistd.h>

#include "support/test.h"

#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static void time_is_judged(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS - WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_apply(store, "c", "k", 1, START_MS - WINDOW_MS - 1),
                     LETHE_OUTCOME_LATE);
    assert_int_equal(test_store_apply(store, "d", "k", 1, UINT64_MAX), LETHE_OUTCOME_FUTURE);
    /* The clock did not move. */
    assert_int_equal(test_store_apply(store, "e", "k", 1, START_MS - WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    /* It moves for an event that is new, and then the oldest are forgotten. */
    assert_int_equal(test_store_apply(store, "f", "k", 1, START_MS + WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_apply(store, "g", "k", 1, START_MS + 3 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_LATE);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS + 3 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.late, 2);
    assert_int_equal(stats.future, 1);
    assert_int_equal(stats.clock_ms, START_MS + 3 * WINDOW_MS);
    assert_int_equal(stats.log_ids, 2); /* what aged is dropped from the log */
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Goal:   whatever the caller allows, sums of a time and W do not leave 64 bits: the next opening
 *         would forget what was just applied. */
static void no_time_is_near_the_end_of_all(void **state) {
    (void)state;
    const uint64_t last_ms = UINT64_C(253402300799999);
    struct test_folder folder;
    lethe_store_options any = usual;
    any.max_future_ms = UINT64_MAX;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, any);
    assert_int_equal(test_store_apply(store, "a", "k", 1, UINT64_MAX - 5), LETHE_OUTCOME_FUTURE);
    assert_int_equal(test_store_apply(store, "a", "k", 1, last_ms + 1), LETHE_OUTCOME_FUTURE);
    assert_int_equal(test_store_apply(store, "a", "k", 1, last_ms), LETHE_OUTCOME_APPLIED);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(test_store_apply(store, "a", "k", 1, last_ms), LETHE_OUTCOME_DUPLICATE);
        test_store_close(store);
        store = test_store_open(folder.path, any);
    }
    assert_int_equal(test_store_value(store, "k"), 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void another_window_takes_effect(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    lethe_store_options longer = usual;
    longer.window_ms = 10 * WINDOW_MS;
    longer.error = 1e-3;
    store = test_store_open(folder.path, longer);
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS + 5 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    /* What the options leave open is as it was. */
    lethe_store_options open_options = {.event_time = true};
    store = test_store_open(folder.path, open_options);
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.window.window_ms, 10 * WINDOW_MS);
    assert_true(stats.window.error_target == 1e-3);
    test_store_close(store);
    store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_LATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* By the wall clock: an hour's window remembers over a restart. */
static void the_wall_clock_goes_on(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = {.window_ms = 3600000, .create = true};
    uint64_t last_ms = 0;
    for (unsigned round = 0; round < 3; round++) {
        lethe_store *store = test_store_open(folder.path, options);
        assert_int_equal(test_store_apply(store, "a", "k", 1, 0),
                         round == 0 ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE);
        lethe_store_stats stats = test_store_stats(store);
        assert_true(stats.clock_ms >= last_ms);
        assert_true(stats.clock_ms > UINT64_C(1700000000000));
        last_ms = stats.clock_ms;
        test_store_close(store);
    }
    test_folder_remove(&folder);
}

/* A writer's statistics are of now as well, although nothing is committed meanwhile. */
static void the_clock_goes_on_without_commits(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = {.window_ms = 3600000, .create = true};
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_apply(store, "a", "k", 1, 0), LETHE_OUTCOME_APPLIED);
    lethe_store_stats before = test_store_stats(store);
    usleep(50000);
    lethe_store_stats after = test_store_stats(store);
    assert_true(after.clock_ms >= before.clock_ms + 49);
    assert_int_equal(after.commits, before.commits);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_is_judged),
        cmocka_unit_test(no_time_is_near_the_end_of_all),
        cmocka_unit_test(another_window_takes_effect),
        cmocka_unit_test(the_wall_clock_goes_on),
        cmocka_unit_test(the_clock_goes_on_without_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
