/* engine/meters/period.h - periods of a resolution: what a moment is called, and when it begins.
 *
 * Up to an hour, periods are multiples of their length in UTC. Days, ISO weeks, months and years
 * are those of the calendar in a zone. Each period has a label, a number that grows with time. */
#ifndef LETHE_ENGINE_METERS_PERIOD_H
#define LETHE_ENGINE_METERS_PERIOD_H

#include "engine/meters/zone.h"

typedef enum lethe_unit {
    LETHE_UNIT_SECONDS,
    LETHE_UNIT_DAY,
    LETHE_UNIT_WEEK,
    LETHE_UNIT_MONTH,
    LETHE_UNIT_YEAR
} lethe_unit;

typedef struct lethe_resolution {
    lethe_unit unit;
    /* With LETHE_UNIT_SECONDS: 1 to 3600, a divisor of 3600; otherwise 0. */
    uint32_t seconds;
} lethe_resolution;

enum {
    LETHE_RESOLUTION_NAME_BYTES = 16,
    /* Of a label, as a number that sorts by its bytes. */
    LETHE_LABEL_BYTES = 5
};
#define LETHE_LABEL_END (UINT64_C(1) << 8 * LETHE_LABEL_BYTES)
/* The end of the year 9999: a later moment is taken for this one. */
#define LETHE_LAST_MOMENT_MS UINT64_C(253402300799999)

/* Reads all of a text such as 1h, 15m, 1d, 1w, 1mo or 1y. */
bool lethe_resolution_parse(const char *text, size_t size, lethe_resolution *out);
bool lethe_resolution_is_sound(lethe_resolution resolution);
static inline bool lethe_resolution_equals(lethe_resolution a, lethe_resolution b) {
    return a.unit == b.unit && a.seconds == b.seconds;
}
/* Its name, in the way it is written here: 60m is 1h. */
void lethe_resolution_name(lethe_resolution resolution, char out[LETHE_RESOLUTION_NAME_BYTES]);

/* Milliseconds since 1970, from `from_ms` up to, but without, `to_ms`, that are in the period of
 * the label. Not always all of it: where clocks are put back over midnight, a day comes twice. */
typedef struct lethe_stretch {
    uint64_t from_ms, to_ms;
    uint64_t label;
} lethe_stretch;

lethe_stretch lethe_period_at(lethe_resolution resolution, const lethe_zone *zone,
                              uint64_t time_ms);

/* When a period begins: the first moment whose label is this one or a later one. */
uint64_t lethe_period_begin(lethe_resolution resolution, const lethe_zone *zone, uint64_t label);

/* The label of the next period that there is: a zone may leave out a day. */
uint64_t lethe_period_next(lethe_resolution resolution, const lethe_zone *zone, uint64_t label);

#endif
