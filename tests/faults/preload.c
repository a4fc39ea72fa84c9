/* preload.c - a disk that fails on demand, for any program: LD_PRELOAD it.
 *
 * It counts the operations on files below one folder and lets the n-th fail, or ends the process at
 * it. So RocksDB's own writing meets the same faults as ours. By environment:
 *
 *   LETHE_FAULT_FOLDER   only files below this count
 *   LETHE_FAULT_NAME     only those whose path has this in it
 *   LETHE_FAULT_ON       write, sync or both (default); or send: what only has the system begin to
 *                        write, or wait, of which no later sync says that it failed
 *   LETHE_FAULT_AT       which one, from 1; 0: none
 *   LETHE_FAULT_TIMES    how many fail from there on; default all
 *   LETHE_FAULT_ACTION   eio, enospc: they fail with that; kill: the process is killed before
 *                        it is done
 *   LETHE_FAULT_MET      a file that gets a line for each that fails, before it does
 *   LETHE_FAULT_JOURNAL  a file that gets the number (inode) and the length of each file as it is
 *                        synced: what a power cut would leave of it, under whatever name
 *   LETHE_FAULT_SHADOW   a folder that gets a copy of each file and a list of each folder as it is
 *                        synced: see preload_shadow.c
 *   LETHE_FAULT_GATE     while there is a file of this name, no sync begins; one that waits makes
 *                        NAME.met
 *   LETHE_FAULT_SYNC_MS  so much longer does each sync take, on a disk that is slow
 *   LETHE_FAULT_COUNT    a file that gets the number of operations at the end */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload.h"

enum { ON_WRITE = 1, ON_SYNC = 2, ON_SEND = 4 };

static struct {
    char folder[PATH_MAX];
    size_t folder_size;
    const char *name; /* NULL: any */
    int on;
    unsigned long at, times;
    int error; /* 0: kill */
    int journal, met;
} plan = {.journal = -1, .met = -1};
static atomic_ulong operations;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;

/* Returns -1 if there is no path. */
static int open_to_append(const char *path) {
    if (path == NULL) return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                        0666);
}

__attribute__((constructor)) static void read_plan(void) {
    const char *folder = getenv("LETHE_FAULT_FOLDER");
    if (folder == NULL || realpath(folder, plan.folder) == NULL) return;
    plan.folder_size = strlen(plan.folder);
    plan.name = getenv("LETHE_FAULT_NAME");
    const char *on = getenv("LETHE_FAULT_ON");
    plan.on = on == NULL                ? ON_WRITE | ON_SYNC
              : strcmp(on, "sync") == 0 ? ON_SYNC
              : strcmp(on, "send") == 0 ? ON_SEND
                                        : ON_WRITE;
    const char *at = getenv("LETHE_FAULT_AT");
    plan.at = at == NULL ? 0 : strtoul(at, NULL, 10);
    const char *times = getenv("LETHE_FAULT_TIMES");
    plan.times = times == NULL ? ULONG_MAX : strtoul(times, NULL, 10);
    const char *action = getenv("LETHE_FAULT_ACTION");
    plan.error = action == NULL || strcmp(action, "kill") == 0 ? 0
                 : strcmp(action, "enospc") == 0               ? ENOSPC
                                                               : EIO;
    plan.journal = open_to_append(getenv("LETHE_FAULT_JOURNAL"));
    plan.met = open_to_append(getenv("LETHE_FAULT_MET"));
}

__attribute__((destructor)) static void tell_count(void) {
    const char *path = getenv("LETHE_FAULT_COUNT");
    FILE *file = path != NULL ? fopen(path, "w") : NULL;
    if (file == NULL) return;
    fprintf(file, "%lu\n", atomic_load(&operations));
    fclose(file);
}

static bool path_of(int descriptor, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size <= 0) return false;
    path[size] = '\0';
    return strncmp(path, plan.folder, plan.folder_size) == 0 &&
           (path[plan.folder_size] == '/' || path[plan.folder_size] == '\0');
}

