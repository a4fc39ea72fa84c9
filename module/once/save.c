/* module/once/save.c - a once-table as bytes, and back. docs/format/module.md has every byte.
 *
 * A table that counts per period has a version of its own: it begins with its resolutions, and each
 * counter is followed by its buckets. So has a table with claims or holds, which come at the end,
 * in sections (sections.c). What another version of the module has never heard of, it refuses as a
 * whole. A loader trusts nothing: buckets must be ones that operations could have left. */
#include <string.h>

#include "once/once.h"
#include "server/allocator.h"

uint32_t once_version(const void *value) {
    if (sections_are_used(value)) return VALUE_SECTIONED_VERSION;
    return once_is_metered(value) ? VALUE_METERED_VERSION : VALUE_PLAIN_VERSION;
}

/* --- Saving */

struct saving {
    lethe_sink sink;
    lethe_status status;
    uint32_t resolutions;
};

static void save_bytes(struct saving *saving, const void *data, size_t size) {
    if (saving->status == LETHE_OK)
        saving->status = saving->sink.write(saving->sink.context, data, size);
}

static void save_buckets(struct saving *saving, const struct buckets *buckets) {
    uint32_t count = buckets_count(buckets);
    save_bytes(saving, &count, sizeof count);
    if (count > 0) save_bytes(saving, buckets_at(buckets, 0), count * sizeof(struct bucket));
}

static void save_counter(void *context, struct counter *counter) {
    struct saving *saving = context;
    unsigned char head[12];
    memcpy(head, &counter->size, 4);
    memcpy(head + 4, &counter->value, 8);
    save_bytes(saving, head, sizeof head);
    save_bytes(saving, counter->name, counter->size);
    for (uint32_t i = 0; i < saving->resolutions; i++)
        save_buckets(saving, counters_buckets(counter, i));
}

static void save_resolutions(struct saving *saving, const struct resolutions *resolutions,
                             uint32_t version) {
    uint8_t count = (uint8_t)resolutions->count;
    if (version > VALUE_PLAIN_VERSION) save_bytes(saving, &count, sizeof count);
    for (uint32_t i = 0; i < count; i++) {
        save_bytes(saving, &resolutions->each[i].period_ms, 8);
        save_bytes(saving, &resolutions->each[i].keep, 4);
    }
}

lethe_status once_save(const void *value, lethe_sink sink) {
    const struct once *table = value;
    uint64_t head[2] = {table->seed, table->counters.count};
    struct saving saving = {.sink = sink, .resolutions = table->resolutions.count};
    save_bytes(&saving, head, sizeof head);
    save_resolutions(&saving, &table->resolutions, once_version(table));
    counters_each(&table->counters, save_counter, &saving);
    lethe_status status = saving.status;
    if (status == LETHE_OK) status = lethe_window_save(table->window, sink);
    return status == LETHE_OK ? sections_save(table, sink) : status;
}

/* --- Loading */

/* Into a map without counters. */
struct loading {
    struct chunk_reader *reader;
    struct counters counters;
    struct resolutions resolutions;
};

static lethe_status load_bytes(struct loading *loading, void *data, size_t size) {
    lethe_source source = chunk_reader_source(loading->reader);
    return source.read(source.context, data, size);
}

static lethe_status load_resolutions(struct loading *loading, uint32_t version) {
    uint8_t count;
    lethe_status status = load_bytes(loading, &count, sizeof count);
    for (uint8_t i = 0; i < count && status == LETHE_OK; i++) {
        uint64_t period_ms;
        uint32_t keep;
        status = load_bytes(loading, &period_ms, sizeof period_ms);
        if (status == LETHE_OK) status = load_bytes(loading, &keep, sizeof keep);
        if (status == LETHE_OK && !resolutions_add(&loading->resolutions, period_ms, keep))
            status = LETHE_ECORRUPT;
    }
    if (status == LETHE_OK && count == 0 && version == VALUE_METERED_VERSION)
        status = LETHE_ECORRUPT;
    loading->counters.resolutions = loading->resolutions.count;
    return status;
}

/* One that an operation could have made, after the one before it. */
static bool is_bucket(struct bucket bucket, uint64_t period_ms, int64_t before_ms) {
    return bucket.start_ms > before_ms && bucket.start_ms <= WALL_MOST_MS &&
           bucket.start_ms == period_start(period_ms, bucket.start_ms);
}

