/* Goal:   as of test_arguments.c, for what is on disk: cascades and saved files; and for hashes,
 *         ids, sinks and sources.
 * Method: a table of calls, one for each argument that each function needs. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/lethe.h"
#include "support/folder.h"
#include "support/refusals.h"
#include "support/reports.h"

static bool no_backup(void *context, const lethe_backup *backup) {
    (void)context;
    (void)backup;
    return false;
}

static bool go_on(void *context, uint64_t fingerprint, uint64_t count) {
    (void)context, (void)fingerprint, (void)count;
    return true;
}

static void cascades(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    const lethe_hash hash = {.low = 1, .high = 2};
    uint8_t present = 7;
    uint64_t count = 7, sequence = 7;
    size_t done = 7, note_bytes = 7;
    bool more = true;
    lethe_cascade *cascade, *results[3] = {ANYTHING, ANYTHING, ANYTHING};
    lethe_cascade_options no_size = {.capacity = 1000};
    lethe_cascade_stats stats = LETHE_INIT(lethe_cascade_stats), bad_stats = {.size = 8};
    lethe_detail detail;
    assert_ok(lethe_cascade_open(folder.path, NULL, &cascade, &detail));
    assert_string_equal(detail.text, "");

    lethe_cascade_health health = LETHE_INIT(lethe_cascade_health), bad_health = {.size = 1};
    lethe_backup bad_backup = {.size = 1};
    lethe_backup_pruned bad_pruned = {.size = 1};
    const struct refusal refusals[] = {
        REFUSAL(lethe_cascade_open(NULL, NULL, &results[0], NULL)),
        REFUSAL(lethe_cascade_open(folder.path, NULL, NULL, NULL)),
        REFUSAL(lethe_cascade_open(folder.path, &no_size, &results[1], NULL)),
        REFUSAL(lethe_cascade_open(
            folder.path, &LETHE_OPTIONS(lethe_cascade_options, .allocator = &half_allocator),
            &results[2], &detail)),
        REFUSAL(lethe_cascade_add_batch(NULL, &hash, 1, 0, &done)),
        REFUSAL(lethe_cascade_add_batch(cascade, NULL, 1, 0, &done)),
        REFUSAL(lethe_cascade_remove_batch(NULL, &hash, 1, 0, &done)),
        REFUSAL(lethe_cascade_remove_batch(cascade, NULL, 1, 0, &done)),
        REFUSAL(lethe_cascade_test_batch(NULL, &hash, 1, 0, &present)),
        REFUSAL(lethe_cascade_test_batch(cascade, NULL, 1, 0, &present)),
        REFUSAL(lethe_cascade_test_batch(cascade, &hash, 1, 0, NULL)),
        REFUSAL(lethe_cascade_count_batch(NULL, &hash, 1, 0, &count)),
        REFUSAL(lethe_cascade_count_batch(cascade, NULL, 1, 0, &count)),
        REFUSAL(lethe_cascade_count_batch(cascade, &hash, 1, 0, NULL)),
        REFUSAL(lethe_cascade_add_and_test_batch(NULL, &hash, 1, 0, &present, &done)),
        REFUSAL(lethe_cascade_add_and_test_batch(cascade, NULL, 1, 0, &present, &done)),
        REFUSAL(lethe_cascade_add_and_test_batch(cascade, &hash, 1, 0, NULL, &done)),
        REFUSAL(lethe_cascade_work(NULL, 0, 0, &more)),
        REFUSAL(lethe_cascade_work(cascade, 0, 0, NULL)),
        REFUSAL(lethe_cascade_sync(NULL)),
        REFUSAL(lethe_cascade_checkpoint(NULL, 1, NULL, 0)),
        REFUSAL(lethe_cascade_checkpoint(cascade, 1, NULL, 1)),
        REFUSAL(lethe_cascade_last_checkpoint(NULL, &sequence, NULL, &note_bytes)),
        REFUSAL(lethe_cascade_last_checkpoint(cascade, NULL, NULL, &note_bytes)),
        REFUSAL(lethe_cascade_last_checkpoint(cascade, &sequence, NULL, NULL)),
        REFUSAL(lethe_cascade_each(NULL, 0, go_on, NULL)),
        REFUSAL(lethe_cascade_each(cascade, 0, NULL, NULL)),
        REFUSAL(lethe_cascade_info(NULL, 0, &stats)),
        REFUSAL(lethe_cascade_info(cascade, 0, NULL)),
        REFUSAL(lethe_cascade_info(cascade, 0, &bad_stats)),
        REFUSAL(lethe_cascade_look(NULL, &stats, NULL, &note_bytes, NULL)),
        REFUSAL(lethe_cascade_look(folder.path, NULL, NULL, &note_bytes, NULL)),
        REFUSAL(lethe_cascade_look(folder.path, &bad_stats, NULL, &note_bytes, NULL)),
        REFUSAL(lethe_cascade_look(folder.path, &stats, NULL, NULL, NULL)),
        REFUSAL(lethe_cascade_check(NULL, &health, NULL)),
        REFUSAL(lethe_cascade_check(folder.path, NULL, NULL)),
        REFUSAL(lethe_cascade_check(folder.path, &bad_health, NULL)),
        REFUSAL(lethe_cascade_backup(NULL, "/nonexistent/b", NULL, NULL, NULL)),
        REFUSAL(lethe_cascade_backup(folder.path, NULL, NULL, NULL, NULL)),
        REFUSAL(lethe_cascade_backup(folder.path, "/nonexistent/b", "", NULL, NULL)),
        REFUSAL(lethe_cascade_backup(folder.path, "/nonexistent/b", "much too long a name", NULL,
                                     NULL)),
        REFUSAL(lethe_cascade_backup(folder.path, "/nonexistent/b", NULL, &bad_backup, NULL)),
        REFUSAL(lethe_cascade_restore(NULL, 0, folder.path, NULL, NULL)),
        REFUSAL(lethe_cascade_restore(folder.path, 0, NULL, NULL, NULL)),
        REFUSAL(lethe_cascade_restore(folder.path, 0, folder.path, &bad_backup, NULL)),
        REFUSAL(lethe_backup_list(NULL, no_backup, NULL, NULL)),
        REFUSAL(lethe_backup_list(folder.path, NULL, NULL, NULL)),
        REFUSAL(lethe_backup_prune(NULL, 1, NULL, NULL)),
        REFUSAL(lethe_backup_prune(folder.path, 0, NULL, NULL)),
        REFUSAL(lethe_backup_prune(folder.path, 1, &bad_pruned, NULL)),
    };
    CHECK_REFUSALS(refusals);
    for (size_t i = 0; i < 3; i++)
        assert_null(results[i]);
    char expected[sizeof detail.text];
    assert_true(
        snprintf(expected, sizeof expected, "cannot open %s: value out of range", folder.path) > 0);
    assert_string_equal(detail.text, expected);
    assert_int_equal(present, 7);
    assert_int_equal(count, 7);
    assert_int_equal(done, 0);
    assert_false(more);
    assert_int_equal(stats.entries, 0);
    assert_int_equal(cascade_stats(cascade, 0).inserted, 0);

    assert_int_equal(lethe_cascade_seed(NULL), 0);
    assert_ok(lethe_cascade_add_batch(cascade, NULL, 0, 0, NULL));
    assert_ok(lethe_cascade_test_batch(cascade, NULL, 0, 0, NULL));
    assert_ok(lethe_cascade_close(NULL, &detail));
    assert_string_equal(detail.text, "");
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void hashes_and_files(void **state) {
    (void)state;
    lethe_hash out = {.low = 7};
    const lethe_bytes nothing = {.data = NULL, .size = 3};
    lethe_hash_batch(1, NULL, 1, &out);
    lethe_hash_u64_batch(1, NULL, 1, &out);
    assert_int_equal(out.low, 7);
    lethe_hash_batch(1, &nothing, 1, NULL);
    lethe_hash_batch(1, &nothing, 1, &out);
    assert_int_equal(out.low, lethe_hash_bytes(1, "", 0).low);

    assert_null((void *)(uintptr_t)lethe_source_from_memory(NULL).read);
    assert_null((void *)(uintptr_t)lethe_sink_to_memory(NULL).write);
    lethe_memory_reader beyond = {.data = "abc", .size = 3, .position = 4};
    lethe_memory_reader missing = {.data = NULL, .size = 3};
    assert_null((void *)(uintptr_t)lethe_source_from_memory(&beyond).read);
    assert_null((void *)(uintptr_t)lethe_source_from_memory(&missing).read);
    lethe_memory_writer_free(NULL);

    lethe_file_info info = LETHE_INIT(lethe_file_info), small = {.size = 8};
    lethe_detail detail = {""};
    const lethe_bytes field = {.data = "a", .size = 1};
    char id[8];
    size_t size;
    const struct refusal refusals[] = {
        REFUSAL(lethe_id_join(NULL, 1, id, sizeof id, &size)),
        REFUSAL(lethe_id_join(&nothing, 1, id, sizeof id, &size)),
        REFUSAL(lethe_id_join(&field, 0, id, sizeof id, &size)),
        REFUSAL(lethe_id_join(&field, 1, NULL, sizeof id, &size)),
        REFUSAL(lethe_id_join(&field, 1, id, sizeof id, NULL)),
        REFUSAL(lethe_file_peek(NULL, &info, &detail)),
        REFUSAL(lethe_file_peek("/dev/null", NULL, NULL)),
        REFUSAL(lethe_file_peek("/dev/null", &small, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_string_equal(detail.text, "no file is named");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cascades),
        cmocka_unit_test(hashes_and_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
