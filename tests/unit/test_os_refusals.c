/* Goal: what the system refuses in the middle of things is met without a hang, a short copy or a
 *       change to the whole process, and a file that is in place though its folder could not be
 *       synced is known to be.
 * Method: a filter of system calls in a child process, the n-th operation failing, and functions
 *         of the C library and of liburing that this program has in their place. */
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lethe/status.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/reads.h"
#include "os/sync.h"
#include "support/folder.h"

static const char *in_folder(const struct test_folder *folder, const char *name) {
    static char paths[4][400];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder->path, name);
    return path;
}

static void write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(const char *path, void *data, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(data, 1, room, file);
    fclose(file);
    return size;
}

/* --- copying --- */

/* Has a system call return without doing anything: with that errno, or with 0. */
static void answer_call(unsigned number, unsigned error) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) abort();
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

/* --- folders --- */

static void see_nothing(void *context, const char *name) {
    (void)context;
    (void)name;
}

/* Runs in a child, in which folders can be opened and not read. Returns how many calls did not
 * notice. */
static int look_at_what_cannot_be_read(const char *from) {
    lethe_os_folder_state look;
    answer_call(SYS_getdents64, EIO);
    return (lethe_os_folder_look(from, &look) != LETHE_EIO) +
           (lethe_os_folder_each(from, see_nothing, NULL) != LETHE_EIO) +
           (lethe_os_folder_fingerprint(from) != 0);
}

/* Goal: a folder that can't be read is never taken for an empty one. */
static void a_folder_that_cannot_be_read_is_not_empty(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    assert_int_equal(mkdir(in_folder(&folder, "from"), 0777), 0);
    write_file(in_folder(&folder, "from/a"), "a", 1);
    pid_t child = fork();
    if (child == 0) _exit(look_at_what_cannot_be_read(in_folder(&folder, "from")));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    test_folder_remove(&folder);
}

/* --- replacing --- */

static unsigned mask_calls;

/* In the place of the C library's: changing the mask, for however short a time, changes it for
 * all threads. */
mode_t umask(mode_t mask) {
    mask_calls++;
    return (mode_t)syscall(SYS_umask, mask);
}

static lethe_status replace(const char *path, const char *text, bool *is_in_place) {
    lethe_os_replacement *replacement;
    *is_in_place = false;
    lethe_status status = lethe_os_replace_begin(path, &replacement);
    if (status != LETHE_OK) return status;
    status = lethe_os_replace_write(replacement, text, strlen(text));
    if (status == LETHE_OK) return lethe_os_replace_commit(replacement, is_in_place);
    lethe_os_replace_abort(replacement);
    return status;
}

