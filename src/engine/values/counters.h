/* engine/values/counters.h - exact counters: what their files share.
 *
 *   counters.c        changing and reading them
 *   counters_open.c   from disk to memory, and checking what is on disk
 *   counters_fold.c   from memory to COUNTERS */
#ifndef LETHE_ENGINE_VALUES_COUNTERS_H
#define LETHE_ENGINE_VALUES_COUNTERS_H

#include "engine/values/values.h"

/* Stamps of records: in COUNTERS; replayed from the log; changed by the first commit. */
enum { LETHE_FOLDED_STAMP, LETHE_REPLAYED_STAMP, LETHE_FIRST_STAMP };

/* The stamp of records that the commit changes. */
static inline uint32_t lethe_counters_stamp(const lethe_counters *counters, uint64_t commit) {
    return (uint32_t)(commit - counters->base_commit);
}

static inline uint32_t lethe_counters_tag(const lethe_values *values, lethe_bytes key) {
    return lethe_tally_tag(lethe_hash_bytes(values->seed, key.data, key.size));
}

/* A counter's record, which is added to memory if it is not there. Errors: those of
 * lethe_disk_get, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_counters_get_record(lethe_values *values, uint32_t tag,
                                                        lethe_bytes key, lethe_tally_record **out,
                                                        lethe_detail *detail);

/* In a store with meters: changes a counter, whose record and tag these are, and its buckets, in
 * the filling group; or none, and *overflows becomes true. event_ms: see lethe_buckets_change.
 * Errors: as lethe_values_change. */
LETHE_MUST_CHECK lethe_status lethe_counters_change_one(lethe_values *values, lethe_group *group,
                                                        uint64_t event_ms,
                                                        const lethe_change *change,
                                                        lethe_tally_record *record, uint32_t tag,
                                                        bool *overflows, lethe_detail *detail);

/* A record that a group changes. */
typedef struct lethe_touched {
    lethe_tally_record *record;
} lethe_touched;

/* Lists a record as changed by the group, in `touched`: that of counters or of loose buckets. A
 * bucket beside its counter is found by way of that one, and its `touched` is NULL. */
LETHE_MUST_CHECK static inline lethe_status lethe_counters_touch(const lethe_values *values,
                                                                 lethe_group *group,
                                                                 lethe_buffer *touched,
                                                                 lethe_tally_record *record) {
    uint32_t stamp = lethe_counters_stamp(&values->counters, group->number);
    if (record->stamp == stamp) return LETHE_OK;
    if (touched == NULL) {
        record->stamp = stamp;
        return LETHE_OK;
    }
    lethe_touched entry = {.record = record};
    if (!lethe_buffer_reserve(touched, sizeof entry)) return LETHE_ENOMEM;
    lethe_buffer_append(touched, &entry, sizeof entry);
    group->change_count++;
    record->stamp = stamp;
    return LETHE_OK;
}

/* Adds to a record, modulo 2^64, lists it, and notes how it was, for which there is room. */
LETHE_MUST_CHECK static inline lethe_status
lethe_counters_add(lethe_values *values, lethe_group *group, lethe_buffer *touched,
                   lethe_tally_record *record, int64_t delta) {
    lethe_buffer *undo = &values->counters.undo;
    lethe_status status = lethe_counters_touch(values, group, touched, record);
    if (status != LETHE_OK) return status;
    int64_t value;
    bool wraps = __builtin_add_overflow(record->value, delta, &value);
    lethe_undo *before = (void *)(undo->data + undo->size);
    *before = (lethe_undo){.record = record, .value = record->value, .absent = record->absent};
    if (wraps) {
        before->wrap = delta > 0 ? 1 : -1;
        values->counters.has_wrapped = true;
    }
    undo->size += sizeof *before;
    record->value = value;
    record->absent = false;
    return LETHE_OK;
}

lethe_status lethe_counters_open(lethe_values *values);
void lethe_counters_close(lethe_values *values);
lethe_status lethe_counters_prepare_writes(lethe_values *values, uint64_t next_commit);
lethe_status lethe_counters_replay(lethe_values *values, const lethe_state *state, lethe_fold *fold,
                                   lethe_detail *detail);
lethe_status lethe_counters_load(lethe_values *values, lethe_detail *detail);
lethe_status lethe_counters_check_begin(lethe_disk *disk, lethe_values_check *check,
                                        lethe_detail *detail);
lethe_status lethe_counters_check_segment(lethe_values_check *check, uint64_t commit,
                                          lethe_bytes segment);
lethe_status lethe_counters_check_record(lethe_values_check *check, lethe_bytes key,
                                         lethe_bytes value);

void lethe_counters_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding);
uint64_t lethe_counters_fold_after_bytes(const lethe_values *values);
bool lethe_counters_are_too_large(const lethe_values *values);
lethe_status lethe_counters_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load);
lethe_status lethe_counters_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail);
void lethe_counters_end_fold(lethe_values *values, uint64_t cut);
lethe_status lethe_counters_evict(lethe_values *values);

#endif
