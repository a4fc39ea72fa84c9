/* module/once/resolutions.c - per which periods a once-table also counts.
 *
 * IDEA    Periods are multiples of their length since 1970 in UTC, so an hour is the hour of a
 *         clock and a day that of a calendar; only a month has no fixed length. An hour and
 *         3,600,000 milliseconds are the same. A bucket is named by the time at which its period
 *         begins.
 * WHY     Time zones change by law. What a table has counted must not depend on which laws the
 *         server's files know. Whoever wants local days adds up hours.
 * LIMIT   Every change of a counter sets a bucket per resolution, so there are few of them. */
#include "once/resolutions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"

#define HOUR_MS UINT64_C(3600000)
#define DAY_MS UINT64_C(86400000)

static const struct {
    const char *name;
    uint64_t period_ms;
} names[] = {{"hour", HOUR_MS}, {"day", DAY_MS}, {"month", PERIOD_MONTH}};

enum { NAMES = sizeof names / sizeof names[0] };

static bool is_period(uint64_t period_ms) {
    return period_ms == PERIOD_MONTH ||
           (period_ms >= PERIOD_LEAST_MS && period_ms <= PERIOD_MOST_MS);
}

bool period_parse(const redis_string *word, uint64_t *period_ms) {
    for (size_t i = 0; i < NAMES; i++) {
        *period_ms = names[i].period_ms;
        if (is_word(word, names[i].name)) return true;
    }
    return parse_number(word, PERIOD_LEAST_MS, PERIOD_MOST_MS, period_ms);
}

void period_name(uint64_t period_ms, char name[PERIOD_NAME_BYTES]) {
    snprintf(name, PERIOD_NAME_BYTES, "%" PRIu64, period_ms);
    for (size_t i = 0; i < NAMES; i++) {
        if (period_ms == names[i].period_ms) snprintf(name, PERIOD_NAME_BYTES, "%s", names[i].name);
    }
}

/* --- Months */

static int64_t leap_years_before(int64_t year) {
    int64_t last = year - 1;
    return last / 4 - last / 100 + last / 400;
}

static bool is_leap(int64_t year) {
    return leap_years_before(year + 1) > leap_years_before(year);
}

/* Days from the beginning of 1970 to that of another year. */
static int64_t days_before(int64_t year) {
    return 365 * (year - 1970) + leap_years_before(year) - leap_years_before(1970);
}

static int64_t days_of(int64_t year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month] + (month == 1 && is_leap(year));
}

static int64_t month_start(int64_t wall_ms, int64_t *length_days) {
    int64_t days = wall_ms / (int64_t)DAY_MS, year = 1970 + days / 366;
    while (days_before(year + 1) <= days)
        year++;
    int64_t start = days_before(year);
    int month = 0;
    while (start + days_of(year, month) <= days)
        start += days_of(year, month++);
    *length_days = days_of(year, month);
    return start * (int64_t)DAY_MS;
}

/* --- Periods of any kind */

int64_t period_start(uint64_t period_ms, int64_t wall_ms) {
    int64_t days;
    if (period_ms == PERIOD_MONTH) return month_start(wall_ms, &days);
    return wall_ms - wall_ms % (int64_t)period_ms;
}

int64_t period_end(uint64_t period_ms, int64_t start_ms) {
    if (period_ms != PERIOD_MONTH) return start_ms + (int64_t)period_ms;
    int64_t days, start = month_start(start_ms, &days);
    return start + days * (int64_t)DAY_MS;
}

int64_t period_before(uint64_t period_ms, int64_t start_ms) {
    return start_ms > 0 ? period_start(period_ms, start_ms - 1) : -1;
}

/* --- The list of a table */

int resolutions_find(const struct resolutions *resolutions, uint64_t period_ms) {
    for (uint32_t i = 0; i < resolutions->count; i++) {
        if (resolutions->each[i].period_ms == period_ms) return (int)i;
    }
    return -1;
}

bool resolutions_add(struct resolutions *resolutions, uint64_t period_ms, uint64_t keep) {
    if (resolutions->count == RESOLUTIONS_LIMIT || !is_period(period_ms) || keep < 1 ||
        keep > RESOLUTION_KEEP_MOST || resolutions_find(resolutions, period_ms) >= 0) {
        return false;
    }
    resolutions->each[resolutions->count++] = (struct resolution){period_ms, (uint32_t)keep};
    return true;
}

bool resolutions_keep(struct resolutions *resolutions, uint64_t keep) {
    if (resolutions->count == 0 || keep < 1 || keep > RESOLUTION_KEEP_MOST) return false;
    resolutions->each[resolutions->count - 1].keep = (uint32_t)keep;
    return true;
}

void resolutions_text(const struct resolutions *resolutions, char text[RESOLUTIONS_TEXT_BYTES]) {
    size_t used = 0;
    snprintf(text, RESOLUTIONS_TEXT_BYTES, "none");
    for (uint32_t i = 0; i < resolutions->count; i++) {
        char name[PERIOD_NAME_BYTES];
        period_name(resolutions->each[i].period_ms, name);
        used += (size_t)snprintf(text + used, RESOLUTIONS_TEXT_BYTES - used, "%s%s:%" PRIu32,
                                 i > 0 ? "," : "", name, resolutions->each[i].keep);
    }
}
