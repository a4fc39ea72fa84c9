/* Goal:   what a store has forgotten it does not take for new later on: an event by whose time it was too late to tell stays
 *         late, when W becomes longer or ids are kept for ever from then on.
 * Method: stores by event time whose first ids have left W, and the log; a kill is a copy of the folder while the store is
 *         open. And stores at random, whose W is another one each time. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/counter.h"
#include "support/folder.h"
#include "support/random.h"

static const uint64_t START_MS = UINT64_C(1600000000000), SHORT_MS = 60000, LONG_MS = 3600000;

static const lethe_counter_options usual = {
    .window_ms = 60000, .error = 1e-12, .event_time = LETHE_ON, .create = true};

static lethe_bytes text(const char *string) {
    return (lethe_bytes){string, strlen(string)};
}

static lethe_counter *open_with(const char *path, lethe_counter_options options) {
    lethe_detail detail = {""};
    lethe_counter *counter;
    lethe_status status = lethe_counter_open(path, &options, &counter, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
    return counter;
}

static void close_it(lethe_counter *counter) {
    assert_ok(lethe_counter_close(counter, NULL));
}

/* Adds 1 to "k", in a commit of its own. */
static lethe_outcome apply(lethe_counter *counter, const char *id, uint64_t time_ms) {
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation operation = {
        .id = text(id), .changes = &change, .change_count = 1, .time_ms = time_ms};
    uint8_t outcome;
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    return (lethe_outcome)outcome;
}

static int64_t value_of(lethe_counter *counter) {
    lethe_bytes key = text("k");
    int64_t value;
    bool found;
    assert_ok(lethe_counter_get(counter, &key, 1, &value, &found));
    return value;
}

