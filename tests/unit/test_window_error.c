/* Goal: fresh ids are taken for duplicates no more often than promised (P2), at a constant load,
 *       while the load rises a hundredfold or swings, and when the window grew from nothing; and
 *       the window's own estimate of that rate is right.
 *
 * Method: every id that is recorded is new, so every `duplicate` is an error; beside them, new
 *         ids that are only checked, as many as a verdict takes. Seeds are fixed, so a verdict
 *         is always the same. */
#include "support/test.h"

#include <inttypes.h>

#include "lethe/window.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { TICKS = 140, BATCH = 4096, WINDOW_MS = 14000 };

static const double errors[] = {0.1, 0.01, 1e-3, 1e-4};

struct stream {
    lethe_window *window;
    double error;
    uint64_t next_id, now_ms;
    uint64_t trials, hits;  /* of ids that were recorded */
    uint64_t probes, found; /* of ids that were only checked */
    double due;             /* ids that the load owes */
};

static void start(struct stream *stream, lethe_window_kind kind, double error, uint64_t capacity) {
    *stream = (struct stream){.error = error, .now_ms = 1000000007};
    lethe_window_options options =
        LETHE_OPTIONS(lethe_window_options, .kind = kind, .window_ms = WINDOW_MS, .error = error,
                      .capacity = capacity, .seed = 77);
    assert_ok(lethe_window_new(&options, &stream->window));
}

static void make_ids(struct stream *stream, lethe_hash *ids, size_t count) {
    for (size_t i = 0; i < count; i++)
        ids[i] = lethe_hash_u64(77, ++stream->next_id);
}

/* How many of count new ids, at most BATCH, are taken for duplicates. */
static uint64_t count_hits(struct stream *stream, size_t count, bool records) {
    static lethe_hash ids[BATCH];
    static uint8_t answers[BATCH];
    make_ids(stream, ids, count);
    if (records) {
        assert_ok(
            lethe_window_add_and_test_batch(stream->window, ids, count, stream->now_ms, answers));
    } else {
        lethe_window_test_batch(stream->window, ids, count, stream->now_ms, answers);
    }
    uint64_t hits = 0;
    for (size_t i = 0; i < count; i++)
        hits += answers[i] == LETHE_ANSWER_DUPLICATE;
    return hits;
}

/* Lets time pass, in ticks of a tenth of a period, at a load of so many ids in a window. */
static void feed(struct stream *stream, double ids_per_window, int ticks) {
    for (int tick = 0; tick < ticks; tick++) {
        stream->now_ms += WINDOW_MS / TICKS;
        stream->due += ids_per_window / TICKS;
        while (stream->due >= 1) {
            size_t count = stream->due < BATCH ? (size_t)stream->due : BATCH;
            stream->hits += count_hits(stream, count, true);
            stream->trials += count;
            stream->due -= (double)count;
        }
    }
}

static uint64_t probe(struct stream *stream, uint64_t trials) {
    uint64_t hits = 0;
    for (uint64_t done = 0; done < trials; done += BATCH)
        hits += count_hits(stream, BATCH, false);
    return hits;
}

/* The rate now is at most the target, and so says the window. */
static void judge_moment(struct stream *stream, const char *when) {
    uint64_t trials = (uint64_t)(8 / stream->error) / BATCH * BATCH + BATCH;
    uint64_t hits = probe(stream, trials);
    stream->probes += trials;
    stream->found += hits;
    lethe_window_stats stats = window_stats(stream->window, stream->now_ms);
    if (!rate_is_at_most(hits, trials, stream->error) || stats.error_estimate > stream->error ||
        stats.strain != 0) {
        fail_msg("%s, kind %d, error %g: %" PRIu64 " of %" PRIu64
                 " new ids were known; estimate %g, "
                 "strain %u",
                 when, stats.kind, stream->error, hits, trials, stats.error_estimate, stats.strain);
    }
}

/* The rate over all that was recorded, and over all that was checked in between. */
static void finish(struct stream *stream, const char *what) {
    if (!rate_is_at_most(stream->hits, stream->trials, stream->error) ||
        !rate_is_at_most(stream->found, stream->probes, stream->error)) {
        fail_msg("%s, error %g: %" PRIu64 " of %" PRIu64
                 " new ids were taken for duplicates, %" PRIu64 " of %" PRIu64 " when checked",
                 what, stream->error, stream->hits, stream->trials, stream->found, stream->probes);
    }
    lethe_window_free(stream->window);
}

