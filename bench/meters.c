/* bench/meters.c - what counting per period costs: the engine alone, with no resolution, one, two
 * and three.
 *
 * The events are those of `count`, in memory already; keys have 12 bytes. All rows are runs in this
 * process, one after the other, each from an empty folder to durable counters; the best of several,
 * by its CPU time, that of the engine's own threads included.
 *
 *   times   how many times as much CPU time as without a resolution
 *   memory  bytes in memory of one live bucket, with its key and its share of the tables
 *   disk    bytes on disk of one bucket, after the store was closed
 *
 * The values of all buckets are added up and compared with those of the counters. */
#include <lethe/store.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "count_events.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

static const struct report_column columns[] = {
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

static void require(lethe_status status, const lethe_detail *detail) {
    if (status == LETHE_OK) return;
    fprintf(stderr, "lethe-bench: %s: %s\n", lethe_strerror(status), detail->text);
    bench_require(false, "a call of the engine");
}

/* Of all threads. */
static double cpu_now(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void submit(lethe_store *store, const char *lines, size_t count, uint64_t *ticket) {
    static lethe_operation operations[COUNT_BATCH];
    static lethe_change changes[COUNT_BATCH];
    static uint8_t outcomes[COUNT_BATCH];
    for (size_t i = 0; i < count; i++) {
        changes[i] = (lethe_change){.key = {.data = count_key(lines, i), .size = COUNT_KEY_BYTES},
                                    .delta = count_delta(lines, i)};
        operations[i] =
            (lethe_operation){.id = {.data = count_id(lines, i), .size = COUNT_ID_BYTES},
                              .changes = &changes[i],
                              .change_count = 1};
    }
    lethe_detail detail = {""};
    require(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, ticket), &detail);
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
                             const char *folder, const char *per) {
    struct run run;
    lethe_store *store;
    lethe_detail detail = {""};
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    uint64_t ticket = 0;
    bench_folder_remove(folder);
    double started = bench_now(), before = cpu_now();
    require(lethe_store_open(folder,
                             &LETHE_OPTIONS(lethe_store_options, .create = true, .per = per,
                                            .capacity = events->count),
                             &store, &detail),
            &detail);
    for (uint64_t i = 0; i < events->count; i += COUNT_BATCH) {
        uint64_t left = events->count - i;
        submit(store, count_id(lines, i), left < COUNT_BATCH ? (size_t)left : COUNT_BATCH, &ticket);
    }
    require(lethe_store_wait(store, ticket), &detail);
    require(lethe_store_info(store, &stats), &detail);
    run.buckets = stats.buckets_in_memory;
    run.memory_bytes = stats.buckets_memory_bytes;
    require(lethe_store_close(store, &detail), &detail);
    run.seconds = bench_now() - started;
    run.cpu_seconds = cpu_now() - before;
    require(lethe_store_open(folder, &LETHE_OPTIONS(lethe_store_options, .read_only = true), &store,
                             &detail),
            &detail);
    require(lethe_store_info(store, &stats), &detail);
    run.disk_bytes = stats.buckets_bytes;
    check_sums(store, per, events->sum);
    require(lethe_store_close(store, &detail), &detail);
    return run;
}

static int run_meters(const struct bench_options *options) {
    static const char *const pers[] = {NULL, "1h", "1h,1d", "1h,1d,1mo"};
    char folder[COUNT_PATH_BYTES / 4], store[COUNT_PATH_BYTES / 2];
    struct count_events events;
    struct report report;
    struct run best[4] = {{0}};
    bench_folder_make(folder, sizeof folder);
    snprintf(store, sizeof store, "%s/store", folder);
    count_events_make(&events, folder, options->quick ? 50000 : 5000000, options->seed);
    const char *lines = count_events_map(&events);
    /* In turn, so that whatever else the machine does meets all of them. */
    for (int i = 0; i < options->runs; i++) {
        for (size_t j = 0; j < 4; j++) {
            struct run run = count_once(&events, lines, store, pers[j]);
            if (i == 0 || run.cpu_seconds < best[j].cpu_seconds) best[j] = run;
        }
    }
    report_begin(&report, "meters", options->json, columns, COLUMNS);
    for (size_t j = 0; j < 4; j++) {
        const struct run *run = &best[j];
        double buckets = run->buckets > 0 ? (double)run->buckets : NAN;
        report_row(&report, (struct report_cell[COLUMNS]){
                                REPORT_TEXT(pers[j] != NULL ? pers[j] : "none"),
                                REPORT_NUMBER((double)events.count),
                                REPORT_NUMBER(run->seconds),
                                REPORT_NUMBER(run->cpu_seconds),
                                REPORT_NUMBER(run->cpu_seconds / best[0].cpu_seconds),
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
