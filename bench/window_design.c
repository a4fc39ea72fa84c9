/* bench/window_design.c - how the quotient kind was chosen: ages in the slots, or a ring of
 * filters?
 *
 * Ages   One part for the whole window whose entries carry their age: the window as it is.
 * Ring   One part per generation, entries without age. All are looked into, the newest is written,
 *        the oldest is dropped whole. Of g + 1 parts each holds 1/g of a window's ids and has 1/(g
 *        + 1) of the error, and an id is forgotten by W (1 + 1/g).
 *
 * The ring is made of the same parts with the same code, so that nothing but the design differs.
 * Its entries need neither ages nor stamps, so its bits are counted as of parts without.
 *
 * At an error of 1e-12 blocks take two lines, so an operation touches four; in the row "ages, one
 * line" they take one, as stores without a memory cap ask for (one_line in lethe/window.h), and an
 * id takes more memory. There are no rings there, and the bare loop touches two lines all the same.
 *
 * Beside the window stands what memory alone allows: a bare loop over as much memory, which does
 * nothing for an operation but read two random lines and write to one of them. In batches it
 * asks for them 32 operations ahead, as the window does. Alone, each operation begins when the
 * one before has its lines: a CPU that looks far enough ahead may beat that, and where it does
 * the loop is the slower. */
#include <math.h>
#include <stdio.h>

#include <lethe/lethe.h>

#include "frame.h"
#include "heap.h"
#include "keys.h"
#include "report.h"
#include "retries.h"
#include "window/part.h"

enum { BATCH = 1024, FILL_QUARTERS = 5, MAX_PARTS = 9, AHEAD = 32, LINE_BYTES = 64 };

