/* engine/meters/usage.c - reading buckets: period by period, and the largest of one period.
 *
 * IDEA    Totals and buckets are taken from memory and disk at one moment, under the lock, as
 *         copies of what is not on disk and walks through what is. Then both are read without it.
 *         Buckets come in the order of periods, and in each of keys, as rows do.
 * I1      A period that is not stored has a row of zeros: those that the zone has between two that
 *         are stored, too. What is stored has a row even if the zone's data, which may have changed
 *         since, have no such period.
 * I2      The rest is never stored. It is a total less the sum of all buckets that are kept.
 * WHY     Few keys of many are found by skipping: from a key to the next in the same period, or to
 *         the first in the next period. */
#include <stdlib.h>

#include "core/detail.h"
#include "core/sized.h"
#include "engine/store.h"

/* So many buckets of other keys are read before the walk skips. */
enum { PATIENCE = 4 };

__extension__ typedef __int128 int128;

struct usage_key {
    size_t at; /* of its bytes, while keys are gathered */
    lethe_bytes key;
    int64_t total;
    int64_t value; /* in the period at hand */
    int128 sum;
};

struct usage {
    lethe_store *store;
    lethe_usage_query query;
    lethe_usage_visit visit;
    void *context;
    bool goes_on;

    uint32_t which, meter_count;
    lethe_resolution resolution;
    lethe_zone *zone;
    /* Labels: buckets below the first were dropped, and those below the second lack what was
     * counted before the store had the resolution. */
    uint64_t kept_from, whole_from;
    bool wants_rest;
    /* Labels of rows: from `first`, if has_first, up to, but without, `end`. */
    bool has_first;
    uint64_t first, end;
    /* The period that is being gathered. */
    bool has_label, has_value;
    uint64_t label;

    lethe_buffer keys, bytes; /* struct usage_key each, in order; the bytes of keys */
    size_t key_count, next_key;
    lethe_value_walk totals, buckets;
};

static struct usage_key *keys_of(struct usage *usage) {
    return (void *)usage->keys.data;
}

static uint64_t label_at(const struct usage *usage, uint64_t time_ms) {
    return lethe_period_at(usage->resolution, usage->zone, time_ms).label;
}

/* Finds the resolution, and loads the zone: a view of its own, which stays when a reader sees a
 * later moment. With the lock. */
static lethe_status find_meter(struct usage *usage, const char *by, lethe_detail *detail) {
    const lethe_meters *meters = &usage->store->values.meters;
    usage->which = lethe_meters_find(meters, by);
    usage->meter_count = meters->count;
    if (meters->count == 0 && usage->store->state.sketch_bytes > 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a sketch has no counts per period");
    }
    if (meters->count == 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store does not count per period; add meters to it, and "
                                 "what comes then is counted so");
    }
    if (usage->which == LETHE_METERS_LIMIT) {
        lethe_store_stats texts;
        lethe_meters_describe(meters, &texts);
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store does not count in the periods %.40s; it has %s", by,
                                 texts.per);
    }
    usage->resolution = meters->all[usage->which].resolution;
    usage->kept_from = meters->all[usage->which].kept_from;
    lethe_status status =
        lethe_zone_load(meters->zone_name, usage->store->allocator, &usage->zone, detail);
    uint64_t added_ms = meters->all[usage->which].added_ms;
    if (status == LETHE_OK && added_ms > 0) usage->whole_from = label_at(usage, added_ms) + 1;
    return status;
}

static void plan_labels(struct usage *usage) {
    uint64_t from_ms = usage->query.from_ms, to_ms = usage->query.to_ms;
    usage->has_first = from_ms > 0;
    usage->first = usage->has_first ? label_at(usage, from_ms) : 0;
    usage->wants_rest =
        !usage->has_first || usage->first < usage->kept_from || usage->first < usage->whole_from;
    if (usage->first < usage->kept_from) usage->first = usage->kept_from;
    usage->end = to_ms > 0 ? label_at(usage, to_ms - 1) + 1 : LETHE_LABEL_END;
    usage->has_label = usage->has_first;
    usage->label = usage->first;
}

/* Adds a key; its bytes are borrowed, or are copied to bytes at `at`. */
static lethe_status add_key(struct usage *usage, lethe_bytes key, size_t at, int64_t total) {
    struct usage_key entry = {.at = at, .key = key, .total = total};
    if (!lethe_buffer_reserve(&usage->keys, sizeof entry)) return LETHE_ENOMEM;
    lethe_buffer_append(&usage->keys, &entry, sizeof entry);
    usage->key_count++;
    return LETHE_OK;
}

