/* lethe/id.h - one id made of several fields.
 *
 * Guarantee  Different lists of fields give different ids: ("a", "bc") and ("ab", "c") are two. The
 *            same list gives the same id in every release, because windows remember ids.
 * Threads    Pure functions.
 * Caveats    A joined id can equal the id of an event whose only field happens to look like one.
 *            Join the ids of all events of a store, or of none.
 *
 * Often no single field identifies an event: a source numbers its own events, an order has lines.
 * The bytes are described in docs/format/id.md, so that other programs can make the same ids. */
#ifndef LETHE_ID_H
#define LETHE_ID_H

#include <stddef.h>

#include "lethe/hash.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the id of count fields to out: of one field, the field itself; of more, each field after
 * its length and a colon, such as 1:a2:bc. *size is how long the id is, also when it has no room.
 * Errors: LETHE_EINVAL (no field, or an empty one: two events that lack a field would be the same),
 * LETHE_EFULL (room is less than *size; nothing is written). Cost: O(*size). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_id_join(const lethe_bytes *fields, size_t count,
                                                      void *out, size_t room, size_t *size);

#ifdef __cplusplus
}
#endif

#endif
