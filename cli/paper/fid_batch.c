/* paper/fid_batch.c - Figures 13 and 14: queries on a GPU, and the size of their batches. Both
 * measure time. */
#include "paper/fid_gpu.h"

static const uint32_t batches[] = {256, 1024, 4096, 16384, 65536, 262144};
enum { ROWS = sizeof batches / sizeof batches[0] };

static const struct column throughput_columns[] = {
    {"batch", "batch", COLUMN_WHOLE},         {"uniform", "uniform", COLUMN_RATIO},
    {"zipf", "Zipf", COLUMN_RATIO},           {"absent", "absent", COLUMN_RATIO},
    {"hashed", "hashed there", COLUMN_RATIO},
};

static const struct column latency_columns[] = {
    {"batch", "batch", COLUMN_WHOLE},   {"uniform", "uniform", COLUMN_TENTH},
    {"zipf", "Zipf", COLUMN_TENTH},     {"absent", "absent", COLUMN_TENTH},
    {"kernel", "kernel", COLUMN_TENTH}, {"transfer", "transfer", COLUMN_TENTH},
};

/* All batch sizes; false if there is no device. The last device that was open is described. */
static bool measure(struct fid_gpu *gpu, struct report *report,
                    struct device_times times[ROWS][FID_GPU_SETS + 1]) {
    lethe_sketch *sketch = fid_gpu_sketch(gpu, FID_WIDTH, FID_DEPTH);
    bool is_there = true;
    for (int i = 0; i < ROWS && gpu->status == LETHE_OK && is_there; i++) {
        struct device *device = fid_gpu_device(gpu, batches[i]);
        is_there = device != NULL;
        if (gpu->status == LETHE_OK && (i == 0)) device_describe(device, &gpu->detail, report);
        for (int set = 0; is_there && set <= FID_GPU_SETS; set++)
            times[i][set] = fid_gpu_ask(gpu, device, sketch, set);
        device_close(device);
    }
    lethe_sketch_free(sketch);
    return is_there && gpu->status == LETHE_OK;
}

static int run_throughput(struct report *report) {
    report_columns(report, throughput_columns,
                   sizeof throughput_columns / sizeof throughput_columns[0]);
    report_claim(report, "the throughput of a GPU grows with the size of the batches.");
    struct fid_gpu gpu;
    fid_gpu_begin(&gpu);
    static struct device_times times[ROWS][FID_GPU_SETS + 1];
    if (measure(&gpu, report, times)) {
        for (int i = 0; i < ROWS; i++)
            REPORT_ROW(report, batches[i], times[i][0].million_per_second,
                       times[i][1].million_per_second, times[i][2].million_per_second,
                       times[i][3].million_per_second);
        double first = times[0][0].million_per_second, last = times[ROWS - 1][0].million_per_second;
        report_result(report,
                      "batches of %u make %.1f times as many queries a second as batches of %u.",
                      batches[ROWS - 1], last / first, batches[0]);
        report_value(report, "throughput-last-over-first-times", last / first);
    }
    fid_gpu_conclude(&gpu, report);
    return fid_gpu_end(&gpu);
}

static int run_latency(struct report *report) {
    report_columns(report, latency_columns, sizeof latency_columns / sizeof latency_columns[0]);
    report_claim(report, "the latency grows with the size of the batches as well, but less than "
                         "the throughput does.");
    struct fid_gpu gpu;
    fid_gpu_begin(&gpu);
    static struct device_times times[ROWS][FID_GPU_SETS + 1];
    if (measure(&gpu, report, times)) {
        for (int i = 0; i < ROWS; i++)
            REPORT_ROW(report, batches[i], times[i][0].latency_us, times[i][1].latency_us,
                       times[i][2].latency_us, times[i][0].kernel_us, times[i][0].transfer_us);
        struct device_times first = times[0][0], last = times[ROWS - 1][0];
        report_result(report,
                      "from batches of %u to batches of %u the latency grows %.1f times and the "
                      "throughput %.1f times; %.0f%% of the last latency is the kernel's.",
                      batches[0], batches[ROWS - 1], last.latency_us / first.latency_us,
                      last.million_per_second / first.million_per_second,
                      100 * last.kernel_us / last.latency_us);
        report_value(report, "latency-last-over-first-times", last.latency_us / first.latency_us);
    }
    fid_gpu_conclude(&gpu, report);
    return fid_gpu_end(&gpu);
}

const struct figure figure_fid_13 = {
    .name = "fid-13",
    .title = "queries a second on a GPU, and the size of a batch",
    .columns = "Million queries a second of a FID sketch on an OpenCL device, two batches in "
               "flight, for keys of three data sets that the host has hashed; and for those of "
               "the first, hashed by the device. Measures time.",
    .plot = "set xlabel 'keys in a batch'\n"
            "set ylabel 'million queries a second'\n"
            "set logscale x 4\n"
            "set yrange [0:]\n"
            "plot data using 'batch':'uniform' with linespoints ls 1 title 'uniform', \\\n"
            "     data using 'batch':'zipf' with linespoints ls 2 title 'Zipf', \\\n"
            "     data using 'batch':'absent' with linespoints ls 3 title 'absent', \\\n"
            "     data using 'batch':'hashed' with linespoints ls 5 title 'hashed there'\n",
    .run = run_throughput,
};

const struct figure figure_fid_14 = {
    .name = "fid-14",
    .title = "how long a batch of queries takes on a GPU, and its size",
    .columns = "Microseconds from the call to the answers of one batch of queries of a FID sketch "
               "on an OpenCL device, for three data sets; and of the first, what the device's own "
               "clock says of the kernel and of both transfers. Measures time.",
    .plot = "set xlabel 'keys in a batch'\n"
            "set ylabel 'microseconds until a batch is answered'\n"
            "set logscale x 4\n"
            "set logscale y\n"
            "plot data using 'batch':'uniform' with linespoints ls 1 title 'uniform', \\\n"
            "     data using 'batch':'zipf' with linespoints ls 2 title 'Zipf', \\\n"
            "     data using 'batch':'absent' with linespoints ls 3 title 'absent', \\\n"
            "     data using 'batch':'kernel' with linespoints ls 5 title 'kernel', \\\n"
            "     data using 'batch':'transfer' with linespoints ls 6 title 'transfer'\n",
    .run = run_latency,
};
