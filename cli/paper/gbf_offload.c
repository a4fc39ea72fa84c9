/* paper/gbf_offload.c - Section 4.2: what threads that sort get done while another inserts into a
 * filter, on the CPU or on a device. Measures time.
 *
 * The paper's eight threads generate 10^12 integers, sort and reverse them, over and over; so many
 * do not fit into any memory, so here it is 10^4 at a time. What is counted is integers. The
 * variants take turns, in short rounds, so that what else the machine does meets all of them. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "frame/clock.h"
#include "frame/exit_code.h"
#include "paper/device.h"
#include "paper/gbf.h"
#include "say/message.h"

enum { THREADS = 8, SORTED = 10000, SLOTS = 10000, HASHES = 50, A_SECOND = 400, ROUNDS = 3 };

#define ROUND_SECONDS 0.8

enum variant { NOTHING, BLOOM, GAUSSIAN, DEVICE, VARIANTS };

static const struct column columns[] = {
    {"variant", "variant", COLUMN_WHOLE},
    {"sorted", "sorted", COLUMN_TENTH},
    {"inserted", "inserted", COLUMN_WHOLE},
    {"cpu", "CPU ms", COLUMN_TENTH},
};

static _Atomic bool is_over;

struct sorter {
    uint64_t random;
    uint64_t sorted;
    int numbers[SORTED];
};

static int compare(const void *a, const void *b) {
    int first = *(const int *)a, second = *(const int *)b;
    return (first > second) - (first < second);
}

static void *sort(void *context) {
    struct sorter *sorter = context;
    while (!is_over) {
        for (int i = 0; i < SORTED; i++) {
            sorter->random = sorter->random * UINT64_C(6364136223846793005) + 1442695040888963407;
            sorter->numbers[i] = (int)(sorter->random >> 33);
        }
        qsort(sorter->numbers, SORTED, sizeof sorter->numbers[0], compare);
        for (int i = 0; i < SORTED / 2; i++) {
            int kept = sorter->numbers[i];
            sorter->numbers[i] = sorter->numbers[SORTED - 1 - i];
            sorter->numbers[SORTED - 1 - i] = kept;
        }
        sorter->sorted += SORTED;
    }
    return NULL;
}

/* What the thread that inserts has. */
struct offload {
    lethe_bloom *bloom;
    lethe_gaussian *gaussian;
    struct device *device;
    struct device_filter *filter;
    lethe_status status;
    lethe_detail detail;
    double sorted[VARIANTS], inserted[VARIANTS], cpu_ms[VARIANTS];
};

static double thread_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void insert(struct offload *offload, enum variant variant, unsigned number) {
    char text[32];
    size_t size = (size_t)snprintf(text, sizeof text, "string %u of many", number);
    lethe_bytes key = {text, size};
    if (variant == BLOOM) lethe_bloom_add(offload->bloom, text, size);
    if (variant == GAUSSIAN) lethe_gaussian_add(offload->gaussian, text, size);
    if (variant == DEVICE)
        offload->status = device_filter_add(offload->filter, &key, 1, &offload->detail);
}

