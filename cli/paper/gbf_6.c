/* paper/gbf_6.c - Figure 6: the time that variants take to insert a thousand strings. Measures
 * time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "paper/device.h"
#include "paper/gbf.h"

enum { SLOTS = 10000, STRINGS = 1000, NAIVE_STRINGS = 10, RUNS = 50, MOST_HASHES = 50 };
/* On a device: fewer strings for the whole field, which is slow where the device is the CPU. */
enum { DEVICE_STRINGS = 40, DEVICE_RUNS = 5 };

static const struct column columns[] = {
    {"hashes", "hashes", COLUMN_WHOLE},  {"global", "no 3 sigma", COLUMN_TENTH},
    {"double", "3 sigma", COLUMN_TENTH}, {"bits_4", "4 bits", COLUMN_TENTH},
    {"even_4", "4, even", COLUMN_TENTH}, {"bloom", "Bloom", COLUMN_TENTH},
    {"device", "device", COLUMN_TENTH},  {"device_3", "3 sigma", COLUMN_TENTH},
};

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static size_t put_string(char text[32], int number) {
    return (size_t)snprintf(text, 32, "random string %08x", (unsigned)number * 2654435761U);
}

/* Every slot of the field, and the exponential for each: what the three-sigma rule saves.
 * Microseconds for STRINGS strings, by a smaller number. */
static double time_global(uint32_t hashes, double *slots) {
    double began = now_us();
    char text[32];
    for (int i = 0; i < NAIVE_STRINGS; i++) {
        lethe_hash hash = lethe_hash_bytes(1, text, put_string(text, i));
        for (uint32_t k = 1; k <= hashes; k++) {
            double middle = (double)((hash.low + k * hash.high) % SLOTS);
            for (int slot = 0; slot < SLOTS; slot++) {
                double distance = (slot - middle) / k;
                slots[slot] = fmax(slots[slot], exp(-distance * distance / 2));
            }
        }
    }
    return (now_us() - began) * STRINGS / NAIVE_STRINGS;
}

static double time_gaussian(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                            lethe_status *status) {
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = SLOTS, .hashes = hashes,
                      .slot_bits = slot_bits, .spacing = spacing);
    lethe_gaussian *filter = NULL;
    if (*status == LETHE_OK) *status = lethe_gaussian_new(&options, &filter);
    double best = INFINITY;
    for (int run = 0; run < RUNS && *status == LETHE_OK; run++) {
        lethe_gaussian_clear(filter);
        char text[32];
        double began = now_us();
        for (int i = 0; i < STRINGS; i++)
            lethe_gaussian_add(filter, text, put_string(text, i));
        best = fmin(best, now_us() - began);
    }
    lethe_gaussian_free(filter);
    return *status == LETHE_OK ? best : 0;
}

static double time_bloom(uint32_t hashes, lethe_status *status) {
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .bits = SLOTS, .hashes = hashes);
    lethe_bloom *filter = NULL;
    if (*status == LETHE_OK) *status = lethe_bloom_new(&options, &filter);
    double best = INFINITY;
    for (int run = 0; run < RUNS && *status == LETHE_OK; run++) {
        lethe_bloom_clear(filter);
        char text[32];
        double began = now_us();
        for (int i = 0; i < STRINGS; i++)
            lethe_bloom_add(filter, text, put_string(text, i));
        best = fmin(best, now_us() - began);
    }
    lethe_bloom_free(filter);
    return *status == LETHE_OK ? best : 0;
}

/* The same on a device, hashing included: every slot looks at every bell, or with the three-sigma
 * rule; all strings in one batch. The filter is compared with the CPU's. */
