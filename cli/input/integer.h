/* integer.h - whole numbers of 64 bits, in lines and on the command line. */
#ifndef LETHE_CLI_INPUT_INTEGER_H
#define LETHE_CLI_INPUT_INTEGER_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/hash.h"

enum integer_problem {
    INTEGER_FINE = 0,
    INTEGER_NOT_A_NUMBER, /* anything but digits after an optional + or - */
    INTEGER_TOO_LARGE     /* beyond 64 bits */
};

/* Reads all of text, exactly. Stores *out only when it returns INTEGER_FINE. */
enum integer_problem integer_parse(lethe_bytes text, int64_t *out);

/* The same without a sign: digits only. Returns whether it is a number that fits. */
bool integer_parse_natural(lethe_bytes text, uint64_t *out);

#endif
