/* engine/meters/buckets_memory.c - which buckets are in memory: read, copied, and given up.
 *
 * IDEA    Those beside counters come and go with their counters. Loose ones are mostly of periods
 *         that are over, and leave memory when a fold has written them.
 * WHY     A bucket that leaves memory ends what is known about its label without asking the disk
 *         (buckets.c, I2). So the ones of the present period stay as long as their counters do. */
#include "core/detail.h"
#include "engine/log/log.h"
#include "engine/meters/buckets.h"
#include "engine/values/counters.h"
#include "os/clock.h"

/* Fewer idle buckets than this are not worth moving the others. */
enum { FEW_IDLE = 1024 };
/* So many bytes of a record in memory besides its key, roughly. */
enum { RECORD_BYTES = 64 };

lethe_status lethe_buckets_open(lethe_values *values) {
    if (values->meters.count == 0) return LETHE_OK;
    return lethe_tally_new(values->allocator, 0, &values->buckets.loose);
}

void lethe_buckets_close(lethe_values *values) {
    lethe_buckets *buckets = &values->buckets;
    lethe_tally_free(buckets->loose);
    *buckets = (lethe_buckets){0};
    lethe_meters_drop(&values->meters);
}

lethe_status lethe_buckets_replay(lethe_values *values, const lethe_new_value *change) {
    lethe_bucket_name name;
    bool is_new;
    if (!lethe_bucket_named(change, values->meters.count, &name)) return LETHE_ECORRUPT;
    if (name.label < values->meters.all[name.which].kept_from) return LETHE_OK;
    lethe_tally_record *record = lethe_buckets_need(values, &name, &is_new);
    if (record == NULL) return LETHE_ENOMEM;
    record->value = change->value;
    record->absent = change->deleted;
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
        bool is_new;
        lethe_tally_record *record = lethe_buckets_need(values, &name, &is_new);
        if (record == NULL) status = LETHE_ENOMEM;
        if (record == NULL || !is_new) continue;
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

/* What is not in BUCKETS, of one resolution from a label on. */
static lethe_status copy_changed(const lethe_values *values, const lethe_tally_record *bucket,
                                 lethe_bytes key, lethe_value_walk *walk) {
    if (bucket->stamp <= values->counters.folded_stamp) return LETHE_OK;
    return lethe_value_walk_add(walk, key, bucket->value, bucket->absent);
}

static lethe_status copy_loose(const lethe_values *values, uint32_t which, uint64_t label,
                               lethe_value_walk *walk) {
    uint64_t position = 0;
    const lethe_tally_record *record;
    lethe_status status = LETHE_OK;
    while (status == LETHE_OK &&
           (record = lethe_tally_each(values->buckets.loose, &position)) != NULL) {
        lethe_bucket_name name = lethe_bucket_name_of(record);
        if (name.which != which || name.label < label) continue;
        lethe_bytes bytes = {.data = record->key, .size = record->key_size};
        status = copy_changed(values, record, bytes, walk);
    }
    return status;
}

static lethe_status copy_beside(const lethe_values *values, uint32_t which, uint64_t label,
                                lethe_value_walk *walk) {
    unsigned char key[LETHE_BUCKET_KEY_LIMIT_BYTES];
    uint64_t position = 0;
    const lethe_tally_record *counter;
    lethe_status status = LETHE_OK;
    while (status == LETHE_OK &&
           (counter = lethe_tally_each(values->counters.tally, &position)) != NULL) {
        const lethe_tally_record *bucket = lethe_bucket_beside(counter, which);
        if (bucket->key_size == 0 || lethe_label_load(bucket->key) < label) continue;
        lethe_bucket_prefix(which, lethe_label_load(bucket->key), key);
        memcpy(key + LETHE_BUCKET_PREFIX_BYTES, counter->key, counter->key_size);
        size_t size = LETHE_BUCKET_PREFIX_BYTES + (size_t)counter->key_size;
        status = copy_changed(values, bucket, (lethe_bytes){.data = key, .size = size}, walk);
    }
    return status;
}

lethe_status lethe_buckets_begin_walk(lethe_values *values, uint32_t which, uint64_t label,
                                      lethe_value_walk *walk) {
    lethe_status status = copy_beside(values, which, label, walk);
    if (status == LETHE_OK) status = copy_loose(values, which, label, walk);
    if (status != LETHE_OK) return status;
    lethe_value_walk_sort(walk);
    unsigned char from[LETHE_BUCKET_PREFIX_BYTES];
    lethe_bucket_prefix(which, label, from);
    return lethe_walk_begin(values->disk, LETHE_FAMILY_BUCKETS,
                            (lethe_bytes){.data = from, .size = sizeof from}, &walk->stored);
}

static bool is_over(const lethe_values *values, const lethe_tally_record *record) {
    lethe_bucket_name name = lethe_bucket_name_of(record);
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
    while ((record = lethe_tally_each(values->buckets.loose, &position)) != NULL)
        idle += is_stored(values, record) && is_over(values, record);
    return idle >= FEW_IDLE && idle >= lethe_tally_count(values->buckets.loose) / 2;
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
    return lethe_bucket_tag(lethe_counters_tag(staying->values, name.key), name.which, name.label);
}

/* A bucket leaves memory: beyond its label, all is known (buckets.c, I2). */
static void forget_label(lethe_values *values, uint32_t which, uint64_t label) {
    lethe_meter *meter = &values->meters.all[which];
    if (meter->known_from <= label) meter->known_from = label + 1;
}

lethe_status lethe_buckets_evict(lethe_values *values, bool all) {
    if (values->meters.count == 0) return LETHE_OK;
    struct staying staying = {.values = values, .all = all};
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(values->buckets.loose, &position)) != NULL) {
        if (stays(&staying, record)) continue;
        lethe_bucket_name name = lethe_bucket_name_of(record);
        forget_label(values, name.which, name.label);
    }
    return lethe_tally_keep(
        values->buckets.loose,
        &(lethe_tally_filter){.stays = stays, .tag = find_tag, .context = &staying});
}

void lethe_buckets_before_eviction(lethe_values *values) {
    uint64_t position = 0;
    const lethe_tally_record *counter;
    while ((counter = lethe_tally_each(values->counters.tally, &position)) != NULL) {
        if (!is_stored(values, counter)) continue;
        for (uint32_t i = 0; i < values->meters.count; i++) {
            const lethe_tally_record *bucket = lethe_bucket_beside(counter, i);
            if (bucket->key_size > 0) forget_label(values, i, lethe_label_load(bucket->key));
        }
    }
}

void lethe_buckets_after_eviction(lethe_values *values) {
    uint64_t position = 0;
    const lethe_tally_record *counter;
    values->buckets.beside = 0;
    while ((counter = lethe_tally_each(values->counters.tally, &position)) != NULL) {
        for (uint32_t i = 0; i < values->meters.count; i++)
            values->buckets.beside += lethe_bucket_beside(counter, i)->key_size > 0;
    }
}

uint64_t lethe_buckets_room_bytes(const lethe_values *values) {
    return lethe_tally_count(values->counters.tally) * values->meters.count * LETHE_BESIDE_BYTES;
}

uint64_t lethe_buckets_memory_bytes(const lethe_values *values) {
    return lethe_tally_memory_bytes(values->buckets.loose) + lethe_buckets_room_bytes(values);
}
