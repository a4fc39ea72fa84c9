/* paper/fid_11.c - Figure 11: the error and the number of different items. */
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {{"items", "items", COLUMN_WHOLE}, FID_COLUMNS};

static const uint64_t values[] = {20000, 50000, 100000, 200000, 250000};

enum { ROWS = sizeof values / sizeof values[0] };

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double rows[ROWS][FID_KINDS] = {{0}};
    int lowest = 0, code = EXIT_DONE;
    for (int i = 0; i < ROWS && code == EXIT_DONE; i++) {
        struct fid_stream stream;
        double *row = rows[i];
        fid_stream_begin(&stream, false, (uint32_t)values[i], FID_LENGTH);
        fid_errors_of_all(&stream, FID_WIDTH, FID_DEPTH, row);
        code = fid_code(&stream);
        REPORT_ROW(report, (double)values[i], row[FID_COUNT], row[FID_COUNT_MIN],
                   row[FID_CONSERVATIVE], row[FID_LOG], row[FID_FID]);
        bool is_lowest = true;
        for (int kind = 0; kind < FID_FID; kind++)
            is_lowest = is_lowest && row[FID_FID] <= row[kind];
        lowest += is_lowest;
    }
    report_claim(report,
                 "all AREs rise almost linearly with the different items, FID's the slowest.");
    report_result(report,
                  "from 100,000 to 200,000 items CM's rises by %.2f, CU's by %.2f and FID's by "
                  "%.2f; FID's is the "
                  "lowest in %d of %d rows.",
                  rows[3][FID_COUNT_MIN] - rows[2][FID_COUNT_MIN],
                  rows[3][FID_CONSERVATIVE] - rows[2][FID_CONSERVATIVE],
                  rows[3][FID_FID] - rows[2][FID_FID], lowest, ROWS);
    return code;
}

const struct figure figure_fid_11 = {
    .name = "fid-11",
    .title = "the error and the number of different items",
    .columns = "Average relative error (ARE) after 10 million insertions drawn evenly, and the "
               "different items in 10 million insertions. The IS "
               "part has 300,000 counters an array in every row.",
    .plot = "set xlabel 'different items'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n" FID_PLOT("items"),
    .run = run,
};
