/* watch.c - inotify, with short waits where it does not do.
 *
 * WHY  A file is watched through its descriptor, because its name may belong to another file by
 *      now. Its folder is watched for names only: a busy folder, such as that of all logs, then
 *      wakes nobody. */
#include "input/watch.h"

#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "frame/interrupt.h"

enum { BLIND_MS = 100 };

struct watch {
    /* Of inotify; below 0: there is none. */
    int changes;
    int wake;
    /* Some file cannot be watched. */
    bool is_blind;
};

struct watch *watch_new(void) {
    struct watch *watch = malloc(sizeof *watch);
    if (watch == NULL) return NULL;
    int changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    *watch = (struct watch){.changes = changes,
                            .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                            .is_blind = changes < 0};
    if (watch->wake >= 0) return watch;
    watch_free(watch);
    return NULL;
}

void watch_free(struct watch *watch) {
    if (watch == NULL) return;
    if (watch->changes >= 0) close(watch->changes);
    if (watch->wake >= 0) close(watch->wake);
    free(watch);
}

int watch_file(struct watch *watch, int descriptor) {
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    int number = inotify_add_watch(watch->changes, name,
                                   IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF);
    if (number < 0) watch->is_blind = true;
    return number;
}

void watch_forget(struct watch *watch, int number) {
    /* A file that is gone is no longer watched: that is no mistake. */
    if (number >= 0) (void)inotify_rm_watch(watch->changes, number);
}

void watch_folder(struct watch *watch, const char *path) {
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length >= sizeof folder) return;
    if (length > 0) snprintf(folder, sizeof folder, "%.*s", (int)length, path);
    (void)inotify_add_watch(watch->changes, folder, IN_CREATE | IN_MOVED_TO);
}

static void drain(int descriptor) {
    char buffer[16384];
    while (read(descriptor, buffer, sizeof buffer) > 0) {
    }
}

void watch_wait(struct watch *watch, int timeout_ms) {
    struct pollfd waiting[] = {{.fd = watch->wake, .events = POLLIN},
                               {.fd = interrupt_descriptor(), .events = POLLIN},
                               {.fd = watch->changes, .events = POLLIN}};
    if (watch->is_blind && timeout_ms > BLIND_MS) timeout_ms = BLIND_MS;
    if (interrupt_requested()) return;
    (void)poll(waiting, sizeof waiting / sizeof waiting[0], timeout_ms);
    if (watch->changes >= 0) drain(watch->changes);
    drain(watch->wake);
}

void watch_wake(struct watch *watch) {
    (void)eventfd_write(watch->wake, 1);
}
