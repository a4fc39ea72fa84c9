/* Goal: real databases are read right under every policy: compacted, opened again, with tables
 *       of several policies and of none. */
#include "support/test.h"

#include <stdio.h>

#include "database.h"
#include "support/folder.h"

enum { KEYS = 20000 };

static const char *const kinds[] = {"bloom", "blocked", "gaussian", "quotient"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct test_folder folder;
static char path[300];

static int begin(void **state) {
    (void)state;
    test_folder_make(&folder);
    snprintf(path, sizeof path, "%s/database", folder.path);
    return 0;
}

static int end(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* Every key that was written, and none of those that were not. */
static void check_all(struct database *database) {
    assert_int_equal(database_count(database, 'a', 0, KEYS), KEYS);
    assert_int_equal(database_count(database, 'b', 0, KEYS), KEYS);
    assert_int_equal(database_count(database, 'a', KEYS, KEYS + 1000), 0);
}

static void compacted_and_opened_again(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct database database;
        struct asked asked;
        database_open(&database, path, database_counting_policy(kinds[k], 0, &asked), false);
        database_write(&database, 'a', 0, KEYS);
        database_write(&database, 'b', 0, KEYS);
        check_all(&database);
        leveldb_compact_range(database.handle, NULL, 0, NULL, 0);
        check_all(&database);
        database_close(&database);

        database_open(&database, path, database_policy(kinds[k]), false);
        check_all(&database);
        database_close(&database);

        /* The filters are really asked, and tell most of what is not there. */
        database_open(&database, path, database_counting_policy(kinds[k], 0, &asked), false);
        assert_int_equal(database_count(&database, 'a', 0, KEYS), KEYS);
        assert_true(asked.times >= KEYS && asked.absent < KEYS / 10);
        asked = (struct asked){0};
        /* Between keys that there are, since LevelDB looks at a table's first and last key
         * itself. */
        for (uint32_t i = 0; i < 1000; i++) {
            char key[KEY_BYTES + 1], *error = NULL;
            size_t size;
            database_key('a', i, key);
            key[KEY_BYTES - 1] = 'x';
            leveldb_free(
                leveldb_get(database.handle, database.reading, key, KEY_BYTES, &size, &error));
            assert_null(error);
        }
        assert_true(asked.times >= 1000 && asked.absent > asked.times * 8 / 10);
        database_close(&database);
        test_folder_remove_tree(path);
    }
}

/* Goal: a policy never sees another's filters, and other parameters of the same kind and seed read
 *       them.
 * Method: if it did see them, most keys would be missing. Asked is how LevelDB used them. */
static void another_policy_is_not_asked(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct database database;
        database_open(&database, path, database_policy(kinds[k]), false);
        database_write(&database, 'a', 0, KEYS);
        database_close(&database);
        for (int other = 0; other < KINDS; other++) {
            struct asked asked;
            database_open(&database, path, database_counting_policy(kinds[other], 25, &asked),
                          false);
            assert_int_equal(database_count(&database, 'a', 0, KEYS), KEYS);
            if (other == k) assert_true(asked.times >= KEYS);
            if (other != k) assert_int_equal(asked.times, 0);
            database_close(&database);
        }
        /* LevelDB's own, and none. */
        database_open(&database, path, leveldb_filterpolicy_create_bloom(10), false);
        assert_int_equal(database_count(&database, 'a', 0, KEYS), KEYS);
        database_close(&database);
        database_open(&database, path, NULL, false);
        assert_int_equal(database_count(&database, 'a', 0, KEYS), KEYS);
        database_close(&database);
        test_folder_remove_tree(path);
    }
}

/* Goal: tables of all policies and of none side by side. */
static void tables_of_many_policies(void **state) {
    (void)state;
    struct database database;
    for (int k = -2; k < KINDS; k++) {
        leveldb_filterpolicy_t *policy = k == -2   ? NULL
                                         : k == -1 ? leveldb_filterpolicy_create_bloom(10)
                                                   : database_policy(kinds[k]);
        database_open(&database, path, policy, false);
        database_write(&database, (char)('c' + k), 0, KEYS / 4);
        database_close(&database);
    }
    for (int k = -2; k < KINDS; k++) {
        leveldb_filterpolicy_t *policy = k == -2   ? NULL
                                         : k == -1 ? leveldb_filterpolicy_create_bloom(10)
                                                   : database_policy(kinds[k]);
        database_open(&database, path, policy, false);
        for (int letter = -2; letter < KINDS; letter++)
            assert_int_equal(database_count(&database, (char)('c' + letter), 0, KEYS / 4),
                             KEYS / 4);
        database_close(&database);
    }
    /* Rewritten under one policy, tables have its filters. */
    struct asked asked;
    database_open(&database, path, database_counting_policy("quotient", 0, &asked), false);
    database_write(&database, 'z', 0, 10);
    database_write(&database, 'a', 0, 10);
    leveldb_compact_range(database.handle, NULL, 0, NULL, 0);
    asked.times = 0;
    for (int letter = -2; letter < KINDS; letter++)
        assert_int_equal(database_count(&database, (char)('c' + letter), 0, KEYS / 4), KEYS / 4);
    assert_true(asked.times >= KEYS / 4);
    database_close(&database);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(compacted_and_opened_again, begin, end),
        cmocka_unit_test_setup_teardown(another_policy_is_not_asked, begin, end),
        cmocka_unit_test_setup_teardown(tables_of_many_policies, begin, end),
    };
    return cmocka_run_group_tests_name("leveldb databases", tests, NULL, NULL);
}
