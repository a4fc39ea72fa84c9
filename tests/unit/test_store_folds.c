/* Goal:   a fold of many counters, which goes to disk as two tables at once, is in the store as a
 *         whole or not at all: after a kill around the moment when it is taken in, without a second
 *         thread, and when a disk that failed at that moment has left the tables beside the store.
 * Method: folds are split from two counters on. This program stands in for what takes tables in,
 *         and copies the store before and after it, as a kill would leave it. Both tables are moved
 *         out of the database under the names that a failed fold leaves, also the wrong way
 *         round, and a reader and a writer open the store. Every counter is compared. */
#include "support/test.h"

#include <glob.h>
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "os/file.h"
#include "os/thread.h"
#include "support/store.h"

enum { KEYS = 300, PATH_BYTES = 400, TABLES = 2 };

static struct test_folder folder, before, after;
static bool copies, refuses_threads;
static size_t tables_taken_in;

void __real_rocksdb_ingest_external_file_cf(rocksdb_t *database,
                                            rocksdb_column_family_handle_t *family,
                                            const char *const *files, const size_t count,
                                            const rocksdb_ingestexternalfileoptions_t *options,
                                            char **message);
void __wrap_rocksdb_ingest_external_file_cf(rocksdb_t *database,
                                            rocksdb_column_family_handle_t *family,
                                            const char *const *files, const size_t count,
                                            const rocksdb_ingestexternalfileoptions_t *options,
                                            char **message);
void __wrap_rocksdb_ingest_external_file_cf(rocksdb_t *database,
                                            rocksdb_column_family_handle_t *family,
                                            const char *const *files, const size_t count,
                                            const rocksdb_ingestexternalfileoptions_t *options,
                                            char **message) {
    if (copies) test_store_kill(&folder, &before);
    __real_rocksdb_ingest_external_file_cf(database, family, files, count, options, message);
    if (copies) test_store_kill(&folder, &after);
    tables_taken_in = count;
}

lethe_status __real_lethe_os_thread_start(lethe_os_thread *thread, void *(*main)(void *context),
                                          void *context);
lethe_status __wrap_lethe_os_thread_start(lethe_os_thread *thread, void *(*main)(void *context),
                                          void *context);
lethe_status __wrap_lethe_os_thread_start(lethe_os_thread *thread, void *(*main)(void *context),
                                          void *context) {
    if (refuses_threads) return LETHE_ENOMEM;
    return __real_lethe_os_thread_start(thread, main, context);
}

/* Counts i + 1 under each key, once in every round. */
static void count_round(lethe_store *store, unsigned round) {
    for (unsigned i = 0; i < KEYS; i++) {
        char id[32], key[32];
        (void)snprintf(id, sizeof id, "%u-%u", round, i);
        (void)snprintf(key, sizeof key, "key-%u", i * 7919 % KEYS);
        (void)test_store_submit_one(store, id, key, i * 7919 % KEYS + 1, 0);
    }
}

static lethe_store *open_store(const char *path) {
    return test_store_open(path, (lethe_store_options){.create = true, .window_ms = 3600000});
}

static void expect_values(lethe_store *store, int64_t rounds) {
    for (unsigned i = 0; i < KEYS; i++) {
        char key[32];
        (void)snprintf(key, sizeof key, "key-%u", i);
        assert_int_equal(test_store_value(store, key), rounds * (i + 1));
    }
}

/* What a reader sees, then what a writer does, with a retry of everything; and the check. */
static void expect_store(const char *path, unsigned rounds) {
    lethe_store *store = test_store_open_reader(path);
    expect_values(store, rounds);
    test_store_close(store);
    store = open_store(path);
    expect_values(store, rounds);
    for (unsigned i = 0; i < rounds; i++)
        count_round(store, i);
    expect_values(store, rounds);
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(path, &health, NULL));
}

