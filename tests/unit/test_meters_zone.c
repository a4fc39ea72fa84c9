/* Goal:   a moment has the local date that its zone says, and a day is what clocks on the wall call
 *         one, however long it is.
 * Method: zones of the system's database, compared with the C library at random moments; dates at
 *         which clocks were changed, spelled out; files that are cut short or damaged. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/meters/date.h"
#include "engine/meters/period.h"
#include "support/random.h"

static const lethe_resolution HOUR = {LETHE_UNIT_SECONDS, 3600}, DAY = {.unit = LETHE_UNIT_DAY},
                              WEEK = {.unit = LETHE_UNIT_WEEK}, MONTH = {.unit = LETHE_UNIT_MONTH},
                              YEAR = {.unit = LETHE_UNIT_YEAR};

static lethe_zone *load(const char *name) {
    lethe_zone *zone;
    lethe_detail detail = {""};
    lethe_status status = lethe_zone_load(name, NULL, &zone, &detail);
    if (status != LETHE_OK) print_message("%s: %s\n", name, detail.text);
    assert_int_equal(status, LETHE_OK);
    return zone;
}

/* Compares with the C library, in the zone that TZ names. From before 1970 nothing is asked, nor
 * from after the year 2200: the ends of the first and the last span are beyond what it knows. */
static void assert_offset(int64_t moment_s, int32_t offset_s) {
    if (moment_s < 0 || moment_s > INT64_C(7258118400)) return;
    time_t moment = (time_t)moment_s;
    struct tm local;
    assert_non_null(localtime_r(&moment, &local));
    assert_int_equal(offset_s, local.tm_gmtoff);
}

static void zones_agree_with_the_system(void **state) {
    (void)state;
    static const char *const names[] = {"Europe/Berlin",       "Europe/Dublin",
                                        "America/New_York",    "America/St_Johns",
                                        "Asia/Kathmandu",      "Pacific/Apia",
                                        "Australia/Lord_Howe", "America/Nuuk",
                                        "Africa/Casablanca",   "America/Sao_Paulo",
                                        "Asia/Tehran",         "Pacific/Kiritimati",
                                        "Antarctica/Troll",    "UTC",
                                        "Etc/GMT+12",          "Asia/Gaza"};
    struct test_random random = {.state = 5};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lethe_zone *zone = load(names[i]);
        char text[80];
        snprintf(text, sizeof text, ":%s", names[i]);
        setenv("TZ", text, 1);
        tzset();
        for (unsigned j = 0; j < 20000; j++) {
            time_t moment = (time_t)test_random_below(&random, UINT64_C(5000000000));
            struct tm local;
            assert_non_null(localtime_r(&moment, &local));
            lethe_zone_span span = lethe_zone_at(zone, moment);
            assert_int_equal(span.offset_s, local.tm_gmtoff);
            assert_true(span.from_s <= moment && moment < span.to_s);
            assert_offset(span.from_s, span.offset_s);
            assert_offset(span.to_s - 1, span.offset_s);
            uint64_t day = lethe_period_at(DAY, zone, (uint64_t)moment * 1000).label;
            uint64_t expected = (uint64_t)(lethe_day_of_date(local.tm_year + 1900, local.tm_mon + 1,
                                                             local.tm_mday) +
                                           719468);
            assert_int_equal(day, expected);
            assert_int_equal(lethe_period_at(YEAR, zone, (uint64_t)moment * 1000).label,
                             local.tm_year + 1900);
            assert_int_equal(lethe_period_at(MONTH, zone, (uint64_t)moment * 1000).label,
                             (local.tm_year + 1900) * 12 + local.tm_mon);
        }
        lethe_zone_free(zone);
    }
}

/* A stretch has one label, which the moments before and after it have not, and the periods of a
 * zone come in their order. */
