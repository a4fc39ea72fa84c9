/* test_units.c - the parsers of counts, sizes, durations, probabilities and seeds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frame/units.h"

/* A text, and either the number it stands for or what is wrong with it. */
struct whole_case {
    const char *text;
    enum unit_problem problem;
    uint64_t value;
};

typedef enum unit_problem (*whole_parser)(const char *text, uint64_t *out);

static void check_whole(whole_parser parse, const struct whole_case *cases, size_t count) {
    static const uint64_t untouched = UINT64_C(0xdeadbeef);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = untouched;
        enum unit_problem problem = parse(cases[i].text, &value);
        if (problem != cases[i].problem ||
            value != (problem == UNIT_FINE ? cases[i].value : untouched)) {
            fail_msg("'%s': problem %d, value %llu", cases[i].text, (int)problem,
                     (unsigned long long)value);
        }
    }
}

#define CHECK_WHOLE(parse, cases) check_whole(parse, cases, sizeof(cases) / sizeof((cases)[0]))

/* Goal:   a count is exact in every form, up to the last that 64 bits hold.
 * Method: examples of each form, and the numbers just inside and outside each limit. */
static void counts(void **state) {
    (void)state;
    static const struct whole_case cases[] = {
        {"1", UNIT_FINE, 1},
        {"500", UNIT_FINE, 500},
        {"007", UNIT_FINE, 7},
        {"10k", UNIT_FINE, 10000},
        {"10K", UNIT_FINE, 10000},
        {"10M", UNIT_FINE, 10000000},
        {"2.5G", UNIT_FINE, 2500000000},
        {"1T", UNIT_FINE, 1000000000000},
        {"1e6", UNIT_FINE, 1000000},
        {"1E+6", UNIT_FINE, 1000000},
        {"1.5e3", UNIT_FINE, 1500},
        {"1500e-2", UNIT_FINE, 15},
        {"0.001k", UNIT_FINE, 1},
        {"1e3k", UNIT_FINE, 1000000},
        {"1.000", UNIT_FINE, 1},
        {"18446744073709551615", UNIT_FINE, UINT64_MAX},
        {"18446744073709551.615k", UNIT_FINE, UINT64_MAX},
        {"18446744073709551616", UNIT_TOO_LARGE, 0},
        {"18446744073709551615k", UNIT_TOO_LARGE, 0},
        {"99999999999999999999999999", UNIT_TOO_LARGE, 0},
        {"1e20", UNIT_TOO_LARGE, 0},
        {"1e999999999999999999999", UNIT_TOO_LARGE, 0},
        {"1e-999999999999999999999", UNIT_NOT_WHOLE, 0},
        {"1.5", UNIT_NOT_WHOLE, 0},
        {"1.0001k", UNIT_NOT_WHOLE, 0},
        {"1.0000000000000000000000001", UNIT_NOT_WHOLE, 0},
        {"0", UNIT_ZERO, 0},
        {"0.0", UNIT_ZERO, 0},
        {"0e9", UNIT_ZERO, 0},
        {"0k", UNIT_ZERO, 0},
        {"-5", UNIT_NEGATIVE, 0},
        {"-0", UNIT_NEGATIVE, 0},
        {"-.5", UNIT_NEGATIVE, 0},
        {"", UNIT_NOT_A_NUMBER, 0},
        {"-", UNIT_NOT_A_NUMBER, 0},
        {"+5", UNIT_NOT_A_NUMBER, 0},
        {" 5", UNIT_NOT_A_NUMBER, 0},
        {"nan", UNIT_NOT_A_NUMBER, 0},
        {"inf", UNIT_NOT_A_NUMBER, 0},
        {"-inf", UNIT_NOT_A_NUMBER, 0},
        {"k", UNIT_NOT_A_NUMBER, 0},
        {".", UNIT_NOT_A_NUMBER, 0},
        {"5 ", UNIT_UNKNOWN, 0},
        {"5.", UNIT_UNKNOWN, 0},
        {"0x10", UNIT_UNKNOWN, 0},
        {"1_000", UNIT_UNKNOWN, 0},
        {"1,000", UNIT_UNKNOWN, 0},
        {"5m", UNIT_UNKNOWN, 0},
        {"5kk", UNIT_UNKNOWN, 0},
        {"5MiB", UNIT_UNKNOWN, 0},
        {"1e", UNIT_UNKNOWN, 0},
        {"1e+", UNIT_UNKNOWN, 0},
    };
    CHECK_WHOLE(units_parse_count, cases);
}

/* Goal:   a size is in bytes; decimal and binary units are told apart and never guessed. */
static void sizes(void **state) {
    (void)state;
    static const struct whole_case cases[] = {
        {"4096", UNIT_FINE, 4096},
        {"1B", UNIT_FINE, 1},
        {"512KiB", UNIT_FINE, 512 << 10},
        {"64MiB", UNIT_FINE, 64 << 20},
        {"1.5GiB", UNIT_FINE, UINT64_C(3) << 29},
        {"1GB", UNIT_FINE, 1000000000},
        {"2kB", UNIT_FINE, 2000},
        {"2KB", UNIT_FINE, 2000},
        {"3TB", UNIT_FINE, UINT64_C(3000000000000)},
        {"16777215TiB", UNIT_FINE, UINT64_C(16777215) << 40},
        {"16777216TiB", UNIT_TOO_LARGE, 0},
        {"0.1KiB", UNIT_NOT_WHOLE, 0},
        {"0.5B", UNIT_NOT_WHOLE, 0},
        {"0MiB", UNIT_ZERO, 0},
        {"-1MiB", UNIT_NEGATIVE, 0},
        {"64M", UNIT_UNKNOWN, 0},
        {"64mib", UNIT_UNKNOWN, 0},
        {"64 MiB", UNIT_UNKNOWN, 0},
        {"1e3", UNIT_UNKNOWN, 0},
        {"0x10", UNIT_UNKNOWN, 0},
        {"MiB", UNIT_NOT_A_NUMBER, 0},
        {"inf", UNIT_NOT_A_NUMBER, 0},
    };
    CHECK_WHOLE(units_parse_size, cases);
}

