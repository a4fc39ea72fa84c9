/* Goal:   a log without a segment of ids is taken only where nothing of it can matter any more, and
 *         a store that is refused is left as it was.
 * Method: stores by event time that were killed (a copy of the folder) or closed; then the first
 *         segment that had to stay is removed behind Lethe's back, as an earlier version did. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/store.h"
#include "support/store_records.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, KEPT_MS = WINDOW_MS + WINDOW_MS / 64 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = LETHE_SWITCH_ON, .create = true};

static struct test_folder folder;

static int begin(void **state) {
    (void)state;
    test_folder_make(&folder);
    return 0;
}

static int end(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* The ledger covers what was dropped and no more; so what is lost is nowhere, however old it is. */
static void what_is_kept_for_ever_is_never_too_old(void **state) {
    (void)state;
    struct test_folder killed;
    lethe_store_options options = usual;
    options.forever = LETHE_SWITCH_ON;
    lethe_store *store = test_store_open(folder.path, options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS;
    assert_int_equal(test_store_add(store, "old", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "covered", later_ms), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "lost", later_ms + WINDOW_MS / 8),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "next", later_ms + WINDOW_MS / 8 + 1),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "latest", later_ms + KEPT_MS + 1),
                     LETHE_OUTCOME_APPLIED);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    test_store_lose_segment(killed.path);
    const uint64_t windows_ms[] = {WINDOW_MS, WINDOW_MS / 4};
    for (unsigned i = 0; i < 2; i++) {
        options.window_ms = windows_ms[i];
        lethe_detail detail = {""};
        assert_int_equal(test_store_try_open(killed.path, options, &store, &detail),
                         LETHE_ECORRUPT);
        assert_non_null(strstr(detail.text, "are missing from the log"));
        assert_null(strstr(detail.text, "with a window of less than"));
    }
    test_folder_remove(&killed);
}

/* The index is dropped with exact mode, but not before the log has what it needs of it. */
static void the_index_goes_last(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.exact = LETHE_SWITCH_ON;
    lethe_store *store = test_store_open(folder.path, options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS, now_ms = later_ms + WINDOW_MS / 2;
    assert_int_equal(test_store_add(store, "old", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "lost", later_ms), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "next", later_ms + 1), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "latest", now_ms), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_store_lose_segment(folder.path);
    options.exact = LETHE_SWITCH_OFF;
    lethe_detail detail = {""};
    store = test_store_open_noting(folder.path, options, &detail);
    assert_non_null(strstr(detail.text, "the index has them"));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(test_store_add(store, "lost", now_ms), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_add(store, "next", now_ms), LETHE_OUTCOME_DUPLICATE);
        test_store_close(store);
        store = test_store_open(folder.path, (lethe_store_options){0});
    }
    lethe_store_stats stats = test_store_stats(store);
    assert_false(stats.exact);
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL));
    assert_int_equal(health.index_entries, 0);
}

/* "old" is dropped, "lost" is the first id that stays, others follow. latest_ms: after it. */
static void fill(lethe_store_options options, uint64_t latest_ms) {
    lethe_store *store = test_store_open(folder.path, options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS;
    assert_int_equal(test_store_add(store, "old", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "lost", later_ms), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "next", later_ms + 1), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "young", later_ms + WINDOW_MS / 20),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "latest", later_ms + latest_ms), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_store_lose_segment(folder.path);
}

static void a_log_without_ids_that_matter_is_refused(void **state) {
    (void)state;
    fill(usual, WINDOW_MS / 2);
    lethe_detail detail = {""};
    lethe_store *store;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(test_store_try_open(folder.path, usual, &store, &detail), LETHE_ECORRUPT);
        assert_non_null(strstr(detail.text, "1 ids of commit 3 are missing from the log"));
        assert_non_null(strstr(detail.text, "with a window of less than 29999 ms"));
    }
    /* As it says: a window that does not reach back to them needs none of them. */
    lethe_store_options shorter = usual;
    shorter.window_ms = 29000;
    store = test_store_open_noting(folder.path, shorter, &detail);
    assert_non_null(strstr(detail.text, "too old to matter"));
    assert_int_equal(test_store_value(store, "k"), 5);
    test_store_close(store);
}

static void a_log_without_ids_that_are_too_old_opens(void **state) {
    (void)state;
    fill(usual, KEPT_MS + 10);
    lethe_detail detail = {""};
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_int_equal(lethe_store_check(folder.path, &health, &detail), LETHE_ECORRUPT);
    assert_non_null(strstr(detail.text, "open the store to write, which mends"));
    lethe_store *store = test_store_open_noting(folder.path, usual, &detail);
    assert_non_null(strstr(detail.text, "too old to matter"));
    test_store_close(store);
    store = test_store_open(folder.path, usual); /* with nothing more to say */
    assert_int_equal(test_store_value(store, "k"), 5);
    assert_int_equal(test_store_add(store, "latest", START_MS + 3 * WINDOW_MS),
                     LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    assert_ok(lethe_store_check(folder.path, &health, &detail));
}

/* What another place has is put back. */
static void check_put_back(lethe_store_options options, const char *where) {
    uint64_t now_ms = START_MS + 2 * WINDOW_MS + WINDOW_MS / 2;
    fill(options, WINDOW_MS / 2);
    lethe_detail detail = {""};
    lethe_store *store = test_store_open_noting(folder.path, options, &detail);
    assert_non_null(strstr(detail.text, where));
    assert_int_equal(test_store_add(store, "lost", now_ms), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    store = test_store_open(folder.path, options);
    assert_int_equal(test_store_add(store, "lost", now_ms), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_add(store, "next", now_ms), LETHE_OUTCOME_DUPLICATE);
    /* It is dropped with the others, when its time has come. */
    assert_int_equal(test_store_add(store, "last", now_ms + 4 * WINDOW_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    store = test_store_open(folder.path, options);
    assert_int_equal(test_store_value(store, "k"), 6);
    test_store_close(store);
}

static void a_log_without_ids_that_the_index_has_opens(void **state) {
    (void)state;
    lethe_store_options exact = usual;
    exact.exact = true;
    check_put_back(exact, "the index has them");
}

static void a_log_without_ids_that_the_ledger_has_opens(void **state) {
    (void)state;
    lethe_store_options forever = usual;
    forever.forever = true;
    forever.ledger_capacity = 1 << 20;
    forever.ledger_memory_bytes = 4 << 20;
    check_put_back(forever, "the ledger has them");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_log_without_ids_that_matter_is_refused),
        TEST(a_log_without_ids_that_are_too_old_opens),
        TEST(a_log_without_ids_that_the_index_has_opens),
        TEST(a_log_without_ids_that_the_ledger_has_opens),
        TEST(what_is_kept_for_ever_is_never_too_old),
        TEST(the_index_goes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
