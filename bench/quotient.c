/* bench/quotient.c - quotient filters on 64-bit keys: one by one, in batches, removing, merging,
 * reading through; a blocked Bloom filter beside, which can do less.
 *
 * Every figure of keys includes hashing them. A row is one filter with n keys at the load that
 * its name says, filled from empty. "merge" makes it again from two filters that hold half of the
 * keys each, in entries of the result; "read" goes through all its entries with a cursor. "over" is
 * all of its memory, in bits per slot, less the remainder: what it takes to describe a slot. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "keys.h"
#include "report.h"

enum { BATCH = 1024, ENTRIES = 4096 };

static const struct report_column columns[] = {
    {"filter", "filter", 27, -2},
    {"keys", "keys", 9, 0},
    {"bits_per_key", "bits/key", 8, 2},
    {"metadata_bits_per_slot", "over", 6, 3},
    {"error", "error", 9, -1},
    {"add_mops", "add M/s", 8, 1},
    {"test_absent_mops", "absent M/s", 10, 1},
    {"test_present_mops", "present M/s", 11, 1},
    {"remove_mops", "remove", 7, 1},
    {"merge_mops", "merge", 7, 1},
    {"read_mops", "read", 7, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The keys of a row and the filters they go into. */
struct quotient_run {
    const uint64_t *present, *absent;
    size_t count;
    uint64_t hits; /* of the last test, entries of the last read */
    lethe_quotient_options options;
    lethe_quotient *filter, *halves[2], *merged;
    lethe_bloom *bloom;
    uint64_t seed;
};

static size_t batch_at(const struct quotient_run *run, const uint64_t *keys, size_t done,
                       lethe_hash *hashes) {
    size_t count = run->count - done < BATCH ? run->count - done : BATCH;
    lethe_hash_u64_batch(run->seed, keys + done, count, hashes);
    return count;
}

static void clear(void *context) {
    struct quotient_run *run = context;
    bench_require(lethe_quotient_clear(run->filter) == LETHE_OK, "clearing");
}

static void add_single(void *context) {
    struct quotient_run *run = context;
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < run->count && status == LETHE_OK; i++)
        status =
            lethe_quotient_add_hash(run->filter, lethe_hash_u64(run->seed, run->present[i]), 1);
    bench_require(status == LETHE_OK, "adding");
}

static void add_batch(void *context) {
    struct quotient_run *run = context;
    lethe_hash hashes[BATCH];
    lethe_status status = LETHE_OK;
    for (size_t done = 0; done < run->count && status == LETHE_OK; done += BATCH) {
        size_t count = batch_at(run, run->present, done, hashes);
        status = lethe_quotient_add_batch(run->filter, hashes, count, NULL);
    }
    bench_require(status == LETHE_OK, "adding");
}

static void test_single(struct quotient_run *run, const uint64_t *keys) {
    uint64_t hits = 0;
    for (size_t i = 0; i < run->count; i++)
        hits += lethe_quotient_test_hash(run->filter, lethe_hash_u64(run->seed, keys[i]));
    run->hits = hits;
}

static void test_batch(struct quotient_run *run, const uint64_t *keys) {
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    uint64_t hits = 0;
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = batch_at(run, keys, done, hashes);
        if (run->filter != NULL) {
            lethe_quotient_test_batch(run->filter, hashes, count, present);
        } else {
            lethe_bloom_test_batch(run->bloom, hashes, count, present);
        }
        for (size_t i = 0; i < count; i++)
            hits += present[i];
    }
    run->hits = hits;
}

static void test_absent_single(void *context) {
    struct quotient_run *run = context;
    test_single(run, run->absent);
}

static void test_present_single(void *context) {
    struct quotient_run *run = context;
    test_single(run, run->present);
}

static void test_absent_batch(void *context) {
    struct quotient_run *run = context;
    test_batch(run, run->absent);
}

static void test_present_batch(void *context) {
    struct quotient_run *run = context;
    test_batch(run, run->present);
}

/* Takes all keys out of a full filter. */
static void refill(void *context) {
    clear(context);
    add_batch(context);
}

