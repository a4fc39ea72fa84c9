/* Goal: replacing a file leaves the old or the new one, whatever fails, and nothing beside it. */
#include "support/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lethe/bloom.h"
#include "os/file.h"
#include "os/memory.h"

static char folder[] = "/tmp/lethe-test-XXXXXX";
static char path[64];

static int make_folder(void **state) {
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/filter", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static int count_files(void) {
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

static lethe_bloom *make_filter(const char *key) {
    lethe_bloom *filter;
    assert_ok(lethe_bloom_new(&LETHE_OPTIONS(lethe_bloom_options, .capacity = 100000), &filter));
    lethe_bloom_add(filter, key, strlen(key));
    return filter;
}

static bool file_has(const char *key) {
    lethe_bloom *filter;
    assert_ok(lethe_bloom_load_file(path, NULL, &filter, NULL));
    bool has = lethe_bloom_test(filter, key, strlen(key));
    lethe_bloom_free(filter);
    return has;
}

static int fault_at, fault_errno, operations;

static int fail_at(lethe_os_operation operation) {
    (void)operation;
    return operations++ == fault_at ? fault_errno : 0;
}

/* Method: fail the n-th operation of a save over an existing file, n = 0, 1, ... */
static void the_old_file_survives_each_failure(void **state) {
    (void)state;
    lethe_bloom *old = make_filter("old"), *new = make_filter("new");
    assert_ok(lethe_bloom_save_file(old, path, NULL));
    static const int errors[] = {ENOSPC, EIO};
    static const lethe_status expected[] = {LETHE_ENOSPACE, LETHE_EIO};
    for (int kind = 0; kind < 2; kind++) {
        lethe_status status = LETHE_EIO;
        int failures = 0;
        for (fault_at = 0; status != LETHE_OK; fault_at++) {
            operations = 0;
            fault_errno = errors[kind];
            lethe_os_set_fault_hook(fail_at);
            status = lethe_bloom_save_file(new, path, NULL);
            lethe_os_set_fault_hook(NULL);
            if (status != LETHE_OK) {
                failures++;
                assert_int_equal(status, expected[kind]);
                assert_int_equal(errno, errors[kind]);
            }
            assert_int_equal(count_files(), 1);
            /* The folder's sync comes after the rename: then the new file is there already. */
            assert_true(file_has("old") != file_has("new"));
            if (file_has("new")) assert_ok(lethe_bloom_save_file(old, path, NULL));
        }
        assert_true(failures >= 6);
    }
    lethe_bloom_free(old);
    lethe_bloom_free(new);
}

static void failed_reads_are_reported(void **state) {
    (void)state;
    lethe_bloom *filter = make_filter("x");
    assert_ok(lethe_bloom_save_file(filter, path, NULL));
    lethe_bloom_free(filter);
    lethe_status status = LETHE_EIO;
    int failures = 0;
    for (fault_at = 0; status != LETHE_OK; fault_at++) {
        operations = 0;
        fault_errno = EIO;
        lethe_os_set_fault_hook(fail_at);
        status = lethe_bloom_load_file(path, NULL, &filter, NULL);
        lethe_os_set_fault_hook(NULL);
        failures += status == LETHE_EIO;
        assert_true((filter != NULL) == (status == LETHE_OK));
        lethe_bloom_free(filter);
    }
    assert_true(failures >= 4);
}

static void what_is_not_a_file_is_refused(void **state) {
    (void)state;
    lethe_bloom *filter = make_filter("x"), *loaded;
    assert_int_equal(lethe_bloom_save_file(filter, folder, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_bloom_save_file(filter, "/dev/null", NULL), LETHE_EINVAL);
    assert_int_equal(lethe_bloom_save_file(filter, "/nonexistent/folder/f", NULL), LETHE_ENOTFOUND);
    assert_int_equal(lethe_bloom_load_file("/dev/zero", NULL, &loaded, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_bloom_load_file(folder, NULL, &loaded, NULL), LETHE_EINVAL);
    assert_int_equal(lethe_bloom_load_file("/nonexistent", NULL, &loaded, NULL), LETHE_ENOTFOUND);
    struct stat null;
    assert_int_equal(stat("/dev/null", &null), 0);
    assert_true(S_ISCHR(null.st_mode));
    lethe_bloom_free(filter);
}

/* Goal: a link stays a link, and the file keeps its mode. */
static void links_and_modes_are_kept(void **state) {
    (void)state;
    lethe_bloom *filter = make_filter("x");
    assert_ok(lethe_bloom_save_file(filter, path, NULL));
    assert_int_equal(chmod(path, 0640), 0);
    char link_path[80];
    snprintf(link_path, sizeof link_path, "%s/link", folder);
    assert_int_equal(symlink("filter", link_path), 0);
    assert_ok(lethe_bloom_save_file(filter, link_path, NULL));
    struct stat found;
    assert_int_equal(lstat(link_path, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(lstat(path, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    assert_int_equal(unlink(link_path), 0);
    lethe_bloom_free(filter);
}

static void a_header_can_be_peeked_at(void **state) {
    (void)state;
    lethe_bloom *filter = make_filter("x");
    assert_ok(lethe_bloom_save_file(filter, path, NULL));
    lethe_bloom_free(filter);
    lethe_file_info info = LETHE_INIT(lethe_file_info);
    assert_ok(lethe_file_peek(path, &info, NULL));
    assert_string_equal(info.type, "BLOM");
    assert_int_equal(info.version, 1);
    assert_int_equal(truncate(path, 39), 0);
    assert_int_equal(lethe_file_peek(path, &info, NULL), LETHE_ECORRUPT);
}

static void mapped_memory_is_zero_and_aligned(void **state) {
    (void)state;
    const size_t sizes[] = {1, 4096, 2 * 1024 * 1024, 5 * 1024 * 1024 + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unsigned char *block = lethe_os_map(sizes[i]);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (2 * 1024 * 1024), 0);
        assert_int_equal(block[0] | block[sizes[i] - 1], 0);
        memset(block, 1, sizes[i]);
        lethe_os_unmap(block, sizes[i]);
    }
    assert_null(lethe_os_map(PTRDIFF_MAX));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_old_file_survives_each_failure),
        cmocka_unit_test(failed_reads_are_reported),
        cmocka_unit_test(what_is_not_a_file_is_refused),
        cmocka_unit_test(links_and_modes_are_kept),
        cmocka_unit_test(a_header_can_be_peeked_at),
        cmocka_unit_test(mapped_memory_is_zero_and_aligned),
    };
    return cmocka_run_group_tests_name("file", tests, make_folder, remove_folder);
}
