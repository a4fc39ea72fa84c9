/* figure_queue.c - how long commands wait at one server, the busier it is.
 *
 * Theory: if commands arrive at random and each takes the time s, a server that is busy for the
 * share r of its time lets them wait for r s / (2 (1 - r)) on average (Pollaczek and Khinchine). */
#include <math.h>

#include "frame/exit_code.h"
#include "plan/figures.h"

static const struct column columns[] = {
    {"busy_percent", "busy %", COLUMN_WHOLE},       {"events_k", "k events/s", COLUMN_TENTH},
    {"wait_us", "wait us", COLUMN_TENTH},           {"theory_us", "theory us", COLUMN_TENTH},
    {"single_p99_us", "1 event p99", COLUMN_TENTH}, {"batch_k", "k events/s", COLUMN_TENTH},
    {"batch_wait_us", "512: wait", COLUMN_TENTH},   {"batch_p99_us", "512: p99", COLUMN_TENTH},
};

enum { BATCH = 512, COMMANDS = 400000 };

static struct cluster_options options_for(double busy, uint32_t events) {
    double takes_s = plan_costs.command_s + events * plan_costs.event_s;
    struct cluster_options options = {.seed = 1,
                                      .costs = plan_costs,
                                      .masters = 1,
                                      .partitions = 1,
                                      .events_per_command = events,
                                      .events_per_s = busy / takes_s * events};
    options.length_s = fmin(COMMANDS * takes_s / busy, CLUSTER_MOST_SECONDS);
    return options;
}

static int run(struct report *report) {
    static struct cluster_result single, batch;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double worst = 0;
    for (int percent = 5; percent <= 95; percent += percent < 90 ? 5 : 1) {
        double busy = percent / 100.0, takes_s = plan_costs.command_s + plan_costs.event_s;
        struct cluster_options one = options_for(busy, 1), many = options_for(busy, BATCH);
        int code = simulate_cluster(&one, &single);
        if (code == EXIT_DONE) code = simulate_cluster(&many, &batch);
        if (code != EXIT_DONE) return code;
        double theory = busy * takes_s / (2 * (1 - busy));
        worst = fmax(worst, fabs(single.mean_wait_s / theory - 1));
        REPORT_ROW(report, percent, one.events_per_s / 1e3, single.mean_wait_s * 1e6, theory * 1e6,
                   single.p99_s * 1e6, many.events_per_s / 1e3, batch.mean_wait_s * 1e6,
                   batch.p99_s * 1e6);
    }
    report_result(report, "the simulated mean wait differs from that of theory by %.1f%% at most.",
                  worst * 100);
    report_result(report,
                  "a server that has half of its time to spare lets few commands wait; at 90%% and "
                  "more, small differences in load become long queues.");
    return EXIT_DONE;
}

const struct figure figure_scale_queue = {
    .name = "scale-queue",
    .title = "waiting at one server, the busier it is, beside queueing theory",
    .columns =
        "One server, commands at random moments; p99 is from sending to the answer. Commands "
        "of one event, and of 512.",
    .plot =
        "set title 'Commands at one server, the busier it is'\n"
        "set logscale y\n"
        "set format y '10^{%L}'\n"
        "set xlabel 'busy (%)'\n"
        "set ylabel 'microseconds'\n"
        "set key below left vertical maxrows 3\n"
        "plot data using 'busy_percent':'batch_p99_us' with linespoints ls 2 title '512 events: "
        "99% are answered within', \\\n"
        "     data using 'busy_percent':'batch_wait_us' with linespoints ls 4 title '512 "
        "events: mean wait', \\\n"
        "     data using 'busy_percent':'single_p99_us' with linespoints ls 3 title '1 event: "
        "99% are answered within', \\\n"
        "     data using 'busy_percent':'wait_us' with points ls 1 title '1 event: mean wait', "
        "\\\n"
        "     data using 'busy_percent':'theory_us' with lines ls 6 title '1 event: mean wait by "
        "theory (M/D/1)'\n",
    .run = run,
};
