/* paper/fbf_15.c - Figure 15: the latency of batches of fifty increments, with a filter and
 * without.
 *
 * The workload redis-batches of lethe-bench starts four servers and measures. */
#include <math.h>

#include "paper/paper.h"
#include "paper/workload.h"
#include "say/message.h"

static const struct column columns[] = {
    {"percentile", "percentile", COLUMN_TENTH},  {"plain_ms", "HINCRBY ms", COLUMN_RATE},
    {"quotient_ms", "quotient ms", COLUMN_RATE}, {"forgetful_ms", "forgetful ms", COLUMN_RATE},
    {"many_ms", "MINCRBY ms", COLUMN_RATE},
};

static double slower_percent(const json_t *row, const char *key) {
    return 100 * (workload_number(row, key) / workload_number(row, "plain_ms") - 1);
}

static double slower_ms(const json_t *row, const char *key) {
    return workload_number(row, key) - workload_number(row, "plain_ms");
}

/* The row of the median; of the mean if there is none. */
static const json_t *median_of(const json_t *rows) {
    const json_t *found = NULL;
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row) {
        found = row;
        if (workload_number(row, "percentile") == 50) break;
    }
    return found;
}

static void conclude(struct report *report, const json_t *rows) {
    const json_t *mean = json_array_get(rows, json_array_size(rows) - 1);
    const json_t *median = median_of(rows);
    report_claim(report, "a batch of 50 is slower by 10%% with the FBF, which is about 2 ms.");
    report_result(report,
                  "by %.2f ms in the mean and %.2f ms in the median (%.0f%% and %.0f%%), as fifty "
                  "ONCE.INCRBY instead of fifty HINCRBY. The servers are on this machine, so "
                  "there is no network whose time would hide the difference.",
                  slower_ms(mean, "quotient_ms"), slower_ms(median, "quotient_ms"),
                  slower_percent(mean, "quotient_ms"), slower_percent(median, "quotient_ms"));
    report_result(report,
                  "one ONCE.MINCRBY with fifty increments takes %.2f ms in the median, fifty "
                  "HINCRBY %.2f ms: one command with a filter against fifty without.",
                  workload_number(median, "many_ms"), workload_number(median, "plain_ms"));
    if (!isnan(workload_number(mean, "forgetful_ms"))) {
        report_result(report,
                      "with a window of the forgetful kind, by %.2f ms in the mean and %.2f ms in "
                      "the median.",
                      slower_ms(mean, "forgetful_ms"), slower_ms(median, "forgetful_ms"));
        report_value(report, "slower-forgetful-ms", slower_ms(mean, "forgetful_ms"));
    } else {
        report_result(report, "this module has no once-tables of the forgetful kind.");
    }
    report_value(report, "slower-percent", slower_percent(mean, "quotient_ms"));
    report_value(report, "slower-ms", slower_ms(mean, "quotient_ms"));
    report_value(report, "slower-median-percent", slower_percent(median, "quotient_ms"));
    report_value(report, "slower-one-command-median-percent", slower_percent(median, "many_ms"));
}

static int run(struct report *report) {
    static const char *const keys[] = {"percentile", "plain_ms", "quotient_ms", "forgetful_ms",
                                       "many_ms"};
    return workload_report(report, "redis-batches", columns, keys,
                           sizeof columns / sizeof columns[0], conclude);
}

const struct figure figure_fbf_15 = {
    .name = "fbf-15",
    .title = "latency of batches of fifty increments, with a filter and without",
    .columns =
        "A Redis server and three replicas on this machine, 3,000 batches of 50 increments each "
        "way, in turn, each batch until a replica has it: fifty HINCRBY; fifty ONCE.INCRBY, by "
        "the kind of window (empty if the module has no such kind); one ONCE.MINCRBY. Latency "
        "that so many per cent did not exceed; at the end the mean.",
    .plot =
        "set title 'Figure 15: latency of batches of 50 increments'\n"
        "set xlabel 'share of the batches that took no longer (%)'\n"
        "set ylabel 'latency of a batch (ms)'\n"
        "set logscale y\n"
        "set xrange [0:100]\nset yrange [0.05:*]\n"
        "set label 1 \"the paper: 10% slower,\\nabout 2 ms in the mean\" at graph 0.03, graph 0.93 "
        "tc rgb '#555555'\n"
        "set style data linespoints\n"
        "plot data using 'percentile':'quotient_ms' ls 1 title '50 ONCE.INCRBY, quotient window', "
        "\\\n"
        "     data using 'percentile':'forgetful_ms' ls 3 title '50 ONCE.INCRBY, forgetful "
        "window', \\\n"
        "     data using 'percentile':'plain_ms' ls 2 title '50 HINCRBY, no filter', \\\n"
        "     data using 'percentile':'many_ms' ls 4 title '1 ONCE.MINCRBY, quotient window'\n",
    .run = run,
};
