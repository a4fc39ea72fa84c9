/* paper/cf_3.c - Figure 3: insertions over time into the published cascade filter, ours, and two
 * Bloom filters on the same disk; then what a lookup costs, and what tombstones do. Measures time.
 *
 * cf_runs.h has the sizes. The Bloom filters get ten seconds, which is enough to see how fast they
 * are. */
#include <math.h>
#include <string.h>

#include "frame/exit_code.h"
#include "paper/cf_runs.h"
#include "paper/paper.h"

/* What tombstones cost does not depend on the size, so at most a 32nd of the paper's keys is
 * used. */
enum { ROWS = 1000, TOMBSTONES_SCALE = 32 };

static const struct column columns[] = {
    {"seconds", "seconds", COLUMN_RATIO},           {"published", "published, M", COLUMN_RATIO},
    {"cascade", "ours, M", COLUMN_RATIO},           {"elevator", "elevator, M", COLUMN_RATIO},
    {"traditional", "traditional, M", COLUMN_RATE},
};

struct runs {
    struct course published, ours, elevator, traditional;
    /* The published one without tombstones and with them, on the same keys, fewer perhaps. */
    struct course plain, tombstones;
};

static double end_of(const struct course *course) {
    return course->seconds[course->count - 1];
}

static void add_rows(struct report *report, const struct runs *runs) {
    double end = fmax(fmax(end_of(&runs->published), end_of(&runs->ours)),
                      fmax(end_of(&runs->elevator), end_of(&runs->traditional)));
    for (int i = 1; i <= ROWS; i++) {
        double seconds = i == ROWS ? end : end * i / ROWS;
        REPORT_ROW(report, seconds, course_at(&runs->published, seconds),
                   course_at(&runs->ours, seconds), course_at(&runs->elevator, seconds),
                   course_at(&runs->traditional, seconds));
    }
}

static void report_rates(struct report *report, const struct cf_sizes *sizes,
                         const struct runs *runs) {
    const struct course *published = &runs->published;
    double elevator = runs->elevator.rate, traditional = runs->traditional.rate;
    report_claim(report, "8.59 G keys with 256 MB at an error of 0.04%%: 670,000 insertions a "
                         "second, 40 times an elevator Bloom filter's 17,000 and 3,200 times a "
                         "traditional one's 200.");
    report_result(report,
                  "%.1f M keys with %.1f MiB: the published cascade filter takes %.0f a second, "
                  "%.0f times the elevator's %.0f and %.0f times the traditional one's %.0f. Ours "
                  "takes %.0f.",
                  (double)sizes->keys / 1e6, (double)sizes->memory_bytes / 1048576, published->rate,
                  published->rate / elevator, elevator, published->rate / traditional, traditional,
                  runs->ours.rate);
    report_value(report, "published-inserts-per-second", published->rate);
    report_value(report, "ours-inserts-per-second", runs->ours.rate);
    report_value(report, "elevator-inserts-per-second", elevator);
    report_value(report, "traditional-inserts-per-second", traditional);
    report_value(report, "published-over-elevator", published->rate / elevator);
    report_value(report, "published-over-traditional", published->rate / traditional);
    report_value(report, "elevator-over-traditional", elevator / traditional);
}

/* The largest merge writes level 7 after 64 times QF0: 2^(q + 6) slots of 11 and 3 bits. */
static double largest_merge_bytes(const struct cf_sizes *sizes) {
    return ldexp(14.0 / 8, (int)sizes->quotient_bits + 6);
}

static void report_stalls(struct report *report, const struct cf_sizes *sizes,
                          const struct runs *runs) {
    const struct course *published = &runs->published;
    double at_percent = 100 * published->longest_at / (double)sizes->keys;
    double cpu_percent = 100 * published->cpu_seconds / end_of(published);
    double mb_per_second = largest_merge_bytes(sizes) / published->longest_s / 1e6;
    report_claim(report, "merges stall insertion, longest in the middle, where all levels but one "
                         "go into the largest, at 8.4 MB/s. The filter is bound by the CPU.");
    report_result(report,
                  "the published one's longest merge takes %.3g s when %.0f%% of the keys are in, "
                  "%.0f MB/s; the CPU works %.0f%% of the time. Where it is depends on how full "
                  "QF0 gets, which the paper does not print. Ours merges in steps: its longest "
                  "call, with 4,096 keys, took %.3g ms.",
                  published->longest_s, at_percent, mb_per_second, cpu_percent,
                  1e3 * runs->ours.longest_s);
    report_value(report, "published-longest-stall-seconds", published->longest_s);
    report_value(report, "published-longest-stall-at-percent", at_percent);
    report_value(report, "published-merge-mb-per-second", mb_per_second);
    report_value(report, "published-cpu-percent", cpu_percent);
    report_value(report, "ours-longest-call-ms", 1e3 * runs->ours.longest_s);
}

static double per_lookup(const struct course *course) {
    return (double)course->reads / (double)course->lookups;
}

static double lookup_rate(const struct course *course) {
    return (double)course->lookups / course->lookup_seconds;
}

