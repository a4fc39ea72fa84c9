/* preload_time.c - clocks and a boot id of the tests' own, and a kernel without io_uring. By environment:
 *
 *   LETHE_CLOCK_WALL_MS   added to the wall clock
 *   LETHE_CLOCK_BOOT_MS   added to the time since the machine was started
 *   LETHE_CLOCK_BOOT_ID   a file that is read in place of the kernel's boot id
 *   LETHE_NO_URING        if set, io_uring is refused as an old or a strict kernel does */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long offset_of(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    long long offset_ms = 0;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
        offset_ms = offset_of("LETHE_CLOCK_WALL_MS");
    } else if (clock == CLOCK_BOOTTIME) {
        offset_ms = offset_of("LETHE_CLOCK_BOOT_MS");
    }
    if (result != 0 || offset_ms == 0) return result;
    long long ns = (long long)out->tv_sec * 1000000000 + out->tv_nsec + offset_ms * 1000000;
    out->tv_sec = (time_t)(ns / 1000000000);
    out->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    (void)zone;
    struct timespec now;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = (suseconds_t)(now.tv_nsec / 1000);
    return result;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
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

/* liburing makes its system calls by itself, but its library can be stood in front of. */
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
