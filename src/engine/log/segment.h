/* engine/log/segment.h - the log's records: what a commit writes, and how it is read back.
 *
 * Pure functions of bytes; docs/format/store.md has the layouts. Everything is checked when it is
 * read: a segment that breaks a rule is LETHE_ECORRUPT as a whole. */
#ifndef LETHE_ENGINE_LOG_SEGMENT_H
#define LETHE_ENGINE_LOG_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/buffer.h"
#include "lethe/store.h"

/* An id as the log keeps it: 80 bits of its hash. Two of n ids are equal with a probability of
 * n^2 / 2^81. So a fresh id equals one of a billion others with a probability below 1e-15, which is
 * below every error that a window can be asked for. */
enum { LETHE_LOG_ID_BYTES = 10, LETHE_COMMIT_KEY_BYTES = 8, LETHE_INDEX_VALUE_BYTES = 12 };

typedef struct lethe_log_id {
    uint64_t low;
    uint16_t high;
} lethe_log_id;

static inline lethe_log_id lethe_log_id_of(lethe_hash hash) {
    return (lethe_log_id){.low = hash.low, .high = (uint16_t)(hash.high >> 48)};
}

/* What stands for the id in window and ledger: 128 bits made of those 80, so that a window that is
 * filled from the log is the window that was lost. */
static inline lethe_hash lethe_log_id_expand(lethe_log_id id) {
    uint64_t mixed = id.low ^ ((uint64_t)id.high + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (lethe_hash){.low = id.low, .high = mixed ^ mixed >> 32};
}

void lethe_log_id_store(unsigned char *out, lethe_log_id id);
lethe_log_id lethe_log_id_load(const unsigned char *data);
/* What stands in window and ledger for `count` ids of a segment. */
void lethe_log_ids_expand(const unsigned char *ids, uint32_t count, lethe_hash *out);

/* Keys of segments: the commit's number, in bytes that sort by age. */
void lethe_commit_key(uint64_t commit, unsigned char out[LETHE_COMMIT_KEY_BYTES]);
bool lethe_commit_of_key(lethe_bytes key, uint64_t *out);

/* Ids that were recorded at the same time of the store's clock. */
typedef struct lethe_id_run {
    uint64_t clock_ms;
    uint32_t count;
} lethe_id_run;

/* Building a segment of ids: begin, append each id, end with the runs. Appending needs room made by
 * lethe_buffer_reserve. */
LETHE_MUST_CHECK lethe_status lethe_id_segment_begin(lethe_buffer *buffer);
static inline void lethe_id_segment_append(lethe_buffer *buffer, lethe_log_id id) {
    lethe_log_id_store(buffer->data + buffer->size, id);
    buffer->size += LETHE_LOG_ID_BYTES;
}
/* The ids that were appended, before the segment is ended, and how many they are. */
const unsigned char *lethe_id_segment_ids(const lethe_buffer *buffer);
uint32_t lethe_id_segment_count(const lethe_buffer *buffer);
/* What exact mode adds to the ids, 4 bytes each: digests, and lags, by how much each was applied
 * before the time that it is recorded under. Without digests there are no lags either, and all
 * lags may be left out if each is 0. */
typedef struct lethe_id_notes {
    const lethe_buffer *digests, *lags;
} lethe_id_notes;
LETHE_MUST_CHECK lethe_status lethe_id_segment_end(lethe_buffer *buffer, const lethe_id_run *runs,
                                                   size_t run_count, lethe_id_notes notes);

/* What the index knows of an id: when it was applied, and what it did. A digest of 0 is not
 * known. */
typedef struct lethe_index_entry {
    uint64_t clock_ms;
    uint32_t digest;
} lethe_index_entry;

/* A segment of ids, checked. */
typedef struct lethe_id_segment {
    const unsigned char *ids, *runs;
    /* NULL where there are none. */
    const unsigned char *digests, *lags;
    uint32_t count, run_count;
} lethe_id_segment;
LETHE_MUST_CHECK lethe_status lethe_id_segment_open(lethe_bytes segment, lethe_id_segment *out);
lethe_id_run lethe_id_segment_run(const lethe_id_segment *ids, uint32_t index);
/* What the segment says of its id number `at`, which is in that run. */
lethe_index_entry lethe_id_segment_entry(const lethe_id_segment *ids, uint32_t at,
                                         lethe_id_run run);

/* Building a segment of changes: values that counters have after the commit. */
typedef struct lethe_new_value {
    lethe_bytes key;
    int64_t value;
    bool deleted;
    /* The key is that of a bucket (meters/buckets.h). */
    bool is_bucket;
    /* Or it is the counter's, of which this is the bucket with the label, of the resolution. */
    bool is_beside;
    uint32_t which;
    uint64_t label;
} lethe_new_value;
LETHE_MUST_CHECK lethe_status lethe_changes_begin(lethe_buffer *buffer);
/* Before the first is appended: there will be buckets. */
void lethe_changes_take_buckets(lethe_buffer *buffer);
LETHE_MUST_CHECK lethe_status lethe_changes_append(lethe_buffer *buffer,
                                                   const lethe_new_value *change);
/* Appends a bucket of the counter that was appended last, whose key is not repeated. last has the
 * label of the last such bucket of each resolution, zeros at first. */
enum { LETHE_BESIDE_LIMIT = 8 };
LETHE_MUST_CHECK lethe_status lethe_changes_append_beside(lethe_buffer *buffer,
                                                          uint64_t last[LETHE_BESIDE_LIMIT],
                                                          const lethe_new_value *change);
void lethe_changes_end(lethe_buffer *buffer, uint32_t count);

/* Reads one after the other. left counts down to 0, where the segment must end. */
typedef struct lethe_changes {
    const unsigned char *at, *end;
    uint32_t left;
    bool has_buckets, has_beside;
    /* Of the last counter, and of the last bucket beside one, of each resolution. */
    lethe_bytes counter;
    uint64_t labels[LETHE_BESIDE_LIMIT];
} lethe_changes;
LETHE_MUST_CHECK lethe_status lethe_changes_open(lethe_bytes segment, lethe_changes *out);
LETHE_MUST_CHECK lethe_status lethe_changes_next(lethe_changes *changes, lethe_new_value *out);

/* Building a segment of deltas, in a store that keeps a sketch: what was added to keys or taken
 * from them, in order. It ends as a segment of changes does. */
LETHE_MUST_CHECK lethe_status lethe_deltas_begin(lethe_buffer *buffer);
LETHE_MUST_CHECK lethe_status lethe_deltas_append(lethe_buffer *buffer, const lethe_change *change);
/* Reads one after the other, as above. No delta is 0. */
LETHE_MUST_CHECK lethe_status lethe_deltas_open(lethe_bytes segment, lethe_changes *out);
LETHE_MUST_CHECK lethe_status lethe_deltas_next(lethe_changes *deltas, lethe_change *out);

/* A counter's value as a record: at most 10 bytes. */
enum { LETHE_VALUE_LIMIT_BYTES = 10 };
size_t lethe_value_store(unsigned char out[LETHE_VALUE_LIMIT_BYTES], int64_t value);
LETHE_MUST_CHECK lethe_status lethe_value_load(lethe_bytes record, int64_t *out);

/* The same as a record of INDEX, which earlier versions wrote. */
void lethe_index_store(unsigned char out[LETHE_INDEX_VALUE_BYTES], lethe_index_entry entry);
LETHE_MUST_CHECK lethe_status lethe_index_load(lethe_bytes record, lethe_index_entry *out);

#endif