static const struct report_column columns[] = {
    {"design", "design", 18, -2},       {"ids", "ids", 9, 0},
    {"error_target", "error", 7, -1},   {"slack", "slack", 6, 3},
    {"bits_per_id", "bits/id", 8, 2},   {"single_mops", "single M/s", 10, 2},
    {"batch_mops", "batch M/s", 10, 2}, {"missed", "missed", 6, 0},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

struct ring {
    lethe_part *parts[MAX_PARTS]; /* newest first */
    unsigned count;
    struct lethe_part_shape shape; /* of each */
    uint64_t period_ms, period_end_ms;
    const lethe_allocator *allocator;
};

static void ring_init(struct ring *ring, uint64_t n, double error, unsigned count,
                      const lethe_allocator *allocator) {
    *ring = (struct ring){.count = count,
                          .period_ms = RETRIES_WINDOW_MS / (count - 1),
                          .period_end_ms = RETRIES_WINDOW_MS / (count - 1),
                          .allocator = allocator};
    /* A batch more, since a period begins with a batch and not within one. */
    uint64_t ids = n / (count - 1) + BATCH;
    bench_require(lethe_part_plan(ids, error / count, 1, false, &ring->shape), "planning a part");
    for (unsigned i = 0; i < count; i++) {
        ring->parts[i] = lethe_part_new(&ring->shape, 0, allocator);
        bench_require(ring->parts[i] != NULL, "making a part");
    }
}

static void ring_drop(struct ring *ring) {
    for (unsigned i = 0; i < ring->count; i++)
        lethe_part_free(ring->parts[i]);
}

static inline void ring_advance(struct ring *ring, uint64_t now_ms) {
    while (now_ms >= ring->period_end_ms) {
        lethe_part_free(ring->parts[ring->count - 1]);
        for (unsigned i = ring->count - 1; i > 0; i--)
            ring->parts[i] = ring->parts[i - 1];
        ring->parts[0] = lethe_part_new(&ring->shape, 0, ring->allocator);
        bench_require(ring->parts[0] != NULL, "making a part");
        ring->period_end_ms += ring->period_ms;
    }
}

static inline bool ring_check_and_record(struct ring *ring, lethe_hash id) {
    for (unsigned i = 0; i < ring->count; i++) {
        if (ring->parts[i]->operations->test(ring->parts[i], id, 0)) return true;
    }
    lethe_part_result result = ring->parts[0]->operations->insert(ring->parts[0], id, 0);
    bench_require(result == LETHE_PART_ADDED, "recording an id");
    return false;
}

/* What a ring made for the purpose would take: remainders, and a byte a block for how many there
 * are. */
static uint64_t ring_bytes(const struct ring *ring) {
    const struct lethe_part_shape *shape = &ring->shape;
    return ring->count * shape->slabs * shape->blocks *
           ((uint64_t)shape->queue.slots * shape->queue.bits + 8) / 8;
}

/* Either of the two, and what passes through it. */
struct subject {
    lethe_window *window; /* NULL: the ring */
    struct ring ring;
    uint64_t hash_seed;
    struct heap heap;
    struct retries stream;
};

static void feed_single(struct subject *subject) {
    struct retries *stream = &subject->stream;
    for (size_t i = 0; i < stream->count; i++) {
        lethe_hash id = lethe_hash_u64(subject->hash_seed, stream->ids[i]);
        uint64_t now_ms = retries_now_ms(stream, i);
        if (subject->window == NULL) {
            ring_advance(&subject->ring, now_ms);
            stream->answers[i] = ring_check_and_record(&subject->ring, id);
            continue;
        }
        lethe_answer answer;
        bench_require(lethe_window_add_and_test(subject->window, id, now_ms, &answer) == LETHE_OK,
                      "recording an id");
        stream->answers[i] = (uint8_t)answer;
    }
}

static void feed_batches(struct subject *subject) {
    struct retries *stream = &subject->stream;
    lethe_hash ids[BATCH];
    for (size_t first = 0; first < stream->count; first += BATCH) {
        size_t count = stream->count - first < BATCH ? stream->count - first : BATCH;
        lethe_hash_u64_batch(subject->hash_seed, stream->ids + first, count, ids);
        uint64_t now_ms = retries_now_ms(stream, first);
        uint8_t *answers = stream->answers + first;
        bool ok;
        if (subject->window == NULL) {
            struct ring *ring = &subject->ring;
            ring_advance(ring, now_ms);
            lethe_part_result result;
            ok = ring->parts[0]->operations->add_and_test_batch(
                     ring->parts, ring->count, ids, count, 0, answers, &result) == count;
        } else {
            ok = lethe_window_add_and_test_batch(subject->window, ids, count, now_ms, answers) ==
                 LETHE_OK;
        }
        bench_require(ok, "recording ids");
    }
}

typedef void feed(struct subject *subject);

/* Millions of operations per second over a whole W. */
static double measure(struct subject *subject, feed *function, int quarters) {
    double seconds = 0;
    for (int i = 0; i < quarters; i++) {
        retries_next(&subject->stream);
        double start = bench_now();
        function(subject);
        seconds += bench_now() - start;
        retries_count(&subject->stream);
    }
    return (double)subject->stream.count * quarters / seconds * 1e-6;
}

static double measure_best(struct subject *subject, feed *function, int runs) {
    double best = 0;
    for (int run = 0; run < runs; run++)
        best = fmax(best, measure(subject, function, RETRIES_QUARTERS));
    return best;
}

/* The two lines of operation number index. */
struct lines {
    unsigned char *first, *second;
};

static inline struct lines lines_of(unsigned char *memory, uint64_t count, uint64_t index) {
    uint64_t random = keys_scramble(index);
    return (struct lines){memory + ((random & UINT32_MAX) * count >> 32) * LINE_BYTES,
                          memory + ((random >> 32) * count >> 32) * LINE_BYTES};
}

/* Seconds for a number of operations: one after another, or each asked for ahead. */
static double touch_lines(unsigned char *memory, uint64_t line_count, uint64_t operations,
                          uint64_t first, bool ahead) {
    uint64_t seen = 0; /* stays 0, which the compiler can't know */
    double start = bench_now();
    for (uint64_t i = first; i < first + operations; i++) {
        if (ahead) {
            struct lines next = lines_of(memory, line_count, i + AHEAD);
            __builtin_prefetch(next.first, 1);
            __builtin_prefetch(next.second, 1);
        }
        struct lines lines = lines_of(memory, line_count, ahead ? i : i + seen);
        seen += lines.first[0] + lines.second[0];
        lines.first[LINE_BYTES - 1] = (unsigned char)i;
    }
    double seconds = bench_now() - start;
    bench_require(seen == 0, "touching memory");
    return seconds;
}

static void run_floor(struct report *report, const struct bench_options *options, uint64_t n,
                      double error, uint64_t bytes) {
    const lethe_allocator *allocator = lethe_default_allocator();
    uint64_t line_count = bytes / LINE_BYTES, operations = options->quick ? 20000 : 2000000;
    unsigned char *memory =
        allocator->allocate_zeroed(allocator->context, (size_t)line_count * LINE_BYTES);
    bench_require(memory != NULL, "allocating memory");
    for (uint64_t i = 0; i < line_count; i++)
        memory[i * LINE_BYTES + 1] = 1;
    double best[2] = {0, 0};
    for (int run = 0; run < options->runs; run++) {
        for (int ahead = 0; ahead < 2; ahead++) {
            uint64_t first = (uint64_t)(2 * run + ahead) * operations;
            double seconds = touch_lines(memory, line_count, operations, first, ahead != 0);
            best[ahead] = fmax(best[ahead], (double)operations / seconds * 1e-6);
        }
    }
    allocator->release(allocator->context, memory, (size_t)line_count * LINE_BYTES);
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT("two lines, bare"),
                           REPORT_NUMBER((double)n),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(NAN),
                           REPORT_NUMBER(8.0 * (double)bytes / (double)n),
                           REPORT_NUMBER(best[0]),
                           REPORT_NUMBER(best[1]),
                           REPORT_NUMBER(NAN),
                       });
}

