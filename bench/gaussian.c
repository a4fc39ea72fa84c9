/* bench/gaussian.c - the Gaussian Bloom filter beside our own classical one, in one run.
 *
 * Two comparisons. At equal slots: the classical filter of the same m and k, as in the paper,
 * whose array is slot_bits times smaller. At equal bytes: the classical filter of slot_bits * m
 * bits and the same k. Keys are added and tested in batches, with k = 5; every figure includes
 * hashing the keys. Filters are filled to a quarter and to all of what is best for a Bloom
 * filter of m bits, once in the second-level cache and once far outside any. "+%" is the time of
 * an operation over that of the classical filter; the runs of both take turns, and the best of
 * each counts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "keys.h"
#include "report.h"

enum { BATCH = 1024, HASHES = 5, CACHED_RUNS = 15 };

static const struct report_column columns[] = {
    {"slots_are", "at equal", 9, -2},
    {"filter", "filter", 22, -2},
    {"bytes", "bytes", 10, 0},
    {"keys", "keys", 9, 0},
    {"error", "error", 9, -1},
    {"add_mops", "add M/s", 8, 1},
    {"absent_mops", "absent M/s", 10, 1},
    {"present_mops", "present M/s", 11, 1},
    {"add_overhead", "add +%", 7, 1},
    {"absent_overhead", "absent +%", 9, 1},
    {"present_overhead", "present +%", 10, 1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

enum operation { ADD, TEST_ABSENT, TEST_PRESENT, OPERATIONS };

/* A filter of either kind; the other pointer is NULL. */
struct subject {
    lethe_gaussian *gaussian;
    lethe_bloom *bloom;
    uint64_t bytes;
    uint64_t hits[OPERATIONS];
    double best_seconds[OPERATIONS];
};

struct keys {
    const uint64_t *present, *absent;
    size_t count;
};

static void add(struct subject *subject, const lethe_hash *hashes, size_t count) {
    if (subject->gaussian != NULL) {
        lethe_gaussian_add_batch(subject->gaussian, hashes, count);
    } else {
        lethe_bloom_add_batch(subject->bloom, hashes, count);
    }
}

static void test(struct subject *subject, const lethe_hash *hashes, size_t count,
                 uint8_t *present) {
    if (subject->gaussian != NULL) {
        lethe_gaussian_test_batch(subject->gaussian, hashes, count, present);
    } else {
        lethe_bloom_test_batch(subject->bloom, hashes, count, present);
    }
}

static void clear(struct subject *subject) {
    if (subject->gaussian != NULL) {
        lethe_gaussian_clear(subject->gaussian);
    } else {
        lethe_bloom_clear(subject->bloom);
    }
}

/* All keys of one operation; how many were found. */
static uint64_t work(struct subject *subject, const struct keys *keys, enum operation operation) {
    const uint64_t *values = operation == TEST_ABSENT ? keys->absent : keys->present;
    lethe_hash hashes[BATCH];
    uint8_t present[BATCH];
    uint64_t hits = 0;
    for (size_t done = 0; done < keys->count; done += BATCH) {
        size_t count = keys->count - done < BATCH ? keys->count - done : BATCH;
        lethe_hash_u64_batch(LETHE_DEFAULT_SEED, values + done, count, hashes);
        if (operation == ADD) {
            add(subject, hashes, count);
            continue;
        }
        test(subject, hashes, count, present);
        for (size_t i = 0; i < count; i++)
            hits += present[i];
    }
    return hits;
}

static void time_operation(struct subject *subject, const struct keys *keys,
                           enum operation operation) {
    if (operation == ADD) clear(subject);
    double began = bench_now();
    subject->hits[operation] = work(subject, keys, operation);
    double seconds = bench_now() - began;
    if (seconds < subject->best_seconds[operation]) subject->best_seconds[operation] = seconds;
}

/* Times all operations of both, in turns. */
static void time_pair(struct subject *classic, struct subject *gaussian, const struct keys *keys,
                      int runs) {
    for (int operation = 0; operation < OPERATIONS; operation++) {
        classic->best_seconds[operation] = gaussian->best_seconds[operation] = INFINITY;
        for (int run = 0; run <= runs; run++) {
            time_operation(classic, keys, (enum operation)operation);
            time_operation(gaussian, keys, (enum operation)operation);
        }
    }
}

