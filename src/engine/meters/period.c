/* engine/meters/period.c - from moments to labels and back.
 *
 * IDEA    Within a span of one offset, local time is a straight line, and a calendar's period is an
 *         interval of it. So a stretch is where the span and the interval meet. Days of 23 and 25
 *         hours need no care.
 * I1      Labels of one resolution grow with local time, and none is negative.
 * WHY     A stretch is kept by the caller until a moment comes that is not in it. That is rare, so
 *         a label costs two comparisons. */
#include "engine/meters/period.h"

#include <stdio.h>
#include <string.h>

#include "engine/meters/date.h"

enum { HOUR_S = 3600, DAY_S = 86400, MS = 1000 };
/* So that a moment of 1969, which 1970 is in the west, has no negative label. */
enum { FIRST_DAY = 719468, FIRST_WEEK = 102781 };
/* Local time is less than two days from UTC. */
enum { FARTHEST_S = 2 * DAY_S };

bool lethe_resolution_is_sound(lethe_resolution resolution) {
    if (resolution.unit == LETHE_UNIT_SECONDS) {
        return resolution.seconds >= 1 && resolution.seconds <= HOUR_S &&
               HOUR_S % resolution.seconds == 0;
    }
    return resolution.unit <= LETHE_UNIT_YEAR && resolution.seconds == 0;
}

bool lethe_resolution_parse(const char *text, size_t size, lethe_resolution *out) {
    static const struct {
        const char *name;
        lethe_resolution each;
    } units[] = {
        {"s", {LETHE_UNIT_SECONDS, 1}},     {"m", {LETHE_UNIT_SECONDS, 60}},
        {"min", {LETHE_UNIT_SECONDS, 60}},  {"h", {LETHE_UNIT_SECONDS, HOUR_S}},
        {"d", {.unit = LETHE_UNIT_DAY}},    {"w", {.unit = LETHE_UNIT_WEEK}},
        {"mo", {.unit = LETHE_UNIT_MONTH}}, {"y", {.unit = LETHE_UNIT_YEAR}},
    };
    uint32_t number = 0;
    size_t at = 0;
    for (; at < size && text[at] >= '0' && text[at] <= '9'; at++) {
        if (number > HOUR_S) return false;
        number = number * 10 + (uint32_t)(text[at] - '0');
    }
    if (at == 0 || number == 0 || number > HOUR_S) return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t length = strlen(units[i].name);
        if (length != size - at || memcmp(units[i].name, text + at, length) != 0) continue;
        *out = units[i].each;
        if (out->unit != LETHE_UNIT_SECONDS) return number == 1;
        out->seconds *= number;
        return lethe_resolution_is_sound(*out);
    }
    return false;
}

void lethe_resolution_name(lethe_resolution resolution, char out[LETHE_RESOLUTION_NAME_BYTES]) {
    static const char *const calendar[] = {[LETHE_UNIT_DAY] = "1d",
                                           [LETHE_UNIT_WEEK] = "1w",
                                           [LETHE_UNIT_MONTH] = "1mo",
                                           [LETHE_UNIT_YEAR] = "1y"};
    unsigned seconds = resolution.seconds;
    if (resolution.unit != LETHE_UNIT_SECONDS) {
        snprintf(out, LETHE_RESOLUTION_NAME_BYTES, "%s", calendar[resolution.unit]);
    } else if (seconds == HOUR_S) {
        snprintf(out, LETHE_RESOLUTION_NAME_BYTES, "1h");
    } else {
        bool is_minutes = seconds % 60 == 0;
        snprintf(out, LETHE_RESOLUTION_NAME_BYTES, "%u%c", is_minutes ? seconds / 60 : seconds,
                 is_minutes ? 'm' : 's');
    }
}

static int64_t floor_divide(int64_t number, int64_t by) {
    return number / by - (number % by < 0);
}

