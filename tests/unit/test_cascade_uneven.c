/* Goal: stores whose keys come unevenly, all into one range for long or in and out again, open and
 *       go on like others.
 * Method: keys that are made for a range, small tables and short log files. */
#include "support/test.h"

#include <stdio.h>

#include "filter/cascade/state.h"
#include "support/cascade.h"
#include "support/folder.h"

enum { BATCH = 1000 };

static lethe_cascade *cascade;
static char store[300];

static void open_store(const struct test_folder *folder) {
    (void)snprintf(store, sizeof store, "%s/store", folder->path);
    assert_ok(lethe_cascade_open(store, &test_cascade_options, &cascade, NULL));
}

static void insert_into(unsigned range, uint64_t first, size_t count) {
    static lethe_hash hashes[BATCH];
    for (size_t i = 0; i < count; i++)
        hashes[i] = test_cascade_key_of(range, first + i);
    assert_ok(lethe_cascade_add_batch(cascade, hashes, count, 0, NULL));
}

static void assert_has(unsigned range, uint64_t first, size_t count) {
    static lethe_hash hashes[BATCH];
    static uint64_t counts[BATCH];
    for (size_t i = 0; i < count; i++)
        hashes[i] = test_cascade_key_of(range, first + i);
    assert_ok(lethe_cascade_count_batch(cascade, hashes, count, 0, counts));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(counts[i], 1);
}

/* The log is given back as far as runs have it. A range that was empty until then needs nothing
 * of it from before its first key. */
static void the_first_key_of_a_range_may_come_late(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    for (uint64_t i = 0; i < 20; i++) {
        insert_into(0, i * BATCH, BATCH);
        assert_ok(lethe_cascade_checkpoint(cascade, i, NULL, 0));
    }
    insert_into(1, 0, 1);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(store, &test_cascade_options, &cascade, NULL));
    assert_has(1, 0, 1);
    for (uint64_t i = 0; i < 20; i++)
        assert_has(0, i * BATCH, BATCH);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* Keys that were inserted twice and removed twice leave a table as it was: without the counts of
 * them, which would fill it up before long. Others that are there meanwhile keep theirs. */
static void keys_that_come_and_go_leave_nothing(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    const struct lethe_cascade_table *table = cascade->ranges[0].active;
    for (uint64_t round = 0; round < 40; round++) {
        lethe_hash keys[40];
        uint64_t counts[40];
        for (size_t i = 0; i < 40; i++)
            keys[i] = test_cascade_key_of(0, round * 20 + i / 2);
        assert_ok(lethe_cascade_add_batch(cascade, keys, 40, 0, NULL));
        for (size_t first = 0; first < 40; first += 4) {
            assert_ok(lethe_cascade_count_batch(cascade, keys, 40, 0, counts));
            for (size_t i = 0; i < 40; i++)
                assert_int_equal(counts[i], i < first ? 0 : 2);
            assert_ok(lethe_cascade_remove_batch(cascade, keys + first, 4, 0, NULL));
        }
        assert_ptr_equal(cascade->ranges[0].active, table);
        assert_int_equal(table->count, 0);
        assert_int_equal(table->extra_count, 0);
    }
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

int main(void) {
    test_cascade_tune();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_key_of_a_range_may_come_late),
        cmocka_unit_test(keys_that_come_and_go_leave_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
