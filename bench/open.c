/* bench/open.c - opening a store: what it costs to fill its window from the log, and to read its
 * counters into memory.
 *
 * The first two stores have ten million ids, of one counter, with an error of 1e-6 and of 1e-12;
 * the third has a million counters, changed by a thousand operations. Each was closed before. Its
 * files are in the system's cache, and opening takes them from there: so this is what the engine
 * costs, in as many threads as there are CPUs, and not the disk. Stores are opened in turn, in this
 * process, so that whatever else the machine does meets all of them; each row is the best of
 * several, by its time, and the median of them all.
 *
 *   seconds, median, cpu s   of one opening: the best, the median, and the CPU time of all threads
 *   M/s, ns                  ids or counters, by the best time */
#include <lethe/store.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

enum { BATCH = 4096, WIDE = 1000, TEXT_BYTES = 24, MOST_RUNS = 1000, PATH_BYTES = 512 };

static const struct report_column columns[] = {
    {"what", "what", 8, -2},
    {"error", "error", 7, -1},
    {"records", "records", 9, 0},
    {"seconds", "seconds", 7, 3},
    {"median_seconds", "median", 7, 3},
    {"cpu_seconds", "cpu s", 7, 3},
    {"mrecords", "M/s", 6, 1},
    {"ns_per_record", "ns", 6, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct kind {
    const char *what;
    double error;
    bool counters; /* many of them, and few ids */
};

static const struct kind kinds[] = {
    {"ids", 1e-6, false},
    {"ids", 1e-12, false},
    {"counters", 1e-12, true},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* How long opening took, each time. */
struct times {
    double seconds[MOST_RUNS], cpu_seconds;
    uint64_t records;
};

static lethe_store *open_store(const char *path, double error, uint64_t capacity) {
    lethe_store *store;
    lethe_detail detail = {""};
    engine_require(lethe_store_open(path,
                                    &LETHE_OPTIONS(lethe_store_options, .create = true,
                                                   .error = error, .capacity = capacity),
                                    &store, &detail),
                   &detail);
    return store;
}

/* Up to BATCH operations from `from` on, of one counter each, or all of the same. */
static void submit_ids(lethe_store *store, uint64_t from, uint64_t count, uint64_t *ticket) {
    static lethe_operation operations[BATCH];
    static uint8_t outcomes[BATCH];
    static char ids[BATCH][TEXT_BYTES];
    static const lethe_change change = {.key = {.data = "k", .size = 1}, .delta = 1};
    lethe_detail detail = {""};
    for (uint64_t i = 0; i < count; i++) {
        int size = snprintf(ids[i], sizeof ids[i], "event-%llu", (unsigned long long)(from + i));
        operations[i] = (lethe_operation){
            .id = {.data = ids[i], .size = (size_t)size}, .changes = &change, .change_count = 1};
    }
    engine_require(lethe_store_submit(store, operations, count, NULL, 0, outcomes, NULL, ticket),
                   &detail);
}

/* One operation that changes WIDE counters. */
static void submit_counters(lethe_store *store, uint64_t from, uint64_t *ticket) {
    static lethe_change changes[WIDE];
    static char keys[WIDE][TEXT_BYTES];
    lethe_detail detail = {""};
    uint8_t outcome;
    for (uint64_t i = 0; i < WIDE; i++) {
        int size = snprintf(keys[i], sizeof keys[i], "counter-%llu",
                            (unsigned long long)(from + i) * 2654435761U % 4294967291U);
        changes[i] =
            (lethe_change){.key = {.data = keys[i], .size = (size_t)size}, .delta = (int64_t)i};
    }
    const lethe_operation operation = {
        .id = {.data = keys[0], .size = strlen(keys[0])}, .changes = changes, .change_count = WIDE};
    engine_require(lethe_store_submit(store, &operation, 1, NULL, 0, &outcome, NULL, ticket),
                   &detail);
}

static void make_store(const char *path, struct kind kind, uint64_t records) {
    lethe_store *store = open_store(path, kind.error, kind.counters ? 0 : records);
    lethe_detail detail = {""};
    uint64_t ticket = 0, step = kind.counters ? WIDE : BATCH;
    for (uint64_t i = 0; i < records; i += step) {
        if (kind.counters) {
            submit_counters(store, i, &ticket);
        } else {
            submit_ids(store, i, records - i < step ? records - i : step, &ticket);
        }
    }
    engine_require(lethe_store_wait(store, ticket), &detail);
    engine_close(store);
}

static void time_opening(const char *path, struct kind kind, struct times *times, int run) {
    double started = bench_now(), before = bench_cpu_seconds();
    lethe_store *store = open_store(path, kind.error, 0);
    times->seconds[run] = bench_now() - started;
    double cpu_seconds = bench_cpu_seconds() - before;
    if (run == 0 || cpu_seconds < times->cpu_seconds) times->cpu_seconds = cpu_seconds;
    lethe_store_stats stats = LETHE_INIT(lethe_store_stats);
    lethe_detail detail = {""};
    engine_require(lethe_store_info(store, &stats), &detail);
    times->records = kind.counters ? stats.counters : stats.log_ids;
    engine_close(store);
}

static int compare_numbers(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void report_times(struct report *report, struct kind kind, struct times *times, int runs) {
    qsort(times->seconds, (size_t)runs, sizeof times->seconds[0], compare_numbers);
    double best = times->seconds[0], records = (double)times->records;
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(kind.what),
                           REPORT_NUMBER(kind.counters ? NAN : kind.error),
                           REPORT_NUMBER(records),
                           REPORT_NUMBER(best),
                           REPORT_NUMBER(times->seconds[runs / 2]),
                           REPORT_NUMBER(times->cpu_seconds),
                           REPORT_NUMBER(records / best * 1e-6),
                           REPORT_NUMBER(best / records * 1e9),
                       });
}

static int run_open(const struct bench_options *options) {
    static struct times times[KINDS];
    char folder[PATH_BYTES / 2], paths[KINDS][PATH_BYTES];
    struct report report;
    int runs = options->runs < MOST_RUNS ? options->runs : MOST_RUNS;
    bench_folder_make(folder, sizeof folder);
    for (size_t i = 0; i < KINDS; i++) {
        uint64_t records = kinds[i].counters ? 1000000 : 10000000;
        snprintf(paths[i], sizeof paths[i], "%s/store-%zu", folder, i);
        make_store(paths[i], kinds[i], options->quick ? records / 100 : records);
    }
    for (int run = 0; run < runs; run++) {
        for (size_t i = 0; i < KINDS; i++)
            time_opening(paths[i], kinds[i], &times[i], run);
    }
    report_begin(&report, "open", options->json, columns, COLUMNS);
    for (size_t i = 0; i < KINDS; i++)
        report_times(&report, kinds[i], &times[i], runs);
    report_end(&report);
    bench_folder_remove(folder);
    return 0;
}

const struct workload workload_open = {
    .name = "open",
    .summary = "opening a store: its window from the log, its counters into memory",
    .run = run_open,
};
