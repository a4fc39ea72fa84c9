/* escape.h - ids and keys of any bytes, written within one field of a line.
 *
 * A tab, newline, carriage return, NUL and backslash are written \t \n \r \0 \\, other control
 * bytes \xHH. What is printed so can be read again, and cannot steer a terminal. */
#ifndef LETHE_CLI_SAY_ESCAPE_H
#define LETHE_CLI_SAY_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lethe/hash.h"

/* The most bytes that one byte becomes. */
enum { ESCAPE_FACTOR = 4 };

/* Writes the field to out, which has room for ESCAPE_FACTOR times its size. Returns the length. */
size_t escape_write(lethe_bytes field, char *out);

/* Reads an escaped field back; out has room for its size. Returns false when something else than
 * the above, or \xHH of any byte, follows a backslash; then *at is where that backslash is. */
bool escape_read(lethe_bytes field, char *out, size_t *out_size, size_t *at);

#endif
