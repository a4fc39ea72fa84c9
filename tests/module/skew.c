/* tests/module/skew.c - loaded before the C library, gives a program the clocks of another host, or
 * another day.
 *
 * SKEW_FILE names a file of three 64-bit numbers that may change while the program runs:
 *   0  milliseconds that the wall clock is ahead
 *   1  milliseconds that have passed in addition to those that really have, by every clock
 *   2  the number of the machine's start: each has an id of its own, and its clock begins at
 *      zero SKEW_HOST, if set, is that host's name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>

#include "../support/preload_clock.inc.h"

enum { WALL, PASSED, START, NUMBERS };

static int64_t number(int which) {
    static const int64_t none[NUMBERS];
    static const volatile int64_t *numbers;
    if (numbers == NULL) {
        const char *path = getenv("SKEW_FILE");
        int descriptor = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        void *found = descriptor < 0
                          ? MAP_FAILED
                          : mmap(NULL, sizeof none, PROT_READ, MAP_SHARED, descriptor, 0);
        if (descriptor >= 0) close(descriptor);
        numbers = found == MAP_FAILED ? none : found;
    }
    return numbers[which];
}

static int64_t preload_ahead_ms(clockid_t clock) {
    switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
        return number(WALL) + number(PASSED);
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
        return number(PASSED) - number(START) * 1000; /* a restart sets it back */
    default:
        return 0;
    }
}

int gethostname(char *name, size_t size) {
    const char *text = getenv("SKEW_HOST");
    struct utsname system;
    if (uname(&system) != 0) return -1;
    strncpy(name, text != NULL ? text : system.nodename, size);
    return 0;
}

FILE *fopen(const char *path, const char *mode) {
    static FILE *(*real)(const char *, const char *);
    static char id[64];
    if (strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 && getenv("SKEW_FILE") != NULL) {
        snprintf(id, sizeof id, "start number %lld\n", (long long)number(START));
        return fmemopen(id, strlen(id), "r");
    }
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "fopen");
    return real(path, mode);
}
