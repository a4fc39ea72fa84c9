/* Goal:   a log without a segment of ids is taken only where nothing of it can matter any more, and a store that is refused is left
 *         as it was.
 * Method: stores by event time that were killed (a copy of the folder) or closed; then the first segment that had to stay is
 *         removed behind Lethe's back, as an earlier version did. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/segment.h"
#include "engine/state.h"
#include "engine/store.h"
#include "support/folder.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000, KEPT_MS = WINDOW_MS + WINDOW_MS / 64 };

static const lethe_counter_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = LETHE_ON, .create = true};

static lethe_bytes text(const char *string) {
    return (lethe_bytes){string, strlen(string)};
}

static lethe_counter *open_noting(const char *path, lethe_counter_options options,
                                  lethe_detail *detail) {
    lethe_counter *counter;
    lethe_status status = lethe_counter_open(path, &options, &counter, detail);
    if (status != LETHE_OK) print_error("%s\n", detail->text);
    assert_ok(status);
    return counter;
}

static lethe_counter *open_with(const char *path, lethe_counter_options options) {
    lethe_detail detail = {""};
    return open_noting(path, options, &detail);
}

static lethe_outcome add(lethe_counter *counter, const char *id, uint64_t time_ms) {
    lethe_change change = {.key = text("k"), .delta = 1};
    lethe_operation operation = {
        .id = text(id), .changes = &change, .change_count = 1, .time_ms = time_ms};
    uint8_t outcome;
    assert_ok(lethe_counter_apply(counter, &operation, 1, &outcome, NULL));
    return (lethe_outcome)outcome;
}

static void lose_first_segment(const char *path) {
    lethe_store *store;
    lethe_state state;
    assert_ok(lethe_store_open(path, LETHE_STORE_WRITE, false, NULL, &store, NULL));
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
}

/* The ledger covers what was dropped and no more; so what is lost is nowhere, however old it is. */
static void what_is_kept_for_ever_is_never_too_old(void **state) {
    (void)state;
    struct test_folder folder, killed;
    test_folder_make(&folder);
    test_folder_make(&killed);
    lethe_counter_options options = usual;
    options.forever = LETHE_ON;
    lethe_counter *counter = open_with(folder.path, options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS;
    assert_int_equal(add(counter, "old", START_MS), LETHE_APPLIED);
    assert_int_equal(add(counter, "covered", later_ms), LETHE_APPLIED);
    assert_int_equal(add(counter, "lost", later_ms + WINDOW_MS / 8), LETHE_APPLIED);
    assert_int_equal(add(counter, "next", later_ms + WINDOW_MS / 8 + 1), LETHE_APPLIED);
    assert_int_equal(add(counter, "latest", later_ms + KEPT_MS + 1), LETHE_APPLIED);
    char command[1024];
    snprintf(command, sizeof command, "cp -r '%s/.' '%s'", folder.path, killed.path);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    assert_ok(lethe_counter_close(counter, NULL));
    lose_first_segment(killed.path);
    const uint64_t windows_ms[] = {WINDOW_MS, WINDOW_MS / 4};
    for (unsigned i = 0; i < 2; i++) {
        options.window_ms = windows_ms[i];
        lethe_detail detail = {""};
        assert_int_equal(lethe_counter_open(killed.path, &options, &counter, &detail),
                         LETHE_ECORRUPT);
        assert_non_null(strstr(detail.text, "are missing from the log"));
        assert_null(strstr(detail.text, "with a window of less than"));
    }
    test_folder_remove(&folder);
    test_folder_remove(&killed);
}

/* The index is dropped with exact mode, but not before the log has what it needs of it. */
static void the_index_goes_last(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter_options options = usual;
    options.exact = LETHE_ON;
    lethe_counter *counter = open_with(folder.path, options);
    uint64_t later_ms = START_MS + 2 * WINDOW_MS, now_ms = later_ms + WINDOW_MS / 2;
    assert_int_equal(add(counter, "old", START_MS), LETHE_APPLIED);
    assert_int_equal(add(counter, "lost", later_ms), LETHE_APPLIED);
    assert_int_equal(add(counter, "next", later_ms + 1), LETHE_APPLIED);
    assert_int_equal(add(counter, "latest", now_ms), LETHE_APPLIED);
    assert_ok(lethe_counter_close(counter, NULL));
    lose_first_segment(folder.path);
    options.exact = LETHE_OFF;
    lethe_detail detail = {""};
    counter = open_noting(folder.path, options, &detail);
    assert_non_null(strstr(detail.text, "the index has them"));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(add(counter, "lost", now_ms), LETHE_COPY);
        assert_int_equal(add(counter, "next", now_ms), LETHE_COPY);
        assert_ok(lethe_counter_close(counter, NULL));
        counter = open_with(folder.path, (lethe_counter_options){0});
    }
    lethe_counter_stats stats;
    assert_ok(lethe_counter_info(counter, &stats));
    assert_false(stats.exact);
    assert_ok(lethe_counter_close(counter, NULL));
    lethe_counter_health health;
    assert_ok(lethe_counter_check(folder.path, &health, NULL));
    assert_int_equal(health.index_entries, 0);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_for_ever_is_never_too_old),
        cmocka_unit_test(the_index_goes_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
