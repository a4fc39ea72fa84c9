/* Goal:   a store that cannot be made leaves nothing behind, what was there before stays as it was,
 *         and of a store whose making was interrupted readers say so.
 * Method: options that are refused only once the database is there, in folders that are missing,
 *         empty, begun, or a store; databases without a state, as a kill leaves them; what is left
 *         of stores whose database was lost; another process that comes
 *         meanwhile; and kills at each step of taking a store back. */
#include "support/test.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"
#include "support/store.h"

static struct test_folder folder;
static char path[300], lock[320], data[320], backups[300], manifest[320];

/* The window does not fit; and the ledger's fingerprints would be too long. */
static const lethe_store_options refused[] = {
    {.create = true, .max_memory_bytes = 1 << 16, .capacity = UINT64_C(1) << 30},
    {.create = true, .forever = LETHE_SWITCH_ON, .ledger_error = 1e-12},
};
enum { REFUSED = sizeof refused / sizeof refused[0] };

/* The process is killed at one of the steps by which a store is taken back. */
static bool is_unmaking;
static unsigned steps_left = UINT_MAX;
enum { KILLED = 9 };

static void step(void) {
    if (is_unmaking && steps_left-- == 0) _exit(KILLED);
}

int __real_unlink(const char *name);
int __wrap_unlink(const char *name);
int __wrap_unlink(const char *name) {
    step();
    return __real_unlink(name);
}

int __real_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags);
int __wrap_unlinkat(int at, const char *name, int flags) {
    step();
    return __real_unlinkat(at, name, flags);
}

int __real_rmdir(const char *name);
int __wrap_rmdir(const char *name);
int __wrap_rmdir(const char *name) {
    step();
    return __real_rmdir(name);
}

void __real_lethe_disk_unmake(lethe_disk *disk);
void __wrap_lethe_disk_unmake(lethe_disk *disk);
void __wrap_lethe_disk_unmake(lethe_disk *disk) {
    is_unmaking = true;
    __real_lethe_disk_unmake(disk);
    is_unmaking = false;
}

/* Becomes true as soon as a lock was removed: another process has made one at once. */
static bool others_wait, others_came;

