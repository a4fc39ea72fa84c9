/* Goal:   what a store has forgotten it does not take for new later on: an event by whose time it
 *         was too late to tell stays late, when W becomes longer or ids are kept for ever from then
 *         on.
 * Method: stores by event time whose first ids have left W, and the log; a kill is a copy of the
 *         folder while the store is open. And stores at random, whose W is another one each
 *         time. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/store.h"

static const uint64_t START_MS = UINT64_C(1600000000000), SHORT_MS = 60000, LONG_MS = 3600000;

static const lethe_store_options usual = {
    .window_ms = 60000, .error = 1e-12, .event_time = LETHE_SWITCH_ON, .create = true};

/* A store whose log has "b" and no longer "a". */
static void make_forgetful(struct test_folder *folder, lethe_store_options options) {
    test_folder_make(folder);
    lethe_store *store = test_store_open(folder->path, options);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "b", START_MS + 10 * SHORT_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_LATE);
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.log_ids, 1);
    test_store_close(store);
}

/* By what is known since: everything from nine times the short W on. */
static void expect_forgotten(lethe_store *store, int64_t value) {
    const uint64_t known_ms = START_MS + 9 * SHORT_MS;
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_LATE);
    assert_int_equal(test_store_add(store, "a", known_ms - 1), LETHE_OUTCOME_LATE);
    assert_int_equal(test_store_add(store, "b", START_MS + 10 * SHORT_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), value);
}

static void a_longer_window_with(lethe_store_options options) {
    struct test_folder folder, killed;
    make_forgetful(&folder, options);
    options.window_ms = LONG_MS;
    lethe_store *store = test_store_open(folder.path, options);
    expect_forgotten(store, 2);
    /* What is later than that was remembered, and so it can be told. */
    assert_int_equal(test_store_add(store, "c", START_MS + 9 * SHORT_MS), LETHE_OUTCOME_APPLIED);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    struct test_folder *both[] = {&folder, &killed};
    for (unsigned i = 0; i < 2; i++) {
        store = test_store_open(both[i]->path, (lethe_store_options){0});
        expect_forgotten(store, 3);
        /* A while later W alone decides; ids from before the change are known for all of it. */
        uint64_t later_ms = START_MS + 9 * SHORT_MS + LONG_MS;
        assert_int_equal(test_store_add(store, "d", later_ms), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_add(store, "c", START_MS + 9 * SHORT_MS),
                         LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_add(store, "a", START_MS + 9 * SHORT_MS - 1),
                         LETHE_OUTCOME_LATE);
        test_store_close(store);
        store = test_store_open(both[i]->path, (lethe_store_options){0});
        assert_int_equal(test_store_add(store, "c", START_MS + 9 * SHORT_MS),
                         LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_add(store, "e", START_MS + 9 * SHORT_MS - 1),
                         LETHE_OUTCOME_LATE);
        assert_int_equal(test_store_add(store, "e", START_MS + 9 * SHORT_MS),
                         LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        test_folder_remove(both[i]);
    }
}

static void a_longer_window_forgets_no_better(void **state) {
    (void)state;
    a_longer_window_with(usual);
    lethe_store_options options = usual;
    options.check_payload = LETHE_SWITCH_ON;
    a_longer_window_with(options);
}

static void nor_does_it_with_a_sketch(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.sketch_bytes = 65536;
    options.sketch_top = 10;
    a_longer_window_with(options);
}

/* There and back again: what the short W forgot is forgotten. */
static void a_window_that_was_shorter_for_a_while(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.window_ms = LONG_MS;
    lethe_store *store = test_store_open(folder.path, options);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "b", START_MS + 10 * SHORT_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    options.window_ms = SHORT_MS;
    test_store_close(test_store_open(folder.path, options));
    options.window_ms = LONG_MS;
    store = test_store_open(folder.path, options);
    expect_forgotten(store, 2);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void keeping_for_ever_begins_with_what_is_known(void **state) {
    (void)state;
    struct test_folder folder, killed;
    make_forgetful(&folder, usual);
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.forever = LETHE_SWITCH_ON});
    expect_forgotten(store, 2);
    assert_int_equal(test_store_add(store, "c", START_MS + 100 * LONG_MS), LETHE_OUTCOME_APPLIED);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    struct test_folder *both[] = {&folder, &killed};
    for (unsigned i = 0; i < 2; i++) {
        store = test_store_open(both[i]->path, (lethe_store_options){0});
        expect_forgotten(store, 3);
        assert_int_equal(test_store_add(store, "d", START_MS + 9 * SHORT_MS),
                         LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        test_folder_remove(both[i]);
    }
}

/* Where the log still has all that was ever applied there is nothing to be late for. */
static void what_was_not_forgotten_is_known(void **state) {
    (void)state;
    const lethe_store_options changes[] = {{.window_ms = LONG_MS}, {.forever = LETHE_SWITCH_ON}};
    for (unsigned i = 0; i < 2; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_store *store = test_store_open(folder.path, usual);
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_add(store, "b", START_MS + SHORT_MS + 1),
                         LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_LATE);
        test_store_close(store);
        store = test_store_open(folder.path, changes[i]);
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_DUPLICATE);
        assert_int_equal(test_store_add(store, "c", START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_value(store, "k"), 3);
        test_store_close(store);
        test_folder_remove(&folder);
    }
}

