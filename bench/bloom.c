/* bench/bloom.c - Bloom filters on 64-bit keys: ours one by one and in batches, libbloom beside.
 *
 * Every figure includes hashing the keys. A row is one filter with n keys: adds into an empty
 * filter, tests of n keys that are absent and n that are present, and the error counted over the
 * absent ones. "cold" is the first filling, in memory the process never touched. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "keys.h"
#include "report.h"

#if defined(BENCH_HAS_LIBBLOOM)
#include <bloom.h>
#endif

enum { BATCH = 1024 };

static const struct report_column columns[] = {
    {"filter", "filter", 26, -2},
    {"keys", "keys", 10, 0},
    {"bits_per_key", "bits/key", 8, 2},
    {"error", "error", 9, -1},
    {"add_cold_mops", "add cold", 9, 1},
    {"add_mops", "add M/s", 8, 1},
    {"test_absent_mops", "absent M/s", 10, 1},
    {"test_present_mops", "present M/s", 11, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The keys of a row and one way to work on them. */
struct bloom_run {
    const uint64_t *present, *absent;
    size_t count;
    uint64_t hits; /* of the last test */
    lethe_bloom *filter;
    uint64_t seed;
#if defined(BENCH_HAS_LIBBLOOM)
    struct bloom *libbloom;
#endif
};

static void clear(void *context) {
    struct bloom_run *run = context;
    lethe_bloom_clear(run->filter);
}

static void add_single(void *context) {
    struct bloom_run *run = context;
    for (size_t i = 0; i < run->count; i++)
        lethe_bloom_add_hash(run->filter, lethe_hash_u64(run->seed, run->present[i]));
}

static void add_batch(void *context) {
    struct bloom_run *run = context;
    lethe_hash hashes[BATCH];
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = run->count - done < BATCH ? run->count - done : BATCH;
        lethe_hash_u64_batch(run->seed, run->present + done, count, hashes);
        lethe_bloom_add_batch(run->filter, hashes, count);
    }
}

static void test_single(struct bloom_run *run, const uint64_t *keys) {
    uint64_t hits = 0;
    for (size_t i = 0; i < run->count; i++)
        hits += lethe_bloom_test_hash(run->filter, lethe_hash_u64(run->seed, keys[i]));
    run->hits = hits;
}

static void test_batch(struct bloom_run *run, const uint64_t *keys) {
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    uint64_t hits = 0;
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = run->count - done < BATCH ? run->count - done : BATCH;
        lethe_hash_u64_batch(run->seed, keys + done, count, hashes);
        lethe_bloom_test_batch(run->filter, hashes, count, present);
        for (size_t i = 0; i < count; i++)
            hits += present[i];
    }
    run->hits = hits;
}

static void test_absent_single(void *context) {
    struct bloom_run *run = context;
    test_single(run, run->absent);
}

static void test_present_single(void *context) {
    struct bloom_run *run = context;
    test_single(run, run->present);
}

static void test_absent_batch(void *context) {
    struct bloom_run *run = context;
    test_batch(run, run->absent);
}

static void test_present_batch(void *context) {
    struct bloom_run *run = context;
    test_batch(run, run->present);
}

struct functions {
    void (*clear)(void *);
    void (*add)(void *);
    void (*test_absent)(void *);
    void (*test_present)(void *);
};

static const struct functions singly = {clear, add_single, test_absent_single, test_present_single};
static const struct functions batched = {clear, add_batch, test_absent_batch, test_present_batch};

/* Times one row and returns whether every present key was found. */
static bool run_row(struct report *report, const struct bench_options *options, const char *name,
                    struct bloom_run *run, const struct functions *functions, double bits) {
    double n = (double)run->count;
    struct timing add =
        bench_time(&(struct task){functions->clear, functions->add, run}, options->runs);
    struct timing absent =
        bench_time(&(struct task){NULL, functions->test_absent, run}, options->runs);
    double error = (double)run->hits / n;
    struct timing present =
        bench_time(&(struct task){NULL, functions->test_present, run}, options->runs);
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(name),
                           REPORT_NUMBER(n),
                           REPORT_NUMBER(bits / n),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(n / add.cold_seconds * 1e-6),
                           REPORT_NUMBER(n / add.best_seconds * 1e-6),
                           REPORT_NUMBER(n / absent.best_seconds * 1e-6),
                           REPORT_NUMBER(n / present.best_seconds * 1e-6),
                       });
    return run->hits == run->count;
}

