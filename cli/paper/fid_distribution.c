/* paper/fid_distribution.c - Figures 5 and 6: how many items have how small an error. */
#include <stdlib.h>

#include "paper/fid.h"
#include "say/message.h"

static const struct column columns[] = {{"error", "error <", COLUMN_RATE}, FID_COLUMNS};

static const double limits[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5};

enum { LIMITS = sizeof limits / sizeof limits[0], TENTH = 3 };

static double share_below(const double *errors, double limit) {
    uint32_t below = 0, present = 0;
    for (uint32_t item = 0; item < FID_ITEMS; item++) {
        present += errors[item] >= 0;
        below += errors[item] >= 0 && errors[item] < limit;
    }
    return present > 0 ? (double)below / present : 0;
}

static int run(struct report *report, bool zipf) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    double *errors = malloc(FID_ITEMS * sizeof *errors);
    if (errors == NULL) return message_fail_memory();
    struct fid_stream stream;
    fid_stream_begin(&stream, zipf ? FID_ZIPF : FID_EVEN, FID_ITEMS, FID_LENGTH);
    double shares[LIMITS][FID_KINDS] = {{0}};
    for (int kind = 0; kind < FID_KINDS && stream.status == LETHE_OK; kind++) {
        lethe_sketch *sketch =
            fid_sketch(&stream, (enum fid_kind)kind, FID_WIDTH, FID_DEPTH, false);
        fid_insert(&stream, sketch, 0, FID_LENGTH);
        fid_error(&stream, sketch, errors, NULL);
        for (int i = 0; i < LIMITS && stream.status == LETHE_OK; i++)
            shares[i][kind] = share_below(errors, limits[i]);
        lethe_sketch_free(sketch);
    }
    free(errors);
    for (int i = 0; i < LIMITS; i++)
        fid_row(report, limits[i], shares[i]);
    const double *row = shares[TENTH];
    report_claim(report,
                 zipf ? "FID's error is below 0.1 for 61.9%% of items, 3.6 times CM's share."
                      : "FID's error is below 0.1 for 82.5%% of items, 6.1 times CM's share.");
    report_result(report, "for %.1f%%, %.1f times CM's %.1f%%.", 100 * row[FID_FID],
                  row[FID_FID] / row[FID_COUNT_MIN], 100 * row[FID_COUNT_MIN]);
    report_value(report, "fid-items-below-tenth-percent", 100 * row[FID_FID]);
    report_value(report, "fid-share-over-cm-times", row[FID_FID] / row[FID_COUNT_MIN]);
    return fid_code(&stream);
}

static int run_even(struct report *report) {
    return run(report, false);
}

static int run_zipf(struct report *report) {
    return run(report, true);
}

static const char columns_text[] =
    "The share of items whose relative error is below that, after 10 million insertions of 100,000 "
    "different items. Each sketch answers from 4 arrays of 30,000 counters, CML, 2w from twice as "
    "many of half the size.";

/* The stars: FID, and Count-Min by the times that the paper gives. */
#define PLOT(title, fid, count_min)                        \
    "set title '" title "'\n"                              \
    "$paper << END\n0.1," fid "\n0.1," count_min "\nEND\n" \
    "set xlabel 'relative error'\n"                        \
    "set ylabel 'share of items with a smaller error'\n"   \
    "set logscale x\n"                                     \
    "set format x '%g'\n"                                  \
    "set yrange [0:1]\n" FID_PLOT("error") FID_PAPER

const struct figure figure_fid_5 = {
    .name = "fid-5",
    .title = "how many items have how small an error, drawn evenly",
    .columns = columns_text,
    .plot =
        PLOT("Figure 5: how many items have how small an error, drawn evenly", "0.825", "0.135"),
    .run = run_even,
};

const struct figure figure_fid_6 = {
    .name = "fid-6",
    .title = "how many items have how small an error, drawn by Zipf's law",
    .columns = columns_text,
    .plot = PLOT("Figure 6: how many items have how small an error, by the law of Zipf", "0.619",
                 "0.172"),
    .run = run_zipf,
};
