/* Goal:   the scale of a store is fixed when it is made: it is kept through everything that a store
 *         lives through, reported to everybody, and no other one is accepted.
 * Method: stores of several scales in each mode, closed, killed, read, backed up and restored;
 *         opened with the scale left out, repeated, and another one asked for. What the values are
 *         does not depend on the scale. */
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "support/store.h"

static const uint64_t START_MS = UINT64_C(1600000000000);

/* The modes of a new store; the scale is added. */
static const lethe_store_options modes[] = {
    {.create = true},
    {.create = true, .event_time = LETHE_SWITCH_ON},
    {.create = true, .exact = LETHE_SWITCH_ON},
    {.create = true, .check_payload = LETHE_SWITCH_ON, .event_time = LETHE_SWITCH_ON},
    {.create = true, .forever = LETHE_SWITCH_ON, .ledger_memory_bytes = 1 << 22},
    {.create = true, .sketch_bytes = 1 << 16},
    {.create = true, .forgetful = LETHE_SWITCH_ON},
};

static void check_scale(lethe_store *store, unsigned scale) {
    assert_int_equal(lethe_store_scale(store), scale);
    assert_int_equal(test_store_stats(store).scale, scale);
}

static void check_reader(const char *path, unsigned scale) {
    lethe_store *store = test_store_open_reader(path);
    check_scale(store, scale);
    assert_int_equal(test_store_value(store, "k"), 350);
    test_store_close(store);
}

/* Opens a store with a scale asked for, or with none; it has its own. */
static void check_open(const char *path, int32_t asked, unsigned scale) {
    lethe_store *store = test_store_open(path, (lethe_store_options){.scale = asked});
    check_scale(store, scale);
    assert_int_equal(test_store_apply(store, "a", "k", 350, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), 350);
    test_store_close(store);
}

static void check_refused(const char *path, int32_t asked, unsigned scale) {
    lethe_detail detail = {""};
    lethe_store *store;
    char words[200];
    lethe_store_options options = {.scale = asked, .create = true};
    assert_int_equal(test_store_try_open(path, options, &store, &detail), LETHE_EINVAL);
    assert_null(store);
    (void)snprintf(
        words, sizeof words,
        "the store has a scale of %u, and a scale of %d is asked for; leave that out, or "
        "name another folder",
        scale, asked == LETHE_SCALE_WHOLE ? 0 : (int)asked);
    assert_string_equal(detail.text, words);
}

/* A store of this scale, wherever it was put. */
static void check_store(const char *path, unsigned scale) {
    static const int32_t others[] = {LETHE_SCALE_WHOLE, 1, 2, 18};
    int32_t same = scale == 0 ? LETHE_SCALE_WHOLE : (int32_t)scale;
    check_reader(path, scale);
    check_open(path, 0, scale);
    check_open(path, same, scale);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (others[i] != same) check_refused(path, others[i], scale);
    }
    check_reader(path, scale);
}

static void check_life(lethe_store_options options, int32_t asked, unsigned scale) {
    struct test_folder folder, killed, backups, restored;
    test_folder_make(&folder);
    test_folder_make(&backups);
    test_folder_make(&restored);
    options.scale = asked;
    lethe_store *store = test_store_open(folder.path, options);
    check_scale(store, scale);
    assert_int_equal(test_store_apply(store, "a", "k", 350, START_MS), LETHE_OUTCOME_APPLIED);
    lethe_store *reader = test_store_open_reader(folder.path);
    check_scale(reader, scale);
    assert_int_equal(test_store_apply(store, "b", "l", 1, START_MS), LETHE_OUTCOME_APPLIED);
    assert_ok(lethe_store_refresh(reader, NULL));
    check_scale(reader, scale);
    assert_int_equal(test_store_value(reader, "l"), 1);
    test_store_close(reader);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    assert_ok(lethe_store_backup(folder.path, backups.path, NULL, NULL));
    assert_ok(lethe_store_restore(backups.path, 0, restored.path, NULL, NULL));
    check_open(folder.path, 0, scale);
    check_open(killed.path, 0, scale);
    check_open(restored.path, 0, scale);
    check_refused(restored.path, 7, scale);
    test_folder_remove(&folder);
    test_folder_remove(&killed);
    test_folder_remove(&backups);
    test_folder_remove(&restored);
}

static void a_scale_is_kept(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        check_life(modes[i], 2, 2);
    }
}

static void another_scale_is_refused(void **state) {
    (void)state;
    static const int32_t asked[] = {0, LETHE_SCALE_WHOLE, 1, 2, 18};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        unsigned scale = asked[i] > 0 ? (unsigned)asked[i] : 0;
        lethe_store *store =
            test_store_open(folder.path, (lethe_store_options){.create = true, .scale = asked[i]});
        assert_int_equal(test_store_apply(store, "a", "k", 350, START_MS), LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        check_store(folder.path, scale);
        test_folder_remove(&folder);
    }
}

static void scales_out_of_range_are_refused(void **state) {
    (void)state;
    static const int32_t wrong[] = {19, -2, INT32_MAX, INT32_MIN};
    struct test_folder folder;
    test_folder_make(&folder);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        lethe_detail detail = {""};
        lethe_store *store;
        lethe_store_options options = {.scale = wrong[i], .create = true};
        assert_int_equal(test_store_try_open(folder.path, options, &store, &detail), LETHE_EINVAL);
        assert_string_equal(detail.text, "a scale has 18 digits at most");
    }
    assert_int_equal(lethe_store_scale(NULL), 0);
    test_folder_remove(&folder);
}

/* A reader sees the store as it is, whatever it asks for. */
static void a_reader_asks_for_nothing(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    test_store_close(
        test_store_open(folder.path, (lethe_store_options){.create = true, .scale = 2}));
    lethe_store *store =
        test_store_open(folder.path, (lethe_store_options){.read_only = true, .scale = 3});
    check_scale(store, 2);
    test_store_close(store);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scale_is_kept),
        cmocka_unit_test(another_scale_is_refused),
        cmocka_unit_test(scales_out_of_range_are_refused),
        cmocka_unit_test(a_reader_asks_for_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