/* Goal:   a duration is in milliseconds and needs its unit: a bare 90 could be anything. */
static void durations(void **state) {
    (void)state;
    static const struct whole_case cases[] = {
        {"250ms", UNIT_FINE, 250},
        {"90s", UNIT_FINE, 90000},
        {"10m", UNIT_FINE, 600000},
        {"24h", UNIT_FINE, 86400000},
        {"7d", UNIT_FINE, 604800000},
        {"1.5h", UNIT_FINE, 5400000},
        {"0.25s", UNIT_FINE, 250},
        {"213503982334d", UNIT_FINE, UINT64_C(213503982334) * 86400000},
        {"213503982335d", UNIT_TOO_LARGE, 0},
        {"0.5ms", UNIT_NOT_WHOLE, 0},
        {"90", UNIT_MISSING, 0},
        {"0s", UNIT_ZERO, 0},
        {"-1s", UNIT_NEGATIVE, 0},
        {"1M", UNIT_UNKNOWN, 0},
        {"1min", UNIT_UNKNOWN, 0},
        {"1h30m", UNIT_UNKNOWN, 0},
        {"s", UNIT_NOT_A_NUMBER, 0},
        {"nan", UNIT_NOT_A_NUMBER, 0},
    };
    CHECK_WHOLE(units_parse_duration, cases);
}

/* Goal:   a seed is any 64 bits but zero, in the form that lethe prints or in decimal. */
static void seeds(void **state) {
    (void)state;
    static const struct whole_case cases[] = {
        {"12345", UNIT_FINE, 12345},
        {"0x4c65746865303031", UNIT_FINE, UINT64_C(0x4c65746865303031)},
        {"0XFF", UNIT_FINE, 255},
        {"0x000000000000000000000001", UNIT_FINE, 1},
        {"18446744073709551615", UNIT_FINE, UINT64_MAX},
        {"0xffffffffffffffff", UNIT_FINE, UINT64_MAX},
        {"18446744073709551616", UNIT_TOO_LARGE, 0},
        {"0x10000000000000000", UNIT_TOO_LARGE, 0},
        {"0", UNIT_ZERO, 0},
        {"0x0", UNIT_ZERO, 0},
        {"-1", UNIT_NEGATIVE, 0},
        {"0x", UNIT_NOT_A_NUMBER, 0},
        {"0xg", UNIT_NOT_A_NUMBER, 0},
        {"ff", UNIT_NOT_A_NUMBER, 0},
        {"1.5", UNIT_NOT_WHOLE, 0},
        {"10k", UNIT_UNKNOWN, 0},
    };
    CHECK_WHOLE(units_parse_seed, cases);
}

/* Goal:   a probability is above 0 and below 1, and the nearest double to what was written. */
static void probabilities(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum unit_problem problem;
        double value;
    } cases[] = {
        {"0.01", UNIT_FINE, 0.01},
        {".5", UNIT_FINE, 0.5},
        {"1e-6", UNIT_FINE, 1e-6},
        {"1E-15", UNIT_FINE, 1e-15},
        {"1%", UNIT_FINE, 0.01},
        {"99.9%", UNIT_FINE, 0.999},
        {"0.1000000000000000055511151231257827", UNIT_FINE, 0.1},
        {"1", UNIT_TOO_LARGE, 0},
        {"100%", UNIT_TOO_LARGE, 0},
        {"1e400", UNIT_TOO_LARGE, 0},
        {"1e-400", UNIT_TOO_SMALL, 0},
        {"4e-320", UNIT_TOO_SMALL, 0},
        {"0", UNIT_ZERO, 0},
        {"0%", UNIT_ZERO, 0},
        {"0e-5", UNIT_ZERO, 0},
        {"-0.1", UNIT_NEGATIVE, 0},
        {"nan", UNIT_NOT_A_NUMBER, 0},
        {"NaN", UNIT_NOT_A_NUMBER, 0},
        {"inf", UNIT_NOT_A_NUMBER, 0},
        {"infinity", UNIT_NOT_A_NUMBER, 0},
        {"", UNIT_NOT_A_NUMBER, 0},
        {"%", UNIT_NOT_A_NUMBER, 0},
        {"0x1p-3", UNIT_UNKNOWN, 0},
        {"0,01", UNIT_UNKNOWN, 0},
        {"1%%", UNIT_UNKNOWN, 0},
        {"0.5k", UNIT_UNKNOWN, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double value = -1;
        enum unit_problem problem = units_parse_probability(cases[i].text, &value);
        if (problem != cases[i].problem || value != (problem == UNIT_FINE ? cases[i].value : -1)) {
            fail_msg("'%s': problem %d, value %.17g", cases[i].text, (int)problem, value);
        }
    }
}

/* Goal:   every problem has words, so that no message ends in the middle. */
static void phrases(void **state) {
    (void)state;
    for (int problem = UNIT_FINE; problem <= UNIT_UNKNOWN; problem++) {
        assert_true(units_problem_phrase((enum unit_problem)problem)[0] != '\0');
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts), cmocka_unit_test(sizes),         cmocka_unit_test(durations),
        cmocka_unit_test(seeds),  cmocka_unit_test(probabilities), cmocka_unit_test(phrases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
