/* Goal:   the state keeps every outcome's number for good; a store that older programs can read
 *         stays so until it has something that they would lose.
 * Method: stores with each outcome, opened again, by readers too, and after a kill; a state as
 *         earlier versions wrote it. */
#include "support/test.h"

#include "engine/log/state.h"
#include "support/store.h"
#include "support/store_records.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, VERSION_AT = 12 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = LETHE_SWITCH_ON, .create = true};
static const lethe_bytes KEY = {.data = "state", .size = 5};

static lethe_disk *open_disk(const char *path) {
    lethe_disk *disk;
    assert_ok(lethe_disk_open(path, LETHE_DISK_WRITE, false, NULL, &disk, NULL));
    return disk;
}

/* Writes a state into a store, and returns its record, which the caller releases. */
static lethe_record record_of(lethe_disk *disk, const lethe_state *state) {
    lethe_batch *batch = lethe_batch_new();
    lethe_record record;
    assert_ok(lethe_state_put(state, batch, disk));
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
    assert_ok(lethe_disk_get(disk, LETHE_FAMILY_STATE, KEY, &record, NULL));
    assert_non_null(record.data);
    return record;
}

/* The version of the state's record. */
static unsigned version_in(const char *path) {
    lethe_disk *disk = open_disk(path);
    lethe_state state;
    lethe_record record;
    assert_ok(lethe_state_load(disk, &state, NULL));
    assert_ok(lethe_disk_get(disk, LETHE_FAMILY_STATE, KEY, &record, NULL));
    unsigned version = ((const unsigned char *)record.data)[VERSION_AT];
    lethe_record_release(&record);
    lethe_disk_close(disk);
    return version;
}

static void check_totals(lethe_store *store, uint64_t overflow, uint64_t invalid,
                         uint64_t refused) {
    lethe_store_stats stats = test_store_stats(store);
    assert_int_equal(stats.overflow, overflow);
    assert_int_equal(stats.invalid, invalid);
    assert_int_equal(stats.refused, refused);
}

/* One operation of each kind that is not applied. */
static void add_bad(lethe_store *store, const char *id) {
    assert_int_equal(test_store_apply(store, id, "full", INT64_MAX, START_MS),
                     LETHE_OUTCOME_OVERFLOW);
    assert_int_equal(test_store_apply(store, "", "k", 1, START_MS), LETHE_OUTCOME_INVALID);
}

static void outcomes_have_numbers_of_their_own(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(store, "a", "full", INT64_MAX, START_MS),
                     LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    assert_int_equal(version_in(folder.path), 1); /* older programs can read it */

    /* What an earlier version counted stays where it put it. */
    lethe_disk *disk = open_disk(folder.path);
    lethe_state stored;
    assert_ok(lethe_state_load(disk, &stored, NULL));
    stored.totals.refused = 5;
    lethe_record record = record_of(disk, &stored);
    lethe_record_release(&record);
    lethe_disk_close(disk);

    store = test_store_open(folder.path, usual);
    check_totals(store, 0, 0, 5);
    add_bad(store, "b");
    check_totals(store, 1, 1, 5);
    test_store_kill(&folder, &killed);
    test_store_close(store);
    assert_int_equal(version_in(folder.path), 4);
    const struct test_folder *both[] = {&folder, &killed};
    for (size_t i = 0; i < 2; i++) {
        store = test_store_open_reader(both[i]->path);
        check_totals(store, 1, 1, 5);
        test_store_close(store);
        store = test_store_open(both[i]->path, usual);
        add_bad(store, "c");
        check_totals(store, 2, 2, 5);
        test_store_close(store);
    }
    test_folder_remove(&killed);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_have_numbers_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
