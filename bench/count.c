/* bench/count.c - `lethe count`, from a file of events to durable counters, beside other ways to
 * count each event once.
 *
 * The events come from count_events.h: one in ten is a duplicate, and keys follow Zipf's law over a
 * million. They are in the system's cache when a row begins. Every row is a process of its own,
 * measured from its start to its end; the Redis server is started before. Commits are durable.
 * `lethe count` commits at most 32,768 events at once and lets an event wait for at most 50 ms, its
 * defaults; SQLite and RocksDB commit 65,536 at a time. awk, Redis and DuckDB in memory promise
 * less; count_duckdb.c says what DuckDB does. TMPDIR names the disk to write to.
 *
 *   lost    fresh events that were taken for duplicates: an error of 1e-6 allows for some; the
 *           default, 1e-12, and --exact for none
 *   times   how many times as long this way took as `lethe count` with as many events
 *   memory  how many times as much memory it took
 *
 * Each row is the best of three; a slow peer is run once. What was counted is compared with the
 * truth: one event too many, or more lost than allowed, ends the program. RocksDB, SQLite and
 * Redis get only a million events, which flatters them, since their tables grow. With --full they
 * get 10 million, and `lethe count`, with --exact and without, also 100 million. The engine's rows
 * are calls in a process that has the events in memory, without reading or parsing; and the opening
 * of the store that they made, where an event is an id that is remembered. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count_lethe.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

#define REPEAT_SECONDS 8.0

static const struct report_column columns[] = {
    {"way", "way", 38, -2},
    {"events", "events", 9, 0},
    {"seconds", "seconds", 7, 2},
    {"cpu_seconds", "cpu s", 6, 2},
    {"mevents", "M/s", 6, 2},
    {"ns_per_event", "ns", 7, 0},
    {"memory_mib", "MiB", 7, 1},
    {"disk_mib", "disk", 7, 1},
    {"log_bytes_per_id", "B/id", 5, 1},
    {"lost", "lost", 4, 0},
    {"times_faster", "times", 6, 1},
    {"times_memory", "memory", 6, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct bench {
    const struct bench_options *options;
    struct report report;
    char folder[COUNT_PATH_BYTES / 4];
    struct count_outcome ours; /* of `lethe count`, with as many events */
};

/* A way to count, and what it needs to be there. */
struct way {
    const char *name;
    count_peer *run;
    const char *command;
};

/* `lethe count` in its several ways: each compares all counters with the truth by itself. */
static bool is_ours(const struct way *way) {
    return strncmp(way->name, "lethe", 5) == 0;
}

static const struct way lethe = {"lethe count", count_by_lethe, NULL};
static const struct way lighter_lethe = {"lethe count --error 1e-6", count_by_lighter_lethe, NULL};
static const struct way exact_lethe = {"lethe count --exact", count_by_exact_lethe, NULL};
static const struct way metered_lethe = {"lethe count --per 1h", count_by_metered_lethe, NULL};
static const struct way sketching_lethe = {"lethe count --sketch 16MiB", count_by_sketching_lethe,
                                           NULL};
static const struct way lasting_lethe = {"lethe count --forever", count_for_ever_by_lethe, NULL};
static const struct way json_lethe = {"lethe count --jsonl", count_json_by_lethe, NULL};
static const struct way duckdb = {"DuckDB, ids and counters in a file", count_by_duckdb, NULL};
static const struct way quick_duckdb = {"DuckDB, in memory only", count_by_duckdb_in_memory, NULL};
static const struct way json_duckdb = {"DuckDB, in memory only, from JSON", count_json_by_duckdb,
                                       NULL};
static const struct way rocksdb = {"RocksDB, ids as keys", count_by_rocksdb, NULL};
#ifdef BENCH_HAS_SQLITE
static const struct way sqlite = {"SQLite, ids as primary keys", count_by_sqlite, NULL};
#else
static const struct way sqlite = {"SQLite, ids as primary keys", NULL, NULL};
#endif
static const struct way redis = {"Redis, SET NX + HINCRBY, synced each s", count_by_redis,
                                 "redis-server"};

/* Debian's awk is mawk, others' is gawk: their speeds differ. */
static struct way find_awk(char name[64]) {
    char path[COUNT_PATH_BYTES];
    char *real = count_find_command("awk", path) ? realpath(path, NULL) : NULL;
    const char *slash = real != NULL ? strrchr(real, '/') : NULL;
    snprintf(name, 64, "awk (%.32s), in memory only", slash != NULL ? slash + 1 : "?");
    free(real);
    return (struct way){name, count_by_awk, "awk"};
}

static void report_outcome(struct bench *bench, const char *name, uint64_t count, double lost,
                           const struct count_outcome *outcome) {
    const struct count_cost *cost = &outcome->cost, *ours = &bench->ours.cost;
    report_row(
        &bench->report,
        (struct report_cell[COLUMNS]){
            REPORT_TEXT(name),
            REPORT_NUMBER((double)count),
            REPORT_NUMBER(cost->seconds),
            REPORT_NUMBER(cost->cpu_seconds),
            REPORT_NUMBER((double)count / cost->seconds * 1e-6),
            REPORT_NUMBER(cost->seconds / (double)count * 1e9),
            REPORT_NUMBER(cost->memory_mib),
            REPORT_NUMBER(outcome->disk_bytes > 0 ? (double)outcome->disk_bytes * 0x1p-20 : NAN),
            REPORT_NUMBER(outcome->log_bytes > 0 ? outcome->log_bytes / (double)outcome->applied
                                                 : NAN),
            REPORT_NUMBER(lost),
            REPORT_NUMBER(cost->seconds / ours->seconds),
            REPORT_NUMBER(cost->memory_mib / ours->memory_mib),
        });
}

