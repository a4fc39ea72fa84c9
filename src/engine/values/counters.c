/* engine/values/counters.c - exact counters: changing and reading them.
 *
 * IDEA    A counter in use is a record in memory (tally.h). The value of any other is in COUNTERS
 *         on disk, and is read into memory when an operation changes it.
 * I1      A record's stamp is the commit that last changed it. Those with a stamp above
 *         folded_stamp are not in COUNTERS.
 * I2      A group lists each record that it changes once, in `touched`: a record whose stamp is the
 *         group's is listed already.
 * I3      An operation changes all its counters or none: where one would leave the range of int64,
 *         all are changed back. Only where it ends up counts, whatever the order of the changes: a
 *         record that left the range by one end and came back by it is where it should be.
 * WHY     A segment of the log holds values, not differences, and is written when its group is
 *         sealed: a counter that is changed a thousand times in a group is written once. */
#include "engine/values/counters.h"

#include <stdlib.h>

/* How many records ahead one is fetched. */
enum { AHEAD = 16 };

/* Finds a counter: in memory, where *record then points to it, or on disk. */
static lethe_status look_up(lethe_values *values, uint32_t tag, lethe_bytes key,
                            lethe_tally_record **record, int64_t *value, bool *found,
                            lethe_detail *detail) {
    const lethe_counters *counters = &values->counters;
    *value = 0;
    *found = false;
    *record = lethe_tally_find(counters->tally, tag, key);
    if (*record != NULL) {
        *value = (*record)->value;
        *found = !(*record)->absent;
        return LETHE_OK;
    }
    if (counters->is_complete) return LETHE_OK;
    lethe_record stored;
    lethe_status status = lethe_disk_get(values->disk, LETHE_FAMILY_COUNTERS, key, &stored, detail);
    if (status != LETHE_OK || stored.data == NULL) return status;
    *found = true;
    status = lethe_value_load((lethe_bytes){.data = stored.data, .size = stored.size}, value);
    lethe_record_release(&stored);
    return status;
}

lethe_status lethe_counters_get_record(lethe_values *values, uint32_t tag, lethe_bytes key,
                                       lethe_tally_record **out, lethe_detail *detail) {
    int64_t value;
    bool found;
    lethe_status status = look_up(values, tag, key, out, &value, &found, detail);
    if (status != LETHE_OK || *out != NULL) return status;
    *out = lethe_tally_add(values->counters.tally, tag, key);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->value = value;
    (*out)->absent = !found;
    return LETHE_OK;
}

static void fetch(lethe_values *values, const lethe_operation *operations,
                  const lethe_prepared_one *prepared, size_t count, const uint8_t *outcomes) {
    const lethe_tally *tally = values->counters.tally;
    uint32_t *tags = values->counters.tags;
    size_t tag_count = 0, key_bytes = 0;
    lethe_buckets_begin_chunk(values);
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] == LETHE_OUTCOME_INVALID) continue;
        for (size_t j = 0; j < operations[i].change_count; j++) {
            lethe_bytes key = operations[i].changes[j].key;
            bool is_known = prepared != NULL && lethe_prepared_is_simple(&prepared[i]);
            uint32_t tag = is_known ? prepared[i].tag : lethe_counters_tag(values, key);
            lethe_tally_prefetch_slot(tally, tag);
            tags[tag_count++] = tag;
            key_bytes += key.size;
        }
    }
    size_t usual_size = tag_count > 0 ? key_bytes / tag_count : 0;
    for (size_t i = 0; i < tag_count; i++)
        lethe_tally_prefetch_record(tally, tags[i], usual_size);
}

/* Changes back what the operation has changed so far: a record that it changed twice, the later
 * change first. */
static void change_back(lethe_values *values) {
    const lethe_undo *undo = (const void *)values->counters.undo.data;
    size_t made = values->counters.undo.size / sizeof *undo;
    while (made-- > 0) {
        undo[made].record->value = undo[made].value;
        undo[made].record->absent = undo[made].absent;
    }
}

static int compare_records(const void *a, const void *b) {
    const lethe_undo *one = a, *other = b;
    return (one->record > other->record) - (one->record < other->record);
}

/* Whether some record is out of range at the end: it left by one end more often than it came back.
 * Those that ever left are copied behind the list, in the order of their records. */
