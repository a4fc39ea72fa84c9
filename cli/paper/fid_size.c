/* paper/fid_size.c - Figures 15 and 16: queries on a GPU, and the size of the sketch. Both measure
 * time. */
#include "paper/fid_gpu.h"

static const struct size {
    uint32_t arrays;
    uint64_t counters;
} by_arrays[] = {{1, FID_WIDTH}, {2, FID_WIDTH},  {4, FID_WIDTH},
                 {8, FID_WIDTH}, {16, FID_WIDTH}, {32, FID_WIDTH}},
  by_counters[] = {{4, 1000}, {4, 10000}, {4, 30000}, {4, 100000}, {4, 300000}, {4, 1000000}};

enum { ROWS = 6, BATCH = 65536 };

static const struct column array_columns[] = {
    {"arrays", "arrays", COLUMN_WHOLE}, {"uniform", "uniform", COLUMN_RATIO},
    {"zipf", "Zipf", COLUMN_RATIO},     {"absent", "absent", COLUMN_RATIO},
    {"kernel", "kernel", COLUMN_TENTH}, {"transfer", "transfer", COLUMN_TENTH},
};

static const struct column counter_columns[] = {
    {"counters", "counters", COLUMN_WHOLE}, {"uniform", "uniform", COLUMN_RATIO},
    {"zipf", "Zipf", COLUMN_RATIO},         {"absent", "absent", COLUMN_RATIO},
    {"kernel", "kernel", COLUMN_TENTH},     {"transfer", "transfer", COLUMN_TENTH},
};

/* Sketches of all sizes; how many times faster the first is than the last, or 0. */
static double measure(struct fid_gpu *gpu, struct report *report, const struct size sizes[ROWS],
                      bool over_arrays) {
    struct device *device = fid_gpu_device(gpu, BATCH);
    if (gpu->status == LETHE_OK) device_describe(device, &gpu->detail, report);
    double first = 0, last = 0;
    for (int i = 0; device != NULL && i < ROWS && gpu->status == LETHE_OK; i++) {
        lethe_sketch *sketch = fid_gpu_sketch(gpu, sizes[i].counters, sizes[i].arrays);
        struct device_times times[FID_GPU_SETS];
        for (int set = 0; set < FID_GPU_SETS; set++)
            times[set] = fid_gpu_ask(gpu, device, sketch, set);
        lethe_sketch_free(sketch);
        last = times[0].million_per_second;
        if (i == 0) first = last;
        REPORT_ROW(report, over_arrays ? sizes[i].arrays : (double)sizes[i].counters,
                   times[0].million_per_second, times[1].million_per_second,
                   times[2].million_per_second, times[0].kernel_us, times[0].transfer_us);
    }
    device_close(device);
    return last > 0 ? first / last : 0;
}

static int run(struct report *report, bool over_arrays) {
    report_claim(report, over_arrays
                             ? "throughput falls with the number of arrays, more than with the "
                               "number of counters in each."
                             : "throughput falls with the number of counters in an array, as "
                               "caches no longer hold them.");
    struct fid_gpu gpu;
    fid_gpu_begin(&gpu);
    const struct size *sizes = over_arrays ? by_arrays : by_counters;
    double times = measure(&gpu, report, sizes, over_arrays);
    if (times > 0) {
        report_result(
            report,
            over_arrays ? "1 array answers %.1f times as many queries a second as 32."
                        : "1,000 counters answer %.1f times as many queries a second as a million.",
            times);
        report_value(report, "throughput-first-over-last-times", times);
    }
    fid_gpu_conclude(&gpu, report);
    return fid_gpu_end(&gpu);
}

static int run_arrays(struct report *report) {
    report_columns(report, array_columns, sizeof array_columns / sizeof array_columns[0]);
    return run(report, true);
}

static int run_counters(struct report *report) {
    report_columns(report, counter_columns, sizeof counter_columns / sizeof counter_columns[0]);
    return run(report, false);
}

#define SIZE_PLOT(x)                                                            \
    "set ylabel 'million queries a second'\n"                                   \
    "set yrange [0:]\n"                                                         \
    "set logscale x\n"                                                          \
    "plot data using '" x "':'uniform' with linespoints ls 1 title 'uniform', " \
    "\\\n"                                                                      \
    "     data using '" x "':'zipf' with linespoints ls 2 title 'Zipf', \\\n"   \
    "     data using '" x "':'absent' with linespoints ls 3 title 'absent'\n"

const struct figure figure_fid_15 = {
    .name = "fid-15",
    .title = "queries a second on a GPU, and the number of arrays",
    .columns = "Million queries a second of FID sketches with 30,000 counters in an array, on an "
               "OpenCL device, in batches of 65,536, for three data sets; and the microseconds of "
               "a batch of the first, in the kernel and in both transfers. Measures time.",
    .plot = "set xlabel 'arrays'\n" SIZE_PLOT("arrays"),
    .run = run_arrays,
};

const struct figure figure_fid_16 = {
    .name = "fid-16",
    .title = "queries a second on a GPU, and the counters in an array",
    .columns = "Million queries a second of FID sketches with 4 arrays, on an OpenCL device, in "
               "batches of 65,536, for three data sets; and the microseconds of a batch of the "
               "first, in the kernel and in both transfers. Measures time.",
    .plot = "set xlabel 'counters in an array'\n" SIZE_PLOT("counters"),
    .run = run_counters,
};
