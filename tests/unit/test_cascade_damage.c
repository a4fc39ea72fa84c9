/* Goal: what is damaged costs what needs it, and no more. A page that can't be read is reported by
 *       the lookups that need it and by info, while merging and inserting go on; a sync that failed
 *       is never forgotten; what a crash or a full disk leaves of the log is no damage.
 * Method: bits flipped under an open cascade, reads and syncs that fail once, files that a kill
 *         would leave. */
#include "support/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/cascade/state.h"
#include "os/file.h"
#include "support/cascade.h"
#include "support/folder.h"
#include "support/reports.h"

static lethe_cascade *cascade;
static char store[300], image[320];

static void open_with(const struct test_folder *folder, uint64_t level_filter_bytes) {
    lethe_cascade_options options = test_cascade_options;
    options.level_filter_bytes = level_filter_bytes;
    (void)snprintf(store, sizeof store, "%s/store", folder->path);
    (void)snprintf(image, sizeof image, "%s/image", folder->path);
    assert_ok(lethe_cascade_open(store, &options, &cascade, NULL));
}

static void open_store(const struct test_folder *folder) {
    open_with(folder, 0);
}

/* --- pages --- */

/* The first page of the newest run of range 0. */
static void flip_page(char path[LETHE_OS_PATH_BYTES]) {
    assert_true(cascade->ranges[0].run_count > 0);
    lethe_cascade_run_path(store, cascade->ranges[0].runs[0]->facts.id, path);
    test_cascade_flip(path, 100);
}

/* Works until there is nothing to do; returns how often damage was met. */
static unsigned work_and_count(lethe_status expected) {
    unsigned met = 0, calls = 0;
    for (bool more = true; more; calls++) {
        assert_true(calls < 10000);
        lethe_status status = lethe_cascade_work(cascade, 0, 0, &more);
        assert_true(status == LETHE_OK || status == expected);
        met += status != LETHE_OK;
    }
    return met;
}

/* Every key below end is found, or is one that needs the damaged page; returns how many need it. */
static uint64_t look_around_damage(uint64_t end) {
    uint64_t damaged = 0;
    for (uint64_t n = 0; n < end; n += 7) {
        lethe_hash hash = test_cascade_key(n);
        uint8_t present = 0;
        lethe_status status = lethe_cascade_test_batch(cascade, &hash, 1, 0, &present);
        if (status == LETHE_OK) {
            assert_int_equal(present, 1);
        } else {
            assert_int_equal(status, LETHE_ECORRUPT);
            assert_int_equal(n % 4, 0);
            damaged++;
        }
    }
    return damaged;
}

static bool go_on(void *context, uint64_t fingerprint, uint64_t count) {
    (void)context, (void)fingerprint, (void)count;
    return true;
}

static void assert_damage_is_reported(uint64_t end) {
    assert_int_equal(cascade_stats(cascade, 0).damaged_runs, 1);
    assert_int_equal(lethe_cascade_each(cascade, 0, go_on, NULL), LETHE_ECORRUPT);
    uint64_t damaged = look_around_damage(end);
    assert_in_range(damaged, 1, end / 7 / 4 - 100); /* of the keys of range 0 some don't */
}

/* After the damage many more keys come: they go in, and runs of all ranges are merged. */
static void assert_all_goes_on(uint64_t *end) {
    test_cascade_insert(cascade, *end, 60000);
    *end += 60000;
    (void)work_and_count(LETHE_OK);
    for (unsigned i = 0; i < cascade->range_count; i++)
        assert_in_range(cascade->ranges[i].run_count, 1, 16);
}

static void a_damaged_page_stops_only_what_needs_it(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) { /* met by work, by an insertion that helps, by a lookup */
        struct test_folder folder;
        test_folder_make(&folder);
        open_store(&folder);
        uint64_t end = 23000;
        test_cascade_insert(cascade, 0, end);
        char path[LETHE_OS_PATH_BYTES];
        flip_page(path);
        if (way == 0) assert_int_equal(work_and_count(LETHE_ECORRUPT), 1);
        if (way == 2) assert_true(look_around_damage(end) > 0);
        if (way == 2) assert_int_equal(work_and_count(LETHE_OK), 0);
        for (int i = 0; i < 200 && way == 1; i++, end += 100)
            test_cascade_insert(cascade, end, 100);
        assert_int_equal(cascade_stats(cascade, 0).damaged_runs, 1);
        assert_all_goes_on(&end);
        assert_damage_is_reported(end);
        assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
        assert_ok(lethe_cascade_close(cascade, NULL));
        open_with(&folder, way * 100000);
        assert_int_equal(cascade_stats(cascade, 0).damaged_runs, 0); /* since open */
        (void)work_and_count(LETHE_ECORRUPT);
        (void)look_around_damage(end);
        assert_all_goes_on(&end);
        assert_damage_is_reported(end);
        assert_ok(lethe_cascade_close(cascade, NULL));
        test_cascade_flip(path, 100); /* as a restored file would be */
        open_store(&folder);
        assert_int_equal(work_and_count(LETHE_OK), 0);
        test_cascade_assert_has(cascade, end);
        assert_ok(lethe_cascade_close(cascade, NULL));
        test_folder_remove(&folder);
    }
}