static void report_lookups(struct report *report, const struct runs *runs) {
    const struct course *published = &runs->published, *bloom = &runs->traditional;
    double read_rate = (double)published->lookups / published->page_seconds;
    double model = read_rate / published->levels;
    report_claim(report,
                 "a lookup of an absent key reads a page of each of the 6 levels, so 3,218 random "
                 "reads a second make 530 lookups; a half full Bloom filter reads 2, which makes "
                 "1,609, three times as many.");
    report_result(report,
                  "%.3f pages in %u levels, and 2 expected, %.3f read of the Bloom filter. By "
                  "turns with lookups the disk made %.0f random reads a second, so the model says "
                  "%.0f; the published filter made %.0f. The Bloom filter made %.0f. Ours reads "
                  "%.1f pages, all at once, and made %.0f.",
                  per_lookup(published), published->levels, per_lookup(bloom), read_rate, model,
                  lookup_rate(published), lookup_rate(bloom), per_lookup(&runs->ours),
                  lookup_rate(&runs->ours));
    report_value(report, "published-levels", published->levels);
    report_value(report, "published-reads-per-lookup", per_lookup(published));
    report_value(report, "bloom-reads-per-lookup", per_lookup(bloom));
    report_value(report, "published-lookups-per-second", lookup_rate(published));
    report_value(report, "bloom-lookups-per-second", lookup_rate(bloom));
    report_value(report, "published-lookups-over-model", lookup_rate(published) / model);
    report_value(report, "published-over-bloom-reads", per_lookup(published) / per_lookup(bloom));
    report_value(report, "ours-lookups-per-second", lookup_rate(&runs->ours));
}

static void report_tombstones(struct report *report, const struct runs *runs) {
    double ratio = runs->plain.cpu_seconds / runs->tombstones.cpu_seconds;
    report_claim(report, "a fourth bit, for tombstones, lowers insertion from 670,000 to 630,000 a "
                         "second, to 0.94; lookups stay as they are.");
    report_result(
        report,
        "to %.2f, by CPU time; a lookup reads %.3f pages. Ours always can remove, and has "
        "no run without.",
        ratio, per_lookup(&runs->tombstones));
    report_value(report, "tombstones-insert-ratio", ratio);
    report_value(report, "tombstones-reads-per-lookup", per_lookup(&runs->tombstones));
}

static int run_tombstones(const struct report *report, const struct cf_sizes *sizes,
                          struct runs *runs) {
    struct cf_sizes fewer = *sizes;
    int code = EXIT_DONE;
    if (report->scale >= TOMBSTONES_SCALE) {
        runs->plain = runs->published;
    } else {
        cf_sizes_for(TOMBSTONES_SCALE, &fewer);
        code = cf_run_published(&fewer, false, &runs->plain);
    }
    return code == EXIT_DONE ? cf_run_published(&fewer, true, &runs->tombstones) : code;
}

static int run(struct report *report) {
    static struct runs runs;
    memset(&runs, 0, sizeof runs);
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct cf_sizes sizes;
    cf_sizes_for(report->scale, &sizes);
    int code = temporary_make("paper", sizes.folder);
    if (code != EXIT_DONE) return code;
    code = cf_run_published(&sizes, false, &runs.published);
    if (code == EXIT_DONE) code = run_tombstones(report, &sizes, &runs);
    if (code == EXIT_DONE) code = cf_run_ours(&sizes, &runs.ours);
    if (code == EXIT_DONE) code = cf_run_bloom(&sizes, true, &runs.elevator);
    if (code == EXIT_DONE) code = cf_run_bloom(&sizes, false, &runs.traditional);
    temporary_remove(sizes.folder);
    if (code != EXIT_DONE) return code;
    add_rows(report, &runs);
    report_rates(report, &sizes, &runs);
    report_stalls(report, &sizes, &runs);
    report_lookups(report, &runs);
    report_tombstones(report, &runs);
    return code;
}

const struct figure figure_cf_3 = {
    .name = "cf-3",
    .title = "insertions over time, the cascade filter and Bloom filters on disk",
    .columns =
        "Million keys inserted after so many seconds: the cascade filter as published, which "
        "merges while insertion waits; ours, where another thread merges; an elevator Bloom "
        "filter, which queues bits in memory and goes over the file when that is full; and "
        "a traditional one, which changes a page for each bit. All have the same memory and "
        "the same error of 0.04%, past the page cache. A fiftieth of the rows is shown. "
        "Measured: these numbers differ from run to run.",
    .plot =
        "set multiplot layout 1,2 title 'Figure 3: insertions over time' font ',17'\n"
        "stats data using 'seconds' nooutput name 'all'\n"
        "stats data using 'seconds':'published' nooutput name 'published'\n"
        "set xlabel 'seconds'\n"
        "set ylabel 'million keys'\n"
        "set title 'merges stall insertion'\n"
        "set xrange [0:published_max_x]\n"
        "set yrange [0:*]\n"
        "set key below center vertical maxrows 3 Left reverse samplen 2\n"
        "plot data using 'seconds':'published' with lines ls 2 title 'cascade filter, published', "
        "\\\n"
        "     data using 'seconds':'cascade' with lines ls 1 title 'cascade filter, ours', \\\n"
        "     0.67 * x with lines dt 3 lw 2 lc rgb '#555555' title \"the paper's 670,000 a "
        "second\"\n"
        "set title 'all four, logarithmic'\n"
        "set logscale xy\n"
        "set xrange [0.01:all_max]\n"
        "set yrange [0.0001:*]\n"
        "set format '%g'\n"
        "set key below center vertical maxrows 3 Left reverse samplen 2 width -3\n"
        "plot data using 'seconds':'published' with lines ls 2 title 'published', \\\n"
        "     data using 'seconds':'cascade' with lines ls 1 title 'ours', \\\n"
        "     data using 'seconds':'elevator' with lines ls 3 title 'elevator Bloom', \\\n"
        "     data using 'seconds':'traditional' with lines ls 4 title 'traditional Bloom', \\\n"
        "     0.67 * x with lines dt 3 lw 2 lc rgb '#555555' title \"the paper's\", \\\n"
        "     0.017 * x with lines dt 3 lw 2 lc rgb '#555555' notitle, \\\n"
        "     0.0002 * x with lines dt 3 lw 2 lc rgb '#555555' notitle\n"
        "unset multiplot\n",
    .run = run,
};
