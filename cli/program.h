/* program.h - where lethe's companion program lethe-bench is.
 *
 * It links libraries of others, to measure against and to experiment with, which lethe itself must not need; so it
 * is a program of its own. It lies beside this one in a build folder, and in the libexec folder when installed,
 * wherever the installation was moved to. */
#ifndef LETHE_CLI_PROGRAM_H
#define LETHE_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_PATH_BYTES = 8192 + 64 };

#define PROGRAM_BENCH "lethe-bench"

/* The path number index, from 0, where it may be; false when there are no more. Whoever runs it tries them in order. */
bool program_place(size_t index, char path[PROGRAM_PATH_BYTES]);

/* Says that it is at none of them; returns the exit code. */
int program_fail_missing(void);

#endif
