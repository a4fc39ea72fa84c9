/* paper/fid_8.c - Figure 8: the error while items are deleted, drawn by Zipf's law. */
#include "paper/fid.h"

static int run(struct report *report) {
    return fid_run_deletions(report, true);
}

const struct figure figure_fid_8 = {
    .name = "fid-8",
    .title = "the error while items are deleted, drawn by Zipf's law",
    .columns = "Average relative error (ARE) over the items still there, after 10 million "
               "insertions and then that "
               "many million deletions, oldest first. CU deletes with the help of a DS part, as "
               "the paper has "
               "it; CML cannot.",
    .plot =
        "set xlabel 'deletions after 10 million insertions, million'\n"
        "set ylabel 'ARE'\n"
        "set logscale y\n"
        "plot data using \"deletions\":\"count\" with linespoints ls 5 title 'Count', \\\n"
        "     data using \"deletions\":\"count_min\" with linespoints ls 1 title 'CM', \\\n"
        "     data using \"deletions\":\"conservative\" with linespoints ls 3 title 'CU + DS', \\\n"
        "     data using \"deletions\":\"fid\" with linespoints ls 2 title 'FID'\n",
    .run = run,
};