/* The label of a day since 1970, and the first days of its period and of the next. */
static uint64_t label_of_day(lethe_unit unit, int64_t day, int64_t *first, int64_t *next) {
    int64_t year, month, of_month, label = 0;
    switch (unit) {
    case LETHE_UNIT_SECONDS: /* does not come here */
    case LETHE_UNIT_DAY:
        *first = day;
        *next = day + 1;
        label = day + FIRST_DAY;
        break;
    case LETHE_UNIT_WEEK:
        label = floor_divide(day + 3, 7); /* weeks begin with Mondays */
        *first = label * 7 - 3;
        *next = *first + 7;
        label += FIRST_WEEK;
        break;
    case LETHE_UNIT_MONTH:
        lethe_date_of_day(day, &year, &month, &of_month);
        *first = day - of_month + 1;
        *next =
            month == 12 ? lethe_day_of_date(year + 1, 1, 1) : lethe_day_of_date(year, month + 1, 1);
        label = year * 12 + month - 1;
        break;
    case LETHE_UNIT_YEAR:
        lethe_date_of_day(day, &year, &month, &of_month);
        *first = lethe_day_of_date(year, 1, 1);
        *next = lethe_day_of_date(year + 1, 1, 1);
        label = year;
        break;
    }
    return (uint64_t)label;
}

/* The first day of a calendar's period, since 1970. */
static int64_t first_day_of(lethe_unit unit, uint64_t label) {
    int64_t number = (int64_t)label;
    switch (unit) {
    case LETHE_UNIT_SECONDS: /* does not come here */
    case LETHE_UNIT_DAY:
        return number - FIRST_DAY;
    case LETHE_UNIT_WEEK:
        return (number - FIRST_WEEK) * 7 - 3;
    case LETHE_UNIT_MONTH:
        return lethe_day_of_date(number / 12, number % 12 + 1, 1);
    case LETHE_UNIT_YEAR:
        break;
    }
    return lethe_day_of_date(number, 1, 1);
}

static uint64_t to_ms(int64_t time_s) {
    return time_s < 0 ? 0 : (uint64_t)time_s * MS;
}

lethe_stretch lethe_period_at(lethe_resolution resolution, const lethe_zone *zone,
                              uint64_t time_ms) {
    if (time_ms > LETHE_LAST_MOMENT_MS) time_ms = LETHE_LAST_MOMENT_MS;
    if (resolution.unit == LETHE_UNIT_SECONDS) {
        uint64_t each_ms = (uint64_t)resolution.seconds * MS, label = time_ms / each_ms;
        return (lethe_stretch){label * each_ms, (label + 1) * each_ms, label};
    }
    int64_t time_s = (int64_t)(time_ms / MS), first = 0, next = 0;
    lethe_zone_span span = lethe_zone_at(zone, time_s);
    uint64_t label =
        label_of_day(resolution.unit, floor_divide(time_s + span.offset_s, DAY_S), &first, &next);
    int64_t from_s = first * DAY_S - span.offset_s, to_s = next * DAY_S - span.offset_s;
    if (from_s < span.from_s) from_s = span.from_s;
    if (to_s > span.to_s) to_s = span.to_s;
    return (lethe_stretch){to_ms(from_s), to_ms(to_s), label};
}

/* The first stretch, from a moment on, whose label is this one or a later one. */
static lethe_stretch find(lethe_resolution resolution, const lethe_zone *zone, uint64_t from_ms,
                          uint64_t label) {
    lethe_stretch stretch = lethe_period_at(resolution, zone, from_ms);
    while (stretch.label < label && stretch.to_ms <= LETHE_LAST_MOMENT_MS)
        stretch = lethe_period_at(resolution, zone, stretch.to_ms);
    return stretch;
}

/* A moment before the period of the label, and not long before it. */
static uint64_t before(lethe_resolution resolution, uint64_t label) {
    if (resolution.unit == LETHE_UNIT_SECONDS) return label * resolution.seconds * MS;
    return to_ms(first_day_of(resolution.unit, label) * DAY_S - FARTHEST_S);
}

uint64_t lethe_period_begin(lethe_resolution resolution, const lethe_zone *zone, uint64_t label) {
    return find(resolution, zone, before(resolution, label), label).from_ms;
}

uint64_t lethe_period_next(lethe_resolution resolution, const lethe_zone *zone, uint64_t label) {
    if (resolution.unit == LETHE_UNIT_SECONDS) return label + 1;
    lethe_stretch stretch = find(resolution, zone, before(resolution, label), label + 1);
    return stretch.label > label ? stretch.label : label + 1;
}