/* What a kill would leave: all that is on disk at this moment. */
static void kill_into(const struct test_folder *from, struct test_folder *to) {
    char command[1024];
    test_folder_make(to);
    snprintf(command, sizeof command, "cp -r '%s/.' '%s'", from->path, to->path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* A store whose log has "b" and no longer "a". */
static void make_forgetful(struct test_folder *folder, lethe_counter_options options) {
    test_folder_make(folder);
    lethe_counter *counter = open_with(folder->path, options);
    assert_int_equal(apply(counter, "a", START_MS), LETHE_APPLIED);
    assert_int_equal(apply(counter, "b", START_MS + 10 * SHORT_MS), LETHE_APPLIED);
    assert_int_equal(apply(counter, "a", START_MS), LETHE_LATE);
    lethe_counter_stats stats;
    assert_ok(lethe_counter_info(counter, &stats));
    assert_int_equal(stats.log_ids, 1);
    close_it(counter);
}

/* By what is known since: everything from nine times the short W on. */
static void expect_forgotten(lethe_counter *counter, int64_t value) {
    const uint64_t known_ms = START_MS + 9 * SHORT_MS;
    assert_int_equal(apply(counter, "a", START_MS), LETHE_LATE);
    assert_int_equal(apply(counter, "a", known_ms - 1), LETHE_LATE);
    assert_int_equal(apply(counter, "b", START_MS + 10 * SHORT_MS), LETHE_COPY);
    assert_int_equal(value_of(counter), value);
}

static void a_longer_window_with(lethe_counter_options options) {
    struct test_folder folder, killed;
    make_forgetful(&folder, options);
    options.window_ms = LONG_MS;
    lethe_counter *counter = open_with(folder.path, options);
    expect_forgotten(counter, 2);
    /* What is later than that was remembered, and so it can be told. */
    assert_int_equal(apply(counter, "c", START_MS + 9 * SHORT_MS), LETHE_APPLIED);
    kill_into(&folder, &killed);
    close_it(counter);
    struct test_folder *both[] = {&folder, &killed};
    for (unsigned i = 0; i < 2; i++) {
        counter = open_with(both[i]->path, (lethe_counter_options){0});
        expect_forgotten(counter, 3);
        /* A while later W alone decides; ids from before the change are known for all of it. */
        uint64_t later_ms = START_MS + 9 * SHORT_MS + LONG_MS;
        assert_int_equal(apply(counter, "d", later_ms), LETHE_APPLIED);
        assert_int_equal(apply(counter, "c", START_MS + 9 * SHORT_MS), LETHE_COPY);
        assert_int_equal(apply(counter, "a", START_MS + 9 * SHORT_MS - 1), LETHE_LATE);
        close_it(counter);
        counter = open_with(both[i]->path, (lethe_counter_options){0});
        assert_int_equal(apply(counter, "c", START_MS + 9 * SHORT_MS), LETHE_COPY);
        assert_int_equal(apply(counter, "e", START_MS + 9 * SHORT_MS - 1), LETHE_LATE);
        assert_int_equal(apply(counter, "e", START_MS + 9 * SHORT_MS), LETHE_APPLIED);
        close_it(counter);
        test_folder_remove(both[i]);
    }
}

static void a_longer_window_forgets_no_better(void **state) {
    (void)state;
    a_longer_window_with(usual);
    lethe_counter_options options = usual;
    options.check_payload = LETHE_ON;
    a_longer_window_with(options);
}

static void nor_does_it_with_a_sketch(void **state) {
    (void)state;
    lethe_counter_options options = usual;
    options.sketch_bytes = 65536;
    options.sketch_top = 10;
    a_longer_window_with(options);
}

/* There and back again: what the short W forgot is forgotten. */
static void a_window_that_was_shorter_for_a_while(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = usual;
    options.window_ms = LONG_MS;
    lethe_counter *counter = open_with(folder.path, options);
    assert_int_equal(apply(counter, "a", START_MS), LETHE_APPLIED);
    assert_int_equal(apply(counter, "b", START_MS + 10 * SHORT_MS), LETHE_APPLIED);
    close_it(counter);
    options.window_ms = SHORT_MS;
    close_it(open_with(folder.path, options));
    options.window_ms = LONG_MS;
    counter = open_with(folder.path, options);
    expect_forgotten(counter, 2);
    close_it(counter);
    test_folder_remove(&folder);
}

static void keeping_for_ever_begins_with_what_is_known(void **state) {
    (void)state;
    struct test_folder folder, killed;
    make_forgetful(&folder, usual);
    lethe_counter *counter = open_with(folder.path, (lethe_counter_options){.forever = LETHE_ON});
    expect_forgotten(counter, 2);
    assert_int_equal(apply(counter, "c", START_MS + 100 * LONG_MS), LETHE_APPLIED);
    kill_into(&folder, &killed);
    close_it(counter);
    struct test_folder *both[] = {&folder, &killed};
    for (unsigned i = 0; i < 2; i++) {
        counter = open_with(both[i]->path, (lethe_counter_options){0});
        expect_forgotten(counter, 3);
        assert_int_equal(apply(counter, "d", START_MS + 9 * SHORT_MS), LETHE_APPLIED);
        close_it(counter);
        test_folder_remove(both[i]);
    }
}

/* Where the log still has all that was ever applied there is nothing to be late for. */
static void what_was_not_forgotten_is_known(void **state) {
    (void)state;
    const lethe_counter_options changes[] = {{.window_ms = LONG_MS}, {.forever = LETHE_ON}};
    for (unsigned i = 0; i < 2; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        lethe_counter *counter = open_with(folder.path, usual);
        assert_int_equal(apply(counter, "a", START_MS), LETHE_APPLIED);
        assert_int_equal(apply(counter, "b", START_MS + SHORT_MS + 1), LETHE_APPLIED);
        assert_int_equal(apply(counter, "a", START_MS), LETHE_LATE);
        close_it(counter);
        counter = open_with(folder.path, changes[i]);
        assert_int_equal(apply(counter, "a", START_MS), LETHE_COPY);
        assert_int_equal(apply(counter, "c", START_MS), LETHE_APPLIED);
        assert_int_equal(value_of(counter), 3);
        close_it(counter);
        test_folder_remove(&folder);
    }
}

enum { IDS = 2000, ROUNDS = 16, CALLS = 8, BATCH = 64 };

struct sent {
    uint64_t time_ms; /* of the event, in every copy; 0: not sent yet */
    bool is_applied;
};

/* Sends events, new ones and copies, in one call. */
static void send_some(lethe_counter *counter, struct test_random *random, struct sent *sent,
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
        changes[i] = (lethe_change){.key = text("k"), .delta = 1};
        operations[i] = (lethe_operation){.id = text(names[i]),
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = sent[id].time_ms};
    }
    assert_ok(lethe_counter_apply(counter, operations, BATCH, outcomes, NULL));
    for (size_t i = 0; i < BATCH; i++) {
        struct sent *event = &sent[ids[i]];
        if (outcomes[i] == LETHE_APPLIED && event->is_applied) fail_msg("%u: twice", ids[i]);
        if (outcomes[i] == LETHE_COPY && !event->is_applied) fail_msg("%u: of what?", ids[i]);
        event->is_applied = event->is_applied || outcomes[i] == LETHE_APPLIED;
    }
}

/* Whatever W is from one day to the next: an event whose copies have its own time is applied once at most. */
static void no_event_is_applied_twice(void **state) {
    (void)state;
    static struct sent sent[IDS];
    for (uint64_t seed = 1; seed <= 2; seed++) {
        struct test_random random = {.state = seed};
        struct test_folder folder;
        test_folder_make(&folder);
        memset(sent, 0, sizeof sent);
        uint64_t now_ms = START_MS;
        lethe_counter_options options = usual;
        for (unsigned round = 0; round < ROUNDS; round++) {
            lethe_counter *counter = open_with(folder.path, options);
            for (unsigned call = 0; call < CALLS; call++)
                send_some(counter, &random, sent, &now_ms);
            close_it(counter);
            uint64_t longest_ms = test_random_below(&random, 2) == 0 ? SHORT_MS : LONG_MS;
            options = (lethe_counter_options){.ledger_memory_bytes = 1 << 22};
            if (test_random_below(&random, 2) == 0)
                options.window_ms = 1000 + test_random_below(&random, longest_ms);
            if (round + 2 == ROUNDS) options.forever = LETHE_ON;
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
