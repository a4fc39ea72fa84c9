/* bench/filters.c - every filter of Lethe that lives in memory, in equal memory: what it errs and
 * how fast it is.
 *
 * Ten million 64-bit keys go into a filter that may have 8, 12 or 16 bits for each, with the
 * parameters that err least in them; the Gaussian filter in slots of 2 and of 4 bits. Windows
 * can't be told a size: theirs is what an error of 10% or 1% takes, with all keys recorded
 * within W. Keys are added and tested in batches, hashing included; the error is counted over
 * ten million absent keys. Time is that of the CPU, the best of several runs, so that other work
 * on the machine changes the figures less. These are the figures of docs/choosing.md. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "keys.h"
#include "report.h"

#define LN_2 0.6931471805599453
#define QUOTIENT_METADATA_BITS 2.125
#define QUOTIENT_LOAD 0.95

enum { BATCH = 1024, WINDOW_MS = 600000, MOST_HASHES = 32 };

static const struct report_column columns[] = {
    {"memory", "memory", 8, -2},
    {"filter", "filter", 22, -2},
    {"bits_per_key", "bits/key", 8, 2},
    {"error", "error", 9, -1},
    {"add_mops", "add M/s", 8, 1},
    {"test_absent_mops", "absent M/s", 10, 1},
    {"test_present_mops", "present M/s", 11, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* What a kind of filter has to offer; made again for every run, since not all can be cleared. */
struct kind {
    void *(*make)(double bits_per_key, uint64_t keys);
    void (*add)(void *filter, const lethe_hash *hashes, size_t count, uint64_t now_ms);
    void (*test)(void *filter, const lethe_hash *hashes, size_t count, uint8_t *present);
    double (*memory_bytes)(void *filter);
    void (*drop)(void *filter);
};

/* The number of hash functions that a Bloom filter errs least with. */
static uint32_t best_hashes(double slots_per_key) {
    double best = round(slots_per_key * LN_2);
    return best < 1 ? 1 : best > MOST_HASHES ? MOST_HASHES : (uint32_t)best;
}

static void *require(void *made) {
    bench_require(made != NULL, "making a filter");
    return made;
}

static void *make_bloom(double bits_per_key, uint64_t keys) {
    lethe_bloom *filter = NULL;
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .bits = (uint64_t)(bits_per_key * (double)keys),
                      .hashes = best_hashes(bits_per_key));
    return lethe_bloom_new(&options, &filter) == LETHE_OK ? filter : NULL;
}

/* 8 hashes err least up to 16 bits, of the multiples of 8 that there are. */
static void *make_blocked(double bits_per_key, uint64_t keys) {
    lethe_bloom *filter = NULL;
    lethe_bloom_options options =
        LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED,
                      .bits = (uint64_t)(bits_per_key * (double)keys), .hashes = 8);
    return lethe_bloom_new(&options, &filter) == LETHE_OK ? filter : NULL;
}

static void add_bloom(void *filter, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    lethe_bloom_add_batch(filter, hashes, count);
}

static void test_bloom(void *filter, const lethe_hash *hashes, size_t count, uint8_t *present) {
    lethe_bloom_test_batch(filter, hashes, count, present);
}

static double bloom_bytes(void *filter) {
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    bench_require(lethe_bloom_get_shape(filter, &shape) == LETHE_OK, "asking a filter's shape");
    return (double)shape.bits / 8;
}

static void drop_bloom(void *filter) {
    lethe_bloom_free(filter);
}

static void *make_gaussian(double bits_per_key, uint64_t keys, uint32_t slot_bits) {
    lethe_gaussian *filter = NULL;
    double slots_per_key = bits_per_key / slot_bits;
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = (uint64_t)(slots_per_key * (double)keys),
                      .hashes = best_hashes(slots_per_key), .slot_bits = slot_bits);
    return lethe_gaussian_new(&options, &filter) == LETHE_OK ? filter : NULL;
}

static void *make_gaussian_2(double bits_per_key, uint64_t keys) {
    return make_gaussian(bits_per_key, keys, 2);
}

static void *make_gaussian_4(double bits_per_key, uint64_t keys) {
    return make_gaussian(bits_per_key, keys, 4);
}

static void add_gaussian(void *filter, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    lethe_gaussian_add_batch(filter, hashes, count);
}

static void test_gaussian(void *filter, const lethe_hash *hashes, size_t count, uint8_t *present) {
    lethe_gaussian_test_batch(filter, hashes, count, present);
}

