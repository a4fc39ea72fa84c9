/* Goal: a merge that another one overtakes, and a commit that comes in the middle of a record,
 *       leave manifests that are in order, and stores that open again with all that was
 *       acknowledged. So do manifests that earlier versions wrote out of order.
 * Method: the hook before each operation of a file is where another thread comes in: the test
 *         has it do there what the other thread does, or starts that thread and goes on when it
 *         is done or waits. Nothing depends on time. */
#include "support/test.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "filter/cascade/state.h"
#include "os/file.h"
#include "support/cascade.h"
#include "support/folder.h"

static lethe_cascade *cascade;
static char store[300], image[320];

static void open_store(const struct test_folder *folder) {
    (void)snprintf(store, sizeof store, "%s/store", folder->path);
    (void)snprintf(image, sizeof image, "%s/image", folder->path);
    assert_ok(lethe_cascade_open(store, &test_cascade_options, &cascade, NULL));
}

static void assert_levels_ascend(void) {
    for (unsigned i = 0; i < cascade->range_count; i++) {
        const struct lethe_cascade_range *range = &cascade->ranges[i];
        for (unsigned j = 1; j < range->run_count; j++)
            assert_true(range->runs[j - 1]->facts.level <= range->runs[j]->facts.level);
    }
}

/* What a kill at the moment of the copy leaves opens, and has that many keys. */
static void assert_image_has(uint64_t end) {
    lethe_cascade *reopened;
    assert_ok(lethe_cascade_open(image, &test_cascade_options, &reopened, NULL));
    test_cascade_assert_has(reopened, end);
    assert_ok(lethe_cascade_close(reopened, NULL));
}

/* --- merges --- */

static uint64_t inserted;
static bool is_inside, overtook;

static bool is_merging(const struct lethe_cascade_range *range) {
    for (unsigned i = 0; i < range->run_count; i++) {
        if (range->runs[i]->is_merging) return true;
    }
    return false;
}

/* While a merge reads its runs, so many keys come that newer runs are merged to a higher level
 * than its own. */
static int overtake(lethe_os_operation operation) {
    if (is_inside || overtook || operation != LETHE_OS_READ || !is_merging(&cascade->ranges[0]))
        return 0;
    is_inside = true;
    unsigned before = cascade->ranges[0].runs[0]->facts.level;
    test_cascade_insert(cascade, inserted, 60000);
    inserted += 60000;
    test_cascade_work(cascade);
    overtook = cascade->ranges[0].runs[0]->facts.level > before;
    assert_levels_ascend();
    assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
    test_cascade_copy(store, image);
    is_inside = false;
    return 0;
}

