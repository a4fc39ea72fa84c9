/* Goal:   a store whose window is of the forgetful kind keeps every promise that one of the
 *         quotient kind keeps, although an id cannot be removed from it; and a store keeps its
 *         kind.
 * Method: what only that kind could get wrong: operations that are not applied, in one call with
 *         their retries; a window that is made again from the log; a memory cap; the kind left
 *         out and the other one asked for. test_store_crossed and the simulators have all modes. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "support/store.h"

static const uint64_t START_MS = UINT64_C(1600000000000), WINDOW_MS = 60000;

static const lethe_store_options usual = {.window_ms = 60000,
                                          .error = 1e-9,
                                          .event_time = LETHE_SWITCH_ON,
                                          .create = true,
                                          .forgetful = LETHE_SWITCH_ON};

static lethe_window_kind kind_of(lethe_store *store) {
    return test_store_stats(store).window.kind;
}

static void refuse_with(const char *path, lethe_store_options options, const char *words) {
    lethe_detail detail = {""};
    lethe_store *store;
    assert_int_equal(test_store_try_open(path, options, &store, &detail), LETHE_EINVAL);
    assert_null(store);
    if (strcmp(detail.text, words) != 0) print_error("%s\n", detail.text);
    assert_string_equal(detail.text, words);
}

static void the_kind_is_kept(void **state) {
    (void)state;
    for (unsigned forgetful = 0; forgetful < 2; forgetful++) {
        struct test_folder folder, killed;
        test_folder_make(&folder);
        lethe_window_kind kind = forgetful ? LETHE_WINDOW_FORGETFUL : LETHE_WINDOW_QUOTIENT;
        lethe_switch same = forgetful ? LETHE_SWITCH_ON : LETHE_SWITCH_OFF;
        lethe_switch other = forgetful ? LETHE_SWITCH_OFF : LETHE_SWITCH_ON;
        lethe_store_options options = usual;
        options.forgetful = forgetful ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
        lethe_store *store = test_store_open(folder.path, options);
        assert_int_equal(kind_of(store), kind);
        assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
        test_store_kill(&folder, &killed);
        test_store_close(store);
        const char *const paths[] = {folder.path, killed.path};
        for (unsigned i = 0; i < 2; i++) {
            store = test_store_open(paths[i], (lethe_store_options){0});
            assert_int_equal(kind_of(store), kind);
            assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_DUPLICATE);
            test_store_close(store);
            store = test_store_open(paths[i], (lethe_store_options){.forgetful = same});
            assert_int_equal(kind_of(store), kind);
            test_store_close(store);
            refuse_with(paths[i], (lethe_store_options){.forgetful = other},
                        forgetful ? "the store's window is of the forgetful kind, and the quotient "
                                    "kind is asked for; leave that out, or name another folder"
                                  : "the store's window is of the quotient kind, and the forgetful "
                                    "kind is asked for; leave that out, or name another folder");
            store = test_store_open_reader(paths[i]);
            assert_int_equal(kind_of(store), kind);
            test_store_close(store);
        }
        test_folder_remove(&folder);
        test_folder_remove(&killed);
    }
}

/* An operation that overflows is not remembered, whoever comes with it in one call. */
static void what_is_not_applied_is_not_remembered(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    const struct test_event events[] = {{"a", "k", INT64_MAX, START_MS}, {"b", "k", 1, START_MS},
                                        {"b", "k", 1, START_MS},         {"a", "k", 1, START_MS},
                                        {"c", "k", -5, START_MS},        {"b", "k", 1, START_MS},
                                        {"b", "k", 1, START_MS},         {"d", "k", 10, START_MS}};
    const lethe_outcome expected[] = {LETHE_OUTCOME_APPLIED,   LETHE_OUTCOME_OVERFLOW,
                                      LETHE_OUTCOME_OVERFLOW,  LETHE_OUTCOME_DUPLICATE,
                                      LETHE_OUTCOME_APPLIED,   LETHE_OUTCOME_APPLIED,
                                      LETHE_OUTCOME_DUPLICATE, LETHE_OUTCOME_OVERFLOW};
    uint8_t outcomes[8];
    test_store_submit(store, events, 8, outcomes);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(outcomes[i], expected[i]);
    }
    assert_int_equal(test_store_apply(store, "d", "other", 10, START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), INT64_MAX - 4);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* The same of a sketch, from which more is taken than was added. */
static void what_a_sketch_refuses_is_not_remembered(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.sketch_bytes = 1 << 20;
    lethe_store *store = test_store_open(folder.path, options);
    const struct test_event events[] = {{"a", "k", -2, START_MS},
                                        {"b", "k", 3, START_MS},
                                        {"a", "k", -2, START_MS},
                                        {"a", "k", -2, START_MS}};
    const lethe_outcome expected[] = {LETHE_OUTCOME_OVERFLOW, LETHE_OUTCOME_APPLIED,
                                      LETHE_OUTCOME_APPLIED, LETHE_OUTCOME_DUPLICATE};
    uint8_t outcomes[4];
    test_store_submit(store, events, 4, outcomes);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(outcomes[i], expected[i]);
    }
    assert_int_equal(test_store_value(store, "k"), 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Ids made again from the log are known for W, and forgotten by W (1 + 1/4). */
static void a_window_comes_back_from_the_log(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    char id[16];
    for (unsigned i = 0; i < 600; i++) {
        (void)snprintf(id, sizeof id, "%u", i);
        assert_int_equal(test_store_submit_one(store, id, "k", 1, START_MS + i * 100),
                         LETHE_OUTCOME_APPLIED);
    }
    (void)test_store_add(store, "last", START_MS + 60000);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    store = test_store_open(killed.path, (lethe_store_options){0});
    for (unsigned i = 0; i < 600; i++) {
        (void)snprintf(id, sizeof id, "%u", i);
        assert_int_equal(test_store_submit_one(store, id, "k", 1, START_MS + 60000),
                         LETHE_OUTCOME_DUPLICATE);
    }
    for (unsigned i = 0; i < 600; i += 100) {
        uint64_t forgotten_ms = START_MS + i * 100 + WINDOW_MS * 5 / 4 + 1;
        (void)snprintf(id, sizeof id, "%u", i);
        assert_int_equal(test_store_submit_one(store, id, "k", 1, forgotten_ms),
                         LETHE_OUTCOME_APPLIED);
    }
    assert_int_equal(test_store_value(store, "k"), 607);
    test_store_close(store);
    test_folder_remove(&folder);
    test_folder_remove(&killed);
}

/* Goal:   a cap that a window made again from the log might not keep is refused, by a new store and
 *         by one that exists; without it, the store opens. */
static void a_cap_is_refused(void **state) {
    (void)state;
    static const char reason[] =
        "a window of the forgetful kind has no memory cap in a store; leave the cap out, or make a "
        "store of the quotient kind";
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.max_memory_bytes = 256 << 10;
    refuse_with(folder.path, options, reason);
    options.policy = LETHE_POLICY_DEGRADE;
    refuse_with(folder.path, options, reason);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    refuse_with(folder.path, options, reason);
    store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_kind_is_kept),
        cmocka_unit_test(what_is_not_applied_is_not_remembered),
        cmocka_unit_test(what_a_sketch_refuses_is_not_remembered),
        cmocka_unit_test(a_window_comes_back_from_the_log),
        cmocka_unit_test(a_cap_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