static void report_subject(struct report *report, const char *equal, const char *name,
                           const struct subject *subject, const struct subject *classic,
                           size_t count) {
    double n = (double)count, over[OPERATIONS];
    for (int i = 0; i < OPERATIONS; i++)
        over[i] = (subject->best_seconds[i] / classic->best_seconds[i] - 1) * 100;
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(equal),
                           REPORT_TEXT(name),
                           REPORT_NUMBER((double)subject->bytes),
                           REPORT_NUMBER(n),
                           REPORT_NUMBER((double)subject->hits[TEST_ABSENT] / n),
                           REPORT_NUMBER(n / subject->best_seconds[ADD] * 1e-6),
                           REPORT_NUMBER(n / subject->best_seconds[TEST_ABSENT] * 1e-6),
                           REPORT_NUMBER(n / subject->best_seconds[TEST_PRESENT] * 1e-6),
                           REPORT_NUMBER(over[ADD]),
                           REPORT_NUMBER(over[TEST_ABSENT]),
                           REPORT_NUMBER(over[TEST_PRESENT]),
                       });
}

static const char *type_name(uint32_t slot_bits, char text[32]) {
    if (slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) return "gaussian float";
    snprintf(text, 32, "gaussian %u bits", slot_bits);
    return text;
}

/* One Gaussian filter of that many bytes and a classical one beside it; returns whether both kept
 * their keys. */
static bool run_pair(struct report *report, const struct bench_options *options, uint64_t bytes,
                     uint32_t slot_bits, double load, bool equal_bytes) {
    uint64_t slots = bytes * 8 / slot_bits;
    lethe_gaussian_options shape = LETHE_OPTIONS(lethe_gaussian_options, .slots = slots,
                                                 .hashes = HASHES, .slot_bits = slot_bits);
    lethe_bloom_options classic_shape = LETHE_OPTIONS(
        lethe_bloom_options, .bits = equal_bytes ? bytes * 8 : slots, .hashes = HASHES);
    struct subject gaussian = {.bytes = bytes}, classic = {.bytes = classic_shape.bits / 8};
    bench_require(lethe_gaussian_new(&shape, &gaussian.gaussian) == LETHE_OK, "making a filter");
    bench_require(lethe_bloom_new(&classic_shape, &classic.bloom) == LETHE_OK, "making a filter");
    size_t count = (size_t)((double)slots * load * 0.6931471805599453 / HASHES);
    uint64_t *present = keys_make(options->seed, 0, count);
    uint64_t *absent = keys_make(options->seed, count, count);
    struct keys keys = {.present = present, .absent = absent, .count = count};
    bool cached = bytes < UINT64_C(1) << 20;
    time_pair(&classic, &gaussian, &keys,
              cached && !options->quick ? CACHED_RUNS * options->runs : options->runs);
    const char *equal = equal_bytes ? "bytes" : "slots";
    char name[32];
    report_subject(report, equal, "classic", &classic, &classic, count);
    report_subject(report, equal, type_name(slot_bits, name), &gaussian, &classic, count);
    bool ok = classic.hits[TEST_PRESENT] == count && gaussian.hits[TEST_PRESENT] == count;
    free(present);
    free(absent);
    lethe_gaussian_free(gaussian.gaussian);
    lethe_bloom_free(classic.bloom);
    return ok;
}

static int run_gaussian(const struct bench_options *options) {
    static const uint32_t types[] = {2, 3, 4, 8, LETHE_GAUSSIAN_FLOAT_BITS};
    static const uint64_t full_bytes[] = {UINT64_C(256) << 10, UINT64_C(64) << 20};
    static const uint64_t quick_bytes[] = {UINT64_C(32) << 10, UINT64_C(1) << 20};
    struct report report;
    report_begin(&report, "gaussian", options->json, columns, COLUMNS);
    bool ok = true;
    for (int size = 0; size < 2; size++) {
        uint64_t bytes = options->quick ? quick_bytes[size] : full_bytes[size];
        for (int equal_bytes = 0; equal_bytes < 2; equal_bytes++) {
            for (size_t type = 0; type < sizeof types / sizeof types[0]; type++) {
                if (size > 0 && types[type] > 4)
                    continue; /* more bits are slower, and the memory is the same */
                for (int load = 0; load < 2; load++)
                    ok &= run_pair(&report, options, bytes, types[type], load == 0 ? 0.25 : 1,
                                   equal_bytes);
            }
        }
    }
    report_end(&report);
    if (!ok) fprintf(stderr, "lethe-bench: a filter lost a key that was added\n");
    return ok ? 0 : 3;
}

const struct workload workload_gaussian = {
    .name = "gaussian",
    .summary = "the Gaussian Bloom filter beside the classical one, at equal slots and bytes",
    .run = run_gaussian,
};
