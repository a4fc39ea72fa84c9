/* Goal:   while a window is made again from the log, and afterwards, the store knows every id that
 *         it must know, and no other; a log that lacks ids is noticed; nothing is made again where
 *         that was ruled out; and closing does not wait for it.
 * Method: streams of fresh ids and duplicates, in stores of each mode that makes windows again as
 *         often as it can, until it did so many times; in the end all ids come again. Calls do not
 *         wait, so that at each exchange some ids are in the filling group and in sealed ones. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "engine/store.h"
#include "support/random.h"
#include "support/store.h"

enum { BATCH = 500, RENEWALS = 30, MANY_IDS = 20000 };

static const uint64_t START_MS = UINT64_C(1600000000000);

static lethe_tunables usual;

static int keep_tunables(void **state) {
    (void)state;
    usual = lethe_tune;
    return 0;
}

static int restore_tunables(void **state) {
    (void)state;
    lethe_tune = usual;
    return 0;
}

static void renew_always(void) {
    lethe_tune.renew_ids = lethe_tune.renew_parts = 1;
    lethe_tune.renew_percent = 0;
}

/* Submits operations whose ids are numbers. */
static void submit(lethe_store *store, const uint64_t *numbers, size_t count, uint64_t time_ms,
                   uint8_t *outcomes) {
    static char ids[BATCH][24];
    static lethe_change changes[BATCH];
    static lethe_operation operations[BATCH];
    for (size_t i = 0; i < count; i++) {
        int size = snprintf(ids[i], sizeof ids[i], "id-%llu", (unsigned long long)numbers[i]);
        changes[i] = (lethe_change){.key = {"k", 1}, .delta = 1};
        operations[i] = (lethe_operation){.id = {ids[i], (size_t)size},
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = time_ms};
    }
    uint64_t ticket;
    test_store_submit_either(store, operations, count, outcomes, &ticket);
}

/* Fresh ids, from `from` on, among them ids that were there before; every answer must be right. */
static void submit_some(lethe_store *store, struct test_random *random, uint64_t from,
                        uint64_t time_ms) {
    uint64_t numbers[BATCH], known = from;
    uint8_t outcomes[BATCH];
    bool is_fresh[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        is_fresh[i] = known == 0 || i % 2 == 0;
        numbers[i] = is_fresh[i] ? known++ : test_random_below(random, known);
    }
    submit(store, numbers, BATCH, time_ms, outcomes);
    for (size_t i = 0; i < BATCH; i++)
        assert_int_equal(outcomes[i],
                         is_fresh[i] ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE);
}

static uint64_t renewals_of(lethe_store *store) {
    lethe_engine_enter(store);
    uint64_t renewed = store->renewal.renewed;
    lethe_engine_leave(store);
    return renewed;
}

/* The window, once no other is being made. */
static lethe_window_stats window_of(lethe_store *store) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    lethe_engine_enter(store);
    while (store->renewal.running)
        lethe_os_condition_wait(&store->log.done, &store->lock);
    assert_ok(lethe_window_info(store->ids.window, store->state.clock_ms, &stats));
    lethe_engine_leave(store);
    return stats;
}

/* Fresh ids and duplicates, until windows were made again so many times. Returns how many are
 * fresh. Where the machine has other work, it waits for them. */
static uint64_t submit_while_renewing(lethe_store *store, struct test_random *random,
                                      uint64_t *time_ms) {
    uint64_t count = 0;
    while (renewals_of(store) < RENEWALS) {
        submit_some(store, random, count, *time_ms += 50);
        count += BATCH / 2;
        if (count > MANY_IDS) (void)window_of(store);
    }
    return count;
}

/* Each fresh id was counted once, and is known. */
static void expect_ids(lethe_store *store, uint64_t count, uint64_t time_ms) {
    uint64_t numbers[BATCH];
    uint8_t outcomes[BATCH];
    for (uint64_t from = 0; from < count; from += BATCH) {
        size_t some = count - from < BATCH ? (size_t)(count - from) : BATCH;
        for (size_t i = 0; i < some; i++)
            numbers[i] = from + i;
        submit(store, numbers, some, time_ms, outcomes);
        for (size_t i = 0; i < some; i++)
            assert_int_equal(outcomes[i], LETHE_OUTCOME_DUPLICATE);
    }
    assert_int_equal(test_store_value(store, "k"), count);
}

static lethe_store *make(struct test_folder *folder, lethe_store_options options) {
    test_folder_make(folder);
    options.create = true;
    options.commit_operations = 1500;
    if (options.threads == 0) options.threads = 2;
    return test_store_open(folder->path, options);
}