static double time_device(struct device *device, uint32_t hashes, bool whole, lethe_status *status,
                          lethe_detail *detail) {
    lethe_gaussian_options options = LETHE_OPTIONS(
        lethe_gaussian_options, .slots = SLOTS, .hashes = hashes,
        .slot_bits = LETHE_GAUSSIAN_FLOAT_BITS, .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED);
    int strings = whole ? DEVICE_STRINGS : STRINGS;
    static char texts[STRINGS][32];
    static lethe_bytes keys[STRINGS];
    for (int i = 0; i < strings; i++)
        keys[i] = (lethe_bytes){texts[i], put_string(texts[i], i)};
    lethe_gaussian *filter = NULL;
    struct device_filter *there = NULL;
    if (*status == LETHE_OK) *status = lethe_gaussian_new(&options, &filter);
    if (*status == LETHE_OK) *status = device_filter_open(device, filter, whole, &there, detail);
    double best = INFINITY;
    for (int run = 0; run < DEVICE_RUNS && *status == LETHE_OK; run++) {
        double began = now_us();
        *status = device_filter_add(there, keys, (size_t)strings, detail);
        best = fmin(best, now_us() - began);
        for (int i = 0; i < strings; i++)
            lethe_gaussian_add(filter, keys[i].data, keys[i].size);
    }
    bool same = false;
    if (*status == LETHE_OK) *status = device_filter_compare(there, filter, &same, detail);
    device_filter_close(there);
    lethe_gaussian_free(filter);
    return *status == LETHE_OK && same ? best * STRINGS / strings : NAN;
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    lethe_status status = LETHE_OK;
    double *slots = calloc(SLOTS, sizeof *slots);
    if (slots == NULL) status = LETHE_ENOMEM;
    lethe_detail detail = {""};
    struct device *device = NULL;
    if (status == LETHE_OK) status = device_open(STRINGS, &device, &detail);
    double last[7] = {0, 0, 0, 0, 0, NAN, NAN};
    for (uint32_t hashes = 5; hashes <= MOST_HASHES && status == LETHE_OK; hashes += 5) {
        last[0] = time_global(hashes, slots);
        last[1] = time_gaussian(LETHE_GAUSSIAN_DOUBLE_BITS, LETHE_GAUSSIAN_SPACING_PUBLISHED,
                                hashes, &status);
        last[2] = time_gaussian(4, LETHE_GAUSSIAN_SPACING_PUBLISHED, hashes, &status);
        last[3] = time_gaussian(4, LETHE_GAUSSIAN_SPACING_EVEN, hashes, &status);
        last[4] = time_bloom(hashes, &status);
        if (device != NULL) last[5] = time_device(device, hashes, true, &status, &detail);
        if (device != NULL) last[6] = time_device(device, hashes, false, &status, &detail);
        REPORT_ROW(report, (double)hashes, last[0], last[1], last[2], last[3], last[4], last[5],
                   last[6]);
    }
    free(slots);
    report_claim(report,
                 "all variants but the one without the three-sigma rule are reasonably fast "
                 "and scale linearly with the hashing; a GPU takes the work off the CPU.");
    report_result(
        report,
        "at 50 hash functions a thousand strings take %.0f ms without the rule, %.0f times "
        "as long as doubles with it, and %.0f times as long as four bits spaced evenly.",
        last[0] / 1000, last[0] / last[1], last[0] / last[3]);
    report_value(report, "without-three-sigma-over-double-times", last[0] / last[1]);
    report_value(report, "four-bits-even-over-bloom-times", last[3] / last[4]);
    device_describe(device, &detail, report);
    if (device != NULL) {
        report_result(report,
                      "there they take %.0f ms if every slot looks at every bell, and %.1f ms with "
                      "the three-sigma rule; the filters are the CPU's, to the bit.",
                      last[5] / 1000, last[6] / 1000);
    }
    device_close(device);
    return device_code(status, &detail);
}

const struct figure figure_gbf_6 = {
    .name = "gbf-6",
    .title = "the time that variants take to insert a thousand strings",
    .columns =
        "Microseconds to insert 1,000 strings into 10,000 slots, hashing included: doubles, "
        "without the three-sigma rule (all slots, an exponential each) and with it, four bits "
        "as published, four bits evenly spaced, and a Bloom filter; and floats on an OpenCL "
        "device, all slots and with the three-sigma rule, in one batch. A gap where there is "
        "none.",
    .plot = "set title 'Figure 6: the time to insert 1,000 strings'\n"
            "set xlabel 'hash functions'\n"
            "set ylabel 'microseconds'\n"
            "set logscale y\n"
            "set format y '10^{%L}'\n"
            "plot data using 'hashes':'global' with linespoints ls 5 title 'without 3 sigma', \\\n"
            "     data using 'hashes':'double' with linespoints ls 1 title 'double', \\\n"
            "     data using 'hashes':'bits_4' with linespoints ls 2 title '4 bits', \\\n"
            "     data using 'hashes':'even_4' with linespoints ls 3 title '4 bits, even', \\\n"
            "     data using 'hashes':'bloom' with linespoints ls 6 title 'Bloom filter', \\\n"
            "     data using 'hashes':'device' with linespoints ls 4 title 'device', \\\n"
            "     data using 'hashes':'device_3' with lines ls 4 title 'device, 3 sigma'\n",
    .run = run,
};
