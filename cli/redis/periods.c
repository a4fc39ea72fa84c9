/* periods.c - the periods of a table in a server.
 *
 * IDEA    A server knows hours, days and months by name and everything else as milliseconds. People
 *         write 1h, 1d, 1mo and 15m, here as for a store. A period begins at a multiple of its
 *         length since 1970 in UTC; only months have no fixed length.
 * KEEP    A store keeps buckets for a time, a server a number of them. 1h=90d is 2160 hours,
 *         rounded up; a month counts as 28 days, so that never less is kept than was asked for. */
#include "redis/periods.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const uint64_t HOUR_MS = 3600000, DAY_MS = 86400000;
/* What the server allows. */
static const uint64_t LEAST_MS = 100, MOST_MS = UINT64_C(31622400000), KEEP_MOST = 100000;

static const struct {
    const char *name;
    uint64_t ms;
} units[] = {{"ms", 1},         {"s", 1000},         {"m", 60000},
             {"min", 60000},    {"h", 3600000},      {"d", 86400000},
             {"w", 604800000u}, {"mo", 2678400000u}, {"y", UINT64_C(31622400000)}};

enum { UNITS = sizeof units / sizeof units[0] };

/* A number and its unit; the place of the unit, or -1. */
static int parse_duration(const char *text, size_t size, uint64_t *number) {
    size_t at = 0;
    *number = 0;
    for (; at < size && text[at] >= '0' && text[at] <= '9' && *number < UINT64_C(1000000000000);
         at++)
        *number = *number * 10 + (uint64_t)(text[at] - '0');
    for (int i = 0; i < UNITS && at > 0 && *number > 0; i++) {
        if (strlen(units[i].name) == size - at && memcmp(units[i].name, text + at, size - at) == 0)
            return i;
    }
    return -1;
}

bool redis_period_parse(const char *text, size_t size, uint64_t *length_ms) {
    uint64_t number;
    int unit = parse_duration(text, size, &number);
    if (unit < 0) return false;
    if (strcmp(units[unit].name, "mo") == 0) {
        *length_ms = REDIS_MONTH;
        return number == 1;
    }
    /* Weeks that begin on Thursdays, and years of 366 days, are not what is meant. */
    if (units[unit].ms > DAY_MS) return false;
    *length_ms = number * units[unit].ms;
    return *length_ms >= LEAST_MS && *length_ms <= MOST_MS;
}

void redis_period_name(uint64_t length_ms, char out[REDIS_PERIOD_BYTES]) {
    static const char *const names[] = {"d", "h", "m", "s", "ms"};
    static const uint64_t lengths[] = {86400000, 3600000, 60000, 1000, 1};
    if (length_ms == REDIS_MONTH) {
        snprintf(out, REDIS_PERIOD_BYTES, "1mo");
        return;
    }
    size_t i = 0;
    while (length_ms % lengths[i] != 0)
        i++;
    snprintf(out, REDIS_PERIOD_BYTES, "%" PRIu64 "%s", length_ms / lengths[i], names[i]);
}

void redis_period_word(uint64_t length_ms, char out[REDIS_PERIOD_BYTES]) {
    const char *name = length_ms == HOUR_MS       ? "hour"
                       : length_ms == DAY_MS      ? "day"
                       : length_ms == REDIS_MONTH ? "month"
                                                  : NULL;
    if (name != NULL) {
        snprintf(out, REDIS_PERIOD_BYTES, "%s", name);
    } else {
        snprintf(out, REDIS_PERIOD_BYTES, "%" PRIu64, length_ms);
    }
}

/* --- Where they begin */

static uint64_t month_start(uint64_t time_ms, int later) {
    time_t seconds = (time_t)(time_ms / 1000);
    struct tm broken = {0};
    (void)gmtime_r(&seconds, &broken);
    struct tm first = {.tm_year = broken.tm_year, .tm_mon = broken.tm_mon + later, .tm_mday = 1};
    return (uint64_t)timegm(&first) * 1000;
}

uint64_t redis_period_start(uint64_t length_ms, uint64_t time_ms) {
    if (length_ms == REDIS_MONTH) return month_start(time_ms, 0);
    return time_ms - time_ms % length_ms;
}

uint64_t redis_period_next(uint64_t length_ms, uint64_t start_ms) {
    return length_ms == REDIS_MONTH ? month_start(start_ms, 1) : start_ms + length_ms;
}

/* --- Lists */

static struct redis_period *find(struct redis_periods *periods, uint64_t length_ms) {
    for (size_t i = 0; i < periods->count; i++) {
        if (periods->each[i].length_ms == length_ms) return &periods->each[i];
    }
    return NULL;
}

