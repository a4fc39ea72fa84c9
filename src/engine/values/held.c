/* engine/values/held.c - what is held of counters, in sums.
 *
 * IDEA    A hold counts in its counter's sum, and in that of its bucket of every resolution: a
 *         bound may be on any of them, whichever the hold's own limit is on.
 * LAYOUT  A tally whose keys are those of buckets; for a counter itself, the prefix is zeros, which
 *         no bucket has.
 * I1      A sum is that of the amounts of open holds. Amounts are positive, so no sum of a bucket
 *         is above that of its counter: one check is enough.
 * I2      A label follows from the moment that the hold was placed, as that of its bucket does when
 *         it is settled. So resolutions that the store gets later have their sums too, from the
 *         next opening on.
 * WHY     Sums and not a walk through the holds of a key: a busy key may have thousands. */
#include "engine/values/held.h"

#include "engine/values/counters.h"

/* Fewer idle records than this are not worth moving the others. */
enum { FEW_IDLE = 1024 };

struct held_key {
    unsigned char bytes[LETHE_BUCKET_KEY_LIMIT_BYTES];
    size_t size;
};

void lethe_held_close(lethe_held *held) {
    lethe_tally_free(held->sums);
    *held = (lethe_held){0};
}

static uint64_t label_of(const lethe_values *values, uint32_t which, uint64_t wall_ms) {
    return lethe_period_at(values->meters.all[which].resolution, values->meters.zone, wall_ms)
        .label;
}

/* The key of a sum: of the counter for place 0, and for place n of its bucket of the n-th
 * resolution. */
static lethe_bytes key_of(const lethe_values *values, uint32_t place, lethe_bytes key,
                          uint64_t wall_ms, struct held_key *out) {
    memset(out->bytes, 0, LETHE_BUCKET_PREFIX_BYTES);
    if (place > 0) lethe_bucket_prefix(place - 1, label_of(values, place - 1, wall_ms), out->bytes);
    memcpy(out->bytes + LETHE_BUCKET_PREFIX_BYTES, key.data, key.size);
    out->size = LETHE_BUCKET_PREFIX_BYTES + key.size;
    return (lethe_bytes){.data = out->bytes, .size = out->size};
}

static lethe_tally_record *find(const lethe_values *values, lethe_bytes key) {
    if (values->held.sums == NULL) return NULL;
    return lethe_tally_find(values->held.sums, lethe_counters_tag(values, key), key);
}

static bool stays(const void *context, const lethe_tally_record *record) {
    (void)context;
    return !record->absent;
}

static uint32_t tag_again(const void *context, lethe_bytes key) {
    return lethe_counters_tag(context, key);
}

/* Gives memory back. Without memory to do so, the records stay. */
static void sweep(lethe_values *values) {
    lethe_held *held = &values->held;
    if (held->idle < FEW_IDLE || held->idle < lethe_tally_count(held->sums) / 2) return;
    lethe_status status = lethe_tally_keep(
        held->sums, &(lethe_tally_filter){.stays = stays, .tag = tag_again, .context = values});
    if (status == LETHE_OK) held->idle = 0;
}

/* The record of a sum, which is made if it is not there. */
static lethe_tally_record *need(lethe_values *values, lethe_bytes key) {
    lethe_tally_record *record = find(values, key);
    if (record != NULL) return record;
    record = lethe_tally_add(values->held.sums, lethe_counters_tag(values, key), key);
    if (record == NULL) return NULL;
    record->absent = true;
    values->held.idle++;
    return record;
}

lethe_status lethe_held_add(lethe_values *values, lethe_bytes key, uint64_t wall_ms,
                            int64_t amount) {
    struct held_key room;
    lethe_held *held = &values->held;
    int64_t sum;
    if (held->sums == NULL) {
        lethe_status status = lethe_tally_new(values->allocator, 0, &held->sums);
        if (status != LETHE_OK) return status;
    }
    for (uint32_t i = 0; i <= values->meters.count; i++) {
        const lethe_tally_record *record = need(values, key_of(values, i, key, wall_ms, &room));
        if (record == NULL) return LETHE_ENOMEM;
        if (i == 0 && __builtin_add_overflow(record->value, amount, &sum)) return LETHE_EFULL;
    }
    for (uint32_t i = 0; i <= values->meters.count; i++) {
        lethe_tally_record *record = find(values, key_of(values, i, key, wall_ms, &room));
        held->idle -= record->absent;
        record->absent = false;
        record->value += amount;
    }
    return LETHE_OK;
}

void lethe_held_remove(lethe_values *values, lethe_bytes key, uint64_t wall_ms, int64_t amount) {
    struct held_key room;
    for (uint32_t i = 0; i <= values->meters.count; i++) {
        lethe_tally_record *record = find(values, key_of(values, i, key, wall_ms, &room));
        record->value -= amount;
        record->absent = record->value == 0;
        values->held.idle += record->absent;
    }
    sweep(values);
}

int64_t lethe_held_of(lethe_values *values, const lethe_change *change) {
    struct held_key room;
    bool of_bucket = (change->flags & LETHE_CHANGE_BUCKET) != 0;
    if (values->held.sums == NULL) return 0;
    const lethe_tally_record *record =
        find(values, key_of(values, of_bucket ? change->resolution + 1 : 0, change->key,
                            values->buckets.wall_ms, &room));
    return record != NULL ? record->value : 0;
}

/* Held and amount are not negative. */
static bool fits_beside(int64_t value, int64_t held, int64_t amount) {
    return held <= INT64_MAX - amount && value <= INT64_MAX - amount - held;
}

lethe_status lethe_held_fits(lethe_values *values, lethe_bytes key, int64_t amount, bool *fits,
                             lethe_detail *detail) {
    lethe_change change = {.key = key};
    int64_t value;
    bool found, is_dropped;
    lethe_status status = lethe_values_read(values, key, &value, &found, detail);
    int64_t held = lethe_held_of(values, &change);
    *fits = status == LETHE_OK && fits_beside(value, held, amount);
    change.flags = LETHE_CHANGE_BUCKET;
    for (uint32_t i = 0; i < values->meters.count && *fits; i++) {
        change.resolution = i;
        status = lethe_buckets_read(values, i, key, &value, &is_dropped, detail);
        *fits = status == LETHE_OK && fits_beside(value, lethe_held_of(values, &change), amount);
    }
    return status;
}

uint64_t lethe_held_memory_bytes(const lethe_held *held) {
    return held->sums == NULL ? 0 : lethe_tally_memory_bytes(held->sums);
}