static lethe_status find_overflow(lethe_values *values, bool *overflows) {
    lethe_buffer *undo = &values->counters.undo;
    size_t size = undo->size, count = size / sizeof(lethe_undo), left = 0;
    if (!lethe_buffer_reserve(undo, size)) return LETHE_ENOMEM;
    const lethe_undo *all = (const void *)undo->data;
    lethe_undo *wrapped = (void *)(undo->data + size);
    for (size_t i = 0; i < count; i++) {
        if (all[i].wrap != 0) wrapped[left++] = all[i];
    }
    qsort(wrapped, left, sizeof *wrapped, compare_records);
    int64_t balance = 0;
    for (size_t i = 0; i < left && !*overflows; i++) {
        balance += wrapped[i].wrap;
        bool is_last = i + 1 == left || wrapped[i + 1].record != wrapped[i].record;
        *overflows = is_last && balance != 0;
    }
    return LETHE_OK;
}

/* Before the changes of an operation, so many: what they do can be undone. */
static lethe_status begin_changes(lethe_values *values, size_t count) {
    lethe_counters *counters = &values->counters;
    counters->undo.size = 0;
    counters->has_wrapped = false;
    size_t records = count * (1 + values->meters.count);
    return lethe_buffer_reserve(&counters->undo, records * sizeof(lethe_undo)) ? LETHE_OK
                                                                               : LETHE_ENOMEM;
}

/* After them: if a value is out of range, all are undone, and *overflows becomes true. */
static lethe_status end_changes(lethe_values *values, bool *overflows) {
    *overflows = false;
    if (!values->counters.has_wrapped) return LETHE_OK;
    lethe_status status = find_overflow(values, overflows);
    if (*overflows) change_back(values);
    return status;
}

lethe_status lethe_counters_change_one(lethe_values *values, lethe_group *group, uint64_t event_ms,
                                       const lethe_change *change, lethe_tally_record *record,
                                       uint32_t tag, bool *overflows, lethe_detail *detail) {
    int64_t value;
    lethe_status status;
    if (!__builtin_add_overflow(record->value, change->delta, &value) &&
        lethe_buckets_add_beside(values, group, event_ms, change->delta, record)) {
        status = lethe_counters_touch(values, group, &group->touched, record);
        record->value = value;
        record->absent = false;
        return status;
    }
    status = begin_changes(values, 1);
    if (status == LETHE_OK)
        status = lethe_counters_add(values, group, &group->touched, record, change->delta);
    if (status == LETHE_OK)
        status = lethe_buckets_change(values, group, event_ms, change,
                                      (lethe_changing){record, tag}, detail);
    return status == LETHE_OK ? end_changes(values, overflows) : status;
}

static lethe_status change(lethe_values *values, lethe_group *group,
                           const lethe_operation *operation, size_t change_at, bool *overflows,
                           lethe_detail *detail) {
    const uint32_t *tags = values->counters.tags + change_at;
    bool has_meters = values->meters.count > 0;
    lethe_status status = begin_changes(values, operation->change_count);
    for (size_t i = 0; i < operation->change_count && status == LETHE_OK; i++) {
        const lethe_change *change = &operation->changes[i];
        lethe_tally_record *record;
        status = lethe_counters_get_record(values, tags[i], change->key, &record, detail);
        if (status == LETHE_OK)
            status = lethe_counters_add(values, group, &group->touched, record, change->delta);
        if (status == LETHE_OK && has_meters)
            status = lethe_buckets_change(values, group, operation->time_ms, change,
                                          (lethe_changing){record, tags[i]}, detail);
    }
    return status == LETHE_OK ? end_changes(values, overflows) : status;
}

static lethe_status finish_chunk(lethe_values *values) {
    (void)values; /* nothing was put off */
    return LETHE_OK;
}

static lethe_status overwrite(lethe_values *values, lethe_group *group, lethe_bytes key,
                              const int64_t *value, bool *existed, lethe_detail *detail) {
    lethe_tally_record *record;
    uint32_t tag = lethe_counters_tag(values, key);
    lethe_status status = lethe_counters_get_record(values, tag, key, &record, detail);
    if (status != LETHE_OK) return status;
    status = lethe_counters_touch(values, group, &group->touched, record);
    if (status != LETHE_OK) return status;
    if (existed != NULL) *existed = !record->absent;
    record->value = value != NULL ? *value : 0;
    record->absent = value == NULL;
    if (value != NULL) return LETHE_OK;
    return lethe_buckets_delete(values, group, key, (lethe_changing){record, tag}, detail);
}

static lethe_status read(lethe_values *values, lethe_bytes key, int64_t *value, bool *found,
                         lethe_detail *detail) {
    lethe_tally_record *record;
    return look_up(values, lethe_counters_tag(values, key), key, &record, value, found, detail);
}

