/* Goal:   where modes meet, an operation is decided as it would be alone; and a store keeps its
 *         modes.
 * Method: small stores by event time, each with the few operations that once were decided
 *         wrongly, in one call where it matters that they share a chunk; a kill is a copy of the
 *         folder while the store is open. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/store.h"

static const uint64_t START_MS = UINT64_C(1600000000000), WINDOW_MS = 60000, DAY_MS = 86400000;

static const lethe_store_options usual = {
    .window_ms = 60000, .error = 1e-12, .event_time = LETHE_SWITCH_ON, .create = true};

static void refuse_with(const char *path, lethe_store_options options, const char *words) {
    lethe_detail detail = {""};
    lethe_store *store;
    assert_int_equal(test_store_try_open(path, options, &store, &detail), LETHE_EINVAL);
    assert_null(store);
    if (strstr(detail.text, words) == NULL) print_error("%s\n", detail.text);
    assert_non_null(strstr(detail.text, words));
    assert_non_null(strstr(detail.text, "; ")); /* what to do */
}

static void ids_of_a_chunk_are_known_for_ever(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.forever = LETHE_SWITCH_ON;
    lethe_store *store = test_store_open(folder.path, options);
    const struct test_event events[] = {
        {"a", "k", 1, START_MS}, {"b", "k", 1, START_MS + 2 * WINDOW_MS}, {"a", "k", 1, START_MS}};
    uint8_t outcomes[3];
    test_store_submit(store, events, 3, outcomes);
    assert_int_equal(outcomes[0], LETHE_OUTCOME_APPLIED);
    assert_int_equal(outcomes[1], LETHE_OUTCOME_APPLIED);
    assert_int_equal(outcomes[2], LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), 2);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* The commit waits longer than W: neither window nor ledger has the id. By the events' time, and
 * by the wall clock. */
static void ids_that_are_not_durable_are_known_for_ever(void **state) {
    (void)state;
    for (unsigned by_events = 0; by_events < 2; by_events++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store_options options = {.window_ms = 1000,
                                       .create = true,
                                       .forever = LETHE_SWITCH_ON,
                                       .event_time =
                                           by_events ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP,
                                       .commit_interval_ms = 10000};
        lethe_store *store = test_store_open(folder.path, options);
        assert_int_equal(test_store_submit_one(store, "a", "k", 1, START_MS),
                         LETHE_OUTCOME_APPLIED);
        if (!by_events) nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 300000000}, NULL);
        assert_int_equal(test_store_submit_one(store, "b", "k", 1, START_MS + 5000),
                         LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_submit_one(store, "a", "k", 1, START_MS),
                         LETHE_OUTCOME_DUPLICATE);
        test_store_close(store);
        store = test_store_open(folder.path, (lethe_store_options){0});
        assert_int_equal(test_store_submit_one(store, "a", "k", 1, START_MS),
                         LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_value(store, "k"), 2);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* As long as the window knows every id, the ledger is not asked. That ends when W has passed since
 * the first one, and stays so in a store that is opened again and whose log has dropped it. */
