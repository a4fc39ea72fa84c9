/* bench/sketch.c - sketches on 64-bit keys, one core: ours one by one and in batches, beside a
 * plain Count-Min sketch.
 *
 * Every figure includes hashing the keys. The shape is that of the FID paper: 4 rows of 30,000
 * counters of 32 bits. A row is one sketch: the keys added, then each of them queried. Keys are
 * uniform among 100,000, or follow Zipf's law. "2 readers" is what two threads that query at the
 * same time do together, as a multiple of one. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "keys.h"
#include "report.h"
#include "textbook_count_min.h"
#include "zipf.h"

enum { BATCH = 1024, WIDTH = 30000, DEPTH = 4, ITEMS = 100000, READERS = 2 };

static const struct report_column columns[] = {
    {"sketch", "sketch", 24, -2},         {"keys", "keys", 8, -2},
    {"memory_bytes", "bytes", 9, 0},      {"error", "avg error", 9, 2},
    {"insert_mops", "insert M/s", 10, 1}, {"query_mops", "query M/s", 9, 1},
    {"two_readers", "2 readers", 9, 2},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* The stream of a row and one way to work on it. */
struct sketch_run {
    const uint64_t *stream;
    size_t count;
    uint64_t sum; /* of all answers */
    lethe_sketch *sketch;
    uint64_t seed;
    struct textbook textbook;
};

static void clear(void *context) {
    struct sketch_run *run = context;
    lethe_sketch_clear(run->sketch);
}

static void add_single(void *context) {
    struct sketch_run *run = context;
    for (size_t i = 0; i < run->count; i++) {
        lethe_hash hash = lethe_hash_u64(run->seed, run->stream[i]);
        bench_require(lethe_sketch_add_hash(run->sketch, hash, 1) == LETHE_OK, "adding");
    }
}

static void query_single(void *context) {
    struct sketch_run *run = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < run->count; i++) {
        lethe_hash hash = lethe_hash_u64(run->seed, run->stream[i]);
        sum += lethe_sketch_count_hash(run->sketch, hash, NULL);
    }
    run->sum = sum;
}

static void add_batch(void *context) {
    struct sketch_run *run = context;
    lethe_hash hashes[BATCH];
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = run->count - done < BATCH ? run->count - done : BATCH;
        lethe_hash_u64_batch(run->seed, run->stream + done, count, hashes);
        bench_require(lethe_sketch_add_batch(run->sketch, hashes, count, NULL, NULL) == LETHE_OK,
                      "adding");
    }
}

static void query_batch(void *context) {
    struct sketch_run *run = context;
    lethe_hash hashes[BATCH];
    uint64_t counts[BATCH], sum = 0;
    for (size_t done = 0; done < run->count; done += BATCH) {
        size_t count = run->count - done < BATCH ? run->count - done : BATCH;
        lethe_hash_u64_batch(run->seed, run->stream + done, count, hashes);
        (void)lethe_sketch_count_batch(run->sketch, hashes, count, counts, NULL);
        for (size_t i = 0; i < count; i++)
            sum += counts[i];
    }
    run->sum = sum;
}

static void textbook_clear(void *context) {
    struct sketch_run *run = context;
    memset(run->textbook.counters, 0, sizeof(uint32_t) * WIDTH * DEPTH);
}

static void textbook_add_all(void *context) {
    struct sketch_run *run = context;
    for (size_t i = 0; i < run->count; i++)
        textbook_add(&run->textbook, &run->stream[i], sizeof run->stream[i]);
}

static void textbook_query_all(void *context) {
    struct sketch_run *run = context;
    uint64_t sum = 0;
    for (size_t i = 0; i < run->count; i++)
        sum += textbook_query(&run->textbook, &run->stream[i], sizeof run->stream[i]);
    run->sum = sum;
}

struct functions {
    void (*clear)(void *);
    void (*add)(void *);
    void (*query)(void *);
};

static const struct functions singly = {clear, add_single, query_single};
static const struct functions batched = {clear, add_batch, query_batch};
static const struct functions textbook = {textbook_clear, textbook_add_all, textbook_query_all};

static void *read_all(void *context) {
    query_batch(context);
    return NULL;
}

static void query_by_two(void *context) {
    struct sketch_run readers[READERS] = {*(struct sketch_run *)context,
                                          *(struct sketch_run *)context};
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        bench_require(pthread_create(&threads[i], NULL, read_all, &readers[i]) == 0, "a thread");
    for (int i = 0; i < READERS; i++)
        bench_require(pthread_join(threads[i], NULL) == 0, "a thread's end");
}

/* Times one row. The sum over the stream of each key's frequency is the same for all, so what
 * the answers exceed it by is the error. */
