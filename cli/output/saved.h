/* saved.h - files and folders that hold one structure, written as a whole. */
#ifndef LETHE_CLI_OUTPUT_SAVED_H
#define LETHE_CLI_OUTPUT_SAVED_H

#include <stdint.h>

/* Whether a structure, which what calls "filter" or "sketch", can be written to path. Touches
 * nothing, so that a mistake is reported before the work and not after it. Returns EXIT_DONE, or
 * another code after saying why. */
int saved_check(const char *what, const char *path);

/* The size of a file, or of the files of a folder together; 0 if there is none. */
uint64_t saved_bytes(const char *path);

#endif
