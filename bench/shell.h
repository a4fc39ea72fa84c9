/* bench/shell.h - what a command in a shell costs. */
#ifndef LETHE_BENCH_SHELL_H
#define LETHE_BENCH_SHELL_H

enum { SHELL_PATH_BYTES = 4096 };

struct shell_cost {
    double seconds;
    double cpu_seconds; /* of all its processes and their threads */
    double memory_mib;  /* of its largest process */
};

/* Runs a shell's command and waits for it; it must succeed. */
struct shell_cost shell_run(const char *command);
/* The fastest of a number of runs. */
struct shell_cost shell_best(const char *command, int runs);

/* The program lethe: beside this one, or where an installation has it. */
void shell_find_lethe(char path[SHELL_PATH_BYTES]);

#endif
