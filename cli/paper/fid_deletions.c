/* paper/fid_deletions.c - Figures 7 and 8: the error while items are deleted again. */
#include "frame/exit_code.h"
#include "paper/fid.h"

static const struct column columns[] = {
    {"deletions", "million", COLUMN_WHOLE},
    {"count", "Count", COLUMN_RATE},
    {"count_min", "CM", COLUMN_RATE},
    {"conservative", "CU + DS", COLUMN_RATE},
    {"fid", "FID", COLUMN_RATE},
};

enum { STEPS = 10, KINDS = 4, STEP = FID_LENGTH / STEPS, MILLIONS = STEP / 1000000 };

static const enum fid_kind kinds[KINDS] = {FID_COUNT, FID_COUNT_MIN, FID_CONSERVATIVE, FID_FID};

static int run(struct report *report, bool zipf) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct fid_stream stream;
    fid_stream_begin(&stream, zipf, FID_ITEMS, FID_LENGTH);
    double errors[STEPS][KINDS];
    uint64_t under = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        lethe_sketch *sketch = fid_sketch(&stream, kinds[kind], FID_WIDTH, FID_DEPTH);
        fid_insert(&stream, sketch, 0, FID_LENGTH);
        for (size_t step = 0; step < STEPS; step++) {
            uint64_t missed;
            errors[step][kind] = fid_error(&stream, sketch, NULL, &missed);
            if (kinds[kind] != FID_COUNT) under += missed;
            fid_remove(&stream, sketch, step * STEP, (step + 1) * STEP);
        }
        lethe_sketch_free(sketch);
    }
    int always = 0;
    for (int step = 0; step < STEPS; step++) {
        const double *row = errors[step];
        REPORT_ROW(report, step * MILLIONS, row[0], row[1], row[2], row[3]);
        always += row[3] < row[1] && row[3] < row[2];
    }
    report_claim(report, "during deletions FID's ARE is always smaller than CU's and CM's.");
    report_result(report,
                  "it is smaller in %d of %d steps; after 5M deletions %.3g, CU's %.3g, CM's %.3g.",
                  always, STEPS, errors[STEPS / 2][3], errors[STEPS / 2][2], errors[STEPS / 2][1]);
    report_claim(report, "deletion through the DS part causes no under-estimate.");
    report_result(report, "CM, CU and FID under-estimated %.0f times in all steps.", (double)under);
    return fid_code(&stream);
}

static int run_even(struct report *report) {
    return run(report, false);
}

static int run_zipf(struct report *report) {
    return run(report, true);
}

static const char columns_text[] =
    "Average relative error (ARE) over the items still there, after 10 million insertions and then "
    "that many million deletions, oldest first. CU deletes with the help of a DS part, as the "
    "paper has it; CML cannot.";

static const char plot[] =
    "set xlabel 'deletions after 10 million insertions, million'\n"
    "set ylabel 'ARE'\n"
    "set logscale y\n"
    "plot data using \"deletions\":\"count\" with linespoints ls 5 title 'Count', \\\n"
    "     data using \"deletions\":\"count_min\" with linespoints ls 1 title 'CM', \\\n"
    "     data using \"deletions\":\"conservative\" with linespoints ls 3 title 'CU + DS', \\\n"
    "     data using \"deletions\":\"fid\" with linespoints ls 2 title 'FID'\n";

const struct figure figure_fid_7 = {
    .name = "fid-7",
    .title = "the error while items are deleted, drawn evenly",
    .columns = columns_text,
    .plot = plot,
    .run = run_even,
};

const struct figure figure_fid_8 = {
    .name = "fid-8",
    .title = "the error while items are deleted, drawn by Zipf's law",
    .columns = columns_text,
    .plot = plot,
    .run = run_zipf,
};