/* Time passes, but no id is older than W. */
static void renew_often(lethe_store_options options, uint64_t seed) {
    renew_always();
    lethe_tune.store_log_bytes = 1 << 18;
    struct test_random random = {.state = seed};
    struct test_folder folder;
    options.ledger_memory_bytes = 1 << 22;
    lethe_store *store = make(&folder, options);
    uint64_t time_ms = START_MS, count = submit_while_renewing(store, &random, &time_ms);
    expect_ids(store, count, time_ms);
    test_store_close(store);
    options.create = false;
    store = test_store_open(folder.path, options);
    expect_ids(store, count, time_ms);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void no_id_is_lost(void **state) {
    (void)state;
    renew_often((lethe_store_options){0}, 1);
}

static void no_id_is_lost_by_event_time(void **state) {
    (void)state;
    renew_often((lethe_store_options){.event_time = LETHE_SWITCH_ON}, 2);
}

static void no_id_is_lost_in_exact_mode(void **state) {
    (void)state;
    renew_often((lethe_store_options){.exact = LETHE_SWITCH_ON}, 3);
}

static void no_id_is_lost_where_they_are_kept_for_ever(void **state) {
    (void)state;
    renew_often((lethe_store_options){.forever = LETHE_SWITCH_ON}, 4);
}

static void no_id_is_lost_beside_a_sketch(void **state) {
    (void)state;
    renew_always();
    struct test_random random = {.state = 5};
    struct test_folder folder;
    lethe_store *store = make(&folder, (lethe_store_options){.sketch_bytes = 1 << 16});
    uint64_t time_ms = START_MS, count = submit_while_renewing(store, &random, &time_ms);
    expect_ids(store, count, time_ms);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* By event time, ids of long ago are forgotten, as without renewals, while the log drops them. */
static void old_ids_are_forgotten(void **state) {
    (void)state;
    renew_always();
    struct test_random random = {.state = 6};
    struct test_folder folder;
    const uint64_t window_ms = 10000;
    lethe_store *store =
        make(&folder, (lethe_store_options){.event_time = LETHE_SWITCH_ON, .window_ms = window_ms});
    uint64_t time_ms = START_MS, applied = 0;
    for (int round = 0; round < 60; round++) {
        /* The same ids again, W (1 + slack) later and more. */
        submit_some(store, &random, 0, time_ms += 2 * window_ms);
        applied = test_store_stats(store).applied;
        assert_int_equal(applied, (uint64_t)(round + 1) * (BATCH / 2));
    }
    (void)window_of(store);
    assert_true(renewals_of(store) > 0);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* As many ids as that, of nobody knew how many, and one more commit. */
static void grow(lethe_store *store, uint64_t count) {
    struct test_random random = {.state = 7};
    for (uint64_t from = 0; from < count; from += BATCH / 2)
        submit_some(store, &random, from, START_MS);
    assert_ok(lethe_store_commit(store));
}

static void parts_become_one(void **state) {
    (void)state;
    const uint64_t count =
        200000; /* from a hundred thousand on, parts are smaller than what is there */
    lethe_tune.renew_ids = 160000;
    struct test_folder folder;
    lethe_store *store = make(&folder, (lethe_store_options){.threads = 1});
    grow(store, count);
    assert_in_range(window_of(store).parts, 3, 100);
    test_store_close(store);
    test_folder_remove(&folder);

    lethe_tune.renew_parts = 3;
    store = make(&folder, (lethe_store_options){0});
    grow(store, count);
    lethe_window_stats stats = window_of(store);
    assert_int_equal(renewals_of(store), 1);
    assert_in_range(stats.parts, 1, 2);
    assert_int_equal(stats.ids, count);
    assert_true(stats.error_estimate <= stats.error_target);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* After a burst the window becomes small again, as one that was never made again does. */
static void a_burst_leaves_no_large_window(void **state) {
    (void)state;
    const uint64_t count = 200000, window_ms = 60000;
    lethe_tune.renew_ids = 160000;
    lethe_tune.renew_parts = 3;
    struct test_folder folder;
    lethe_store *store =
        make(&folder, (lethe_store_options){.event_time = LETHE_SWITCH_ON, .window_ms = window_ms});
    grow(store, count);
    assert_true(window_of(store).memory_bytes > 1 << 20);
    assert_int_equal(renewals_of(store), 1);
    for (uint64_t i = 1; i <= 250; i++) {
        uint8_t outcome;
        submit(store, &(uint64_t){count + i}, 1, START_MS + i * window_ms / 50, &outcome);
        assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
    }
    assert_true(window_of(store).memory_bytes < 1 << 17);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* At a steady rate the window that is left in the end takes what was planned for it: the ones that
 * were made again have left it nearly all of the error. */
static void the_long_run_is_as_planned(void **state) {
    (void)state;
    const uint64_t ids = 400000, window_ms = 3600000, batches = ids / BATCH;
    lethe_tune.renew_ids = 130000;
    struct test_folder folder;
    const lethe_store_options options = {.size = sizeof options,
                                         .event_time = LETHE_SWITCH_ON,
                                         .window_ms = window_ms,
                                         .error = 1e-6,
                                         .threads = 2};
    lethe_store_load load = LETHE_INIT(lethe_store_load);
    load.events_per_s = (double)ids / ((double)window_ms / 1000);
    load.counters = 1;
    lethe_store_needs needs = LETHE_INIT(lethe_store_needs);
    assert_ok(lethe_store_plan(&options, &load, &needs, NULL));
    lethe_store *store = make(&folder, options);
    lethe_window_stats stats = {0};
    uint64_t numbers[BATCH], peak_bytes = 0;
    uint8_t outcomes[BATCH];
    for (uint64_t i = 0; i < batches * 8 / 5; i++) {
        for (uint64_t j = 0; j < BATCH; j++)
            numbers[j] = i * BATCH + j;
        submit(store, numbers, BATCH, START_MS + i * window_ms / batches, outcomes);
        stats = window_of(store);
        if (stats.memory_bytes > peak_bytes) peak_bytes = stats.memory_bytes;
    }
    assert_true(renewals_of(store) > 0);
    assert_int_equal(stats.parts, 1);
    assert_true(stats.memory_bytes <= needs.window_bytes * 11 / 10);
    assert_true(peak_bytes <= needs.window_peak_bytes);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void some_windows_stay_as_they_are(void **state) {
    (void)state;
    renew_always();
    const lethe_store_options options[] = {
        {.threads = 1},
        {.max_memory_bytes = 16 << 20},
        {.forgetful = LETHE_SWITCH_ON, .error = 1e-6},
    };
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        struct test_folder folder;
        lethe_store *store = make(&folder, options[i]);
        grow(store, 5000);
        assert_int_equal(renewals_of(store), 0);
        assert_false(store->renewal.has_thread);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* Submits until the store has failed. */
static void submit_until_it_fails(lethe_store *store) {
    static const char *const ids[] = {"a", "b"};
    lethe_status status = LETHE_OK;
    for (int i = 0; i < 100000 && status == LETHE_OK; i++) {
        uint8_t outcome;
        status = test_store_try_apply(store, ids[i % 2], "k", 1, 0, &outcome);
    }
    assert_int_equal(status, LETHE_ECORRUPT);
}

/* The state counts an id that the log has not: a segment was lost. */
static void a_log_that_lacks_ids_is_noticed(void **state) {
    (void)state;
    lethe_tune.renew_parts = 1000;
    lethe_tune.renew_ids = 1;
    struct test_folder folder;
    lethe_store *store = make(&folder, (lethe_store_options){0});
    grow(store, 5000);
    lethe_engine_enter(store);
    store->state.log_ids++;
    lethe_engine_leave(store);
    lethe_tune.renew_parts = 1;
    submit_until_it_fails(store);
    test_store_explains(store, "restore a backup");
    lethe_detail detail = {""};
    assert_int_equal(lethe_store_close(store, &detail), LETHE_ECORRUPT);
    test_folder_remove(&folder);
}

/* Closed at once, whatever a renewal has done by then. */
static void closing_gives_it_up(void **state) {
    (void)state;
    renew_always();
    struct test_folder folder;
    struct test_random random = {.state = 9};
    lethe_store *store = make(&folder, (lethe_store_options){0});
    uint64_t count = 0;
    for (int i = 0; i < 40; i++) {
        submit_some(store, &random, count, 0);
        count += BATCH / 2;
        if (i % 2 == 0) assert_ok(lethe_store_commit(store));
        test_store_close(store);
        store = test_store_open(folder.path, (lethe_store_options){.threads = 2});
    }
    expect_ids(store, count, 0);
    test_store_close(store);
    test_folder_remove(&folder);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, keep_tunables, restore_tunables)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(no_id_is_lost),
        TEST(no_id_is_lost_by_event_time),
        TEST(no_id_is_lost_in_exact_mode),
        TEST(no_id_is_lost_where_they_are_kept_for_ever),
        TEST(no_id_is_lost_beside_a_sketch),
        TEST(old_ids_are_forgotten),
        TEST(parts_become_one),
        TEST(a_burst_leaves_no_large_window),
        TEST(the_long_run_is_as_planned),
        TEST(some_windows_stay_as_they_are),
        TEST(a_log_that_lacks_ids_is_noticed),
        TEST(closing_gives_it_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
