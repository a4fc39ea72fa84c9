/* bench/window_growth.c - what a window weighs while it grows, when nobody said for how many ids.
 *
 * Ids come much faster than W passes, as in the first minutes of a busy table: all of them are
 * alive, and the window makes part after part. A row "grown" is a real window, from the moment at
 * which it made a part to the next such moment: the most and the least bytes per id in between.
 * Bytes are what the window says it uses, which MEMORY USAGE of a once-table is too.
 *
 * The first two rows of an error are the time: a window gets all ids, in batches and one by one,
 * and the least CPU time of several runs counts. "capped" is a window under a cap that it does not
 * reach: it grows by larger steps, as all windows did before steps became smaller (growth.h).
 *
 * The other rows ask what another rule would take: a new part for so many times the ids that are
 * alive. They are arithmetic with the plans of real parts, from ten thousand ids on, where the
 * least capacity of a part matters no more. "grown" makes parts for LETHE_GROWTH_FINE_STEP times as
 * many from LETHE_GROWTH_FINE_FROM ids on, so the row of that factor shows how good the arithmetic
 * is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "report.h"
#include "window/growth.h"
#include "window/part.h"

#define FAR_CAP (UINT64_C(1) << 40)

/* Before the first number of ids, a window is a few kilobytes whatever it holds. */
enum {
    FIRST_IDS = 1000,
    FIRST_SUPPOSED = 10000,
    LOOK_IDS = 64,
    BATCH = 1024,
    WINDOW_MS = 600000,
    FEEDING_MS = 60000,
    MOST_PARTS = 64
};

static const struct report_column columns[] = {
    {"rule", "rule", 8, -2},
    {"error_target", "error", 7, -1},
    {"ids_from", "from ids", 9, 0},
    {"ids_to", "to ids", 9, 0},
    {"parts", "parts", 6, 0},
    {"capacity", "newest part", 12, 0},
    {"most_bytes_per_id", "most B/id", 10, 2},
    {"least_bytes_per_id", "least B/id", 11, 2},
    {"batch_mops", "batch M/s", 10, 2},
    {"single_mops", "single M/s", 10, 2},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

/* A stretch of the way. */
struct stretch {
    const char *rule;
    double error;
    uint64_t from, to, parts, capacity;
    double most, least;
    double batch_mops, single_mops;
};

static struct stretch begin(const char *rule, double error, uint64_t from) {
    return (struct stretch){.rule = rule,
                            .error = error,
                            .from = from,
                            .least = INFINITY,
                            .batch_mops = NAN,
                            .single_mops = NAN};
}

static void note(struct stretch *stretch, uint64_t ids, uint64_t bytes) {
    double each = (double)bytes / (double)ids;
    stretch->to = ids;
    stretch->most = fmax(stretch->most, each);
    stretch->least = fmin(stretch->least, each);
}

static void show(struct report *report, const struct stretch *stretch) {
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(stretch->rule),
                           REPORT_NUMBER(stretch->error),
                           REPORT_NUMBER((double)stretch->from),
                           REPORT_NUMBER((double)stretch->to),
                           REPORT_NUMBER((double)stretch->parts),
                           REPORT_NUMBER((double)stretch->capacity),
                           REPORT_NUMBER(stretch->most),
                           REPORT_NUMBER(stretch->least),
                           REPORT_NUMBER(stretch->batch_mops),
                           REPORT_NUMBER(stretch->single_mops),
                       });
}

static lethe_window_stats look(const lethe_window *window, uint64_t now_ms) {
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    bench_require(lethe_window_info(window, now_ms, &stats) == LETHE_OK, "asking a window");
    return stats;
}

static void feed(lethe_window *window, uint64_t first, uint64_t now_ms) {
    uint64_t ids[LOOK_IDS];
    lethe_hash hashes[LOOK_IDS];
    uint8_t answers[LOOK_IDS];
    for (uint64_t i = 0; i < LOOK_IDS; i++)
        ids[i] = first + i;
    lethe_hash_u64_batch(lethe_window_seed(window), ids, LOOK_IDS, hashes);
    bench_require(lethe_window_add_and_test_batch(window, hashes, LOOK_IDS, now_ms, answers) ==
                      LETHE_OK,
                  "recording ids");
}

static void grow(struct report *report, double error, uint64_t seed, uint64_t last) {
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = error, .seed = seed);
    lethe_window *window;
    bench_require(lethe_window_new(&options, &window) == LETHE_OK, "making a window");
    struct stretch stretch = begin("grown", error, FIRST_IDS);
    for (uint64_t ids = 0; ids < last;) {
        uint64_t now_ms = WINDOW_MS + ids * FEEDING_MS / last;
        feed(window, ids, now_ms);
        ids += LOOK_IDS;
        if (ids < FIRST_IDS) continue;
        lethe_window_stats stats = look(window, now_ms);
        if (stretch.to > 0 && stats.parts != stretch.parts) {
            show(report, &stretch);
            stretch = begin("grown", error, ids);
        }
        stretch.parts = stats.parts;
        stretch.capacity = stats.capacity;
        note(&stretch, ids, stats.memory_bytes);
    }
    show(report, &stretch);
    lethe_window_free(window);
}

/* A window that gets ids, each for the first time. */
struct feeding {
    lethe_window_options options;
    const lethe_hash *ids;
    uint64_t count;
    lethe_window *window;
};

