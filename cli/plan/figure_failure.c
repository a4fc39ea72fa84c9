/* figure_failure.c - 10^12 events a day, and a master dies. */
#include <math.h>

#include "frame/exit_code.h"
#include "plan/figures.h"
#include "plan/plan.h"

static const struct column columns[] = {
    {"second", "second", COLUMN_WHOLE},
    {"fast", "2 s: M/s", COLUMN_RATIO},
    {"fast_p99_ms", "2 s: p99 ms", COLUMN_RATIO},
    {"slow", "15 s: M/s", COLUMN_RATIO},
    {"slow_p99_ms", "15 s: p99 ms", COLUMN_RATIO},
};

enum { SECONDS = 90, KILL_S = 10, BATCH = 512, DEATHS = 200 };
static const double RETRY_S = 0.2, ELECTION_S = 1, REPLACE_S = 5;

/* The cluster that `lethe plan --redis --rate 1T/d --window 1h` asks for. */
static int plan_cluster(struct cluster_options *options) {
    struct plan_wants wants = {.redis = true,
                               .events_per_s = TRILLION_A_DAY,
                               .window_ms = 3600000,
                               .error = 1e-9,
                               .key_bytes = 16,
                               .after_ms = UINT64_C(365) * 86400000,
                               .replicas = 1,
                               .server_memory_bytes = (uint64_t)32 << 30,
                               .batch = BATCH};
    struct plan_table table;
    int code = plan_table(&wants, &table);
    if (code != EXIT_DONE) return code;
    *options = (struct cluster_options){.seed = 3,
                                        .costs = plan_costs,
                                        .masters = (unsigned)table.masters,
                                        .partitions = (unsigned)table.partitions,
                                        .events_per_s = TRILLION_A_DAY,
                                        .events_per_command = BATCH,
                                        .length_s = SECONDS,
                                        .table_bytes = (double)table.partition_bytes,
                                        .kill_s = KILL_S,
                                        .retry_s = RETRY_S,
                                        .replace_s = REPLACE_S};
    return EXIT_DONE;
}

/* Without WAIT, how many events go with a master, on average over many that die. */
static int count_lost(struct cluster_options options, double *lost) {
    static struct cluster_result result;
    *lost = 0;
    options.waits = false;
    options.length_s = 1;
    options.kill_s = 0.5;
    options.detect_s = 0.1;
    for (uint64_t i = 0; i < DEATHS; i++) {
        options.seed = 100 + i;
        int code = simulate_cluster(&options, &result);
        if (code != EXIT_DONE) return code;
        *lost += result.lost / DEATHS;
    }
    return EXIT_DONE;
}

static int run(struct report *report) {
    static struct cluster_result fast, slow;
    double lost = 0;
    struct cluster_options options;
    int code = plan_cluster(&options);
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    options.waits = true;
    options.detect_s = 2 + ELECTION_S;
    if (code == EXIT_DONE) code = simulate_cluster(&options, &fast);
    options.detect_s = 15 + ELECTION_S;
    if (code == EXIT_DONE) code = simulate_cluster(&options, &slow);
    if (code == EXIT_DONE) code = count_lost(options, &lost);
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < SECONDS; i++) {
        REPORT_ROW(report, i, fast.seconds[i].acknowledged / 1e6, fast.seconds[i].p99_s * 1e3,
                   slow.seconds[i].acknowledged / 1e6, slow.seconds[i].p99_s * 1e3);
    }
    double bytes = options.table_bytes * options.partitions / options.masters;
    report_result(report,
                  "%u masters with %u partitions; the new master forks for %.0f ms, and makes a "
                  "snapshot of %.1f GB for %.0f s.",
                  options.masters, options.partitions, bytes * plan_costs.fork_s_per_byte * 1e3,
                  bytes / 1e9, bytes / plan_costs.copy_bytes_per_s);
    report_result(report,
                  "with WAIT 1 no event is lost and none is counted twice: of %.0f M events "
                  "that were sent, %.0f M were applied, in %llu commands that were sent again.",
                  fast.sent / 1e6, fast.applied / 1e6, (unsigned long long)fast.retries);
    report_result(
        report,
        "without WAIT, %.0f events are acknowledged and gone with their master, on average "
        "over %d that die: what it counts in %.2g ms.",
        lost, DEATHS, plan_costs.lag_s * 1e3);
    report_result(report,
                  "of %llu commands that were sent again, %llu had been applied, and their answer "
                  "was lost: they were duplicates.",
                  (unsigned long long)slow.retries, (unsigned long long)slow.repeats);
    return EXIT_DONE;
}

const struct figure figure_scale_failure = {
    .name = "scale-failure",
    .title = "10^12 events a day, and a master that dies",
    .columns = "The cluster that `lethe plan --redis --rate 1T/d --window 1h` asks for. At 10 s a "
               "master dies; it is missed after 2 s or after 15 s (cluster-node-timeout), and its "
               "replica elected within another second. 5 s later a new replica begins to copy it. "
               "WAIT 1.",
    .plot = "set terminal svg size 860,760 font 'Helvetica,14' background 'white'\n"
            "set multiplot layout 2,1\n"
            "set lmargin 10\n"
            "set xrange [0:90]\n"
            "set yrange [10:13]\n"
            "set title '10^{12} events a day: a master dies at 10 s'\n"
            "set ylabel 'million events acknowledged a second'\n"
            "plot data using 'second':'fast' with linespoints ls 1 title 'missed after 2 s', \\\n"
            "     data using 'second':'slow' with linespoints ls 2 title 'missed after 15 s'\n"
            "set title 'Time until 99% are acknowledged'\n"
            "set logscale y\n"
            "set yrange [0.1:*]\n"
            "set format y '%g'\n"
            "set xlabel 'time (s)'\n"
            "set ylabel 'milliseconds'\n"
            "unset key\n"
            "plot data using 'second':'fast_p99_ms' with linespoints ls 1, \\\n"
            "     data using 'second':'slow_p99_ms' with linespoints ls 2\n"
            "unset multiplot\n",
    .run = run,
};