static lethe_os_operation fault_operation;
static unsigned fault_at, operations;

static int fail_once(lethe_os_operation operation) {
    return operation == fault_operation && ++operations == fault_at ? EIO : 0;
}

/* A disk that can't read a page is the same to a merge. */
static void a_failed_read_stops_one_merge(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    uint64_t end = 23000;
    test_cascade_insert(cascade, 0, end);
    fault_operation = LETHE_OS_READ;
    operations = 0;
    fault_at = 2;
    lethe_os_set_fault_hook(fail_once);
    assert_int_equal(work_and_count(LETHE_EIO), 1);
    lethe_os_set_fault_hook(NULL);
    assert_int_equal(cascade_stats(cascade, 0).damaged_runs, 1);
    assert_all_goes_on(&end);
    test_cascade_assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* Where so many runs can't be merged that no table can be written, insertion reports it instead
 * of waiting for ever. */
static void damage_everywhere_ends_insertion_with_an_error(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    lethe_status status = LETHE_OK;
    uint64_t n = 0;
    for (; n < 100000 && status == LETHE_OK; n++) {
        for (unsigned i = 0; i < cascade->ranges[0].run_count; i++)
            cascade->ranges[0].runs[i]->is_damaged = true;
        lethe_hash hash = test_cascade_key_of(0, n);
        status = lethe_cascade_add_batch(cascade, &hash, 1, 0, NULL);
    }
    assert_int_equal(status, LETHE_ECORRUPT);
    assert_int_equal(cascade->ranges[0].run_count, LETHE_CASCADE_MAX_RUNS - 1);
    bool more;
    assert_ok(lethe_cascade_work(cascade, 0, 0, &more));
    assert_false(more);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(store, &test_cascade_options, &cascade, NULL));
    test_cascade_work(cascade);
    assert_true(cascade->ranges[0].run_count < 16);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* --- syncs --- */

/* Damages the runs that the manifest on disk does not name, as a system does that drops what it
 * could not write. */
static void lose_runs_that_no_manifest_names(void) {
    static struct lethe_cascade_manifest manifest;
    assert_ok(lethe_cascade_manifest_read(store, &manifest));
    for (unsigned i = 0; i < cascade->range_count; i++) {
        for (unsigned j = 0; j < cascade->ranges[i].run_count; j++) {
            uint64_t id = cascade->ranges[i].runs[j]->facts.id;
            bool is_named = false;
            for (unsigned k = 0; k < manifest.ranges[i].run_count; k++)
                is_named |= manifest.ranges[i].runs[k].id == id;
            char path[LETHE_OS_PATH_BYTES];
            lethe_cascade_run_path(store, id, path);
            if (!is_named) test_cascade_flip(path, 100);
        }
    }
}

/* What follows a checkpoint whose n-th sync fails; returns false when it has fewer syncs. *held
 * becomes whether a second checkpoint may go through. */
static bool try_sync(unsigned at, bool *held, uint64_t *sequence) {
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    test_cascade_insert(cascade, 0, 23000);
    fault_operation = LETHE_OS_SYNC;
    operations = 0;
    fault_at = at;
    lethe_os_set_fault_hook(fail_once);
    lethe_status first = lethe_cascade_checkpoint(cascade, 1, NULL, 0);
    lethe_os_set_fault_hook(NULL);
    assert_int_equal(first, operations < at ? LETHE_OK : LETHE_EIO);
    lethe_hash hash = test_cascade_key(23000);
    *held = lethe_cascade_checkpoint(cascade, 2, NULL, 0) == LETHE_OK;
    lethe_status status = lethe_cascade_add_batch(cascade, &hash, 1, 0, NULL);
    assert_int_equal(status, *held ? LETHE_OK : LETHE_EIO);
    assert_int_equal(lethe_cascade_sync(cascade), *held ? LETHE_OK : LETHE_EIO);
    test_cascade_assert_has(cascade, 23000 + *held);
    lose_runs_that_no_manifest_names();
    assert_int_equal(lethe_cascade_close(cascade, NULL), *held ? LETHE_OK : LETHE_EIO);
    open_store(&folder);
    size_t note_bytes;
    lethe_cascade_last_checkpoint(cascade, sequence, NULL, &note_bytes);
    test_cascade_work(cascade);
    test_cascade_assert_has(cascade, 23000 + *held);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
    return first != LETHE_OK;
}

static void a_failed_sync_is_not_forgotten(void **state) {
    (void)state;
    bool held[200] = {false};
    uint64_t sequences[200] = {0};
    unsigned count = 1;
    while (try_sync(count, &held[count], &sequences[count]))
        assert_true(++count < 200);
    assert_true(count > 10);
    /* The last two are the manifest's: the file, which is written anew next time, and the folder
     * it was renamed in. Then it may be what the next open finds, though the checkpoint was
     * reported to have failed. */
    for (unsigned i = 1; i < count; i++) {
        assert_int_equal(held[i], i == count - 2);
        assert_int_equal(sequences[i], i == count - 2 ? 2 : i == count - 1);
    }
}

/* Goal: where only checkpoints count, one that failed leaves the last one or, where its manifest
 *       was in place, itself: exactly, and with its number. */
static void a_failed_checkpoint_leaves_a_whole_one(void **state) {
    (void)state;
    lethe_cascade_options options = test_cascade_options;
    options.durability = LETHE_CASCADE_CHECKPOINTED;
    lethe_status status = LETHE_EIO;
    unsigned left_new = 0;
    for (fault_at = 1; status != LETHE_OK; fault_at++) {
        struct test_folder folder;
        test_folder_make(&folder);
        (void)snprintf(store, sizeof store, "%s/store", folder.path);
        assert_ok(lethe_cascade_open(store, &options, &cascade, NULL));
        test_cascade_insert(cascade, 0, 10000);
        assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
        test_cascade_insert(cascade, 10000, 13000);
        test_cascade_work(cascade);
        fault_operation = LETHE_OS_SYNC;
        operations = 0;
        lethe_os_set_fault_hook(fail_once);
        status = lethe_cascade_checkpoint(cascade, 2, NULL, 0);
        lethe_os_set_fault_hook(NULL);
        test_cascade_work(cascade); /* merges go on, and keep what either manifest names */
        (void)lethe_cascade_close(cascade, NULL);
        assert_ok(lethe_cascade_open(store, &options, &cascade, NULL));
        uint64_t sequence;
        size_t note_bytes;
        lethe_cascade_last_checkpoint(cascade, &sequence, NULL, &note_bytes);
        test_cascade_assert_has(cascade, sequence == 1 ? 10000 : 23000);
        left_new += sequence == 2;
        assert_ok(lethe_cascade_close(cascade, NULL));
        test_folder_remove(&folder);
    }
    assert_true(fault_at > 8);
    assert_int_equal(left_new,
                     2); /* the one whose last sync failed, and the one that went through */
}

/* --- the log --- */

/* Goal: log files that a crash kept from being removed are removed, however many there are. */
static void many_log_files_that_are_not_in_use_are_removed(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    test_cascade_insert(cascade, 0, 40000);
    assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
    uint64_t first = cascade->log.files[0].first_key;
    assert_true(first > 1000);
    assert_ok(lethe_cascade_close(cascade, NULL));
    char path[LETHE_OS_PATH_BYTES];
    for (uint64_t i = 0; i < 1000; i++) {
        lethe_cascade_log_path(store, i, path);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_true(fputs("what was there", file) >= 0);
        fclose(file);
    }
    open_store(&folder);
    test_cascade_assert_has(cascade, 40000);
    for (uint64_t i = 0; i < 1000; i++) {
        lethe_cascade_log_path(store, i, path);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* Goal: what a full disk left of a record at the end of a log file does not hide the files that
 *       come after it.
 * Method: files may become a little longer than the log is, so that the system writes a part of
 *         a record. */
static void a_part_of_a_record_does_not_hide_what_comes_after(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    uint64_t end = 3000, file_bytes = cascade->log.file_bytes;
    test_cascade_insert(cascade, 0, end);
    while (cascade->log.tail_bytes + 30 >= file_bytes || cascade->log.tail_bytes + 100 < file_bytes)
        test_cascade_insert(cascade, end++, 1);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = cascade->log.tail_bytes + 2000;
    static lethe_hash hashes[1000];
    for (size_t i = 0; i < 1000; i++)
        hashes[i] = test_cascade_key(end + i);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t done;
    lethe_status status = lethe_cascade_add_batch(cascade, hashes, 1000, 0, &done);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_int_equal(status, LETHE_ENOSPACE);
    assert_int_equal(done, 0);
    unsigned files = cascade->log.file_count;
    for (int i = 0; i < 20; i++)
        test_cascade_insert(cascade, end++, 1);
    assert_int_equal(cascade->log.file_count, files + 1);
    test_cascade_copy(store, image);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(image, &test_cascade_options, &cascade, NULL));
    test_cascade_assert_has(cascade, end);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

int main(void) {
    test_cascade_tune();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_page_stops_only_what_needs_it),
        cmocka_unit_test(a_failed_read_stops_one_merge),
        cmocka_unit_test(damage_everywhere_ends_insertion_with_an_error),
        cmocka_unit_test(a_failed_sync_is_not_forgotten),
        cmocka_unit_test(a_failed_checkpoint_leaves_a_whole_one),
        cmocka_unit_test(many_log_files_that_are_not_in_use_are_removed),
        cmocka_unit_test(a_part_of_a_record_does_not_hide_what_comes_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
