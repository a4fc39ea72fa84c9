/* bench/redis_batches.c - how long batches of fifty increments take, with a filter and without.
 *
 * The experiment of Figure 15 of the paper on the forgetful Bloom filter, which is `lethe paper
 * fbf-15`: four servers in a star, a master and three replicas, and one client. A batch is fifty
 * increments, sent at once, and a WAIT until a replica has them. The ways take turns, so that
 * whatever else the machine does slows them alike.
 *
 * A row is a percentile: the latency that so many per cent of the batches did not exceed. The row
 * without a percentile is the mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "redis_nodes.h"
#include "report.h"

enum { NODES = 4, BATCH = 50, ANSWER_MS = 5000, WARM = 50 };
enum way { PLAIN, QUOTIENT, FORGETFUL, MANY, WAYS };

static const struct report_column columns[] = {
    {"percentile", "percentile", 10, 1}, {"plain_ms", "INCRBY", 9, 3},
    {"quotient_ms", "quotient", 9, 3},   {"forgetful_ms", "forgetful", 9, 3},
    {"many_ms", "MINCRBY", 9, 3},
};

static const double percentiles[] = {1,  5,  10, 20, 30, 40, 50,   60,
                                     70, 80, 90, 95, 98, 99, 99.5, 99.9};

static void write_batch(struct redis_text *text, enum way way, uint64_t batch) {
    redis_text_clear(text);
    char many[4096] = "ONCE.MINCRBY many";
    for (unsigned i = 0; i < BATCH; i++) {
        unsigned long long id = batch * BATCH + i;
        if (way == PLAIN) redis_text_add(text, "HINCRBY plain clicks 1");
        if (way == QUOTIENT)
            redis_text_add(text, "ONCE.INCRBY quotient client-1:%llu clicks 1", id);
        if (way == FORGETFUL) {
            redis_text_add(text, "ONCE.INCRBY forgetful client-1:%llu clicks 1", id);
        }
        size_t length = strlen(many);
        snprintf(many + length, sizeof many - length, " client-1:%llu clicks 1", id);
    }
    if (way == MANY) redis_text_add(text, "%s", many);
    redis_text_add(text, "WAIT 1 %d", ANSWER_MS);
}

/* Milliseconds from sending to the last answer. */
static double time_batch(struct redis_link *link, const struct redis_text *text) {
    double started = bench_now();
    bool is_done = redis_link_send(link, text->bytes, text->size);
    struct redis_answer answer;
    for (unsigned i = 0; is_done && i < text->commands; i++)
        is_done = redis_link_receive(link, &answer) && answer.kind != '-';
    bench_require(is_done, "a batch");
    return 1000 * (bench_now() - started);
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct times {
    double *ms[WAYS]; /* NULL: the way is left out */
    size_t count;
};

static double percentile(const struct times *times, enum way way, double per_cent) {
    if (times->ms[way] == NULL) return NAN;
    return times->ms[way][(size_t)((double)(times->count - 1) * per_cent / 100)];
}

static double mean(const struct times *times, enum way way) {
    if (times->ms[way] == NULL) return NAN;
    double sum = 0;
    for (size_t i = 0; i < times->count; i++)
        sum += times->ms[way][i];
    return sum / (double)times->count;
}

static void print(struct report *report, struct times *times) {
    for (enum way way = 0; way < WAYS; way++) {
        if (times->ms[way] != NULL) qsort(times->ms[way], times->count, sizeof(double), compare);
    }
    for (size_t i = 0; i <= sizeof percentiles / sizeof percentiles[0]; i++) {
        bool is_mean = i == sizeof percentiles / sizeof percentiles[0];
        struct report_cell cells[WAYS + 1] = {REPORT_NUMBER(is_mean ? NAN : percentiles[i])};
        for (enum way way = 0; way < WAYS; way++) {
            cells[way + 1] =
                REPORT_NUMBER(is_mean ? mean(times, way) : percentile(times, way, percentiles[i]));
        }
        report_row(report, cells);
    }
}

static void measure(struct redis_link *link, struct times *times) {
    struct redis_answer answer;
    bench_require(redis_link_ask(link, &answer, "ONCE.CREATE forgetful KIND forgetful"), "a table");
    bool has_forgetful = answer.kind == '+';
    if (!has_forgetful) {
        fprintf(stderr, "lethe-bench: this module has no KIND forgetful (%s); it is left out\n",
                answer.text);
    }
    struct redis_text text = {0};
    for (enum way way = 0; way < WAYS; way++) {
        if (way == FORGETFUL && !has_forgetful) continue;
        times->ms[way] = calloc(times->count, sizeof(double));
        bench_require(times->ms[way] != NULL, "memory");
    }
    for (uint64_t batch = 0; batch < times->count + WARM; batch++) {
        for (enum way way = 0; way < WAYS; way++) {
            if (times->ms[way] == NULL) continue;
            write_batch(&text, way, batch);
            double ms = time_batch(link, &text);
            if (batch >= WARM) times->ms[way][batch - WARM] = ms;
        }
    }
    redis_text_free(&text);
}

static int run(const struct bench_options *options) {
    struct report report;
    report_begin(&report, "redis-batches", options->json, columns,
                 sizeof columns / sizeof columns[0]);
    if (redis_nodes_can_start()) {
        static struct redis_nodes nodes;
        struct times times = {.count = options->quick ? 100 : 3000};
        redis_nodes_start_star(&nodes, NODES);
        measure(&nodes.nodes[0].link, &times);
        redis_nodes_stop(&nodes);
        print(&report, &times);
        for (enum way way = 0; way < WAYS; way++)
            free(times.ms[way]);
    }
    report_end(&report);
    return 0;
}

const struct workload workload_redis_batches = {
    .name = "redis-batches",
    .summary = "latency of batches of fifty increments, with a window and without",
    .run = run,
};
