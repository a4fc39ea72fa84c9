/* bench/window_memory.c - what a window of the quotient kind weighs, at sizes between which its
 * plan might round differently.
 *
 * A row is one window that was told to expect n ids in W and got them, for 2 W: retries.h. Bits
 * are all its memory over n. The floor is what no structure can do without: log2(1/e). */
#include <math.h>
#include <stdio.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "heap.h"
#include "report.h"
#include "retries.h"

enum { BATCH = 1024, QUARTERS = 8 };

static const struct report_column columns[] = {
    {"ids", "ids", 10, 0},
    {"error_target", "error", 7, -1},
    {"bits_per_id", "bits/id", 8, 2},
    {"floor_bits_per_id", "floor", 7, 2},
    {"parts", "parts", 6, 0},
    {"missed", "missed", 6, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void feed_quarter(lethe_window *window, struct retries *stream) {
    lethe_hash hashes[BATCH];
    retries_next(stream);
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        lethe_hash_u64_batch(lethe_window_seed(window), stream->ids + first, count, hashes);
        bench_require(lethe_window_add_and_test_batch(window, hashes, count,
                                                      retries_now_ms(stream, first),
                                                      stream->answers + first) == LETHE_OK,
                      "recording ids");
    }
    retries_count(stream);
}

/* Returns whether nothing was missed. */
static bool run_row(struct report *report, uint64_t seed, uint64_t n, double error) {
    struct heap heap;
    heap_init(&heap);
    struct retries stream;
    retries_init(&stream, n, seed, 0);
    lethe_window_options shape =
        LETHE_OPTIONS(lethe_window_options, .window_ms = RETRIES_WINDOW_MS, .error = error,
                      .capacity = n, .allocator = &heap.allocator);
    lethe_window *window;
    bench_require(lethe_window_new(&shape, &window) == LETHE_OK, "making a window");
    for (int i = 0; i < QUARTERS; i++)
        feed_quarter(window, &stream);
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    uint64_t now_ms = retries_now_ms(&stream, stream.count - 1);
    bench_require(lethe_window_info(window, now_ms, &stats) == LETHE_OK, "asking a window");
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_NUMBER((double)n),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(8.0 * (double)heap.peak_bytes / (double)n),
                           REPORT_NUMBER(-log2(error)),
                           REPORT_NUMBER((double)stats.parts),
                           REPORT_NUMBER((double)stream.missed),
                       });
    uint64_t missed = stream.missed;
    lethe_window_free(window);
    retries_drop(&stream);
    return missed == 0;
}

static int run_window_memory(const struct bench_options *options) {
    static const uint64_t full_sizes[] = {10000000, 30000000, 100000000, 120000000};
    static const uint64_t quick_sizes[] = {100000, 300000};
    static const double errors[] = {1e-3, 1e-6, 1e-12};
    const uint64_t *sizes = options->quick ? quick_sizes : full_sizes;
    struct report report;
    report_begin(&report, "window-memory", options->json, columns, COLUMNS);
    bool ok = true;
    for (int i = 0; i < (options->quick ? 2 : 4); i++) {
        for (size_t j = 0; j < sizeof errors / sizeof errors[0]; j++)
            ok &= run_row(&report, options->seed, sizes[i], errors[j]);
    }
    report_end(&report);
    if (!ok) fprintf(stderr, "lethe-bench: a window missed a duplicate\n");
    return ok ? 0 : 3;
}

const struct workload workload_window_memory = {
    .name = "window-memory",
    .summary = "bits per id of windows for 10, 30, 100 and 120 million ids",
    .run = run_window_memory,
};
