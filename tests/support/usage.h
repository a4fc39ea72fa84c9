/* support/usage.h - small stores with meters, and what lethe_store_usage shows of them. */
#ifndef LETHE_TEST_USAGE_H
#define LETHE_TEST_USAGE_H

#include "engine/meters/date.h"
#include "support/store.h"

static const lethe_store_options usual = {
    .window_ms = 30 * 86400000ULL, .error = 1e-12, .event_time = LETHE_SWITCH_ON, .create = true};

static inline lethe_store_options metered(const char *per, const char *zone, const char *keep) {
    lethe_store_options options = usual;
    options.per = per;
    options.zone = zone;
    options.keep = keep;
    return options;
}

static inline uint64_t utc_ms(int64_t year, int64_t month, int64_t day, int64_t hour) {
    return (uint64_t)(lethe_day_of_date(year, month, day) * 24 + hour) * 3600000;
}

/* What usage shows of one key. */
struct shown {
    size_t count;
    int64_t values[64];
    uint64_t from_ms[64], to_ms[64];
    int32_t offset_s[64], to_offset_s[64];
    bool has_rest;
    int64_t rest;
};

static inline bool note_row(void *context, const lethe_usage_row *row) {
    struct shown *shown = context;
    if (row->is_rest) {
        shown->has_rest = true;
        shown->rest = (int64_t)row->value;
        return true;
    }
    assert_true(shown->count < 64);
    shown->values[shown->count] = (int64_t)row->value;
    shown->from_ms[shown->count] = row->from_ms;
    shown->to_ms[shown->count] = row->to_ms;
    shown->to_offset_s[shown->count] = row->to_offset_s;
    shown->offset_s[shown->count++] = row->offset_s;
    return true;
}

static inline struct shown usage_of(lethe_store *store, const char *by, const char *key) {
    struct shown shown = {0};
    lethe_bytes bytes = test_text(key);
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    query.by = by;
    query.keys = &bytes;
    query.key_count = 1;
    assert_ok(lethe_store_usage(store, &query, note_row, &shown));
    return shown;
}

static inline bool add_row(void *context, const lethe_usage_row *row) {
    if (row->is_rest) assert_true(row->value == 0);
    *(int64_t *)context += (int64_t)row->value;
    return true;
}

/* The sum of all periods of a key, which must be all that it has. */
static inline int64_t usage_of_all(lethe_store *store, const char *by, const char *key) {
    int64_t sum = 0;
    lethe_bytes bytes = test_text(key);
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    query.by = by;
    query.keys = &bytes;
    query.key_count = 1;
    assert_ok(lethe_store_usage(store, &query, add_row, &sum));
    assert_int_equal(sum, test_store_value(store, key));
    return sum;
}

#endif
