/* bench/window.c - windows in steady state: ours of both kinds, the paper's filter, and an exact
 * set.
 *
 * A row is one window that n ids pass through every W = 600 s, with 10% retries: retries.h. It
 * is filled for 1.25 W first, in batches, and then timed over whole Ws, slow ones over quarters
 * of one; hashing is included. Bits are the most memory it had meanwhile, over the n ids of the
 * last W: slack and spare room count. The peak is the most it ever had, growing included.
 * "grown" is a window that was not told how many ids to expect; it has 3 W to find out.
 * "hashed before" leaves the hashing out. "rebuilt" is one that gets its ids as records from a
 * log, and "announced" one that is told of each id 16 ids before. False duplicates are counted
 * from the end of the filling. A missed duplicate makes the run fail. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame.h"
#include "report.h"
#include "window_feed.h"

enum {
    STRIPES = 16,
    FILL_QUARTERS = 5,
    LARGE_PAPER_QUARTERS = 2,
    GROW_QUARTERS = 12,
    PAPER_PAST = 4, /* N: with it the paper's filter forgets by 1.2 W */
    LEAST_EVENTS = 5
};

/* A row that took this long is not repeated; and one that is slower still does not get a whole
 * W. */
#define REPEAT_SECONDS 4.0
#define MOST_SECONDS 4.0

static const struct report_column columns[] = {
    {"window", "window", 30, -2},       {"ids", "ids", 10, 0},
    {"error_target", "error", 7, -1},   {"bits_per_id", "bits/id", 8, 2},
    {"peak_bits_per_id", "peak", 8, 2}, {"mops", "M/s", 7, 2},
    {"scaling", "scaling", 7, 2},       {"missed", "missed", 6, 0},
    {"false_rate", "false", 9, -1},
};

enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void subject_init(struct subject *subject, const struct bench_options *options, uint64_t n,
                         double error, int stream_count) {
    *subject = (struct subject){.n = n, .error = error, .stream_count = stream_count, .ok = true};
    heap_init(&subject->heap);
    for (int i = 0; i < stream_count; i++)
        retries_init(&subject->streams[i], n / (unsigned)stream_count, options->seed, (unsigned)i);
}

static void subject_drop(struct subject *subject) {
    lethe_window_free(subject->window);
    lethe_forgetful_free(subject->paper);
    exact_window_free(subject->exact);
    free(subject->hashes);
    for (int i = 0; i < subject->stream_count; i++)
        retries_drop(&subject->streams[i]);
}

/* Feeds the next quarter of W; returns the seconds it took. */
static double run_quarter(struct subject *subject, feed *function) {
    for (int i = 0; i < subject->stream_count; i++)
        retries_next(&subject->streams[i]);
    if (function == feed_hashed) feed_hash(subject);
    double start = bench_now();
    function(subject);
    double seconds = bench_now() - start;
    bench_require(subject->ok, "recording ids");
    for (int i = 0; i < subject->stream_count; i++)
        retries_count(&subject->streams[i]);
    return seconds;
}

/* Brings the subject to its steady state, where measuring begins. */
static void fill(struct subject *subject, feed *function, int quarters) {
    for (int i = 0; i < quarters; i++)
        run_quarter(subject, function);
    subject->peak_bytes = subject->heap.peak_bytes;
    heap_reset_peak(&subject->heap);
    for (int i = 0; i < subject->stream_count; i++)
        retries_reset_false(&subject->streams[i]);
}

/* Operations a second: the best of several Ws. */
static double measure(struct subject *subject, feed *function, int runs) {
    double spent = 0, best = 0, operations = 0;
    for (int i = 0; i < subject->stream_count; i++)
        operations += (double)subject->streams[i].count;
    for (int run = 0; run < runs && spent < REPEAT_SECONDS; run++) {
        double seconds = 0;
        int quarters = 0;
        for (; quarters < RETRIES_QUARTERS && seconds < MOST_SECONDS; quarters++)
            seconds += run_quarter(subject, function);
        best = fmax(best, quarters * operations / seconds);
        spent += seconds;
    }
    return best;
}

/* The error as it was counted, or NaN where too little was expected to count; unless so much was
 * counted all the same that something is wrong. */