/* Inserts at the paper's rate until the round is over. */
static void insert_at_rate(struct offload *offload, enum variant variant) {
    double start = clock_seconds(), cpu = thread_ms();
    unsigned done = 0;
    for (double now = start; now < start + ROUND_SECONDS; now = clock_seconds()) {
        for (; offload->status == LETHE_OK && done < (now - start) * A_SECOND; done++)
            insert(offload, variant, done);
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    offload->inserted[variant] += variant == NOTHING ? 0 : done;
    offload->cpu_ms[variant] += thread_ms() - cpu;
}

static void measure(struct offload *offload, struct sorter *sorters, enum variant variant) {
    pthread_t handles[THREADS];
    int started = 0;
    is_over = false;
    for (; started < THREADS; started++) {
        sorters[started].random = (uint64_t)started + 1;
        sorters[started].sorted = 0;
        if (pthread_create(&handles[started], NULL, sort, &sorters[started]) != 0) break;
    }
    if (started < THREADS) offload->status = LETHE_ENOMEM;
    double start = clock_seconds();
    insert_at_rate(offload, variant);
    is_over = true;
    double seconds = clock_seconds() - start;
    double sorted = 0;
    for (int i = 0; i < started; i++) {
        pthread_join(handles[i], NULL);
        sorted += (double)sorters[i].sorted;
    }
    offload->sorted[variant] += sorted / seconds / 1e6 / ROUNDS;
}

static void prepare(struct offload *offload, struct report *report) {
    lethe_gaussian_options options = LETHE_OPTIONS(
        lethe_gaussian_options, .slots = SLOTS, .hashes = HASHES,
        .slot_bits = LETHE_GAUSSIAN_FLOAT_BITS, .spacing = LETHE_GAUSSIAN_SPACING_PUBLISHED);
    offload->status = lethe_gaussian_new(&options, &offload->gaussian);
    if (offload->status == LETHE_OK)
        offload->status = lethe_bloom_new(
            &LETHE_OPTIONS(lethe_bloom_options, .bits = SLOTS, .hashes = HASHES), &offload->bloom);
    if (offload->status == LETHE_OK)
        offload->status = device_open(1, &offload->device, &offload->detail);
    if (offload->status == LETHE_OK) device_describe(offload->device, &offload->detail, report);
    if (offload->status == LETHE_OK && offload->device != NULL)
        offload->status = device_filter_open(offload->device, offload->gaussian, true,
                                             &offload->filter, &offload->detail);
}

static void conclude(const struct offload *offload, struct report *report) {
    const double *sorted = offload->sorted;
    report_claim(report, "beside 400 insertions a second with k = 50 and m = 10,000, eight threads "
                         "sort 1.18e18 integers in ten seconds if a GPU inserts, 1.15e18 if the "
                         "CPU does, and 1.14e18 with a Bloom filter on the CPU.");
    report_result(report,
                  "beside a Gaussian filter on the CPU they sort %.3f times what they sort beside "
                  "a Bloom filter. 400 insertions take %.1f ms of CPU in a Gaussian filter.",
                  sorted[GAUSSIAN] / sorted[BLOOM],
                  (offload->cpu_ms[GAUSSIAN] - offload->cpu_ms[NOTHING]) * A_SECOND /
                      offload->inserted[GAUSSIAN]);
    report_value(report, "gaussian-over-bloom-ratio", sorted[GAUSSIAN] / sorted[BLOOM]);
    if (offload->device == NULL) return;
    report_result(report,
                  "beside the device they sort %.3f times what they sort beside a Gaussian "
                  "filter on the CPU.",
                  sorted[DEVICE] / sorted[GAUSSIAN]);
    report_value(report, "device-over-gaussian-ratio", sorted[DEVICE] / sorted[GAUSSIAN]);
}

static int run(struct report *report) {
    report_columns(report, columns, sizeof columns / sizeof columns[0]);
    struct offload offload = {0};
    struct sorter *sorters = calloc(THREADS, sizeof *sorters);
    prepare(&offload, report);
    if (sorters == NULL) offload.status = LETHE_ENOMEM;
    int variants = offload.device != NULL ? VARIANTS : DEVICE;
    for (int i = 0; i < ROUNDS * variants && offload.status == LETHE_OK; i++)
        measure(&offload, sorters, (enum variant)(i % variants));
    for (int i = 0; i < VARIANTS && offload.status == LETHE_OK; i++) {
        bool is_made = i < variants;
        REPORT_ROW(report, i, is_made ? offload.sorted[i] : NAN,
                   is_made ? offload.inserted[i] : NAN, is_made ? offload.cpu_ms[i] : NAN);
    }
    if (offload.status == LETHE_OK) conclude(&offload, report);
    free(sorters);
    device_filter_close(offload.filter);
    device_close(offload.device);
    lethe_gaussian_free(offload.gaussian);
    lethe_bloom_free(offload.bloom);
    return device_code(offload.status, &offload.detail);
}

const struct figure figure_gbf_offload = {
    .name = "gbf-offload",
    .title = "what the CPU gets done while a device keeps the filter",
    .columns = "Variants: 0 nothing is inserted, 1 a Bloom filter, 2 a Gaussian filter of floats "
               "on the CPU, 3 one on the OpenCL device. Million integers that eight threads sort "
               "a second meanwhile; the insertions; and the CPU time of the thread that inserts. "
               "Measures time.",
    .plot = "set ylabel 'million integers sorted a second'\n"
            "set yrange [0:]\n"
            "set xrange [-0.6:3.6]\n"
            "set xtics ('nothing' 0, 'Bloom' 1, 'Gaussian' 2, 'device' 3)\n"
            "set style fill solid 0.6\n"
            "set boxwidth 0.6\n"
            "plot data using 'variant':'sorted' with boxes ls 1 notitle\n",
    .run = run,
};
