/* paper/gbf_5.c - Figure 5: slots of four bits; and what our spacing keeps of the gain. */
#include "paper/gbf.h"

enum { LEAST = 3, MOST = 5, PANELS = MOST - LEAST + 1, SHOWN_AT = 30 };

static const struct column columns[] = {
    {"hashes", "hashes", COLUMN_WHOLE}, {"elements", "elements", COLUMN_WHOLE}, GBF_COLUMNS};

/* The share of the Bloom filter's false positives that is left. */
static double share(const struct gbf_rates *rates) {
    return rates->bloom.median > 0 ? rates->gaussian.median / rates->bloom.median : 0;
}

static double share_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                       lethe_status *status) {
    struct gbf_rates rates = gbf_medians_at(slot_bits, spacing, hashes, SHOWN_AT, status);
    return share(&rates);
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_status status = LETHE_OK;
    double published[PANELS] = {0}, even[PANELS], doubles[PANELS];
    for (uint32_t hashes = LEAST; hashes <= MOST; hashes++) {
        uint32_t i = hashes - LEAST;
        for (uint64_t elements = 5; elements <= 100; elements += 5) {
            struct gbf_rates rates =
                gbf_rates_at(4, LETHE_GAUSSIAN_SPACING_PUBLISHED, hashes, elements, &status);
            gbf_row(report, hashes, (double)elements, &rates);
            if (elements == SHOWN_AT) published[i] = share(&rates);
        }
        even[i] = share_at(4, LETHE_GAUSSIAN_SPACING_EVEN, hashes, &status);
        doubles[i] =
            share_at(LETHE_GAUSSIAN_DOUBLE_BITS, LETHE_GAUSSIAN_SPACING_PUBLISHED, hashes, &status);
    }
    report_claim(report, "with four bits the gain is clearly visible for k = 3 but degrades more "
                         "quickly for k = 4 and 5 than with doubles.");
    report_result(report,
                  "at 30 elements four bits leave %.2f, %.2f and %.2f of the Bloom filter's false "
                  "positives for k = 3, 4 and 5; doubles leave %.2f, %.2f and %.2f.",
                  published[0], published[1], published[2], doubles[0], doubles[1], doubles[2]);
    report_result(report,
                  "our even spacing keeps the gain: %.2f, %.2f and %.2f are left in four bits, for "
                  "k = 5 no more than doubles leave as published.",
                  even[0], even[1], even[2]);
    report_value(report, "left-at-30-k3-share", published[0]);
    report_value(report, "left-at-30-k4-share", published[1]);
    report_value(report, "left-at-30-k5-share", published[2]);
    report_value(report, "left-at-30-k5-doubles-share", doubles[2]);
    report_value(report, "left-at-30-k5-even-share", even[2]);
    return gbf_code(status);
}

const struct figure figure_gbf_5 = {
    .name = "gbf-5",
    .title = "false positives with slots of four bits",
    .columns =
        "False-positive rates of a Bloom filter (BF) and a Gaussian one (GBF): m = 256 slots "
        "of four bits, deviations as published. Medians of 501 filters, and the quartiles "
        "that 1,000 questions to each of them show.",
    .plot = GBF_PANELS("Figure 5: false positives with slots of four bits (m = 256)",
                       "elements") "set xtics 25\n" GBF_PANEL("hashes", "elements", "3", "k = 3")
        GBF_SECOND GBF_PANEL("hashes", "elements", "4", "k = 4")
            GBF_THIRD GBF_PANEL("hashes", "elements", "5", "k = 5") GBF_LEGEND(GBF_QUARTILES),
    .run = run,
};
