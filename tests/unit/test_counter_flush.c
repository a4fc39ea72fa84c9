/* Goal:   a store is closed without a word while RocksDB still has tables to write; and where its log can't be
 *         continued in a new file, commits fail, and nothing worse happens. Without its log, it is refused as damaged.
 * Method: RocksDB's threads serve all stores of a process, and one of them writes tables. This program stands in
 *         for fdatasync: it holds a table of one store, so that another store's are asked for and not begun. RocksDB of
 *         Debian 12 ends the process when one family of those that wait is asked for again. It stands in for open, too. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/tunables.h"
#include "lethe/counter.h"
#include "support/folder.h"

enum { PATIENCE_MS = 5000, LONGEST_MS = 20000, CHANGES = 3000, KEY_BYTES = 1000 };

static atomic_bool hold_tables, holding, closing, refuse_logs;

static bool is_busy_table(int descriptor) {
    char link[64], path[512];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 5) return false;
    path[size] = '\0';
    return strcmp(path + size - 4, ".sst") == 0 && strstr(path, "/busy/data/") != NULL;
}

/* In place of the C library's, for RocksDB too. */
__attribute__((visibility("default"))) int fdatasync(int descriptor) {
    while (atomic_load(&hold_tables) && is_busy_table(descriptor)) {
        atomic_store(&holding, true);
        (void)usleep(1000);
    }
    return fsync(descriptor);
}

/* Likewise: no new log has room. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...) {
    size_t size = strlen(path);
    if (atomic_load(&refuse_logs) && (flags & O_CREAT) != 0 && size > 4 &&
        strcmp(path + size - 4, ".log") == 0) {
        errno = ENOSPC;
        return -1;
    }
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return openat(AT_FDCWD, path, flags, mode);
}

static lethe_counter *open_store(const struct test_folder *folder, const char *name) {
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", folder->path, name);
    lethe_counter_options options = {.create = true};
    lethe_counter *counter;
    lethe_detail detail;
    if (lethe_counter_open(path, &options, &counter, &detail) != LETHE_OK)
        fail_msg("%s", detail.text);
    return counter;
}

/* Applies an operation of three MiB. Stores the value of a counter afterwards. */
static lethe_status try_count(lethe_counter *counter, const char *id, int64_t *value) {
    static char keys[CHANGES][KEY_BYTES];
    static lethe_change changes[CHANGES];
    static int64_t values[CHANGES];
    for (int i = 0; i < CHANGES; i++) {
        memset(keys[i], 'x', KEY_BYTES);
        (void)snprintf(keys[i], KEY_BYTES, "%d", i); /* its zero belongs to the key */
        changes[i] = (lethe_change){.key = {keys[i], KEY_BYTES}, .delta = 1};
    }
    lethe_operation operation = {
        .id = {id, strlen(id)}, .changes = changes, .change_count = CHANGES};
    uint8_t outcome;
    lethe_status status = lethe_counter_apply(counter, &operation, 1, &outcome, values);
    if (status == LETHE_OK) assert_int_equal(outcome, LETHE_APPLIED);
    *value = values[CHANGES - 1];
    return status;
}

static void count(lethe_counter *counter, const char *id, int64_t expected) {
    int64_t value;
    assert_int_equal(try_count(counter, id, &value), LETHE_OK);
    assert_int_equal(value, expected);
}

/* Counts until a table of the store is held. */
static void occupy(lethe_counter *counter) {
    atomic_store(&holding, false);
    atomic_store(&hold_tables, true);
    count(counter, "first", 1);
    count(counter, "second", 2);
    for (unsigned waited_ms = 0; !atomic_load(&holding) && waited_ms < LONGEST_MS; waited_ms++) {
        (void)usleep(1000);
    }
    assert_true(atomic_load(&holding));
}

void __real_rocksdb_close(rocksdb_t *database);
void __wrap_rocksdb_close(rocksdb_t *database);
void __wrap_rocksdb_close(rocksdb_t *database) {
    atomic_store(&closing, true);
    __real_rocksdb_close(database);
}

/* Lets the tables go when RocksDB is being closed, or, where somebody waits for it before that, after a long while. */
static void *release_later(void *unused) {
    (void)unused;
    for (unsigned waited_ms = 0; !atomic_load(&closing) && waited_ms < PATIENCE_MS; waited_ms++) {
        (void)usleep(1000);
    }
    atomic_store(&hold_tables, false);
    return NULL;
}

static void closes_while_tables_wait(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    uint64_t before = lethe_tune.store_log_bytes;
    lethe_tune.store_log_bytes = 1 << 20;
    lethe_counter *busy = open_store(&folder, "busy"), *closed = open_store(&folder, "closed");
    occupy(busy);
    count(closed, "first", 1);
    atomic_store(&closing, false);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, release_later, NULL), 0);
    lethe_detail detail;
    if (lethe_counter_close(closed, &detail) != LETHE_OK) fail_msg("%s", detail.text);
    assert_int_equal(pthread_join(helper, NULL), 0);
    if (lethe_counter_close(busy, &detail) != LETHE_OK) fail_msg("%s", detail.text);
    lethe_tune.store_log_bytes = before;

    closed = open_store(&folder, "closed");
    count(closed, "second", 2);
    assert_int_equal(lethe_counter_close(closed, NULL), LETHE_OK);
    test_folder_remove(&folder);
}

static void survives_a_log_that_cannot_be_begun(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_store(&folder, "full");
    atomic_store(&refuse_logs, true);
    char id[16] = "0";
    int64_t value, counted = 0;
    lethe_status status = try_count(counter, id, &value);
    while (status == LETHE_OK && counted < 20) {
        (void)snprintf(id, sizeof id, "%d", (int)++counted);
        status = try_count(counter, id, &value);
    }
    assert_int_equal(status, LETHE_ENOSPACE);
    assert_int_equal(lethe_counter_close(counter, NULL), LETHE_ENOSPACE);
    atomic_store(&refuse_logs, false);

    counter = open_store(&folder, "full");
    count(counter, id, counted + 1);
    assert_int_equal(lethe_counter_close(counter, NULL), LETHE_OK);
    test_folder_remove(&folder);
}

static void a_store_without_its_log_is_damaged(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_counter *counter = open_store(&folder, "cut");
    count(counter, "first", 1);
    assert_int_equal(lethe_counter_close(counter, NULL), LETHE_OK);
    char store[300], pattern[320], backups[300];
    (void)snprintf(store, sizeof store, "%s/cut", folder.path);
    (void)snprintf(pattern, sizeof pattern, "%s/data/*.log", store);
    (void)snprintf(backups, sizeof backups, "%s/backups", folder.path);
    glob_t logs;
    assert_int_equal(glob(pattern, 0, NULL, &logs), 0);
    for (size_t i = 0; i < logs.gl_pathc; i++)
        assert_int_equal(unlink(logs.gl_pathv[i]), 0);
    globfree(&logs);

    lethe_counter_health health;
    assert_int_equal(lethe_counter_check(store, &health, NULL), LETHE_ECORRUPT);
    assert_int_equal(lethe_counter_backup(store, backups, NULL), LETHE_ECORRUPT);
    lethe_counter_options options = {.create = true};
    assert_int_equal(lethe_counter_open(store, &options, &counter, NULL), LETHE_ECORRUPT);
    options = (lethe_counter_options){.read_only = true};
    assert_int_equal(lethe_counter_open(store, &options, &counter, NULL), LETHE_ECORRUPT);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closes_while_tables_wait),
                                       cmocka_unit_test(survives_a_log_that_cannot_be_begun),
                                       cmocka_unit_test(a_store_without_its_log_is_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
