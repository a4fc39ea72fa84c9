/* units.h - the numbers people write: counts, sizes, durations, probabilities.
 *
 * One parser for each, for the whole program, so that "10M" means the same everywhere. All are
 * exact (integers never pass through floating point) and refuse what would only be guessed at:
 * signs, hexadecimal, "nan", "inf", a duration without its unit, a size with half a unit. Zero is
 * refused too, since no option of lethe that takes one of these can be zero.
 *
 *   count        500  10k  10M  2.5G  1e6      k M G T are powers of 1000
 *   size         4096  512KiB  64MiB  1.5GB     KiB.. are powers of 1024, kB.. of 1000
 *   duration     250ms  90s  10m  24h  7d
 *   probability  0.01  1e-6  1%                 above 0, below 1
 *   seed         12345  0x4c65746865303031      64 bits; these alone may be hexadecimal */
#ifndef LETHE_CLI_FRAME_UNITS_H
#define LETHE_CLI_FRAME_UNITS_H

#include <stdint.h>

enum unit_problem {
    UNIT_FINE = 0,
    UNIT_NOT_A_NUMBER,
    UNIT_NEGATIVE,
    UNIT_ZERO,
    UNIT_TOO_LARGE, /* beyond 64 bits; for a probability, 1 or more */
    UNIT_TOO_SMALL, /* a probability that is not distinguishable from 0 */
    UNIT_NOT_WHOLE, /* a fraction of an item, a byte or a millisecond */
    UNIT_MISSING,   /* a number without the unit that it needs */
    UNIT_UNKNOWN    /* a number followed by something that is no unit here */
};

/* Each stores *out only when it returns UNIT_FINE. */
enum unit_problem units_parse_count(const char *text, uint64_t *out);
enum unit_problem units_parse_size(const char *text, uint64_t *out_bytes);
enum unit_problem units_parse_duration(const char *text, uint64_t *out_ms);
enum unit_problem units_parse_probability(const char *text, double *out);
enum unit_problem units_parse_seed(const char *text, uint64_t *out);

/* What is wrong, to follow the text in a message: "is negative". Static. */
const char *units_problem_phrase(enum unit_problem problem);

#endif
