/* time.h - the time of an event.
 *
 *   2023-11-14T22:13:20.5+01:00      RFC 3339; Z, z, a blank for the T, a comma for the point, and
 *                                    offsets such as +0100 and +01 are accepted too
 *   2023-11-14 22:13:20              the same without an offset: local time of the rule's zone
 *   10/Oct/2000:13:55:36 -0700       the common log format, with or without its brackets
 *   1700000000000, 1700000000.5      since 1970, in the rule's unit
 *
 * Digits beyond milliseconds are dropped. A leap second counts as the second before it. Times
 * before 1970 or after 9999 are refused. */
#ifndef LETHE_CLI_EVENTS_TIME_H
#define LETHE_CLI_EVENTS_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "events/problem.h"
#include "events/zone.h"
#include "lethe/hash.h"

/* What numbers count. Milliseconds, unless one is so small or so large that it is taken for seconds
 * or microseconds: all of these between 1973 and 5138. */
enum event_time_unit { UNIT_BY_SIZE = 0, UNIT_SECONDS, UNIT_MILLISECONDS, UNIT_MICROSECONDS };

struct event_time_rule {
    enum event_time_unit unit;
    struct event_zone zone;
};

/* Reads all of text. *guessed is the unit if it was chosen by size and is not milliseconds,
 * otherwise UNIT_BY_SIZE. Returns false after saying what is wrong. */
bool event_time_parse(const struct event_time_rule *rule, lethe_bytes text, uint64_t *out_ms,
                      enum event_time_unit *guessed, struct event_problem *problem);

/* "s", "ms" or "us"; "" for UNIT_BY_SIZE. */
const char *event_time_unit_name(enum event_time_unit unit);

#endif