static double gaussian_bytes(void *filter) {
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    bench_require(lethe_gaussian_get_shape(filter, &shape) == LETHE_OK, "asking a filter");
    return (double)shape.memory_bytes;
}

static void drop_gaussian(void *filter) {
    lethe_gaussian_free(filter);
}

/* The longest remainders that leave 5% of the slots free. */
static void *make_quotient(double bits_per_key, uint64_t keys) {
    lethe_quotient *filter = NULL;
    double remainder_bits = floor(bits_per_key * QUOTIENT_LOAD - QUOTIENT_METADATA_BITS);
    double slots = bits_per_key * (double)keys / (remainder_bits + QUOTIENT_METADATA_BITS);
    lethe_quotient_options options = LETHE_OPTIONS(lethe_quotient_options, .slots = (uint64_t)slots,
                                                   .remainder_bits = (uint32_t)remainder_bits);
    return lethe_quotient_new(&options, &filter) == LETHE_OK ? filter : NULL;
}

static void add_quotient(void *filter, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    (void)now_ms;
    bench_require(lethe_quotient_add_batch(filter, hashes, count, NULL) == LETHE_OK, "adding");
}

static void test_quotient(void *filter, const lethe_hash *hashes, size_t count, uint8_t *present) {
    lethe_quotient_test_batch(filter, hashes, count, present);
}

static double quotient_bytes(void *filter) {
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    bench_require(lethe_quotient_info(filter, &stats) == LETHE_OK, "asking a filter");
    return (double)stats.memory_bytes;
}

static void drop_quotient(void *filter) {
    lethe_quotient_free(filter);
}

/* For windows "bits_per_key" is the error. */
static void *make_window(double error, uint64_t keys, lethe_window_kind kind) {
    lethe_window *window = NULL;
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = WINDOW_MS, .error = error,
                      .capacity = keys);
    return lethe_window_new(&options, &window) == LETHE_OK ? window : NULL;
}

static void *make_window_quotient(double error, uint64_t keys) {
    return make_window(error, keys, LETHE_WINDOW_QUOTIENT);
}

static void *make_window_bloom(double error, uint64_t keys) {
    return make_window(error, keys, LETHE_WINDOW_FORGETFUL);
}

static void add_window(void *window, const lethe_hash *hashes, size_t count, uint64_t now_ms) {
    bench_require(lethe_window_add_batch(window, hashes, count, now_ms, NULL) == LETHE_OK,
                  "recording");
}

static void test_window(void *window, const lethe_hash *hashes, size_t count, uint8_t *present) {
    bench_require(lethe_window_test_batch(window, hashes, count, WINDOW_MS, present) == LETHE_OK,
                  "testing");
    for (size_t i = 0; i < count; i++)
        present[i] = present[i] != LETHE_ANSWER_FRESH;
}

static double window_bytes(void *window) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    bench_require(lethe_window_info(window, WINDOW_MS, &stats) == LETHE_OK, "asking a window");
    return (double)stats.memory_bytes;
}

static void drop_window(void *window) {
    lethe_window_free(window);
}

static const struct kind bloom = {make_bloom, add_bloom, test_bloom, bloom_bytes, drop_bloom};
static const struct kind blocked = {make_blocked, add_bloom, test_bloom, bloom_bytes, drop_bloom};
static const struct kind gaussian_2 = {make_gaussian_2, add_gaussian, test_gaussian, gaussian_bytes,
                                       drop_gaussian};
static const struct kind gaussian_4 = {make_gaussian_4, add_gaussian, test_gaussian, gaussian_bytes,
                                       drop_gaussian};
static const struct kind quotient = {make_quotient, add_quotient, test_quotient, quotient_bytes,
                                     drop_quotient};
static const struct kind window_quotient = {make_window_quotient, add_window, test_window,
                                            window_bytes, drop_window};
static const struct kind window_bloom = {make_window_bloom, add_window, test_window, window_bytes,
                                         drop_window};

struct filters_run {
    const uint64_t *present, *absent;
    size_t count;
    const struct kind *kind;
    double bits_per_key;
    void *filter;
    uint64_t hits; /* of the last test */
};

static void make_anew(void *context) {
    struct filters_run *run = context;
    run->kind->drop(run->filter);
    run->filter = require(run->kind->make(run->bits_per_key, run->count));
}

static size_t batch_at(const struct filters_run *run, const uint64_t *keys, size_t done,
                       lethe_hash *hashes) {
    size_t count = run->count - done < BATCH ? run->count - done : BATCH;
    lethe_hash_u64_batch(LETHE_DEFAULT_SEED, keys + done, count, hashes);
    return count;
}

