/* time.c - reads the time of an event.
 *
 * IDEA    What is a number is read as one. Anything else is a date and a time of day, read letter
 *         by letter; after the day of the common log format comes a slash.
 * WHY     The C library's functions depend on the locale and the time zone, and accept too much.
 *         Seconds, milliseconds and microseconds of the years that events come from differ in
 *         their number of digits, so size distinguishes them. */
#include "events/time.h"

#include <stddef.h>
#include <string.h>

#include "input/decimal.h"

/* The first number that is not taken for seconds, for milliseconds, for microseconds. */
static const uint64_t SECONDS_END = UINT64_C(100000000000);
static const uint64_t MILLISECONDS_END = UINT64_C(100000000000000);
static const uint64_t MICROSECONDS_END = UINT64_C(100000000000000000);

/* The last millisecond of the year 9999. */
static const uint64_t LAST_MS = UINT64_C(253402300799999);

struct cursor {
    const char *at, *end;
};

/* Takes exactly count digits; -1 if they are not there. */
static int take_digits(struct cursor *cursor, int count) {
    int value = 0;
    for (int i = 0; i < count; i++, cursor->at++) {
        if (cursor->at == cursor->end || *cursor->at < '0' || *cursor->at > '9') return -1;
        value = value * 10 + (*cursor->at - '0');
    }
    return value;
}

/* Takes one of the given letters. */
static bool take_one_of(struct cursor *cursor, const char *letters, char *taken) {
    if (cursor->at == cursor->end) return false;
    for (; *letters != '\0'; letters++) {
        if (*cursor->at != *letters) continue;
        *taken = *cursor->at++;
        return true;
    }
    return false;
}

static bool is_leap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days from 1970 to a date; negative before. */
static int64_t days_since_1970(int year, int month, int day) {
    static const int before_month[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    int64_t leap_days = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return (int64_t)(year - 1970) * 365 + leap_days + before_month[month - 1] + (day - 1) +
           (month > 2 && is_leap(year));
}

/* Whether there is such a day; stores how many days it is after the first of 1970. */
static bool make_date(int year, int month, int day, int64_t *days) {
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || month < 1 || month > 12 || day < 1 ||
        day > month_days[month - 1] + (month == 2 && is_leap(year))) {
        return false;
    }
    *days = days_since_1970(year, month, day);
    return true;
}

/* 2023-11-14 */
static bool take_date(struct cursor *cursor, int64_t *days) {
    char ignored;
    int year = take_digits(cursor, 4);
    if (!take_one_of(cursor, "-", &ignored)) return false;
    int month = take_digits(cursor, 2);
    if (!take_one_of(cursor, "-", &ignored)) return false;
    return make_date(year, month, take_digits(cursor, 2), days);
}

/* 10/Oct/2000 */
static bool take_log_date(struct cursor *cursor, int64_t *days) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    char ignored;
    int day = take_digits(cursor, 2), month = 0;
    if (!take_one_of(cursor, "/", &ignored) || cursor->end - cursor->at < 3) return false;
    while (month < 12 && memcmp(months + (size_t)3 * month, cursor->at, 3) != 0) {
        month++;
    }
    cursor->at += 3;
    if (!take_one_of(cursor, "/", &ignored)) return false;
    return make_date(take_digits(cursor, 4), month + 1, day, days);
}

static bool take_fraction(struct cursor *cursor, int *ms) {
    *ms = 0;
    char ignored;
    if (!take_one_of(cursor, ".,", &ignored)) return true;
    int digits = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        if (digits++ < 3) *ms = *ms * 10 + (*cursor->at - '0');
    }
    for (int i = digits; i < 3; i++) {
        *ms *= 10;
    }
    return digits > 0;
}

static bool take_time(struct cursor *cursor, int64_t *ms_of_day) {
    char ignored;
    int hour = take_digits(cursor, 2);
    if (hour < 0 || hour > 23 || !take_one_of(cursor, ":", &ignored)) return false;
    int minute = take_digits(cursor, 2);
    if (minute < 0 || minute > 59 || !take_one_of(cursor, ":", &ignored)) return false;
    int second = take_digits(cursor, 2);
    int fraction_ms;
    if (second < 0 || second > 60 || !take_fraction(cursor, &fraction_ms)) return false;
    if (second == 60) second = 59;
    *ms_of_day = (((int64_t)hour * 60 + minute) * 60 + second) * 1000 + fraction_ms;
    return true;
}

enum reading {
    READ_FINE = 0,
    READ_BAD,
    READ_NO_ZONE, /* a local time, and the rule has no zone */
    READ_NEVER,   /* a local time that was passed over */
    READ_EARLY,
    READ_FAR
};

