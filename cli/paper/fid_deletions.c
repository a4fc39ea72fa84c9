/* paper/fid_deletions.c - Figures 7 and 8: the error while items are deleted again. */
#include "exit_code.h"
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

int fid_run_deletions(struct report *report, bool zipf) {
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
