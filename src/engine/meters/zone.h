/* engine/meters/zone.h - local time in a zone of the system's database, or at a fixed offset.
 *
 * The C library knows one zone per process, and a library must not set it. So the database's files
 * are read here. A zone never changes once it is loaded, and threads may share it. */
#ifndef LETHE_ENGINE_METERS_ZONE_H
#define LETHE_ENGINE_METERS_ZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/status.h"

enum { LETHE_ZONE_NAME_BYTES = 64 };

typedef struct lethe_zone lethe_zone;

/* Seconds of UTC since 1970, from `from_s` up to, but without, `to_s`, in which local time is ahead
 * of UTC by offset_s. */
typedef struct lethe_zone_span {
    int64_t from_s, to_s;
    int32_t offset_s;
} lethe_zone_span;

/* Loads a zone such as Europe/Berlin, UTC or +05:45. Errors: LETHE_EINVAL (no such zone),
 * LETHE_ECORRUPT (its file is not as it should be), LETHE_ENOMEM, LETHE_EIO; the detail says what
 * to do. */
LETHE_MUST_CHECK lethe_status lethe_zone_load(const char *name, const lethe_allocator *allocator,
                                              lethe_zone **out, lethe_detail *detail);
/* Reads the bytes of a file of the database. Errors: LETHE_ECORRUPT, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_zone_parse(const void *data, size_t size,
                                               const lethe_allocator *allocator, lethe_zone **out);
void lethe_zone_free(lethe_zone *zone); /* takes NULL */

/* The span that a moment is in. NULL is UTC. */
lethe_zone_span lethe_zone_at(const lethe_zone *zone, int64_t time_s);

#endif