/* A ring of that many parts, or with 0 the window. Returns whether nothing was missed. */
static bool run_row(struct report *report, const struct bench_options *options, uint64_t n,
                    double error, unsigned parts, bool one_line) {
    struct subject subject = {.hash_seed = LETHE_DEFAULT_SEED};
    heap_init(&subject.heap);
    retries_init(&subject.stream, n, options->seed, 0);
    char name[32];
    snprintf(name, sizeof name, "%s", one_line ? "ages, one line" : "ages in the slots");
    double slack;
    if (parts == 0) {
        lethe_window_options shape = LETHE_OPTIONS(
            lethe_window_options, .window_ms = RETRIES_WINDOW_MS, .error = error, .capacity = n,
            .allocator = &subject.heap.allocator, .one_line = one_line);
        bench_require(lethe_window_new(&shape, &subject.window) == LETHE_OK, "making a window");
        lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
        bench_require(lethe_window_info(subject.window, 0, &stats) == LETHE_OK, "asking a window");
        slack = stats.slack;
    } else {
        ring_init(&subject.ring, n, error, parts, &subject.heap.allocator);
        snprintf(name, sizeof name, "ring of %u filters", parts);
        slack = 1.0 / (parts - 1);
    }
    measure(&subject, feed_batches, FILL_QUARTERS);
    heap_reset_peak(&subject.heap);
    double batch = measure_best(&subject, feed_batches, options->runs);
    double single = measure_best(&subject, feed_single, options->runs);
    uint64_t bytes = parts == 0 ? subject.heap.peak_bytes : ring_bytes(&subject.ring);
    report_row(report, (struct report_cell[COLUMNS]){
                           REPORT_TEXT(name),
                           REPORT_NUMBER((double)n),
                           REPORT_NUMBER(error),
                           REPORT_NUMBER(slack),
                           REPORT_NUMBER(8.0 * (double)bytes / (double)n),
                           REPORT_NUMBER(single),
                           REPORT_NUMBER(batch),
                           REPORT_NUMBER((double)subject.stream.missed),
                       });
    bool ok = subject.stream.missed == 0;
    lethe_window_free(subject.window);
    ring_drop(&subject.ring);
    retries_drop(&subject.stream);
    if (parts == 0) run_floor(report, options, n, error, bytes);
    return ok;
}

static int run_window_design(const struct bench_options *options) {
    static const uint64_t full_sizes[] = {1000000, 10000000};
    static const uint64_t quick_sizes[] = {20000, 100000};
    static const double errors[] = {1e-3, 1e-6};
    static const unsigned designs[] = {0, 5, 9};
    const uint64_t *sizes = options->quick ? quick_sizes : full_sizes;
    struct report report;
    report_begin(&report, "window-design", options->json, columns, COLUMNS);
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            for (int k = 0; k < 3; k++)
                ok &= run_row(&report, options, sizes[i], errors[j], designs[k], false);
        }
        for (int k = 0; k < 2; k++)
            ok &= run_row(&report, options, sizes[i], 1e-12, 0, k == 1);
    }
    report_end(&report);
    if (!ok) fprintf(stderr, "lethe-bench: a window missed a duplicate\n");
    return ok ? 0 : 3;
}

const struct workload workload_window_design = {
    .name = "window-design",
    .summary = "the quotient window against a ring of filters, one per generation",
    .run = run_window_design,
};
