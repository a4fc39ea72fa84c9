/* bench/frame.c - times tasks; see frame.h. */
#include "frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double bench_cpu_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double bench_cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct timing bench_time(const struct task *task, int runs) {
    struct timing timing = {0};
    for (int run = 0; run < runs; run++) {
        if (run > 0 && task->setup != NULL) task->setup(task->context);
        double start = bench_now();
        task->run(task->context);
        double seconds = bench_now() - start;
        if (run == 0) timing.cold_seconds = seconds;
        if (run == 0 || seconds < timing.best_seconds) timing.best_seconds = seconds;
    }
    return timing;
}

void bench_require(bool condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "lethe-bench: %s failed; is there enough memory?\n", what);
    exit(4);
}
