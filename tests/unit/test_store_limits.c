/* Goal:   the limits of the engine's contract: bad options, folders and operations, the cap of the
 *         window, stores of a newer version, failed allocations.
 * Method: one store per test, small and by event time. */
#include "support/test.h"

#include <dirent.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "support/heap.h"
#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    const lethe_store_options bad[] = {
        {.create = true, .window_ms = 999},
        {.create = true, .window_ms = 2592000001},
        {.create = true, .error = 0.2},
        {.create = true, .error = 1e-13},
        {.create = true, .error = -1},
        {.create = true, .error = 0.0 / 0.0},
        {.create = true, .commit_operations = 65537},
        {.create = true, .commit_interval_ms = 10001},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        lethe_store *store = (void *)&folder;
        lethe_detail detail = {""};
        assert_int_equal(test_store_try_open(folder.path, bad[i], &store, &detail), LETHE_EINVAL);
        assert_null(store);
        assert_true(detail.text[0] != '\0');
    }
    lethe_store *store;
    assert_int_equal(lethe_store_open(folder.path, NULL, &store, NULL), LETHE_ENOTFOUND);
    assert_int_equal(test_store_try_open("/nonexistent/folder", usual, &store, NULL),
                     LETHE_ENOTFOUND);
    assert_int_equal(test_store_try_open("/dev/null", usual, &store, NULL), LETHE_EINVAL);
    test_folder_remove(&folder);
}

static void a_folder_with_other_files_is_left_alone(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[300];
    snprintf(path, sizeof path, "%s/letter.txt", folder.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    lethe_store *store;
    assert_int_equal(test_store_try_open(folder.path, usual, &store, NULL), LETHE_EINVAL);
    DIR *entries = opendir(folder.path);
    unsigned count = 0;
    while (readdir(entries) != NULL)
        count++;
    closedir(entries);
    assert_int_equal(count, 3); /* itself, its parent, the letter */
    test_folder_remove(&folder);
}

static void operations_out_of_range_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    static char long_text[1025];
    memset(long_text, 'x', sizeof long_text);
    lethe_change good = {.key = test_text("k"), .delta = 1}, empty = {.delta = 1},
                 long_key = {.key = {long_text, 1025}, .delta = 1},
                 longest_key = {.key = {long_text, 1024}, .delta = 1};
    const lethe_operation operations[] = {
        {.id = {"", 0}, .changes = &good, .change_count = 1, .time_ms = START_MS},
        {.id = {long_text, 1025}, .changes = &good, .change_count = 1, .time_ms = START_MS},
        {.id = test_text("a"), .changes = &empty, .change_count = 1, .time_ms = START_MS},
        {.id = test_text("a"), .changes = &long_key, .change_count = 1, .time_ms = START_MS},
        {.id = test_text("a"), .changes = &good, .change_count = 0, .time_ms = START_MS},
        {.id = {long_text, 1024}, .changes = &longest_key, .change_count = 1, .time_ms = START_MS},
    };
    uint8_t outcomes[6];
    assert_ok(lethe_store_apply(store, operations, 6, outcomes, NULL));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(outcomes[i], LETHE_OUTCOME_INVALID);
    }
    assert_int_equal(outcomes[5], LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 0);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* One operation on as many counters as it may touch, all of them or none. */
static void an_operation_may_touch_many_counters(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    lethe_change *changes = calloc(LETHE_CHANGES_LIMIT, sizeof *changes);
    char(*names)[16] = calloc(LETHE_CHANGES_LIMIT, sizeof *names);
    for (size_t i = 0; i < LETHE_CHANGES_LIMIT; i++) {
        changes[i].key = (lethe_bytes){names[i], (size_t)sprintf(names[i], "k%zu", i)};
        changes[i].delta = (int64_t)i;
    }
    lethe_operation operation = {.id = test_text("all"),
                                 .changes = changes,
                                 .change_count = LETHE_CHANGES_LIMIT,
                                 .time_ms = START_MS};
    uint8_t outcome;
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k65535"), 65535);
    /* The last one overflows: none changes. */
    changes[LETHE_CHANGES_LIMIT - 1].delta = INT64_MAX;
    operation.id = test_text("too much");
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_OVERFLOW);
    assert_int_equal(test_store_value(store, "k1"), 1);
    /* It was not applied, so it may come again in a form that fits. */
    changes[LETHE_CHANGES_LIMIT - 1].delta = 1;
    assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k1"), 2);
    test_store_close(store);
    free(changes);
    free(names);
    test_folder_remove(&folder);
}