static uint64_t time_of(const struct feeding *feeding, uint64_t id) {
    return WINDOW_MS + id * FEEDING_MS / feeding->count;
}

static void begin_feeding(struct feeding *feeding) {
    lethe_window_free(feeding->window);
    bench_require(lethe_window_new(&feeding->options, &feeding->window) == LETHE_OK,
                  "making a window");
}

static void feed_batches(const struct feeding *feeding) {
    uint8_t answers[BATCH];
    for (uint64_t at = 0; at < feeding->count; at += BATCH) {
        uint64_t left = feeding->count - at;
        size_t count = left < BATCH ? (size_t)left : BATCH;
        bench_require(lethe_window_add_and_test_batch(feeding->window, feeding->ids + at, count,
                                                      time_of(feeding, at), answers) == LETHE_OK,
                      "recording ids");
    }
}

static void feed_single(const struct feeding *feeding) {
    lethe_answer answer;
    for (uint64_t at = 0; at < feeding->count; at++)
        bench_require(lethe_window_add_and_test(feeding->window, feeding->ids[at],
                                                time_of(feeding, at), &answer) == LETHE_OK,
                      "recording an id");
}

static double million_per_second(struct feeding *feeding, void (*run)(const struct feeding *),
                                 int runs) {
    double best = INFINITY;
    for (int i = 0; i < runs; i++) {
        begin_feeding(feeding);
        double start = bench_cpu_now();
        run(feeding);
        best = fmin(best, bench_cpu_now() - start);
    }
    return (double)feeding->count / best * 1e-6;
}

static void measure(struct report *report, const char *rule, uint64_t cap, double error,
                    const struct bench_options *options, const lethe_hash *ids, uint64_t count) {
    struct feeding feeding = {
        .options = LETHE_OPTIONS(lethe_window_options, .window_ms = WINDOW_MS, .error = error,
                                 .seed = options->seed, .max_memory_bytes = cap),
        .ids = ids,
        .count = count,
    };
    struct stretch stretch = begin(rule, error, 0);
    stretch.to = count;
    stretch.most = stretch.least = NAN;
    stretch.batch_mops = million_per_second(&feeding, feed_batches, options->runs);
    stretch.single_mops = million_per_second(&feeding, feed_single, options->runs);
    lethe_window_stats stats = look(feeding.window, time_of(&feeding, count));
    stretch.parts = stats.parts;
    stretch.capacity = stats.capacity;
    show(report, &stretch);
    lethe_window_free(feeding.window);
}

/* The part that follows where ids never stop coming, and each is for factor times as many as are
 * alive. */
static struct lethe_growth next_part(double factor, double alive, double error, double used) {
    struct lethe_growth next = lethe_growth_next(&(struct lethe_growth_state){
        .alive = alive, .needed = INFINITY, .error = error, .used_error = used});
    next.capacity = (uint64_t)fmax(factor * alive, LETHE_GROWTH_MIN_CAPACITY);
    return next;
}

static void suppose(struct report *report, const char *rule, double factor, double error,
                    uint64_t last) {
    unsigned generations = lethe_growth_generations(0.25);
    struct lethe_growth next = lethe_growth_first(0, generations, error, false);
    struct stretch stretch = begin(rule, error, FIRST_SUPPOSED);
    double used = 0;
    uint64_t bytes = 0, ids = 0;
    while (ids < last && stretch.parts < MOST_PARTS) {
        struct lethe_part_shape shape;
        bench_require(lethe_part_plan(next.capacity, next.share, generations, false, &shape),
                      "planning a part");
        bytes += lethe_part_planned_bytes(&shape);
        stretch.parts++;
        stretch.capacity = next.capacity;
        /* A part weighs the most when it has just been made. */
        if (ids >= FIRST_SUPPOSED) note(&stretch, ids + 1, bytes);
        ids += next.capacity;
        if (ids > last) ids = last;
        if (ids >= FIRST_SUPPOSED) note(&stretch, ids, bytes);
        used += lethe_part_error(&shape, shape.capacity);
        next = next_part(factor, (double)ids, error, used);
    }
    show(report, &stretch);
}

static int run_window_growth(const struct bench_options *options) {
    static const double errors[] = {1e-6, 1e-9};
    static const struct {
        const char *rule;
        double factor;
    } rules[] = {{"x4", 4}, {"x2", 2}, {"x1", 1}, {"x0.5", 0.5}, {"x0.25", 0.25}};
    uint64_t last = options->quick ? 100000 : 3000000;
    lethe_hash *ids = malloc(last * sizeof *ids);
    bench_require(ids != NULL, "allocating ids");
    for (uint64_t i = 0; i < last; i++)
        ids[i] = lethe_hash_u64(options->seed, i);
    struct report report;
    report_begin(&report, "window-growth", options->json, columns, COLUMNS);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        measure(&report, "capped", FAR_CAP, errors[i], options, ids, last);
        measure(&report, "grown", 0, errors[i], options, ids, last);
        grow(&report, errors[i], options->seed, last);
        for (size_t j = 0; j < sizeof rules / sizeof rules[0]; j++)
            suppose(&report, rules[j].rule, rules[j].factor, errors[i], last);
    }
    report_end(&report);
    free(ids);
    return 0;
}

const struct workload workload_window_growth = {
    .name = "window-growth",
    .summary = "bytes per id and speed of a window that grows to 3 million ids by itself",
    .run = run_window_growth,
};
