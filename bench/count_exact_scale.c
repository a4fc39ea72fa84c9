/* bench/count_exact_scale.c - `lethe count --exact` where the index does not fit in memory.
 *
 * Exact mode looks every duplicate up in an index. Eleven million ids of it stay in memory, what is
 * more is in files (src/engine/ids/index.c). So a store is given forty million ids, all fresh, and
 * then ten million events of which a tenth are copies: in one run of one of the last 100,000 ids,
 * as when senders retry soon, and in another of any earlier id, as when a log is replayed. With
 * --full the store is given a hundred million ids. `lethe count` without --exact counts the second
 * kind of events beside it.
 *
 * One process counts all of a run, from a pipe, whose other end is a process that makes the events
 * up and notes when it has written the last of each kind (count_feed.h): the rows are the times
 * between. Its CPU time is not counted, but it takes a CPU. What the end of a process takes is not
 * in the rows, what threads do beside is, if they do it before that.
 *
 *   M/s, ns, cpu ns    of these events alone
 *   MiB                the most memory of the process, by its end
 *
 * Each row is the best of three runs. All counters are compared with the truth. */
#include <math.h>
#include <stdio.h>

#include "count_lethe.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

enum { NEAR = 100000 };

static const struct report_column columns[] = {
    {"way", "way", 42, -2},       {"ids_before", "ids before", 10, 0},  {"events", "events", 9, 0},
    {"seconds", "seconds", 7, 2}, {"cpu_seconds", "cpu s", 6, 2},       {"mevents", "M/s", 6, 2},
    {"ns_per_event", "ns", 6, 0}, {"cpu_ns_per_event", "cpu ns", 6, 0}, {"memory_mib", "MiB", 8, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The first stage has fresh ids only, the second has copies among them. */
enum { FRESH, COPIES, STAGES };

struct way {
    const char *name, *fresh_name; /* NULL: its first stage is not reported */
    struct count_manner manner;
    uint64_t reach;
};

static const struct way ways[] = {
    {"lethe count, copies of any id", "lethe count, fresh ids", {.error = 1e-12}, 0},
    {"lethe count --exact, copies of the last",
     "lethe count --exact, fresh ids",
     {.options = {"--exact"}},
     NEAR},
    {"lethe count --exact, copies of any id", NULL, {.options = {"--exact"}}, 0},
};

struct bench {
    const struct bench_options *options;
    struct report report;
    char folder[COUNT_PATH_BYTES / 4];
    uint64_t fresh, events;
};

/* What a stage took. */
static struct count_cost cost_of(const struct count_feed *feed, int stage,
                                 const struct count_cost *whole) {
    struct count_moment end = feed->ends[stage], begin = {0};
    if (stage > 0) begin = feed->ends[stage - 1];
    return (struct count_cost){.seconds = end.seconds - begin.seconds,
                               .cpu_seconds = end.cpu_seconds - begin.cpu_seconds,
                               .memory_mib = whole->memory_mib};
}

static void report_stage(struct bench *bench, const char *name, uint64_t ids, uint64_t events,
                         const struct count_cost *cost) {
    report_row(&bench->report, (struct report_cell[COLUMNS]){
                                   REPORT_TEXT(name),
                                   REPORT_NUMBER((double)ids),
                                   REPORT_NUMBER((double)events),
                                   REPORT_NUMBER(cost->seconds),
                                   REPORT_NUMBER(cost->cpu_seconds),
                                   REPORT_NUMBER((double)events / cost->seconds * 1e-6),
                                   REPORT_NUMBER(cost->seconds / (double)events * 1e9),
                                   REPORT_NUMBER(cost->cpu_seconds / (double)events * 1e9),
                                   REPORT_NUMBER(cost->memory_mib),
                               });
}

static void run_way(struct bench *bench, const struct way *way) {
    struct count_cost best[STAGES] = {{.seconds = INFINITY}, {.seconds = INFINITY}};
    char folder[COUNT_PATH_BYTES / 2];
    snprintf(folder, sizeof folder, "%s/data", bench->folder);
    for (int i = 0; i < bench->options->runs; i++) {
        struct count_feed feed = {
            .stages = {{bench->fresh, {0}}, {bench->events, {.in_ten = 1, .reach = way->reach}}},
            .seed = bench->options->seed};
        struct count_outcome outcome;
        count_folder_renew(folder);
        count_feed_lethe(&feed, folder, &way->manner, &outcome);
        for (int stage = 0; stage < STAGES; stage++) {
            struct count_cost cost = cost_of(&feed, stage, &outcome.cost);
            if (cost.seconds < best[stage].seconds) best[stage] = cost;
        }
    }
    if (way->fresh_name != NULL) {
        best[FRESH].memory_mib = NAN; /* the process goes on */
        report_stage(bench, way->fresh_name, 0, bench->fresh, &best[FRESH]);
    }
    report_stage(bench, way->name, bench->fresh, bench->events, &best[COPIES]);
}

static int run_count_exact_scale(const struct bench_options *options) {
    uint64_t million = options->quick ? 1000 : 1000000;
    struct bench bench = {
        .options = options, .fresh = (options->full ? 100 : 40) * million, .events = 10 * million};
    count_folder_make(bench.folder, sizeof bench.folder);
    report_begin(&bench.report, "count-exact-scale", options->json, columns, COLUMNS);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
        run_way(&bench, &ways[i]);
    report_end(&bench.report);
    bench_folder_remove(bench.folder);
    return 0;
}

const struct workload workload_count_exact_scale = {
    .name = "count-exact-scale",
    .summary = "lethe count --exact of more ids than its index keeps in memory",
    .run = run_count_exact_scale,
};
