/* paper/fid_5.c - Figure 5: how many items have how small an error, drawn evenly. */
#include "paper/fid.h"

static int run(struct report *report) {
    return fid_run_distribution(report, false);
}

const struct figure figure_fid_5 = {
    .name = "fid-5",
    .title = "how many items have how small an error, drawn evenly",
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
