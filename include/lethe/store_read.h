/* lethe/store_read.h - reading a store: single counters, lists, estimates and marks. lethe/store.h
 * includes it.
 *
 * A writer sees what it has submitted. A reader (read_only) sees what was committed when it opened
 * the store or last called refresh.
 *
 * Arguments  As lethe/status.h says: NULL where something is needed is LETHE_EINVAL. */
#ifndef LETHE_STORE_READ_H
#define LETHE_STORE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "lethe/operation.h"
#include "lethe/status.h"
#include "lethe/store_open.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads counters: values[i] and found[i]. One that does not exist is 0.
 * Cost: a hash lookup, or a read from disk. Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM: every
 * key is tried, and those that failed are not found. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_get(lethe_store *store, const lethe_bytes *keys,
                                                        size_t count, int64_t *values, bool *found);

/* How many digits after the point the values have: see lethe_store_options. 0 for NULL.
 * Cost: O(1), also in a reader. */
LETHE_API unsigned lethe_store_scale(const lethe_store *store);

/* What a sketch knows of a key. The true value is at most `value`, provided that nothing was taken
 * from a key that had not been added to it. It is at least `least`, except with the probability
 * sketch_delta of lethe_store_info. */
typedef struct lethe_estimate {
    uint64_t value;
    uint64_t least;
} lethe_estimate;

/* Estimates counters. Cost: depth cache misses per key. Errors: LETHE_EINVAL (the store keeps exact
 * counters). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_estimate(lethe_store *store,
                                                             const lethe_bytes *keys, size_t count,
                                                             lethe_estimate *out);

/* Lets a reader see what was acknowledged up to now. What it sees is never older than before. On
 * error it sees what it saw before. A writer always sees all: LETHE_OK.
 * Cost: a look at the names of files, if nothing was written; otherwise that of opening. Errors: as
 * open. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_refresh(lethe_store *store,
                                                            lethe_detail *detail);

/* Calls visit for each counter from `from` on (empty: the first), in the order of their bytes,
 * until it returns false. visit must not call the store.
 * Cost: 1 microsecond per counter. Errors: as get; LETHE_EINVAL (a store that keeps a sketch has no
 * list of its keys). */
typedef bool (*lethe_store_visit)(void *context, lethe_bytes key, int64_t value);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_each(lethe_store *store, lethe_bytes from,
                                                         lethe_store_visit visit, void *context);

/* Calls visit for the n largest counters, the largest first; among equals the first in the order of
 * their bytes first. With a sketch: for the most frequent keys, as lethe_sketch_top lists them, at
 * most sketch_top. Memory: n entries. Cost: as each. Errors: LETHE_ECORRUPT, LETHE_EIO,
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_top(lethe_store *store, size_t n,
                                                        lethe_store_visit visit, void *context);

/* Calls visit for each mark, in the order of their names, until it returns false.
 * Cost: O(marks). Errors: as get. */
typedef bool (*lethe_mark_visit)(void *context, const lethe_mark *mark);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_marks(lethe_store *store,
                                                          lethe_mark_visit visit, void *context);

#ifdef __cplusplus
}
#endif

#endif
