/* Goal:   a reader in another process sees what was acknowledged, whatever a writer does meanwhile:
 *         values that never go back, of one moment, or an error; and never damage taken for an
 *         older state.
 * Method: files are taken away and put back at the very moment at which the reader has begun;
 *         records are removed behind Lethe's back; and a writer opens and closes beside readers
 *         that refresh and walk. */
#include "support/test.h"

#include <dirent.h>
#include <pthread.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/file.h"
#include "support/store.h"

enum { PATH_BYTES = 400, START_MS = 1000000000 };

static const lethe_store_options writing = {
    .window_ms = 60000, .error = 1e-9, .event_time = true, .create = true};

static void add_one(lethe_store *store, unsigned id, const char *key) {
    char name[16];
    (void)snprintf(name, sizeof name, "%u", id);
    assert_int_equal(test_store_apply(store, name, key, 1, START_MS), LETHE_OUTCOME_APPLIED);
}

/* The log of a store, by name; taken away as a writer does that has just flushed it. */
static struct {
    char log[PATH_BYTES], aside[PATH_BYTES];
    unsigned looks, taken_until;
} moved;

static void find_log(const char *folder) {
    char data[PATH_BYTES];
    (void)snprintf(data, sizeof data, "%s/data", folder);
    DIR *files = opendir(data);
    assert_non_null(files);
    moved.log[0] = '\0';
    off_t most = 0; /* one that was begun last may be empty */
    for (const struct dirent *file = readdir(files); file != NULL; file = readdir(files)) {
        if (strstr(file->d_name, ".log") == NULL) continue;
        struct stat status;
        assert_int_equal(fstatat(dirfd(files), file->d_name, &status, 0), 0);
        if (status.st_size <= most) continue;
        most = status.st_size;
        assert_true(snprintf(moved.log, PATH_BYTES, "%.200s/%.60s", data, file->d_name) > 0);
    }
    closedir(files);
    assert_true(moved.log[0] != '\0');
    assert_true(snprintf(moved.aside, PATH_BYTES, "%.200s/aside", folder) > 0);
    moved.looks = 0;
}

/* Asked when a reader has just begun to look. */
static int move_log(lethe_os_operation operation) {
    if (operation != LETHE_OS_READ) return 0;
    moved.looks++;
    if (moved.looks == 1) assert_int_equal(rename(moved.log, moved.aside), 0);
    if (moved.looks == moved.taken_until) assert_int_equal(rename(moved.aside, moved.log), 0);
    return 0;
}

/* Goal:   a log that is gone when the reader comes to it, as one that a writer has flushed,
 *         leads to another look and not to an older state. */
static void a_view_of_two_moments_is_looked_at_again(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *writer = test_store_open(folder.path, writing);
    add_one(writer, 1, "k");
    test_store_close(writer);
    writer = test_store_open(folder.path, writing);
    add_one(writer, 2, "k");
    find_log(folder.path);
    moved.taken_until = 2;
    lethe_store *reader;
    lethe_os_set_fault_hook(move_log);
    lethe_status status =
        test_store_try_open(folder.path, (lethe_store_options){.read_only = true}, &reader, NULL);
    lethe_os_set_fault_hook(NULL);
    assert_ok(status);
    assert_int_equal(test_store_value(reader, "k"), 2);

    add_one(writer, 3, "k");
    find_log(folder.path);
    moved.taken_until = 2;
    lethe_os_set_fault_hook(move_log);
    status = lethe_store_refresh(reader, NULL);
    lethe_os_set_fault_hook(NULL);
    assert_ok(status);
    assert_int_equal(test_store_value(reader, "k"), 3);
    test_store_close(reader);
    test_store_close(writer);
    test_folder_remove(&folder);
}

/* Makes a store whose last commits are in the log alone, as a kill leaves it: a copy of one that
 * is open. */
static void make_killed(const char *path, unsigned count) {
    struct test_folder live;
    char from[PATH_BYTES], to[PATH_BYTES], name[16];
    test_folder_make(&live);
    test_store_close(test_store_open(live.path, writing));
    lethe_store *writer = test_store_open(live.path, writing);
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%u", i);
        add_one(writer, i, name);
    }
    (void)snprintf(from, sizeof from, "%s/data", live.path);
    (void)snprintf(to, sizeof to, "%s/data", path);
    test_folder_copy(live.path, path);
    test_folder_copy(from, to);
    test_store_close(writer);
    test_folder_remove(&live);
}

