/* engine/meters/buckets.c - finding, changing and reading buckets.
 *
 * IDEA    An operation changes a bucket of each resolution beside each counter. Which one follows
 *         from the operation's time; a label is computed once, and the bucket keeps it.
 * I1      As with counters, a bucket whose stamp is above folded_stamp is not in BUCKETS.
 * I2      A bucket that exists and whose label is known_from or more is in memory. So one of the
 *         current period that is not in memory is new, and nothing is read from disk for it.
 *         known_from rises above the labels that are evicted.
 * I3      Whatever changes a bucket changes its counter in the same group. So a bucket's stamp is
 *         not above its counter's.
 * I4      In memory a bucket is in one place. That beside a counter is its latest of a resolution
 *         that is in memory; when a later one comes, it becomes loose. All loose ones have labels
 *         below loose_end. Where there were more counters than fit in memory when the store was
 *         opened, present buckets may be loose as well, and an older one beside the counter; so
 *         loose ones are looked for first wherever the label is below loose_end.
 * WHY     A counter is mostly changed in the same period again, and in the latest one. Its bucket
 *         is then in the cache lines that its counter is in, and costs one comparison. A new one
 *         costs no lookup, by I2 and I4, and no key. */
#include "engine/meters/buckets.h"

#include "core/allocator.h"
#include "core/detail.h"
#include "engine/log/log.h"
#include "engine/values/counters.h"
#include "os/clock.h"

bool lethe_bucket_parse(lethe_bytes bytes, uint32_t count, lethe_bucket_name *out) {
    const unsigned char *data = bytes.data;
    if (bytes.size <= LETHE_BUCKET_PREFIX_BYTES || bytes.size > LETHE_BUCKET_KEY_LIMIT_BYTES)
        return false;
    if (data[0] == 0 || data[0] > count) return false;
    *out = (lethe_bucket_name){.which = data[0] - 1U,
                               .key = {.data = data + LETHE_BUCKET_PREFIX_BYTES,
                                       .size = bytes.size - LETHE_BUCKET_PREFIX_BYTES}};
    out->label = lethe_label_load(data + 1);
    return true;
}

bool lethe_bucket_named(const lethe_new_value *change, uint32_t count, lethe_bucket_name *out) {
    if (!change->is_beside) return lethe_bucket_parse(change->key, count, out);
    *out = (lethe_bucket_name){.which = change->which, .label = change->label, .key = change->key};
    return change->which < count;
}