static int by_key(const void *left, const void *right) {
    return lethe_compare_keys(((const struct usage_key *)left)->key,
                              ((const struct usage_key *)right)->key);
}

/* The keys that are named, sorted, each once. With the lock. */
static lethe_status take_named(struct usage *usage, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < usage->query.key_count && status == LETHE_OK; i++) {
        lethe_bytes key = usage->query.keys[i];
        int64_t total;
        bool found;
        if (!lethe_is_key(key))
            return lethe_detail_fill(detail, LETHE_EINVAL, "a key has 1 to 1024 bytes");
        status = lethe_values_read(&usage->store->values, key, &total, &found, detail);
        if (status == LETHE_OK) status = add_key(usage, key, 0, total);
    }
    if (status != LETHE_OK) return status;
    struct usage_key *keys = keys_of(usage);
    qsort(keys, usage->key_count, sizeof *keys, by_key);
    size_t kept = 0;
    for (size_t i = 0; i < usage->key_count; i++) {
        if (i > 0 && by_key(&keys[i], &keys[kept - 1]) == 0) continue;
        keys[kept++] = keys[i];
    }
    usage->key_count = kept;
    return LETHE_OK;
}

/* With the lock: everything that has to be of one moment. */
static lethe_status begin(struct usage *usage, lethe_detail *detail) {
    lethe_values *values = &usage->store->values;
    lethe_status status = find_meter(usage, usage->query.by, detail);
    if (status != LETHE_OK) return status;
    plan_labels(usage);
    if (usage->query.key_count > 0) {
        status = take_named(usage, detail);
    } else {
        status = values->kind->begin_walk(values, usage->query.prefix, &usage->totals);
    }
    if (status != LETHE_OK) return status;
    uint64_t from = usage->wants_rest ? usage->kept_from : usage->first;
    return lethe_buckets_begin_walk(values, usage->which, from, &usage->buckets);
}

static bool has_prefix(lethe_bytes key, lethe_bytes prefix) {
    return key.size >= prefix.size &&
           (prefix.size == 0 || memcmp(key.data, prefix.data, prefix.size) == 0);
}

/* The keys of the counters that there are. */
static lethe_status gather_keys(struct usage *usage) {
    lethe_bytes key;
    int64_t total;
    bool found;
    for (;;) {
        lethe_status status = lethe_value_walk_next(&usage->totals, &key, &total, &found);
        if (status != LETHE_OK) return status;
        if (!found || !has_prefix(key, usage->query.prefix)) break;
        if (!lethe_buffer_reserve(&usage->bytes, key.size)) return LETHE_ENOMEM;
        status = add_key(usage, key, usage->bytes.size, total);
        if (status != LETHE_OK) return status;
        lethe_buffer_append(&usage->bytes, key.data, key.size);
    }
    struct usage_key *keys = keys_of(usage);
    for (size_t i = 0; i < usage->key_count; i++)
        keys[i].key.data = usage->bytes.data + keys[i].at;
    return LETHE_OK;
}

/* Visits the rows of the period at hand. */
static void show_period(struct usage *usage) {
    uint64_t next = lethe_period_next(usage->resolution, usage->zone, usage->label);
    lethe_usage_row row = {.from_ms =
                               lethe_period_begin(usage->resolution, usage->zone, usage->label),
                           .to_ms = lethe_period_begin(usage->resolution, usage->zone, next)};
    row.offset_s = lethe_zone_at(usage->zone, (int64_t)(row.from_ms / 1000)).offset_s;
    row.to_offset_s = lethe_zone_at(usage->zone, (int64_t)(row.to_ms / 1000)).offset_s;
    struct usage_key *keys = keys_of(usage);
    for (size_t i = 0; i < usage->key_count && usage->goes_on; i++) {
        row.key = keys[i].key;
        row.value = (uint64_t)keys[i].value;
        row.value_high = keys[i].value < 0 ? -1 : 0;
        usage->goes_on = usage->visit(usage->context, &row);
        keys[i].value = 0;
    }
    usage->has_value = false;
}