static void run_row(struct report *report, const struct bench_options *options, const char *name,
                    const char *keys, struct sketch_run *run, const struct functions *functions,
                    double bytes, double truth) {
    double n = (double)run->count;
    struct timing add =
        bench_time(&(struct task){functions->clear, functions->add, run}, options->runs);
    struct timing query = bench_time(&(struct task){NULL, functions->query, run}, options->runs);
    double readers = NAN;
    if (functions == &batched) {
        struct timing both = bench_time(&(struct task){NULL, query_by_two, run}, options->runs);
        readers = READERS * query.best_seconds / both.best_seconds;
    }
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(name),
                           REPORT_TEXT(keys),
                           REPORT_NUMBER(bytes),
                           REPORT_NUMBER(((double)run->sum - truth) / n),
                           REPORT_NUMBER(n / add.best_seconds * 1e-6),
                           REPORT_NUMBER(n / query.best_seconds * 1e-6),
                           REPORT_NUMBER(readers),
                       });
}

static void run_lethe(struct report *report, const struct bench_options *options,
                      const char *const names[2], const char *keys, struct sketch_run *run,
                      lethe_sketch_kind kind, double truth) {
    lethe_sketch_options shape =
        LETHE_OPTIONS(lethe_sketch_options, .kind = kind, .width = WIDTH, .depth = DEPTH);
    bench_require(lethe_sketch_new(&shape, &run->sketch) == LETHE_OK, "making a sketch");
    lethe_sketch_shape made = LETHE_INIT(lethe_sketch_shape);
    bench_require(lethe_sketch_get_shape(run->sketch, &made) == LETHE_OK, "asking a sketch");
    run->seed = made.seed;
    double bytes = (double)made.memory_bytes;
    run_row(report, options, names[0], keys, run, &singly, bytes, truth);
    lethe_sketch_clear(run->sketch);
    run_row(report, options, names[1], keys, run, &batched, bytes, truth);
    lethe_sketch_free(run->sketch);
}

/* The sum over the stream of the frequency of each key: of f^2 over the keys. */
static double true_sum(const uint32_t *ranks, size_t count) {
    uint64_t *frequency = calloc(ITEMS, sizeof *frequency), sum = 0;
    bench_require(frequency != NULL, "allocating");
    for (size_t i = 0; i < count; i++)
        frequency[ranks[i]]++;
    for (size_t i = 0; i < ITEMS; i++)
        sum += frequency[i] * frequency[i];
    free(frequency);
    return (double)sum;
}

static void run_keys(struct report *report, const struct bench_options *options, const char *keys,
                     const uint32_t *ranks, size_t count) {
    static const struct {
        lethe_sketch_kind kind;
        const char *names[2];
    } kinds[] = {
        {LETHE_SKETCH_COUNT_MIN, {"count-min", "count-min batch"}},
        {LETHE_SKETCH_CONSERVATIVE, {"conservative", "conservative batch"}},
        {LETHE_SKETCH_FID, {"FID", "FID batch"}},
        {LETHE_SKETCH_COUNT, {"count", "count batch"}},
        {LETHE_SKETCH_LOG, {"log, 16 bits", "log, 16 bits, batch"}},
    };
    uint64_t *stream = malloc(count * sizeof *stream);
    bench_require(stream != NULL, "allocating keys");
    for (size_t i = 0; i < count; i++)
        stream[i] = keys_scramble(options->seed + ranks[i]);
    double truth = true_sum(ranks, count);
    struct sketch_run run = {.stream = stream, .count = count};
    run.textbook = (struct textbook){calloc(WIDTH * DEPTH, sizeof(uint32_t)), WIDTH, DEPTH};
    bench_require(run.textbook.counters != NULL, "allocating counters");
    run_row(report, options, "textbook count-min", keys, &run, &textbook,
            sizeof(uint32_t) * WIDTH * DEPTH, truth);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        run_lethe(report, options, kinds[i].names, keys, &run, kinds[i].kind, truth);
    free(run.textbook.counters);
    free(stream);
}

static int run_sketch(const struct bench_options *options) {
    size_t count = options->quick ? 100 * 1000 : 10 * 1000 * 1000;
    uint32_t *ranks = malloc(count * sizeof *ranks);
    bench_require(ranks != NULL, "allocating keys");
    struct report report;
    report_begin(&report, "sketch", options->json, columns, COLUMNS);
    for (size_t i = 0; i < count; i++)
        ranks[i] = (uint32_t)((keys_scramble(options->seed + i) >> 32) * ITEMS >> 32);
    run_keys(&report, options, "random", ranks, count);
    struct zipf zipf;
    zipf_init(&zipf, ITEMS, options->seed);
    for (size_t i = 0; i < count; i++)
        ranks[i] = zipf_next(&zipf);
    run_keys(&report, options, "zipf", ranks, count);
    zipf_drop(&zipf);
    report_end(&report);
    free(ranks);
    return 0;
}

const struct workload workload_sketch = {
    .name = "sketch",
    .summary = "sketches of 4 x 30,000 counters, single and batch, beside a plain Count-Min",
    .run = run_sketch,
};