static void a_new_file_has_the_mode_of_the_mask_which_nobody_touches(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    mode_t before = (mode_t)syscall(SYS_umask, 027);
    mask_calls = 0;
    bool is_in_place;
    struct stat found;
    assert_ok(replace(in_folder(&folder, "file"), "x", &is_in_place));
    assert_int_equal(stat(in_folder(&folder, "file"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    assert_int_equal(chmod(in_folder(&folder, "file"), 0604), 0);
    assert_ok(replace(in_folder(&folder, "file"), "y", &is_in_place));
    assert_int_equal(stat(in_folder(&folder, "file"), &found), 0);
    assert_int_equal(found.st_mode & 07777, 0604);
    assert_int_equal(mask_calls, 0);
    (void)syscall(SYS_umask, before);
    test_folder_remove(&folder);
}

static int fault_at, operations;

static int fail_at(lethe_os_operation operation) {
    (void)operation;
    return operations++ == fault_at ? EIO : 0;
}

/* Method: each operation of a replacement fails; what is at the path must be what is_in_place
 *         says. */
static void a_replacement_says_whether_the_new_file_is_in_place(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    const char *path = in_folder(&folder, "file");
    lethe_status status = LETHE_EIO;
    unsigned in_place = 0;
    for (fault_at = 0; status != LETHE_OK; fault_at++) {
        write_file(path, "old", 3);
        operations = 0;
        lethe_os_set_fault_hook(fail_at);
        bool is_in_place;
        status = replace(path, "new", &is_in_place);
        lethe_os_set_fault_hook(NULL);
        char data[4] = "";
        assert_int_equal(read_file(path, data, sizeof data - 1), 3);
        assert_string_equal(data, is_in_place ? "new" : "old");
        assert_true(is_in_place || status == LETHE_EIO);
        in_place += is_in_place;
    }
    assert_int_equal(in_place, 2); /* the sync of the folder, and the one that went through */
    assert_int_equal(fault_at, 7);
    test_folder_remove(&folder);
}

/* --- folders that cannot be synced --- */

static int folder_sync_error; /* of every sync of a folder; 0: they are synced */

int fsync(int descriptor) {
    struct stat status;
    if (folder_sync_error != 0 && fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = folder_sync_error;
        return -1;
    }
    return (int)syscall(SYS_fsync, descriptor);
}

static lethe_status replace_file(const char *path) {
    lethe_os_replacement *replacement;
    bool is_in_place;
    assert_ok(lethe_os_replace_begin(path, &replacement));
    assert_ok(lethe_os_replace_write(replacement, "x", 1));
    lethe_status status = lethe_os_replace_commit(replacement, &is_in_place);
    assert_true(is_in_place);
    return status;
}

/* Goal: all that make a name durable agree on which errors matter: a file system without a sync
 *       of folders is no error, and a disk that fails is one. */
static void one_rule_says_whether_a_folder_that_cannot_be_synced_matters(void **state) {
    (void)state;
    static const struct {
        int error;
        lethe_status status;
    } cases[] = {
        {EINVAL, LETHE_OK}, {ENOTSUP, LETHE_OK}, {EIO, LETHE_EIO}, {ENOSPC, LETHE_ENOSPACE}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_folder folder;
        test_folder_make(&folder);
        folder_sync_error = cases[i].error;
        lethe_status expected = cases[i].status;
        assert_int_equal(lethe_os_sync_folder(folder.path), expected);
        assert_int_equal(lethe_os_folder_make(in_folder(&folder, "made")), expected);
        assert_int_equal(replace_file(in_folder(&folder, "file")), expected);
        folder_sync_error = 0;
        test_folder_remove(&folder);
    }
}

/* --- rings --- */

enum { READS = 300, READ_BYTES = 512, DEPTH = 8, MOST_CALLS = 20000000 };

/* What the ring does from its n-th call on. */
static enum { WORKS, REFUSES, TAKES_AND_REFUSES, REFUSES_FOR_NOW } ring_mood;
static unsigned ring_calls, ring_fails_from;

/* In the place of liburing's. */
int io_uring_submit_and_wait(struct io_uring *ring, unsigned wait_for) {
    (void)wait_for;
    if (++ring_calls > MOST_CALLS) {
        print_error("the ring is asked for ever\n");
        exit(1);
    }
    bool fails = ring_calls > ring_fails_from;
    if (fails) (void)sched_yield(); /* what was taken before may wait for a CPU */
    if (fails && ring_mood == REFUSES) return -EPERM;
    if (fails && ring_mood == REFUSES_FOR_NOW) return -EAGAIN;
    int taken = io_uring_submit(ring);
    if (fails && ring_mood == TAKES_AND_REFUSES) return -EPERM;
    struct io_uring_cqe *completion;
    return io_uring_wait_cqe(ring, &completion) == 0 ? taken : -EINTR;
}

static unsigned shown[READS];

static lethe_status see(void *context, size_t index, const unsigned char *data) {
    const unsigned char *expected = context;
    shown[index]++;
    return memcmp(data, expected + index * READ_BYTES, READ_BYTES) == 0 ? LETHE_OK : LETHE_ECORRUPT;
}

static void run_batch(lethe_os_reads *reads, int file, unsigned char *data) {
    static lethe_os_read list[READS];
    for (size_t i = 0; i < READS; i++)
        list[i] = (lethe_os_read){.descriptor = file, .size = READ_BYTES, .offset = i * READ_BYTES};
    memset(shown, 0, sizeof shown);
    assert_ok(lethe_os_reads_run(reads, list, READS, see, data));
    for (size_t i = 0; i < READS; i++)
        assert_int_equal(shown[i], 1);
}

static void a_ring_that_fails_for_good_is_given_up(void **state) {
    (void)state;
    static unsigned char data[READS * READ_BYTES];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7 >> 2);
    struct test_folder folder;
    test_folder_make(&folder);
    write_file(in_folder(&folder, "data"), data, sizeof data);
    int file = open(in_folder(&folder, "data"), O_RDONLY);
    assert_true(file >= 0);
    for (int mood = REFUSES; mood <= REFUSES_FOR_NOW; mood++) {
        for (unsigned from = 0; from < 20; from += 3) {
            lethe_os_reads *reads;
            if (lethe_os_reads_new(LETHE_OS_READS_URING, DEPTH, READ_BYTES, &reads) != LETHE_OK) {
                skip(); /* there is no io_uring here at all */
            }
            ring_mood = WORKS;
            run_batch(reads, file, data);
            assert_true(lethe_os_reads_use_uring(reads));
            ring_mood = mood;
            ring_calls = 0;
            ring_fails_from = from;
            run_batch(reads, file, data);
            assert_false(lethe_os_reads_use_uring(reads));
            run_batch(reads, file, data);
            lethe_os_reads_free(reads);
        }
    }
    close(file);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_cannot_be_read_is_not_empty),
        cmocka_unit_test(a_new_file_has_the_mode_of_the_mask_which_nobody_touches),
        cmocka_unit_test(a_replacement_says_whether_the_new_file_is_in_place),
        cmocka_unit_test(one_rule_says_whether_a_folder_that_cannot_be_synced_matters),
        cmocka_unit_test(a_ring_that_fails_for_good_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
