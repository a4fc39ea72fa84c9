/* paper/fid_insertions.c - Figures 3 and 4: the error while items are inserted. */
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {{"insertions", "million", COLUMN_WHOLE}, FID_COLUMNS};

enum { STEPS = 10, STEP = FID_LENGTH / STEPS, MILLIONS = STEP / 1000000 };

static void report_claims(struct report *report, bool zipf, const double *last, uint64_t under) {
    double times = last[FID_COUNT_MIN] / last[FID_FID];
    report_claim(report,
                 zipf ? "after 10M insertions FID's ARE is 0.57, 3.75 times less than CM's."
                      : "after 10M insertions FID's ARE is 0.043, 36.7 times less than CM's.");
    report_result(report,
                  zipf ? "%.2f, %.2f times less than CM's %.2f."
                       : "%.3f, %.1f times less than CM's %.2f.",
                  last[FID_FID], times, last[FID_COUNT_MIN]);
    if (zipf) {
        report_claim(report, "among the others CML has the highest accuracy with Zipf's law.");
        report_result(report,
                      "%s: CML %.2f in the bytes of the others (16-bit counters, twice as many), "
                      "CU %.2f. That is below FID's too, with errors to both sides.",
                      last[FID_LOG] < last[FID_CONSERVATIVE] ? "so it has" : "it has not",
                      last[FID_LOG], last[FID_CONSERVATIVE]);
    }
    report_claim(report, "FID never under-estimates.");
    report_result(report, "of %d items it under-estimates %.0f.", FID_ITEMS, (double)under);
}

static int run(struct report *report, bool zipf) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct fid_stream stream;
    fid_stream_begin(&stream, zipf, FID_ITEMS, FID_LENGTH);
    double errors[STEPS][FID_KINDS];
    uint64_t under = 0;
    for (int kind = 0; kind < FID_KINDS; kind++) {
        lethe_sketch *sketch = fid_sketch(&stream, (enum fid_kind)kind, FID_WIDTH, FID_DEPTH);
        for (size_t step = 0; step < STEPS; step++) {
            fid_insert(&stream, sketch, step * STEP, (step + 1) * STEP);
            errors[step][kind] = fid_error(&stream, sketch, NULL, &under);
        }
        lethe_sketch_free(sketch);
    }
    for (int step = 0; step < STEPS; step++) {
        const double *row = errors[step];
        REPORT_ROW(report, (step + 1) * MILLIONS, row[FID_COUNT], row[FID_COUNT_MIN],
                   row[FID_CONSERVATIVE], row[FID_LOG], row[FID_FID]);
    }
    report_claims(report, zipf, errors[STEPS - 1], under);
    return fid_code(&stream);
}

static int run_even(struct report *report) {
    return run(report, false);
}

static int run_zipf(struct report *report) {
    return run(report, true);
}

static const char columns_text[] =
    "Average relative error (ARE) over all items of the Count-sketch, Count-Min (CM), conservative "
    "update (CU), Count-Min-Log (CML) and FID, after that many million insertions of 100,000 "
    "different items. Each answers from 480,000 bytes: 4 arrays of 30,000 counters.";

static const char plot[] = "set xlabel 'insertions, million'\n"
                           "set ylabel 'ARE'\n"
                           "set logscale y\n"
                           "set yrange [0.004:]\n" FID_PLOT("insertions");

const struct figure figure_fid_3 = {
    .name = "fid-3",
    .title = "the error while items are inserted, drawn evenly",
    .columns = columns_text,
    .plot = plot,
    .run = run_even,
};

const struct figure figure_fid_4 = {
    .name = "fid-4",
    .title = "the error while items are inserted, drawn by Zipf's law",
    .columns = columns_text,
    .plot = plot,
    .run = run_zipf,
};