/* The next of a list between commas; 0 at its end. */
static size_t next_word(const char **at) {
    if (**at == ',') ++*at;
    return strcspn(*at, ",");
}

static const char *parse_keep(const char *keep, struct redis_periods *out) {
    size_t size;
    for (const char *at = keep; (size = next_word(&at)) > 0; at += size) {
        const char *equals = memchr(at, '=', size);
        uint64_t length_ms, number;
        if (equals == NULL || !redis_period_parse(at, (size_t)(equals - at), &length_ms))
            return "--keep is written as 1h=90d";
        struct redis_period *period = find(out, length_ms);
        if (period == NULL) return "--keep names a period that --per does not";
        size_t left = size - (size_t)(equals - at) - 1;
        if (left == 4 && memcmp(equals + 1, "ever", 4) == 0)
            return "--keep cannot be 'ever' with --redis: a server keeps at most 100000 periods";
        int unit = parse_duration(equals + 1, left, &number);
        if (unit < 0) return "--keep is written as 1h=90d";
        uint64_t each_ms = length_ms == REDIS_MONTH ? 28 * DAY_MS : length_ms;
        if (number > KEEP_MOST * MOST_MS / units[unit].ms) return "--keep is too long";
        period->keep = (number * units[unit].ms + each_ms - 1) / each_ms;
        if (length_ms == REDIS_MONTH && units[unit].ms == 2678400000u) period->keep = number;
        if (period->keep > KEEP_MOST)
            return "--keep is too long: a server keeps at most 100000 of each period";
    }
    return NULL;
}

const char *redis_periods_parse(const char *per, const char *keep, struct redis_periods *out) {
    size_t size;
    *out = (struct redis_periods){0};
    if (per == NULL) return keep != NULL ? "--keep needs --per" : NULL;
    for (const char *at = per; (size = next_word(&at)) > 0; at += size) {
        struct redis_period period = {0};
        if (!redis_period_parse(at, size, &period.length_ms)) {
            return "--per names no period that a server counts per; give 1h, 1d, 1mo or another "
                   "length from 100ms to 366d, such as 15m";
        }
        if (find(out, period.length_ms) != NULL) return "--per names a period twice";
        if (out->count == REDIS_PERIODS_LIMIT) return "--per names more than 4 periods";
        out->each[out->count++] = period;
    }
    if (out->count == 0) return "--per names no period";
    return keep != NULL ? parse_keep(keep, out) : NULL;
}

static bool read_one(const char *at, size_t size, struct redis_period *out) {
    char word[REDIS_PERIOD_BYTES], *end;
    const char *colon = memchr(at, ':', size);
    size_t length = colon != NULL ? (size_t)(colon - at) : 0;
    if (length == 0 || length >= sizeof word) return false;
    memcpy(word, at, length);
    word[length] = '\0';
    out->length_ms = strcmp(word, "hour") == 0    ? HOUR_MS
                     : strcmp(word, "day") == 0   ? DAY_MS
                     : strcmp(word, "month") == 0 ? REDIS_MONTH
                                                  : strtoull(word, NULL, 10);
    out->keep = strtoull(colon + 1, &end, 10);
    return end == at + size && out->keep > 0 && out->keep <= KEEP_MOST &&
           out->length_ms >= LEAST_MS &&
           (out->length_ms <= MOST_MS || out->length_ms == REDIS_MONTH);
}

bool redis_periods_read(const char *text, struct redis_periods *out) {
    size_t size;
    *out = (struct redis_periods){0};
    if (strcmp(text, "none") == 0) return true;
    for (const char *at = text; (size = next_word(&at)) > 0; at += size) {
        if (out->count == REDIS_PERIODS_LIMIT || !read_one(at, size, &out->each[out->count]))
            return false;
        out->count++;
    }
    return out->count > 0;
}

void redis_periods_write(const struct redis_periods *periods, char out[REDIS_PERIODS_BYTES]) {
    size_t used = 0;
    snprintf(out, REDIS_PERIODS_BYTES, "none");
    for (size_t i = 0; i < periods->count; i++) {
        char word[REDIS_PERIOD_BYTES];
        uint64_t keep = periods->each[i].keep;
        redis_period_word(periods->each[i].length_ms, word);
        used += (size_t)snprintf(out + used, REDIS_PERIODS_BYTES - used, "%s%s:%" PRIu64,
                                 i > 0 ? "," : "", word, keep > 0 ? keep : KEEP_MOST);
    }
}
