/* bench/meters.c - what counting per period costs: the engine alone, with no resolution, one, two
 * and three; by the wall clock, and with event time.
 *
 * The events are those of `count`, in memory already; keys have 12 bytes. They are prepared, as
 * those of `lethe count` are, here by the same thread. By the wall clock all are of one hour or
 * two; by their own time they are spread over a day, in order. All rows are runs in this process,
 * one after the other, each from an empty folder to durable counters; the best of several, by its
 * CPU time, that of the engine's own threads included.
 *
 *   time    what decides which period it is
 *   times   how many times as much CPU time as without a resolution, by the same clock
 *   memory  bytes in memory of one live bucket, with its key and its share of the tables
 *   disk    bytes on disk of one bucket, after the store was closed
 *
 * The values of all buckets are added up and compared with those of the counters. */
#include <lethe/store.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "count_events.h"
#include "engine.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

static const struct report_column columns[] = {
    {"time", "time", 6, -2},
    {"per", "per", 12, -2},
    {"events", "events", 9, 0},
    {"seconds", "seconds", 7, 2},
    {"cpu_seconds", "cpu s", 6, 2},
    {"times_cpu", "times", 6, 2},
    {"buckets", "buckets", 9, 0},
    {"memory_bytes_per_bucket", "memory", 7, 1},
    {"disk_bytes_per_bucket", "disk", 7, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct run {
    double seconds, cpu_seconds;
    uint64_t buckets, memory_bytes, disk_bytes;
};

/* What a row is of. */
struct kind {
    bool by_events;
    const char *per;
};

static const struct kind kinds[] = {
    {false, NULL}, {false, "1h"}, {false, "1h,1d"}, {false, "1h,1d,1mo"},
    {true, NULL},  {true, "1h"},  {true, "1h,1d"},  {true, "1h,1d,1mo"},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* A day before now or any other, as long as its hours are whole. */
static const uint64_t DAY_BEGINS_MS = UINT64_C(1700006400000), DAY_MS = 86400000;

/* The time of an event by its number. */
static uint64_t time_of(const struct count_events *events, uint64_t number) {
    return DAY_BEGINS_MS + (uint64_t)((double)number / (double)events->count * (double)DAY_MS);
}

static void submit(lethe_store *store, const struct count_events *events, const char *all,
                   uint64_t from, lethe_prepared *prepared, uint64_t *ticket) {
    static lethe_operation operations[COUNT_BATCH];
    static lethe_change changes[COUNT_BATCH];
    static uint8_t outcomes[COUNT_BATCH];
    const char *lines = count_id(all, from);
    uint64_t left = events->count - from;
    size_t count = left < COUNT_BATCH ? (size_t)left : COUNT_BATCH;
    for (size_t i = 0; i < count; i++) {
        changes[i] = (lethe_change){.key = {.data = count_key(lines, i), .size = COUNT_KEY_BYTES},
                                    .delta = count_delta(lines, i)};
        operations[i] =
            (lethe_operation){.id = {.data = count_id(lines, i), .size = COUNT_ID_BYTES},
                              .changes = &changes[i],
                              .change_count = 1,
                              .time_ms = time_of(events, from + i)};
    }
    lethe_detail detail = {""};
    engine_require(lethe_store_prepare(store, operations, count, prepared), &detail);
    engine_require(
        lethe_store_submit_prepared(store, prepared, NULL, 0, outcomes, NULL, NULL, ticket),
        &detail);
}

static bool add_row(void *context, const lethe_usage_row *row) {
    *(int64_t *)context += (int64_t)row->value;
    return true;
}

/* The buckets and the rest of each resolution make up the sum of all events. */
static void check_sums(lethe_store *store, const char *per, int64_t expected) {
    static const char *const names[] = {"1h", "1d", "1mo"};
    for (size_t i = 0; per != NULL && i < 3 && strstr(per, names[i]) != NULL; i++) {
        int64_t sum = 0;
        lethe_usage_query query = LETHE_INIT(lethe_usage_query);
        query.by = names[i];
        bench_require(lethe_store_usage(store, &query, add_row, &sum) == LETHE_OK, "reading usage");
        bench_require(sum == expected, "periods that add up to what was counted");
    }
}

static struct run count_once(const struct count_events *events, const char *lines,
                             const char *folder, struct kind kind) {
    struct run run;
    lethe_prepared *prepared;
    lethe_store *store;
    lethe_detail detail = {""};
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    uint64_t ticket = 0;
    bench_folder_remove(folder);
    engine_require(lethe_prepared_new(COUNT_BATCH, NULL, &prepared), &detail);
    double started = bench_now(), before = bench_cpu_seconds();
    engine_require(
        lethe_store_open(
            folder,
            &LETHE_OPTIONS(lethe_store_options, .create = true, .per = kind.per,
                           .event_time = kind.by_events ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP,
                           .capacity = events->count),
            &store, &detail),
        &detail);
    for (uint64_t i = 0; i < events->count; i += COUNT_BATCH)
        submit(store, events, lines, i, prepared, &ticket);
    engine_require(lethe_store_wait(store, ticket), &detail);
    engine_require(lethe_store_info(store, &stats), &detail);
    run.buckets = stats.buckets_in_memory;
    run.memory_bytes = stats.buckets_memory_bytes;
    engine_require(lethe_store_close(store, &detail), &detail);
    run.seconds = bench_now() - started;
    run.cpu_seconds = bench_cpu_seconds() - before;
    engine_require(lethe_store_open(folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true),
                                    &store, &detail),
                   &detail);
    engine_require(lethe_store_info(store, &stats), &detail);
    run.disk_bytes = stats.buckets_bytes;
    check_sums(store, kind.per, events->sum);
    engine_require(lethe_store_close(store, &detail), &detail);
    lethe_prepared_free(prepared);
    return run;
}

static int run_meters(const struct bench_options *options) {
    char folder[COUNT_PATH_BYTES / 4], store[COUNT_PATH_BYTES / 2];
    struct count_events events;
    struct report report;
    struct run best[KINDS] = {{0}};
    bench_folder_make(folder, sizeof folder);
    snprintf(store, sizeof store, "%s/store", folder);
    count_events_make(&events, folder, options->quick ? 50000 : 5000000, options->seed);
    const char *lines = count_events_map(&events);
    /* In turn, so that whatever else the machine does meets all of them. */
    for (int i = 0; i < options->runs; i++) {
        for (size_t j = 0; j < KINDS; j++) {
            struct run run = count_once(&events, lines, store, kinds[j]);
            if (i == 0 || run.cpu_seconds < best[j].cpu_seconds) best[j] = run;
        }
    }
    report_begin(&report, "meters", options->json, columns, COLUMNS);
    size_t none = 0;
    for (size_t j = 0; j < KINDS; j++) {
        const struct run *run = &best[j];
        if (kinds[j].per == NULL) none = j;
        double buckets = run->buckets > 0 ? (double)run->buckets : NAN;
        report_row(&report, (struct report_cell[COLUMNS]){
                                REPORT_TEXT(kinds[j].by_events ? "event" : "wall"),
                                REPORT_TEXT(kinds[j].per != NULL ? kinds[j].per : "none"),
                                REPORT_NUMBER((double)events.count),
                                REPORT_NUMBER(run->seconds),
                                REPORT_NUMBER(run->cpu_seconds),
                                REPORT_NUMBER(run->cpu_seconds / best[none].cpu_seconds),
                                REPORT_NUMBER(buckets),
                                REPORT_NUMBER((double)run->memory_bytes / buckets),
                                REPORT_NUMBER((double)run->disk_bytes / buckets),
                            });
    }
    report_end(&report);
    count_events_drop(&events);
    bench_folder_remove(folder);
    return 0;
}

const struct workload workload_meters = {
    .name = "meters",
    .summary = "counting per hour, day and month beside plain counting; bytes of a bucket",
    .run = run_meters,
};
