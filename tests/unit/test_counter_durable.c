/* Goal:   what is on disk is in order at every moment: what is dropped is what was to be dropped, and not before the
 *         commit that says so; folds hold what is durable; clocks are of one moment; stamps do not run out.
 * Method: the store under the engine, and fsync, are wrapped by the linker: a commit fails, or waits, when a test wants
 *         it to. Sizes are tuned so that rare things happen at once; time is that of events, or moved by hand. */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tunables.h"
#include "engine/engine.h"
#include "engine/store_internal.h"
#include "os/clock.h"
#include "os/folder.h"
#include "support/folder.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, KEPT_MS = WINDOW_MS + WINDOW_MS / 64 };

/* What the wrapped functions do. */
static struct {
    bool commits_fail,
        fold_goes_first;     /* a failing commit waits for a fold that has taken its values */
    unsigned commits_before; /* they fail */
    lethe_counter *counter;
    uint64_t expired_before_ms;
    uint64_t ahead_of_commit; /* a fold of commits that were not durable */
    bool syncs_fail;
} faults;

lethe_status __real_lethe_store_commit(lethe_store *store, lethe_batch *batch,
                                       lethe_detail *detail);
lethe_status __wrap_lethe_store_commit(lethe_store *store, lethe_batch *batch,
                                       lethe_detail *detail);
lethe_status __wrap_lethe_store_commit(lethe_store *store, lethe_batch *batch,
                                       lethe_detail *detail) {
    bool fails = faults.commits_fail && faults.commits_before == 0;
    if (faults.commits_before > 0) faults.commits_before--;
    if (!fails) return __real_lethe_store_commit(store, batch, detail);
    bool waits = faults.fold_goes_first;
    while (waits) {
        lethe_engine_enter(faults.counter);
        faults.counter->fold_wanted = true;
        lethe_os_condition_wake_all(&faults.counter->fold);
        waits = faults.counter->fold_cut <= faults.counter->durable;
        lethe_engine_leave(faults.counter);
    }
    return LETHE_EIO;
}

lethe_status __real_lethe_fold_table_begin(lethe_store *store, uint64_t cut, lethe_fold_table **out,
                                           lethe_detail *detail);
lethe_status __wrap_lethe_fold_table_begin(lethe_store *store, uint64_t cut, lethe_fold_table **out,
                                           lethe_detail *detail);
lethe_status __wrap_lethe_fold_table_begin(lethe_store *store, uint64_t cut, lethe_fold_table **out,
                                           lethe_detail *detail) {
    if (faults.counter != NULL) {
        lethe_engine_enter(faults.counter);
        if (faults.counter->durable < cut) faults.ahead_of_commit = cut;
        lethe_engine_leave(faults.counter);
    }
    return __real_lethe_fold_table_begin(store, cut, out, detail);
}

void __real_lethe_store_expire_index(lethe_store *store, uint64_t before_ms);
void __wrap_lethe_store_expire_index(lethe_store *store, uint64_t before_ms);
void __wrap_lethe_store_expire_index(lethe_store *store, uint64_t before_ms) {
    faults.expired_before_ms = before_ms;
    __real_lethe_store_expire_index(store, before_ms);
}

int __real_fsync(int descriptor);
static unsigned ranges_of_index; /* that were deleted as a whole */
void __real_lethe_batch_delete_range(lethe_batch *batch, lethe_store *store,
                                     enum lethe_family family, lethe_bytes from, lethe_bytes to);
void __wrap_lethe_batch_delete_range(lethe_batch *batch, lethe_store *store,
                                     enum lethe_family family, lethe_bytes from, lethe_bytes to);
void __wrap_lethe_batch_delete_range(lethe_batch *batch, lethe_store *store,
                                     enum lethe_family family, lethe_bytes from, lethe_bytes to) {
    ranges_of_index += family == LETHE_FAMILY_INDEX;
    __real_lethe_batch_delete_range(batch, store, family, from, to);
}

int __wrap_fsync(int descriptor);
int __wrap_fsync(int descriptor) {
    if (!faults.syncs_fail) return __real_fsync(descriptor);
    errno = EIO;
    return -1;
}