static lethe_status load_buckets(struct loading *loading, struct counter *counter,
                                 uint32_t resolution) {
    const struct resolution *of = &loading->resolutions.each[resolution];
    uint32_t count;
    lethe_status status = load_bytes(loading, &count, sizeof count);
    if (status == LETHE_OK && count > of->keep) return LETHE_ECORRUPT;
    int64_t before_ms = -1;
    for (uint32_t i = 0; status == LETHE_OK && i < count; i++) {
        struct bucket bucket;
        status = load_bytes(loading, &bucket, sizeof bucket);
        if (status != LETHE_OK) break;
        if (!is_bucket(bucket, of->period_ms, before_ms)) return LETHE_ECORRUPT;
        counters_set_bucket(&loading->counters, counter, resolution, bucket,
                            (struct retention){.keep = of->keep});
        before_ms = bucket.start_ms;
    }
    return status;
}

static lethe_status load_counter(struct loading *loading) {
    unsigned char head[12];
    lethe_status status = load_bytes(loading, head, sizeof head);
    if (status != LETHE_OK) return status;
    uint32_t size;
    int64_t value;
    memcpy(&size, head, 4);
    memcpy(&value, head + 4, 8);
    if (size > loading->reader->left) return LETHE_ECORRUPT;
    char *name = redis.Alloc((size_t)size + 1);
    struct counters *counters = &loading->counters;
    uint64_t before = counters->count;
    struct counter *counter = NULL;
    status = load_bytes(loading, name, size);
    if (status == LETHE_OK) counter = counters_add(counters, name, size);
    redis.Free(name);
    if (counter == NULL) return status;
    if (counters->count == before) return LETHE_ECORRUPT; /* twice the same name */
    counter->value = value;
    for (uint32_t i = 0; i < counters->resolutions && status == LETHE_OK; i++)
        status = load_buckets(loading, counter, i);
    return status;
}

/* A frame has the length of its payload at 16, and 48 bytes besides: docs/format/codec.md. */
enum { FRAME_LENGTH_AT = 16, FRAME_OVERHEAD_BYTES = 48 };

/* A window is loaded from a source that ends with it. Where sections follow, its frame says where
 * that is. */
static lethe_source window_source(struct chunk_reader *reader, uint32_t version) {
    lethe_source source = chunk_reader_source(reader);
    if (version < VALUE_SECTIONED_VERSION) return source;
    struct chunk_reader ahead = *reader;
    lethe_source peeked = chunk_reader_source(&ahead);
    unsigned char head[FRAME_LENGTH_AT + 8] = {0};
    uint64_t payload;
    lethe_status status = peeked.read(peeked.context, head, sizeof head);
    memcpy(&payload, head + FRAME_LENGTH_AT, sizeof payload);
    bool is_there = status == LETHE_OK && payload <= reader->left &&
                    reader->left - payload >= FRAME_OVERHEAD_BYTES;
    source.size_bytes = is_there ? payload + FRAME_OVERHEAD_BYTES : 0;
    return source;
}

/* The window belongs to the caller, also after an error. */
static lethe_status load_parts(struct loading *loading, uint64_t count, uint32_t version,
                               lethe_window **window) {
    lethe_status status =
        version >= VALUE_METERED_VERSION ? load_resolutions(loading, version) : LETHE_OK;
    for (uint64_t i = 0; i < count && status == LETHE_OK; i++)
        status = load_counter(loading);
    if (status != LETHE_OK) return status;
    return lethe_window_load(window_source(loading->reader, version), &module_allocator, window);
}

lethe_status once_load(void *value, lethe_source source) {
    struct once *table = value;
    uint64_t head[2];
    lethe_status status = source.read(source.context, head, sizeof head);
    if (status != LETHE_OK) return status;
    struct loading loading = {.reader = source.context};
    counters_init(&loading.counters, head[0]);
    lethe_window *window = NULL;
    status = load_parts(&loading, head[1], table->head.version, &window);
    if (status != LETHE_OK) {
        counters_drop(&loading.counters);
        return status;
    }
    once_fill(table, window); /* from here on both belong to the table */
    table->counters = loading.counters;
    table->resolutions = loading.resolutions;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(window, 0, &stats);
    bool is_ours = table->seed == head[0] && stats.clock_ms == table->head.clock_ms;
    if (!is_ours) return LETHE_ECORRUPT;
    if (table->head.version < VALUE_SECTIONED_VERSION) return LETHE_OK;
    return sections_load(table, loading.reader);
}
