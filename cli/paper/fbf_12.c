/* paper/fbf_12.c - Figure 12: more past filters, under a load that grows steadily. */
#include <math.h>

#include "paper/fbf.h"

static const struct column columns[] = {
    {"rate", "ops/s", COLUMN_WHOLE},     {"growing_3", "3", COLUMN_RATE},
    {"growing_6", "6", COLUMN_RATE},     {"growing_12", "12", COLUMN_RATE},
    {"growing_24", "24", COLUMN_RATE},   {"steady_3", "s. 3", COLUMN_RATE},
    {"steady_24", "s. 24", COLUMN_RATE}, {"salted_24", "s. salted", COLUMN_RATE},
};

enum { SIZES = 4, ROUNDS = 4, PROBES = 50000, PERIOD_MS = 5000, LENGTH_MS = 30000, STEP_MS = 10 };

static const uint32_t filters[SIZES] = {3, 6, 12, 24};

static lethe_forgetful_options options_of(uint32_t count) {
    return fbf_options(count - 2, PERIOD_MS);
}

/* 3,000 elements in 30 s: the rate grows from 0 to 200 a second. Measured at the rates of the rows,
 * which all lie in different parts of a period, as in the paper. */
static lethe_status grow(uint32_t count, const double *rates, size_t rate_count, double *out) {
    lethe_status status = LETHE_OK;
    lethe_forgetful_options options = options_of(count);
    for (uint64_t round = 0; round < ROUNDS && status == LETHE_OK; round++) {
        struct fbf fbf;
        fbf_begin(&fbf, &options, round);
        double owed = 0;
        size_t next = 0;
        for (uint64_t now_ms = 0; now_ms <= LENGTH_MS && next < rate_count; now_ms += STEP_MS) {
            double rate = 200.0 * (double)now_ms / LENGTH_MS;
            owed += rate * STEP_MS / 1000;
            uint64_t elements = (uint64_t)owed;
            owed -= (double)elements;
            fbf_record(&fbf, now_ms, elements);
            if (rate + 1e-9 < rates[next]) continue;
            out[next++] += fbf_measure(&fbf, PROBES) / ROUNDS;
        }
        status = fbf.status;
        fbf_end(&fbf);
    }
    return status;
}

/* At a constant rate, after every filter has been through it, at the end of a period. */
static double steady_rate(uint32_t count, bool salted, double rate, lethe_status *status) {
    lethe_forgetful_options options = options_of(count);
    options.salted = salted;
    uint64_t elements = (uint64_t)(2 * rate * PERIOD_MS / 1000);
    return fbf_rates_at(&options, elements, true, 2, FBF_PROBES, status).measured;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    static const double rates[] = {40, 60, 80, 100, 120, 140, 160, 180, 198};
    enum { COUNT = sizeof rates / sizeof rates[0] };
    double growing[SIZES][COUNT] = {{0}};
    lethe_status status = LETHE_OK;
    for (int i = 0; i < SIZES && status == LETHE_OK; i++)
        status = grow(filters[i], rates, COUNT, growing[i]);
    double gain = 0, steady_gain = 0, salted_gain = 0;
    for (int i = 0; i < COUNT; i++) {
        double steady_3 = steady_rate(3, false, rates[i], &status);
        double steady_24 = steady_rate(24, false, rates[i], &status);
        double salted_24 = steady_rate(24, true, rates[i], &status);
        REPORT_ROW(report, rates[i], growing[0][i], growing[1][i], growing[2][i], growing[3][i],
                   steady_3, steady_24, salted_24);
        if (rates[i] == 100) {
            gain = growing[0][i] / growing[3][i];
            steady_gain = steady_3 / steady_24;
            salted_gain = steady_3 / salted_24;
        }
    }
    report_claim(report,
                 "at 100 operations a second the FPP of 3 filters is 5.5 times that of 24; the "
                 "number of filters is an effective knob.");
    report_result(
        report,
        "%.1f times while the load grows from nothing, because the oldest of many "
        "filters are still empty: 30 s are 6 periods, so 6, 12 and 24 filters do not differ.",
        gain);
    report_result(report,
                  "in the steady state the claim does not hold: the FPP of 3 filters is %.2f "
                  "times that of 24, %.2f times if salted. The future and the oldest filter, each "
                  "asked alone, are there with any number of filters, and every filter more adds "
                  "its pair.",
                  steady_gain, salted_gain);
    report_value(report, "growing-3-over-24-times", gain);
    report_value(report, "steady-3-over-24-times", steady_gain);
    report_value(report, "salted-3-over-24-times", salted_gain);
    return fbf_code(status);
}

const struct figure figure_fbf_12 = {
    .name = "fbf-12",
    .title = "the false-positive probability and the number of filters",
    .columns =
        "FBFs of 3, 6, 12 and 24 filters: m = 6250, k = 5, t = 5 s. 3,000 elements come at a "
        "rate that grows from 0 to 200 a second in 30 s, measured as it passes the rate shown. "
        "Steady (s.): at that rate for good, at the end of a period.",
    .plot = "set title 'Figure 12: more filters help only while they are empty'\n"
            "set xlabel 'operations a second'\n"
            "set ylabel 'false-positive probability (FPP)'\n"
            "set logscale y\n"
            "set format y '%.0e'\n"
            "set arrow 1 from 100, graph 0 to 100, graph 1 nohead dt 3 lc rgb '#888888'\n"
            "set label 1 \"the paper's example:\\n5.5 times at 100\" at 102, graph 0.12 tc rgb "
            "'#555555'\n"
            "plot data using 'rate':'growing_3' with linespoints ls 1 title '3 filters, growing "
            "load', \\\n"
            "     data using 'rate':'growing_6' with linespoints ls 2 lw 8 title '6 filters, "
            "growing load', "
            "\\\n"
            "     data using 'rate':'growing_12' with linespoints ls 3 lw 5 title '12 filters, "
            "growing load', "
            "\\\n"
            "     data using 'rate':'growing_24' with linespoints ls 4 title '24 filters, growing "
            "load', \\\n"
            "     data using 'rate':'steady_3' with linespoints ls 5 title '3 filters, steady "
            "load', \\\n"
            "     data using 'rate':'steady_24' with linespoints ls 6 title '24 filters, steady "
            "load'\n",
    .run = run,
};
