/* program.h - where lethe's companion program lethe-bench is.
 *
 * It links other libraries, to measure against and to experiment with, which lethe itself must not
 * need; so it is a separate program. In a build it is in the same folder as lethe, and when
 * installed in the libexec folder, wherever the installation was moved to. */
#ifndef LETHE_CLI_FRAME_PROGRAM_H
#define LETHE_CLI_FRAME_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_PATH_BYTES = 8192 + 64 };

#define PROGRAM_BENCH "lethe-bench"

/* Stores the place number index, from 0, where the program may be; false when there are no more.
 * Try them in order. */
bool program_place(size_t index, char path[PROGRAM_PATH_BYTES]);

/* Says that it is at none of them; returns the exit code. */
int program_fail_missing(void);

#endif