static lethe_status begin_walk(lethe_values *values, lethe_bytes from, lethe_value_walk *walk) {
    const lethe_counters *counters = &values->counters;
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(counters->tally, &position)) != NULL) {
        lethe_bytes key = {.data = record->key, .size = record->key_size};
        if (record->stamp <= counters->folded_stamp || lethe_compare_keys(key, from) < 0) continue;
        lethe_status status = lethe_value_walk_add(walk, key, record->value, record->absent);
        if (status != LETHE_OK) return status;
    }
    lethe_value_walk_sort(walk);
    return lethe_walk_begin(values->disk, LETHE_FAMILY_COUNTERS, from, &walk->stored);
}

static void info(lethe_values *values, lethe_store_stats *out) {
    const lethe_counters *counters = &values->counters;
    out->counters_in_memory = lethe_tally_count(counters->tally);
    out->counters_memory_bytes = lethe_tally_memory_bytes(counters->tally);
    uint64_t stored = lethe_disk_records(values->disk, LETHE_FAMILY_COUNTERS);
    if (stored > 0) stored--; /* the record of how far is folded is no counter */
    bool all_in_memory = counters->is_complete || stored < out->counters_in_memory;
    out->counters = all_in_memory ? out->counters_in_memory : stored;
    lethe_meters_describe(&values->meters, out);
    if (values->meters.count == 0) return;
    out->buckets_in_memory = values->buckets.beside + lethe_tally_count(values->buckets.loose);
    out->buckets_memory_bytes = lethe_buckets_memory_bytes(values);
    out->counters_memory_bytes -= lethe_buckets_room_bytes(values);
    out->buckets_bytes = lethe_disk_bytes(values->disk, LETHE_FAMILY_BUCKETS);
}

static lethe_status begin_segment(lethe_buffer *segment) {
    return lethe_changes_begin(segment);
}

/* The buckets beside a counter that the group changed: their stamp is the counter's. */
static lethe_status append_beside(const lethe_values *values, const lethe_tally_record *counter,
                                  uint64_t labels[LETHE_METERS_LIMIT], lethe_group *group) {
    for (uint32_t i = 0; i < values->meters.count; i++) {
        const lethe_tally_record *bucket = lethe_bucket_beside(counter, i);
        if (bucket->key_size == 0 || bucket->stamp != counter->stamp) continue;
        lethe_new_value change = {.value = bucket->value,
                                  .deleted = bucket->absent,
                                  .which = i,
                                  .label = lethe_label_load(bucket->key)};
        lethe_status status = lethe_changes_append_beside(&group->changes, labels, &change);
        if (status != LETHE_OK) return status;
        group->change_count++;
    }
    return LETHE_OK;
}

/* With `values`: counters, and what is beside them. */
static lethe_status append_touched(const lethe_values *values, const lethe_buffer *list,
                                   lethe_group *group) {
    const lethe_touched *touched = (const void *)list->data;
    size_t count = list->size / sizeof *touched;
    uint64_t labels[LETHE_METERS_LIMIT] = {0};
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) __builtin_prefetch(touched[i + AHEAD].record);
        const lethe_tally_record *record = touched[i].record;
        lethe_new_value change = {.key = {.data = record->key, .size = record->key_size},
                                  .value = record->value,
                                  .deleted = record->absent,
                                  .is_bucket = values == NULL};
        lethe_status status = lethe_changes_append(&group->changes, &change);
        if (status == LETHE_OK && values != NULL)
            status = append_beside(values, record, labels, group);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

static lethe_status end_segment(const lethe_values *values, lethe_group *group) {
    /* A store whose meters have nothing to say writes what it wrote without them. */
    if (group->has_buckets) lethe_changes_take_buckets(&group->changes);
    lethe_status status = append_touched(values, &group->touched, group);
    if (status == LETHE_OK) status = append_touched(NULL, &group->touched_buckets, group);
    if (status != LETHE_OK) return status;
    lethe_changes_end(&group->changes, group->change_count);
    return LETHE_OK;
}

const lethe_values_kind lethe_counters_values = {
    .open = lethe_counters_open,
    .close = lethe_counters_close,
    .prepare_writes = lethe_counters_prepare_writes,
    .replay = lethe_counters_replay,
    .load = lethe_counters_load,
    .fetch = fetch,
    .change = change,
    .finish_chunk = finish_chunk,
    .overwrite = overwrite,
    .read = read,
    .begin_walk = begin_walk,
    .info = info,
    .begin_segment = begin_segment,
    .end_segment = end_segment,
    .number_commits = lethe_counters_number_commits,
    .fold_after_bytes = lethe_counters_fold_after_bytes,
    .is_too_large = lethe_counters_are_too_large,
    .take_fold = lethe_counters_take_fold,
    .write_fold = lethe_counters_write_fold,
    .end_fold = lethe_counters_end_fold,
    .evict = lethe_counters_evict,
    .check_begin = lethe_counters_check_begin,
    .check_segment = lethe_counters_check_segment,
    .check_record = lethe_counters_check_record,
};
