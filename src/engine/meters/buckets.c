/* engine/meters/buckets.c - changing buckets, and which of them are in memory.
 *
 * IDEA    An operation changes a bucket of each resolution beside each counter. Which one follows
 *         from the operation's time; a label is computed once, and the bucket keeps it.
 * I1      As with counters, a record whose stamp is above folded_stamp is not in BUCKETS.
 * I2      A bucket that exists and whose label is known_from or more is in memory. So one of the
 *         current period that is not in memory is new, and nothing is read from disk for it.
 *         known_from rises above the labels that are evicted.
 * I3      Whatever changes a bucket changes its counter in the same group.
 * I4      A counter in memory links to its bucket of each resolution that was last changed, or to
 *         none. Links end when buckets are moved.
 * WHY     A counter is mostly changed in the same period again. Its link then costs one comparison,
 *         where a table of buckets costs a hash and two cache misses. */
#include "engine/meters/buckets.h"

#include "core/allocator.h"
#include "core/detail.h"
#include "engine/log/log.h"
#include "engine/values/counters.h"
#include "os/clock.h"

/* Fewer idle buckets than this are not worth moving the others. */
enum { FEW_IDLE = 1024 };
/* So many bytes of a record in memory besides its key, roughly. */
enum { RECORD_BYTES = 64 };

bool lethe_bucket_parse(lethe_bytes bytes, uint32_t count, lethe_bucket_name *out) {
    const unsigned char *data = bytes.data;
    if (bytes.size <= LETHE_BUCKET_PREFIX_BYTES || bytes.size > LETHE_BUCKET_KEY_LIMIT_BYTES)
        return false;
    if (data[0] == 0 || data[0] > count) return false;
    *out = (lethe_bucket_name){.which = data[0] - 1U,
                               .key = {.data = data + LETHE_BUCKET_PREFIX_BYTES,
                                       .size = bytes.size - LETHE_BUCKET_PREFIX_BYTES}};
    for (unsigned i = 1; i < LETHE_BUCKET_PREFIX_BYTES; i++)
        out->label = out->label << 8 | data[i];
    return true;
}

static uint32_t tag_of(lethe_hash hash, uint32_t which, uint64_t label) {
    uint64_t mixed = hash.low ^ (label << 4 | which) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(mixed * UINT64_C(0xd6e8feb86659fd93) >> 32);
}

