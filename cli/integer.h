/* integer.h - whole numbers of 64 bits with a sign, as events and `lethe set` have them. */
#ifndef LETHE_CLI_INTEGER_H
#define LETHE_CLI_INTEGER_H

#include <stdint.h>

#include "lethe/hash.h"

enum integer_problem {
    INTEGER_FINE = 0,
    INTEGER_NOT_A_NUMBER, /* anything but digits after an optional + or - */
    INTEGER_TOO_LARGE     /* beyond 64 bits */
};

/* Reads all of text, exactly. Stores *out only when it returns INTEGER_FINE. */
enum integer_problem integer_parse(lethe_bytes text, int64_t *out);

#endif
