/* Goal:   buckets are right wherever they are: in memory, beside their counters, or on disk.
 * Method: small stores that fold after every operation and keep as little in memory as they can. */
#include "support/test.h"

#include <stdio.h>

#include "core/tunables.h"
#include "support/usage.h"

/* What is over leaves memory at a fold, and comes back when an operation wants it. */
static void buckets_of_the_past_leave_memory(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    uint64_t usually = lethe_tune.fold_after_bytes;
    lethe_tune.fold_after_bytes = 1;
    lethe_store *store = test_store_open(folder.path, metered("1h", NULL, NULL));
    enum { HOURS = 60, KEYS = 50 };
    for (unsigned hour = 0; hour <= HOURS; hour++) {
        struct test_event events[KEYS];
        char ids[KEYS][16], keys[KEYS][16];
        uint8_t outcomes[KEYS];
        for (unsigned i = 0; i < KEYS; i++) {
            snprintf(ids[i], sizeof ids[i], "%u-%u", hour, i);
            snprintf(keys[i], sizeof keys[i], "k%u", i);
            events[i] = (struct test_event){ids[i], keys[i], 1, utc_ms(2024, 5, 1, hour)};
        }
        test_store_submit(store, events, KEYS, outcomes);
    }
    /* Folds run beside: each operation makes another one due. */
    uint64_t least = UINT64_MAX;
    unsigned more = 0;
    for (; more < 10000 && least > HOURS * KEYS / 2; more++) {
        char id[16];
        snprintf(id, sizeof id, "x%u", more);
        assert_int_equal(test_store_apply(store, id, "k0", 1, utc_ms(2024, 5, 1, HOURS)), 0);
        uint64_t held = test_store_stats(store).buckets_in_memory;
        if (held < least) least = held;
    }
    assert_true(least <= HOURS * KEYS / 2);
    /* Those of the current hour were moved. */
    assert_int_equal(test_store_apply(store, "now", "k7", 1, utc_ms(2024, 5, 1, HOURS)), 0);
    assert_int_equal(test_store_apply(store, "too", "k0", 1, utc_ms(2024, 5, 1, HOURS)), 0);
    assert_int_equal(test_store_apply(store, "late", "k7", 4, utc_ms(2024, 5, 1, 3)), 0);
    struct shown shown = usage_of(store, "1h", "k7");
    assert_int_equal(shown.count, HOURS + 1);
    for (unsigned i = 0; i <= HOURS; i++)
        assert_int_equal(shown.values[i], i == 3 ? 5 : i == HOURS ? 2 : 1);
    shown = usage_of(store, "1h", "k0");
    assert_int_equal(shown.values[HOURS], more + 2);
    test_store_close(store);
    lethe_tune.fold_after_bytes = usually;
    test_folder_remove(&folder);
}

/* A counter that leaves memory takes its latest bucket along: the next operation on it must read
 * both. */
static void a_bucket_returns_with_its_counter(void **state) {
    (void)state;
    enum { KEYS = 40, ROUNDS = 5 };
    struct test_folder folder;
    test_folder_make(&folder);
    uint64_t usually = lethe_tune.fold_after_bytes;
    lethe_tune.fold_after_bytes = 1;
    lethe_store_options options = metered("1h,1d", NULL, NULL);
    options.counters_memory_bytes = 1; /* every fold drops what it can */
    lethe_store *store = test_store_open(folder.path, options);
    uint64_t hour = utc_ms(2024, 5, 1, 9);
    unsigned more = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        /* A new store knows that it has all buckets in memory; one that is opened does not. */
        if (round == 3) {
            test_store_close(store);
            store = test_store_open(folder.path, options);
        }
        for (unsigned i = 0; i < KEYS; i++) {
            char id[16], key[16];
            snprintf(id, sizeof id, "%u-%u", round, i);
            snprintf(key, sizeof key, "k%u", i);
            assert_int_equal(test_store_submit_one(store, id, key, 1, hour), 0);
        }
        /* Folds run beside: each operation makes another one due. */
        for (unsigned tries = 0; test_store_stats(store).counters_in_memory > KEYS / 4; tries++) {
            char id[16];
            assert_true(tries < 10000);
            snprintf(id, sizeof id, "x%u", more++);
            assert_int_equal(test_store_apply(store, id, "other", 1, hour), 0);
        }
    }
    for (unsigned i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%u", i);
        assert_int_equal(usage_of_all(store, "1h", key), ROUNDS);
        assert_int_equal(usage_of_all(store, "1d", key), ROUNDS);
    }
    assert_int_equal(usage_of_all(store, "1h", "other"), more);
    test_store_close(store);
    lethe_tune.fold_after_bytes = usually;
    test_folder_remove(&folder);
}

/* Counters whose last changes are years apart, or seconds: one fold puts all their buckets in
 * order, beside counters or not. */
static void periods_far_apart_are_folded(void **state) {
    (void)state;
    enum { KEYS = 400 };
    for (unsigned form = 0; form < 3; form++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store_options options = metered("1s,1h", NULL, NULL);
        lethe_store *store = test_store_open(folder.path, options);
        uint64_t step_ms = form == 0 ? 1000 : form == 1 ? 7200000 : 1;
        for (unsigned i = 0; i < 2 * KEYS; i++) {
            char id[16], key[16];
            unsigned number = i * 7 % KEYS; /* in another order than that of time */
            snprintf(id, sizeof id, "%u", i);
            snprintf(key, sizeof key, "k%u", number);
            assert_int_equal(test_store_submit_one(store, id, key, (int64_t)number + 1,
                                                   utc_ms(2024, 5, 1, 0) + i * step_ms),
                             LETHE_OUTCOME_APPLIED);
        }
        test_store_close(store);
        store = test_store_open_reader(folder.path);
        for (unsigned i = 0; i < KEYS; i += 13) {
            char key[16];
            unsigned number = i * 7 % KEYS;
            snprintf(key, sizeof key, "k%u", number);
            lethe_bytes bytes = test_text(key);
            for (unsigned half = 0; half < 2; half++) {
                struct shown shown = {0};
                lethe_usage_query query = LETHE_INIT(lethe_usage_query);
                query.by = "1s";
                query.keys = &bytes;
                query.key_count = 1;
                query.from_ms = utc_ms(2024, 5, 1, 0) + (i + half * KEYS) * step_ms;
                query.to_ms = query.from_ms + 1;
                assert_ok(lethe_store_usage(store, &query, note_row, &shown));
                assert_int_equal(shown.count, 1);
                assert_int_equal(shown.values[0], (number + 1) * (form == 2 ? 2 : 1));
            }
            assert_int_equal(usage_of_all(store, "1h", key), 2 * ((int64_t)number + 1));
        }
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_of_the_past_leave_memory),
        cmocka_unit_test(a_bucket_returns_with_its_counter),
        cmocka_unit_test(periods_far_apart_are_folded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