/* Goal: what is missing for good is damage, and a reader that is open stays as it was. */
static void a_missing_log_is_damage(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    make_killed(folder.path, 3);
    lethe_store *reader = test_store_open_reader(folder.path);
    assert_int_equal(test_store_value(reader, "2"), 1);
    find_log(folder.path);
    assert_int_equal(rename(moved.log, moved.aside), 0);
    lethe_store *other;
    lethe_detail detail = {""};
    lethe_store_options reads = {.read_only = true};
    assert_int_equal(test_store_try_open(folder.path, reads, &other, &detail), LETHE_ECORRUPT);
    assert_non_null(strstr(detail.text, "was acknowledged"));
    assert_int_equal(test_store_value(reader, "2"), 1);
    test_store_close(reader);
    test_folder_remove(&folder);
}

/* Goal: whoever writes to a store that was opened to read only is told so. */
static void a_reader_says_that_it_only_reads(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *writer = test_store_open(folder.path, writing);
    add_one(writer, 1, "k");
    test_store_close(writer);
    lethe_change change = {.key = test_text("k"), .delta = 1};
    lethe_operation operation = {.id = test_text("2"), .changes = &change, .change_count = 1};
    lethe_bytes key = test_text("k");
    const int64_t value = 7;
    lethe_prepared *prepared;
    assert_ok(lethe_prepared_new(1, NULL, &prepared));
    for (unsigned call = 0; call < 5; call++) {
        lethe_store *reader = test_store_open_reader(folder.path);
        uint8_t outcome;
        uint64_t ticket;
        lethe_status status =
            call == 0 ? lethe_store_submit(reader, &operation, 1, NULL, 0, &outcome, NULL, &ticket)
            : call == 1 ? lethe_store_set(reader, &key, &value, 1)
            : call == 2 ? lethe_store_delete(reader, &key, 1, NULL)
            : call == 3 ? lethe_store_commit(reader)
                        : lethe_store_prepare(reader, &operation, 1, prepared);
        assert_int_equal(status, LETHE_EINVAL);
        test_store_explains(reader, "opened to read only");
        assert_int_equal(test_store_value(reader, "k"), 1);
        test_store_close(reader);
    }
    lethe_prepared_free(prepared);
    test_folder_remove(&folder);
}

/* Changes one record of a family with RocksDB alone: removes the first, or puts a value under
 * the empty key. */
static void tamper(const char *path, const char *family, const char *value, size_t value_size) {
    static const char *const names[] = {"default", "ids", "changes", "counters", "index"};
    enum { COUNT = sizeof names / sizeof names[0] };
    char data[PATH_BYTES], *message = NULL;
    (void)snprintf(data, sizeof data, "%s/data", path);
    rocksdb_options_t *options = rocksdb_options_create();
    const rocksdb_options_t *all[COUNT] = {options, options, options, options, options};
    rocksdb_column_family_handle_t *families[COUNT], *chosen = NULL;
    rocksdb_t *database =
        rocksdb_open_column_families(options, data, COUNT, names, all, families, &message);
    assert_null(message);
    for (unsigned i = 0; i < COUNT; i++) {
        if (strcmp(names[i], family) == 0) chosen = families[i];
    }
    rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
    rocksdb_readoptions_t *read = rocksdb_readoptions_create();
    rocksdb_iterator_t *iterator = rocksdb_create_iterator_cf(database, read, chosen);
    rocksdb_iter_seek_to_first(iterator);
    size_t size = 0;
    const char *key = rocksdb_iter_valid(iterator) ? rocksdb_iter_key(iterator, &size) : "";
    if (value == NULL) {
        rocksdb_delete_cf(database, write, chosen, key, size, &message);
    } else {
        rocksdb_put_cf(database, write, chosen, "", 0, value, value_size, &message);
    }
    assert_null(message);
    rocksdb_iter_destroy(iterator);
    rocksdb_readoptions_destroy(read);
    rocksdb_writeoptions_destroy(write);
    for (unsigned i = 0; i < COUNT; i++)
        rocksdb_column_family_handle_destroy(families[i]);
    rocksdb_close(database);
    rocksdb_options_destroy(options);
}

/* Goal: a reader believes neither tables nor a log that are not of its state. */
static void a_view_holds_what_its_state_speaks_of(void **state) {
    (void)state;
    static const char later[8] = {0, 0, 0, 0, 0, 0, 1, 0};
    static const struct {
        const char *family, *value;
    } cases[] = {{"changes", NULL}, {"counters", later}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        make_killed(folder.path, 3);
        lethe_store *reader = test_store_open_reader(folder.path);
        assert_int_equal(test_store_value(reader, "0"), 1);
        test_store_close(reader);
        tamper(folder.path, cases[i].family, cases[i].value, sizeof later);
        lethe_store_options reads = {.read_only = true};
        assert_int_equal(test_store_try_open(folder.path, reads, &reader, NULL), LETHE_ECORRUPT);
        test_folder_remove(&folder);
    }
}

