/* engine/meters/date.h - days since 1970, and dates of the Gregorian calendar. */
#ifndef LETHE_ENGINE_METERS_DATE_H
#define LETHE_ENGINE_METERS_DATE_H

#include <stdint.h>

/* Years begin in March here, so that a leap day is the last of its year, and 400 of them have
 * 146,097 days. */
static inline int64_t lethe_day_of_date(int64_t year, int64_t month, int64_t day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline void lethe_date_of_day(int64_t since_1970, int64_t *year, int64_t *month,
                                     int64_t *day) {
    int64_t since = since_1970 + 719468;
    int64_t era = (since >= 0 ? since : since - 146096) / 146097, of_era = since - era * 146097;
    int64_t years = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t shifted = (5 * of_year + 2) / 153;
    *day = of_year - (153 * shifted + 2) / 5 + 1;
    *month = shifted < 10 ? shifted + 3 : shifted - 9;
    *year = years + era * 400 + (*month <= 2);
}

/* 0: Sunday. 1970 began with a Thursday. */
static inline int64_t lethe_weekday_of(int64_t since_1970) {
    return ((since_1970 + 4) % 7 + 7) % 7;
}

#endif
