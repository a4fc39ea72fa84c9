/* preload_time.c - clocks and a boot id of the tests' own, and a kernel without io_uring. By
 * environment:
 *
 *   LETHE_CLOCK_WALL_MS   added to the wall clock
 *   LETHE_CLOCK_BOOT_MS   added to the time since the machine was started
 *   LETHE_CLOCK_BOOT_ID   a file that is read instead of the kernel's boot id
 *   LETHE_NO_URING        if set, io_uring is refused as an old or a strict kernel does
 *   LETHE_NO_PIDFD        if set, pidfd_open is refused likewise */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../support/preload_clock.inc.h"

static long long offset_of(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : 0;
}

static int64_t preload_ahead_ms(clockid_t clock) {
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        return offset_of("LETHE_CLOCK_WALL_MS");
    return clock == CLOCK_BOOTTIME ? offset_of("LETHE_CLOCK_BOOT_MS") : 0;
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    const char *boot_id = getenv("LETHE_CLOCK_BOOT_ID");
    if (boot_id != NULL && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0) path = boot_id;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* Has as many arguments as the longest. */
long syscall(long number, ...) {
    static long (*real)(long, ...);
    long words[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(more, long);
    va_end(more);
    if (number == SYS_pidfd_open && getenv("LETHE_NO_PIDFD") != NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (real == NULL) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    return real(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* liburing makes its system calls by itself, but its own functions can be replaced. */
struct io_uring;
struct io_uring_params;
int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                               struct io_uring_params *params);

int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags) {
    if (getenv("LETHE_NO_URING") != NULL) return -ENOSYS;
    int (*real)(unsigned, struct io_uring *, unsigned) =
        (int (*)(unsigned, struct io_uring *, unsigned))dlsym(RTLD_NEXT, "io_uring_queue_init");
    return real != NULL ? real(entries, ring, flags) : -ENOSYS;
}

int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
                               struct io_uring_params *params) {
    if (getenv("LETHE_NO_URING") != NULL) return -ENOSYS;
    int (*real)(unsigned, struct io_uring *, struct io_uring_params *) =
        (int (*)(unsigned, struct io_uring *, struct io_uring_params *))dlsym(
            RTLD_NEXT, "io_uring_queue_init_params");
    return real != NULL ? real(entries, ring, params) : -ENOSYS;
}
