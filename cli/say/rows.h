/* rows.h - what `info` and `stat` print: a row per fact, its name on the left and the fact on the
 * right, in columns that are the same for all of them. */
#ifndef LETHE_CLI_SAY_ROWS_H
#define LETHE_CLI_SAY_ROWS_H

#include <stdint.h>

/* Prints one row to standard output. */
void row_print(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void row_number(const char *name, uint64_t number);

/* The row of a hash's seed. */
void row_seed(uint64_t seed);

#endif
