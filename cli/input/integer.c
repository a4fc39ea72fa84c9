/* integer.c - reads whole numbers.
 *
 * WHY     strtoll needs a terminating byte, skips blanks and depends on the locale. */
#include "input/integer.h"

#include <stddef.h>

/* So many digits cannot overflow 64 bits, and nearly every number has fewer. */
enum { SAFE_DIGITS = 18 };

enum integer_problem integer_parse(lethe_bytes text, int64_t *out) {
    const char *at = text.data;
    const char *end = at + text.size;
    int is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) at++;
    if (at == end) return INTEGER_NOT_A_NUMBER;
    int is_long = end - at > SAFE_DIGITS;
    int64_t value = 0;
    int overflowed = 0;
    for (; at < end; at++) {
        unsigned digit = (unsigned char)*at - (unsigned)'0';
        if (digit > 9) return INTEGER_NOT_A_NUMBER;
        /* Negative numbers reach one further, so all are gathered as negative ones. */
        if (!is_long) {
            value = value * 10 - (int64_t)digit;
        } else {
            overflowed |= __builtin_mul_overflow(value, 10, &value);
            overflowed |= __builtin_sub_overflow(value, (int64_t)digit, &value);
        }
    }
    if (!is_negative) overflowed |= __builtin_sub_overflow(0, value, &value);
    if (overflowed) return INTEGER_TOO_LARGE;
    *out = value;
    return INTEGER_FINE;
}

bool integer_parse_natural(lethe_bytes text, uint64_t *out) {
    const char *digits = text.data;
    uint64_t value = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = (unsigned char)digits[i] - (unsigned)'0';
        if (digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, digit, &value)) {
            return false;
        }
    }
    *out = value;
    return text.size > 0;
}
