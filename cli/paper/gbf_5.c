/* paper/gbf_5.c - Figure 5: what slots of four bits keep of the gain, as published and with our
 * spacing. */
#include "paper/gbf.h"

enum { SHOWN_AT = 30 };

static const struct column columns[] = {
    {"elements", "elements", COLUMN_WHOLE}, {"published_3", "publ. 3", COLUMN_RATIO},
    {"even_3", "even 3", COLUMN_RATIO},     {"published_4", "publ. 4", COLUMN_RATIO},
    {"even_4", "even 4", COLUMN_RATIO},     {"published_5", "publ. 5", COLUMN_RATIO},
    {"even_5", "even 5", COLUMN_RATIO},     {"double_5", "double 5", COLUMN_RATIO},
};

static double share(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                    uint64_t elements, lethe_status *status) {
    struct gbf_rates rates = gbf_rates_at(slot_bits, spacing, hashes, elements, status);
    return rates.bloom > 0 ? rates.gaussian / rates.bloom : 0;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_status status = LETHE_OK;
    double shown[7] = {0};
    for (uint64_t elements = 5; elements <= 100; elements += 5) {
        double values[7];
        for (uint32_t hashes = 3; hashes <= 5; hashes++) {
            size_t at = 2 * (size_t)(hashes - 3);
            values[at] = share(4, LETHE_GAUSSIAN_SPACING_PUBLISHED, hashes, elements, &status);
            values[at + 1] = share(4, LETHE_GAUSSIAN_SPACING_EVEN, hashes, elements, &status);
        }
        values[6] = share(LETHE_GAUSSIAN_DOUBLE_BITS, LETHE_GAUSSIAN_SPACING_PUBLISHED, 5, elements,
                          &status);
        REPORT_ROW(report, (double)elements, values[0], values[1], values[2], values[3], values[4],
                   values[5], values[6]);
        for (int i = 0; i < 7 && elements == SHOWN_AT; i++)
            shown[i] = values[i];
    }
    report_claim(report, "with four bits the gain is clearly visible for k = 3 but degrades more "
                         "quickly for k = 4 and 5 than with doubles.");
    report_result(report,
                  "at 30 elements four bits leave %.2f, %.2f and %.2f of the Bloom filter's false "
                  "positives for k = 3, 4 and 5; doubles leave %.2f for k = 5.",
                  shown[0], shown[2], shown[4], shown[6]);
    report_result(report,
                  "our even spacing keeps the gain: %.2f, %.2f and %.2f are left in four bits, for "
                  "k = 5 no more than doubles leave as published.",
                  shown[1], shown[3], shown[5]);
    return gbf_code(status);
}

const struct figure figure_gbf_5 = {
    .name = "gbf-5",
    .title = "what slots of four bits keep of the gain, as published and spaced evenly",
    .columns =
        "The share of the Bloom filter's false positives that the Gaussian filter still has: "
        "m = 256 slots of four bits, k = 3, 4 and 5, deviations as published or evenly "
        "spaced, and doubles as published; medians of 101 filters.",
    .plot = "set title 'Figure 5: slots of four bits (m = 256)'\n"
            "set xlabel 'elements'\n"
            "set ylabel \"FPP over the Bloom filter's FPP\"\n"
            "set yrange [0:1]\n"
            "plot data using 'elements':'published_3' with lines ls 1 dt 2 title 'published, k = "
            "3', \\\n"
            "     data using 'elements':'even_3' with linespoints ls 1 title 'even, k = 3', \\\n"
            "     data using 'elements':'published_4' with lines ls 2 dt 2 title 'published, k = "
            "4', \\\n"
            "     data using 'elements':'even_4' with linespoints ls 2 title 'even, k = 4', \\\n"
            "     data using 'elements':'published_5' with lines ls 3 dt 2 title 'published, k = "
            "5', \\\n"
            "     data using 'elements':'even_5' with linespoints ls 3 title 'even, k = 5', \\\n"
            "     data using 'elements':'double_5' with lines ls 5 title 'double, k = 5'\n",
    .run = run,
};
