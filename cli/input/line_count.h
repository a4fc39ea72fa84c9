/* line_count.h - how many lines there are, before they are read. */
#ifndef LETHE_CLI_INPUT_LINE_COUNT_H
#define LETHE_CLI_INPUT_LINE_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "input/inputs.h"

/* Counts the lines of inputs that are all regular files, and leaves them as they were, to be read
 * from the same place again. Shows progress unless quiet. Ends early, without an error, when a
 * signal asks to stop. Cost: reads and decompresses all of them; of plain text, about as fast as
 * memory. Returns EXIT_DONE; or, after saying why, EXIT_ENVIRONMENT or EXIT_BAD_DATA. */
int line_count(const struct inputs *inputs, bool quiet, uint64_t *out);

/* About how many lines there are, by the length of some at many places of each file. False if that
 * is not known: not all are named regular files, one is compressed or cannot be read. Says nothing.
 * Cost: one read at each of some places of a file. */
bool line_estimate(const struct inputs *inputs, double *out);

#endif
