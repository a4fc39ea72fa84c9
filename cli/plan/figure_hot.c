/* figure_hot.c - what more masters bring, where tables are spread by id, and where by key.
 *
 * Keys follow Zipf's law: the n-th most frequent of a million has a share of 1/n. By id, the events
 * of every key fall on all partitions. By key, those of one key fall on one. */

#include "frame/exit_code.h"
#include "lethe/hash.h"
#include "plan/figures.h"

static const struct column columns[] = {
    {"masters", "masters", COLUMN_WHOLE},
    {"by_id", "by id M/s", COLUMN_RATIO},
    {"by_key", "by key M/s", COLUMN_RATIO},
    {"hottest", "one key M/s", COLUMN_RATIO},
    {"by_id_p99_ms", "by id p99 ms", COLUMN_RATIO},
    {"by_key_p99_ms", "by key p99 ms", COLUMN_RATIO},
};

enum { KEYS = 1000000, BATCH = 512, SECONDS = 4, PARTITIONS_A_MASTER = 8 };
#define BUSY 0.7

/* What share of all events each partition gets, by key. */
static void fill_shares(double *shares, unsigned partitions) {
    for (unsigned i = 0; i < partitions; i++)
        shares[i] = 0;
    for (uint64_t key = 1; key <= KEYS; key++)
        shares[lethe_hash_u64(7, key).low % partitions] += 1.0 / (double)key;
}

/* What share of all events is that of the most frequent key. */
static double hottest_share(void) {
    double sum = 0;
    for (uint64_t key = 1; key <= KEYS; key++)
        sum += 1.0 / (double)key;
    return 1 / sum;
}

static int run(struct report *report) {
    static struct cluster_result by_id, by_key;
    static double shares[CLUSTER_MOST_PARTITIONS];
    static const unsigned all[] = {1, 2, 4, 8, 16, 32, 64};
    double takes_s = plan_costs.event_s + plan_costs.command_s / BATCH;
    double limit = 1 / takes_s / hottest_share() / 1e6, last_id = 0, last_key = 0;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct cluster_options options = {.seed = 2,
                                          .costs = plan_costs,
                                          .masters = all[i],
                                          .partitions = all[i] * PARTITIONS_A_MASTER,
                                          .events_per_command = BATCH,
                                          .events_per_s = BUSY * all[i] / takes_s,
                                          .length_s = SECONDS};
        int code = simulate_cluster(&options, &by_id);
        fill_shares(shares, options.partitions);
        options.shares = shares;
        if (code == EXIT_DONE) code = simulate_cluster(&options, &by_key);
        if (code != EXIT_DONE) return code;
        last_id = options.events_per_s / by_id.busiest / 1e6;
        last_key = options.events_per_s / by_key.busiest / 1e6;
        REPORT_ROW(report, all[i], last_id, last_key, limit, by_id.p99_s * 1e3, by_key.p99_s * 1e3);
    }
    report_result(
        report,
        "by id, 64 masters can be asked for %.1f M events a second before the busiest has "
        "no time left; by key, for %.1f M.",
        last_id, last_key);
    report_result(report,
                  "no number of masters goes beyond %.1f M a second by key: the most frequent key "
                  "has %.1f%% of all events, and one master.",
                  limit, hottest_share() * 100);
    return EXIT_DONE;
}

const struct figure figure_scale_hot = {
    .name = "scale-hot",
    .title = "what more masters bring, spread by id and by key",
    .columns =
        "The events a second at which the busiest master has no time left, by a simulation at "
        "70% of what all masters could do together; a million keys by Zipf's law, commands of "
        "512 events, eight partitions for each master. One key: what a master can do divided by "
        "the share of the most frequent key. p99: how long commands take in that simulation.",
    .plot =
        "set title 'Events that masters can count, by what the table is spread'\n"
        "set logscale xy 2\n"
        "set xlabel 'masters'\n"
        "set ylabel 'million events a second, at most'\n"
        "set key top left inside vertical Left reverse\n"
        "plot data using 'masters':'by_id' with linespoints ls 1 title 'by id', \\\n"
        "     data using 'masters':'by_key' with linespoints ls 2 title \"by key, keys by "
        "Zipf's law\", \\\n"
        "     data using 'masters':'hottest' with lines ls 6 dt 2 title 'the master of the most "
        "frequent key'\n",
    .run = run,
};