static void remove_batch(void *context) {
    struct quotient_run *run = context;
    lethe_hash hashes[BATCH];
    lethe_status status = LETHE_OK;
    for (size_t done = 0; done < run->count && status == LETHE_OK; done += BATCH) {
        size_t count = batch_at(run, run->present, done, hashes);
        status = lethe_quotient_remove_batch(run->filter, hashes, count, NULL);
    }
    bench_require(status == LETHE_OK, "removing");
}

/* Two filters of the same shape with half of the keys each. */
static void make_halves(struct quotient_run *run) {
    for (size_t half = 0; half < 2; half++) {
        struct quotient_run part = *run;
        part.present = run->present + half * (run->count / 2);
        part.count = run->count / 2;
        bench_require(lethe_quotient_new(&run->options, &part.filter) == LETHE_OK, "a half");
        add_batch(&part);
        run->halves[half] = part.filter;
    }
}

static void drop_merged(void *context) {
    struct quotient_run *run = context;
    lethe_quotient_free(run->merged);
    run->merged = NULL;
}

static void merge(void *context) {
    struct quotient_run *run = context;
    const lethe_quotient *halves[] = {run->halves[0], run->halves[1]};
    bench_require(lethe_quotient_new_merged(halves, 2, &run->merged) == LETHE_OK, "merging");
}

static void read_through(void *context) {
    struct quotient_run *run = context;
    lethe_quotient_entry entries[ENTRIES];
    lethe_quotient_cursor cursor = lethe_quotient_seek(run->filter, 0);
    uint64_t total = 0;
    size_t got;
    do {
        got = lethe_quotient_next(&cursor, entries, ENTRIES);
        for (size_t i = 0; i < got; i++)
            total += entries[i].count;
    } while (got == ENTRIES);
    run->hits = total;
}

struct functions {
    void (*add)(void *);
    void (*test_absent)(void *);
    void (*test_present)(void *);
};

static const struct functions singly = {add_single, test_absent_single, test_present_single};
static const struct functions batched = {add_batch, test_absent_batch, test_present_batch};

static double seconds(void (*setup)(void *), void (*task)(void *), struct quotient_run *run,
                      const struct bench_options *options) {
    return bench_time(&(struct task){setup, task, run}, options->runs).best_seconds;
}

static lethe_quotient_stats stats_of(const lethe_quotient *filter) {
    lethe_quotient_stats stats = LETHE_INIT(lethe_quotient_stats);
    bench_require(lethe_quotient_info(filter, &stats) == LETHE_OK, "asking a filter");
    return stats;
}

/* Times one row and returns whether nothing was lost. */
static bool run_quotient(struct report *report, const struct bench_options *options,
                         const char *name, struct quotient_run *run,
                         const struct functions *functions, lethe_quotient_options shape) {
    run->options = shape;
    bench_require(lethe_quotient_new(&shape, &run->filter) == LETHE_OK, "making a filter");
    run->seed = lethe_quotient_seed(run->filter);
    double n = (double)run->count;
    double add = seconds(clear, functions->add, run, options);
    double absent = seconds(NULL, functions->test_absent, run, options);
    double error = (double)run->hits / n;
    double present = seconds(NULL, functions->test_present, run, options);
    bool ok = run->hits == run->count;
    double removal = NAN, merging = NAN, reading = NAN;
    lethe_quotient_stats stats = stats_of(run->filter);
    if (functions == &batched) {
        reading = n / seconds(NULL, read_through, run, options);
        ok &= run->hits == run->count;
        removal = n / seconds(refill, remove_batch, run, options);
        ok &= stats_of(run->filter).slots_used == 0;
        make_halves(run);
        merging = n / seconds(drop_merged, merge, run, options);
        ok &= stats_of(run->merged).distinct == stats.distinct;
        drop_merged(run);
        lethe_quotient_free(run->halves[0]);
        lethe_quotient_free(run->halves[1]);
    }
    lethe_quotient_shape made = LETHE_INIT(lethe_quotient_shape);
    bench_require(lethe_quotient_get_shape(run->filter, &made) == LETHE_OK, "asking a filter");
    double bits = 8 * (double)stats.memory_bytes;
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(name),
                           REPORT_NUMBER(n),
                           REPORT_NUMBER(bits / n),
                           REPORT_NUMBER(bits / (double)made.slots - made.remainder_bits),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(n / add * 1e-6),
                           REPORT_NUMBER(n / absent * 1e-6),
                           REPORT_NUMBER(n / present * 1e-6),
                           REPORT_NUMBER(removal * 1e-6),
                           REPORT_NUMBER(merging * 1e-6),
                           REPORT_NUMBER(reading * 1e-6),
                       });
    lethe_quotient_free(run->filter);
    run->filter = NULL;
    return ok;
}

