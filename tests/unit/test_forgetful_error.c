/* Goal: fresh ids are taken for duplicates no more often than promised, at any load and while it
 *       changes, and the filter knows how often that is.
 *
 * Method: virtual time in small steps; each records what the load makes, then probes fresh ids.
 *         Rates are judged over all probes and over those of the worst stretch alone, each with
 *         enough samples. */
#include "support/test.h"

#include <stdio.h>

#include "lethe/forgetful.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { WINDOW_MS = 60000, STEP_MS = 250, PROBES = 2000 };

#define FRESH (UINT64_C(1) << 62)

/* Ids a step, as a function of time. */
typedef uint64_t (*load)(uint64_t now_ms);

static uint64_t constant_load(uint64_t now_ms) {
    (void)now_ms;
    return 40;
}

/* A hundredfold within one period, and back again. */
static uint64_t step_load(uint64_t now_ms) {
    return now_ms >= 2 * WINDOW_MS && now_ms < 3 * WINDOW_MS ? 1000 : 10;
}

static uint64_t sawtooth_load(uint64_t now_ms) {
    return 1 + now_ms % 17000 / 50;
}

/* Long silence, then everything at one instant. */
static uint64_t bursty_load(uint64_t now_ms) {
    return now_ms % 20000 == 0 ? 20000 : 0;
}

struct tally {
    uint64_t hits, trials;
    double estimated; /* sum of the estimates at each probe */
    double worst_estimate;
    uint64_t peak_bytes;
};

static struct tally run(load load_at, double error, uint64_t windows) {
    struct tally tally = {0};
    lethe_forgetful *filter;
    lethe_forgetful_options options =
        LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS, .error = error);
    assert_ok(lethe_forgetful_new(&options, &filter));
    uint64_t key = 0, probe = FRESH;
    for (uint64_t now_ms = 0; now_ms < windows * WINDOW_MS; now_ms += STEP_MS) {
        for (uint64_t i = load_at(now_ms); i > 0; i--)
            assert_ok(lethe_forgetful_add(filter, lethe_hash_u64(1, key++), now_ms));
        forgetful_work(filter, now_ms, 8);
        lethe_forgetful_stats stats = forgetful_stats(filter, now_ms);
        assert_true(stats.error_estimate <= error);
        assert_int_equal(stats.strain, 0);
        for (int i = 0; i < PROBES; i++)
            tally.hits += lethe_forgetful_test(filter, lethe_hash_u64(1, probe++), now_ms);
        tally.trials += PROBES;
        tally.estimated += stats.error_estimate * PROBES;
        if (stats.error_estimate > tally.worst_estimate) {
            tally.worst_estimate = stats.error_estimate;
        }
        if (stats.memory_bytes > tally.peak_bytes) tally.peak_bytes = stats.memory_bytes;
    }
    lethe_forgetful_free(filter);
    return tally;
}

static void judge(const char *name, load load_at, double error, uint64_t windows) {
    struct tally tally = run(load_at, error, windows);
    double estimate = tally.estimated / (double)tally.trials;
    print_message("%s: target %g, measured %.3g, estimated %.3g (at worst %.3g), peak %.0f KiB\n",
                  name, error, (double)tally.hits / (double)tally.trials, estimate,
                  tally.worst_estimate, (double)tally.peak_bytes / 1024);
    assert_true(rate_is_at_most(tally.hits, tally.trials, error));
    assert_true(rate_is_within(tally.hits, tally.trials, estimate, 0.15));
    /* And it is not bought with memory that nobody asked for: some of the error is used. */
    assert_true(tally.worst_estimate > error / 20);
}

static void the_error_is_kept_at_any_load(void **state) {
    (void)state;
    judge("constant", constant_load, 0.05, 4);
    judge("constant", constant_load, 1e-3, 6);
    judge("step", step_load, 0.01, 5);
    judge("sawtooth", sawtooth_load, 0.01, 4);
    judge("bursts", bursty_load, 0.01, 3);
}

/* Goal: while the load steps up a hundredfold, in the very periods of growth, the error holds.
 * Method: many filters, each probed only in the moments after the step. */
