/* paper/fid_2.c - Figure 2: the deletion problem, on the paper's own example.
 *
 * Two arrays of two counters. e1 has the counters 0 and 0, e2 has 0 and 1, e3 has 1 and 1. After
 * each is inserted once, e2 is deleted in three ways. The first two are what the paper warns of,
 * and are done by hand to a copy of the counters; the third is what a FID-sketch does. Counters
 * are read from an export, whose bytes are in docs/format. */
#include <stdlib.h>
#include <string.h>

#include "frame/exit_code.h"
#include "lethe/io.h"
#include "paper/fid.h"
#include "say/message.h"

enum { WIDTH = 2, DEPTH = 2, KEYS = 3, COUNTERS_AT = 40 + 64, COUNTER_BYTES = 4 };

static const struct column columns[] = {
    {"step", "step", COLUMN_WHOLE}, {"f00", "F0[0]", COLUMN_WHOLE}, {"f01", "F0[1]", COLUMN_WHOLE},
    {"f10", "F1[0]", COLUMN_WHOLE}, {"f11", "F1[1]", COLUMN_WHOLE}, {"e1", "e1", COLUMN_WHOLE},
    {"e2", "e2", COLUMN_WHOLE},     {"e3", "e3", COLUMN_WHOLE},
};

/* The counter of e1, e2, e3 in each array. */
static const int places[KEYS][DEPTH] = {{0, 0}, {0, 1}, {1, 1}};

struct counters {
    uint32_t of[DEPTH][WIDTH];
};

/* The first number whose hash leads to the counters of a key: docs/format/sketch.md. */
static lethe_hash find_key(int key) {
    for (uint64_t number = 0;; number++) {
        lethe_hash hash = lethe_hash_u64(LETHE_DEFAULT_SEED, number);
        if ((int)((hash.low & UINT32_MAX) * WIDTH >> 32) == places[key][0] &&
            (int)((hash.low >> 32) * WIDTH >> 32) == places[key][1]) {
            return hash;
        }
    }
}

static lethe_status read_counters(const lethe_sketch *sketch, struct counters *counters) {
    memset(counters, 0, sizeof *counters);
    lethe_memory_writer writer = {0};
    lethe_status status = lethe_sketch_export(sketch, lethe_sink_to_memory(&writer));
    const unsigned char *bytes = writer.data;
    for (size_t i = 0; status == LETHE_OK && i < (size_t)DEPTH * WIDTH; i++)
        counters->of[i / WIDTH][i % WIDTH] = bytes[COUNTERS_AT + i * COUNTER_BYTES];
    lethe_memory_writer_free(&writer);
    return status;
}

/* What a query answers: the least counter of a key. */
static uint32_t answer(const struct counters *counters, int key) {
    uint32_t first = counters->of[0][places[key][0]], second = counters->of[1][places[key][1]];
    return first < second ? first : second;
}

/* Adds a row; returns how many of e1 and e3, which stay inserted, it has lost. */
static int report_step(struct report *report, int step, const struct counters *counters) {
    REPORT_ROW(report, step, counters->of[0][0], counters->of[0][1], counters->of[1][0],
               counters->of[1][1], answer(counters, 0), answer(counters, 1), answer(counters, 2));
    return (step >= 1 && answer(counters, 0) < 1) + (step >= 3 && answer(counters, 2) < 1);
}

static void report_claims(struct report *report, const int lost[3]) {
    report_claim(report, "F1[1], which e2 raised, must not be decremented with it, or e3 would be "
                         "answered with 0; nor may F0[0], which e2 did not raise.");
    report_result(report,
                  "taking back what e2 raised (step 4) loses %d item, decrementing all its "
                  "counters as Count-Min does (step 5) loses %d.",
                  lost[0], lost[1]);
    report_claim(report, "the DS part knows what can be decremented without an under-estimate, at "
                         "the price of deletions that are not perfect.");
    report_result(report,
                  "through the DS part (step 6) it loses %d; e2 is still answered with 1, until e1 "
                  "or e3 goes.",
                  lost[2]);
    report_value(report, "lost-by-taking-back-items", lost[0]);
    report_value(report, "lost-by-decrementing-all-items", lost[1]);
    report_value(report, "lost-through-ds-items", lost[2]);
}