/* Goes on to a period, with rows for all before it. */
static void go_to(struct usage *usage, uint64_t label) {
    if (!usage->has_label) usage->label = label;
    usage->has_label = true;
    while (usage->label < label && usage->goes_on) {
        show_period(usage);
        uint64_t next = lethe_period_next(usage->resolution, usage->zone, usage->label);
        usage->label = next < label ? next : label;
    }
}

static void show_rests(struct usage *usage) {
    const struct usage_key *keys = keys_of(usage);
    for (size_t i = 0; i < usage->key_count && usage->goes_on; i++) {
        int128 rest = (int128)keys[i].total - keys[i].sum;
        lethe_usage_row row = {.key = keys[i].key,
                               .is_rest = true,
                               .value_high = (int64_t)(rest >> 64),
                               .value = (uint64_t)rest};
        usage->goes_on = usage->visit(usage->context, &row);
    }
}

/* The place of the first key that is not below this one. Mostly it is the next. */
static size_t place_of(struct usage *usage, lethe_bytes key) {
    const struct usage_key *keys = keys_of(usage);
    size_t low = 0, high = usage->key_count, guess = usage->next_key;
    if (guess < high && lethe_compare_keys(keys[guess].key, key) == 0) return guess;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lethe_compare_keys(keys[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Skips to where the next key may be: in this period, or else in the next. */
static void skip(struct usage *usage, uint64_t label, size_t place) {
    unsigned char target[LETHE_BUCKET_KEY_LIMIT_BYTES];
    if (place == usage->key_count) {
        place = 0;
        label++;
    }
    lethe_bytes key = keys_of(usage)[place].key;
    lethe_bucket_prefix(usage->which, label, target);
    memcpy(target + LETHE_BUCKET_PREFIX_BYTES, key.data, key.size);
    lethe_value_walk_seek(
        &usage->buckets,
        (lethe_bytes){.data = target, .size = LETHE_BUCKET_PREFIX_BYTES + key.size});
}

/* The next bucket of the resolution. */
static lethe_status next_bucket(struct usage *usage, lethe_bucket_name *name, int64_t *value,
                                bool *found) {
    lethe_bytes bytes;
    lethe_status status = lethe_value_walk_next(&usage->buckets, &bytes, value, found);
    if (status != LETHE_OK || !*found) return status;
    if (!lethe_bucket_parse(bytes, usage->meter_count, name)) return LETHE_ECORRUPT;
    *found = name->which == usage->which;
    return LETHE_OK;
}

static lethe_status read_buckets(struct usage *usage) {
    unsigned passed = 0;
    while (usage->goes_on && usage->key_count > 0) {
        lethe_bucket_name name;
        int64_t value;
        bool found;
        lethe_status status = next_bucket(usage, &name, &value, &found);
        if (status != LETHE_OK || !found) return status;
        if (name.label >= usage->end && !usage->wants_rest) break;
        size_t place = place_of(usage, name.key);
        struct usage_key *key = &keys_of(usage)[place];
        if (place == usage->key_count || lethe_compare_keys(key->key, name.key) != 0) {
            if (++passed > PATIENCE) skip(usage, name.label, place);
            continue;
        }
        passed = 0;
        usage->next_key = place + 1 < usage->key_count ? place + 1 : 0;
        key->sum += value;
        if (name.label < usage->first || name.label >= usage->end) continue;
        go_to(usage, name.label);
        key->value = value;
        usage->has_value = true;
    }
    return LETHE_OK;
}

static lethe_status read_all(struct usage *usage) {
    lethe_status status = usage->query.key_count > 0 ? LETHE_OK : gather_keys(usage);
    if (status == LETHE_OK) status = read_buckets(usage);
    if (status != LETHE_OK || usage->key_count == 0) return status;
    bool has_end = usage->end < LETHE_LABEL_END;
    if (has_end && usage->has_label) go_to(usage, usage->end);
    if (!has_end && usage->has_value && usage->goes_on) show_period(usage);
    if (usage->wants_rest) show_rests(usage);
    return LETHE_OK;
}

static void end(struct usage *usage, lethe_status *status) {
    lethe_detail detail = {""};
    lethe_value_walk *const walks[] = {&usage->totals, &usage->buckets};
    for (size_t i = 0; i < 2; i++) {
        lethe_status ended = lethe_value_walk_end(walks[i], &detail);
        lethe_engine_remark_late(usage->store, ended, &detail);
        if (*status == LETHE_OK) *status = ended;
    }
    lethe_buffer_free(&usage->keys);
    lethe_buffer_free(&usage->bytes);
    lethe_zone_free(usage->zone);
}

static struct usage usage_of(lethe_store *store) {
    lethe_buffer empty = {.allocator = store->allocator};
    lethe_value_walk walk = {.entries = empty, .keys = empty};
    return (struct usage){.store = store,
                          .goes_on = true,
                          .keys = empty,
                          .bytes = empty,
                          .totals = walk,
                          .buckets = walk};
}

lethe_status lethe_store_usage(lethe_store *store, const lethe_usage_query *query,
                               lethe_usage_visit visit, void *context) {
    if (store == NULL || visit == NULL) return lethe_engine_refuse(store, "what visits is NULL");
    struct usage usage = usage_of(store);
    lethe_status status = LETHE_TAKE(query, &usage.query, prefix);
    if (status != LETHE_OK) return lethe_engine_refuse(store, "the query has no size");
    if ((usage.query.keys == NULL && usage.query.key_count > 0) ||
        (usage.query.prefix.data == NULL && usage.query.prefix.size > 0)) {
        return lethe_engine_refuse(store, "the keys or the prefix are NULL");
    }
    usage.visit = visit;
    usage.context = context;
    lethe_detail detail = {""};
    lethe_engine_enter(store);
    status = begin(&usage, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    lethe_engine_leave(store);
    if (status == LETHE_OK) status = read_all(&usage);
    end(&usage, &status);
    return status;
}

/* Ranks the buckets of one period. */
static lethe_status rank(struct usage *usage, lethe_ranking *ranking) {
    for (;;) {
        lethe_bucket_name name;
        int64_t value;
        bool found;
        lethe_status status = next_bucket(usage, &name, &value, &found);
        if (status != LETHE_OK || !found) return status;
        if (name.label != usage->label) return LETHE_OK;
        if (!lethe_ranking_add(ranking, name.key, value)) return LETHE_OK;
    }
}

lethe_status lethe_store_top_at(lethe_store *store, const char *by, uint64_t at_ms, size_t n,
                                lethe_store_visit visit, void *context) {
    if (store == NULL || visit == NULL) return lethe_engine_refuse(store, "what visits is NULL");
    struct usage usage = usage_of(store);
    lethe_values *values = &store->values;
    lethe_detail detail = {""};
    lethe_engine_enter(store);
    lethe_status status = find_meter(&usage, by, &detail);
    uint64_t known = LETHE_GROUP_LIMIT;
    if (status == LETHE_OK) {
        usage.label = label_at(&usage, at_ms);
        status = lethe_buckets_begin_walk(values, usage.which, usage.label, &usage.buckets);
        known += lethe_disk_records(store->disk, LETHE_FAMILY_BUCKETS) + values->buckets.beside +
                 lethe_tally_count(values->buckets.loose);
    }
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    lethe_engine_leave(store);
    lethe_ranking *ranking = NULL;
    bool is_kept = usage.label >= usage.kept_from && n > 0;
    if (status == LETHE_OK && is_kept) {
        status = lethe_ranking_new(n < known ? n : (size_t)known, store->allocator, &ranking);
        if (status == LETHE_OK) status = rank(&usage, ranking);
        if (status == LETHE_OK) status = lethe_ranking_visit(ranking, visit, context);
    }
    lethe_ranking_free(ranking);
    end(&usage, &status);
    return status;
}

static uint64_t begin_of(const struct usage *usage, uint64_t label) {
    return label > 0 ? lethe_period_begin(usage->resolution, usage->zone, label) : 0;
}

lethe_status lethe_store_usage_reach(lethe_store *store, const char *by, uint64_t *kept_from_ms,
                                     uint64_t *whole_from_ms) {
    if (store == NULL || kept_from_ms == NULL || whole_from_ms == NULL)
        return lethe_engine_refuse(store, "what is filled in is NULL");
    struct usage usage = usage_of(store);
    lethe_detail detail = {""};
    lethe_engine_enter(store);
    lethe_status status = find_meter(&usage, by, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    lethe_engine_leave(store);
    if (status == LETHE_OK) {
        *kept_from_ms = begin_of(&usage, usage.kept_from);
        *whole_from_ms = begin_of(&usage, usage.whole_from);
    }
    lethe_zone_free(usage.zone);
    return status;
}