/* Returns the errno to fail with, 0 to go on, or not at all. */
static int meet(int kind, int descriptor) {
    char path[PATH_MAX];
    if (plan.folder_size == 0 || !(plan.on & kind) || !path_of(descriptor, path)) return 0;
    if (plan.name != NULL && strstr(path + plan.folder_size, plan.name) == NULL) return 0;
    unsigned long number = atomic_fetch_add(&operations, 1) + 1;
    if (plan.at == 0 || number < plan.at || number - plan.at >= plan.times) return 0;
    if (plan.error == 0) {
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
    if (plan.met >= 0 && syscall(SYS_write, plan.met, "met\n", 4) != 4) abort();
    return plan.error;
}

/* Notes how much of a file is safe now. Held over the sync itself, so that the order in the
 * journal is that of the syncs. */
static int sync_and_note(int descriptor, long call) {
    char path[PATH_MAX];
    struct stat status;
    bool has_shadow = lethe_shadow_is_wanted();
    if ((plan.journal < 0 && !has_shadow) || !path_of(descriptor, path))
        return (int)syscall(call, descriptor);
    pthread_mutex_lock(&journal_lock);
    bool is_file = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    int result = (int)syscall(call, descriptor);
    if (result == 0 && has_shadow) lethe_shadow_sync(descriptor, path);
    if (result == 0 && is_file && plan.journal >= 0) {
        char line[64];
        int size = snprintf(line, sizeof line, "%llu %lld\n", (unsigned long long)status.st_ino,
                            (long long)status.st_size);
        if (syscall(SYS_write, plan.journal, line, (size_t)size) != size) abort();
    }
    pthread_mutex_unlock(&journal_lock);
    return result;
}

static int fail(int error) {
    errno = error;
    return -1;
}

static int fail_sync(int descriptor, int error) {
    char path[PATH_MAX];
    if (lethe_shadow_is_wanted() && path_of(descriptor, path)) {
        pthread_mutex_lock(&journal_lock);
        lethe_shadow_lose(descriptor);
        pthread_mutex_unlock(&journal_lock);
    }
    return fail(error);
}

/* Shows the shadow what was written before offset, or where the file is now if that is negative. */
static ssize_t note_write(int descriptor, ssize_t done, off_t end) {
    char path[PATH_MAX];
    if (done <= 0 || !lethe_shadow_is_wanted() || !path_of(descriptor, path)) return done;
    if (end < 0) end = lseek(descriptor, 0, SEEK_CUR);
    pthread_mutex_lock(&journal_lock);
    if (end >= done) lethe_shadow_wrote(descriptor, end - done, (size_t)done);
    pthread_mutex_unlock(&journal_lock);
    return done;
}

ssize_t write(int descriptor, const void *data, size_t size) {
    int error = meet(ON_WRITE, descriptor);
    if (error != 0) return fail(error);
    return note_write(descriptor, syscall(SYS_write, descriptor, data, size), -1);
}

ssize_t pwrite(int descriptor, const void *data, size_t size, off_t offset) {
    int error = meet(ON_WRITE, descriptor);
    if (error != 0) return fail(error);
    ssize_t done = syscall(SYS_pwrite64, descriptor, data, size, offset);
    return note_write(descriptor, done, offset + done);
}

ssize_t pwrite64(int descriptor, const void *data, size_t size, off_t offset) {
    return pwrite(descriptor, data, size, offset);
}

static void wait_before_sync(void) {
    const char *gate = getenv("LETHE_FAULT_GATE"), *slow = getenv("LETHE_FAULT_SYNC_MS");
    char met[PATH_MAX];
    if (slow != NULL) usleep((useconds_t)strtoul(slow, NULL, 10) * 1000);
    if (gate == NULL || snprintf(met, sizeof met, "%s.met", gate) >= (int)sizeof met) return;
    while (access(gate, F_OK) == 0) {
        int descriptor = open_to_append(met);
        if (descriptor >= 0) close(descriptor);
        usleep(5000);
    }
}

int fsync(int descriptor) {
    wait_before_sync();
    int error = meet(ON_SYNC, descriptor);
    return error != 0 ? fail_sync(descriptor, error) : sync_and_note(descriptor, SYS_fsync);
}

int fdatasync(int descriptor) {
    wait_before_sync();
    int error = meet(ON_SYNC, descriptor);
    return error != 0 ? fail_sync(descriptor, error) : sync_and_note(descriptor, SYS_fdatasync);
}

int sync_file_range(int descriptor, off_t offset, off_t size, unsigned flags) {
    int error = meet(ON_SEND, descriptor);
    return error != 0 ? fail(error)
                      : (int)syscall(SYS_sync_file_range, descriptor, offset, size, flags);
}
