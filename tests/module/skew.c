/* Loaded before everything else, shifts a program's wall clock by SKEW_MS milliseconds: a host whose
 * clock is wrong. SKEW_HOST, if set, is that host's name. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long long skew_ms(void) {
    const char *text = getenv("SKEW_MS");
    return text != NULL ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        long long ns = (long long)out->tv_sec * 1000000000 + out->tv_nsec + skew_ms() * 1000000;
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

int gethostname(char *name, size_t size) {
    const char *text = getenv("SKEW_HOST");
    struct utsname system;
    if (uname(&system) != 0) return -1;
    strncpy(name, text != NULL ? text : system.nodename, size);
    return 0;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}
