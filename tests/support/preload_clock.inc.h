/* tests/support/preload_clock.inc.h - the C library's clocks, shifted, for a library that is loaded
 * before it.
 *
 * The file that includes this one defines preload_ahead_ms: by how many milliseconds a clock is
 * ahead. */
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t preload_ahead_ms(clockid_t clock);

int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    int64_t ahead_ms = result == 0 ? preload_ahead_ms(clock) : 0;
    if (ahead_ms != 0) {
        int64_t ns = (int64_t)out->tv_sec * 1000000000 + out->tv_nsec + ahead_ms * 1000000;
        out->tv_sec = (time_t)(ns / 1000000000);
        out->tv_nsec = (long)(ns % 1000000000);
    }
    return result;
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
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}
