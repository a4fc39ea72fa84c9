/* paper/fid_3.c - Figure 3: the error while items are inserted, drawn evenly. */
#include "paper/fid.h"

static int run(struct report *report) {
    return fid_run_insertions(report, false);
}

const struct figure figure_fid_3 = {
    .name = "fid-3",
    .title = "the error while items are inserted, drawn evenly",
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
