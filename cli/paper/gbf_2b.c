/* paper/gbf_2b.c - Figure 2(b): the Gaussian by Schraudolph's exponential beside the exact one. */
#include <math.h>

#include "paper/gbf.h"

enum { HASHES = 16, STEP = 4 };

static const struct column columns[] = {
    {"deviations", "sigma", COLUMN_RATIO},
    {"exact", "exact", COLUMN_RATE},
    {"fast", "fast", COLUMN_RATE},
    {"off_percent", "off %", COLUMN_TENTH},
};

/* The widest bell of a filter made with this exponential, in *out. */
static lethe_status make(lethe_gaussian_exponential exponential, lethe_gaussian **out) {
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = GBF_SLOTS, .hashes = HASHES,
                      .slot_bits = LETHE_GAUSSIAN_DOUBLE_BITS,
                      .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED, .exponential = exponential);
    return lethe_gaussian_new(&options, out);
}

static void compare(struct report *report, const lethe_gaussian *exact,
                    const lethe_gaussian *fast) {
    double most = 0, sum = 0;
    for (uint64_t distance = 0; distance <= UINT64_C(3) * HASHES; distance += STEP) {
        double a = lethe_gaussian_bell(exact, HASHES, distance);
        double b = lethe_gaussian_bell(fast, HASHES, distance);
        double off = fabs(b / a - 1);
        REPORT_ROW(report, (double)distance / HASHES, a, b, 100 * off);
        most = fmax(most, off);
        sum += off;
    }
    report_claim(report, "within three deviations the fast Gaussian follows the exact one; beyond, "
                         "the approximation quickly degrades. It is about 30 times faster than "
                         "Java's library.");
    report_result(
        report,
        "it is at most %.1f%% off, %.1f%% on average. Here the exponential is only used to "
        "make the tables of a filter, and the exact one is the default; gbf-speed measures it.",
        100 * most, 100 * sum / (3.0 * HASHES / STEP + 1));
    report_value(report, "most-off-percent", 100 * most);
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_gaussian *exact = NULL, *fast = NULL;
    lethe_status status = make(LETHE_GAUSSIAN_EXPONENTIAL_EXACT, &exact);
    if (status == LETHE_OK) status = make(LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH, &fast);
    if (status == LETHE_OK) compare(report, exact, fast);
    lethe_gaussian_free(exact);
    lethe_gaussian_free(fast);
    report_value(report, "at-three-sigma", exp(-4.5));
    return gbf_code(status);
}

const struct figure figure_gbf_2b = {
    .name = "gbf-2b",
    .title = "the Gaussian by Schraudolph's exponential beside the exact one",
    .columns =
        "The bell of hash function 16, whose deviation is 16 slots, from its middle to three "
        "deviations. The picture is symmetric.",
    .plot = "set title 'Figure 2(b): the Gaussian by the fast exponential'\n"
            "set xlabel 'distance in deviations'\n"
            "set ylabel 'level'\n"
            "set xrange [-3.1:3.1]\n"
            "set yrange [0:1.05]\n"
            "plot exp(-x**2 / 2) with lines ls 1 title 'exact', \\\n"
            "     data using 'deviations':'fast' with points ls 2 ps 1.2 title 'by the exponential "
            "of Schraudolph', \\\n"
            "     data using (-column('deviations')):'fast' with points ls 2 ps 1.2 notitle\n",
    .run = run,
};
