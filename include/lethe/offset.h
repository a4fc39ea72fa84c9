/* lethe/offset.h - offsets of local time from UTC, as texts.
 *
 * Guarantee  What zones of stores take (lethe/store_open.h) and what `lethe count` reads at the
 *            end of a time are the same texts.
 * Threads    Pure functions. */
#ifndef LETHE_OFFSET_H
#define LETHE_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads all of text as an offset: +HH:MM, +HHMM or +HH, with - in place of + for the west, up to
 * 23:59. *offset_s becomes seconds east of UTC. Returns false, and *offset_s is 0, where it is
 * something else, or empty. Cost: O(1). */
LETHE_API bool lethe_offset_parse(lethe_bytes text, int32_t *offset_s);

#ifdef __cplusplus
}
#endif

#endif
