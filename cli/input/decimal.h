/* decimal.h - decimal numbers, exactly: values and deltas by a store's scale, and fractions of a
 * second for times.
 *
 * With a scale of n, a number is held as a whole number of units of 10^-n: at a scale of 2, 3.5 is
 * 350, and shown as 3.50. This is the only place that knows of it. */
#ifndef LETHE_CLI_INPUT_DECIMAL_H
#define LETHE_CLI_INPUT_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/hash.h"

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

enum decimal_problem {
    DECIMAL_FINE = 0,
    DECIMAL_NOT_A_NUMBER,
    DECIMAL_TOO_FINE, /* it has more digits after the point than the scale */
    DECIMAL_TOO_LARGE /* beyond 64 bits */
};

/* Reads all of text as units of 10^-scale; scale is at most 18. Zeros at the end of a fraction do
 * not count as digits. Stores *out only when it returns DECIMAL_FINE. */
enum decimal_problem decimal_parse_scaled(lethe_bytes text, unsigned scale, int64_t *out);

/* How many units are 1: 10^scale. */
static inline int64_t decimal_unit(unsigned scale) {
    int64_t unit = 1;
    for (; scale > 0; scale--) {
        unit *= 10;
    }
    return unit;
}

/* Room for any number that these write. They return it, for use within a printf. */
struct decimal_text {
    char text[32];
};

/* Shows units of 10^-scale with as many digits after the point as the scale has. */
const char *decimal_show(int64_t units, unsigned scale, struct decimal_text *out);
const char *decimal_show_natural(uint64_t units, unsigned scale, struct decimal_text *out);

#endif
