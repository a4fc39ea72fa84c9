/* paper/fid_deletions.c - Figures 7 and 8: the error while items are deleted again. */
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {
    {"deletions", "million", COLUMN_WHOLE}, {"count", "Count", COLUMN_RATE},
    {"count_min", "CM", COLUMN_RATE},       {"conservative", "CU + DS", COLUMN_RATE},
    {"log", "CML + DS", COLUMN_RATE},       {"fid", "FID", COLUMN_RATE},
};

enum { STEPS = 10, KINDS = 5, STEP = FID_LENGTH / STEPS, MILLIONS = STEP / 1000000 };

enum { COUNT, CM, CU, CML, FID };

static const enum fid_kind kinds[KINDS] = {FID_COUNT, FID_COUNT_MIN, FID_CONSERVATIVE, FID_LOG,
                                           FID_FID};

static void report_claims(struct report *report, double errors[STEPS][KINDS], uint64_t under) {
    int below_both = 0, below_log = 0;
    for (int step = 0; step < STEPS; step++) {
        const double *row = errors[step];
        below_both += row[FID] < row[CM] && row[FID] < row[CU];
        below_log += row[FID] < row[CML];
    }
    const double *half = errors[STEPS / 2];
    report_claim(report, "during deletions FID's ARE is always smaller than CU's and CM's.");
    report_result(report,
                  "it is smaller in %d of %d steps; after 5M deletions %.3g, CU's %.3g, CM's %.3g.",
                  below_both, STEPS, half[FID], half[CU], half[CM]);
    report_value(report, "fid-below-cu-and-cm-steps", below_both);
    report_claim(report, "a DS part of the subtraction type makes CML delete, too.");
    report_result(report,
                  "it does, with chance in place of each step: after 5M deletions its ARE is %.3g, "
                  "above FID's in %d of %d steps.",
                  half[CML], below_log, STEPS);
    report_claim(report, "deletion through the DS part causes no under-estimate.");
    report_result(report, "CM, CU and FID under-estimated %.0f times in all steps.", (double)under);
    report_value(report, "under-estimates", (double)under);
}

static int run(struct report *report, double skew) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct fid_stream stream;
    fid_stream_begin(&stream, skew, FID_ITEMS, FID_LENGTH);
    double errors[STEPS][KINDS];
    uint64_t under = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        lethe_sketch *sketch = fid_sketch(&stream, kinds[kind], FID_WIDTH, FID_DEPTH, true);
        fid_insert(&stream, sketch, 0, FID_LENGTH);
        for (size_t step = 0; step < STEPS; step++) {
            uint64_t missed;
            errors[step][kind] = fid_error(&stream, sketch, NULL, &missed);
            if (kind != COUNT && kind != CML) under += missed;
            fid_remove(&stream, sketch, step * STEP, (step + 1) * STEP);
        }
        lethe_sketch_free(sketch);
    }
    for (int step = 0; step < STEPS; step++) {
        const double *row = errors[step];
        REPORT_ROW(report, step * MILLIONS, row[COUNT], row[CM], row[CU], row[CML], row[FID]);
    }
    report_claims(report, errors, under);
    return fid_code(&stream);
}

static int run_even(struct report *report) {
    return run(report, FID_EVEN);
}

static int run_zipf(struct report *report) {
    return run(report, FID_ZIPF);
}

static const char columns_text[] =
    "Average relative error (ARE) over the items still there, after 10 million insertions and then "
    "that many million deletions, oldest first. CU and CML delete with the help of a DS part, as "
    "the paper has it. Each answers from 4 arrays of 30,000 counters.";

#define PLOT(title)                                                                              \
    "set title '" title "'\n"                                                                    \
    "set xlabel 'deletions after 10 million insertions, million'\n"                              \
    "set ylabel 'average relative error'\n"                                                      \
    "set logscale y\n"                                                                           \
    "set format y '%g'\n"                                                                        \
    "plot data using 'deletions':'count' with linespoints ls 5 title 'Count-sketch', \\\n"       \
    "     data using 'deletions':'count_min' with linespoints ls 1 title 'Count-Min (CM)', \\\n" \
    "     data using 'deletions':'conservative' with linespoints ls 3 title 'CU + DS', \\\n"     \
    "     data using 'deletions':'log' with linespoints ls 4 title 'CML + DS', \\\n"             \
    "     data using 'deletions':'fid' with linespoints ls 2 title 'FID-sketch'\n"

const struct figure figure_fid_7 = {
    .name = "fid-7",
    .title = "the error while items are deleted, drawn evenly",
    .columns = columns_text,
    .plot = PLOT("Figure 7: the error while items are deleted, drawn evenly"),
    .run = run_even,
};

const struct figure figure_fid_8 = {
    .name = "fid-8",
    .title = "the error while items are deleted, drawn by Zipf's law",
    .columns = columns_text,
    .plot = PLOT("Figure 8: the error while items are deleted, by the law of Zipf"),
    .run = run_zipf,
};
