/* Goal: sketches err as little as their authors published and as their own bounds promise. */
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "lethe/sketch.h"
#include "support/frequencies.h"
#include "support/random.h"
#include "support/reports.h"
#include "support/statistics.h"

enum { BATCH = 1000 };

static lethe_sketch *fill(const lethe_sketch_options *options,
                          const struct frequencies *frequencies) {
    lethe_sketch *sketch;
    assert_ok(lethe_sketch_new(options, &sketch));
    uint64_t seed = sketch_shape(sketch).seed;
    lethe_hash hashes[BATCH];
    for (size_t first = 0; first < frequencies->length; first += BATCH) {
        for (size_t i = 0; i < BATCH; i++)
            hashes[i] = lethe_hash_u64(seed, frequencies->stream[first + i]);
        assert_ok(lethe_sketch_add_batch(sketch, hashes, BATCH, NULL, NULL));
    }
    return sketch;
}

/* What the paper measures: the mean over items of |estimate - frequency| / frequency, and the
 * share of items for which that is below 0.1. */
struct accuracy {
    double mean, small;
    uint64_t items, under;
};

static struct accuracy judge(const lethe_sketch *sketch, const struct frequencies *frequencies) {
    struct accuracy accuracy = {0};
    uint64_t seed = sketch_shape(sketch).seed;
    for (uint32_t item = 0; item < frequencies->items; item++) {
        uint64_t exact = frequencies->exact[item];
        if (exact == 0) continue;
        uint64_t count = sketch_count_hash(sketch, lethe_hash_u64(seed, item)).count;
        double error = fabs((double)count - (double)exact) / (double)exact;
        accuracy.items++;
        accuracy.mean += error;
        accuracy.small += error < 0.1;
        accuracy.under += count < exact;
    }
    accuracy.mean /= (double)accuracy.items;
    accuracy.small /= (double)accuracy.items;
    return accuracy;
}

static bool is_within(double value, double published) {
    return fabs(value - published) <= 0.05 * published;
}

/* Method: the paper's parameters: d = 4, w = 30K, w_IS = 300K, 10M insertions of 100K items. */
static void check_published(bool zipf, double mean, double times, double small) {
    struct frequencies frequencies;
    frequencies_make(&frequencies, 100000, 10000000, zipf, 1);
    lethe_sketch_options options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_FID,
                                                 .width = 30000, .is_width = 300000);
    lethe_sketch *sketch = fill(&options, &frequencies);
    struct accuracy fid = judge(sketch, &frequencies);
    lethe_sketch_free(sketch);
    options = LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_COUNT_MIN, .width = 30000);
    sketch = fill(&options, &frequencies);
    struct accuracy count_min = judge(sketch, &frequencies);
    lethe_sketch_free(sketch);
    frequencies_free(&frequencies);
    print_message("%s: FID %.4f, count-min %.3f, %.2f times; below 0.1: %.1f%%\n",
                  zipf ? "zipf" : "uniform", fid.mean, count_min.mean, count_min.mean / fid.mean,
                  100 * fid.small);
    assert_true(is_within(fid.mean, mean));
    assert_true(is_within(count_min.mean / fid.mean, times));
    assert_true(is_within(fid.small, small));
    assert_int_equal(fid.under, 0);
    assert_int_equal(count_min.under, 0);
}

static void uniform_errors_are_those_published(void **state) {
    (void)state;
    check_published(false, 0.043, 36.7, 0.825);
}

static void zipf_errors_are_those_published(void **state) {
    (void)state;
    check_published(true, 0.57, 3.75, 0.619);
}

/* Goal: an estimate exceeds the truth by more than epsilon N with a probability of at most delta.
 * Method: many sketches of different seeds, planned from epsilon and delta; each judges many
 *         items. */
