/* bench/count_process.h - runs what is measured in processes of their own, so that the memory of
 * each is its own.
 *
 * The most memory that a process had, as the system reports it, includes what its parent had when
 * it started it: so the workload that starts them keeps nothing large itself. */
#ifndef LETHE_BENCH_COUNT_PROCESS_H
#define LETHE_BENCH_COUNT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { COUNT_PATH_BYTES = 4096 };

struct count_cost {
    double seconds;
    double cpu_seconds; /* of all its threads: what a busy machine does not change much */
    double memory_mib;  /* the most it had */
};

/* From now on SIGINT and SIGTERM end what runs, and then this program as exit() does, so that it
 * can clean up. */
void count_catch_signals(void);

/* Starts a program, found by PATH if its name has no slash, whose output goes to a file, or
 * nowhere if that is NULL. It does not outlive the caller. */
pid_t count_start(const char *const *words, const char *output);
/* The same; it reads from this file, unless that is negative. */
pid_t count_start_with(const char *const *words, int input, const char *output);
/* Waits for it. Ends this program with a message if it failed. */
struct count_cost count_wait(pid_t child, double started, const char *name);
/* Both in one. */
struct count_cost count_run(const char *const *words, const char *output);

/* Calls a function in a process of its own. */
pid_t count_branch(void (*run)(void *context), void *context);
/* The same, and waits. What it leaves in memory is lost, except what
 * it writes to memory of count_shared. */
struct count_cost count_fork(void (*run)(void *context), void *context, const char *name);
/* The costs of this process up to now, started at that time. */
struct count_cost count_cost_now(double started);

/* Zeroed memory that forked processes share. */
void *count_shared(size_t size);

/* A folder to work in, which is removed when this program ends, however it does. */
void count_folder_make(char *path, size_t size);
/* Makes a folder empty, whatever was there. */
void count_folder_renew(const char *path);

/* Where the command of a name is, as execvp finds it; false if it is nowhere. */
bool count_find_command(const char *name, char path[COUNT_PATH_BYTES]);

#endif
