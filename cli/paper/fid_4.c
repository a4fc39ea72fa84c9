/* paper/fid_4.c - Figure 4: the error while items are inserted, drawn by Zipf's law. */
#include "paper/fid.h"

static int run(struct report *report) {
    return fid_run_insertions(report, true);
}

const struct figure figure_fid_4 = {
    .name = "fid-4",
    .title = "the error while items are inserted, drawn by Zipf's law",
    .columns =
        "Average relative error (ARE) over all items of the Count-sketch, Count-Min (CM), "
        "conservative "
        "update (CU), Count-Min-Log (CML) and FID, after that many million insertions of 100,000 "
        "different items. Each answers from 480,000 bytes: 4 arrays of 30,000 counters.",
    .plot = "set xlabel 'insertions, million'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n"
            "set yrange [0.004:]\n" FID_PLOT("insertions"),
    .run = run,
};