static int set_up(void **state) {
    (void)state;
    lethe_tune.fold_split_keys = 2;
    test_folder_make(&folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static void a_kill_leaves_all_or_nothing(void **state) {
    (void)state;
    for (unsigned round = 0; round < 2; round++) { /* the second one replaces values */
        lethe_store *store = open_store(folder.path);
        count_round(store, round);
        copies = true;
        test_store_close(store);
        copies = false;
        assert_int_equal(tables_taken_in, TABLES);
        expect_store(before.path, round + 1);
        expect_store(after.path, round + 1);
        test_folder_remove(&before);
        test_folder_remove(&after);
    }
    expect_store(folder.path, 2);
}

static void a_fold_does_without_a_second_thread(void **state) {
    (void)state;
    lethe_store *store = open_store(folder.path);
    count_round(store, 0);
    refuses_threads = true;
    test_store_close(store);
    refuses_threads = false;
    assert_int_equal(tables_taken_in, TABLES);
    expect_store(folder.path, 1);
}

static void few_counters_are_one_table(void **state) {
    (void)state;
    lethe_tune.fold_split_keys = KEYS + 1;
    lethe_store *store = open_store(folder.path);
    count_round(store, 0);
    test_store_close(store);
    assert_int_equal(tables_taken_in, 1);
    expect_store(folder.path, 1);
}

/* Moves the tables that the last fold made out of the database: the first one to the first name,
 * the second one to the second. NULL: it stays. */
static void take_out(const char *const names[TABLES]) {
    char pattern[PATH_BYTES], to[PATH_BYTES];
    glob_t found;
    (void)snprintf(pattern, sizeof pattern, "%s/data/*.sst", folder.path);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc >= TABLES);
    for (size_t i = 0; i < TABLES; i++) {
        if (names[i] == NULL) continue;
        (void)snprintf(to, sizeof to, "%s/%s", folder.path, names[i]);
        assert_int_equal(rename(found.gl_pathv[found.gl_pathc - TABLES + i], to), 0);
    }
    globfree(&found);
}

static bool is_left(const char *name) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", folder.path, name);
    return lethe_os_exists(path);
}

static void tables_that_a_failure_left_are_put_in_place(void **state) {
    (void)state;
    static const char *const cases[][TABLES] = {
        {"fold.sst", "fold-upper.sst"},
        {"fold-upper.sst", "fold.sst"},
        {"fold.sst", NULL},
        {NULL, "fold.sst"},
        {NULL, "fold-upper.sst"},
        {"fold-upper.sst", NULL},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lethe_store *store = open_store(folder.path);
        count_round(store, i);
        test_store_close(store);
        assert_int_equal(tables_taken_in, TABLES);
        take_out(cases[i]);
        expect_store(folder.path, i + 1);
        assert_false(is_left("fold.sst") || is_left("fold-upper.sst"));
    }
}

static void a_table_that_is_lost_is_not_replaced(void **state) {
    (void)state;
    lethe_store *store = open_store(folder.path);
    count_round(store, 0);
    test_store_close(store);
    take_out((const char *const[]){"fold.sst", "gone"});
    lethe_detail detail;
    for (unsigned i = 0; i < 2; i++) {
        lethe_store_options options = {.read_only = i == 0};
        assert_int_equal(test_store_try_open(folder.path, options, &store, &detail),
                         LETHE_ECORRUPT);
        assert_true(is_left("fold.sst"));
    }
    char from[PATH_BYTES], to[PATH_BYTES];
    (void)snprintf(from, sizeof from, "%s/gone", folder.path);
    (void)snprintf(to, sizeof to, "%s/fold-upper.sst", folder.path);
    assert_int_equal(rename(from, to), 0);
    expect_store(folder.path, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_kill_leaves_all_or_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_fold_does_without_a_second_thread, set_up, tear_down),
        cmocka_unit_test_setup_teardown(few_counters_are_one_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_that_a_failure_left_are_put_in_place, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_table_that_is_lost_is_not_replaced, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
