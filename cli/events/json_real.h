/* json_real.h - a number of a JSON text as it was written.
 *
 * Jansson keeps a number with a point or an exponent as a double, which rounds. A delta of 1e18 or
 * a time in microseconds must be exact. */
#ifndef LETHE_CLI_EVENTS_JSON_REAL_H
#define LETHE_CLI_EVENTS_JSON_REAL_H

#include <jansson.h>

#include "lethe/hash.h"

/* The bytes in `text` of a real number within `root`, which was parsed from all of text. No bytes
 * if it is not there. Cost: O(text). */
lethe_bytes event_json_real(const json_t *root, const json_t *wanted, lethe_bytes text);

#endif