static void bloom_clear(void *context) {
    struct quotient_run *run = context;
    lethe_bloom_clear(run->bloom);
}

static void bloom_add(void *context) {
    struct quotient_run *run = context;
    lethe_hash hashes[BATCH];
    for (size_t done = 0; done < run->count; done += BATCH)
        lethe_bloom_add_batch(run->bloom, hashes, batch_at(run, run->present, done, hashes));
}

/* The peer: a blocked Bloom filter of as many bits. */
static bool run_bloom(struct report *report, const struct bench_options *options,
                      struct quotient_run *run, double bits_per_key) {
    double n = (double)run->count;
    lethe_bloom_options shape = LETHE_OPTIONS(lethe_bloom_options, .layout = LETHE_BLOOM_BLOCKED,
                                              .bits = (uint64_t)(bits_per_key * n), .hashes = 8);
    bench_require(lethe_bloom_new(&shape, &run->bloom) == LETHE_OK, "making a Bloom filter");
    run->seed = lethe_bloom_seed(run->bloom);
    double add = seconds(bloom_clear, bloom_add, run, options);
    double absent = seconds(NULL, test_absent_batch, run, options);
    double error = (double)run->hits / n;
    double present = seconds(NULL, test_present_batch, run, options);
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT("blocked Bloom batch"),
                           REPORT_NUMBER(n),
                           REPORT_NUMBER(bits_per_key),
                           REPORT_NUMBER(NAN),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(n / add * 1e-6),
                           REPORT_NUMBER(n / absent * 1e-6),
                           REPORT_NUMBER(n / present * 1e-6),
                           REPORT_NUMBER(NAN),
                           REPORT_NUMBER(NAN),
                           REPORT_NUMBER(NAN),
                       });
    lethe_bloom_free(run->bloom);
    run->bloom = NULL;
    return run->hits == run->count;
}

static bool run_size(struct report *report, const struct bench_options *options, size_t count) {
    uint64_t *present = keys_make(options->seed, 0, count);
    uint64_t *absent = keys_make(options->seed, count, count);
    struct quotient_run run = {.present = present, .absent = absent, .count = count};
    uint64_t at_90 = (uint64_t)((double)count / 0.9), at_95 = (uint64_t)((double)count / 0.9499);
    lethe_quotient_options shape =
        LETHE_OPTIONS(lethe_quotient_options, .slots = at_90, .remainder_bits = 8);
    bool ok = run_quotient(report, options, "r = 8, 90%", &run, &singly, shape);
    ok &= run_quotient(report, options, "r = 8, 90%, batch", &run, &batched, shape);
    shape.slots = at_95;
    ok &= run_quotient(report, options, "r = 8, 95%, batch", &run, &batched, shape);
    static const struct {
        const char *name;
        uint32_t bits;
    } wide[] = {{"r = 10, 90%, batch", 10}, {"r = 16, 90%, batch", 16}, {"r = 39, 90%, batch", 39}};
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        shape =
            LETHE_OPTIONS(lethe_quotient_options, .slots = at_90, .remainder_bits = wide[i].bits);
        ok &= run_quotient(report, options, wide[i].name, &run, &batched, shape);
    }
    ok &= run_bloom(report, options, &run, 11.25);
    free(present);
    free(absent);
    return ok;
}

static int run_quotients(const struct bench_options *options) {
    struct report report;
    report_begin(&report, "quotient", options->json, columns, COLUMNS);
    bool ok = run_size(&report, options, options->quick ? 200 * 1000 : 10 * 1000 * 1000);
    if (options->full) ok &= run_size(&report, options, 100 * 1000 * 1000);
    report_end(&report);
    if (!ok) fprintf(stderr, "lethe-bench: a filter lost a key that was added\n");
    return ok ? 0 : 3;
}

const struct workload workload_quotient = {
    .name = "quotient",
    .summary = "quotient filters: adding, testing, removing, merging, beside a Bloom filter",
    .run = run_quotients,
};
