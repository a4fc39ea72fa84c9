/* zone.h - local time: that of a zone of the system's time zone database, or of a fixed offset.
 *
 * Threads  event_zone_set is called before other threads read times. */
#ifndef LETHE_CLI_EVENTS_ZONE_H
#define LETHE_CLI_EVENTS_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "events/problem.h"
#include "lethe/hash.h"

enum { EVENT_ZONE_BYTES = 64 };

struct event_zone {
    /* As it is given, such as Europe/Berlin or +01:00; empty: there is none. */
    char name[EVENT_ZONE_BYTES];
    bool is_fixed;
    /* East of UTC, of a fixed zone. */
    int32_t offset_s;
};

/* Reads all of text as an offset from UTC: +HH:MM, +HHMM or +HH, - in place of +, Z or z. */
bool event_offset_parse(lethe_bytes text, int32_t *offset_s);

/* Takes such an offset, or a name of the database. Returns false after saying what is wrong. A zone
 * by name is that of the whole process. */
bool event_zone_set(const char *text, struct event_zone *out, struct event_problem *problem);

enum event_zone_answer {
    ZONE_FINE = 0,
    /* Clocks were put forward over it. */
    ZONE_NEVER
};

/* Local seconds since 1970 become those of UTC. A time that clocks showed twice is the first of the
 * two. */
enum event_zone_answer event_zone_to_utc(const struct event_zone *zone, int64_t local_s,
                                         int64_t *out_s);

#endif
