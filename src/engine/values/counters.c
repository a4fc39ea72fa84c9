/* engine/values/counters.c - exact counters: changing and reading them.
 *
 * IDEA    A counter in use is a record in memory (tally.h). The value of any other is in COUNTERS
 *         on disk, and is read into memory when an operation changes it.
 * I1      A record's stamp is the commit that last changed it. Those with a stamp above
 *         folded_stamp are not in COUNTERS.
 * I2      A group lists each record that it changes once, in `touched`: a record whose stamp is the
 *         group's is listed already.
 * I3      An operation changes all its counters or none: where one would leave the range of int64,
 *         those before it are changed back.
 * WHY     A segment of the log holds values, not differences, and is written when its group is
 *         sealed: a counter that is changed a thousand times in a group is written once. */
#include "engine/values/counters.h"

/* A record that a group changes. */
struct touched {
    lethe_tally_record *record;
};

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

/* A counter's record, which is added to memory if it is not there. */
static lethe_status get_record(lethe_values *values, uint32_t tag, lethe_bytes key,
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

/* Lists a record as changed by the group. */
static lethe_status touch(lethe_group *group, lethe_tally_record *record, uint32_t stamp) {
    if (record->stamp == stamp) return LETHE_OK;
    struct touched touched = {.record = record};
    if (!lethe_buffer_reserve(&group->touched, sizeof touched)) return LETHE_ENOMEM;
    lethe_buffer_append(&group->touched, &touched, sizeof touched);
    group->change_count++;
    record->stamp = stamp;
    return LETHE_OK;
}

static void fetch(lethe_values *values, const lethe_operation *operations, size_t count,
                  const uint8_t *outcomes) {
    const lethe_tally *tally = values->counters.tally;
    uint32_t *tags = values->counters.tags;
    size_t tag_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (outcomes[i] == LETHE_OUTCOME_INVALID) continue;
        for (size_t j = 0; j < operations[i].change_count; j++) {
            uint32_t tag = lethe_counters_tag(values, operations[i].changes[j].key);
            lethe_tally_prefetch_slot(tally, tag);
            tags[tag_count++] = tag;
        }
    }
    for (size_t i = 0; i < tag_count; i++) {
        lethe_tally_prefetch_record(tally, tags[i]);
    }
}

/* Changes the first `made` counters of an operation back. */
static void change_back(lethe_values *values, const lethe_operation *operation,
                        const uint32_t *tags, size_t made) {
    const lethe_counters *counters = &values->counters;
    while (made-- > 0) {
        lethe_tally_record *record =
            lethe_tally_find(counters->tally, tags[made], operation->changes[made].key);
        record->value -= operation->changes[made].delta;
        record->absent = counters->was_absent[made];
    }
}

static lethe_status change(lethe_values *values, lethe_group *group,
                           const lethe_operation *operation, size_t change_at, bool *overflows,
                           lethe_detail *detail) {
    const lethe_counters *counters = &values->counters;
    const uint32_t *tags = counters->tags + change_at;
    uint32_t stamp = lethe_counters_stamp(counters, group->number);
    *overflows = false;
    for (size_t made = 0; made < operation->change_count; made++) {
        lethe_tally_record *record;
        lethe_status status =
            get_record(values, tags[made], operation->changes[made].key, &record, detail);
        if (status == LETHE_OK) status = touch(group, record, stamp);
        if (status != LETHE_OK) return status;
        int64_t value;
        if (__builtin_add_overflow(record->value, operation->changes[made].delta, &value)) {
            *overflows = true;
            change_back(values, operation, tags, made);
            return LETHE_OK;
        }
        counters->was_absent[made] = record->absent;
        record->value = value;
        record->absent = false;
    }
    return LETHE_OK;
}

static lethe_status finish_chunk(lethe_values *values) {
    (void)values; /* nothing was put off */
    return LETHE_OK;
}

static lethe_status overwrite(lethe_values *values, lethe_group *group, lethe_bytes key,
                              const int64_t *value, bool *existed, lethe_detail *detail) {
    lethe_tally_record *record;
    lethe_status status = get_record(values, lethe_counters_tag(values, key), key, &record, detail);
    if (status != LETHE_OK) return status;
    status = touch(group, record, lethe_counters_stamp(&values->counters, group->number));
    if (status != LETHE_OK) return status;
    if (existed != NULL) *existed = !record->absent;
    record->value = value != NULL ? *value : 0;
    record->absent = value == NULL;
    return LETHE_OK;
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
}

static lethe_status begin_segment(lethe_buffer *segment) {
    return lethe_changes_begin(segment);
}

static lethe_status end_segment(lethe_group *group) {
    const struct touched *touched = (const void *)group->touched.data;
    size_t count = group->touched.size / sizeof *touched;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(touched[i + 8].record);
        const lethe_tally_record *record = touched[i].record;
        lethe_new_value change = {.key = {.data = record->key, .size = record->key_size},
                                  .value = record->value,
                                  .deleted = record->absent};
        lethe_status status = lethe_changes_append(&group->changes, &change);
        if (status != LETHE_OK) return status;
    }
    lethe_changes_end(&group->changes, (uint32_t)count);
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
