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
    report_value(report, "fid-error", last[FID_FID]);
    report_value(report, "fid-below-cm-times", times);
    if (zipf) {
        report_claim(report, "among the others CML has the highest accuracy with Zipf's law.");
        report_result(report,
                      "with the paper's w = 30,000 counters an array they are equal: CML's ARE is "
                      "%.3f, CU's %.3f. A log counter collides as any other does.",
                      last[FID_LOG], last[FID_CONSERVATIVE]);
        report_result(report,
                      "what CML saves is bytes: in those of the others twice as many of its 16-bit "
                      "counters fit, and its ARE is %.2f, %.1f times less than FID's, with errors "
                      "to both sides.",
                      last[FID_LOG_TWICE], last[FID_FID] / last[FID_LOG_TWICE]);
        report_value(report, "cml-error", last[FID_LOG]);
        report_value(report, "cml-equal-bytes-error", last[FID_LOG_TWICE]);
        report_value(report, "cu-error", last[FID_CONSERVATIVE]);
    }
    report_claim(report, "FID never under-estimates.");
    report_result(report, "of %d items it under-estimates %.0f.", FID_ITEMS, (double)under);
    report_value(report, "fid-under-estimated-items", (double)under);
}

static int run(struct report *report, bool zipf) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct fid_stream stream;
    fid_stream_begin(&stream, zipf ? FID_ZIPF : FID_EVEN, FID_ITEMS, FID_LENGTH);
    double errors[STEPS][FID_KINDS];
    uint64_t under = 0;
    for (int kind = 0; kind < FID_KINDS; kind++) {
        lethe_sketch *sketch =
            fid_sketch(&stream, (enum fid_kind)kind, FID_WIDTH, FID_DEPTH, false);
        for (size_t step = 0; step < STEPS; step++) {
            fid_insert(&stream, sketch, step * STEP, (step + 1) * STEP);
            errors[step][kind] = fid_error(&stream, sketch, NULL, &under);
        }
        lethe_sketch_free(sketch);
    }
    for (int step = 0; step < STEPS; step++)
        fid_row(report, (step + 1) * MILLIONS, errors[step]);
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
    "different items. Each answers from 4 arrays of 30,000 counters, of 32 bits or, in CML, of 16; "
    "CML, 2w has twice as many, which are as many bytes.";

/* The stars: FID, and Count-Min by the times that the paper gives. */
#define PLOT(title, fid, count_min)                      \
    "set title '" title "'\n"                            \
    "$paper << END\n10," fid "\n10," count_min "\nEND\n" \
    "set xlabel 'insertions, million'\n"                 \
    "set ylabel 'average relative error'\n"              \
    "set logscale y\n"                                   \
    "set format y '%g'\n"                                \
    "set xrange [0:10.3]\n" FID_PLOT("insertions") FID_PAPER

const struct figure figure_fid_3 = {
    .name = "fid-3",
    .title = "the error while items are inserted, drawn evenly",
    .columns = columns_text,
    .plot = PLOT("Figure 3: the error while items are inserted, drawn evenly", "0.043", "1.58"),
    .run = run_even,
};

const struct figure figure_fid_4 = {
    .name = "fid-4",
    .title = "the error while items are inserted, drawn by Zipf's law",
    .columns = columns_text,
    .plot =
        PLOT("Figure 4: the error while items are inserted, by the law of Zipf", "0.57", "2.14"),
    .run = run_zipf,
};
