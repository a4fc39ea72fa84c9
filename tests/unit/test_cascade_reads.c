/* Goal: where the system refuses io_uring, as containers do, lookups go through threads and give
 *       the same answers; asking for io_uring alone is then an error.
 * Method: a process forbids itself the system call, by a filter, with each errno that sandboxes
 *         use. */
#include "support/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lethe/cascade.h"
#include "support/folder.h"
#include "support/reports.h"

enum { KEYS = 200000, BATCH = 5000 };

static void forbid_uring(int error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) abort();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

static const lethe_cascade_options small =
    LETHE_OPTIONS(lethe_cascade_options, .capacity = 1000000, .error = 1e-10,
                  .memory_bytes = 1 << 20, .direct = true);

/* Inserts and looks up; returns 0 when all is right. */
static int try_it(const char *path, lethe_cascade_reading reading, bool *uses_uring) {
    static lethe_hash hashes[BATCH];
    static uint8_t present[BATCH];
    lethe_cascade_options options = small;
    options.reading = reading;
    lethe_cascade *cascade;
    lethe_status status = lethe_cascade_open(path, &options, &cascade, NULL);
    if (status != LETHE_OK) return (int)status;
    *uses_uring = cascade_stats(cascade, 0).uses_uring;
    int wrong = 0;
    for (uint64_t first = 0; first < KEYS; first += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
        if (lethe_cascade_add_batch(cascade, hashes, BATCH, 0, NULL) != LETHE_OK) wrong = 100;
    }
    for (uint64_t first = 0; first < 2 * KEYS; first += BATCH) {
        size_t count = first % (3 * BATCH) == 0 ? BATCH : 10;
        for (size_t i = 0; i < count; i++)
            hashes[i] = lethe_hash_u64(LETHE_DEFAULT_SEED, first + i);
        if (lethe_cascade_test_batch(cascade, hashes, count, 0, present) != LETHE_OK) wrong = 101;
        for (size_t i = 0; i < count; i++) {
            if (present[i] != (first < KEYS)) wrong = 102;
        }
    }
    return lethe_cascade_close(cascade, NULL) == LETHE_OK ? wrong : 103;
}

static void refused_io_uring_is_replaced_by_threads(void **state) {
    (void)state;
    static const int errors[] = {EPERM, ENOSYS, EACCES};
    for (int i = 0; i < 3; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        pid_t child = fork();
        if (child == 0) {
            forbid_uring(errors[i]);
            bool uses_uring = true;
            int wrong = try_it(folder.path, LETHE_CASCADE_READ_BEST, &uses_uring);
            if (wrong == 0 && uses_uring) wrong = 104;
            char path[300];
            snprintf(path, sizeof path, "%s/second", folder.path);
            if (wrong == 0 && try_it(path, LETHE_CASCADE_READ_URING, &uses_uring) != LETHE_EINVAL) {
                wrong = 105;
            }
            _exit(wrong);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        test_folder_remove(&folder);
    }
}

static void both_ways_of_reading_agree(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        bool uses_uring;
        assert_int_equal(try_it(folder.path,
                                i == 0 ? LETHE_CASCADE_READ_BEST : LETHE_CASCADE_READ_THREADS,
                                &uses_uring),
                         0);
        test_folder_remove(&folder);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_io_uring_is_replaced_by_threads),
        cmocka_unit_test(both_ways_of_reading_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
