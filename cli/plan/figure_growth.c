/* figure_growth.c - from a thousand events a second to 10^12 a day: what grows, and how. */
#include <math.h>

#include "frame/exit_code.h"
#include "plan/figures.h"
#include "plan/plan.h"

static const struct column columns[] = {
    {"per_day", "events a day", COLUMN_RATE},       {"cores", "store: cores", COLUMN_RATE},
    {"store_gib", "store: GiB", COLUMN_RATE},       {"hour_gib", "1 h: GiB", COLUMN_RATE},
    {"day_gib", "24 h: GiB", COLUMN_RATE},          {"masters_hour", "1 h: masters", COLUMN_WHOLE},
    {"masters_day", "24 h: masters", COLUMN_WHOLE}, {"replication_gbit", "Gbit/s", COLUMN_RATE},
    {"table_mib", "1 h: MiB/table", COLUMN_RATE},
};

static const double GIB = 1024.0 * 1024 * 1024;
/* A window can be made for 2^36 ids, and a store needs a little more than those of W. */
static const double MOST_IDS = 0x1p36 / 1.2;

static struct plan_wants wants_for(double rate, uint64_t window_ms, bool redis) {
    return (struct plan_wants){.redis = redis,
                               .events_per_s = rate,
                               .window_ms = window_ms,
                               .error = redis ? 1e-9 : 1e-12,
                               .key_bytes = 16,
                               .after_ms = UINT64_C(365) * 86400000,
                               .replicas = 1,
                               .server_memory_bytes = (uint64_t)32 << 30,
                               .batch = 512};
}

static int run(struct report *report) {
    const uint64_t hour_ms = 3600000, day_ms = 86400000;
    struct plan_table hour = {0}, day = {0};
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    for (double power = 8; power < 12.01; power += 0.25) {
        double rate = pow(10, power) / 86400;
        struct plan_wants of_hour = wants_for(rate, hour_ms, true);
        struct plan_wants of_day = wants_for(rate, day_ms, true);
        struct plan_wants of_store = wants_for(rate, day_ms, false);
        int code = plan_table(&of_hour, &hour);
        if (code == EXIT_DONE) code = plan_table(&of_day, &day);
        if (code != EXIT_DONE) return code;
        double cores = plan_counting_s(&of_store) * rate;
        bool is_one = cores <= 1 && rate * 86400 < MOST_IDS;
        lethe_store_needs needs = {0};
        if (is_one) code = plan_store(&of_store, &needs);
        if (code != EXIT_DONE) return code;
        REPORT_ROW(report, pow(10, power), cores, is_one ? (double)needs.memory_bytes / GIB : NAN,
                   (double)hour.used_bytes / GIB, (double)day.used_bytes / GIB,
                   (double)hour.masters, (double)day.masters, hour.replicated_bytes_per_s * 8 / 1e9,
                   (double)hour.partition_bytes / 1024 / 1024);
    }
    report_result(report,
                  "10^12 events a day are %.1f M a second. With W = 1 h that takes %.0f GiB in "
                  "%llu masters, with 24 h %.0f GiB in %llu; %.1f Gbit/s go to the replicas.",
                  TRILLION_A_DAY / 1e6, (double)hour.used_bytes / GIB,
                  (unsigned long long)hour.masters, (double)day.used_bytes / GIB,
                  (unsigned long long)day.masters, hour.replicated_bytes_per_s * 8 / 1e9);
    return EXIT_DONE;
}

const struct figure figure_scale_growth = {
    .name = "scale-growth",
    .title = "what grows with the number of events, up to 10^12 a day",
    .columns =
        "A store (W = 24 h, error 1e-12) as far as one window suffices; servers of 32 GiB with "
        "one replica each (W = 1 h and 24 h, error 1e-9, commands of 512 events).",
    .plot = "set terminal svg size 860,760 font 'Helvetica,14' background 'white'\n"
            "set multiplot layout 2,1\n"
            "set lmargin 12\n"
            "set logscale xy\n"
            "set format xy '10^{%L}'\n"
            "set title 'Memory for the ids'\n"
            "set ylabel 'GiB'\n"
            "plot data using 'per_day':'day_gib' with linespoints ls 2 title 'servers, W = 24 h', "
            "\\\n"
            "     data using 'per_day':'hour_gib' with linespoints ls 1 title 'servers, W = 1 h', "
            "\\\n"
            "     data using 'per_day':'store_gib' with linespoints ls 3 title 'one store, W = 24 "
            "h, as far as one window suffices'\n"
            "set title 'Masters, and what they send to their replicas'\n"
            "set xlabel 'events a day'\n"
            "set ylabel 'masters, or Gbit/s'\n"
            "plot data using 'per_day':'masters_day' with linespoints ls 2 title 'masters, W = 24 "
            "h', \\\n"
            "     data using 'per_day':'masters_hour' with linespoints ls 1 title 'masters, W = 1 "
            "h', \\\n"
            "     data using 'per_day':'replication_gbit' with linespoints ls 4 title 'Gbit/s to "
            "replicas'\n"
            "unset multiplot\n",
    .run = run,
};