static void stretches_are_whole(void **state) {
    (void)state;
    static const char *const names[] = {"Europe/Berlin",     "America/St_Johns", "Pacific/Apia",
                                        "Africa/Casablanca", "+05:45",           "UTC"};
    const lethe_resolution all[] = {HOUR, DAY, WEEK, MONTH, YEAR, {LETHE_UNIT_SECONDS, 900}};
    struct test_random random = {.state = 6};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lethe_zone *zone = load(names[i]);
        for (unsigned j = 0; j < 6000; j++) {
            lethe_resolution each = all[j % 6];
            uint64_t moment_ms = test_random_below(&random, UINT64_C(5000000000000));
            lethe_stretch stretch = lethe_period_at(each, zone, moment_ms);
            assert_true(stretch.from_ms <= moment_ms && moment_ms < stretch.to_ms);
            assert_int_equal(lethe_period_at(each, zone, stretch.from_ms).label, stretch.label);
            assert_int_equal(lethe_period_at(each, zone, stretch.to_ms - 1).label, stretch.label);
            uint64_t begin_ms = lethe_period_begin(each, zone, stretch.label);
            assert_true(begin_ms <= stretch.from_ms);
            assert_int_equal(lethe_period_at(each, zone, begin_ms).label, stretch.label);
            assert_true(begin_ms == 0 ||
                        lethe_period_at(each, zone, begin_ms - 1).label < stretch.label);
            uint64_t next = lethe_period_next(each, zone, stretch.label);
            assert_true(next > stretch.label);
            assert_true(lethe_period_begin(each, zone, next) > begin_ms);
        }
        lethe_zone_free(zone);
    }
}

static uint64_t utc_ms(int64_t year, int64_t month, int64_t day, int64_t hour) {
    return (uint64_t)(lethe_day_of_date(year, month, day) * 24 + hour) * 3600000;
}

static void days_are_as_long_as_clocks_say(void **state) {
    (void)state;
    lethe_zone *berlin = load("Europe/Berlin");
    static const struct {
        int64_t year, month, day, hours, begin;
    } days[] = {{2024, 3, 31, 23, 23},
                {2024, 10, 27, 25, 22},
                {2024, 7, 1, 24, 22},
                {2090, 3, 26, 23, 23},
                {2090, 10, 29, 25, 22}};
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++) {
        uint64_t noon_ms = utc_ms(days[i].year, days[i].month, days[i].day, 12);
        uint64_t label = lethe_period_at(DAY, berlin, noon_ms).label;
        uint64_t begin_ms = lethe_period_begin(DAY, berlin, label);
        uint64_t end_ms = lethe_period_begin(DAY, berlin, lethe_period_next(DAY, berlin, label));
        assert_int_equal((end_ms - begin_ms) / 3600000, days[i].hours);
        assert_int_equal(begin_ms % 86400000 / 3600000, days[i].begin);
    }
    lethe_zone_free(berlin);

    lethe_zone *kathmandu = load("Asia/Kathmandu");
    uint64_t label = lethe_period_at(DAY, kathmandu, utc_ms(2024, 5, 5, 18)).label;
    assert_int_equal(lethe_period_begin(DAY, kathmandu, label),
                     utc_ms(2024, 5, 4, 18) + 15 * 60000);
    lethe_zone_free(kathmandu);

    /* There was no 30 December 2011 in Samoa. */
    lethe_zone *apia = load("Pacific/Apia");
    uint64_t before = lethe_period_at(DAY, apia, utc_ms(2011, 12, 30, 9)).label;
    uint64_t after = lethe_period_at(DAY, apia, utc_ms(2011, 12, 30, 10)).label;
    assert_int_equal(after, before + 2);
    assert_int_equal(lethe_period_next(DAY, apia, before), after);
    lethe_zone_free(apia);
}

/* 2021-01-03 was a Sunday, of week 53 of 2020; the day after it week 1 began. */
static void weeks_are_those_of_iso(void **state) {
    (void)state;
    uint64_t sunday = lethe_period_at(WEEK, NULL, utc_ms(2021, 1, 3, 23)).label;
    assert_int_equal(lethe_period_at(WEEK, NULL, utc_ms(2020, 12, 28, 0)).label, sunday);
    assert_int_equal(lethe_period_at(WEEK, NULL, utc_ms(2021, 1, 4, 0)).label, sunday + 1);
    assert_int_equal(lethe_period_begin(WEEK, NULL, sunday), utc_ms(2020, 12, 28, 0));
}

