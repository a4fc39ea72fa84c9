/* paper/fid_arrays.c - Figures 9 and 10: the error, and the number and the size of the arrays.
 *
 * Both vary the part that answers. The IS part keeps the paper's 4 arrays of 300,000 counters. The
 * paper draws them for items drawn evenly, and says that those for Zipf's law look alike; they are
 * here as well. */
#include "paper/fid.h"

enum { ROWS = 5, BEFORE = 2, TWICE = 4 };

/* The errors of all kinds of sketch for some shapes, a row each. */
static void measure(struct report *report, struct fid_stream *stream, const uint64_t *values,
                    bool varies_width, double rows[ROWS][FID_KINDS]) {
    for (int i = 0; i < ROWS; i++) {
        fid_errors_of_all(stream, varies_width ? values[i] : FID_WIDTH,
                          varies_width ? FID_DEPTH : (uint32_t)values[i], rows[i]);
        fid_row(report, (double)values[i], rows[i]);
    }
}

/* By how much the error of a kind is divided when its value is doubled. */
static double gain(double rows[ROWS][FID_KINDS], enum fid_kind kind) {
    return rows[BEFORE][kind] / rows[TWICE][kind];
}

static void report_errors(struct report *report, const char *const names[ROWS],
                          double rows[ROWS][FID_KINDS]) {
    for (int i = 0; i < ROWS; i++)
        report_value(report, names[i], rows[i][FID_FID]);
}

static int run_number(struct report *report, double skew) {
    static const struct column columns[] = {{"arrays", "arrays", COLUMN_WHOLE}, FID_COLUMNS};
    static const uint64_t values[ROWS] = {1, 2, 4, 6, 8};
    static const char *const names[ROWS] = {"fid-error-1-array", "fid-error-2-arrays",
                                            "fid-error-4-arrays", "fid-error-6-arrays",
                                            "fid-error-8-arrays"};
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    fid_stream_begin(&stream, skew, FID_ITEMS, FID_LENGTH);
    measure(report, &stream, values, false, rows);
    report_claim(
        report,
        "ARE is almost inversely proportional to the number of arrays and to their size; larger "
        "arrays help more than more of them.");
    report_result(report,
                  "twice the arrays, 8 instead of 4, divide FID's ARE by %.1f, CU's by %.1f and "
                  "CM's by %.1f; see fid-10 for twice the size.",
                  gain(rows, FID_FID), gain(rows, FID_CONSERVATIVE), gain(rows, FID_COUNT_MIN));
    report_errors(report, names, rows);
    report_value(report, "fid-divided-by-twice-the-arrays", gain(rows, FID_FID));
    return fid_code(&stream);
}

static int run_size(struct report *report, double skew) {
    static const struct column columns[] = {{"counters", "counters", COLUMN_WHOLE}, FID_COLUMNS};
    static const uint64_t values[ROWS] = {10000, 20000, 30000, 40000, 60000};
    static const char *const names[ROWS] = {"fid-error-10k-counters", "fid-error-20k-counters",
                                            "fid-error-30k-counters", "fid-error-40k-counters",
                                            "fid-error-60k-counters"};
    double rows[ROWS][FID_KINDS] = {{0}};
    struct fid_stream stream;
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    fid_stream_begin(&stream, skew, FID_ITEMS, FID_LENGTH);
    measure(report, &stream, values, true, rows);
    report_claim(report,
                 "ARE is almost inversely proportional to the number of counters of an array.");
    report_result(report,
                  "twice the counters, 60,000 instead of 30,000, divide FID's ARE by %.1f, CU's by "
                  "%.1f and CM's by %.1f: more than two.",
                  gain(rows, FID_FID), gain(rows, FID_CONSERVATIVE), gain(rows, FID_COUNT_MIN));
    report_errors(report, names, rows);
    report_value(report, "fid-divided-by-twice-the-counters", gain(rows, FID_FID));
    return fid_code(&stream);
}

static int run_number_even(struct report *report) {
    return run_number(report, FID_EVEN);
}

static int run_number_zipf(struct report *report) {
    return run_number(report, FID_ZIPF);
}

static int run_size_even(struct report *report) {
    return run_size(report, FID_EVEN);
}

static int run_size_zipf(struct report *report) {
    return run_size(report, FID_ZIPF);
}

#define ARRAYS_TEXT(drawn)                                                                         \
    "Average relative error (ARE) after 10 million insertions drawn " drawn ", and the number of " \
    "arrays that answer, of 30,000 counters each. The IS part of FID has 4 arrays of 300,000 "     \
    "counters in every row. CML, 2w has twice the counters, of half the size."

#define SIZE_TEXT(drawn)                                                                           \
    "Average relative error (ARE) after 10 million insertions drawn " drawn ", and the counters "  \
    "in each of the 4 arrays that answer. The IS part of FID has 4 arrays of 300,000 counters in " \
    "every row. CML, 2w has twice the counters, of half the size."

#define PLOT(title)                         \
    "set title '" title "'\n"               \
    "set ylabel 'average relative error'\n" \
    "set logscale y\n"                      \
    "set format y '%g'\n"

#define NUMBER_PLOT(paper)              \
    "$paper << END\n4," paper "\nEND\n" \
    "set xlabel 'arrays that answer'\n" \
    "set xrange [0.7:8.3]\n" FID_PLOT("arrays") FID_PAPER

#define SIZE_PLOT(paper)                    \
    "$paper << END\n30000," paper "\nEND\n" \
    "set xlabel 'counters in an array'\n"   \
    "set xrange [8000:62000]\n" FID_PLOT("counters") FID_PAPER

const struct figure figure_fid_9 = {
    .name = "fid-9",
    .title = "the error and the number of arrays",
    .columns = ARRAYS_TEXT("evenly"),
    .plot = PLOT("Figure 9: the error and the number of arrays, items drawn evenly")
        NUMBER_PLOT("0.043"),
    .run = run_number_even,
};

const struct figure figure_fid_9_zipf = {
    .name = "fid-9-zipf",
    .title = "the error and the number of arrays, items drawn by Zipf's law",
    .columns = ARRAYS_TEXT("by Zipf's law"),
    .plot = PLOT("Figure 9, by the law of Zipf: the error and the number of arrays")
        NUMBER_PLOT("0.57"),
    .run = run_number_zipf,
};

const struct figure figure_fid_10 = {
    .name = "fid-10",
    .title = "the error and the counters of an array",
    .columns = SIZE_TEXT("evenly"),
    .plot = PLOT("Figure 10: the error and the counters of an array, items drawn evenly")
        SIZE_PLOT("0.043"),
    .run = run_size_even,
};

const struct figure figure_fid_10_zipf = {
    .name = "fid-10-zipf",
    .title = "the error and the counters of an array, items drawn by Zipf's law",
    .columns = SIZE_TEXT("by Zipf's law"),
    .plot = PLOT("Figure 10, by the law of Zipf: the error and the counters of an array")
        SIZE_PLOT("0.57"),
    .run = run_size_zipf,
};