static const lethe_counter_options usual = {
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

static lethe_counter *open_noting(lethe_counter_options options, lethe_detail *detail) {
    lethe_counter *counter;
    lethe_status status = lethe_counter_open(folder.path, &options, &counter, detail);
    if (status != LETHE_OK) print_error("%s\n", detail->text);
    assert_ok(status);
    return counter;
}

static lethe_counter *open_with(lethe_counter_options options) {
    lethe_detail detail = {""};
    lethe_counter *counter = open_noting(options, &detail);
    assert_string_equal(detail.text, "");
    return counter;
}

static void close_it(lethe_counter *counter) {
    lethe_detail detail = {""};
    lethe_status status = lethe_counter_close(counter, &detail);
    if (status != LETHE_OK) print_error("%s\n", detail.text);
    assert_ok(status);
}

static lethe_bytes text(const char *string) {
    return (lethe_bytes){string, strlen(string)};
}

/* Adds 1 to a counter. */
static lethe_status try_add(lethe_counter *counter, const char *id, const char *key,
                            uint64_t time_ms, uint8_t *outcome) {
    lethe_change change = {.key = text(key), .delta = 1};
    lethe_operation operation = {
        .id = text(id), .changes = &change, .change_count = 1, .time_ms = time_ms};
    return lethe_counter_apply(counter, &operation, 1, outcome, NULL);
}

static lethe_outcome add(lethe_counter *counter, const char *id, uint64_t time_ms) {
    uint8_t outcome = 99;
    assert_ok(try_add(counter, id, "k", time_ms, &outcome));
    return (lethe_outcome)outcome;
}

static int64_t value_of(lethe_counter *counter, const char *key) {
    lethe_bytes bytes = text(key);
    int64_t value;
    bool found;
    assert_ok(lethe_counter_get(counter, &bytes, 1, &value, &found));
    return value;
}

/* All segments in one table, at a level from which tables are given back. */
static void compact(lethe_counter *counter) {
    rocksdb_compact_range_cf(counter->store->database, counter->store->families[LETHE_FAMILY_IDS],
                             NULL, 0, NULL, 0);
}

static void the_first_segment_that_stays_is_not_given_back(void **state) {
    (void)state;
    lethe_counter *counter = open_with(usual);
    assert_int_equal(add(counter, "old", START_MS), LETHE_APPLIED);
    assert_int_equal(add(counter, "young", START_MS + WINDOW_MS / 2), LETHE_APPLIED);
    compact(counter);
    uint64_t dropped = counter->state.dropped;
    assert_int_equal(add(counter, "new", START_MS + KEPT_MS + 1), LETHE_APPLIED);
    assert_true(counter->state.dropped > dropped);
    close_it(counter);
    counter = open_with(usual);
    assert_int_equal(add(counter, "young", START_MS + KEPT_MS + 2), LETHE_COPY);
    assert_int_equal(value_of(counter, "k"), 3);
    close_it(counter);
}

/* As an earlier version left it: without the first segment that was to stay. Returns its commit. */
static uint64_t lose_first_segment(void) {
    lethe_store *store;
    lethe_state state;
    assert_ok(lethe_store_open(folder.path, LETHE_STORE_WRITE, false, NULL, &store, NULL));
    assert_ok(lethe_state_load(store, &state, NULL));
    assert_true(state.dropped > 0);
    unsigned char key[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(state.dropped + 1, key);
    lethe_record record;
    lethe_bytes bytes = {key, sizeof key};
    assert_ok(lethe_store_get(store, LETHE_FAMILY_IDS, bytes, &record, NULL));
    assert_non_null(record.data);
    lethe_record_release(&record);
    lethe_batch *batch = lethe_batch_new();
    lethe_batch_delete(batch, store, LETHE_FAMILY_IDS, bytes);
    assert_ok(lethe_store_commit(store, batch, NULL));
    lethe_batch_free(batch);
    lethe_store_close(store);
    return state.dropped + 1;
}

/* "old" is dropped, "lost" is the first id that stays, others follow. latest_ms: after it. */
static void fill(lethe_counter_options options, uint64_t latest_ms) {
    lethe_counter *counter = open_with(options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS;
    assert_int_equal(add(counter, "old", START_MS), LETHE_APPLIED);
    assert_int_equal(add(counter, "lost", later_ms), LETHE_APPLIED);
    assert_int_equal(add(counter, "next", later_ms + 1), LETHE_APPLIED);
    assert_int_equal(add(counter, "young", later_ms + WINDOW_MS / 20), LETHE_APPLIED);
    assert_int_equal(add(counter, "latest", later_ms + latest_ms), LETHE_APPLIED);
    close_it(counter);
    (void)lose_first_segment();
}

static void a_log_without_ids_that_matter_is_refused(void **state) {
    (void)state;
    fill(usual, WINDOW_MS / 2);
    lethe_detail detail = {""};
    lethe_counter *counter;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(lethe_counter_open(folder.path, &usual, &counter, &detail),
                         LETHE_ECORRUPT);
        assert_non_null(strstr(detail.text, "1 ids of commit 3 are missing from the log"));
        assert_non_null(strstr(detail.text, "with a window of less than 29999 ms"));
    }
    /* As it says: a window that does not reach back to them needs none of them. */
    lethe_counter_options shorter = usual;
    shorter.window_ms = 29000;
    counter = open_noting(shorter, &detail);
    assert_non_null(strstr(detail.text, "too old to matter"));
    assert_int_equal(value_of(counter, "k"), 5);
    close_it(counter);
}

static void a_log_without_ids_that_are_too_old_opens(void **state) {
    (void)state;
    fill(usual, KEPT_MS + 10);
    lethe_detail detail = {""};
    lethe_counter_health health;
    assert_int_equal(lethe_counter_check(folder.path, &health, &detail), LETHE_ECORRUPT);
    assert_non_null(strstr(detail.text, "open the store to write, which mends"));
    lethe_counter *counter = open_noting(usual, &detail);
    assert_non_null(strstr(detail.text, "too old to matter"));
    close_it(counter);
    counter = open_with(usual); /* with nothing more to say */
    assert_int_equal(value_of(counter, "k"), 5);
    assert_int_equal(add(counter, "latest", START_MS + 3 * WINDOW_MS), LETHE_COPY);
    close_it(counter);
    assert_ok(lethe_counter_check(folder.path, &health, &detail));
}

/* What another place has is put back. */
static void check_put_back(lethe_counter_options options, const char *where) {
    uint64_t now_ms = START_MS + 2 * WINDOW_MS + WINDOW_MS / 2;
    fill(options, WINDOW_MS / 2);
    lethe_detail detail = {""};
    lethe_counter *counter = open_noting(options, &detail);
    assert_non_null(strstr(detail.text, where));
    assert_int_equal(add(counter, "lost", now_ms), LETHE_COPY);
    close_it(counter);
    counter = open_with(options);
    assert_int_equal(add(counter, "lost", now_ms), LETHE_COPY);
    assert_int_equal(add(counter, "next", now_ms), LETHE_COPY);
    /* It is dropped with the others, when its time has come. */
    assert_int_equal(add(counter, "last", now_ms + 4 * WINDOW_MS), LETHE_APPLIED);
    close_it(counter);
    counter = open_with(options);
    assert_int_equal(value_of(counter, "k"), 6);
    close_it(counter);
}

static void a_log_without_ids_that_the_index_has_opens(void **state) {
    (void)state;
    lethe_counter_options exact = usual;
    exact.exact = true;
    check_put_back(exact, "the index has them");
}

static void a_log_without_ids_that_the_ledger_has_opens(void **state) {
    (void)state;
    lethe_counter_options forever = usual;
    forever.forever = true;
    forever.ledger_capacity = 1 << 20;
    forever.ledger_memory_bytes = 4 << 20;
    check_put_back(forever, "the ledger has them");
}

static void idle_time_counts_when_a_store_is_closed(void **state) {
    (void)state;
    lethe_counter_options options = {.window_ms = 1000, .create = true};
    lethe_counter *counter = open_with(options);
    assert_int_equal(add(counter, "a", 0), LETHE_APPLIED);
    counter->base_boot_ms -= 5000; /* five seconds go by, and nothing happens */
    uint64_t clock_ms = lethe_engine_now(counter);
    close_it(counter);
    counter = open_with(options);
    assert_true(lethe_engine_now(counter) >= clock_ms);
    assert_int_equal(add(counter, "a", 0), LETHE_APPLIED);
    assert_int_equal(value_of(counter, "k"), 2);
    close_it(counter);
}

/* The commit at the close drops all there is, and leaves something beside the deletion: RocksDB must have something to write
 * when it merges such tables. */
static void a_commit_that_drops_segments_has_its_own(void **state) {
    (void)state;
    lethe_counter_options options = {.window_ms = 1000, .create = true};
    lethe_counter *counter = open_with(options);
    assert_int_equal(add(counter, "a", 0), LETHE_APPLIED);
    counter->base_boot_ms -= 5000;
    close_it(counter);
    lethe_counter_health health;
    assert_ok(lethe_counter_check(folder.path, &health, NULL));
    assert_int_equal(health.log_segments, 1);
    assert_int_equal(health.log_ids, 0);
    assert_int_equal(health.change_segments, 1);
    assert_int_equal(health.changes, 0);
    counter = open_with(options);
    assert_int_equal(value_of(counter, "k"), 1);
    close_it(counter);
}

/* The same of the index, which has nothing to leave there: it is deleted entry by entry. */
static void an_index_that_goes_leaves_no_range(void **state) {
    (void)state;
    lethe_counter_options options = {.window_ms = WINDOW_MS, .create = true, .exact = LETHE_ON};
    lethe_counter *counter = open_with(options);
    assert_int_equal(add(counter, "a", 0), LETHE_APPLIED);
    close_it(counter);
    ranges_of_index = 0;
    options.exact = LETHE_OFF;
    counter = open_with(options);
    close_it(counter);
    assert_int_equal(ranges_of_index, 0);
    lethe_counter_health health;
    assert_ok(lethe_counter_check(folder.path, &health, NULL));
    assert_int_equal(health.index_entries, 0);
}

/* As if the machine had been started since, and its clock were an hour younger: only the wall clock knows the time. */
static void make_of_another_boot(void) {
    lethe_store *store;
    lethe_state state;
    assert_ok(lethe_store_open(folder.path, LETHE_STORE_WRITE, false, NULL, &store, NULL));
    assert_ok(lethe_state_load(store, &state, NULL));
    memset(state.boot_id, 7, sizeof state.boot_id);
    state.boot_ms = 0;
    lethe_batch *batch = lethe_batch_new();
    assert_ok(lethe_state_put(&state, batch, store));
    assert_ok(lethe_store_commit(store, batch, NULL));
    lethe_batch_free(batch);
    lethe_store_close(store);
}

/* Mending the log puts the state on disk before the store is open. */
static void clocks_are_of_one_moment_when_the_log_is_mended(void **state) {
    (void)state;
    lethe_counter_options options = {.window_ms = WINDOW_MS, .create = true, .exact = true};
    lethe_counter *counter = open_with(options);
    assert_int_equal(add(counter, "old", 0), LETHE_APPLIED);
    counter->base_boot_ms -= UINT64_C(2) * WINDOW_MS;
    assert_int_equal(add(counter, "lost", 0), LETHE_APPLIED);
    assert_int_equal(add(counter, "next", 0), LETHE_APPLIED);
    close_it(counter);
    (void)lose_first_segment();
    make_of_another_boot();
    uint64_t boot_ms = lethe_os_boot_ms();
    faults.commits_fail = true;
    faults.commits_before = 1;
    assert_int_equal(lethe_counter_open(folder.path, &options, &counter, NULL), LETHE_EIO);
    lethe_store *store;
    lethe_state stored;
    assert_ok(lethe_store_open(folder.path, LETHE_STORE_EXAMINE, false, NULL, &store, NULL));
    assert_ok(lethe_state_load(store, &stored, NULL));
    lethe_store_close(store);
    assert_true(stored.log_ids >= 2); /* it was mended: "next" may be there twice */
    assert_true(stored.boot_ms >= boot_ms);
}

/* Of the counters the first half change all the time and the others once, before and after a fold. */
enum { STAMPED = 400, STAMPED_KEYS = 40 };
static unsigned key_of_stamped(unsigned number) {
    return number < STAMPED_KEYS ? number : number % (STAMPED_KEYS / 2);
}

static void check_stamps(lethe_counter_options options) {
    int64_t expected[STAMPED_KEYS] = {0};
    lethe_counter *counter = open_with(options);
    for (unsigned i = 0; i < STAMPED; i++) {
        char id[16], key[16];
        (void)snprintf(id, sizeof id, "id%u", i);
        (void)snprintf(key, sizeof key, "key%u", key_of_stamped(i));
        expected[key_of_stamped(i)]++;
        uint8_t outcome = 99;
        assert_ok(try_add(counter, id, key, START_MS, &outcome));
        assert_int_equal(outcome, LETHE_APPLIED);
        if (i != STAMPED_KEYS / 4) continue;
        lethe_engine_enter(counter);
        assert_ok(lethe_engine_fold_all(counter));
        lethe_engine_leave(counter);
    }
    close_it(counter);
    counter = open_with(usual);
    for (unsigned i = 0; i < STAMPED_KEYS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "key%u", i);
        assert_int_equal(value_of(counter, key), expected[i]);
    }
    close_it(counter);
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
    lethe_counter_options options = usual;
    options.counters_memory_bytes = 1; /* every fold drops what it can */
    check_stamps(options);
}

/* A value that is folded before it is durable would stay after a crash, and its event be counted again. */
static void a_fold_waits_for_its_commits(void **state) {
    (void)state;
    lethe_counter *counter = open_with(usual);
    assert_int_equal(add(counter, "a", START_MS), LETHE_APPLIED);
    faults.counter = counter;
    faults.commits_fail = faults.fold_goes_first = true;
    uint8_t outcome;
    assert_int_equal(try_add(counter, "b", "k", START_MS, &outcome), LETHE_EIO);
    assert_int_equal(lethe_counter_close(counter, NULL), LETHE_EIO);
    assert_int_equal(faults.ahead_of_commit, 0);
    faults.counter = NULL;
    faults.commits_fail = false;
    counter = open_with(usual);
    assert_int_equal(value_of(counter, "k"), 1);
    assert_int_equal(add(counter, "b", START_MS), LETHE_APPLIED);
    assert_int_equal(value_of(counter, "k"), 2);
    close_it(counter);
}

/* After a crash the index must still have what the log on disk has. */
static void the_index_expires_with_the_commit_that_says_so(void **state) {
    (void)state;
    lethe_counter_options options = usual;
    options.exact = true;
    lethe_counter *counter = open_with(options);
    assert_int_equal(add(counter, "a", START_MS), LETHE_APPLIED);
    faults.commits_fail = true;
    uint8_t outcome;
    assert_int_equal(try_add(counter, "b", "k", START_MS + 2 * WINDOW_MS, &outcome), LETHE_EIO);
    assert_int_equal(faults.expired_before_ms, 0);
    assert_int_equal(lethe_counter_close(counter, NULL), LETHE_EIO);
    faults.commits_fail = false;
    counter = open_with(options);
    assert_int_equal(add(counter, "b", START_MS + 2 * WINDOW_MS), LETHE_APPLIED);
    assert_int_equal(faults.expired_before_ms, START_MS + 2 * WINDOW_MS - KEPT_MS);
    close_it(counter);
}

/* One id three times in one commit: applied, applied again after W, and a copy of that. */
static void the_later_of_two_entries_counts(void **state) {
    (void)state;
    lethe_counter_options options = usual;
    options.exact = true;
    lethe_counter *counter = open_with(options);
    uint64_t again_ms = START_MS + 2 * WINDOW_MS;
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation operations[3];
    const uint64_t times_ms[] = {START_MS, again_ms, again_ms + WINDOW_MS / 2};
    for (unsigned i = 0; i < 3; i++) {
        operations[i] = (lethe_operation){
            .id = text("a"), .changes = &change, .change_count = 1, .time_ms = times_ms[i]};
    }
    uint64_t commit = counter->sealed;
    uint8_t outcomes[3];
    assert_ok(lethe_counter_apply(counter, operations, 3, outcomes, NULL));
    assert_int_equal(counter->durable, commit + 1);
    assert_int_equal(outcomes[0], LETHE_APPLIED);
    assert_int_equal(outcomes[1], LETHE_APPLIED);
    assert_int_equal(outcomes[2], LETHE_COPY);
    /* From the index on disk. */
    assert_int_equal(add(counter, "a", again_ms + WINDOW_MS / 2 + 1), LETHE_COPY);
    close_it(counter);
    counter = open_with(options);
    assert_int_equal(add(counter, "a", again_ms + WINDOW_MS / 2 + 2), LETHE_COPY);
    assert_int_equal(value_of(counter, "k"), 2);
    close_it(counter);
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
    lethe_counter *counter;
    assert_int_equal(lethe_counter_open(path, &usual, &counter, &detail), LETHE_EIO);
    assert_non_null(strstr(detail.text, "Input/output error"));
    faults.syncs_fail = false;
    assert_ok(lethe_counter_open(path, &usual, &counter, &detail));
    assert_int_equal(add(counter, "a", START_MS), LETHE_APPLIED);
    close_it(counter);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_first_segment_that_stays_is_not_given_back),
        TEST(a_log_without_ids_that_matter_is_refused),
        TEST(a_log_without_ids_that_are_too_old_opens),
        TEST(a_log_without_ids_that_the_index_has_opens),
        TEST(a_log_without_ids_that_the_ledger_has_opens),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
