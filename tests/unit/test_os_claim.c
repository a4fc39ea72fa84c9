/* Goal:   one process at a time claims a folder; who only looks keeps nobody out.
 * Method: other processes that hold the lock, signed and not signed, or end without giving it
 *         up. */
#include "support/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/claim.h"
#include "os/clock.h"
#include "support/folder.h"

static struct test_folder folder;
static char path[300];

static int make_folder(void **state) {
    (void)state;
    test_folder_make(&folder);
    (void)snprintf(path, sizeof path, "%s/lock", folder.path);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* Runs hold in another process, and returns once it has said that it holds the lock. */
static pid_t start(void (*hold)(int said)) {
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        hold(ends[1]);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    return child;
}

static void say(int said) {
    if (write(said, "+", 1) != 1) _exit(1);
}

static void claim_for_ever(int said) {
    lethe_os_claim claim;
    char holder[200];
    if (lethe_os_claim_take(path, &claim, holder, sizeof holder) != LETHE_OK) _exit(1);
    say(said);
    for (;;)
        pause();
}

/* As lethe_os_claim_is_held does, only slower. */
static void look_slowly(int said) {
    int descriptor = open(path, O_RDONLY);
    if (descriptor < 0 || flock(descriptor, LOCK_SH) != 0) _exit(1);
    say(said);
    lethe_os_pause_ms(20);
}

static void a_claim_is_held_until_its_process_ends(void **state) {
    (void)state;
    lethe_os_claim claim;
    char holder[200], number[32];
    int ended;
    assert_false(lethe_os_claim_is_held(path));
    pid_t child = start(claim_for_ever);
    (void)snprintf(number, sizeof number, "process %ld ", (long)child);
    assert_true(lethe_os_claim_is_held(path));
    assert_int_equal(lethe_os_claim_take(path, &claim, holder, sizeof holder), LETHE_EBUSY);
    assert_int_equal(claim.descriptor, -1);
    assert_memory_equal(holder, number, strlen(number));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_false(lethe_os_claim_is_held(path));
    assert_ok(lethe_os_claim_take(path, &claim, holder, sizeof holder));
    assert_true(lethe_os_claim_is_held(path));
    lethe_os_claim_give(&claim);
    assert_false(lethe_os_claim_is_held(path));
}

static void who_looks_keeps_nobody_out(void **state) {
    (void)state;
    lethe_os_claim claim;
    char holder[200];
    int ended;
    assert_ok(lethe_os_claim_take(path, &claim, holder, sizeof holder));
    lethe_os_claim_give(&claim);
    pid_t child = start(look_slowly);
    assert_ok(lethe_os_claim_take(path, &claim, holder, sizeof holder));
    lethe_os_claim_give(&claim);
    assert_int_equal(waitpid(child, &ended, 0), child);
}

/* A process that was killed has left its signature, and then somebody looks. */
static void a_dead_signature_keeps_nobody_out(void **state) {
    (void)state;
    lethe_os_claim claim;
    char holder[200];
    int ended;
    pid_t child = start(claim_for_ever);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &ended, 0), child);
    child = start(look_slowly);
    assert_ok(lethe_os_claim_take(path, &claim, holder, sizeof holder));
    lethe_os_claim_give(&claim);
    assert_int_equal(waitpid(child, &ended, 0), child);
}

/* Of a signature of another host nobody knows whether its process lives. */
static void a_signature_of_another_host_counts(void **state) {
    (void)state;
    static const char text[] = "process 999999999 (lethe) on another.host\n";
    lethe_os_claim claim;
    char holder[200];
    int descriptor = open(path, O_RDWR | O_CREAT, 0666);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(flock(descriptor, LOCK_EX), 0);
    assert_int_equal(lethe_os_claim_take(path, &claim, holder, sizeof holder), LETHE_EBUSY);
    assert_string_equal(holder, "process 999999999 (lethe) on another.host");
    close(descriptor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_claim_is_held_until_its_process_ends, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(who_looks_keeps_nobody_out, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_dead_signature_keeps_nobody_out, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_signature_of_another_host_counts, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests_name("os_claim", tests, NULL, NULL);
}