/* In steady state, over a whole period and with enough probes: is the estimate the rate? */
static void judge_estimate(struct stream *stream, const char *what) {
    uint64_t hits = 0, trials = 0;
    double estimates = 0;
    for (int tick = 0; tick < 10; tick++) {
        feed(stream, 50000, 1);
        uint64_t some = (uint64_t)(250 / stream->error) / 10 / BATCH * BATCH + BATCH;
        hits += probe(stream, some);
        trials += some;
        estimates += window_stats(stream->window, stream->now_ms).error_estimate / 10;
    }
    if (!rate_is_within(hits, trials, estimates, 0.15) ||
        !rate_is_at_most(hits, trials, stream->error)) {
        fail_msg("%s, error %g: %" PRIu64 " of %" PRIu64 " is %g, but the estimate is %g", what,
                 stream->error, hits, trials, (double)hits / (double)trials, estimates);
    }
}

static void a_constant_load_keeps_the_error(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            struct stream stream;
            start(&stream, (lethe_window_kind)kind, errors[i], 50000);
            for (int quarter = 0; quarter < 12; quarter++) {
                feed(&stream, 50000, TICKS / 4);
                judge_moment(&stream, "constant load");
            }
            judge_estimate(&stream, "constant load");
            finish(&stream, "constant load");
        }
    }
}

static void growing_from_nothing_keeps_the_error(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            struct stream stream;
            start(&stream, (lethe_window_kind)kind, errors[i], 0);
            for (int twentieth = 0; twentieth < 60; twentieth++) {
                feed(&stream, 50000, TICKS / 20);
                judge_moment(&stream, "grown from nothing");
            }
            judge_estimate(&stream, "grown from nothing");
            finish(&stream, "grown from nothing");
        }
    }
}

/* The load rises a hundredfold between two ticks of one period, and falls again a window later. */
static void a_step_keeps_the_error(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            struct stream stream;
            start(&stream, (lethe_window_kind)kind, errors[i], 0);
            feed(&stream, 3000, 2 * TICKS + 5);
            for (int tick = 0; tick < TICKS; tick++) {
                feed(&stream, 300000, 1);
                if (tick < 20 || tick % 10 == 0) judge_moment(&stream, "after a step up");
            }
            for (int tenth = 0; tenth < 20; tenth++) {
                feed(&stream, 3000, TICKS / 10);
                judge_moment(&stream, "after a step down");
            }
            finish(&stream, "a step");
        }
    }
}

static void a_sawtooth_keeps_the_error(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            struct stream stream;
            start(&stream, (lethe_window_kind)kind, errors[i], 0);
            for (int tooth = 0; tooth < 6; tooth++) {
                for (int part = 0; part < 14; part++) {
                    feed(&stream, 500 * (double)(1 << part % 7), TICKS / 14 * (1 + tooth % 2));
                    judge_moment(&stream, "in a sawtooth");
                }
            }
            finish(&stream, "a sawtooth");
        }
    }
}

/* Goal: a batch and a stripe err no more than a single call does. */
static void stripes_keep_the_error(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct stream stream = {.error = 1e-3, .now_ms = 5};
        lethe_window_options options =
            LETHE_OPTIONS(lethe_window_options, .kind = (lethe_window_kind)kind,
                          .window_ms = WINDOW_MS, .error = 1e-3, .stripes = 8, .seed = 77);
        assert_ok(lethe_window_new(&options, &stream.window));
        for (int quarter = 0; quarter < 12; quarter++) {
            feed(&stream, 50000, TICKS / 4);
            judge_moment(&stream, "striped");
        }
        judge_estimate(&stream, "striped");
        finish(&stream, "striped");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_load_keeps_the_error),
        cmocka_unit_test(growing_from_nothing_keeps_the_error),
        cmocka_unit_test(a_step_keeps_the_error),
        cmocka_unit_test(a_sawtooth_keeps_the_error),
        cmocka_unit_test(stripes_keep_the_error),
    };
    return cmocka_run_group_tests_name("window_error", tests, NULL, NULL);
}