static void merges_that_overtake_each_other_keep_levels_in_order(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    inserted = 0;
    overtook = false;
    lethe_os_set_fault_hook(overtake);
    for (int i = 0; i < 40 && !overtook; i++) {
        test_cascade_insert(cascade, inserted, 1000);
        inserted += 1000;
        test_cascade_work(cascade);
    }
    lethe_os_set_fault_hook(NULL);
    assert_true(overtook);
    assert_levels_ascend();
    assert_image_has(inserted);
    test_cascade_work(cascade);
    test_cascade_assert_has(cascade, inserted);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_ok(lethe_cascade_open(store, &test_cascade_options, &cascade, NULL));
    test_cascade_assert_has(cascade, inserted);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* --- commits --- */

static pthread_t inserter, committer;
static atomic_bool has_committed;
static bool commit_began, has_failed;
static lethe_status commit_status;
static unsigned images;

static void *commit(void *context) {
    (void)context;
    commit_status = lethe_cascade_commit(cascade, NULL, false);
    atomic_store(&has_committed, true);
    return NULL;
}

/* Starts a commit in another thread; goes on when it is made, or waits. */
static void begin_commit(void) {
    if (!commit_began) assert_int_equal(pthread_create(&committer, NULL, commit, NULL), 0);
    commit_began = true;
    for (bool waits = false; !waits && !atomic_load(&has_committed); sched_yield()) {
        lethe_os_lock_take(&cascade->state);
        waits = cascade->waiting_commits > 0;
        lethe_os_lock_give(&cascade->state);
    }
}

/* Comes in when a record is being applied and a table is written out for it. */
static int come_in(lethe_os_operation operation) {
    if (!pthread_equal(pthread_self(), inserter) || operation != LETHE_OS_WRITE) return 0;
    if (cascade->is_applying && !commit_began) begin_commit();
    return 0;
}

/* The table can't be written, the record does not become whole, and its last keys are taken out
 * of the log again. Comes in before each write of that, and looks what a kill would leave. */
static int fail_and_come_in(lethe_os_operation operation) {
    if (!pthread_equal(pthread_self(), inserter) || operation != LETHE_OS_WRITE) return 0;
    if (is_inside) return 0;
    if (has_failed) {
        is_inside = true;
        begin_commit();
        test_cascade_copy(store, image);
        images++;
        assert_image_has(inserted + (images == 1 ? 4000 : 0));
        is_inside = false;
        return 0;
    }
    has_failed = cascade->is_applying;
    return has_failed ? ENOSPC : 0;
}

/* Inserts one record, of more keys than the tables that are free take, while the hook is there. */
static lethe_status insert_record(lethe_os_fault_hook hook, size_t *done) {
    static lethe_hash hashes[4000];
    for (size_t i = 0; i < 4000; i++)
        hashes[i] = test_cascade_key(inserted + i);
    inserter = pthread_self();
    atomic_store(&has_committed, false);
    commit_began = has_failed = false;
    images = 0;
    lethe_os_set_fault_hook(hook);
    lethe_status status = lethe_cascade_add_batch(cascade, hashes, 4000, 0, done);
    assert_true(commit_began);
    pthread_join(committer, NULL);
    lethe_os_set_fault_hook(NULL);
    assert_ok(commit_status);
    return status;
}

/* The manifest that was written while a record was under way counts all of it that is in, and no
 * more. */
static void assert_manifest_ends(uint64_t end) {
    static struct lethe_cascade_manifest manifest;
    assert_ok(lethe_cascade_manifest_read(store, &manifest));
    assert_int_equal(manifest.end_key, end);
    test_cascade_copy(store, image);
    assert_image_has(end);
}

static void a_commit_waits_for_the_end_of_the_record(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    test_cascade_insert(cascade, 0, 20000);
    inserted = 20000;
    size_t done;
    assert_ok(insert_record(come_in, &done));
    assert_manifest_ends(inserted + 4000);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void a_commit_waits_for_a_record_to_be_shortened(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    test_cascade_insert(cascade, 0, 20000);
    inserted = 20000;
    size_t done;
    assert_int_equal(insert_record(fail_and_come_in, &done), LETHE_ENOSPACE);
    assert_in_range(done, 1, 3999);
    assert_int_equal(images,
                     2); /* before the record goes, and before its first part is there again */
    assert_manifest_ends(inserted + done);
    test_cascade_insert(cascade, inserted + done, 4000);
    test_cascade_work(cascade);
    test_cascade_assert_has(cascade, inserted + done + 4000);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

/* --- what earlier versions left --- */

/* Goal: a store opens and merges on whose manifest has falling levels, or an end before what its
 *       runs cover. */
static void stores_of_earlier_versions_open(void **state) {
    (void)state;
    static struct lethe_cascade_manifest manifest;
    struct test_folder folder;
    test_folder_make(&folder);
    open_store(&folder);
    test_cascade_insert(cascade, 0, 30000);
    test_cascade_work(cascade);
    test_cascade_insert(cascade, 30000, 5000);
    assert_ok(lethe_cascade_checkpoint(cascade, 1, NULL, 0));
    test_cascade_copy(store, image);
    assert_ok(lethe_cascade_close(cascade, NULL));

    assert_ok(lethe_cascade_manifest_read(image, &manifest));
    unsigned raised = 0;
    uint64_t covered = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct lethe_cascade_manifest_range *range = &manifest.ranges[i];
        if (range->run_count > 1) range->runs[0].level = range->runs[1].level + 1, raised++;
        if (range->covered_key > covered) covered = range->covered_key;
    }
    assert_true(raised > 0 && covered > 100);
    manifest.end_key = covered - 100;
    bool is_in_place;
    assert_ok(lethe_cascade_manifest_write(image, &manifest, &is_in_place));
    assert_ok(lethe_cascade_open(image, &test_cascade_options, &cascade, NULL));
    assert_levels_ascend();
    test_cascade_assert_has(cascade, 35000);
    test_cascade_insert(cascade, 35000, 5000);
    test_cascade_work(cascade);
    assert_levels_ascend();
    test_cascade_assert_has(cascade, 40000);
    assert_ok(lethe_cascade_close(cascade, NULL));
    assert_image_has(40000);
    test_folder_remove(&folder);
}

int main(void) {
    test_cascade_tune();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_that_overtake_each_other_keep_levels_in_order),
        cmocka_unit_test(a_commit_waits_for_the_end_of_the_record),
        cmocka_unit_test(a_commit_waits_for_a_record_to_be_shortened),
        cmocka_unit_test(stores_of_earlier_versions_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