/* From local seconds to UTC, by the offset that the text has, or by the rule's zone. */
static enum reading to_utc(const struct event_time_rule *rule, lethe_bytes offset, int64_t local_s,
                           int64_t *utc_s) {
    int32_t offset_s;
    if (offset.size == 0) {
        if (rule->zone.name[0] == '\0') return READ_NO_ZONE;
        return event_zone_to_utc(&rule->zone, local_s, utc_s) == ZONE_FINE ? READ_FINE : READ_NEVER;
    }
    if (!event_offset_parse(offset, &offset_s)) return READ_BAD;
    *utc_s = local_s - offset_s;
    return READ_FINE;
}

/* A date and a time of day, with or without an offset. */
static enum reading parse_text(const struct event_time_rule *rule, lethe_bytes text,
                               uint64_t *out_ms) {
    struct cursor cursor = {.at = text.data, .end = (const char *)text.data + text.size};
    int64_t days, ms_of_day, utc_s;
    char separator;
    bool is_log = text.size > 2 && cursor.at[2] == '/';
    bool fine = is_log ? take_log_date(&cursor, &days) && take_one_of(&cursor, ":", &separator)
                       : take_date(&cursor, &days) && take_one_of(&cursor, "Tt ", &separator);
    if (!fine || !take_time(&cursor, &ms_of_day)) return READ_BAD;
    if (take_one_of(&cursor, " ", &separator) && cursor.at == cursor.end) return READ_BAD;
    lethe_bytes offset = {.data = cursor.at, .size = (size_t)(cursor.end - cursor.at)};
    enum reading reading = to_utc(rule, offset, days * 86400 + ms_of_day / 1000, &utc_s);
    if (reading != READ_FINE) return reading;
    if (utc_s < 0) return READ_EARLY;
    *out_ms = (uint64_t)utc_s * 1000 + (uint64_t)(ms_of_day % 1000);
    return *out_ms <= LAST_MS ? READ_FINE : READ_FAR;
}

static enum event_time_unit unit_by_size(uint64_t number) {
    if (number < SECONDS_END) return UNIT_SECONDS;
    if (number < MILLISECONDS_END) return UNIT_MILLISECONDS;
    return number < MICROSECONDS_END ? UNIT_MICROSECONDS : UNIT_BY_SIZE;
}

static enum reading take_number(const struct event_time_rule *rule, const struct decimal *number,
                                uint64_t *out_ms, enum event_time_unit *guessed) {
    static const int shifts[] = {[UNIT_SECONDS] = 3, [UNIT_MICROSECONDS] = -3};
    enum event_time_unit unit = rule->unit;
    uint64_t whole;
    if (number->is_negative && number->digits > 0) return READ_EARLY;
    if (unit == UNIT_BY_SIZE) {
        if (!decimal_shift(number, 0, &whole)) return READ_FAR;
        unit = unit_by_size(whole);
        if (unit == UNIT_BY_SIZE) return READ_FAR;
        if (unit != UNIT_MILLISECONDS) *guessed = unit;
    }
    bool fits = decimal_shift(number, shifts[unit], out_ms) && *out_ms <= LAST_MS;
    return fits ? READ_FINE : READ_FAR;
}

static void reject(const struct event_time_rule *rule, lethe_bytes text, enum reading reading,
                   struct event_problem *problem) {
    struct event_excerpt excerpt;
    const char *shown = event_excerpt(text, &excerpt);
    switch (reading) {
    case READ_NO_ZONE:
        event_problem_set(problem,
                          "the time '%s' does not say its zone; write it, as +01:00 or Z, or give "
                          "--zone",
                          shown);
        break;
    case READ_NEVER:
        event_problem_set(problem,
                          "the time '%s' never was in %s: clocks were put forward over it; check "
                          "--zone, and the clock that wrote it",
                          shown, rule->zone.name);
        break;
    case READ_EARLY:
        event_problem_set(
            problem, "the time '%s' is before 1970 in UTC; check the clock that wrote it", shown);
        break;
    case READ_FAR:
        event_problem_set(problem,
                          "the time '%s' is beyond the year 9999; check --time-unit, and the clock "
                          "that wrote it",
                          shown);
        break;
    default:
        event_problem_set(problem,
                          "the time '%s' is not valid; write a number since 1970, or a date and "
                          "time such as 2023-11-14T22:13:20Z",
                          shown);
    }
}

bool event_time_parse(const struct event_time_rule *rule, lethe_bytes text, uint64_t *out_ms,
                      enum event_time_unit *guessed, struct event_problem *problem) {
    struct decimal number;
    lethe_bytes inner = text;
    const char *letters = text.data;
    *guessed = UNIT_BY_SIZE;
    if (text.size > 4 && letters[0] == '[' && letters[3] == '/' && letters[text.size - 1] == ']') {
        inner = (lethe_bytes){.data = letters + 1, .size = text.size - 2};
    }
    enum reading reading = decimal_parse(inner, &number)
                               ? take_number(rule, &number, out_ms, guessed)
                               : parse_text(rule, inner, out_ms);
    if (reading != READ_FINE) reject(rule, text, reading, problem);
    return reading == READ_FINE;
}

const char *event_time_unit_name(enum event_time_unit unit) {
    static const char *const names[] = {"", "s", "ms", "us"};
    return names[unit];
}
