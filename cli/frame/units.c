/* units.c - reads numbers with units, exactly.
 *
 * IDEA  A number is read as digits * 10^exponent, both integers, with no trailing zero in the
 *       digits. Multiplying by the unit and applying the exponent then either gives a whole
 *       64-bit number exactly or shows why not. */
#include "frame/units.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct decimal {
    uint64_t digits;
    int exponent;
    bool overflowed;  /* more significant digits than 64 bits hold */
    const char *rest; /* what follows the number */
};

/* Larger exponents than this are as good as infinite, and adding to it stays within an int. */
enum { EXPONENT_LIMIT = 100000 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Appends a digit. Zeros are only counted until another digit follows them. */
static void append_digit(struct decimal *number, int digit, int *zeros) {
    if (digit == 0) {
        *zeros += number->digits != 0 && *zeros < EXPONENT_LIMIT;
        return;
    }
    for (; *zeros >= 0; (*zeros)--) {
        if (__builtin_mul_overflow(number->digits, 10, &number->digits)) number->overflowed = true;
    }
    *zeros = 0;
    if (__builtin_add_overflow(number->digits, (uint64_t)digit, &number->digits)) {
        number->overflowed = true;
    }
}

/* Reads "e6", "E-3" at text; text itself when there is none. */
static const char *scan_exponent(const char *text, int *exponent) {
    if (*text != 'e' && *text != 'E') return text;
    const char *at = text + 1;
    int sign = *at == '-' ? -1 : 1;
    if (*at == '-' || *at == '+') at++;
    if (!is_digit(*at)) return text;
    int value = 0;
    for (; is_digit(*at); at++) {
        if (value < EXPONENT_LIMIT) value = value * 10 + (*at - '0');
    }
    *exponent += sign * value;
    return at;
}

static enum unit_problem scan_decimal(const char *text, bool with_exponent, struct decimal *out) {
    *out = (struct decimal){0};
    if (*text == '-')
        return is_digit(text[1]) || text[1] == '.' ? UNIT_NEGATIVE : UNIT_NOT_A_NUMBER;
    int zeros = 0;
    int fraction_digits = 0;
    size_t digits_seen = 0;
    const char *at = text;
    for (; is_digit(*at); at++, digits_seen++) {
        append_digit(out, *at - '0', &zeros);
    }
    if (*at == '.' && is_digit(at[1])) {
        for (at++; is_digit(*at); at++, digits_seen++) {
            append_digit(out, *at - '0', &zeros);
            if (fraction_digits < EXPONENT_LIMIT) fraction_digits++;
        }
    }
    if (digits_seen == 0) return UNIT_NOT_A_NUMBER;
    out->exponent = zeros - fraction_digits;
    if (with_exponent) at = scan_exponent(at, &out->exponent);
    out->rest = at;
    return UNIT_FINE;
}

/* digits * unit * 10^exponent as a whole number. */
static enum unit_problem scale(struct decimal number, uint64_t unit, uint64_t *out) {
    if (number.digits == 0 && !number.overflowed) return UNIT_ZERO;
    uint64_t value = number.digits;
    if (number.overflowed || __builtin_mul_overflow(value, unit, &value)) {
        return number.exponent < 0 ? UNIT_NOT_WHOLE : UNIT_TOO_LARGE;
    }
    for (; number.exponent < 0; number.exponent++) {
        if (value % 10 != 0) return UNIT_NOT_WHOLE;
        value /= 10;
    }
    for (; number.exponent > 0; number.exponent--) {
        if (__builtin_mul_overflow(value, 10, &value)) return UNIT_TOO_LARGE;
    }
    *out = value;
    return UNIT_FINE;
}

struct unit {
    const char *name;
    uint64_t factor;
};

/* Finds the unit that number is written in. The table ends with a name of NULL. */
static enum unit_problem apply_unit(struct decimal number, const struct unit *units,
                                    uint64_t *out) {
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcmp(number.rest, unit->name) == 0) return scale(number, unit->factor, out);
    }
    return *number.rest == '\0' ? UNIT_MISSING : UNIT_UNKNOWN;
}