static bool run_lethe(struct report *report, const struct bench_options *options, const char *name,
                      struct bloom_run *run, const struct functions *functions,
                      lethe_bloom_options shape) {
    bench_require(lethe_bloom_new(&shape, &run->filter) == LETHE_OK, "making a filter");
    run->seed = lethe_bloom_seed(run->filter);
    lethe_bloom_shape made = LETHE_INIT(lethe_bloom_shape);
    bench_require(lethe_bloom_get_shape(run->filter, &made) == LETHE_OK, "asking a filter's shape");
    double bits = (double)made.bits;
    bool ok = run_row(report, options, name, run, functions, bits);
    lethe_bloom_free(run->filter);
    return ok;
}

#if defined(BENCH_HAS_LIBBLOOM)
static void libbloom_clear(void *context) {
    struct bloom_run *run = context;
    bloom_reset(run->libbloom);
}

static void libbloom_add(void *context) {
    struct bloom_run *run = context;
    for (size_t i = 0; i < run->count; i++)
        bloom_add(run->libbloom, &run->present[i], sizeof run->present[i]);
}

static void libbloom_test(struct bloom_run *run, const uint64_t *keys) {
    uint64_t hits = 0;
    for (size_t i = 0; i < run->count; i++)
        hits += bloom_check(run->libbloom, &keys[i], sizeof keys[i]) == 1;
    run->hits = hits;
}

static void libbloom_test_absent(void *context) {
    struct bloom_run *run = context;
    libbloom_test(run, run->absent);
}

static void libbloom_test_present(void *context) {
    struct bloom_run *run = context;
    libbloom_test(run, run->present);
}

static bool run_libbloom(struct report *report, const struct bench_options *options,
                         struct bloom_run *run) {
    static const struct functions functions = {libbloom_clear, libbloom_add, libbloom_test_absent,
                                               libbloom_test_present};
    struct bloom bloom;
    bench_require(bloom_init(&bloom, (int)run->count, 0.01) == 0, "making libbloom's filter");
    run->libbloom = &bloom;
    bool ok = run_row(report, options, "libbloom 1%", run, &functions, (double)bloom.bits);
    bloom_free(&bloom);
    return ok;
}
#endif

static bool run_size(struct report *report, const struct bench_options *options, size_t count) {
    uint64_t *present = keys_make(options->seed, 0, count);
    uint64_t *absent = keys_make(options->seed, count, count);
    struct bloom_run run = {.present = present, .absent = absent, .count = count};
    lethe_bloom_options one_percent =
        LETHE_OPTIONS(lethe_bloom_options, .capacity = count, .error = 0.01);
    lethe_bloom_options ten_bits =
        LETHE_OPTIONS(lethe_bloom_options, .bits = count * 10, .hashes = 7);
    lethe_bloom_options blocked = LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED,
                                                .bits = count * 32 / 3, .hashes = 8);
    bool ok = true;
#if defined(BENCH_HAS_LIBBLOOM)
    ok &= run_libbloom(report, options, &run);
#endif
    ok &= run_lethe(report, options, "classic 1%", &run, &singly, one_percent);
    ok &= run_lethe(report, options, "classic 1% batch", &run, &batched, one_percent);
    ok &= run_lethe(report, options, "classic 10 bits batch", &run, &batched, ten_bits);
    ok &= run_lethe(report, options, "blocked 10.67 bits", &run, &singly, blocked);
    ok &= run_lethe(report, options, "blocked 10.67 bits batch", &run, &batched, blocked);
    free(present);
    free(absent);
    return ok;
}

static int run_bloom(const struct bench_options *options) {
    static const size_t full_sizes[] = {10 * 1000 * 1000, 100 * 1000 * 1000};
    static const size_t quick_sizes[] = {100 * 1000, 1000 * 1000};
    const size_t *sizes = options->quick ? quick_sizes : full_sizes;
    struct report report;
    report_begin(&report, "bloom", options->json, columns, COLUMNS);
    bool ok = true;
    for (int i = 0; i < 2; i++)
        ok &= run_size(&report, options, sizes[i]);
    report_end(&report);
    if (!ok) fprintf(stderr, "lethe-bench: a filter lost a key that was added\n");
    return ok ? 0 : 3;
}

const struct workload workload_bloom = {
    .name = "bloom",
    .summary = "Bloom filters, classical and blocked, single and batch, beside libbloom",
    .run = run_bloom,
};
