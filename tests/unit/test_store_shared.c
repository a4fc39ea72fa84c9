/* Goal:   several processes and threads share a store as it promises: one writer, any number of
 *         readers, backups, and operations of several threads that are each applied once.
 * Method: a second process holds the store; readers are refreshed beside a writer; threads race
 *         with the same ids. */
#include "support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/store.h"

enum { START_MS = 1000000000, WINDOW_MS = 60000 };

static const lethe_store_options usual = {
    .window_ms = WINDOW_MS, .error = 1e-9, .event_time = true, .create = true};

static void a_second_writer_is_refused(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the thread sanitizer can't follow a fork of a process that has threads */
#endif
    struct test_folder folder;
    test_folder_make(&folder);
    int ready[2], leave[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(leave), 0);
    pid_t child = fork();
    if (child == 0) {
        lethe_store *own;
        char byte = test_store_try_open(folder.path, usual, &own, NULL) == LETHE_OK ? 'y' : 'n';
        if (write(ready[1], &byte, 1) != 1 || read(leave[0], &byte, 1) != 1) _exit(1);
        _exit(0); /* as a process ends that was killed: without closing */
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    lethe_store *store;
    lethe_detail detail = {""};
    assert_int_equal(test_store_try_open(folder.path, usual, &store, &detail), LETHE_EBUSY);
    char holder[32];
    snprintf(holder, sizeof holder, "process %ld ", (long)child);
    assert_non_null(strstr(detail.text, holder));
    lethe_store_health health = LETHE_INIT(lethe_store_health);
    assert_ok(lethe_store_check(folder.path, &health, NULL)); /* as of one moment */
    assert_int_equal(write(leave[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    store = test_store_open(folder.path, usual);
    test_store_close(store);
    test_folder_remove(&folder);
}

static void readers_follow_the_writer(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *writer = test_store_open(folder.path, usual);
    assert_int_equal(test_store_apply(writer, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    lethe_store *reader = test_store_open(folder.path, (lethe_store_options){.read_only = true});
    assert_int_equal(test_store_value(reader, "k"), 1);
    char id[16];
    for (unsigned i = 0; i < 20; i++) {
        sprintf(id, "r%u", i);
        assert_int_equal(test_store_apply(writer, id, "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
        assert_int_equal(test_store_value(reader, "k"), 1 + i);
        assert_ok(lethe_store_refresh(reader, NULL));
        assert_int_equal(test_store_value(reader, "k"), 2 + i);
    }
    uint8_t outcome;
    assert_int_equal(test_store_try_apply(reader, "x", "k", 1, 0, &outcome), LETHE_EINVAL);
    lethe_store_stats stats = test_store_stats(reader);
    assert_int_equal(stats.applied, 21);
    assert_int_equal(stats.period_count, 1);
    assert_int_equal(stats.periods[0].ids, 21);
    test_store_close(reader);
    test_store_close(writer);
    test_folder_remove(&folder);
}

static void backups_bring_a_store_back(void **state) {
    (void)state;
    struct test_folder folder, other;
    test_folder_make(&folder);
    test_folder_make(&other);
    char path[300], backups[300], restored[300];
    snprintf(path, sizeof path, "%s/store", folder.path);
    snprintf(backups, sizeof backups, "%s/backups", folder.path);
    snprintf(restored, sizeof restored, "%s/restored", folder.path);
    assert_int_equal(lethe_store_restore(backups, 0, restored, NULL, NULL), LETHE_ENOTFOUND);
    for (unsigned round = 0; round < 2; round++) {
        lethe_store *store = test_store_open(path, usual);
        assert_int_equal(test_store_apply(store, round == 0 ? "a" : "b", "k", 1, START_MS),
                         LETHE_OUTCOME_APPLIED);
        test_store_close(store);
        assert_ok(lethe_store_backup(path, backups, NULL, NULL));
    }
    assert_int_equal(lethe_store_restore(backups, 0, path, NULL, NULL), LETHE_EINVAL);
    assert_ok(lethe_store_restore(backups, 0, restored, NULL, NULL));
    lethe_store *store = test_store_open(restored, usual);
    assert_int_equal(test_store_value(store, "k"), 2);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS), LETHE_OUTCOME_DUPLICATE);
    test_store_close(store);
    test_folder_remove(&folder);
    test_folder_remove(&other);
}

struct racer {
    lethe_store *store;
    unsigned number;
};

static void *race(void *context) {
    const struct racer *racer = context;
    uintptr_t applied = 0;
    for (unsigned i = 0; i < 200; i++) {
        char id[16];
        sprintf(id, "%u", i);
        uint8_t outcome = UINT8_MAX;
        if (test_store_try_apply(racer->store, id, "k", 1, START_MS, &outcome) != LETHE_OK)
            return (void *)UINTPTR_MAX;
        applied += outcome == LETHE_OUTCOME_APPLIED;
    }
    return (void *)applied;
}

static void racing_duplicates_are_applied_once(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    for (unsigned exact = 0; exact < 2; exact++) {
        lethe_store_options options = usual;
        options.exact = exact == 1;
        char path[300];
        snprintf(path, sizeof path, "%s/%u", folder.path, exact);
        lethe_store *store = test_store_open(path, options);
        pthread_t threads[4];
        struct racer racer = {.store = store};
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racer), 0);
        }
        uintptr_t total = 0;
        for (unsigned i = 0; i < 4; i++) {
            void *applied;
            assert_int_equal(pthread_join(threads[i], &applied), 0);
            total += (uintptr_t)applied;
        }
        assert_int_equal(total, 200);
        assert_int_equal(test_store_value(store, "k"), 200);
        test_store_close(store);
    }
    test_folder_remove(&folder);
}

/* A folder that was named from where the process was then means the same later. */
static void a_process_may_change_its_folder(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder.path), 0);
    lethe_store *store = test_store_open("here", usual);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(chdir(folder.path), 0);
    test_store_close(store);
    store = test_store_open("here", usual);
    assert_int_equal(test_store_value(store, "k"), 2);
    test_store_close(store);
    assert_int_equal(chdir(before), 0);
    test_folder_remove(&folder);
}

/* A store that was moved while it was open is not written, can be closed, and opened again. */
static void a_moved_store_is_opened_again(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[300], away[300];
    snprintf(path, sizeof path, "%s/here", folder.path);
    snprintf(away, sizeof away, "%s/away", folder.path);
    lethe_store *store = test_store_open(path, usual);
    assert_int_equal(test_store_apply(store, "a", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    assert_int_equal(rename(path, away), 0);
    uint8_t outcome;
    assert_int_equal(test_store_try_apply(store, "b", "k", 1, START_MS, &outcome), LETHE_EIO);
    assert_int_equal(lethe_store_close(store, NULL), LETHE_EIO);
    assert_int_equal(rename(away, path), 0);
    store = test_store_open(path, usual);
    assert_int_equal(test_store_value(store, "k"), 1);
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    test_store_close(store);
    test_folder_remove(&folder);
}

/* Another thread's calls, of which one fails and one does not. */
static void *call_and_fail(void *context) {
    lethe_store *store = context;
    uint8_t outcome;
    assert_int_equal(lethe_store_wait(store, UINT64_MAX), LETHE_EINVAL);
    assert_int_equal(test_store_try_apply(store, "a", "k", 1, START_MS, &outcome), LETHE_OK);
    assert_int_equal(lethe_store_usage(store, NULL, NULL, NULL), LETHE_EINVAL);
    return NULL;
}

/* Calls of two threads that fail at the same time have words of their own. */
static void each_thread_is_given_its_own_words(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    lethe_store *store = test_store_open(folder.path, usual), *other;
    lethe_detail detail;
    pthread_t thread;
    assert_int_equal(lethe_store_wait(store, UINT64_MAX), LETHE_EINVAL);
    assert_int_equal(pthread_create(&thread, NULL, call_and_fail, store), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    lethe_store_explain(store, &detail);
    assert_non_null(strstr(detail.text, "no such ticket"));
    /* A call that succeeds has none. */
    assert_int_equal(test_store_apply(store, "b", "k", 1, START_MS), LETHE_OUTCOME_APPLIED);
    lethe_store_explain(store, &detail);
    assert_string_equal(detail.text, "");
    /* Nor are words those of another store. */
    assert_int_equal(lethe_store_wait(store, UINT64_MAX), LETHE_EINVAL);
    test_store_close(store);
    other = test_store_open(folder.path, usual);
    lethe_store_explain(other, &detail);
    assert_string_equal(detail.text, "");
    test_store_close(other);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_second_writer_is_refused),
        cmocka_unit_test(readers_follow_the_writer),
        cmocka_unit_test(backups_bring_a_store_back),
        cmocka_unit_test(racing_duplicates_are_applied_once),
        cmocka_unit_test(a_process_may_change_its_folder),
        cmocka_unit_test(a_moved_store_is_opened_again),
        cmocka_unit_test(each_thread_is_given_its_own_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
