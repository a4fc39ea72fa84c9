/* Goal:   what is on disk is in order at every moment: what is dropped is what was to be dropped,
 *         and not before the commit that says so; folds hold what is durable; clocks are of one
 *         moment; stamps do not run out.
 * Method: the store under the engine, and fsync, are wrapped by the linker: a commit fails, or
 *         waits, when a test wants it to. Sizes are tuned so that rare things happen at once;
 *         time is that of events, or moved by hand. */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/tunables.h"
#include "engine/disk/internal.h"
#include "engine/store.h"
#include "os/clock.h"
#include "os/folder.h"
#include "support/store.h"
#include "support/store_records.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, KEPT_MS = WINDOW_MS + WINDOW_MS / 64 };

/* What the wrapped functions do. */
static struct {
    bool commits_fail,
        fold_goes_first;     /* a failing commit waits for a fold that has taken its values */
    unsigned commits_before; /* they fail */
    lethe_store *store;
    uint64_t expired_before_ms;
    uint64_t ahead_of_commit; /* a fold of commits that were not durable */
    bool syncs_fail;
    unsigned commits_take_ms; /* longer than the committer's patience */
    bool is_slow_to_wake;     /* the thread that submits: others go first */
} faults;

static _Thread_local bool is_submitter;

static void pause_for(unsigned milliseconds) {
    struct timespec pause = {.tv_nsec = (long)milliseconds * 1000000};
    nanosleep(&pause, NULL);
}

void __real_lethe_os_condition_wait(lethe_os_condition *condition, lethe_os_lock *lock);
void __wrap_lethe_os_condition_wait(lethe_os_condition *condition, lethe_os_lock *lock);
void __wrap_lethe_os_condition_wait(lethe_os_condition *condition, lethe_os_lock *lock) {
    __real_lethe_os_condition_wait(condition, lock);
    if (!faults.is_slow_to_wake || !is_submitter) return;
    lethe_os_lock_give(lock);
    pause_for(10 * faults.commits_take_ms);
    lethe_os_lock_take(lock);
}

lethe_status __real_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail);
lethe_status __wrap_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail);
lethe_status __wrap_lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail) {
    if (faults.commits_take_ms > 0) pause_for(faults.commits_take_ms);
    bool fails = faults.commits_fail && faults.commits_before == 0;
    if (faults.commits_before > 0) faults.commits_before--;
    if (!fails) return __real_lethe_disk_commit(disk, batch, detail);
    bool waits = faults.fold_goes_first;
    while (waits) {
        lethe_engine_enter(faults.store);
        faults.store->fold.wanted = true;
        lethe_os_condition_wake_all(&faults.store->fold.wake);
        waits = faults.store->fold.cut <= faults.store->log.durable;
        lethe_engine_leave(faults.store);
    }
    return LETHE_EIO;
}

lethe_status __real_lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family, uint64_t cut,
                                           lethe_fold_table **out, lethe_detail *detail);
lethe_status __wrap_lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family, uint64_t cut,
                                           lethe_fold_table **out, lethe_detail *detail);
lethe_status __wrap_lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family, uint64_t cut,
                                           lethe_fold_table **out, lethe_detail *detail) {
    if (faults.store != NULL) {
        lethe_engine_enter(faults.store);
        if (faults.store->log.durable < cut) faults.ahead_of_commit = cut;
        lethe_engine_leave(faults.store);
    }
    return __real_lethe_fold_table_begin(disk, family, cut, out, detail);
}

void __real_lethe_disk_expire_index(lethe_disk *disk, uint64_t before_ms);
void __wrap_lethe_disk_expire_index(lethe_disk *disk, uint64_t before_ms);
void __wrap_lethe_disk_expire_index(lethe_disk *disk, uint64_t before_ms) {
    faults.expired_before_ms = before_ms;
    __real_lethe_disk_expire_index(disk, before_ms);
}

int __real_fsync(int descriptor);
static unsigned ranges_of_index; /* that were deleted as a whole */
void __real_lethe_batch_delete_range(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                                     lethe_bytes from, lethe_bytes to);
void __wrap_lethe_batch_delete_range(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                                     lethe_bytes from, lethe_bytes to);
void __wrap_lethe_batch_delete_range(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                                     lethe_bytes from, lethe_bytes to) {
    ranges_of_index += family == LETHE_FAMILY_INDEX;
    __real_lethe_batch_delete_range(batch, disk, family, from, to);
}

int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor) {
    if (!faults.syncs_fail) return __real_fsync(descriptor);
    errno = EIO;
    return -1;
}

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};
static lethe_tunables tunables_as_shipped;
static struct test_folder folder;