static double false_rate(const struct subject *subject) {
    double fresh = 0, false_duplicates = 0;
    for (int i = 0; i < subject->stream_count; i++) {
        fresh += (double)subject->streams[i].fresh;
        false_duplicates += (double)subject->streams[i].false_duplicates;
    }
    bool is_measurable = fresh * subject->error >= LEAST_EVENTS || false_duplicates >= LEAST_EVENTS;
    return is_measurable || subject->error == 0 ? false_duplicates / fresh : NAN;
}

struct bench {
    struct report report;
    const struct bench_options *options;
    bool ok; /* nothing was missed so far */
};

/* Measures a filled subject and prints the row. The speed is compared with base_mops unless that
 * is NaN. Returns the speed. */
static double run_row(struct bench *bench, struct subject *subject, const char *name,
                      feed *function, double base_mops) {
    double mops = measure(subject, function, bench->options->runs) * 1e-6;
    double bits = 8.0 * (double)subject->heap.peak_bytes / (double)subject->n;
    double peak_bits = 8.0 * (double)subject->peak_bytes / (double)subject->n;
    uint64_t missed = 0;
    for (int i = 0; i < subject->stream_count; i++)
        missed += subject->streams[i].missed;
    report_row(&bench->report, (struct report_cell[COLUMNS]){
                                   REPORT_TEXT(name),
                                   REPORT_NUMBER((double)subject->n),
                                   REPORT_NUMBER(subject->error),
                                   REPORT_NUMBER(bits),
                                   REPORT_NUMBER(fmax(bits, peak_bits)),
                                   REPORT_NUMBER(mops),
                                   REPORT_NUMBER(mops / base_mops),
                                   REPORT_NUMBER((double)missed),
                                   REPORT_NUMBER(false_rate(subject)),
                               });
    bench->ok &= missed == 0;
    return mops;
}

static void make_window(struct subject *subject, lethe_window_options shape) {
    shape.window_ms = RETRIES_WINDOW_MS;
    shape.error = subject->error;
    shape.allocator = &subject->heap.allocator;
    bench_require(lethe_window_new(&shape, &subject->window) == LETHE_OK, "making a window");
    subject->hash_seed = lethe_window_seed(subject->window);
}

static void run_quotient(struct bench *bench, uint64_t n, double error) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, 1);
    make_window(&subject, LETHE_OPTIONS(lethe_window_options, .capacity = n));
    fill(&subject, feed_batches, FILL_QUARTERS);
    run_row(bench, &subject, "quotient batch", feed_batches, NAN);
    run_row(bench, &subject, "quotient batch, hashed before", feed_hashed, NAN);
    run_row(bench, &subject, "quotient single", feed_single, NAN);
    run_row(bench, &subject, "quotient single, announced", feed_announced, NAN);
    subject_drop(&subject);
}

/* A new window, filled from a log: from nothing to all that a window holds. */
static void run_rebuild(struct bench *bench, uint64_t n, double error) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, 1);
    /* A record of a retry extends its id's life, so that more than n are remembered. */
    make_window(&subject, LETHE_OPTIONS(lethe_window_options, .capacity = n + n / 8));
    run_row(bench, &subject, "quotient rebuilt, batch", feed_records, NAN);
    subject_drop(&subject);
}

static void run_striped(struct bench *bench, uint64_t n, double error) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, FEED_STREAMS);
    make_window(&subject, LETHE_OPTIONS(lethe_window_options, .capacity = n, .stripes = STRIPES));
    fill(&subject, feed_batches, FILL_QUARTERS);
    double one = run_row(bench, &subject, "quotient striped, 1 thread", feed_batches, NAN);
    run_row(bench, &subject, "quotient striped, 2 threads", feed_by_two_threads, one);
    subject_drop(&subject);
}

static void run_grown(struct bench *bench, uint64_t n, double error) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, 1);
    make_window(&subject, (lethe_window_options)LETHE_INIT(lethe_window_options));
    fill(&subject, feed_batches, GROW_QUARTERS);
    run_row(bench, &subject, "quotient grown, batch", feed_batches, NAN);
    subject_drop(&subject);
}

static void run_bloom_kind(struct bench *bench, uint64_t n, double error) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, 1);
    make_window(&subject,
                LETHE_OPTIONS(lethe_window_options, .kind = LETHE_WINDOW_FORGETFUL, .capacity = n));
    fill(&subject, feed_batches, FILL_QUARTERS);
    run_row(bench, &subject, "Bloom (elastic FBF) batch", feed_batches, NAN);
    run_row(bench, &subject, "Bloom (elastic FBF) single", feed_single, NAN);
    subject_drop(&subject);
}