uint32_t lethe_bucket_tag(uint32_t counter_tag, uint32_t which, uint64_t label) {
    uint64_t mixed = counter_tag ^ (label << 4 | which) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

lethe_bucket_name lethe_bucket_name_of(const lethe_tally_record *loose) {
    lethe_bucket_name name = {0};
    (void)lethe_bucket_parse((lethe_bytes){.data = loose->key, .size = loose->key_size},
                             LETHE_METERS_LIMIT, &name);
    return name;
}

/* A key that is being put together. */
struct bucket_key {
    unsigned char bytes[LETHE_BUCKET_KEY_LIMIT_BYTES];
    size_t size;
};

static void set_key(struct bucket_key *out, lethe_bytes key) {
    memcpy(out->bytes + LETHE_BUCKET_PREFIX_BYTES, key.data, key.size);
    out->size = LETHE_BUCKET_PREFIX_BYTES + key.size;
}

static void set_name(struct bucket_key *out, const lethe_bucket_name *name) {
    set_key(out, name->key);
    lethe_bucket_prefix(name->which, name->label, out->bytes);
}

static lethe_bytes bytes_of(const struct bucket_key *key) {
    return (lethe_bytes){.data = key->bytes, .size = key->size};
}

/* A loose bucket in memory, or NULL. */
static lethe_tally_record *find_loose(const lethe_values *values, uint32_t tag,
                                      const lethe_bucket_name *name) {
    if (name->label >= values->meters.all[name->which].loose_end) return NULL;
    struct bucket_key key;
    set_name(&key, name);
    lethe_tally_settle(values->buckets.loose);
    return lethe_tally_find(values->buckets.loose, lethe_bucket_tag(tag, name->which, name->label),
                            bytes_of(&key));
}

static lethe_tally_record *add_loose(lethe_values *values, uint32_t tag,
                                     const lethe_bucket_name *name) {
    lethe_meter *meter = &values->meters.all[name->which];
    struct bucket_key key;
    set_name(&key, name);
    lethe_tally_record *record = lethe_tally_add_unsettled(
        values->buckets.loose, lethe_bucket_tag(tag, name->which, name->label), bytes_of(&key));
    if (record != NULL && meter->loose_end <= name->label) meter->loose_end = name->label + 1;
    return record;
}

/* Makes the bucket beside a counter a loose one. The group, if any, lists it if it changed it. */
static bool move_out(lethe_values *values, lethe_group *group, uint32_t tag,
                     const lethe_bucket_name *name, const lethe_tally_record *beside) {
    if (name->label < values->meters.all[name->which].kept_from) return true; /* does not exist */
    lethe_touched entry;
    if (group != NULL && !lethe_buffer_reserve(&group->touched_buckets, sizeof entry)) return false;
    entry.record = add_loose(values, tag, name);
    if (entry.record == NULL) return false;
    entry.record->value = beside->value;
    entry.record->stamp = beside->stamp;
    entry.record->absent = beside->absent;
    if (group == NULL || beside->stamp != lethe_counters_stamp(&values->counters, group->number))
        return true;
    lethe_buffer_append(&group->touched_buckets, &entry, sizeof entry);
    group->change_count++;
    return true;
}

/* Makes a bucket that is not in memory: beside its counter, if there is one in memory that has no
 * later one (I4). NULL when there is no memory. */
static lethe_tally_record *add_record(lethe_values *values, lethe_group *group,
                                      lethe_changing counter, const lethe_bucket_name *name) {
    if (counter.record == NULL) return add_loose(values, counter.tag, name);
    lethe_tally_record *beside = lethe_bucket_beside(counter.record, name->which);
    if (beside->key_size > 0) {
        lethe_bucket_name other = *name;
        other.label = lethe_label_load(beside->key);
        if (other.label > name->label) return add_loose(values, counter.tag, name);
        if (!move_out(values, group, counter.tag, &other, beside)) return NULL;
    } else {
        values->buckets.beside++;
    }
    unsigned char prefix[LETHE_BUCKET_PREFIX_BYTES];
    lethe_bucket_prefix(name->which, name->label, prefix);
    *beside = (lethe_tally_record){.key_size = LETHE_LABEL_BYTES};
    memcpy(beside->key, prefix + 1, LETHE_LABEL_BYTES);
    return beside;
}

lethe_tally_record *lethe_buckets_need(lethe_values *values, const lethe_bucket_name *name,
                                       bool *is_new) {
    lethe_changing counter = {.tag = lethe_counters_tag(values, name->key)};
    counter.record = lethe_tally_find(values->counters.tally, counter.tag, name->key);
    *is_new = false;
    if (counter.record != NULL) {
        lethe_tally_record *beside = lethe_bucket_beside(counter.record, name->which);
        if (beside->key_size > 0 && lethe_label_load(beside->key) == name->label) return beside;
    }
    lethe_tally_record *record = find_loose(values, counter.tag, name);
    if (record != NULL) return record;
    *is_new = true;
    return add_record(values, NULL, counter, name);
}

void lethe_buckets_begin_chunk(lethe_values *values) {
    if (values->meters.count > 0 && !values->buckets.by_events)
        values->buckets.wall_ms = lethe_os_wall_ms();
}

/* Reads a bucket that is not in memory; *found where there is one. */
static lethe_status read_stored(lethe_values *values, lethe_bytes bytes, int64_t *value,
                                bool *found, lethe_detail *detail) {
    lethe_record stored;
    lethe_status status =
        lethe_disk_get(values->disk, LETHE_FAMILY_BUCKETS, bytes, &stored, detail);
    *found = status == LETHE_OK && stored.data != NULL;
    if (!*found) return status;
    status = lethe_value_load((lethe_bytes){.data = stored.data, .size = stored.size}, value);
    lethe_record_release(&stored);
    return status;
}

/* Finds the bucket of a counter in the meter's stretch, which is not the one beside it: in memory,
 * or on disk; or makes it. */
static lethe_status get_record(lethe_values *values, lethe_group *group, uint32_t which,
                               lethe_bytes key, lethe_changing counter, lethe_tally_record **out,
                               lethe_detail *detail) {
    const lethe_meter *meter = &values->meters.all[which];
    lethe_bucket_name name = {.which = which, .label = meter->stretch.label, .key = key};
    *out = find_loose(values, counter.tag, &name);
    if (*out != NULL) return LETHE_OK;
    int64_t value = 0;
    bool found = false;
    if (name.label < meter->known_from) {
        struct bucket_key stored;
        set_name(&stored, &name);
        lethe_status status = read_stored(values, bytes_of(&stored), &value, &found, detail);
        if (status != LETHE_OK) return status;
    }
    *out = add_record(values, group, counter, &name);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->value = value;
    (*out)->absent = !found;
    return LETHE_OK;
}

static lethe_buffer *list_for(lethe_group *group, const lethe_tally_record *record) {
    return lethe_bucket_is_beside(record) ? NULL : &group->touched_buckets;
}

/* Whether it is the bucket of the meter's stretch. */
static bool is_of(const lethe_tally_record *beside, const lethe_meter *meter) {
    return beside->key_size > 0 && memcmp(beside->key, meter->prefix + 1, LETHE_LABEL_BYTES) == 0;
}

lethe_status lethe_buckets_change(lethe_values *values, lethe_group *group, uint64_t event_ms,
                                  const lethe_change *change, lethe_changing counter,
                                  lethe_detail *detail) {
    lethe_meters *meters = &values->meters;
    uint64_t time_ms = values->buckets.by_events ? event_ms : values->buckets.wall_ms;
    group->has_buckets = true;
    for (uint32_t i = 0; i < meters->count; i++) {
        lethe_meter *meter = &meters->all[i];
        uint64_t label = lethe_meter_label(meters, i, time_ms);
        if (label < meter->kept_from) continue; /* it is in the rest */
        if (label > meter->newest) meter->newest = label;
        lethe_status status = LETHE_OK;
        lethe_tally_record *record = lethe_bucket_beside(counter.record, i);
        if (!is_of(record, meter))
            status = get_record(values, group, i, change->key, counter, &record, detail);
        if (status == LETHE_OK)
            status =
                lethe_counters_add(values, group, list_for(group, record), record, change->delta);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

bool lethe_buckets_add_beside(lethe_values *values, lethe_group *group, uint64_t event_ms,
                              int64_t delta, const lethe_tally_record *counter) {
    lethe_meters *meters = &values->meters;
    uint64_t time_ms = values->buckets.by_events ? event_ms : values->buckets.wall_ms;
    int64_t after;
    for (uint32_t i = 0; i < meters->count; i++) {
        const lethe_meter *meter = &meters->all[i];
        const lethe_tally_record *bucket = lethe_bucket_beside(counter, i);
        if (time_ms < meter->stretch.from_ms || time_ms >= meter->stretch.to_ms ||
            meter->stretch.label < meter->kept_from || !is_of(bucket, meter) ||
            __builtin_add_overflow(bucket->value, delta, &after))
            return false;
    }
    uint32_t stamp = lethe_counters_stamp(&values->counters, group->number);
    for (uint32_t i = 0; i < meters->count; i++) {
        lethe_meter *meter = &meters->all[i];
        lethe_tally_record *bucket = lethe_bucket_beside(counter, i);
        if (meter->stretch.label > meter->newest) meter->newest = meter->stretch.label;
        bucket->value += delta;
        bucket->absent = false;
        bucket->stamp = stamp;
    }
    group->has_buckets = true;
    return true;
}

lethe_status lethe_buckets_read(lethe_values *values, uint32_t which, lethe_bytes key,
                                int64_t *value, bool *is_dropped, lethe_detail *detail) {
    const lethe_meter *meter = &values->meters.all[which];
    uint64_t label = lethe_meter_label(&values->meters, which, values->buckets.wall_ms);
    *value = 0;
    *is_dropped = label < meter->kept_from;
    if (*is_dropped) return LETHE_OK;
    uint32_t tag = lethe_counters_tag(values, key);
    lethe_bucket_name name = {.which = which, .label = label, .key = key};
    const lethe_tally_record *record = lethe_tally_find(values->counters.tally, tag, key);
    if (record != NULL) record = lethe_bucket_beside(record, which);
    if (record == NULL || !is_of(record, meter)) record = find_loose(values, tag, &name);
    if (record != NULL) *value = record->value;
    if (record != NULL || label >= meter->known_from) return LETHE_OK;
    bool found;
    struct bucket_key stored;
    set_name(&stored, &name);
    return read_stored(values, bytes_of(&stored), value, &found, detail);
}

uint64_t lethe_buckets_ends_in_ms(lethe_values *values, uint32_t which) {
    const lethe_meters *meters = &values->meters;
    lethe_resolution resolution = meters->all[which].resolution;
    uint64_t now_ms = values->buckets.wall_ms;
    uint64_t label = lethe_meter_label(&values->meters, which, now_ms);
    uint64_t next = lethe_period_next(resolution, meters->zone, label);
    uint64_t end_ms = lethe_period_begin(resolution, meters->zone, next);
    return end_ms > now_ms ? end_ms - now_ms : 0;
}

static lethe_status delete_record(lethe_values *values, lethe_group *group,
                                  lethe_tally_record *record) {
    if (record->absent) return LETHE_OK;
    record->value = 0;
    record->absent = true;
    return lethe_counters_touch(values, group, list_for(group, record), record);
}

/* Those that are in memory. */
static lethe_status delete_in_memory(lethe_values *values, lethe_group *group, lethe_bytes key,
                                     lethe_changing counter) {
    lethe_tally_record *record;
    uint64_t position = 0;
    lethe_status status = LETHE_OK;
    size_t size = LETHE_BUCKET_PREFIX_BYTES + key.size;
    for (uint32_t i = 0; i < values->meters.count && status == LETHE_OK; i++) {
        record = lethe_bucket_beside(counter.record, i);
        if (record->key_size > 0) status = delete_record(values, group, record);
    }
    while (status == LETHE_OK &&
           (record = lethe_tally_each(values->buckets.loose, &position)) != NULL) {
        if (record->key_size != size) continue;
        if (memcmp(record->key + LETHE_BUCKET_PREFIX_BYTES, key.data, key.size) != 0) continue;
        status = delete_record(values, group, record);
    }
    return status;
}

/* A bucket that is on disk. What was in memory is deleted by now; others become loose. */
static lethe_status delete_stored(lethe_values *values, lethe_group *group, lethe_changing counter,
                                  const lethe_bucket_name *name) {
    const lethe_tally_record *beside = lethe_bucket_beside(counter.record, name->which);
    if (beside->key_size > 0 && lethe_label_load(beside->key) == name->label) return LETHE_OK;
    if (find_loose(values, counter.tag, name) != NULL) return LETHE_OK;
    lethe_tally_record *record = add_loose(values, counter.tag, name);
    return record != NULL ? delete_record(values, group, record) : LETHE_ENOMEM;
}

/* Walks from period to period, and in each to the key. */
static lethe_status delete_on_disk(lethe_values *values, lethe_group *group, lethe_changing counter,
                                   uint32_t which, struct bucket_key *key, lethe_walk *walk) {
    const lethe_meters *meters = &values->meters;
    uint64_t label = meters->all[which].kept_from;
    lethe_status status = LETHE_OK;
    while (status == LETHE_OK && label < LETHE_LABEL_END) {
        lethe_bytes bytes, value;
        lethe_bucket_name name;
        lethe_bucket_prefix(which, label, key->bytes);
        lethe_walk_seek(walk, bytes_of(key));
        if (!lethe_walk_next(walk, &bytes, &value)) break;
        if (!lethe_bucket_parse(bytes, meters->count, &name)) return LETHE_ECORRUPT;
        if (name.which != which) break;
        bool is_it =
            bytes.size == key->size &&
            memcmp(name.key.data, key->bytes + LETHE_BUCKET_PREFIX_BYTES, name.key.size) == 0;
        uint64_t at = name.label;
        if (is_it) status = delete_stored(values, group, counter, &name);
        /* In a later period, the key may come before what was found. */
        label = is_it || at == label ? at + 1 : at;
    }
    return status;
}

lethe_status lethe_buckets_delete(lethe_values *values, lethe_group *group, lethe_bytes key,
                                  lethe_changing counter, lethe_detail *detail) {
    if (values->meters.count == 0) return LETHE_OK;
    group->has_buckets = true;
    lethe_status status = delete_in_memory(values, group, key, counter);
    if (status != LETHE_OK) return status;
    lethe_walk *walk;
    status = lethe_walk_begin(values->disk, LETHE_FAMILY_BUCKETS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    struct bucket_key bucket;
    set_key(&bucket, key);
    for (uint32_t i = 0; i < values->meters.count && status == LETHE_OK; i++)
        status = delete_on_disk(values, group, counter, i, &bucket, walk);
    lethe_status ended = lethe_walk_end(walk, detail);
    return status != LETHE_OK ? status : ended;
}
