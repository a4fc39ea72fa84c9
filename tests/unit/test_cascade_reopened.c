/* Goal:   a cascade that ended uncleanly relies on nothing that only memory holds: what its log has
 *         beyond the manifest is written again and synced before anything is built upon it, and no
 *         file goes before what replaces it stays.
 * Method: a process inserts and ends; what the next one does to the files is looked at, with
 *         syncs and writes that fail. What a power cut leaves of it all is the simulator's part
 *         (tests/simulation/store/cascade.c). */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lethe/cascade.h"
#include "os/file.h"
#include "support/folder.h"

enum { KEYS = 3000, LOG_BYTES = 1 << 20 };

static const lethe_cascade_options options = LETHE_OPTIONS(
    lethe_cascade_options, .capacity = 1000000, .error = 1e-10, .memory_bytes = 1 << 20);

static void hash_keys(lethe_hash hashes[KEYS]) {
    for (size_t i = 0; i < KEYS; i++)
        hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, i);
}

/* Closes a cascade with the first half of the keys, and leaves the second in the log without a
 * word. */
static void leave(const char *folder) {
    pid_t child = fork();
    if (child == 0) {
        static lethe_hash hashes[KEYS];
        lethe_cascade *cascade;
        hash_keys(hashes);
        bool fails =
            lethe_cascade_open(folder, &options, &cascade, NULL) != LETHE_OK ||
            lethe_cascade_add_batch(cascade, hashes, KEYS / 2, 0, NULL) != LETHE_OK ||
            lethe_cascade_close(cascade, NULL) != LETHE_OK ||
            lethe_cascade_open(folder, &options, &cascade, NULL) != LETHE_OK ||
            lethe_cascade_add_batch(cascade, hashes + KEYS / 2, KEYS / 2, 0, NULL) != LETHE_OK;
        _exit(fails);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void assert_has_all(lethe_cascade *cascade) {
    static lethe_hash hashes[KEYS];
    static uint64_t counts[KEYS];
    hash_keys(hashes);
    assert_ok(lethe_cascade_count_batch(cascade, hashes, KEYS, 0, counts));
    for (size_t i = 0; i < KEYS; i++)
        assert_int_equal(counts[i], 1);
}

static struct {
    lethe_os_operation operation;
    unsigned long passes; /* so many are done before all fail */
} fault;

static int meet_fault(lethe_os_operation operation) {
    if (operation != fault.operation) return 0;
    if (fault.passes == 0) return EIO;
    fault.passes--;
    return 0;
}

/* Opens it where operations fail after so many. */
static void expect_refused(const char *folder, lethe_os_operation operation, unsigned long passes) {
    lethe_cascade *cascade;
    fault.operation = operation;
    fault.passes = passes;
    lethe_os_set_fault_hook(meet_fault);
    lethe_status status = lethe_cascade_open(folder, &options, &cascade, NULL);
    lethe_os_set_fault_hook(NULL);
    assert_int_equal(status, LETHE_EIO);
}

static void path_in(const struct test_folder *folder, const char *name, char out[512]) {
    (void)snprintf(out, 512, "%s/%s", folder->path, name);
}

static size_t read_file(const char *path, unsigned char *out, struct stat *facts) {
    int descriptor = open(path, O_RDONLY);
    assert_true(descriptor >= 0);
    assert_int_equal(fstat(descriptor, facts), 0);
    ssize_t got = read(descriptor, out, LOG_BYTES);
    (void)close(descriptor);
    assert_true(got > 0 && got < LOG_BYTES);
    return (size_t)got;
}

static void what_is_replayed_is_written_again(void **state) {
    (void)state;
    static unsigned char before[LOG_BYTES], after[LOG_BYTES];
    struct test_folder folder;
    struct stat old, new;
    char path[512];
    lethe_cascade *cascade;
    test_folder_make(&folder);
    leave(folder.path);
    path_in(&folder, "log-0000000000000000", path);
    size_t size = read_file(path, before, &old);
    /* Where it can't be made safe nothing is opened, and the log is as it was. */
    expect_refused(folder.path, LETHE_OS_WRITE, 0);
    expect_refused(folder.path, LETHE_OS_SYNC, 1);
    expect_refused(folder.path, LETHE_OS_RENAME, 0);
    assert_int_equal(read_file(path, after, &new), size);
    assert_int_equal(new.st_ino, old.st_ino);
    assert_memory_equal(before, after, size);
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    assert_int_equal(read_file(path, after, &new), size);
    assert_memory_equal(before, after, size);
    assert_int_not_equal(new.st_ino, old.st_ino);
    assert_has_all(cascade);
    assert_ok(lethe_cascade_close(cascade, NULL));
    /* After a clean end there is nothing to write again. */
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    (void)read_file(path, after, &old);
    assert_int_equal(new.st_ino, old.st_ino);
    assert_has_all(cascade);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static void make_file(const char *path) {
    int descriptor = open(path, O_WRONLY | O_CREAT, 0666);
    assert_true(descriptor >= 0 && close(descriptor) == 0);
}

static void runs_stay_until_the_manifest_does(void **state) {
    (void)state;
    struct test_folder folder;
    char run[512], half[512];
    lethe_cascade *cascade;
    test_folder_make(&folder);
    leave(folder.path);
    path_in(&folder, "run-00000000000fffff", run);
    path_in(&folder, "log-0000000000000000.abcdef.tmp", half);
    make_file(run);
    make_file(half);
    expect_refused(folder.path, LETHE_OS_SYNC, 0);
    assert_int_equal(access(run, F_OK), 0);
    assert_ok(lethe_cascade_open(folder.path, &options, &cascade, NULL));
    assert_int_not_equal(access(run, F_OK), 0);
    assert_int_not_equal(access(half, F_OK), 0);
    assert_has_all(cascade);
    assert_ok(lethe_cascade_close(cascade, NULL));
    test_folder_remove(&folder);
}

static unsigned syncs;

static int count_syncs(lethe_os_operation operation) {
    syncs += operation == LETHE_OS_SYNC;
    return 0;
}

static unsigned count_syncs_of_opening(const char *folder) {
    lethe_cascade *cascade;
    syncs = 0;
    lethe_os_set_fault_hook(count_syncs);
    assert_ok(lethe_cascade_open(folder, &options, &cascade, NULL));
    lethe_os_set_fault_hook(NULL);
    unsigned of_opening = syncs;
    assert_has_all(cascade);
    assert_ok(lethe_cascade_close(cascade, NULL));
    return of_opening;
}

static void a_log_that_goes_may_not_come_back(void **state) {
    (void)state;
    struct test_folder folder;
    char log[512];
    test_folder_make(&folder);
    leave(folder.path);
    path_in(&folder, "log-00000000000fffff", log);
    (void)count_syncs_of_opening(folder.path);
    const unsigned usual = count_syncs_of_opening(folder.path);
    /* One more, because a name went. */
    make_file(log);
    expect_refused(folder.path, LETHE_OS_SYNC, usual);
    make_file(log);
    assert_int_equal(count_syncs_of_opening(folder.path), usual + 1);
    assert_int_not_equal(access(log, F_OK), 0);
    test_folder_remove(&folder);
}

static void append(const char *path, const char *bytes) {
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    assert_true(fputs(bytes, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A record behind one that a power cut has lost is cut off. If it came back after new keys took the
 * lost ones' place, it would be taken for what follows them. */
static void what_is_cut_off_may_not_come_back(void **state) {
    (void)state;
    static unsigned char bytes[LOG_BYTES];
    struct test_folder folder;
    struct stat facts;
    char log[512];
    test_folder_make(&folder);
    leave(folder.path);
    path_in(&folder, "log-0000000000000000", log);
    (void)count_syncs_of_opening(folder.path);
    size_t size = read_file(log, bytes, &facts);
    append(log, "half of a record");
    /* The folder's, then the log's. */
    expect_refused(folder.path, LETHE_OS_SYNC, 1);
    assert_int_equal(read_file(log, bytes, &facts), size);
    /* Also the next process: what it finds may not have been synced. */
    expect_refused(folder.path, LETHE_OS_SYNC, 1);
    assert_int_equal(count_syncs_of_opening(folder.path), 2);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_replayed_is_written_again),
        cmocka_unit_test(runs_stay_until_the_manifest_does),
        cmocka_unit_test(a_log_that_goes_may_not_come_back),
        cmocka_unit_test(what_is_cut_off_may_not_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
