/* paper/fid_arrays.c - Figures 9 and 10: the error, and the number and the size of the arrays. */
#include "paper/fid.h"

enum { ROWS = 5, BEFORE = 2, TWICE = 4 };

/* The errors of all kinds of sketch for some shapes, a row each. */
static void measure(struct report *report, struct fid_stream *stream, const uint64_t *values,
                    bool varies_width, double rows[ROWS][FID_KINDS]) {
    fid_stream_begin(stream, false, FID_ITEMS, FID_LENGTH);
    for (int i = 0; i < ROWS; i++) {
        double *row = rows[i];
        fid_errors_of_all(stream, varies_width ? values[i] : FID_WIDTH,
                          varies_width ? FID_DEPTH : (uint32_t)values[i], row);
        REPORT_ROW(report, (double)values[i], row[FID_COUNT], row[FID_COUNT_MIN],
                   row[FID_CONSERVATIVE], row[FID_LOG], row[FID_FID]);
    }
}

/* By how much the error of a kind is divided when its value is doubled. */
static double gain(double rows[ROWS][FID_KINDS], enum fid_kind kind) {
    return rows[BEFORE][kind] / rows[TWICE][kind];
}

static int run_number(struct report *report) {
    static const struct column columns[] = {{"arrays", "arrays", COLUMN_WHOLE}, FID_COLUMNS};
    static const uint64_t values[ROWS] = {1, 2, 4, 6, 8};
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    measure(report, &stream, values, false, rows);
    report_claim(
        report,
        "ARE is almost inversely proportional to the number of arrays and to their size; larger "
        "arrays help more than more of them.");
    report_result(report,
                  "twice the arrays, 8 instead of 4, divide FID's ARE by %.1f, CU's by %.1f and "
                  "CM's by %.1f; see fid-10 for twice the size.",
                  gain(rows, FID_FID), gain(rows, FID_CONSERVATIVE), gain(rows, FID_COUNT_MIN));
    return fid_code(&stream);
}

static int run_size(struct report *report) {
    static const struct column columns[] = {{"counters", "counters", COLUMN_WHOLE}, FID_COLUMNS};
    static const uint64_t values[ROWS] = {10000, 20000, 30000, 40000, 60000};
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    measure(report, &stream, values, true, rows);
    report_claim(report,
                 "ARE is almost inversely proportional to the number of counters of an array.");
    report_result(report,
                  "twice the counters, 60,000 instead of 30,000, divide FID's ARE by %.1f, CU's by "
                  "%.1f and CM's by %.1f: far more than two.",
                  gain(rows, FID_FID), gain(rows, FID_CONSERVATIVE), gain(rows, FID_COUNT_MIN));
    return fid_code(&stream);
}

const struct figure figure_fid_9 = {
    .name = "fid-9",
    .title = "the error and the number of arrays",
    .columns = "Average relative error (ARE) after 10 million insertions drawn evenly, and the "
               "number of arrays of 30,000 counters. The IS part has 300,000 counters an array in "
               "every row.",
    .plot = "set xlabel 'arrays'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n" FID_PLOT("arrays"),
    .run = run_number,
};

const struct figure figure_fid_10 = {
    .name = "fid-10",
    .title = "the error and the counters of an array",
    .columns = "Average relative error (ARE) after 10 million insertions drawn evenly, and the "
               "counters in each of 4 arrays. The IS part has 300,000 counters an array in every "
               "row.",
    .plot = "set xlabel 'counters in an array'\n"
            "set ylabel 'ARE'\n"
            "set logscale y\n" FID_PLOT("counters"),
    .run = run_size,
};