static void the_error_is_kept_while_growing(void **state) {
    (void)state;
    uint64_t hits = 0, trials = 0, probe = FRESH, key = 0;
    for (uint64_t round = 0; round < 40; round++) {
        lethe_forgetful *filter;
        lethe_forgetful_options options = LETHE_OPTIONS(
            lethe_forgetful_options, .window_ms = WINDOW_MS, .error = 0.01, .seed = round + 1);
        assert_ok(lethe_forgetful_new(&options, &filter));
        uint64_t now_ms = 0;
        for (; now_ms < 2 * WINDOW_MS; now_ms += 100)
            assert_ok(lethe_forgetful_add(filter, lethe_hash_u64(1, key++), now_ms));
        for (uint64_t end_ms = now_ms + 2000; now_ms < end_ms; now_ms++) {
            assert_ok(lethe_forgetful_add(filter, lethe_hash_u64(1, key++), now_ms));
            assert_true(forgetful_stats(filter, now_ms).error_estimate <= 0.01);
            for (int i = 0; i < 20; i++)
                hits += lethe_forgetful_test(filter, lethe_hash_u64(1, probe++), now_ms);
            trials += 20;
        }
        lethe_forgetful_free(filter);
    }
    print_message("growing: measured %.3g\n", (double)hits / (double)trials);
    assert_true(rate_is_at_most(hits, trials, 0.01));
}

/* Goal: bits an id of the window, at a steady load, are what the header says, hinted or grown. */
static void the_memory_is_as_told(void **state) {
    (void)state;
    static const struct { double error, bits; } cases[] = {{1e-3, 25}, {1e-6, 42}, {1e-12, 74}};
    enum { IDS = 120000 };
    for (int i = 0; i < 6; i++) {
        lethe_forgetful *filter;
        lethe_forgetful_options options = LETHE_OPTIONS(
            lethe_forgetful_options, .window_ms = WINDOW_MS, .error = cases[i / 2].error);
        if (i % 2 == 1) options.capacity = IDS;
        assert_ok(lethe_forgetful_new(&options, &filter));
        double peak = 0;
        for (uint64_t key = 0; key < 3 * IDS; key++) {
            uint64_t now_ms = key * WINDOW_MS / IDS;
            assert_ok(lethe_forgetful_add(filter, lethe_hash_u64(1, key), now_ms));
            if (key % 1000 != 0 || key < 2 * IDS) continue;
            forgetful_work(filter, now_ms, 8);
            double bits = 8.0 * (double)forgetful_stats(filter, now_ms).memory_bytes / IDS;
            if (bits > peak) peak = bits;
        }
        print_message("error %g, %s: %.1f bits an id\n", cases[i / 2].error,
                      i % 2 == 1 ? "hinted" : "grown", peak);
        assert_true(peak <= cases[i / 2].bits);
        lethe_forgetful_free(filter);
    }
}

/* Goal: after a peak the memory comes back. */
static void it_shrinks_again(void **state) {
    (void)state;
    lethe_forgetful *filter;
    assert_ok(lethe_forgetful_new(&LETHE_OPTIONS(lethe_forgetful_options, .window_ms = WINDOW_MS),
                                  &filter));
    uint64_t key = 0, now_ms = 0, peak_bytes = 0;
    for (; now_ms < 4 * WINDOW_MS; now_ms += 50) {
        for (int i = now_ms < WINDOW_MS ? 50 : 1; i > 0; i--)
            assert_ok(lethe_forgetful_add(filter, lethe_hash_u64(1, key++), now_ms));
        forgetful_work(filter, now_ms, 8);
        uint64_t bytes = forgetful_stats(filter, now_ms).memory_bytes;
        if (bytes > peak_bytes) peak_bytes = bytes;
    }
    assert_true(forgetful_stats(filter, now_ms).memory_bytes < peak_bytes / 20);
    while (forgetful_work(filter, now_ms + 2 * WINDOW_MS, 8))
        continue;
    assert_int_equal(forgetful_stats(filter, now_ms).filters, 0);
    lethe_forgetful_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_error_is_kept_at_any_load),
        cmocka_unit_test(the_error_is_kept_while_growing),
        cmocka_unit_test(the_memory_is_as_told),
        cmocka_unit_test(it_shrinks_again),
    };
    return cmocka_run_group_tests_name("forgetful_error", tests, NULL, NULL);
}