enum { IDS = 2000, ROUNDS = 16, CALLS = 8, BATCH = 64 };

struct sent {
    uint64_t time_ms; /* of the event, in every duplicate; 0: not sent yet */
    bool is_applied;
};

/* Sends events, new ones and duplicates, in one call. */
static void send_some(lethe_store *store, struct test_random *random, struct sent *sent,
                      uint64_t *now_ms) {
    lethe_operation operations[BATCH];
    lethe_change changes[BATCH];
    char names[BATCH][16];
    uint32_t ids[BATCH];
    uint8_t outcomes[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        uint32_t id = ids[i] = (uint32_t)test_random_below(random, IDS);
        if (sent[id].time_ms == 0) {
            *now_ms += test_random_below(random, test_random_below(random, 20) == 0 ? 30000 : 300);
            bool is_slow = test_random_below(random, 4) == 0;
            sent[id].time_ms = *now_ms - (is_slow ? test_random_below(random, 40000) : 0);
        }
        (void)snprintf(names[i], sizeof names[i], "%u", id);
        changes[i] = (lethe_change){.key = test_text("k"), .delta = 1};
        operations[i] = (lethe_operation){.id = test_text(names[i]),
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = sent[id].time_ms};
    }
    assert_ok(lethe_store_apply(store, operations, BATCH, outcomes, NULL));
    for (size_t i = 0; i < BATCH; i++) {
        struct sent *event = &sent[ids[i]];
        if (outcomes[i] == LETHE_OUTCOME_APPLIED && event->is_applied)
            fail_msg("%u: twice", ids[i]);
        if (outcomes[i] == LETHE_OUTCOME_DUPLICATE && !event->is_applied)
            fail_msg("%u: of what?", ids[i]);
        event->is_applied = event->is_applied || outcomes[i] == LETHE_OUTCOME_APPLIED;
    }
}

/* Whatever W is from one day to the next: an event whose duplicates have its own time is applied
 * once at most. */
static void no_event_is_applied_twice(void **state) {
    (void)state;
    static struct sent sent[IDS];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct test_random random = {.state = seed};
        struct test_folder folder;
        test_folder_make(&folder);
        memset(sent, 0, sizeof sent);
        uint64_t now_ms = START_MS;
        lethe_store_options options = usual;
        for (unsigned round = 0; round < ROUNDS; round++) {
            lethe_store *store = test_store_open(folder.path, options);
            for (unsigned call = 0; call < CALLS; call++)
                send_some(store, &random, sent, &now_ms);
            test_store_close(store);
            uint64_t longest_ms = test_random_below(&random, 2) == 0 ? SHORT_MS : LONG_MS;
            options = (lethe_store_options){.ledger_memory_bytes = 1 << 22};
            if (test_random_below(&random, 2) == 0)
                options.window_ms = 1000 + test_random_below(&random, longest_ms);
            if (round + 2 == ROUNDS) options.forever = LETHE_SWITCH_ON;
        }
        test_folder_remove(&folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_longer_window_forgets_no_better),
        cmocka_unit_test(nor_does_it_with_a_sketch),
        cmocka_unit_test(a_window_that_was_shorter_for_a_while),
        cmocka_unit_test(keeping_for_ever_begins_with_what_is_known),
        cmocka_unit_test(what_was_not_forgotten_is_known),
        cmocka_unit_test(no_event_is_applied_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
