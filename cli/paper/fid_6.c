/* paper/fid_6.c - Figure 6: how many items have how small an error, drawn by Zipf's law. */
#include "paper/fid.h"

static int run(struct report *report) {
    return fid_run_distribution(report, true);
}

const struct figure figure_fid_6 = {
    .name = "fid-6",
    .title = "how many items have how small an error, drawn by Zipf's law",
    .columns = "The share of items whose relative error is below that, after 10 million insertions "
               "of 100,000 "
               "different items. Each sketch answers from 480,000 bytes.",
    .plot = "set xlabel 'relative error'\n"
            "set ylabel 'share of items with a smaller error (CDF of ARE)'\n"
            "set logscale x\n"
            "set yrange [0:1]\n"
            "set key bottom right inside\n" FID_PLOT("error"),
    .run = run,
};
