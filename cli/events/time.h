/* time.h - the time of an event: milliseconds since 1970, or RFC 3339. */
#ifndef LETHE_CLI_EVENTS_TIME_H
#define LETHE_CLI_EVENTS_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "events/problem.h"
#include "lethe/hash.h"

/* Reads all of text: 1700000000000, or 2023-11-14T22:13:20.5+01:00 (Z, z and a blank for the T are
 * accepted; digits beyond milliseconds are dropped; a leap second counts as the second before it).
 * Returns false after saying what is wrong. */
bool event_time_parse(lethe_bytes text, uint64_t *out_ms, struct event_problem *problem);

#endif