enum unit_problem units_parse_count(const char *text, uint64_t *out) {
    struct decimal number;
    enum unit_problem problem = scan_decimal(text, true, &number);
    if (problem != UNIT_FINE) return problem;
    /* A power of ten goes into the exponent, where it can meet a fraction without overflow. */
    static const char letters[] = "kMGT";
    char unit = *number.rest == 'K' ? 'k' : *number.rest;
    const char *letter = unit != '\0' ? strchr(letters, unit) : NULL;
    if (letter != NULL) {
        number.exponent += 3 * (int)(letter - letters + 1);
        number.rest++;
    }
    return *number.rest != '\0' ? UNIT_UNKNOWN : scale(number, 1, out);
}

enum unit_problem units_parse_size(const char *text, uint64_t *out_bytes) {
    static const struct unit units[] = {
        {"", 1},
        {"B", 1},
        {"KiB", UINT64_C(1) << 10},
        {"MiB", UINT64_C(1) << 20},
        {"GiB", UINT64_C(1) << 30},
        {"TiB", UINT64_C(1) << 40},
        {"kB", UINT64_C(1000)},
        {"KB", UINT64_C(1000)},
        {"MB", UINT64_C(1000000)},
        {"GB", UINT64_C(1000000000)},
        {"TB", UINT64_C(1000000000000)},
        {0},
    };
    struct decimal number;
    enum unit_problem problem = scan_decimal(text, false, &number);
    return problem != UNIT_FINE ? problem : apply_unit(number, units, out_bytes);
}

enum unit_problem units_parse_duration(const char *text, uint64_t *out_ms) {
    static const struct unit units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {0},
    };
    struct decimal number;
    enum unit_problem problem = scan_decimal(text, false, &number);
    return problem != UNIT_FINE ? problem : apply_unit(number, units, out_ms);
}

enum unit_problem units_parse_probability(const char *text, double *out) {
    struct decimal number;
    enum unit_problem problem = scan_decimal(text, true, &number);
    if (problem != UNIT_FINE) return problem;
    bool percent = strcmp(number.rest, "%") == 0;
    if (!percent && *number.rest != '\0') return UNIT_UNKNOWN;
    if (number.digits == 0 && !number.overflowed) return UNIT_ZERO;
    /* What scan_decimal accepts is also what strtold reads. The longer type keeps the division
     * from showing: 99.9% is the double 0.999. */
    long double precise = strtold(text, NULL);
    double value = (double)(percent ? precise / 100 : precise);
    if (!(value < 1)) return UNIT_TOO_LARGE;
    if (!isnormal(value)) return UNIT_TOO_SMALL;
    *out = value;
    return UNIT_FINE;
}

enum unit_problem units_parse_seed(const char *text, uint64_t *out) {
    if (text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) {
        struct decimal number;
        enum unit_problem problem = scan_decimal(text, false, &number);
        if (problem != UNIT_FINE) return problem;
        return *number.rest != '\0' ? UNIT_UNKNOWN : scale(number, 1, out);
    }
    const char *digits = text + 2;
    size_t count = strspn(digits, "0123456789abcdefABCDEF");
    if (count == 0 || digits[count] != '\0') return UNIT_NOT_A_NUMBER;
    digits += strspn(digits, "0");
    if (*digits == '\0') return UNIT_ZERO;
    if (strlen(digits) > 16) return UNIT_TOO_LARGE;
    *out = strtoull(digits, NULL, 16);
    return UNIT_FINE;
}

const char *units_problem_phrase(enum unit_problem problem) {
    switch (problem) {
    case UNIT_FINE:
        return "is fine";
    case UNIT_NOT_A_NUMBER:
        return "is not a number";
    case UNIT_NEGATIVE:
        return "is negative";
    case UNIT_ZERO:
        return "is zero";
    case UNIT_TOO_LARGE:
        return "is too large";
    case UNIT_TOO_SMALL:
        return "is too small";
    case UNIT_NOT_WHOLE:
        return "is not a whole number";
    case UNIT_MISSING:
        return "has no unit";
    case UNIT_UNKNOWN:
        return "does not end in a known unit";
    }
    return "is not understood";
}
