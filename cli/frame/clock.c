/* clock.c - reads the system's clocks. */
#include "frame/clock.h"

#include <time.h>

static struct timespec read_clock(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return now;
}

static uint64_t milliseconds(struct timespec time) {
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

double clock_seconds(void) {
    struct timespec now = read_clock(CLOCK_MONOTONIC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

uint64_t clock_ms(void) {
    return milliseconds(read_clock(CLOCK_MONOTONIC));
}

uint64_t clock_wall_ms(void) {
    return milliseconds(read_clock(CLOCK_REALTIME));
}