/* A writer that comes and goes, and what it has been told is durable. Threads other than the
 * first note what is wrong, and end: an assertion of theirs would end the wrong one. */
struct traffic {
    const char *path;
    lethe_store *reader;
    _Atomic int64_t acknowledged;
    _Atomic bool done, failed;
};

static bool try_round(struct traffic *traffic, unsigned round) {
    enum { EACH = 5 };
    lethe_store *writer;
    if (test_store_try_open(traffic->path, writing, &writer, NULL) != LETHE_OK) return false;
    bool fine = true;
    for (unsigned i = 0; i < EACH && fine; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%u", 100 + round * EACH + i);
        uint8_t outcome;
        fine = test_store_try_apply(writer, name, "k", 1, START_MS, &outcome) == LETHE_OK;
        if (fine) atomic_fetch_add(&traffic->acknowledged, 1);
    }
    return lethe_store_close(writer, NULL) == LETHE_OK && fine;
}

static void *write_in_rounds(void *context) {
    struct traffic *traffic = context;
    for (unsigned round = 0; round < 12; round++) {
        if (!try_round(traffic, round)) atomic_store(&traffic->failed, true);
    }
    atomic_store(&traffic->done, true);
    return NULL;
}

static bool take_value(void *context, lethe_bytes key, int64_t value) {
    (void)key;
    *(int64_t *)context = value;
    return true;
}

static void *walk_all_along(void *context) {
    struct traffic *traffic = context;
    int64_t last = 0, value = 0;
    for (unsigned i = 0; i < 300; i++, last = value) {
        lethe_status status =
            lethe_store_each(traffic->reader, (lethe_bytes){0}, take_value, &value);
        if (status != LETHE_OK || value < last) atomic_store(&traffic->failed, true);
    }
    return NULL;
}

/* Whether a reader that is refreshed, and one that is opened, see all that was acknowledged, and
 * no less than `last`. */
static bool try_reading(struct traffic *traffic, int64_t *last) {
    int64_t acknowledged = atomic_load(&traffic->acknowledged), values[2] = {0};
    lethe_store_options reads = {.read_only = true};
    lethe_store *other;
    lethe_bytes key = test_text("k");
    bool found;
    if (lethe_store_refresh(traffic->reader, NULL) != LETHE_OK) return false;
    if (lethe_store_get(traffic->reader, &key, 1, &values[0], &found) != LETHE_OK) return false;
    if (test_store_try_open(traffic->path, reads, &other, NULL) != LETHE_OK) return false;
    bool fine = lethe_store_get(other, &key, 1, &values[1], &found) == LETHE_OK;
    fine = lethe_store_close(other, NULL) == LETHE_OK && fine;
    fine = fine && values[0] >= acknowledged && values[0] >= *last && values[1] >= values[0];
    *last = values[1];
    return fine;
}

/* Goal: with a writer that opens and closes, a reader's values never go back, nor do they miss
 *       what was acknowledged; a walk goes on while another thread refreshes. */
static void values_never_go_back(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *writer = test_store_open(folder.path, writing);
    add_one(writer, 1, "k");
    test_store_close(writer);
    struct traffic traffic = {
        .path = folder.path, .acknowledged = 1, .reader = test_store_open_reader(folder.path)};
    pthread_t rounds, walks;
    assert_int_equal(pthread_create(&rounds, NULL, write_in_rounds, &traffic), 0);
    assert_int_equal(pthread_create(&walks, NULL, walk_all_along, &traffic), 0);
    int64_t last = 0;
    bool fine = true;
    for (bool goes_on = true; goes_on && fine;) {
        goes_on = !atomic_load(&traffic.done);
        fine = try_reading(&traffic, &last);
    }
    pthread_join(rounds, NULL);
    pthread_join(walks, NULL);
    assert_true(fine && !traffic.failed);
    assert_int_equal(last, traffic.acknowledged);
    test_store_close(traffic.reader);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_of_two_moments_is_looked_at_again),
        cmocka_unit_test(a_missing_log_is_damage),
        cmocka_unit_test(a_reader_says_that_it_only_reads),
        cmocka_unit_test(a_view_holds_what_its_state_speaks_of),
        cmocka_unit_test(values_never_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