/* Goal: whether an operation overflows depends on where its counters end up, and on nothing
 * else. */
/* A record that is larger than RocksDB takes fails with its commit, and nothing of it is there. */
static void a_commit_that_is_too_large_counts_nothing(void **state) {
    (void)state;
    const lethe_tunables before = lethe_tune;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "small", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    lethe_tune.segment_most_bytes = 1000;
    char key[1000];
    memset(key, 'x', sizeof key);
    lethe_change change = {.key = {key, sizeof key}, .delta = 1};
    lethe_operation large = {
        .id = test_text("large"), .changes = &change, .change_count = 1, .time_ms = START_MS};
    uint8_t outcome;
    assert_int_equal(lethe_store_apply(store, &large, 1, &outcome, NULL), LETHE_EFULL);
    test_store_explains(store, "submit fewer");
    assert_int_equal(lethe_store_close(store, NULL), LETHE_EFULL);
    lethe_tune = before;
    store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_stats(store).counters, 1);
    assert_ok(lethe_store_apply(store, &large, 1, &outcome, NULL));
    assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void the_order_of_changes_does_not_matter(void **state) {
    (void)state;
    static const struct {
        int64_t before, deltas[3];
        lethe_outcome outcome;
    } cases[] = {
        {INT64_MAX, {1, -1, 0}, LETHE_OUTCOME_APPLIED},
        {INT64_MAX, {-1, 1, 0}, LETHE_OUTCOME_APPLIED},
        {INT64_MIN, {-5, 3, 2}, LETHE_OUTCOME_APPLIED},
        {INT64_MIN, {INT64_MAX, INT64_MAX, 1}, LETHE_OUTCOME_APPLIED},
        {INT64_MIN, {INT64_MAX, INT64_MAX, 2}, LETHE_OUTCOME_OVERFLOW},
        {INT64_MAX, {INT64_MAX, INT64_MIN, 1}, LETHE_OUTCOME_APPLIED},
        {INT64_MAX, {INT64_MAX, INT64_MIN, 2}, LETHE_OUTCOME_OVERFLOW},
        {0, {INT64_MAX, INT64_MAX, INT64_MAX}, LETHE_OUTCOME_OVERFLOW},
        {-1, {INT64_MIN, INT64_MIN, INT64_MIN}, LETHE_OUTCOME_OVERFLOW},
    };
    static const unsigned orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    const lethe_bytes key = test_text("k"), other = test_text("other");
    for (size_t i = 0; i < 6 * sizeof cases / sizeof cases[0]; i++) {
        char id[24];
        uint8_t outcome;
        lethe_change changes[4] = {{.key = other, .delta = 1}};
        assert_ok(lethe_store_set(store, &key, &cases[i / 6].before, 1));
        int64_t others = test_store_value(store, "other"), after = cases[i / 6].before;
        for (unsigned j = 0; j < 3; j++) {
            int64_t delta = cases[i / 6].deltas[orders[i % 6][j]];
            changes[1 + j] = (lethe_change){.key = key, .delta = delta};
            if (cases[i / 6].outcome == LETHE_OUTCOME_APPLIED)
                after = (int64_t)((uint64_t)after + (uint64_t)delta);
        }
        lethe_operation operation = {.id = {id, (size_t)sprintf(id, "i%zu", i)},
                                     .changes = changes,
                                     .change_count = 4,
                                     .time_ms = START_MS};
        assert_ok(lethe_store_apply(store, &operation, 1, &outcome, NULL));
        assert_int_equal(outcome, cases[i / 6].outcome);
        assert_int_equal(test_store_value(store, "k"), after);
        assert_int_equal(test_store_value(store, "other"),
                         others + (outcome == LETHE_OUTCOME_APPLIED));
    }
    test_store_close(store);
    test_folder_remove(&folder);
}

static void duplicates_of_a_refused_operation_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", INT64_MAX, START_MS), LETHE_OUTCOME_APPLIED);
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation one = {
        .id = test_text("b"), .changes = &change, .change_count = 1, .time_ms = START_MS};
    lethe_operation many[5] = {one, one, one, one, one};
    uint8_t outcomes[5];
    assert_ok(lethe_store_apply(store, many, 5, outcomes, NULL));
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(outcomes[i], LETHE_OUTCOME_OVERFLOW);
    }
    test_store_close(store);
    test_folder_remove(&folder);
}

