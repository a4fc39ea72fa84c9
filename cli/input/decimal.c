/* decimal.c - reads and shows decimal numbers without rounding.
 *
 * I1      digits has no trailing zero: a number is whole when its exponent is not negative, and
 *         has -exponent digits after the point when it is.
 * WHY     strtod rounds: 9007199254740993.0 would become another whole number, and
 *         0.99999999999999999999 would become one. */
#include "input/decimal.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "input/integer.h"

enum { EXPONENT_MOST = 100000 };

/* A number as it is gathered. Zeros are held back until another digit follows them. */
struct gathered {
    struct decimal number;
    int64_t zeros;
};

static bool append(uint64_t *digits, unsigned digit) {
    uint64_t next;
    if (__builtin_mul_overflow(*digits, 10, &next) || __builtin_add_overflow(next, digit, &next)) {
        return false;
    }
    *digits = next;
    return true;
}

static void gather_digit(struct gathered *gathered, unsigned digit, bool is_fraction) {
    struct decimal *number = &gathered->number;
    if (is_fraction) number->exponent--;
    if (digit == 0) {
        gathered->zeros++;
        return;
    }
    uint64_t digits = number->digits;
    int64_t zeros = digits > 0 ? gathered->zeros : 0;
    bool fits = !number->is_cut;
    for (int64_t i = 0; i < zeros && fits; i++) {
        fits = append(&digits, 0);
    }
    if (fits && append(&digits, digit)) {
        number->digits = digits;
        gathered->zeros = 0;
    } else {
        /* What is left out still has its places. */
        number->is_cut = true;
        gathered->zeros++;
    }
}

/* Takes digits; returns how many there were. */
static size_t take_digits(const char **at, const char *end, bool is_fraction,
                          struct gathered *gathered) {
    const char *from = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; (*at)++) {
        gather_digit(gathered, (unsigned)(**at - '0'), is_fraction);
    }
    return (size_t)(*at - from);
}

static bool take_exponent(const char **at, const char *end, int64_t *exponent) {
    if (*at == end || (**at != 'e' && **at != 'E')) return true;
    (*at)++;
    int64_t value;
    if (integer_parse((lethe_bytes){*at, (size_t)(end - *at)}, &value) != INTEGER_FINE)
        return false;
    if (value > EXPONENT_MOST) value = EXPONENT_MOST;
    if (value < -EXPONENT_MOST) value = -EXPONENT_MOST;
    *exponent += value;
    *at = end;
    return true;
}

bool decimal_parse(lethe_bytes text, struct decimal *out) {
    struct gathered gathered = {0};
    const char *at = text.data, *end = at + text.size;
    if (at < end && (*at == '-' || *at == '+')) gathered.number.is_negative = *at++ == '-';
    if (take_digits(&at, end, false, &gathered) == 0) return false;
    if (at < end && *at == '.') {
        at++;
        if (take_digits(&at, end, true, &gathered) == 0) return false;
    }
    if (!take_exponent(&at, end, &gathered.number.exponent) || at != end) return false;
    gathered.number.exponent += gathered.zeros;
    *out = gathered.number;
    return true;
}

bool decimal_shift(const struct decimal *number, int places, uint64_t *out) {
    int64_t exponent = number->exponent + places;
    uint64_t value = number->digits;
    for (; exponent < 0 && value > 0; exponent++) {
        value /= 10;
    }
    for (; exponent > 0 && value > 0; exponent--) {
        if (__builtin_mul_overflow(value, 10, &value)) return false;
    }
    *out = value;
    return true;
}

enum decimal_problem decimal_parse_scaled(lethe_bytes text, unsigned scale, int64_t *out) {
    struct decimal number;
    uint64_t units;
    if (!decimal_parse(text, &number)) return DECIMAL_NOT_A_NUMBER;
    if (number.digits != 0 && number.exponent < -(int64_t)scale) return DECIMAL_TOO_FINE;
    uint64_t most = (uint64_t)INT64_MAX + number.is_negative;
    if (!decimal_shift(&number, (int)scale, &units) || units > most) return DECIMAL_TOO_LARGE;
    /* Digits that had no room in 64 bits come after all that the scale has. */
    if (number.is_cut) return DECIMAL_TOO_FINE;
    *out = number.is_negative ? (int64_t)(0 - units) : (int64_t)units;
    return DECIMAL_FINE;
}

static const char *show(bool is_negative, uint64_t units, unsigned scale,
                        struct decimal_text *out) {
    const char *sign = is_negative ? "-" : "";
    uint64_t unit = (uint64_t)decimal_unit(scale);
    if (scale == 0) {
        snprintf(out->text, sizeof out->text, "%s%" PRIu64, sign, units);
    } else {
        snprintf(out->text, sizeof out->text, "%s%" PRIu64 ".%0*" PRIu64, sign, units / unit,
                 (int)scale, units % unit);
    }
    return out->text;
}

const char *decimal_show(int64_t units, unsigned scale, struct decimal_text *out) {
    return show(units < 0, units < 0 ? 0 - (uint64_t)units : (uint64_t)units, scale, out);
}

const char *decimal_show_natural(uint64_t units, unsigned scale, struct decimal_text *out) {
    return show(false, units, scale, out);
}
