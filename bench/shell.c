/* bench/shell.c - runs commands; see shell.h. */
#include "shell.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame.h"

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

struct shell_cost shell_run(const char *command) {
    char shell[] = "sh", flag[] = "-c", *text = strdup(command);
    bench_require(text != NULL, "allocating");
    char *words[] = {shell, flag, text, NULL};
    double start = bench_now();
    pid_t child;
    bench_require(posix_spawnp(&child, shell, NULL, NULL, words, environ) == 0, "running a shell");
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0)
        bench_require(errno == EINTR, "waiting for a shell");
    double seconds = bench_now() - start;
    bench_require(WIFEXITED(status) && WEXITSTATUS(status) == 0, command);
    free(text);
    return (struct shell_cost){
        .seconds = seconds,
        .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
        .memory_mib = (double)usage.ru_maxrss / 1024,
    };
}

struct shell_cost shell_best(const char *command, int runs) {
    struct shell_cost best = shell_run(command);
    for (int i = 1; i < runs; i++) {
        struct shell_cost next = shell_run(command);
        if (next.seconds < best.seconds) best = next;
    }
    return best;
}

void shell_find_lethe(char path[SHELL_PATH_BYTES]) {
    char own[SHELL_PATH_BYTES / 2];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash != NULL) *slash = '\0';
    snprintf(path, SHELL_PATH_BYTES, "%s/lethe", own);
    if (access(path, X_OK) != 0) snprintf(path, SHELL_PATH_BYTES, "%s/../../bin/lethe", own);
    bench_require(access(path, X_OK) == 0, "finding lethe beside lethe-bench");
}
