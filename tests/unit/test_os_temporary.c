/* Goal:   temporary folders go with their processes: what a killed one left is removed by the next,
 *         and what is in use, or is somebody else's, by nobody.
 * Method: processes that make such folders and are killed at once, or while they open a store; many
 *         that make and remove them at the same time. */
#include "support/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/file.h"
#include "os/folder.h"
#include "os/path.h"
#include "os/temporary.h"
#include "support/store.h"

/* Makes a folder in another process, which is then killed, and returns its path. */
static void leave(char path[LETHE_OS_PATH_BYTES]) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lethe_os_temporary made;
        char inner[LETHE_OS_PATH_BYTES];
        if (lethe_os_temporary_make(&made) != LETHE_OK) _exit(1);
        assert_true(lethe_os_path(inner, "%s/data", made.path));
        if (mkdir(inner, 0700) != 0) _exit(1);
        assert_true(lethe_os_path(inner, "%s/data/link", made.path));
        if (symlink("/nonexistent", inner) != 0) _exit(1);
        if (write(ends[1], made.path, sizeof made.path) != (ssize_t)sizeof made.path) _exit(1);
        (void)raise(SIGKILL);
    }
    assert_int_equal(read(ends[0], path, LETHE_OS_PATH_BYTES), LETHE_OS_PATH_BYTES);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    close(ends[0]);
    close(ends[1]);
}

static void remains_are_removed(void **state) {
    (void)state;
    char path[LETHE_OS_PATH_BYTES];
    lethe_os_temporary mine, other;
    assert_ok(lethe_os_temporary_make(&mine));
    leave(path); /* any process that opens a store may remove it from now on */
    assert_ok(lethe_os_temporary_make(&other));
    assert_false(lethe_os_exists(path));
    assert_true(lethe_os_exists(mine.path)); /* in use */
    lethe_os_temporary_remove(&other);
    assert_string_equal(other.path, "");
    assert_true(lethe_os_exists(mine.path));
    char kept[LETHE_OS_PATH_BYTES];
    memcpy(kept, mine.path, sizeof kept);
    lethe_os_temporary_remove(&mine);
    assert_false(lethe_os_exists(kept));
    lethe_os_temporary_remove(&mine); /* none */
}

static void opening_a_store_removes_remains(void **state) {
    (void)state;
    char path[LETHE_OS_PATH_BYTES];
    struct test_folder folder;
    test_folder_make(&folder);
    const lethe_store_options options = {.create = true};
    leave(path);
    test_store_close(test_store_open(folder.path, options));
    assert_false(lethe_os_exists(path));
    leave(path);
    test_store_close(test_store_open_reader(folder.path));
    assert_false(lethe_os_exists(path));
    test_folder_remove(&folder);
}

static void links_are_left_alone(void **state) {
    (void)state;
    lethe_os_temporary made;
    struct test_folder folder;
    test_folder_make(&folder);
    assert_ok(lethe_os_temporary_make(&made));
    char link[LETHE_OS_PATH_BYTES];
    assert_true(lethe_os_path(link, "%s-link", made.path));
    lethe_os_temporary_remove(&made);
    assert_int_equal(symlink(folder.path, link), 0);
    assert_ok(lethe_os_temporary_make(&made));
    lethe_os_temporary_remove(&made);
    assert_true(lethe_os_exists(folder.path) && lethe_os_exists(link));
    assert_int_equal(unlink(link), 0);
    test_folder_remove(&folder);
}

/* None ever loses its folder to another's tidying. */
static void many_at_once(void **state) {
    (void)state;
    enum { PROCESSES = 8, ROUNDS = 200 };
    pid_t children[PROCESSES];
    for (unsigned i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] != 0) continue;
        for (unsigned round = 0; round < ROUNDS; round++) {
            lethe_os_temporary made;
            char file[LETHE_OS_PATH_BYTES];
            if (lethe_os_temporary_make(&made) != LETHE_OK) _exit(1);
            assert_true(lethe_os_path(file, "%s/file", made.path));
            if (symlink("/nonexistent", file) != 0) _exit(2);
            lethe_os_temporary_remove(&made);
        }
        _exit(0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(remains_are_removed),
        cmocka_unit_test(opening_a_store_removes_remains),
        cmocka_unit_test(links_are_left_alone),
        cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