static void the_ends_of_time_have_labels(void **state) {
    (void)state;
    lethe_zone *west = load("-11:00");
    assert_true(lethe_period_at(DAY, west, 0).label < lethe_period_at(DAY, NULL, 0).label);
    assert_int_equal(lethe_period_at(YEAR, west, 0).label, 1969);
    lethe_zone_free(west);
    assert_int_equal(lethe_period_at(YEAR, NULL, UINT64_MAX).label, 9999);
    assert_true(lethe_period_at((lethe_resolution){LETHE_UNIT_SECONDS, 1}, NULL, UINT64_MAX).label <
                LETHE_LABEL_END);
}

static void unknown_zones_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {
        "",   "Europe/Atlantis", "../../../etc/passwd", "/etc/localtime", "+25:00",
        "+1", "Europe",          "posixrules/..",       "+01:60",         "Europe/Berlin\n"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        lethe_zone *zone;
        lethe_detail detail = {""};
        lethe_status status = lethe_zone_load(names[i], NULL, &zone, &detail);
        assert_int_not_equal(status, LETHE_OK);
        assert_null(zone);
        assert_true(strlen(detail.text) > 20);
    }
}

static void damaged_files_are_harmless(void **state) {
    (void)state;
    unsigned char whole[1 << 16], bytes[1 << 16];
    FILE *file = fopen("/usr/share/zoneinfo/America/New_York", "rb");
    assert_non_null(file);
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    lethe_zone *zone;
    for (size_t i = 0; i < size; i++) {
        memcpy(bytes, whole, size);
        lethe_status status = lethe_zone_parse(bytes, i, NULL, &zone);
        assert_true(status == LETHE_ECORRUPT && zone == NULL);
    }
    struct test_random random = {.state = 7};
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(bytes, whole, size);
        for (unsigned j = 0; j < 3; j++)
            bytes[test_random_below(&random, size)] =
                (unsigned char)test_random_below(&random, 256);
        if (lethe_zone_parse(bytes, size, NULL, &zone) != LETHE_OK) continue;
        lethe_zone_span span = lethe_zone_at(zone, (int64_t)test_random_below(&random, 1U << 31));
        assert_true(span.from_s < span.to_s);
        lethe_zone_free(zone);
    }
}

static void resolutions_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text, *name;
    } all[] = {{"1h", "1h"},     {"60m", "1h"},  {"3600s", "1h"},
               {"15min", "15m"}, {"90s", "90s"}, {"1d", "1d"},
               {"1w", "1w"},     {"1mo", "1mo"}, {"1y", "1y"},
               {"", NULL},       {"0h", NULL},   {"2h", NULL},
               {"7m", NULL},     {"2d", NULL},   {"100y", NULL},
               {"h", NULL},      {"1", NULL},    {"1x", NULL},
               {"-1h", NULL},    {"1 h", NULL},  {"99999999999999999999s", NULL},
               {"61m", NULL}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        lethe_resolution resolution;
        bool is_one = lethe_resolution_parse(all[i].text, strlen(all[i].text), &resolution);
        assert_int_equal(is_one, all[i].name != NULL);
        if (!is_one) continue;
        char name[LETHE_RESOLUTION_NAME_BYTES];
        lethe_resolution_name(resolution, name);
        assert_string_equal(name, all[i].name);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zones_agree_with_the_system),
        cmocka_unit_test(stretches_are_whole),
        cmocka_unit_test(days_are_as_long_as_clocks_say),
        cmocka_unit_test(weeks_are_those_of_iso),
        cmocka_unit_test(the_ends_of_time_have_labels),
        cmocka_unit_test(unknown_zones_are_refused),
        cmocka_unit_test(damaged_files_are_harmless),
        cmocka_unit_test(resolutions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