static lethe_status run_steps(struct report *report, lethe_sketch *sketch) {
    struct counters counters;
    lethe_status status = read_counters(sketch, &counters);
    report_step(report, 0, &counters);
    for (int key = 0; key < KEYS && status == LETHE_OK; key++) {
        status = lethe_sketch_add_hash(sketch, find_key(key), 1);
        if (status == LETHE_OK) status = read_counters(sketch, &counters);
        report_step(report, key + 1, &counters);
    }
    int lost[3];
    struct counters taken_back = counters, all = counters;
    taken_back.of[1][1]--;
    lost[0] = report_step(report, 4, &taken_back);
    all.of[0][0]--;
    all.of[1][1]--;
    lost[1] = report_step(report, 5, &all);
    if (status == LETHE_OK) status = lethe_sketch_remove_hash(sketch, find_key(1), 1);
    if (status == LETHE_OK) status = read_counters(sketch, &counters);
    lost[2] = report_step(report, 6, &counters);
    report_claims(report, lost);
    return status;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                                                 .width = WIDTH, .depth = DEPTH);
    lethe_sketch *sketch = NULL;
    lethe_status status = lethe_sketch_new(&options, &sketch);
    if (status == LETHE_OK) status = run_steps(report, sketch);
    lethe_sketch_free(sketch);
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot make a sketch: %s", lethe_strerror(status));
}

/* A column of the table as numbers in a row of the picture; red where it is below the truth. */
#define LABELS(column, y, lost)                                                                    \
    "data using 'step':(" y "):(sprintf('%d', column('" column "'))):(" lost " && column('" column \
    "') < 1 ? 0xd00000 : 0x222222) with labels font ',20' tc rgb variable "                        \
    "notitle"

const struct figure figure_fid_2 = {
    .name = "fid-2",
    .title = "the deletion problem: taking back an insertion loses another item",
    .columns = "The four counters of the paper's example, and what e1, e2 and e3 are answered "
               "with. Step 0: empty. 1 to 3: e1, e2, e3 inserted. Then e2 is deleted: 4 by taking "
               "back what it raised, 5 by decrementing all its counters, 6 through the DS part; "
               "each of them follows step 3.",
    .plot =
        "set title 'Figure 2: the deletion problem (red: an item that is there is answered with "
        "0)'\n"
        "set xrange [-0.6:6.6]\n"
        "set yrange [0:8.2]\n"
        "unset grid\n"
        "set border 0\n"
        "set key off\n"
        "set bmargin 5\n"
        "set tics scale 0\n"
        "set xtics ('empty' 0, \"insert\\ne1\" 1, \"insert\\ne2\" 2, \"insert\\ne3\" 3, "
        "\"delete e2:\\nwhat it\\nraised\" 4, \"delete e2:\\nall its\\ncounters\" 5, "
        "\"delete e2\\nthrough the\\nDS part\" 6)\n"
        "set ytics ('F0[0]' 7.5, 'F0[1]' 6.5, 'F1[0]' 5.5, 'F1[1]' 4.5, 'answer for e1' 3, "
        "'answer for e2' 2, 'answer for e3' 1)\n"
        "do for [i=0:6] { do for [j=4:7] { set object rectangle from i-0.4,j+0.1 to i+0.4,j+0.9 fs "
        "solid 0.25 border lc rgb '#0072b2' fc rgb '#9ecae9' behind } }\n"
        "set arrow 1 from 3.5, 0.4 to 3.5, 8 nohead dt 2 lc rgb '#888888'\n"
        "plot " LABELS(
            "f00", "7.5",
            "0") ", \\\n"
                 "     " LABELS(
                     "f01", "6.5",
                     "0") ", \\\n"
                          "     " LABELS(
                              "f10", "5.5",
                              "0") ", \\\n"
                                   "     " LABELS(
                                       "f11", "4.5",
                                       "0") ", \\\n"
                                            "     " LABELS(
                                                "e1", "3",
                                                "column('step') >= 1") ", \\\n"
                                                                       "     " LABELS(
                                                                           "e2", "2",
                                                                           "0") ", \\\n"
                                                                                "     " LABELS(
                                                                                    "e3", "1",
                                                                                    "column('step')"
                                                                                    " >= 3") "\n",
    .run = run,
};
