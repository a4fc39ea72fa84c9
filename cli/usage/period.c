/* period.c - periods and moments as `lethe usage` reads and writes them. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "events/time.h"
#include "usage/usage.h"

__extension__ typedef unsigned __int128 wide;

/* Local time, broken down. */
static struct tm break_down(uint64_t time_ms, int32_t offset_s) {
    time_t local = (time_t)(time_ms / 1000) + offset_s;
    struct tm broken = {0};
    (void)gmtime_r(&local, &broken);
    return broken;
}

void usage_moment(uint64_t time_ms, int32_t offset_s, char out[USAGE_PERIOD_BYTES]) {
    struct tm broken = break_down(time_ms, offset_s);
    int minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
    size_t length = strftime(out, USAGE_PERIOD_BYTES, "%Y-%m-%dT%H:%M:%S", &broken);
    snprintf(out + length, USAGE_PERIOD_BYTES - length, "%c%02d:%02d", offset_s < 0 ? '-' : '+',
             minutes / 60 % 100, minutes % 60);
}

void usage_period(const char *by, const lethe_usage_row *row, char out[USAGE_PERIOD_BYTES]) {
    struct tm broken = break_down(row->from_ms, row->offset_s);
    if (strcmp(by, "1d") == 0) {
        (void)strftime(out, USAGE_PERIOD_BYTES, "%Y-%m-%d", &broken);
    } else if (strcmp(by, "1w") == 0) {
        (void)strftime(out, USAGE_PERIOD_BYTES, "%G-W%V", &broken);
    } else if (strcmp(by, "1mo") == 0) {
        (void)strftime(out, USAGE_PERIOD_BYTES, "%Y-%m", &broken);
    } else if (strcmp(by, "1y") == 0) {
        (void)strftime(out, USAGE_PERIOD_BYTES, "%Y", &broken);
    } else {
        usage_moment(row->from_ms, row->offset_s, out);
    }
}

void usage_value(const lethe_usage_row *row, unsigned scale, char out[USAGE_VALUE_BYTES]) {
    wide value = (wide)(uint64_t)row->value_high << 64 | row->value;
    bool is_negative = row->value_high < 0;
    if (is_negative) value = -value;
    size_t at = USAGE_VALUE_BYTES;
    char text[USAGE_VALUE_BYTES];
    text[--at] = '\0';
    for (unsigned digits = 0; value > 0 || digits <= scale; digits++) {
        if (digits == scale && scale > 0) text[--at] = '.';
        text[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    }
    if (is_negative) text[--at] = '-';
    memcpy(out, text + at, sizeof text - at);
}

static bool is_date(const char *text) {
    static const char form[] = "dddd-dd-dd";
    if (strlen(text) != sizeof form - 1) return false;
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool fits = form[i] == 'd' ? text[i] >= '0' && text[i] <= '9' : text[i] == form[i];
        if (!fits) return false;
    }
    return true;
}

/* When a day began: with its first minute that there was. Where clocks are put forward at midnight,
 * that is not the clock's first. */
static bool read_date(const char *text, const struct event_zone *zone, uint64_t *out_ms,
                      struct event_problem *problem) {
    enum { DAY_MINUTES = 24 * 60 };
    struct event_time_rule utc = {.unit = UNIT_BY_SIZE};
    enum event_time_unit guessed;
    uint64_t local_ms;
    char midnight[32];
    snprintf(midnight, sizeof midnight, "%.10sT00:00:00Z", text);
    lethe_bytes bytes = {.data = midnight, .size = strlen(midnight)};
    if (!event_time_parse(&utc, bytes, &local_ms, &guessed, problem)) return false;
    int64_t local_s = (int64_t)(local_ms / 1000), utc_s = 0, minute = 0;
    while (minute < DAY_MINUTES &&
           event_zone_to_utc(zone, local_s + 60 * minute, &utc_s) != ZONE_FINE) {
        minute++;
    }
    if (minute == DAY_MINUTES)
        event_problem_set(problem, "there was no %s in %s: it was left out", text, zone->name);
    if (utc_s < 0) event_problem_set(problem, "in UTC, %s begins before 1970", text);
    *out_ms = (uint64_t)utc_s * 1000;
    return minute < DAY_MINUTES && utc_s >= 0;
}

bool usage_parse_time(const char *text, const struct event_time_rule *rule, uint64_t *out_ms,
                      struct event_problem *problem) {
    enum event_time_unit guessed;
    lethe_bytes bytes = {.data = text, .size = strlen(text)};
    return is_date(text) ? read_date(text, &rule->zone, out_ms, problem)
                         : event_time_parse(rule, bytes, out_ms, &guessed, problem);
}
