/* engine/meters/zone_rule.c - rules of POSIX for the years after the last known change.
 *
 * LAYOUT  NAME offset [NAME [offset] , date [/time] , date [/time]]
 *         An offset is positive west of Greenwich. A date is Mmonth.week.weekday, Jday, or day.
 *         Without an offset, summer time is an hour ahead; without a time, it is two o'clock. */
#include "engine/meters/zone_rule.h"

#include <string.h>

#include "engine/meters/date.h"

enum { HOUR_S = 3600, DAY_S = 86400 };

static bool take(const char **at, char letter) {
    if (**at != letter) return false;
    (*at)++;
    return true;
}

static bool take_number(const char **at, int32_t most, int32_t *out) {
    const char *begin = *at;
    *out = 0;
    for (; **at >= '0' && **at <= '9'; (*at)++) {
        *out = *out * 10 + (**at - '0');
        if (*out > most) return false;
    }
    return *at > begin;
}

static bool take_name(const char **at) {
    bool is_quoted = take(at, '<');
    const char *begin = *at;
    while (**at != '\0' && (is_quoted ? **at != '>' : strchr("+-,0123456789", **at) == NULL))
        (*at)++;
    bool is_name = *at - begin >= 3;
    return is_name && (!is_quoted || take(at, '>'));
}

/* [+-]h[:m[:s]], with more hours than a day has where a rule says so. */
static bool take_time(const char **at, int32_t *out_s) {
    bool is_negative = take(at, '-');
    if (!is_negative) (void)take(at, '+');
    int32_t hours, minutes = 0, seconds = 0;
    if (!take_number(at, 167, &hours)) return false;
    if (take(at, ':') && !take_number(at, 59, &minutes)) return false;
    if (take(at, ':') && !take_number(at, 59, &seconds)) return false;
    *out_s = (hours * 60 + minutes) * 60 + seconds;
    if (is_negative) *out_s = -*out_s;
    return true;
}

static bool take_date(const char **at, lethe_zone_date *out) {
    bool is_date;
    *out = (lethe_zone_date){.time_s = 2 * HOUR_S};
    if (take(at, 'M')) {
        out->kind = LETHE_DATE_WEEKDAY;
        is_date = take_number(at, 12, &out->month) && out->month >= 1 && take(at, '.') &&
                  take_number(at, 5, &out->week) && out->week >= 1 && take(at, '.') &&
                  take_number(at, 6, &out->weekday);
    } else {
        out->kind = take(at, 'J') ? LETHE_DATE_LEAPLESS : LETHE_DATE_DAY;
        is_date = take_number(at, 365, &out->day) && (out->kind == LETHE_DATE_DAY || out->day >= 1);
    }
    return is_date && (!take(at, '/') || take_time(at, &out->time_s));
}

bool lethe_zone_rule_parse(const char *text, lethe_zone_rule *out) {
    *out = (lethe_zone_rule){0};
    if (!take_name(&text) || !take_time(&text, &out->standard_s)) return false;
    out->standard_s = -out->standard_s;
    if (*text == '\0') return true;
    out->has_summer = true;
    out->summer_s = out->standard_s + HOUR_S;
    if (!take_name(&text)) return false;
    if (*text != ',') {
        if (!take_time(&text, &out->summer_s)) return false;
        out->summer_s = -out->summer_s;
    }
    return take(&text, ',') && take_date(&text, &out->begin) && take(&text, ',') &&
           take_date(&text, &out->end) && *text == '\0';
}

/* The day of the date in a year, since 1970. */
static int64_t day_of(const lethe_zone_date *date, int64_t year) {
    int64_t first = lethe_day_of_date(year, 1, 1);
    if (date->kind == LETHE_DATE_DAY) return first + date->day;
    if (date->kind == LETHE_DATE_LEAPLESS) {
        bool is_leap = lethe_day_of_date(year + 1, 1, 1) - first == 366;
        return first + date->day - 1 + (is_leap && date->day >= 60);
    }
    int64_t month = lethe_day_of_date(year, date->month, 1);
    int64_t next = date->month == 12 ? lethe_day_of_date(year + 1, 1, 1)
                                     : lethe_day_of_date(year, date->month + 1, 1);
    int64_t weekday = lethe_weekday_of(month); /* 0: Sunday */
    int64_t day = month + (date->weekday - weekday + 7) % 7 + (int64_t)(date->week - 1) * 7;
    while (day >= next)
        day -= 7;
    return day;
}

lethe_zone_span lethe_zone_rule_at(const lethe_zone_rule *rule, int64_t time_s) {
    lethe_zone_span span = {.from_s = INT64_MIN, .to_s = INT64_MAX, .offset_s = rule->standard_s};
    if (!rule->has_summer) return span;
    int64_t year, from_month, from_day;
    lethe_date_of_day((time_s + rule->standard_s) / DAY_S, &year, &from_month, &from_day);
    /* The latest change up to the moment, and the first after it, are in this year or beside it. */
    for (int64_t i = year - 1; i <= year + 1; i++) {
        const struct {
            int64_t at_s;
            int32_t offset_s;
        } changes[] = {
            {day_of(&rule->begin, i) * DAY_S + rule->begin.time_s - rule->standard_s,
             rule->summer_s},
            {day_of(&rule->end, i) * DAY_S + rule->end.time_s - rule->summer_s, rule->standard_s},
        };
        for (unsigned j = 0; j < 2; j++) {
            if (changes[j].at_s <= time_s && changes[j].at_s >= span.from_s) {
                span.from_s = changes[j].at_s;
                span.offset_s = changes[j].offset_s;
            }
            if (changes[j].at_s > time_s && changes[j].at_s < span.to_s)
                span.to_s = changes[j].at_s;
        }
    }
    return span;
}