static int begin(void **state) {
    (void)state;
    memset(&faults, 0, sizeof faults);
    tunables_as_shipped = lethe_tune;
    test_folder_make(&folder);
    return 0;
}

static int end(void **state) {
    (void)state;
    lethe_tune = tunables_as_shipped;
    test_folder_remove(&folder);
    return 0;
}

static lethe_store *open_with(lethe_store_options options) {
    return test_store_open(folder.path, options);
}

/* All segments in one table, at a level from which tables are given back. */
static void compact(lethe_store *store) {
    rocksdb_compact_range_cf(store->disk->database, store->disk->families[LETHE_FAMILY_IDS], NULL,
                             0, NULL, 0);
}

static void the_first_segment_that_stays_is_not_given_back(void **state) {
    (void)state;
    lethe_store *store = open_with(usual);
    assert_int_equal(test_store_add(store, "old", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "young", START_MS + WINDOW_MS / 2),
                     LETHE_OUTCOME_APPLIED);
    compact(store);
    uint64_t dropped = store->state.dropped;
    assert_int_equal(test_store_add(store, "new", START_MS + KEPT_MS + 1), LETHE_OUTCOME_APPLIED);
    assert_true(store->state.dropped > dropped);
    test_store_close(store);
    store = open_with(usual);
    assert_int_equal(test_store_add(store, "young", START_MS + KEPT_MS + 2),
                     LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), 3);
    test_store_close(store);
}

static void idle_time_counts_when_a_store_is_closed(void **state) {
    (void)state;
    lethe_store_options options = {.window_ms = 1000, .create = true};
    lethe_store *store = open_with(options);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    store->clock.base_boot_ms -= 5000; /* five seconds go by, and nothing happens */
    uint64_t clock_ms = lethe_clock_now(&store->clock, &store->state);
    test_store_close(store);
    store = open_with(options);
    assert_true(lethe_clock_now(&store->clock, &store->state) >= clock_ms);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 2);
    test_store_close(store);
}

/* The commit at the close drops all there is, and leaves something beside the deletion: RocksDB
 * must have something to write when it merges such tables. */
static void a_commit_that_drops_segments_has_its_own(void **state) {
    (void)state;
    lethe_store_options options = {.window_ms = 1000, .create = true};
    lethe_store *store = open_with(options);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    store->clock.base_boot_ms -= 5000;
    test_store_close(store);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL));
    assert_int_equal(health.log_segments, 1);
    assert_int_equal(health.log_ids, 0);
    assert_int_equal(health.change_segments, 1);
    assert_int_equal(health.changes, 0);
    store = open_with(options);
    assert_int_equal(test_store_value(store, "k"), 1);
    test_store_close(store);
}

/* The same of the index, which has nothing to leave there: it is deleted entry by entry. */
static void an_index_that_goes_leaves_no_range(void **state) {
    (void)state;
    lethe_store_options options = {
        .window_ms = WINDOW_MS, .create = true, .exact = LETHE_SWITCH_ON};
    lethe_store *store = open_with(options);
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_store_make_earlier(folder.path);
    ranges_of_index = 0;
    options.exact = LETHE_SWITCH_OFF;
    store = open_with(options);
    test_store_close(store);
    assert_int_equal(ranges_of_index, 0);
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL));
    assert_int_equal(health.index_entries, 0);
}

/* As if the machine had been started since, and its clock were an hour younger: only the wall
 * clock knows the time. */
static void make_of_another_boot(void) {
    lethe_disk *disk;
    lethe_state state;
    assert_ok(lethe_disk_open(folder.path, LETHE_DISK_WRITE, false, NULL, &disk, NULL));
    assert_ok(lethe_state_load(disk, &state, NULL));
    memset(state.boot_id, 7, sizeof state.boot_id);
    state.boot_ms = 0;
    lethe_batch *batch = lethe_batch_new();
    assert_ok(lethe_state_put(&state, batch, disk));
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
    lethe_disk_close(disk);
}

