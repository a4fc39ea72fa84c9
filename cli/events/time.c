/* time.c - reads the time of an event.
 *
 * IDEA    A whole number is milliseconds since 1970. Anything else is RFC 3339, read digit by
 *         digit.
 * WHY     The C library's functions depend on the locale and the time zone, and accept too much. */
#include "events/time.h"

#include <stddef.h>

#include "input/integer.h"

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

/* Days from 1970 to a date of 1970 or later. */
static int64_t days_since_1970(int year, int month, int day) {
    static const int before_month[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    int64_t past = year - 1;
    int64_t leap_days = past / 4 - past / 100 + past / 400 - (1969 / 4 - 1969 / 100 + 1969 / 400);
    return (int64_t)(year - 1970) * 365 + leap_days + before_month[month - 1] + (day - 1) +
           (month > 2 && is_leap(year));
}

static bool take_date(struct cursor *cursor, int64_t *days) {
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    char ignored;
    int year = take_digits(cursor, 4);
    if (year < 1970 || !take_one_of(cursor, "-", &ignored)) return false;
    int month = take_digits(cursor, 2);
    if (month < 1 || month > 12 || !take_one_of(cursor, "-", &ignored)) return false;
    int day = take_digits(cursor, 2);
    if (day < 1 || day > month_days[month - 1] + (month == 2 && is_leap(year))) return false;
    *days = days_since_1970(year, month, day);
    return true;
}

static bool take_fraction(struct cursor *cursor, int *ms) {
    *ms = 0;
    char ignored;
    if (!take_one_of(cursor, ".", &ignored)) return true;
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

static bool take_offset(struct cursor *cursor, int64_t *offset_ms) {
    char sign, ignored;
    *offset_ms = 0;
    if (take_one_of(cursor, "Zz", &ignored)) return true;
    if (!take_one_of(cursor, "+-", &sign)) return false;
    int hours = take_digits(cursor, 2);
    if (hours < 0 || hours > 23 || !take_one_of(cursor, ":", &ignored)) return false;
    int minutes = take_digits(cursor, 2);
    if (minutes < 0 || minutes > 59) return false;
    *offset_ms = ((int64_t)hours * 60 + minutes) * 60000 * (sign == '-' ? -1 : 1);
    return true;
}

static bool parse_rfc3339(lethe_bytes text, int64_t *out_ms) {
    struct cursor cursor = {.at = text.data, .end = (const char *)text.data + text.size};
    int64_t days, ms_of_day, offset_ms;
    char ignored;
    bool fine = take_date(&cursor, &days) && take_one_of(&cursor, "Tt ", &ignored) &&
                take_time(&cursor, &ms_of_day) && take_offset(&cursor, &offset_ms) &&
                cursor.at == cursor.end;
    if (fine) *out_ms = days * 86400000 + ms_of_day - offset_ms;
    return fine;
}

bool event_time_parse(lethe_bytes text, uint64_t *out_ms, struct event_problem *problem) {
    int64_t value = 0;
    struct event_excerpt excerpt;
    if (integer_parse(text, &value) != INTEGER_FINE && !parse_rfc3339(text, &value)) {
        event_problem_set(problem,
                          "the time '%s' is not valid; write milliseconds since 1970 or RFC 3339 "
                          "such as 2023-11-14T22:13:20Z",
                          event_excerpt(text, &excerpt));
        return false;
    }
    if (value < 0) {
        event_problem_set(problem, "the time '%s' is before 1970; check the clock that wrote it",
                          event_excerpt(text, &excerpt));
        return false;
    }
    *out_ms = (uint64_t)value;
    return true;
}
