/* Goal:   a number is read by a scale exactly or not at all, and shown with all its digits; what is
 *         shown is read back as it was.
 * Method: a table of texts; random units and scales, shown and read back, also with zeros and
 *         exponents that change nothing; random texts of digits, compared with arithmetic of 128
 *         bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "input/decimal.h"
#include "support/random.h"

enum { ROUNDS = 200000, SCALE_MOST = 18 };

static enum decimal_problem parse(const char *text, unsigned scale, int64_t *out) {
    return decimal_parse_scaled((lethe_bytes){text, strlen(text)}, scale, out);
}

static void texts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned scale;
        enum decimal_problem problem;
        int64_t units;
        /* NULL: the same text. */
        const char *shown;
    } cases[] = {
        {"3", 2, DECIMAL_FINE, 300, "3.00"},
        {"3.5", 2, DECIMAL_FINE, 350, "3.50"},
        {"3.50", 2, DECIMAL_FINE, 350, NULL},
        {"3.5000", 2, DECIMAL_FINE, 350, "3.50"},
        {"-0.25", 2, DECIMAL_FINE, -25, NULL},
        {"+0.05", 2, DECIMAL_FINE, 5, "0.05"},
        {"-0.00", 2, DECIMAL_FINE, 0, "0.00"},
        {"1e2", 2, DECIMAL_FINE, 10000, "100.00"},
        {"125e-2", 2, DECIMAL_FINE, 125, "1.25"},
        {"0.00125E3", 2, DECIMAL_FINE, 125, "1.25"},
        {"1250e-3", 2, DECIMAL_FINE, 125, "1.25"},
        {"0e-99", 2, DECIMAL_FINE, 0, "0.00"},
        {"0.000", 0, DECIMAL_FINE, 0, "0"},
        {"-7", 0, DECIMAL_FINE, -7, NULL},
        {"0.1", 1, DECIMAL_FINE, 1, NULL},
        {"92233720368547758.07", 2, DECIMAL_FINE, INT64_MAX, NULL},
        {"-92233720368547758.08", 2, DECIMAL_FINE, INT64_MIN, NULL},
        {"9.223372036854775807", 18, DECIMAL_FINE, INT64_MAX, NULL},
        {"-9.223372036854775808", 18, DECIMAL_FINE, INT64_MIN, NULL},
        {"0.000000000000000001", 18, DECIMAL_FINE, 1, NULL},
        {"9223372036854775807", 0, DECIMAL_FINE, INT64_MAX, NULL},
        {"-9223372036854775808", 0, DECIMAL_FINE, INT64_MIN, NULL},
        {"3.5", 0, DECIMAL_TOO_FINE, 0, NULL},
        {"3.505", 2, DECIMAL_TOO_FINE, 0, NULL},
        {"1e-3", 2, DECIMAL_TOO_FINE, 0, NULL},
        {"-0.001", 2, DECIMAL_TOO_FINE, 0, NULL},
        {"0.0000000000000000001", 18, DECIMAL_TOO_FINE, 0, NULL},
        {"3.00000000000000000000000000001", 2, DECIMAL_TOO_FINE, 0, NULL},
        {"0.99999999999999999999", 18, DECIMAL_TOO_FINE, 0, NULL},
        {"922337203685477580.71", 1, DECIMAL_TOO_FINE, 0, NULL},
        {"92233720368547758.08", 2, DECIMAL_TOO_LARGE, 0, NULL},
        {"-92233720368547758.09", 2, DECIMAL_TOO_LARGE, 0, NULL},
        {"9223372036854775808", 0, DECIMAL_TOO_LARGE, 0, NULL},
        {"10", 18, DECIMAL_TOO_LARGE, 0, NULL},
        {"1e99", 2, DECIMAL_TOO_LARGE, 0, NULL},
        {"184467440737095516.16", 2, DECIMAL_TOO_LARGE, 0, NULL},
        {"100000000000000000000000000000001", 2, DECIMAL_TOO_LARGE, 0, NULL},
        {"", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"x", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"3,50", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"3.", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {".5", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"3.5.0", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"3.5 ", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"$3.5", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"0x1p3", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
        {"nan", 2, DECIMAL_NOT_A_NUMBER, 0, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t units = 77;
        struct decimal_text shown;
        enum decimal_problem problem = parse(cases[i].text, cases[i].scale, &units);
        if (problem != cases[i].problem) fail_msg("%s: %d", cases[i].text, (int)problem);
        assert_int_equal(units, problem == DECIMAL_FINE ? cases[i].units : 77);
        if (problem != DECIMAL_FINE) continue;
        const char *expected = cases[i].shown != NULL ? cases[i].shown : cases[i].text;
        assert_string_equal(decimal_show(units, cases[i].scale, &shown), expected);
    }
    struct decimal_text shown;
    assert_string_equal(decimal_show_natural(UINT64_MAX, 0, &shown), "18446744073709551615");
    assert_string_equal(decimal_show_natural(UINT64_MAX, 18, &shown), "18.446744073709551615");
    assert_string_equal(decimal_show_natural(4294967294, 2, &shown), "42949672.94");
}

/* A number with every magnitude as likely as another. */
static int64_t draw_units(struct test_random *random) {
    uint64_t size = test_random_next(random) >> test_random_below(random, 64);
    if (test_random_below(random, 50) == 0) size = (uint64_t)INT64_MAX + (size & 1);
    if (test_random_below(random, 2) == 0 || size > (uint64_t)INT64_MAX) {
        return (int64_t)(0 - (size > (uint64_t)INT64_MAX ? (uint64_t)INT64_MAX + 1 : size));
    }
    return (int64_t)size;
}

static void what_is_shown_is_read_back(void **state) {
    (void)state;
    struct test_random random = {.state = 1};
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned scale = (unsigned)test_random_below(&random, SCALE_MOST + 1);
        int64_t units = draw_units(&random), read = 0;
        struct decimal_text shown;
        char other[96];
        decimal_show(units, scale, &shown);
        const char *point = strchr(shown.text, '.');
        assert_int_equal(point == NULL ? 0 : strlen(point + 1), scale);
        if (parse(shown.text, scale, &read) != DECIMAL_FINE || read != units) {
            fail_msg("%lld at %u is shown as %s", (long long)units, scale, shown.text);
        }
        /* Zeros and exponents, which change nothing. */
        snprintf(other, sizeof other, "%s%s%se0", shown.text, point == NULL ? "." : "",
                 &"000"[test_random_below(&random, point == NULL ? 3 : 4)]);
        assert_int_equal(parse(other, scale, &read), DECIMAL_FINE);
        assert_int_equal(read, units);
        snprintf(other, sizeof other, "%llde-%u", (long long)units, scale);
        assert_int_equal(parse(other, scale, &read), DECIMAL_FINE);
        assert_int_equal(read, units);
    }
}

/* What a text of digits is, by arithmetic of 128 bits. */
struct judgement {
    bool is_too_fine, is_too_large;
    int64_t units;
};

static struct judgement judge(const char *whole, const char *fraction, bool is_negative,
                              unsigned scale) {
    __extension__ __int128 units = 0;
    size_t digits = strlen(fraction);
    while (digits > 0 && fraction[digits - 1] == '0') {
        digits--;
    }
    for (; *whole != '\0'; whole++) {
        units = units * 10 + (*whole - '0');
    }
    for (size_t i = 0; i < scale; i++) {
        units = units * 10 + (i < digits ? fraction[i] - '0' : 0);
    }
    if (is_negative) units = -units;
    struct judgement found = {.is_too_fine = digits > scale,
                              .is_too_large = units > INT64_MAX || units < INT64_MIN};
    if (!found.is_too_fine && !found.is_too_large) found.units = (int64_t)units;
    return found;
}

static void draw_digits(struct test_random *random, size_t least, size_t most, char *out) {
    size_t size = least + (size_t)test_random_below(random, most - least + 1);
    for (size_t i = 0; i < size; i++) {
        bool is_zero = test_random_below(random, 3) == 0;
        out[i] = is_zero ? '0' : (char)('0' + test_random_below(random, 10));
    }
    out[size] = '\0';
}

static void digits_are_what_they_are(void **state) {
    (void)state;
    struct test_random random = {.state = 2};
    unsigned seen[4] = {0};
    for (unsigned i = 0; i < ROUNDS; i++) {
        char whole[24], fraction[24], text[64];
        unsigned scale = (unsigned)test_random_below(&random, SCALE_MOST + 1);
        bool is_negative = test_random_below(&random, 2) == 0;
        /* With the digits of the scale, 38 at most: what 128 bits have room for. */
        draw_digits(&random, 1, 20, whole);
        draw_digits(&random, 0, scale < 16 ? scale + 2 : 18, fraction);
        snprintf(text, sizeof text, "%s%s%s%s", is_negative ? "-" : "", whole,
                 fraction[0] != '\0' ? "." : "", fraction);
        int64_t found = 0;
        struct judgement expected = judge(whole, fraction, is_negative, scale);
        enum decimal_problem problem = parse(text, scale, &found);
        seen[problem]++;
        bool is_right = problem == DECIMAL_TOO_FINE ? expected.is_too_fine
                        : problem == DECIMAL_TOO_LARGE
                            ? expected.is_too_large
                            : !expected.is_too_fine && !expected.is_too_large;
        if (!is_right || found != expected.units) {
            fail_msg("%s at %u is %lld (%d), and should be %lld", text, scale, (long long)found,
                     (int)problem, (long long)expected.units);
        }
    }
    assert_true(seen[DECIMAL_FINE] > 1000 && seen[DECIMAL_TOO_FINE] > 1000);
    assert_true(seen[DECIMAL_TOO_LARGE] > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(what_is_shown_is_read_back),
        cmocka_unit_test(digits_are_what_they_are),
    };
    return cmocka_run_group_tests_name("decimal", tests, NULL, NULL);
}
