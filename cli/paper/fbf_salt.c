/* paper/fbf_salt.c - no figure of the paper: what identical hash functions do to Equation 3. */
#include "paper/fbf.h"

static const struct column columns[] = {
    {"past", "N", COLUMN_WHOLE},           {"equation_3", "Eq. 3", COLUMN_RATE},
    {"unsalted", "unsalted", COLUMN_RATE}, {"unsalted_ratio", "ratio", COLUMN_RATIO},
    {"salted", "salted", COLUMN_RATE},     {"salted_ratio", "ratio", COLUMN_RATIO},
};

enum { ELEMENTS = 300, REPEATS = 3 };

/* More rounds than the other figures: ratios near 1 need them. */
static struct fbf_rates rates_at(lethe_forgetful_options options, lethe_status *status) {
    struct fbf_rates sum = {0};
    for (uint64_t i = 0; i < REPEATS; i++) {
        struct fbf_rates rates =
            fbf_rates_at(&options, ELEMENTS + i, true, FBF_ROUNDS, FBF_PROBES, status);
        sum.measured += rates.measured / REPEATS;
        sum.estimated += rates.estimated / REPEATS;
    }
    return sum;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    static const uint32_t pasts[] = {1, 4, 10, 16, 22};
    lethe_status status = LETHE_OK;
    double unsalted_at[23] = {0}, salted_at[23] = {0};
    for (size_t i = 0; i < sizeof pasts / sizeof pasts[0]; i++) {
        lethe_forgetful_options options = fbf_options(pasts[i], 5000);
        struct fbf_rates unsalted = rates_at(options, &status);
        options.salted = true;
        struct fbf_rates salted = rates_at(options, &status);
        unsalted_at[pasts[i]] = unsalted.measured / unsalted.estimated;
        salted_at[pasts[i]] = salted.measured / salted.estimated;
        REPORT_ROW(report, pasts[i], unsalted.estimated, unsalted.measured, unsalted_at[pasts[i]],
                   salted.measured, salted_at[pasts[i]]);
    }
    report_claim(report,
                 "the filters err independently of each other (Section IV), though they have the "
                 "same hash functions.");
    report_result(report,
                  "measured over Equation 3, unsalted: %.2f at N = 4, %.2f at N = 10, %.2f at "
                  "N = 22. Neighbours hold the same elements in the same places, so they err "
                  "together.",
                  unsalted_at[4], unsalted_at[10], unsalted_at[22]);
    report_result(report, "with a salt for each filter: %.2f, %.2f, %.2f. That is Lethe's default.",
                  salted_at[4], salted_at[10], salted_at[22]);
    report_value(report, "unsalted-n4-over-equation-3", unsalted_at[4]);
    report_value(report, "unsalted-n10-over-equation-3", unsalted_at[10]);
    report_value(report, "unsalted-n22-over-equation-3", unsalted_at[22]);
    report_value(report, "salted-n4-over-equation-3", salted_at[4]);
    report_value(report, "salted-n10-over-equation-3", salted_at[10]);
    report_value(report, "salted-n22-over-equation-3", salted_at[22]);
    return fbf_code(status);
}

const struct figure figure_fbf_salt = {
    .name = "fbf-salt",
    .title = "measured over estimated false positives, with and without a salt for each filter",
    .columns =
        "An N-FBF in its steady state: m = 6250, k = 5, t = 5 s, 150 elements a period. Three "
        "million probes each.",
    .plot = "set title 'Neighbouring filters err together, unless each has its salt'\n"
            "set xlabel 'number of past filters, N'\n"
            "set ylabel 'measured FPP over Equation 3'\n"
            "set yrange [0:*]\n"
            "set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead dt 3 lc rgb '#000000' lw "
            "1.5\n"
            "set label 1 \"independence, as the paper assumes\" at graph 0.98, first 0.8 right tc "
            "rgb '#555555'\n"
            "plot data using 'past':'unsalted_ratio' with linespoints ls 2 title 'unsalted "
            "(paper)', \\\n"
            "     data using 'past':'salted_ratio' with linespoints ls 1 title 'salted (Lethe)'\n",
    .run = run,
};
