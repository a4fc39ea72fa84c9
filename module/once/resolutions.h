/* module/once/resolutions.h - per which periods a once-table also counts: PER period [KEEP n].
 *
 * resolutions.c has the essay. Times are milliseconds since 1970 in UTC, by a wall clock. */
#ifndef LETHE_MODULE_ONCE_RESOLUTIONS_H
#define LETHE_MODULE_ONCE_RESOLUTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/redis_api.h"

enum { RESOLUTIONS_LIMIT = 4, RESOLUTION_KEEP_MOST = 100000, PERIOD_NAME_BYTES = 24 };

/* The lengths of periods that are so many milliseconds; and a calendar month. */
#define PERIOD_LEAST_MS UINT64_C(100)
#define PERIOD_MOST_MS UINT64_C(31622400000)
#define PERIOD_MONTH UINT64_MAX
#define PERIOD_RANGE "hour, day, month or 100 to 31622400000 milliseconds"

/* The end of the year 9999. A wall clock beyond it is taken for this one. */
#define WALL_MOST_MS INT64_C(253402300799999)

struct resolution {
    uint64_t period_ms;
    /* How many buckets a counter keeps. */
    uint32_t keep;
};

struct resolutions {
    uint32_t count;
    struct resolution each[RESOLUTIONS_LIMIT];
};

/* Reads hour, day, month or a number of milliseconds. */
bool period_parse(const redis_string *word, uint64_t *period_ms);
/* Writes the same. */
void period_name(uint64_t period_ms, char name[PERIOD_NAME_BYTES]);
/* When the period began that it is at that time, when it ends, and when the one before it began. */
int64_t period_start(uint64_t period_ms, int64_t wall_ms);
int64_t period_end(uint64_t period_ms, int64_t start_ms);
int64_t period_before(uint64_t period_ms, int64_t start_ms);

/* The place of a period; -1 if the table does not count per that period. */
int resolutions_find(const struct resolutions *resolutions, uint64_t period_ms);
/* Adds one. False when the period or the number is out of its range, when the period is there
 * already, or when there are too many. */
bool resolutions_add(struct resolutions *resolutions, uint64_t period_ms, uint64_t keep);
/* Another number of buckets for the one that was added last. False if there is none. */
bool resolutions_keep(struct resolutions *resolutions, uint64_t keep);
/* Writes them, such as "hour:48,month:100000", or "none". */
enum { RESOLUTIONS_TEXT_BYTES = RESOLUTIONS_LIMIT * (PERIOD_NAME_BYTES + 8) };
void resolutions_text(const struct resolutions *resolutions, char text[RESOLUTIONS_TEXT_BYTES]);

#endif
