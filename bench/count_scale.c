/* bench/count_scale.c - whether the cost of an event stays the same: `lethe count` with a million,
 * ten million and a hundred million events, and with --full a billion.
 *
 * All come through a pipe, from a process that makes them up while they are counted (count_feed.h):
 * its CPU time is not in the figures, but it takes a CPU, so on a machine with two of them elapsed
 * times are longer than from a file. The first row is that process alone, with `cat` as its reader:
 * what no row can be faster than.
 *
 * How it is scaled: ids are all different, but one event in ten repeats any earlier one; keys
 * follow Zipf's law over a million, whatever the number of events. W is the default of three days,
 * longer than any row takes, so the window has all ids in the end and an event may be a copy of
 * the first. Every store begins empty, nothing is told about the number of events, and all counters
 * are compared with the truth.
 *
 * Nobody knows how many ids are to come, and they come much faster than W passes. So each new part
 * of the window is for four times the ids that are there (src/window/growth.h): a row has most
 * memory for an id if it ends soon after such a step. A billion events have 900 million ids, with
 * parts for two billion: by the plans of such parts 14 GiB, and 7.4 GiB with --error 1e-6.
 * The log takes 10 GiB of TMPDIR. A row that may not fit is left out, and said.
 *
 *   ns, cpu ns         of an event, from the start of the process to its end
 *   late, cpu late     of an event in the second half only, without the start and the end: what an
 *                      event costs in a store that is as large as it will be
 *   MiB, B/id          the most memory of the process; and that, for each id
 *   lost               fresh events that were taken for duplicates
 *
 * Rows up to ten million are the best of three, larger ones are run once. */
#include <math.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "count_lethe.h"
#include "folder.h"
#include "frame.h"
#include "report.h"

#define MILLION UINT64_C(1000000)