/* Runs one way several times. Returns the best outcome. */
static struct count_outcome best_of(struct bench *bench, const struct way *way,
                                    const struct count_events *events) {
    struct count_outcome best = {.cost.seconds = INFINITY};
    char folder[COUNT_PATH_BYTES / 2];
    snprintf(folder, sizeof folder, "%s/data", bench->folder);
    bool is_peer = way->run != count_by_lethe;
    for (int i = 0; i < bench->options->runs; i++) {
        struct count_outcome outcome;
        count_folder_renew(folder);
        way->run(events, folder, &outcome);
        if (outcome.cost.seconds < best.cost.seconds) best = outcome;
        if (is_peer && outcome.cost.seconds > REPEAT_SECONDS) break;
    }
    return best;
}

static void run_way(struct bench *bench, const struct way *way, const struct count_events *events) {
    char path[COUNT_PATH_BYTES];
    if (way->run == NULL || (way->command != NULL && !count_find_command(way->command, path))) {
        fprintf(stderr, "lethe-bench: count: without %s, which is not here\n", way->name);
        return;
    }
    struct count_outcome best = best_of(bench, way, events);
    if (way == &lethe) {
        bench->ours = best;
    } else if (!is_ours(way)) {
        bench_require(best.applied == events->originals && best.sum == events->sum, way->name);
    }
    report_outcome(bench, way->name, events->count,
                   (double)events->originals - (double)best.applied, &best);
}

/* The engine alone, and the store it leaves opened again. Memory is not reported, since the events
 * are in it. */
static void run_engine(struct bench *bench, const struct count_events *events) {
    struct count_outcome best = {.cost.seconds = INFINITY}, opened = best;
    char folder[COUNT_PATH_BYTES / 2];
    snprintf(folder, sizeof folder, "%s/data", bench->folder);
    for (int i = 0; i < bench->options->runs; i++) {
        struct count_outcome outcome;
        count_folder_renew(folder);
        count_by_engine(events, folder, &outcome);
        if (outcome.cost.seconds < best.cost.seconds) best = outcome;
        count_open_store(events, folder, &outcome);
        if (outcome.cost.seconds < opened.cost.seconds) opened = outcome;
    }
    best.cost.memory_mib = NAN;
    report_outcome(bench, "the engine alone", events->count,
                   (double)events->originals - (double)best.applied, &best);
    report_outcome(bench, "opening its store", opened.applied, NAN, &opened);
}

static void run_slow(struct bench *bench, const struct count_events *events) {
    run_way(bench, &rocksdb, events);
    run_way(bench, &sqlite, events);
    run_way(bench, &redis, events);
}

static void run_small(struct bench *bench, uint64_t count) {
    struct count_events events;
    count_events_make(&events, bench->folder, count, bench->options->seed);
    run_way(bench, &lethe, &events);
    run_way(bench, &exact_lethe, &events);
    if (!bench->options->full) run_slow(bench, &events);
    count_events_drop(&events);
}

static void run_middle(struct bench *bench, uint64_t count) {
    struct count_events events;
    char name[64];
    struct way awk = find_awk(name);
    count_events_make(&events, bench->folder, count, bench->options->seed);
    run_way(bench, &lethe, &events);
    run_way(bench, &lighter_lethe, &events);
    run_way(bench, &exact_lethe, &events);
    run_way(bench, &metered_lethe, &events);
    run_way(bench, &lasting_lethe, &events);
    run_way(bench, &sketching_lethe, &events);
    count_events_make_json(&events, bench->folder);
    run_way(bench, &json_lethe, &events);
    if (count_has_duckdb(bench->folder, bench->options->quick)) {
        run_way(bench, &quick_duckdb, &events);
        run_way(bench, &duckdb, &events);
        run_way(bench, &json_duckdb, &events);
    }
    run_way(bench, &awk, &events);
    if (bench->options->full) run_slow(bench, &events);
    run_engine(bench, &events);
    count_events_drop(&events);
}

static void run_large(struct bench *bench, uint64_t count) {
    struct count_events events;
    count_events_make(&events, bench->folder, count, bench->options->seed);
    run_way(bench, &lethe, &events);
    run_way(bench, &exact_lethe, &events); /* most of its index is in files */
    count_events_drop(&events);
}

static int run_count(const struct bench_options *options) {
    struct bench bench = {.options = options};
    count_folder_make(bench.folder, sizeof bench.folder);
    report_begin(&bench.report, "count", options->json, columns, COLUMNS);
    run_small(&bench, options->quick ? 10000 : 1000000);
    run_middle(&bench, options->quick ? 50000 : 10000000);
    if (options->full) run_large(&bench, options->quick ? 100000 : 100000000);
    report_end(&bench.report);
    bench_folder_remove(bench.folder);
    return 0;
}

const struct workload workload_count = {
    .name = "count",
    .summary = "each event once: lethe count beside DuckDB, SQLite, RocksDB, awk and Redis",
    .run = run_count,
};
