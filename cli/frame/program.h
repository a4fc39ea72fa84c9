/* program.h - where the companion programs of lethe are, and becoming one of them.
 *
 * They link libraries that the other commands of lethe do not need, and should not wait for when
 * they start: lethe-serve an HTTP server with its TLS, lethe-bench what lethe is measured against.
 * In a build they are in the same folder as lethe, and when installed in the libexec folder,
 * wherever the installation was moved to. */
#ifndef LETHE_CLI_FRAME_PROGRAM_H
#define LETHE_CLI_FRAME_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum { PROGRAM_PATH_BYTES = 8192 + 64 };

#define PROGRAM_BENCH "lethe-bench"
#define PROGRAM_SERVE "lethe-serve"

/* Stores the place number index, from 0, where the program may be; false when there are no more.
 * Try them in order. */
bool program_place(const char *name, size_t index, char path[PROGRAM_PATH_BYTES]);

/* Says that it is at none of them; returns the exit code. */
int program_fail_missing(const char *name);

/* This process becomes the program, with these words behind its name. Returns only if that fails,
 * after saying why, with the exit code. */
int program_become(const char *name, char *const *words, size_t count);

#endif
