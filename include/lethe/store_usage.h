/* lethe/store_usage.h - meters: what each counter got in each period. lethe/store.h includes it.
 *
 * A store counts per period if it has resolutions (`per` of lethe_store_options).
 *
 * An operation adds to the bucket of its period, of each resolution, what it adds to the counter,
 * in the same commit. Its period is that of its time, with event_time, or else of the wall clock
 * when it was decided, which may step back. So at any moment, for each resolution,
 *
 *     counter = rest + the sum of its buckets
 *
 * where the rest is what retention dropped, what set changed, and what was counted before the
 * store had the resolution or in periods that retention had dropped.
 *
 * Arguments  As lethe/status.h says: NULL where something is needed is LETHE_EINVAL. */
#ifndef LETHE_STORE_USAGE_H
#define LETHE_STORE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"
#include "lethe/status.h"
#include "lethe/store_open.h"
#include "lethe/store_read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The number of a resolution of the store, such as "1h", for lethe_change. It never changes.
 * Cost: O(1). Errors: LETHE_EINVAL, LETHE_ENOTFOUND (the store does not count per that period). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_resolution(const lethe_store *store,
                                                               const char *by, uint32_t *out);

/* Which buckets to visit. Zero in a field selects its default. */
typedef struct lethe_usage_query {
    /* sizeof(lethe_usage_query): see LETHE_INIT. */
    size_t size;
    /* A resolution of the store; NULL -> its first. */
    const char *by;
    /* Periods that end after from_ms and begin before to_ms, since 1970; 0 -> from the first bucket
     * of any of the keys; up to the last one. */
    uint64_t from_ms;
    uint64_t to_ms;
    /* These counters, or, if there are none, all whose keys begin with prefix. */
    const lethe_bytes *keys;
    size_t key_count;
    lethe_bytes prefix;
} lethe_usage_query;

typedef struct lethe_usage_row {
    lethe_bytes key;
    /* The period begins here, since 1970, and ends before to_ms. */
    uint64_t from_ms;
    uint64_t to_ms;
    /* How far local time is ahead of UTC when it begins. */
    int32_t offset_s;
    /* This row is the rest, of no period: it is value_high * 2^64 + value. */
    bool is_rest;
    int64_t value_high;
    /* In the row of a bucket, a signed 64-bit number. */
    uint64_t value;
    /* How far local time is ahead of UTC when it ends: the offset_s of the next period. */
    int32_t to_offset_s;
} lethe_usage_row;

/* Calls visit for each period in turn, and within it for each key in the order of their bytes, with
 * 0 where there is no bucket. Then it calls visit for the rest of each key, if from_ms is 0, if
 * some of the periods were dropped, or if some had begun when the store got the resolution
 * (lethe_store_usage_reach). Periods that were dropped have no rows. All rows are of one moment.
 * Stops when visit returns false. visit must not call the store. A key that is named twice has its
 * rows once; one without a counter has rows of zeros.
 * Memory: the keys. Cost: about 1 microsecond for each row and each bucket that is read. Errors: as
 * get; LETHE_EINVAL (no such resolution, or a zone that this machine does not know: explain says
 * which). */
typedef bool (*lethe_usage_visit)(void *context, const lethe_usage_row *row);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_usage(lethe_store *store,
                                                          const lethe_usage_query *query,
                                                          lethe_usage_visit visit, void *context);

/* As top, for the buckets of the period that at_ms is in. Cost: as usage. Errors: as usage. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_top_at(lethe_store *store, const char *by,
                                                           uint64_t at_ms, size_t n,
                                                           lethe_store_visit visit, void *context);

/* Reports from when on the buckets of a resolution are complete; a NULL by is the first resolution.
 * Buckets of periods that began before *kept_from_ms were dropped. Periods that began before
 * *whole_from_ms may lack what was counted before the store had the resolution. 0 means that there
 * are no such periods. Cost: that of loading a zone. Errors: LETHE_EINVAL as usage,
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_usage_reach(lethe_store *store, const char *by,
                                                                uint64_t *kept_from_ms,
                                                                uint64_t *whole_from_ms);

#ifdef __cplusplus
}
#endif

#endif
