/* Goal:   a store is closed without a word while RocksDB still has tables to write; and where its
 *         log can't be continued in a new file, commits fail, and nothing worse happens. Without
 *         its log, it is refused as damaged.
 * Method: RocksDB's threads serve all stores of a process, and one of them writes tables. This
 *         program stands in for fdatasync: it holds a table of one store, so that another
 *         store's are asked for and not begun. RocksDB of Debian 12 ends the process when one
 *         family of those that wait is asked for again. It stands in for open, too. */
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
#include "support/store.h"

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

static lethe_store *open_store(const struct test_folder *folder, const char *name) {
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", folder->path, name);
    return test_store_open(path, (lethe_store_options){.create = true});
}

/* Applies an operation of three MiB. Stores the value of a counter afterwards. */
static lethe_status try_count(lethe_store *store, const char *id, int64_t *value) {
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
    lethe_status status = lethe_store_apply(store, &operation, 1, &outcome, values);
    if (status == LETHE_OK) assert_int_equal(outcome, LETHE_OUTCOME_APPLIED);
    *value = values[CHANGES - 1];
    return status;
}

static void count(lethe_store *store, const char *id, int64_t expected) {
    int64_t value;
    assert_int_equal(try_count(store, id, &value), LETHE_OK);
    assert_int_equal(value, expected);
}

/* Counts until a table of the store is held. */
static void occupy(lethe_store *store) {
    atomic_store(&holding, false);
    atomic_store(&hold_tables, true);
    count(store, "first", 1);
    count(store, "second", 2);
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

/* Lets the tables go when RocksDB is being closed, or, where somebody waits for it before that,
 * after a long while. */
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
    lethe_store *busy = open_store(&folder, "busy"), *closed = open_store(&folder, "closed");
    occupy(busy);
    count(closed, "first", 1);
    atomic_store(&closing, false);
    pthread_t helper;
    assert_int_equal(pthread_create(&helper, NULL, release_later, NULL), 0);
    test_store_close(closed);
    assert_int_equal(pthread_join(helper, NULL), 0);
    test_store_close(busy);
    lethe_tune.store_log_bytes = before;

    closed = open_store(&folder, "closed");
    count(closed, "second", 2);
    test_store_close(closed);
    test_folder_remove(&folder);
}

static void survives_a_log_that_cannot_be_begun(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = open_store(&folder, "full");
    atomic_store(&refuse_logs, true);
    char id[16] = "0";
    int64_t value, counted = 0;
    lethe_status status = try_count(store, id, &value);
    while (status == LETHE_OK && counted < 20) {
        (void)snprintf(id, sizeof id, "%d", (int)++counted);
        status = try_count(store, id, &value);
    }
    assert_int_equal(status, LETHE_ENOSPACE);
    assert_int_equal(lethe_store_close(store, NULL), LETHE_ENOSPACE);
    atomic_store(&refuse_logs, false);

    store = open_store(&folder, "full");
    count(store, id, counted + 1);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void a_store_without_its_log_is_damaged(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = open_store(&folder, "cut");
    count(store, "first", 1);
    test_store_close(store);
    char path[300], pattern[320], backups[300];
    (void)snprintf(path, sizeof path, "%s/cut", folder.path);
    (void)snprintf(pattern, sizeof pattern, "%s/data/*.log", path);
    (void)snprintf(backups, sizeof backups, "%s/backups", folder.path);
    glob_t logs;
    assert_int_equal(glob(pattern, 0, NULL, &logs), 0);
    for (size_t i = 0; i < logs.gl_pathc; i++)
        assert_int_equal(unlink(logs.gl_pathv[i]), 0);
    globfree(&logs);

    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_int_equal(lethe_store_check(path, &health, NULL), LETHE_ECORRUPT);
    assert_int_equal(lethe_store_backup(path, backups, NULL, NULL), LETHE_ECORRUPT);
    lethe_store_options options = {.create = true};
    assert_int_equal(test_store_try_open(path, options, &store, NULL), LETHE_ECORRUPT);
    options = (lethe_store_options){.read_only = true};
    assert_int_equal(test_store_try_open(path, options, &store, NULL), LETHE_ECORRUPT);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(closes_while_tables_wait),
                                       cmocka_unit_test(survives_a_log_that_cannot_be_begun),
                                       cmocka_unit_test(a_store_without_its_log_is_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