static const struct report_column columns[] = {
    {"way", "way", 26, -2},
    {"events", "events", 10, 0},
    {"seconds", "seconds", 7, 2},
    {"cpu_seconds", "cpu s", 7, 2},
    {"mevents", "M/s", 6, 2},
    {"ns_per_event", "ns", 6, 0},
    {"cpu_ns_per_event", "cpu ns", 6, 0},
    {"late_ns_per_event", "late", 6, 0},
    {"late_cpu_ns_per_event", "cpu late", 8, 0},
    {"memory_mib", "MiB", 8, 1},
    {"memory_bytes_per_id", "B/id", 6, 1},
    {"disk_mib", "disk", 8, 1},
    {"lost", "lost", 4, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* How much is counted in which way. Rows that need much memory or disk
 * say how much at most. */
struct row {
    const char *name;
    struct count_manner manner;
    uint64_t events;
    double memory_gib, disk_gib;
    bool only_full;
};

static const struct row rows[] = {
    {"lethe count", {.error = 1e-12}, MILLION, 0, 0, false},
    {"lethe count", {.error = 1e-12}, 10 * MILLION, 0, 0, false},
    {"lethe count", {.error = 1e-12}, 100 * MILLION, 4, 3, false},
    {"lethe count --forever", {.options = {"--forever"}, .error = 1e-9}, 10 * MILLION, 0, 0, false},
    {"lethe count --forever",
     {.options = {"--forever"}, .error = 1e-9},
     100 * MILLION,
     5,
     6,
     false},
    {"lethe count --error 1e-6",
     {.options = {"--error", "1e-6"}, .error = 1e-6},
     1000 * MILLION,
     9,
     13,
     true},
    {"lethe count", {.error = 1e-12}, 1000 * MILLION, 16, 13, true},
};

enum { QUICK_SHARE = 1000, GENERATOR_EVENTS = 10000000 };

struct bench {
    const struct bench_options *options;
    struct report report;
    char folder[COUNT_PATH_BYTES / 4];
};

/* Two halves, so that the second can be seen alone. */
static struct count_feed plan(const struct bench *bench, uint64_t events) {
    static const struct count_repeats repeats = {.in_ten = 1};
    return (struct count_feed){.stages = {{events / 2, repeats}, {events - events / 2, repeats}},
                               .seed = bench->options->seed};
}

static void report_outcome(struct bench *bench, const char *name, const struct count_feed *feed,
                           const struct count_outcome *outcome) {
    const struct count_cost *cost = &outcome->cost;
    double events = (double)feed->events.count, late = (double)feed->stages[1].count;
    bool is_counted = outcome->applied > 0;
    double ids = (double)outcome->applied, lost = (double)feed->events.originals - ids;
    report_row(
        &bench->report,
        (struct report_cell[COLUMNS]){
            REPORT_TEXT(name),
            REPORT_NUMBER(events),
            REPORT_NUMBER(cost->seconds),
            REPORT_NUMBER(cost->cpu_seconds),
            REPORT_NUMBER(events / cost->seconds * 1e-6),
            REPORT_NUMBER(cost->seconds / events * 1e9),
            REPORT_NUMBER(cost->cpu_seconds / events * 1e9),
            REPORT_NUMBER((feed->ends[1].seconds - feed->ends[0].seconds) / late * 1e9),
            REPORT_NUMBER((feed->ends[1].cpu_seconds - feed->ends[0].cpu_seconds) / late * 1e9),
            REPORT_NUMBER(cost->memory_mib),
            REPORT_NUMBER(is_counted ? cost->memory_mib * 0x1p20 / ids : NAN),
            REPORT_NUMBER(is_counted ? (double)outcome->disk_bytes * 0x1p-20 : NAN),
            REPORT_NUMBER(is_counted ? lost : NAN),
        });
}

static void run_generator(struct bench *bench, uint64_t events) {
    static const char *const words[] = {"cat", NULL};
    struct count_feed feed = plan(bench, events);
    struct count_outcome outcome = {.cost = count_feed_run(&feed, words, bench->folder)};
    outcome.cost.cpu_seconds = NAN; /* that of cat says nothing */
    feed.ends[0].cpu_seconds = NAN;
    outcome.cost.memory_mib = NAN;
    report_outcome(bench, "(events made, not counted)", &feed, &outcome);
}

/* Whether there is the memory and the disk for a row, with a tenth to spare. */
static bool has_room(const struct bench *bench, const struct row *row) {
    struct statvfs disk;
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    bench_require(statvfs(bench->folder, &disk) == 0, "looking at a disk");
    double room = (double)disk.f_bavail * (double)disk.f_frsize;
    if (row->memory_gib * 1.1 <= memory * 0x1p-30 && row->disk_gib * 1.1 <= room * 0x1p-30)
        return true;
    fprintf(stderr,
            "lethe-bench: count-scale: without %s of %.0f million events, which needs %.0f GiB of "
            "memory and %.0f GiB in TMPDIR\n",
            row->name, (double)row->events * 1e-6, row->memory_gib, row->disk_gib);
    return false;
}

static void run_row(struct bench *bench, const struct row *row) {
    uint64_t events = bench->options->quick ? row->events / QUICK_SHARE : row->events;
    int runs = row->events <= 10 * MILLION ? bench->options->runs : 1;
    struct count_outcome best = {.cost.seconds = INFINITY};
    struct count_feed best_feed = {0};
    char folder[COUNT_PATH_BYTES / 2];
    snprintf(folder, sizeof folder, "%s/data", bench->folder);
    for (int i = 0; i < runs; i++) {
        struct count_feed feed = plan(bench, events);
        struct count_outcome outcome;
        count_folder_renew(folder);
        count_feed_lethe(&feed, folder, &row->manner, &outcome);
        if (outcome.cost.seconds >= best.cost.seconds) continue;
        best = outcome;
        best_feed = feed;
    }
    report_outcome(bench, row->name, &best_feed, &best);
    bench_folder_remove(folder); /* there may be no room for two */
}

static int run_count_scale(const struct bench_options *options) {
    struct bench bench = {.options = options};
    count_folder_make(bench.folder, sizeof bench.folder);
    report_begin(&bench.report, "count-scale", options->json, columns, COLUMNS);
    run_generator(&bench, options->quick ? GENERATOR_EVENTS / QUICK_SHARE : GENERATOR_EVENTS);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].only_full && !options->full) continue;
        if (options->quick || has_room(&bench, &rows[i])) run_row(&bench, &rows[i]);
    }
    report_end(&bench.report);
    bench_folder_remove(bench.folder);
    return 0;
}

const struct workload workload_count_scale = {
    .name = "count-scale",
    .summary = "what an event of lethe count costs, from a million of them to a billion",
    .run = run_count_scale,
};
