/* paper/fid_9.c - Figure 9: the error and the number of arrays. */
#include "paper/fid.h"

static const struct column columns[] = {{"arrays", "arrays", COLUMN_WHOLE}, FID_COLUMNS};

static const uint64_t values[] = {1, 2, 4, 6, 8};

enum { ROWS = sizeof values / sizeof values[0] };

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    fid_stream_begin(&stream, false, FID_ITEMS, FID_LENGTH);
    for (int i = 0; i < ROWS; i++) {
        double *row = rows[i];
        fid_errors_of_all(&stream, FID_WIDTH, (uint32_t)values[i], row);
        REPORT_ROW(report, (double)values[i], row[FID_COUNT], row[FID_COUNT_MIN],
                   row[FID_CONSERVATIVE], row[FID_LOG], row[FID_FID]);
    }
    report_claim(
        report,
        "ARE is almost inversely proportional to the number of arrays and to their size; larger "
        "arrays help more than more of them.");
    report_result(report,
                  "twice the arrays, 8 instead of 4, divide FID's ARE by %.1f, CU's by %.1f and "
                  "CM's by %.1f; see fid-10 for twice the size.",
                  rows[2][FID_FID] / rows[4][FID_FID],
                  rows[2][FID_CONSERVATIVE] / rows[4][FID_CONSERVATIVE],
                  rows[2][FID_COUNT_MIN] / rows[4][FID_COUNT_MIN]);
    return fid_code(&stream);
}

const struct figure figure_fid_9 = {
    .name = "fid-9",
    .title = "the error and the number of arrays",
    .columns = "Average relative error (ARE) after 10 million insertions drawn evenly, and the "
               "number of arrays of 30,000 counters. The IS "
               "part has 300,000 counters an array in every row.",
    .plot = "set xlabel 'arrays'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n" FID_PLOT("arrays"),
    .run = run,
};