static void the_cap_of_the_window_is_kept(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store_options options = usual;
    options.max_memory_bytes = 256 << 10;
    options.seed = 7; /* the same false positives in every run: none */
    lethe_store *store = test_store_open(folder.path, options);
    unsigned refused = 0;
    static lethe_operation operations[1000];
    static char ids[1000][16];
    static uint8_t outcomes[1000];
    lethe_change change = {.key = test_text("k"), .delta = 1};
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 1000; i++) {
            operations[i] =
                (lethe_operation){.id = {ids[i], (size_t)sprintf(ids[i], "%u", round * 1000 + i)},
                                  .changes = &change,
                                  .change_count = 1,
                                  .time_ms = START_MS};
        }
        assert_ok(lethe_store_apply(store, operations, 1000, outcomes, NULL));
        for (unsigned i = 0; i < 1000; i++) {
            refused += outcomes[i] == LETHE_OUTCOME_REFUSED;
        }
    }
    assert_true(refused > 0);
    lethe_store_stats stats = test_store_stats(store);
    assert_true(stats.window.memory_bytes <= 256 << 10);
    assert_int_equal(test_store_value(store, "k"), (int64_t)stats.applied);
    assert_int_equal(stats.applied + stats.refused, 200000);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Opens, applies and closes with an allocator that fails at one point. */
static lethe_status try_with(const char *path, const lethe_allocator *allocator, const char *id) {
    lethe_store_options options = usual;
    options.allocator = allocator;
    options.exact = true;
    lethe_store *store;
    lethe_status status = test_store_try_open(path, options, &store, NULL);
    if (status != LETHE_OK) return status;
    uint8_t outcome;
    status = test_store_try_apply(store, id, id, 1, START_MS, &outcome);
    lethe_status closed = lethe_store_close(store, NULL);
    return status != LETHE_OK ? status : closed;
}

/* Goal: every failed allocation is reported, leaks nothing, and loses nothing that was
 *       acknowledged. */
static void each_failed_allocation_is_survived(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_status status = LETHE_ENOMEM;
    unsigned acknowledged = 0;
    for (size_t n = 0; status != LETHE_OK; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        status = try_with(folder.path, &heap.allocator, "a");
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        assert_int_equal(heap.live_blocks, 0);
        acknowledged += status == LETHE_OK;
    }
    assert_int_equal(acknowledged, 1);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_value(store, "a"), 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Adds a kind of records that this version does not know, as a newer one might. */
static void add_family(const char *path) {
    static const char *const names[] = {"default", "ids", "changes", "counters", "index"};
    char data[300], *message = NULL;
    snprintf(data, sizeof data, "%s/data", path);
    rocksdb_options_t *options = rocksdb_options_create();
    const rocksdb_options_t *each[] = {options, options, options, options, options};
    rocksdb_column_family_handle_t *handles[5];
    rocksdb_t *database =
        rocksdb_open_column_families(options, data, 5, names, each, handles, &message);
    assert_null(message);
    rocksdb_column_family_handle_t *added =
        rocksdb_create_column_family(database, options, "later", &message);
    assert_null(message);
    rocksdb_column_family_handle_destroy(added);
    for (size_t i = 0; i < 5; i++) {
        rocksdb_column_family_handle_destroy(handles[i]);
    }
    rocksdb_close(database);
    rocksdb_options_destroy(options);
}

static void a_newer_store_is_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    test_store_close(store);
    add_family(folder.path);
    lethe_detail detail = {""};
    assert_int_equal(test_store_try_open(folder.path, usual, &store, &detail), LETHE_EVERSION);
    assert_non_null(strstr(detail.text, "later"));
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_out_of_range_are_refused),
        cmocka_unit_test(a_folder_with_other_files_is_left_alone),
        cmocka_unit_test(operations_out_of_range_are_refused),
        cmocka_unit_test(an_operation_may_touch_many_counters),
        cmocka_unit_test(a_commit_that_is_too_large_counts_nothing),
        cmocka_unit_test(the_order_of_changes_does_not_matter),
        cmocka_unit_test(duplicates_of_a_refused_operation_are_refused),
        cmocka_unit_test(the_cap_of_the_window_is_kept),
        cmocka_unit_test(a_newer_store_is_refused),
        cmocka_unit_test(each_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
