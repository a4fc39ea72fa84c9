/* paper/fid_10.c - Figure 10: the error and the counters of an array. */
#include "paper/fid.h"

static const struct column columns[] = {{"counters", "counters", COLUMN_WHOLE}, FID_COLUMNS};

static const uint64_t values[] = {10000, 20000, 30000, 40000, 60000};

enum { ROWS = sizeof values / sizeof values[0] };

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    fid_stream_begin(&stream, false, FID_ITEMS, FID_LENGTH);
    for (int i = 0; i < ROWS; i++) {
        double *row = rows[i];
        fid_errors_of_all(&stream, values[i], FID_DEPTH, row);
        REPORT_ROW(report, (double)values[i], row[FID_COUNT], row[FID_COUNT_MIN],
                   row[FID_CONSERVATIVE], row[FID_LOG], row[FID_FID]);
    }
    report_claim(report,
                 "ARE is almost inversely proportional to the number of counters of an array.");
    report_result(report,
                  "twice the counters, 60,000 instead of 30,000, divide FID's ARE by %.1f, CU's by "
                  "%.1f and CM's by %.1f: far more than two.",
                  rows[2][FID_FID] / rows[4][FID_FID],
                  rows[2][FID_CONSERVATIVE] / rows[4][FID_CONSERVATIVE],
                  rows[2][FID_COUNT_MIN] / rows[4][FID_COUNT_MIN]);
    return fid_code(&stream);
}

const struct figure figure_fid_10 = {
    .name = "fid-10",
    .title = "the error and the counters of an array",
    .columns = "Average relative error (ARE) after 10 million insertions drawn evenly, and the "
               "counters in each of 4 arrays. The IS "
               "part has 300,000 counters an array in every row.",
    .plot = "set xlabel 'counters in an array'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n" FID_PLOT("counters"),
    .run = run,
};
