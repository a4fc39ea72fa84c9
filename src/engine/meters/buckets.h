/* engine/meters/buckets.h - buckets of counters: changing them, and moving them between memory and
 * disk.
 *
 * A bucket is a value under its own key: resolution, label, and the counter's key. Buckets in use
 * are records in memory, as counters are, and are logged, folded and replayed together with them.
 * They are apart from counters everywhere: a tally of their own, a family of their own, a mark in
 * the log. Everything here needs the store's lock. */
#ifndef LETHE_ENGINE_METERS_BUCKETS_H
#define LETHE_ENGINE_METERS_BUCKETS_H

#include "core/bytes.h"
#include "engine/log/group.h"
#include "engine/meters/meters.h"
#include "engine/values/tally.h"
#include "lethe/hash.h"

typedef struct lethe_values lethe_values;
typedef struct lethe_value_walk lethe_value_walk;

enum { LETHE_BUCKET_KEY_LIMIT_BYTES = LETHE_BUCKET_PREFIX_BYTES + LETHE_KEY_LIMIT_BYTES };

typedef struct lethe_buckets {
    lethe_tally *tally;
    /* The operations' own time decides, and otherwise the wall clock of the chunk. */
    bool by_events;
    uint64_t wall_ms;
} lethe_buckets;

/* The key of a bucket begins with its resolution's place, from 1 on, and its label, which sort as
 * bytes. */
static inline void lethe_bucket_prefix(uint32_t which, uint64_t label,
                                       unsigned char out[LETHE_BUCKET_PREFIX_BYTES]) {
    out[0] = (unsigned char)(which + 1);
    for (unsigned i = 0; i < LETHE_LABEL_BYTES; i++)
        out[1 + i] = (unsigned char)(label >> 8 * (LETHE_LABEL_BYTES - 1 - i));
}

/* The parts of a bucket's key. */
typedef struct lethe_bucket_name {
    uint32_t which;
    uint64_t label;
    lethe_bytes key;
} lethe_bucket_name;

/* False where the bytes are no bucket's key, of so many resolutions. */
bool lethe_bucket_parse(lethe_bytes bytes, uint32_t count, lethe_bucket_name *out);
/* The key of the record in BUCKETS that says which commit last dropped some. */
static inline lethe_bytes lethe_bucket_dropped_key(void) {
    return (lethe_bytes){.data = "", .size = 1};
}

LETHE_MUST_CHECK lethe_status lethe_buckets_open(lethe_values *values);
void lethe_buckets_close(lethe_values *values);
/* Takes a bucket's value from the log. Errors: LETHE_ECORRUPT, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_buckets_replay(lethe_values *values, lethe_bytes bytes,
                                                   int64_t value, bool is_deleted);
/* After replay, for a writer: reads the buckets of current periods from disk. */
LETHE_MUST_CHECK lethe_status lethe_buckets_load(lethe_values *values, uint64_t clock_ms,
                                                 lethe_detail *detail);

/* Begins a chunk: takes the wall clock, where that decides. */
void lethe_buckets_begin_chunk(lethe_values *values);
/* Has the counters with these tags fetched from memory, and the buckets that they link to. */
void lethe_buckets_fetch(const lethe_values *values, const uint32_t *tags, size_t count);
/* Changes the buckets of a change to a counter. What was changed is noted in the undo list. */
LETHE_MUST_CHECK lethe_status lethe_buckets_change(lethe_values *values, lethe_group *group,
                                                   const lethe_operation *operation,
                                                   const lethe_change *change,
                                                   const lethe_tally_record *counter,
                                                   lethe_detail *detail);
/* The bucket of a key in the present period of the wall clock, as of the chunk's beginning; not
 * with event time. 0 if there is none, or if retention has dropped it. */
LETHE_MUST_CHECK lethe_status lethe_buckets_read(lethe_values *values, uint32_t which,
                                                 lethe_bytes key, int64_t *value, bool *is_dropped,
                                                 lethe_detail *detail);
/* How long that period lasts from then on. */
uint64_t lethe_buckets_ends_in_ms(lethe_values *values, uint32_t which);
/* Deletes all buckets of a key. */
LETHE_MUST_CHECK lethe_status lethe_buckets_delete(lethe_values *values, lethe_group *group,
                                                   lethe_bytes key, lethe_detail *detail);

/* Copies what is not in BUCKETS yet of one resolution, and begins a walk from a label on. */
LETHE_MUST_CHECK lethe_status lethe_buckets_begin_walk(lethe_values *values, uint32_t which,
                                                       uint64_t label, lethe_value_walk *walk);

/* Whether many buckets in memory are of periods that are over, and on disk. */
bool lethe_buckets_are_idle(const lethe_values *values);
/* Drops buckets from memory that BUCKETS has: those of periods that are over, or all. */
LETHE_MUST_CHECK lethe_status lethe_buckets_evict(lethe_values *values, bool all);

#endif