static void what_the_window_has_forgotten_is_asked_for(void **state) {
    (void)state;
    enum { TIMES = 4 };
    const char *const ids[TIMES] = {"a", "b", "c", "d"};
    const char *const others[TIMES] = {"a2", "b2", "c2", "d2"};
    for (unsigned openings = 1; openings <= 2; openings++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store_options options = usual;
        options.forever = LETHE_SWITCH_ON;
        lethe_store *store = test_store_open(folder.path, options);
        for (unsigned i = 0; i < TIMES; i++) {
            uint64_t time_ms = START_MS + i * 3 * WINDOW_MS;
            (void)test_store_add(store, ids[i], time_ms);
            assert_int_equal(test_store_submit_one(store, ids[0], "k", 1, time_ms),
                             LETHE_OUTCOME_DUPLICATE); /* the log may still have it */
            (void)test_store_add(store, others[i], time_ms);
            assert_int_equal(test_store_submit_one(store, ids[0], "k", 1, time_ms),
                             LETHE_OUTCOME_DUPLICATE);
        }
        (void)test_store_add(store, "last", START_MS + (TIMES - 1) * 3 * WINDOW_MS);
        if (openings == 2) {
            test_store_close(store);
            store = test_store_open(folder.path, (lethe_store_options){0});
            assert_true(test_store_stats(store).log_ids < 2 * TIMES);
        }
        for (unsigned i = 0; i < TIMES; i++) {
            assert_int_equal(test_store_submit_one(store, ids[i], "k", 1, START_MS),
                             LETHE_OUTCOME_DUPLICATE);
        }
        assert_int_equal(test_store_value(store, "k"), 2 * TIMES + 1);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* A store that has forgotten ids before begins to keep them for ever, and is killed before the
 * ledger had a reason to write what it has. */
static void keeping_for_ever_survives_a_kill_at_its_beginning(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    const char *const ids[] = {"a", "b", "c"};
    for (unsigned i = 0; i < 3; i++) {
        lethe_store *store = test_store_open(folder.path, usual);
        assert_int_equal(test_store_submit_one(store, ids[i], "k", 1, START_MS + i * 3 * WINDOW_MS),
                         LETHE_OUTCOME_APPLIED);
        test_store_close(store);
    }
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.forever = LETHE_SWITCH_ON});
    (void)test_store_add(store, "d", START_MS + 6 * WINDOW_MS);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(killed.path, &health, NULL));
    store = test_store_open(killed.path, (lethe_store_options){0});
    assert_true(test_store_stats(store).forever);
    assert_int_equal(test_store_submit_one(store, "e", "k", 1, START_MS + 20 * WINDOW_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_submit_one(store, "c", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_submit_one(store, "d", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), 5);
    test_store_close(store);
    test_folder_remove(&folder);
    test_folder_remove(&killed);
}

/* An id that comes back just after W is applied once more, and its retry is a duplicate, though the
 * window had been asked about all of them before the first was settled. */
static void an_id_that_comes_back_after_the_window_is_applied_once(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.exact = LETHE_SWITCH_ON;
    lethe_store *store = test_store_open(folder.path, options);
    const struct test_event events[] = {{"x", "k", 1, START_MS},
                                        {"x", "k", 1, START_MS + WINDOW_MS + 500},
                                        {"y", "j", 1, START_MS + WINDOW_MS + 20000},
                                        {"x", "k", 1, START_MS + WINDOW_MS + 500}};
    const uint8_t expected[] = {LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_APPLIED,
                                LETHE_OUTCOME_DUPLICATE};
    uint8_t outcomes[4];
    test_store_submit(store, events, 4, outcomes);
    assert_memory_equal(outcomes, expected, 4);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Copies of an operation that was refused: one becomes possible, and the next, for which so much
 * time has passed that the window had taken it for fresh, is a duplicate of that. */
static void duplicates_of_what_was_refused_are_asked_again(void **state) {
    (void)state;
    for (unsigned exact = 0; exact < 2; exact++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store_options options = usual;
        options.exact = exact ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
        lethe_store *store = test_store_open(folder.path, options);
        const struct test_event events[] = {{"init", "k", INT64_MAX, START_MS},
                                            {"x", "k", 1, START_MS},
                                            {"x", "k", 1, START_MS},
                                            {"down", "k", -10, START_MS + 500},
                                            {"x", "k", 1, START_MS + 500},
                                            {"x", "k", 1, START_MS + 501},
                                            {"y", "j", 1, START_MS + 60400},
                                            {"x", "k", 1, START_MS + 50000},
                                            {"z", "j", 1, START_MS + 70000},
                                            {"x", "k", 1, START_MS + 50000}};
        const uint8_t expected[] = {LETHE_OUTCOME_APPLIED,  LETHE_OUTCOME_OVERFLOW,
                                    LETHE_OUTCOME_OVERFLOW, LETHE_OUTCOME_APPLIED,
                                    LETHE_OUTCOME_APPLIED,  LETHE_OUTCOME_DUPLICATE,
                                    LETHE_OUTCOME_APPLIED,  LETHE_OUTCOME_DUPLICATE};
        uint8_t outcomes[10];
        test_store_submit(store, events, 10, outcomes);
        assert_memory_equal(outcomes, expected, 8);
        test_store_close(store);
        test_folder_remove(&folder);
        /* Refused at first, and possible when the window has forgotten that first one. */
        test_folder_make(&folder);
        store = test_store_open(folder.path, options);
        const struct test_event later[] = {
            {"init", "k", INT64_MAX, START_MS},  {"x", "k", 1, START_MS},
            {"down", "k", -10, START_MS + 1000}, {"x", "k", 1, START_MS + 50000},
            {"y", "j", 1, START_MS + 70000},     {"x", "k", 1, START_MS + 50000}};
        const uint8_t expected_later[] = {LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_OVERFLOW,
                                          LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_APPLIED,
                                          LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_DUPLICATE};
        test_store_submit(store, later, 6, outcomes);
        assert_memory_equal(outcomes, expected_later, 6);
        assert_int_equal(test_store_value(store, "k"), INT64_MAX - 9);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* At an error of 0.1 many an operation that is refused looks like another one that was applied. */
static void what_is_refused_erases_no_memory(void **state) {
    (void)state;
    enum { PAIRS = 2000, ROUNDS = 4 };
    static char ids[ROUNDS][2 * PAIRS][16];
    static struct test_event events[2 * PAIRS];
    static uint8_t outcomes[2 * PAIRS];
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.exact = LETHE_SWITCH_ON;
    options.error = 0.1;
    options.seed = 5;
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_submit_one(store, "first", "full", INT64_MAX, START_MS),
                     LETHE_OUTCOME_APPLIED);
    for (unsigned turn = 0; turn < 2 * ROUNDS; turn++) {
        unsigned round = turn % ROUNDS;
        for (unsigned i = 0; i < 2 * PAIRS; i++) {
            bool is_refused = i % 2 == 1;
            snprintf(ids[round][i], sizeof ids[round][i], "%u-%u", round, i);
            events[i] = (struct test_event){ids[round][i], is_refused ? "full" : "k", 1, START_MS};
        }
        test_store_submit(store, events, 2 * PAIRS, outcomes);
        for (unsigned i = 0; i < 2 * PAIRS; i++) {
            lethe_outcome expected =
                turn < ROUNDS ? LETHE_OUTCOME_APPLIED : LETHE_OUTCOME_DUPLICATE;
            assert_int_equal(outcomes[i], i % 2 == 1 ? LETHE_OUTCOME_OVERFLOW : expected);
        }
    }
    assert_int_equal(test_store_value(store, "k"), PAIRS * ROUNDS);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void modes_are_kept_until_they_are_switched(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.check_payload = LETHE_SWITCH_ON;
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_submit_one(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    /* A counter set by hand, by somebody who knows of no modes. */
    assert_ok(lethe_store_open(folder.path, NULL, &store, NULL));
    lethe_bytes key = test_text("other");
    assert_ok(lethe_store_set(store, &key, &(int64_t){5}, 1));
    test_store_close(store);
    assert_ok(lethe_store_open(folder.path, NULL, &store, NULL));
    lethe_store_stats stats = test_store_stats(store);
    assert_true(stats.exact && stats.check_payload && stats.event_time && !stats.forever);
    assert_int_equal(stats.window.window_ms, WINDOW_MS);
    assert_true(stats.window.error_target == 1e-12);
    assert_int_equal(stats.clock_ms, START_MS);
    assert_int_equal(test_store_submit_one(store, "a", "k", 2, START_MS), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(test_store_submit_one(store, "b", "k", 1, START_MS + 1),
                     LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    /* Switched off, and on again: nothing is lost by it. */
    store = test_store_open(folder.path, (lethe_store_options){.check_payload = LETHE_SWITCH_OFF});
    assert_true(test_store_stats(store).exact);
    assert_int_equal(test_store_submit_one(store, "a", "k", 2, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_submit_one(store, "c", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    store = test_store_open(folder.path, (lethe_store_options){.check_payload = LETHE_SWITCH_ON});
    assert_int_equal(test_store_submit_one(store, "a", "k", 2, START_MS), LETHE_OUTCOME_MISMATCH);
    assert_int_equal(test_store_submit_one(store, "c", "k", 2, START_MS), LETHE_OUTCOME_MISMATCH);
    test_store_close(store);
    store = test_store_open(folder.path, (lethe_store_options){.check_payload = LETHE_SWITCH_OFF,
                                                               .exact = LETHE_SWITCH_OFF});
    stats = test_store_stats(store);
    assert_true(!stats.exact && !stats.check_payload && stats.event_time);
    assert_int_equal(test_store_submit_one(store, "c", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void switches_that_lose_something_are_refused(void **state) {
    (void)state;
    struct test_folder by_events, by_wall, exact;
    test_folder_make(&by_events);
    test_folder_make(&by_wall);
    test_folder_make(&exact);
    lethe_store *store = test_store_open(by_events.path, usual);
    test_store_close(store);
    /* As long as nothing was applied nothing can be lost. */
    store = test_store_open(by_events.path, (lethe_store_options){.event_time = LETHE_SWITCH_OFF});
    test_store_close(store);
    store = test_store_open(by_events.path, usual);
    assert_int_equal(test_store_submit_one(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    refuse_with(by_events.path, (lethe_store_options){.event_time = LETHE_SWITCH_OFF},
                "goes by the time of its events");
    store = test_store_open(by_wall.path, (lethe_store_options){.create = true});
    assert_int_equal(test_store_submit_one(store, "a", "k", 1, 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    refuse_with(by_wall.path, (lethe_store_options){.event_time = LETHE_SWITCH_ON},
                "goes by the clock on the wall");
    lethe_store_options options = usual;
    options.check_payload = LETHE_SWITCH_ON;
    store = test_store_open(exact.path, options);
    test_store_close(store);
    refuse_with(exact.path, (lethe_store_options){.exact = LETHE_SWITCH_OFF}, "comparing payloads");
    refuse_with(exact.path, (lethe_store_options){.forever = LETHE_SWITCH_ON}, "exact mode");
    /* From exact to for ever, and never back. */
    store = test_store_open(exact.path, (lethe_store_options){.check_payload = LETHE_SWITCH_OFF,
                                                              .exact = LETHE_SWITCH_OFF,
                                                              .forever = LETHE_SWITCH_ON});
    test_store_close(store);
    refuse_with(exact.path, (lethe_store_options){.exact = LETHE_SWITCH_ON}, "for ever");
    refuse_with(exact.path, (lethe_store_options){.check_payload = LETHE_SWITCH_ON}, "for ever");
    refuse_with(exact.path, (lethe_store_options){.forever = LETHE_SWITCH_OFF}, "for ever");
    test_folder_remove(&by_events);
    test_folder_remove(&by_wall);
    test_folder_remove(&exact);
}

/* A thousand events, a second apart; one of them, wherever it is, has a time twenty days later. */
static void one_wrong_time_makes_no_other_late(void **state) {
    (void)state;
    enum { COUNT = 1000 };
    static char ids[COUNT][12];
    static struct test_event events[COUNT];
    static uint8_t outcomes[COUNT];
    const unsigned places[] = {0, 1, 500, 900, 998};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store *store = test_store_open(folder.path, usual);
        for (unsigned j = 0; j < COUNT; j++) {
            snprintf(ids[j], sizeof ids[j], "%u", j);
            uint64_t time_ms = START_MS + (uint64_t)j * 1000;
            if (j == places[i]) time_ms += 20 * DAY_MS;
            events[j] = (struct test_event){ids[j], "k", 1, time_ms};
        }
        test_store_submit(store, events, COUNT, outcomes);
        for (unsigned j = 0; j < COUNT; j++) {
            assert_int_equal(outcomes[j],
                             j == places[i] ? LETHE_OUTCOME_FUTURE : LETHE_OUTCOME_APPLIED);
        }
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

/* After a pause of a month the log goes on; and a log whose events are days apart is all jumps. */
static void jumps_that_others_follow_are_believed(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    uint8_t outcomes[40];
    char ids[40][8];
    struct test_event events[40];
    for (unsigned i = 0; i < 40; i++) {
        snprintf(ids[i], sizeof ids[i], "%u", i);
        uint64_t time_ms = START_MS + i + (i >= 20 ? 30 * DAY_MS : 0);
        if (i >= 30) time_ms += (i - 30) * DAY_MS;
        events[i] = (struct test_event){ids[i], "k", 1, time_ms};
    }
    test_store_submit(store, events, 40, outcomes);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(outcomes[i], LETHE_OUTCOME_APPLIED);
    }
    assert_int_equal(test_store_submit_one(store, "alone", "k", 1, START_MS + 60 * DAY_MS),
                     LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_submit_one(store, "late", "k", 1, START_MS), LETHE_OUTCOME_LATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Events that are each a little ahead of the one before do not push the clock away from that on
 * the wall. */
static void the_clock_stays_near_that_on_the_wall(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    uint64_t now_ms = (uint64_t)time(NULL) * 1000, most_ms = 3600000;
    unsigned ahead = 0;
    for (unsigned i = 0; i < 100; i++) {
        char id[8];
        snprintf(id, sizeof id, "%u", i);
        lethe_outcome outcome = test_store_submit_one(store, id, "k", 1, now_ms + i * 59000);
        ahead += outcome == LETHE_OUTCOME_FUTURE;
        /* However slow the machine is, these are an hour and a half in all. */
        if (i * 59000 > most_ms) assert_int_equal(outcome, LETHE_OUTCOME_FUTURE);
    }
    assert_true(ahead > 0);
    assert_true(test_store_stats(store).clock_ms < now_ms + most_ms);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_a_chunk_are_known_for_ever),
        cmocka_unit_test(ids_that_are_not_durable_are_known_for_ever),
        cmocka_unit_test(what_the_window_has_forgotten_is_asked_for),
        cmocka_unit_test(keeping_for_ever_survives_a_kill_at_its_beginning),
        cmocka_unit_test(an_id_that_comes_back_after_the_window_is_applied_once),
        cmocka_unit_test(duplicates_of_what_was_refused_are_asked_again),
        cmocka_unit_test(what_is_refused_erases_no_memory),
        cmocka_unit_test(modes_are_kept_until_they_are_switched),
        cmocka_unit_test(switches_that_lose_something_are_refused),
        cmocka_unit_test(one_wrong_time_makes_no_other_late),
        cmocka_unit_test(jumps_that_others_follow_are_believed),
        cmocka_unit_test(the_clock_stays_near_that_on_the_wall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
