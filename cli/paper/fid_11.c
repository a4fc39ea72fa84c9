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
        fid_stream_begin(&stream, FID_EVEN, (uint32_t)values[i], FID_LENGTH);
        fid_errors_of_all(&stream, FID_WIDTH, FID_DEPTH, row);
        code = fid_code(&stream);
        fid_row(report, (double)values[i], row);
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
    report_value(report, "fid-lowest-rows", lowest);
    report_value(report, "fid-rise-100k-to-200k", rows[3][FID_FID] - rows[2][FID_FID]);
    report_value(report, "cm-rise-100k-to-200k", rows[3][FID_COUNT_MIN] - rows[2][FID_COUNT_MIN]);
    report_value(report, "cu-rise-100k-to-200k",
                 rows[3][FID_CONSERVATIVE] - rows[2][FID_CONSERVATIVE]);
    return code;
}

const struct figure figure_fid_11 = {
    .name = "fid-11",
    .title = "the error and the number of different items",
    .columns =
        "Average relative error (ARE) after 10 million insertions drawn evenly, and how many "
        "different items there are. All sketches have 4 arrays of 30,000 counters (CML, 2w: "
        "of 60,000), the IS part of FID 4 of 300,000.",
    .plot = "set title 'Figure 11: the error and the number of different items'\n"
            "$paper << END\n100000,0.043\nEND\n"
            "set xlabel 'different items, thousand'\n"
            "set ylabel 'average relative error'\n"
            "set logscale y\n"
            "set format y '%g'\n"
            "set xtics ('20' 20000, '50' 50000, '100' 100000, '150' 150000, '200' 200000, '250' "
            "250000)\n" FID_PLOT("items") FID_PAPER,
    .run = run,
};