/* The paper's Equation 3 at the end of a period of that many ids, when the newest filter has those
 * of one period and the others those of two. */
static double paper_error(double bits, unsigned hashes, double ids) {
    double newest = pow(-expm1(-(double)hashes * ids / bits), hashes);
    double other = pow(-expm1(-(double)hashes * 2 * ids / bits), hashes);
    double none = log1p(-newest) + PAPER_PAST * log1p(-other * other) + log1p(-other);
    return -expm1(none);
}

/* The smallest m that keeps that error by Equation 3, with k for filters that are half full. */
static lethe_forgetful_options plan_paper(uint64_t n, double error) {
    double ids = (double)n / (PAPER_PAST + 1);
    unsigned hashes = (unsigned)ceil(log2(1 / error));
    double low = ids, high = ids * 256;
    while (high - low > 64) {
        double middle = (low + high) / 2;
        if (paper_error(middle, hashes, ids) > error) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PAPER,
                         .bits = (uint64_t)high, .hashes = hashes, .past = PAPER_PAST,
                         .period_ms = RETRIES_WINDOW_MS / (PAPER_PAST + 1));
}

/* A large one is filled for half a W only, since it is slow; that it is emptier than it will be
 * flatters it. */
static void run_paper(struct bench *bench, uint64_t n, double error, bool is_large) {
    struct subject subject;
    subject_init(&subject, bench->options, n, error, 1);
    lethe_forgetful_options shape = plan_paper(n, error);
    shape.allocator = &subject.heap.allocator;
    bench_require(lethe_forgetful_new(&shape, &subject.paper) == LETHE_OK, "making a filter");
    subject.hash_seed = LETHE_DEFAULT_SEED;
    fill(&subject, feed_paper_batches, is_large ? LARGE_PAPER_QUARTERS : FILL_QUARTERS);
    run_row(bench, &subject, "FBF as published, batch", feed_paper_batches, NAN);
    if (!is_large) run_row(bench, &subject, "FBF as published, single", feed_paper_single, NAN);
    subject_drop(&subject);
}

static void run_exact(struct bench *bench, uint64_t n, bool is_large) {
    struct subject subject;
    subject_init(&subject, bench->options, n, 0, 1);
    /* A hundredth more, since a period begins with a batch and not within one. */
    subject.exact = exact_window_new(RETRIES_WINDOW_MS, n + n / 100, &subject.heap.allocator);
    bench_require(subject.exact != NULL, "making an exact window");
    fill(&subject, feed_exact_batches, FILL_QUARTERS);
    run_row(bench, &subject, "exact set batch", feed_exact_batches, NAN);
    if (!is_large) run_row(bench, &subject, "exact set single", feed_exact_single, NAN);
    subject_drop(&subject);
}

static void run_size(struct bench *bench, uint64_t n, bool is_large) {
    static const double errors[] = {1e-3, 1e-6, 1e-12};
    run_exact(bench, n, is_large);
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        run_quotient(bench, n, errors[i]);
        if (is_large && errors[i] != 1e-6) continue; /* the rest are slow */
        run_striped(bench, n, errors[i]);
        run_rebuild(bench, n, errors[i]);
        run_grown(bench, n, errors[i]);
        if (!is_large) run_bloom_kind(bench, n, errors[i]);
        run_paper(bench, n, errors[i], is_large);
    }
}

static int run_window(const struct bench_options *options) {
    struct bench bench = {.options = options, .ok = true};
    report_begin(&bench.report, "window", options->json, columns, COLUMNS);
    if (options->quick) {
        run_size(&bench, UINT64_C(100000), false);
    } else {
        run_size(&bench, UINT64_C(10000000), false);
        run_size(&bench, UINT64_C(100000000), true);
    }
    report_end(&bench.report);
    if (!bench.ok) fprintf(stderr, "lethe-bench: a window missed a duplicate\n");
    return bench.ok ? 0 : 3;
}

const struct workload workload_window = {
    .name = "window",
    .summary = "duplicates within 10 minutes: windows, the paper's filter, an exact set",
    .run = run_window,
};