static void the_bounds_hold(void **state) {
    (void)state;
    static const lethe_sketch_kind kinds[] = {LETHE_SKETCH_COUNT_MIN, LETHE_SKETCH_CONSERVATIVE,
                                              LETHE_SKETCH_FID, LETHE_SKETCH_COUNT};
    struct frequencies frequencies;
    frequencies_make(&frequencies, 5000, 50000, true, 7);
    double norm = 0;
    for (uint32_t item = 0; item < frequencies.items; item++)
        norm += (double)frequencies.exact[item] * (double)frequencies.exact[item];
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        uint64_t misses = 0, trials = 0;
        double delta = 0;
        for (uint64_t seed = 1; seed <= 40; seed++) {
            bool is_count = kinds[kind] == LETHE_SKETCH_COUNT;
            lethe_sketch_options options =
                LETHE_OPTIONS(lethe_sketch_options, .kind = kinds[kind],
                              .epsilon = is_count ? 0.1 : 0.01, .delta = 0.2, .seed = seed);
            lethe_sketch *sketch = fill(&options, &frequencies);
            lethe_sketch_stats stats = sketch_stats(sketch);
            double bound = is_count ? options.epsilon * sqrt(norm) : options.epsilon * 50000;
            /* What info says is that, or for count an estimate of it. */
            assert_true(stats.error_above <= 1.3 * bound && stats.error_above >= 0.7 * bound);
            lethe_sketch_shape shape = sketch_shape(sketch);
            assert_true(shape.epsilon <= options.epsilon && shape.delta <= 0.2);
            delta = shape.delta;
            for (uint32_t item = 0; item < frequencies.items; item++) {
                double count = (double)sketch_count_hash(sketch, lethe_hash_u64(seed, item)).count;
                misses += fabs(count - (double)frequencies.exact[item]) > bound;
                trials++;
            }
            lethe_sketch_free(sketch);
        }
        print_message("kind %d: beyond the bound %.4f, delta %.4f\n", kinds[kind],
                      (double)misses / (double)trials, delta);
        assert_true(rate_is_at_most(misses, trials, delta));
    }
    frequencies_free(&frequencies);
}

/* Goal: a log counter is right on average, for single additions and for weights, merged and not.
 * Method: many keys, each alone in its counters, counted to the same number in three ways. */
static void log_counters_are_right_on_average(void **state) {
    (void)state;
    enum { KEYS = 400, TIMES = 20000 };
    for (uint32_t bits = 8; bits <= 16; bits += 8) {
        lethe_sketch_options options =
            LETHE_OPTIONS(lethe_sketch_options, .kind = LETHE_SKETCH_LOG, .width = 1 << 22,
                          .depth = 1, .counter_bits = bits);
        lethe_sketch *sketch, *other;
        assert_ok(lethe_sketch_new(&options, &sketch));
        assert_ok(lethe_sketch_new(&options, &other));
        uint64_t seed = sketch_shape(sketch).seed;
        for (uint64_t key = 0; key < 3 * KEYS; key++) {
            lethe_hash hash = lethe_hash_u64(seed, key);
            if (key < KEYS) {
                for (int i = 0; i < TIMES; i++)
                    assert_ok(lethe_sketch_add_hash(sketch, hash, 1));
            } else if (key < 2 * KEYS) {
                for (int i = 0; i < 4; i++)
                    assert_ok(lethe_sketch_add_hash(sketch, hash, TIMES / 4));
            } else {
                assert_ok(lethe_sketch_add_hash(sketch, hash, TIMES / 2));
                assert_ok(lethe_sketch_add_hash(other, hash, TIMES / 2));
            }
        }
        assert_ok(lethe_sketch_merge(sketch, other));
        double relative = sketch_stats(sketch).relative_error;
        for (uint64_t way = 0; way < 3; way++) {
            double sum = 0;
            for (uint64_t key = way * KEYS; key < (way + 1) * KEYS; key++) {
                double count = (double)sketch_count_hash(sketch, lethe_hash_u64(seed, key)).count;
                assert_true(fabs(count - TIMES) < 6 * relative * TIMES);
                sum += count / KEYS / TIMES;
            }
            print_message("%u bits, way %d: mean %.4f of the truth\n", bits, (int)way, sum);
            assert_true(fabs(sum - 1) < 4.5 * relative / sqrt(KEYS));
        }
        lethe_sketch_free(sketch);
        lethe_sketch_free(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_errors_are_those_published),
        cmocka_unit_test(zipf_errors_are_those_published),
        cmocka_unit_test(the_bounds_hold),
        cmocka_unit_test(log_counters_are_right_on_average),
    };
    return cmocka_run_group_tests_name("sketch_error", tests, NULL, NULL);
}
