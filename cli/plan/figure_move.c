/* figure_move.c - masters are added while events come, and tables move to them. */
#include "frame/exit_code.h"
#include "plan/figures.h"

static const struct column columns[] = {
    {"second", "second", COLUMN_WHOLE},       {"small", "64 MiB: M/s", COLUMN_RATIO},
    {"small_p99_ms", "p99 ms", COLUMN_RATIO}, {"large", "1 GiB: M/s", COLUMN_RATIO},
    {"large_p99_ms", "p99 ms", COLUMN_RATIO},
};

enum { SECONDS = 150, BEGIN_S = 10, MASTERS = 8, ADDED = 2, BATCH = 512, SMALL = 640, LARGE = 40 };
#define BUSY 0.6
#define ALL_BYTES (40.0 * 1024 * 1024 * 1024)

/* The same data, in few large tables or in many small ones. */
static struct cluster_options options_for(unsigned partitions) {
    double takes_s = plan_costs.event_s + plan_costs.command_s / BATCH;
    return (struct cluster_options){.seed = 4,
                                    .costs = plan_costs,
                                    .masters = MASTERS,
                                    .partitions = partitions,
                                    .events_per_s = BUSY * MASTERS / takes_s,
                                    .events_per_command = BATCH,
                                    .length_s = SECONDS,
                                    .table_bytes = ALL_BYTES / partitions,
                                    .move_s = BEGIN_S,
                                    .move_pause_s = 0.1,
                                    .added = ADDED};
}

static double worst_ms(const struct cluster_result *result) {
    double worst = 0;
    for (int i = BEGIN_S; i < SECONDS; i++) {
        if (result->seconds[i].p99_s > worst) worst = result->seconds[i].p99_s;
    }
    return worst * 1e3;
}

static int run(struct report *report) {
    static struct cluster_result small, large;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct cluster_options many = options_for(SMALL), few = options_for(LARGE);
    int code = simulate_cluster(&many, &small);
    if (code == EXIT_DONE) code = simulate_cluster(&few, &large);
    if (code != EXIT_DONE) return code;
    for (int i = 0; i < SECONDS; i++) {
        REPORT_ROW(report, i, small.seconds[i].acknowledged / 1e6, small.seconds[i].p99_s * 1e3,
                   large.seconds[i].acknowledged / 1e6, large.seconds[i].p99_s * 1e3);
    }
    report_result(report,
                  "one table of 1 GiB holds two servers up for %.1f s, one of 64 MiB for %.0f ms; "
                  "in the worst second, 99%% were answered within %.0f ms and %.0f ms.",
                  few.table_bytes / plan_costs.move_bytes_per_s,
                  many.table_bytes / plan_costs.move_bytes_per_s * 1e3, worst_ms(&large),
                  worst_ms(&small));
    report_result(report, "%llu small tables moved, and %llu large ones; no event was lost.",
                  (unsigned long long)small.moved, (unsigned long long)large.moved);
    return EXIT_DONE;
}

const struct figure figure_scale_move = {
    .name = "scale-move",
    .title = "tables that move to new masters, small ones and large ones",
    .columns =
        "Eight masters, busy for 60% of their time, with 40 GiB in 640 tables or in 40. From "
        "10 s on, tables move to two new masters, one after the other, with 0.1 s between.",
    .plot = "set terminal svg size 860,760 font 'Helvetica,14' background 'white'\n"
            "set multiplot layout 2,1\n"
            "set lmargin 10\n"
            "set xrange [0:150]\n"
            "set yrange [0:*]\n"
            "set title 'From 10 s on, tables move from eight masters to two new ones'\n"
            "set ylabel 'million events acknowledged a second'\n"
            "plot data using 'second':'small' with lines ls 1 title '640 tables of 64 MiB', \\\n"
            "     data using 'second':'large' with lines ls 2 title '40 tables of 1 GiB'\n"
            "set title 'Time until 99% are acknowledged'\n"
            "set logscale y\n"
            "set yrange [0.1:*]\n"
            "set format y '%g'\n"
            "set xlabel 'time (s)'\n"
            "set ylabel 'milliseconds'\n"
            "unset key\n"
            "plot data using 'second':'small_p99_ms' with lines ls 1, \\\n"
            "     data using 'second':'large_p99_ms' with lines ls 2\n"
            "unset multiplot\n",
    .run = run,
};