/* Mending the log puts the state on disk before the store is open. */
static void clocks_are_of_one_moment_when_the_log_is_mended(void **state) {
    (void)state;
    lethe_store_options options = {.window_ms = WINDOW_MS, .create = true, .exact = true};
    lethe_store *store = open_with(options);
    assert_int_equal(test_store_add(store, "old", 0), LETHE_OUTCOME_APPLIED);
    store->clock.base_boot_ms -= UINT64_C(2) * WINDOW_MS;
    assert_int_equal(test_store_add(store, "lost", 0), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_add(store, "next", 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_store_lose_segment(folder.path);
    make_of_another_boot();
    uint64_t boot_ms = lethe_os_boot_ms();
    faults.commits_fail = true;
    faults.commits_before = 1;
    assert_int_equal(test_store_try_open(folder.path, options, &store, NULL), LETHE_EIO);
    lethe_disk *disk;
    lethe_state stored;
    assert_ok(lethe_disk_open(folder.path, LETHE_DISK_READ, false, NULL, &disk, NULL));
    assert_ok(lethe_state_load(disk, &stored, NULL));
    lethe_disk_close(disk);
    assert_true(stored.log_ids >= 2); /* it was mended: "next" may be there twice */
    assert_true(stored.boot_ms >= boot_ms);
}

/* Of the counters the first half change all the time and the others once, before and after a
 * fold. */
enum { STAMPED = 400, STAMPED_KEYS = 40 };
static unsigned key_of_stamped(unsigned number) {
    return number < STAMPED_KEYS ? number : number % (STAMPED_KEYS / 2);
}

static void check_stamps(lethe_store_options options) {
    int64_t expected[STAMPED_KEYS] = {0};
    lethe_store *store = open_with(options);
    for (unsigned i = 0; i < STAMPED; i++) {
        char id[16], key[16];
        (void)snprintf(id, sizeof id, "id%u", i);
        (void)snprintf(key, sizeof key, "key%u", key_of_stamped(i));
        expected[key_of_stamped(i)]++;
        uint8_t outcome = 99;
        assert_ok(test_store_try_apply(store, id, key, 1, START_MS, &outcome));
        assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
        if (i != STAMPED_KEYS / 4) continue;
        lethe_engine_enter(store);
        assert_ok(lethe_fold_all(store));
        lethe_engine_leave(store);
    }
    test_store_close(store);
    store = open_with(usual);
    for (unsigned i = 0; i < STAMPED_KEYS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "key%u", i);
        assert_int_equal(test_store_value(store, key), expected[i]);
    }
    test_store_close(store);
}

static void stamps_do_not_run_out(void **state) {
    (void)state;
    lethe_tune.first_stamp = UINT32_MAX - 3 * STAMPED_KEYS / 4;
    check_stamps(usual);
}

static void stamps_begin_anew_between_folds(void **state) {
    (void)state;
    lethe_tune.first_commit = UINT32_MAX - 100;
    lethe_tune.stamp_limit = 8;
    lethe_tune.fold_after_bytes = 200;
    lethe_tune.fold_split_keys = 3;
    lethe_store_options options = usual;
    options.counters_memory_bytes = 1; /* every fold drops what it can */
    check_stamps(options);
}

/* A value that is folded before it is durable would stay after a crash, and its event be counted
 * again. */
static void a_fold_waits_for_its_commits(void **state) {
    (void)state;
    lethe_store *store = open_with(usual);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    faults.store = store;
    faults.commits_fail = faults.fold_goes_first = true;
    uint8_t outcome;
    assert_int_equal(test_store_try_apply(store, "b", "k", 1, START_MS, &outcome), LETHE_EIO);
    assert_int_equal(lethe_store_close(store, NULL), LETHE_EIO);
    assert_int_equal(faults.ahead_of_commit, 0);
    faults.store = NULL;
    faults.commits_fail = false;
    store = open_with(usual);
    assert_int_equal(test_store_value(store, "k"), 1);
    assert_int_equal(test_store_add(store, "b", START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(test_store_value(store, "k"), 2);
    test_store_close(store);
}

/* After a crash the index must still have what the log on disk has. */
static void the_index_expires_with_the_commit_that_says_so(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.exact = true;
    lethe_store *store = open_with(options);
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    faults.commits_fail = true;
    uint8_t outcome;
    assert_int_equal(test_store_try_apply(store, "b", "k", 1, START_MS + 2 * WINDOW_MS, &outcome),
                     LETHE_EIO);
    assert_int_equal(faults.expired_before_ms, 0);
    assert_int_equal(lethe_store_close(store, NULL), LETHE_EIO);
    faults.commits_fail = false;
    store = open_with(options);
    assert_int_equal(test_store_add(store, "b", START_MS + 2 * WINDOW_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(faults.expired_before_ms, START_MS + 2 * WINDOW_MS - KEPT_MS);
    test_store_close(store);
}

/* One id three times in one commit: applied, applied again after W, and a duplicate of that. */
static void the_later_of_two_entries_counts(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.exact = true;
    lethe_store *store = open_with(options);
    uint64_t again_ms = START_MS + 2 * WINDOW_MS;
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operations[3];
    const uint64_t times_ms[] = {START_MS, again_ms, again_ms + WINDOW_MS / 2};
    for (unsigned i = 0; i < 3; i++) {
        operations[i] = (lethe_operation){
            .id = test_text("a"), .changes = &change, .change_count = 1, .time_ms = times_ms[i]};
    }
    uint64_t commit = store->log.sealed;
    uint8_t outcomes[3];
    assert_ok(lethe_store_apply(store, operations, 3, outcomes, NULL));
    assert_int_equal(store->log.durable, commit + 1);
    assert_int_equal(outcomes[0], LETHE_OUTCOME_APPLIED);
    assert_int_equal(outcomes[1], LETHE_OUTCOME_APPLIED);
    assert_int_equal(outcomes[2], LETHE_OUTCOME_DUPLICATE);
    /* From the index on disk. */
    assert_int_equal(test_store_add(store, "a", again_ms + WINDOW_MS / 2 + 1),
                     LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    store = open_with(options);
    assert_int_equal(test_store_add(store, "a", again_ms + WINDOW_MS / 2 + 2),
                     LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_value(store, "k"), 2);
    test_store_close(store);
}

static void a_folder_whose_name_is_not_durable_is_an_error(void **state) {
    (void)state;
    char path[300], other[300];
    (void)snprintf(path, sizeof path, "%s/made", folder.path);
    (void)snprintf(other, sizeof other, "%s/renamed", folder.path);
    faults.syncs_fail = true;
    assert_int_equal(lethe_os_folder_make(path), LETHE_EIO);
    assert_int_equal(lethe_os_folder_make(path), LETHE_EIO); /* it is there, but not for good */
    assert_int_equal(lethe_os_folder_rename(path, other), LETHE_EIO);
    lethe_detail detail = {""};
    lethe_store *store;
    assert_int_equal(test_store_try_open(path, usual, &store, &detail), LETHE_EIO);
    assert_non_null(strstr(detail.text, "Input/output error"));
    faults.syncs_fail = false;
    assert_ok(test_store_try_open(path, usual, &store, &detail));
    assert_int_equal(test_store_add(store, "a", START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
}

/* While the submitting thread waits for room, the committer seals and writes its group, and then
 * waits for the first operation of the next group. That operation must wake it. */
static void the_committer_hears_of_the_next_group(void **state) {
    (void)state;
    lethe_store_options options = usual;
    options.commit_operations = 1;
    options.commit_interval_ms = 25;
    lethe_store *store = open_with(options);
    lethe_operation operations[LETHE_GROUPS + 1];
    lethe_change changes[LETHE_GROUPS + 1];
    uint8_t outcomes[LETHE_GROUPS + 1];
    char ids[LETHE_GROUPS + 1][8];
    for (size_t i = 0; i < LETHE_GROUPS + 1; i++) {
        snprintf(ids[i], sizeof ids[i], "id-%zu", i);
        changes[i] = (lethe_change){.key = test_text("k"), .delta = 1};
        operations[i] = (lethe_operation){.id = test_text(ids[i]),
                                          .changes = &changes[i],
                                          .change_count = 1,
                                          .time_ms = START_MS};
    }
    uint64_t ticket;
    is_submitter = faults.is_slow_to_wake = true;
    faults.commits_take_ms = 30;
    assert_ok(lethe_store_submit(store, operations, 1, NULL, 0, outcomes, NULL, &ticket));
    assert_ok(lethe_store_submit(store, operations + 1, LETHE_GROUPS, NULL, 0, outcomes + 1, NULL,
                                 &ticket));
    is_submitter = faults.is_slow_to_wake = false;
    faults.commits_take_ms = 0;
    for (unsigned waited_ms = 0; waited_ms < 10000 && !lethe_store_is_done(store, ticket);
         waited_ms += 10) {
        pause_for(10);
    }
    assert_true(lethe_store_is_done(store, ticket));
    assert_int_equal(test_store_value(store, "k"), LETHE_GROUPS + 1);
    test_store_close(store);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_first_segment_that_stays_is_not_given_back),
        TEST(idle_time_counts_when_a_store_is_closed),
        TEST(a_commit_that_drops_segments_has_its_own),
        TEST(an_index_that_goes_leaves_no_range),
        TEST(clocks_are_of_one_moment_when_the_log_is_mended),
        TEST(stamps_do_not_run_out),
        TEST(stamps_begin_anew_between_folds),
        TEST(a_fold_waits_for_its_commits),
        TEST(the_index_expires_with_the_commit_that_says_so),
        TEST(the_later_of_two_entries_counts),
        TEST(a_folder_whose_name_is_not_durable_is_an_error),
        TEST(the_committer_hears_of_the_next_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
