/* decimal.h - decimal numbers, exactly: whole ones for deltas, fractions of a second for times. */
#ifndef LETHE_CLI_INPUT_DECIMAL_H
#define LETHE_CLI_INPUT_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "input/integer.h"

/* digits * 10^exponent. */
struct decimal {
    bool is_negative;
    /* More digits follow, not all zero, that 64 bits have no room for. */
    bool is_cut;
    uint64_t digits;
    int64_t exponent;
};

/* Reads all of text: 3, -3.50, +1e2, 1.7E-3. Digits stand on both sides of a point. Returns whether
 * it is a number. */
bool decimal_parse(lethe_bytes text, struct decimal *out);

/* Multiplies by ten to the power of `places`. Stores *out, and drops a fraction, if what is left
 * fits; the sign is not looked at. */
bool decimal_shift(const struct decimal *number, int places, uint64_t *out);

/* Reads all of text as integer_parse does, and also numbers such as 3.0 and 1e2, which are whole.
 * INTEGER_NOT_A_NUMBER for what is not whole, or not a number. */
enum integer_problem decimal_parse_whole(lethe_bytes text, int64_t *out);

#endif