static void add_all(void *context) {
    struct filters_run *run = context;
    lethe_hash hashes[BATCH];
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = batch_at(run, run->present, done, hashes);
        run->kind->add(run->filter, hashes, count, done * WINDOW_MS / run->count);
    }
}

static void test_all(struct filters_run *run, const uint64_t *keys) {
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    uint64_t hits = 0;
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = batch_at(run, keys, done, hashes);
        run->kind->test(run->filter, hashes, count, present);
        for (size_t i = 0; i < count; i++)
            hits += present[i];
    }
    run->hits = hits;
}

static void test_absent(void *context) {
    struct filters_run *run = context;
    test_all(run, run->absent);
}

static void test_present(void *context) {
    struct filters_run *run = context;
    test_all(run, run->present);
}

/* The least CPU seconds of several runs; setup comes before each but the first. */
static double time_best(void (*setup)(void *), void (*work)(void *), struct filters_run *run,
                        int runs) {
    double best = INFINITY;
    for (int i = 0; i < runs; i++) {
        if (i > 0 && setup != NULL) setup(run);
        double start = bench_cpu_now();
        work(run);
        best = fmin(best, bench_cpu_now() - start);
    }
    return best;
}

/* Times a filter and prints its row; false when a key was lost. */
static bool run_row(struct report *report, const struct bench_options *options,
                    struct filters_run *run, const char *memory, const char *name) {
    double n = (double)run->count;
    run->filter = require(run->kind->make(run->bits_per_key, run->count));
    double add = time_best(make_anew, add_all, run, options->runs);
    double absent = time_best(NULL, test_absent, run, options->runs);
    double error = (double)run->hits / n;
    double present = time_best(NULL, test_present, run, options->runs);
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(memory),
                           REPORT_TEXT(name),
                           REPORT_NUMBER(run->kind->memory_bytes(run->filter) * 8 / n),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(n / add * 1e-6),
                           REPORT_NUMBER(n / absent * 1e-6),
                           REPORT_NUMBER(n / present * 1e-6),
                       });
    run->kind->drop(run->filter);
    return run->hits == run->count;
}

static int run_filters(const struct bench_options *options) {
    static const struct row {
        const char *memory, *name;
        const struct kind *kind;
        double bits_per_key;
    } rows[] = {
        {"8 bits", "bloom", &bloom, 8},
        {"8 bits", "blocked", &blocked, 8},
        {"8 bits", "quotient", &quotient, 8},
        {"8 bits", "gaussian, 4 slots of 2", &gaussian_2, 8},
        {"8 bits", "gaussian, 2 slots of 4", &gaussian_4, 8},
        {"12 bits", "bloom", &bloom, 12},
        {"12 bits", "blocked", &blocked, 12},
        {"12 bits", "quotient", &quotient, 12},
        {"12 bits", "gaussian, 6 slots of 2", &gaussian_2, 12},
        {"12 bits", "gaussian, 3 slots of 4", &gaussian_4, 12},
        {"16 bits", "bloom", &bloom, 16},
        {"16 bits", "blocked", &blocked, 16},
        {"16 bits", "quotient", &quotient, 16},
        {"16 bits", "gaussian, 8 slots of 2", &gaussian_2, 16},
        {"16 bits", "gaussian, 4 slots of 4", &gaussian_4, 16},
        {"its own", "window, quotient, 10%", &window_quotient, 0.1},
        {"its own", "window, bloom, 10%", &window_bloom, 0.1},
        {"its own", "window, quotient, 1%", &window_quotient, 0.01},
        {"its own", "window, bloom, 1%", &window_bloom, 0.01},
    };
    size_t count = options->quick ? 100000 : 10000000;
    uint64_t *present = keys_make(options->seed, 0, count);
    uint64_t *absent = keys_make(options->seed, count, count);
    struct report report;
    report_begin(&report, "filters", options->json, columns, COLUMNS);
    bool ok = true;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct filters_run run = {.present = present,
                                  .absent = absent,
                                  .count = count,
                                  .kind = rows[i].kind,
                                  .bits_per_key = rows[i].bits_per_key};
        ok &= run_row(&report, options, &run, rows[i].memory, rows[i].name);
    }
    report_end(&report);
    free(present);
    free(absent);
    if (!ok) fprintf(stderr, "lethe-bench: a filter lost a key that was added\n");
    return ok ? 0 : 3;
}

const struct workload workload_filters = {
    .name = "filters",
    .summary = "every filter in memory, in equal memory: error and speed",
    .run = run_filters,
};