bool __real_lethe_os_remove(const char *removed);
bool __wrap_lethe_os_remove(const char *removed);
bool __wrap_lethe_os_remove(const char *removed) {
    bool done = __real_lethe_os_remove(removed);
    if (!others_wait || strcmp(removed, lock) != 0) return done;
    FILE *file = fopen(lock, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    others_came = true;
    return done;
}

static int begin(void **state) {
    (void)state;
    test_folder_make(&folder);
    (void)snprintf(path, sizeof path, "%s/store", folder.path);
    (void)snprintf(lock, sizeof lock, "%s/lethe.lock", path);
    (void)snprintf(data, sizeof data, "%s/data", path);
    (void)snprintf(manifest, sizeof manifest, "%s/ledger/manifest", path);
    (void)snprintf(backups, sizeof backups, "%s/backups", folder.path);
    return 0;
}

static int end(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static lethe_os_folder_state look(void) {
    lethe_os_folder_state state;
    assert_ok(lethe_os_folder_look(path, &state));
    return state;
}

static void refuse(unsigned which) {
    lethe_store *store;
    lethe_detail detail = {""};
    assert_int_not_equal(test_store_try_open(path, refused[which], &store, &detail), LETHE_OK);
    assert_null(store);
    assert_string_not_equal(detail.text, "");
}

static void a_store_that_is_refused_is_taken_back(void **state) {
    (void)state;
    for (unsigned i = 0; i < REFUSED; i++) {
        refuse(i);
        assert_int_equal(look(), LETHE_OS_MISSING);
    }
}

/* Runs in a process of its own; returns its exit status. */
static int run(void (*work)(unsigned number), unsigned number) {
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        work(number);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void refuse_until(unsigned steps) {
    lethe_store *store;
    steps_left = steps;
    (void)!test_store_try_open(path, refused[steps % REFUSED], &store, NULL);
}

static void make_again(unsigned forever) {
    lethe_store *store;
    lethe_store_options options = {.create = true};
    if (forever) options.forever = LETHE_SWITCH_ON;
    if (test_store_try_open(path, options, &store, NULL) != LETHE_OK) _exit(1);
    if (test_store_add(store, "a", 0) != LETHE_OUTCOME_APPLIED) _exit(2);
    test_store_close(store);
}

/* The first test: no process may have begun RocksDB's threads before it forks. */
static void a_kill_while_it_is_taken_back_does_no_harm(void **state) {
    (void)state;
    enum { MOST = 400 };
    unsigned killed = 0;
    for (unsigned steps = 0; steps < MOST && killed + REFUSED > steps; steps++) {
        killed += run(refuse_until, steps) == KILLED;
        int status = run(make_again, steps % REFUSED);
        if (status != 0) fail_msg("killed at step %u: status %d", steps, status);
        test_folder_remove_tree(path);
    }
    assert_true(killed > 10 && killed < MOST - REFUSED);
}

static void who_comes_meanwhile_keeps_the_lock(void **state) {
    (void)state;
    others_wait = true;
    refuse(0);
    others_wait = false;
    assert_true(others_came);
    assert_int_equal(access(lock, F_OK), 0);
}

static void a_folder_that_was_there_stays(void **state) {
    (void)state;
    assert_ok(lethe_os_folder_make(path));
    for (unsigned i = 0; i < REFUSED; i++) {
        refuse(i);
        assert_int_equal(look(), LETHE_OS_EMPTY);
    }
    lethe_store *store = test_store_open(path, (lethe_store_options){.create = true});
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    for (unsigned i = 0; i < REFUSED; i++) {
        refuse(i);
        store = test_store_open(path, (lethe_store_options){0});
        assert_int_equal(test_store_value(store, "k"), 1);
        assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_DUPLICATE);
        test_store_close(store);
    }
}

/* Every reader says these words. */
static void expect_readers_to_say(const char *words) {
    lethe_store *store;
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    lethe_backup backup = LETHE_INIT(lethe_backup);
    lethe_detail details[3] = {{""}};
    assert_int_equal(
        test_store_try_open(path, (lethe_store_options){.read_only = true}, &store, &details[0]),
        LETHE_ENOTFOUND);
    assert_int_equal(lethe_store_check(path, &health, &details[1]), LETHE_ENOTFOUND);
    assert_int_equal(lethe_store_backup(path, backups, &backup, &details[2]), LETHE_ENOTFOUND);
    for (unsigned i = 0; i < 3; i++) {
        if (strstr(details[i].text, words) == NULL) fail_msg("%u: %s", i, details[i].text);
        assert_non_null(strstr(details[i].text, path));
    }
}

static void making_that_was_interrupted_is_told(void **state) {
    (void)state;
    lethe_disk *disk;
    expect_readers_to_say("there is no store in");
    assert_ok(lethe_disk_open(path, LETHE_DISK_WRITE, true, NULL, &disk, NULL));
    expect_readers_to_say("is still being made");
    lethe_disk_close(disk);
    expect_readers_to_say("was interrupted");
    refuse(0); /* what another process began stays */
    expect_readers_to_say("was interrupted");
    test_folder_remove_tree(data);
    expect_readers_to_say("was interrupted");
    refuse(1);
    assert_int_equal(access(lock, F_OK), 0);
    expect_readers_to_say("was interrupted");
    lethe_store *store = test_store_open(path, (lethe_store_options){.create = true});
    assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
}

/* Both times: the first refusal leaves what the second one is told by. */
static void lost_data_are_not_made_anew(void **state) {
    (void)state;
    for (unsigned forever = 0; forever < 2; forever++) {
        lethe_store_options options = {.create = true};
        if (forever) options.forever = LETHE_SWITCH_ON;
        lethe_store *store = test_store_open(path, options);
        assert_int_equal(test_store_add(store, "a", 0), LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        test_folder_remove_tree(data);
        expect_readers_to_say("has lost its data");
        for (unsigned i = 0; i < 2; i++) {
            lethe_detail detail = {""};
            assert_int_equal(test_store_try_open(path, options, &store, &detail), LETHE_ECORRUPT);
            assert_non_null(strstr(detail.text, "restore a backup"));
        }
        assert_int_equal(access(manifest, F_OK), forever ? 0 : -1);
        test_folder_remove_tree(path);
    }
}

/* Goal:   what is acknowledged does not rest on a name that a power cut may take: the process that
 *         gave the database its name may have been killed before the folder was synced. */
static int fail_syncs(lethe_os_operation operation) {
    return operation == LETHE_OS_SYNC ? EIO : 0;
}

static void who_finds_a_store_syncs_its_name(void **state) {
    (void)state;
    lethe_store_options options = {.create = true};
    lethe_detail detail = {""};
    lethe_store *store = test_store_open(path, options);
    test_store_close(store);
    lethe_os_set_fault_hook(fail_syncs);
    lethe_status status = test_store_try_open(path, options, &store, &detail);
    lethe_os_set_fault_hook(NULL);
    assert_int_equal(status, LETHE_EIO);
    assert_non_null(strstr(detail.text, "cannot open"));
    store = test_store_open(path, options);
    test_store_close(store);
    test_folder_remove_tree(path);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(a_kill_while_it_is_taken_back_does_no_harm),
        TEST(a_store_that_is_refused_is_taken_back),
        TEST(who_comes_meanwhile_keeps_the_lock),
        TEST(a_folder_that_was_there_stays),
        TEST(making_that_was_interrupted_is_told),
        TEST(lost_data_are_not_made_anew),
        TEST(who_finds_a_store_syncs_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