/* The name of a bucket that is in memory, which is sound. */
static lethe_bucket_name name_of(const lethe_tally_record *record) {
    lethe_bucket_name name = {0};
    (void)lethe_bucket_parse((lethe_bytes){.data = record->key, .size = record->key_size},
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

static lethe_bytes bytes_of(const struct bucket_key *key) {
    return (lethe_bytes){.data = key->bytes, .size = key->size};
}

lethe_status lethe_buckets_open(lethe_values *values) {
    if (values->meters.count == 0) return LETHE_OK;
    return lethe_tally_new(values->allocator, 0, &values->buckets.tally);
}

void lethe_buckets_close(lethe_values *values) {
    lethe_buckets *buckets = &values->buckets;
    lethe_tally_free(buckets->tally);
    *buckets = (lethe_buckets){0};
    lethe_meters_drop(&values->meters);
}

/* The record of a bucket, which is added if it is not in memory. */
static lethe_tally_record *need_record(lethe_values *values, const lethe_bucket_name *name,
                                       lethe_bytes bytes) {
    lethe_hash hash = lethe_hash_bytes(values->seed, name->key.data, name->key.size);
    uint32_t tag = tag_of(hash, name->which, name->label);
    lethe_tally_record *record = lethe_tally_find(values->buckets.tally, tag, bytes);
    return record != NULL ? record : lethe_tally_add(values->buckets.tally, tag, bytes);
}

lethe_status lethe_buckets_replay(lethe_values *values, lethe_bytes bytes, int64_t value,
                                  bool is_deleted) {
    lethe_bucket_name name;
    if (!lethe_bucket_parse(bytes, values->meters.count, &name)) return LETHE_ECORRUPT;
    if (name.label < values->meters.all[name.which].kept_from) return LETHE_OK;
    lethe_tally_record *record = need_record(values, &name, bytes);
    if (record == NULL) return LETHE_ENOMEM;
    record->value = value;
    record->absent = is_deleted;
    record->stamp = LETHE_REPLAYED_STAMP;
    return LETHE_OK;
}

/* Reads buckets of one resolution, from a label on, until they take too much memory. *next becomes
 * the label from which on all were read. */
static lethe_status load_from(lethe_values *values, uint32_t which, uint64_t label, uint64_t *next,
                              lethe_detail *detail) {
    unsigned char from[LETHE_BUCKET_PREFIX_BYTES];
    lethe_bucket_prefix(which, label, from);
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(values->disk, LETHE_FAMILY_BUCKETS,
                                           (lethe_bytes){.data = from, .size = sizeof from}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    uint64_t room = values->counters.memory_limit_bytes / 4;
    lethe_bytes bytes, value;
    lethe_bucket_name name;
    *next = label;
    while (status == LETHE_OK && lethe_walk_next(walk, &bytes, &value)) {
        if (!lethe_bucket_parse(bytes, values->meters.count, &name)) status = LETHE_ECORRUPT;
        if (status != LETHE_OK || name.which != which) break;
        if (bytes.size + RECORD_BYTES > room) {
            /* Later labels are rare: what is not read of this one is not known. */
            *next = name.label + 1;
            lethe_bucket_prefix(which, *next, from);
            lethe_walk_seek(walk, (lethe_bytes){.data = from, .size = sizeof from});
            continue;
        }
        room -= bytes.size + RECORD_BYTES;
        uint64_t before = lethe_tally_count(values->buckets.tally);
        lethe_tally_record *record = need_record(values, &name, bytes);
        if (record == NULL) status = LETHE_ENOMEM;
        if (record == NULL || lethe_tally_count(values->buckets.tally) == before) continue;
        int64_t number = 0;
        status = lethe_value_load(value, &number);
        record->value = number;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return lethe_explain_damage("a bucket", status, detail);
    return ended;
}

lethe_status lethe_buckets_load(lethe_values *values, uint64_t clock_ms, lethe_detail *detail) {
    lethe_meters *meters = &values->meters;
    uint64_t now_ms = values->buckets.by_events ? clock_ms : lethe_os_wall_ms();
    for (uint32_t i = 0; i < meters->count; i++) {
        if (meters->all[i].known_from == 0) continue; /* there are none yet */
        uint64_t label = lethe_meter_label(meters, i, now_ms);
        lethe_status status = load_from(values, i, label, &meters->all[i].known_from, detail);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

void lethe_buckets_begin_chunk(lethe_values *values) {
    if (values->meters.count > 0 && !values->buckets.by_events)
        values->buckets.wall_ms = lethe_os_wall_ms();
}

static uint64_t time_of(const lethe_buckets *buckets, const lethe_operation *operation) {
    return buckets->by_events ? operation->time_ms : buckets->wall_ms;
}

/* The last step waits for counters that the one before it began to fetch, so it comes some
 * later. */
void lethe_buckets_fetch(const lethe_values *values, const uint32_t *tags, size_t count) {
    enum { STEP = 16 };
    const lethe_tally_record *records[STEP] = {0};
    for (size_t i = 0; i < count + STEP; i++) {
        const lethe_tally_record **record = &records[i % STEP];
        for (uint32_t j = 0; *record != NULL && j < values->meters.count; j++)
            __builtin_prefetch(lethe_tally_links(*record)[j].record, 1);
        *record = i < count ? lethe_tally_prefetch_record(values->counters.tally, tags[i]) : NULL;
    }
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

/* Finds the bucket of a counter in the meter's stretch: in memory, or on disk; or makes it. */
static lethe_status get_record(lethe_values *values, uint32_t which, lethe_bytes counter,
                               lethe_tally_record **out, lethe_detail *detail) {
    const lethe_meter *meter = &values->meters.all[which];
    struct bucket_key key;
    set_key(&key, counter);
    memcpy(key.bytes, meter->prefix, sizeof meter->prefix);
    lethe_hash hash = lethe_hash_bytes(values->seed, counter.data, counter.size);
    uint32_t tag = tag_of(hash, which, meter->stretch.label);
    *out = lethe_tally_find(values->buckets.tally, tag, bytes_of(&key));
    if (*out != NULL) return LETHE_OK;
    int64_t value = 0;
    bool found = false;
    if (meter->stretch.label < meter->known_from) {
        lethe_status status = read_stored(values, bytes_of(&key), &value, &found, detail);
        if (status != LETHE_OK) return status;
    }
    *out = lethe_tally_add(values->buckets.tally, tag, bytes_of(&key));
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->value = value;
    (*out)->absent = !found;
    return LETHE_OK;
}

lethe_status lethe_buckets_change(lethe_values *values, lethe_group *group,
                                  const lethe_operation *operation, const lethe_change *change,
                                  const lethe_tally_record *counter, lethe_detail *detail) {
    lethe_meters *meters = &values->meters;
    lethe_tally_link *links = lethe_tally_links(counter);
    uint64_t time_ms = time_of(&values->buckets, operation);
    for (uint32_t i = 0; i < meters->count; i++) {
        lethe_meter *meter = &meters->all[i];
        uint64_t label = lethe_meter_label(meters, i, time_ms);
        if (label < meter->kept_from) continue; /* it is in the rest */
        if (label > meter->newest) meter->newest = label;
        lethe_status status = LETHE_OK;
        lethe_tally_record *record = links[i].record;
        if (record == NULL || memcmp(record->key, meter->prefix, sizeof meter->prefix) != 0) {
            status = get_record(values, i, change->key, &record, detail);
            links[i].record = record;
        }
        if (status == LETHE_OK)
            status =
                lethe_counters_add(values, group, &group->touched_buckets, record, change->delta);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

lethe_status lethe_buckets_read(lethe_values *values, uint32_t which, lethe_bytes key,
                                int64_t *value, bool *is_dropped, lethe_detail *detail) {
    const lethe_meter *meter = &values->meters.all[which];
    uint64_t label = lethe_meter_label(&values->meters, which, values->buckets.wall_ms);
    *value = 0;
    *is_dropped = label < meter->kept_from;
    if (*is_dropped) return LETHE_OK;
    uint32_t tag = tag_of(lethe_hash_bytes(values->seed, key.data, key.size), which, label);
    struct bucket_key bucket;
    set_key(&bucket, key);
    memcpy(bucket.bytes, meter->prefix, sizeof meter->prefix);
    const lethe_tally_record *record =
        lethe_tally_find(values->buckets.tally, tag, bytes_of(&bucket));
    if (record != NULL) *value = record->value;
    if (record != NULL || label >= meter->known_from) return LETHE_OK;
    bool found;
    return read_stored(values, bytes_of(&bucket), value, &found, detail);
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
    return lethe_counters_touch(values, group, &group->touched_buckets, record);
}

/* Those that are in memory. */
static lethe_status delete_in_memory(lethe_values *values, lethe_group *group, lethe_bytes key) {
    lethe_tally_record *record;
    uint64_t position = 0;
    lethe_status status = LETHE_OK;
    size_t size = LETHE_BUCKET_PREFIX_BYTES + key.size;
    while (status == LETHE_OK &&
           (record = lethe_tally_each(values->buckets.tally, &position)) != NULL) {
        if (record->key_size != size) continue;
        if (memcmp(record->key + LETHE_BUCKET_PREFIX_BYTES, key.data, key.size) != 0) continue;
        status = delete_record(values, group, record);
    }
    return status;
}

/* A bucket that is on disk, and was not in memory. */
static lethe_status delete_stored(lethe_values *values, lethe_group *group,
                                  const lethe_bucket_name *name, lethe_bytes bytes) {
    uint64_t before = lethe_tally_count(values->buckets.tally);
    lethe_tally_record *record = need_record(values, name, bytes);
    if (record == NULL) return LETHE_ENOMEM;
    /* What was in memory is deleted by now. */
    bool was_there = lethe_tally_count(values->buckets.tally) == before;
    return was_there ? LETHE_OK : delete_record(values, group, record);
}

/* Walks from period to period, and in each to the key. */
static lethe_status delete_on_disk(lethe_values *values, lethe_group *group, uint32_t which,
                                   struct bucket_key *key, lethe_walk *walk) {
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
        if (is_it) status = delete_stored(values, group, &name, bytes);
        /* In a later period, the key may come before what was found. */
        label = is_it || at == label ? at + 1 : at;
    }
    return status;
}

lethe_status lethe_buckets_delete(lethe_values *values, lethe_group *group, lethe_bytes key,
                                  lethe_detail *detail) {
    if (values->meters.count == 0) return LETHE_OK;
    lethe_status status = delete_in_memory(values, group, key);
    if (status != LETHE_OK) return status;
    lethe_walk *walk;
    status = lethe_walk_begin(values->disk, LETHE_FAMILY_BUCKETS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    struct bucket_key bucket;
    set_key(&bucket, key);
    for (uint32_t i = 0; i < values->meters.count && status == LETHE_OK; i++)
        status = delete_on_disk(values, group, i, &bucket, walk);
    lethe_status ended = lethe_walk_end(walk, detail);
    return status != LETHE_OK ? status : ended;
}

lethe_status lethe_buckets_begin_walk(lethe_values *values, uint32_t which, uint64_t label,
                                      lethe_value_walk *walk) {
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(values->buckets.tally, &position)) != NULL) {
        if (record->stamp <= values->counters.folded_stamp) continue;
        lethe_bucket_name name = name_of(record);
        if (name.which != which || name.label < label) continue;
        lethe_bytes bytes = {.data = record->key, .size = record->key_size};
        lethe_status status = lethe_value_walk_add(walk, bytes, record->value, record->absent);
        if (status != LETHE_OK) return status;
    }
    lethe_value_walk_sort(walk);
    unsigned char from[LETHE_BUCKET_PREFIX_BYTES];
    lethe_bucket_prefix(which, label, from);
    return lethe_walk_begin(values->disk, LETHE_FAMILY_BUCKETS,
                            (lethe_bytes){.data = from, .size = sizeof from}, &walk->stored);
}

static bool is_over(const lethe_values *values, const lethe_tally_record *record) {
    lethe_bucket_name name = name_of(record);
    return name.label < values->meters.all[name.which].newest;
}

/* Stamps say whether BUCKETS has it; what was dropped never gets there. */
static bool is_stored(const lethe_values *values, const lethe_tally_record *record) {
    return record->stamp <= values->counters.folded_stamp;
}

bool lethe_buckets_are_idle(const lethe_values *values) {
    uint64_t position = 0, idle = 0;
    const lethe_tally_record *record;
    if (values->meters.count == 0) return false;
    while ((record = lethe_tally_each(values->buckets.tally, &position)) != NULL)
        idle += is_stored(values, record) && is_over(values, record);
    return idle >= FEW_IDLE && idle >= lethe_tally_count(values->buckets.tally) / 2;
}

/* What stays, and how it is found again. */
struct staying {
    const lethe_values *values;
    bool all;
};

static bool stays(const void *context, const lethe_tally_record *record) {
    const struct staying *staying = context;
    return !is_stored(staying->values, record) ||
           (!staying->all && !is_over(staying->values, record));
}

static uint32_t find_tag(const void *context, lethe_bytes bytes) {
    const struct staying *staying = context;
    lethe_bucket_name name = {0};
    (void)lethe_bucket_parse(bytes, LETHE_METERS_LIMIT, &name);
    lethe_hash hash = lethe_hash_bytes(staying->values->seed, name.key.data, name.key.size);
    return tag_of(hash, name.which, name.label);
}

/* Beyond the labels that go, all is known (I2). */
static void forget_labels(lethe_values *values, const struct staying *staying) {
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(values->buckets.tally, &position)) != NULL) {
        if (stays(staying, record)) continue;
        lethe_bucket_name name = name_of(record);
        lethe_meter *meter = &values->meters.all[name.which];
        if (meter->known_from <= name.label) meter->known_from = name.label + 1;
    }
}

/* Buckets were moved (I4). */
static void end_links(const lethe_values *values) {
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(values->counters.tally, &position)) != NULL) {
        lethe_tally_link *links = lethe_tally_links(record);
        for (uint32_t i = 0; i < values->meters.count; i++)
            links[i].record = NULL;
    }
}

lethe_status lethe_buckets_evict(lethe_values *values, bool all) {
    if (values->meters.count == 0) return LETHE_OK;
    struct staying staying = {.values = values, .all = all};
    forget_labels(values, &staying);
    lethe_status status = lethe_tally_keep(
        values->buckets.tally,
        &(lethe_tally_filter){.stays = stays, .tag = find_tag, .context = &staying});
    if (status == LETHE_OK) end_links(values);
    return status;
}
