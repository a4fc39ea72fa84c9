/* engine/meters/buckets.h - buckets of counters: changing them, and moving them between memory and
 * disk.
 *
 *   buckets.c         finding, changing and reading them
 *   buckets_memory.c  which of them are in memory
 *   buckets_fold.c    from memory to BUCKETS
 *
 * A bucket is a value under its own key: resolution, label, and the counter's key. In memory the
 * latest bucket of each resolution is beside its counter, in the room of the counter's record. All
 * others are loose: records of a tally of their own. Both are logged, folded and replayed together
 * with counters, and apart from them: a mark in the log, and a family of their own. Everything here
 * needs the store's lock. */
#ifndef LETHE_ENGINE_METERS_BUCKETS_H
#define LETHE_ENGINE_METERS_BUCKETS_H

#include "core/bytes.h"
#include "engine/log/group.h"
#include "engine/log/segment.h"
#include "engine/meters/meters.h"
#include "engine/values/tally.h"
#include "lethe/hash.h"

typedef struct lethe_values lethe_values;
typedef struct lethe_value_walk lethe_value_walk;

enum { LETHE_BUCKET_KEY_LIMIT_BYTES = LETHE_BUCKET_PREFIX_BYTES + LETHE_KEY_LIMIT_BYTES };

typedef struct lethe_fold_load lethe_fold_load;

typedef struct lethe_buckets {
    lethe_tally *loose;
    /* How many are beside their counters. */
    uint64_t beside;
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
/* The same of a bucket in the log. */
bool lethe_bucket_named(const lethe_new_value *change, uint32_t count, lethe_bucket_name *out);
/* The key of the record in BUCKETS that says which commit last dropped some. */
static inline lethe_bytes lethe_bucket_dropped_key(void) {
    return (lethe_bytes){.data = "", .size = 1};
}

/* A bucket beside its counter is a record without a key: in place of that it has the label, as
 * bytes that sort. */
enum { LETHE_BESIDE_BYTES = 20 };
_Static_assert(LETHE_BESIDE_BYTES == offsetof(lethe_tally_record, key) + LETHE_LABEL_BYTES,
               "a label is in place of the key");

/* What is beside a counter of a resolution. Its key_size is 0 where there is none. */
static inline lethe_tally_record *lethe_bucket_beside(const lethe_tally_record *counter,
                                                      uint32_t which) {
    char *room = lethe_tally_room(counter);
    return (lethe_tally_record *)(void *)(room + (size_t)which * LETHE_BESIDE_BYTES);
}
/* The keys of loose ones are longer. */
static inline bool lethe_bucket_is_beside(const lethe_tally_record *bucket) {
    return bucket->key_size == LETHE_LABEL_BYTES;
}
static inline uint64_t lethe_label_load(const void *bytes) {
    const unsigned char *data = bytes;
    uint64_t label = 0;
    for (unsigned i = 0; i < LETHE_LABEL_BYTES; i++)
        label = label << 8 | data[i];
    return label;
}

LETHE_MUST_CHECK lethe_status lethe_buckets_open(lethe_values *values);
void lethe_buckets_close(lethe_values *values);
/* The bucket in memory, which is added if it is not there; *is_new says so. NULL when there is no
 * memory. */
lethe_tally_record *lethe_buckets_need(lethe_values *values, const lethe_bucket_name *name,
                                       bool *is_new);
/* The tag of a loose bucket, from its counter's. */
uint32_t lethe_bucket_tag(uint32_t counter_tag, uint32_t which, uint64_t label);
/* The name of a loose bucket, which is sound. */
lethe_bucket_name lethe_bucket_name_of(const lethe_tally_record *loose);
/* Takes a bucket's value from the log. Errors: LETHE_ECORRUPT, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_buckets_replay(lethe_values *values,
                                                   const lethe_new_value *change);
/* After replay, for a writer: reads the buckets of current periods from disk. */
LETHE_MUST_CHECK lethe_status lethe_buckets_load(lethe_values *values, uint64_t clock_ms,
                                                 lethe_detail *detail);

/* Begins a chunk: takes the wall clock, where that decides. */
void lethe_buckets_begin_chunk(lethe_values *values);
/* A counter that is being changed: its record, and the tag of its key. */
typedef struct lethe_changing {
    const lethe_tally_record *record;
    uint32_t tag;
} lethe_changing;
/* Changes the buckets of a change to a counter. event_ms: the operation's time, which matters where
 * it decides. What was changed is noted in the undo list. */
LETHE_MUST_CHECK lethe_status lethe_buckets_change(lethe_values *values, lethe_group *group,
                                                   uint64_t event_ms, const lethe_change *change,
                                                   lethe_changing counter, lethe_detail *detail);
/* Adds to the buckets beside a counter, if all that the change concerns are there, and none of them
 * overflows. Otherwise false, and nothing is changed. The counter is changed by the caller. */
bool lethe_buckets_add_beside(lethe_values *values, lethe_group *group, uint64_t event_ms,
                              int64_t delta, const lethe_tally_record *counter);
/* The bucket of a key in the present period of the wall clock, as of the chunk's beginning; not
 * with event time. 0 if there is none, or if retention has dropped it. */
LETHE_MUST_CHECK lethe_status lethe_buckets_read(lethe_values *values, uint32_t which,
                                                 lethe_bytes key, int64_t *value, bool *is_dropped,
                                                 lethe_detail *detail);
/* How long that period lasts from then on. */
uint64_t lethe_buckets_ends_in_ms(lethe_values *values, uint32_t which);
/* Deletes all buckets of a key. */
LETHE_MUST_CHECK lethe_status lethe_buckets_delete(lethe_values *values, lethe_group *group,
                                                   lethe_bytes key, lethe_changing counter,
                                                   lethe_detail *detail);

/* Copies what is not in BUCKETS yet of one resolution, and begins a walk from a label on. */
LETHE_MUST_CHECK lethe_status lethe_buckets_begin_walk(lethe_values *values, uint32_t which,
                                                       uint64_t label, lethe_value_walk *walk);

/* Whether many buckets in memory are of periods that are over, and on disk. */
bool lethe_buckets_are_idle(const lethe_values *values);
/* Drops loose buckets that BUCKETS has: those of periods that are over, or all. */
LETHE_MUST_CHECK lethe_status lethe_buckets_evict(lethe_values *values, bool all);
/* Before and after counters leave memory that COUNTERS has: their buckets go with them. */
void lethe_buckets_before_eviction(lethe_values *values);
void lethe_buckets_after_eviction(lethe_values *values);
/* Bytes that buckets take in memory, those in the room of counters included; and these alone. */
uint64_t lethe_buckets_memory_bytes(const lethe_values *values);
uint64_t lethe_buckets_room_bytes(const lethe_values *values);

/* How many bytes the next needs to sort in, for so many counters. */
size_t lethe_buckets_fold_room(size_t counters);
/* Writes what a fold took, whose counters are sorted, as one table. Without the lock. */
LETHE_MUST_CHECK lethe_status lethe_buckets_write_fold(lethe_values *values, lethe_fold_load *load,
                                                       uint64_t cut, lethe_detail *detail);

#endif
