/* filter/bloom/plan.c - from capacity and error to bits and hashes, and back.
 *
 * CLASSIC  After t = kn bits thrown into m, a given bit is set with probability
 *          p = 1 - (1 - 1/m)^t, and a fresh key passes with probability E[X^k] where X is the
 *          share of set bits. The textbook takes p^k. For small m, X varies, and by the
 *          second-order expansion E[X^k] = p^k (1 + k(k-1)/2 * Var(X)/p^2), with
 *          Var(X) = e^-c (1 - (1 + c) e^-c) / m, c = t/m: 6% more at 100 bits. We size by that.
 *
 * BLOCKED  Keys fall on lines as balls in bins: Poisson with mean n/lines. In a line that has
 *          j keys, each of 8 lanes of 64 bits received jr bits (r = k/8), and a fresh key asks
 *          for r bits of each lane. With d of those r different, they are all set with
 *          probability sum_i (-1)^i C(d,i) (1 - i/64)^(jr), by inclusion and exclusion. The
 *          expectation over d and j is exact, so the planner needs no safety factor.
 *
 * Both are monotonic in the size, so sizes are found by bisection. Nothing here allocates, and
 * 2^40 keys at 1e-15 (2^46.2 bits) stay far from overflow. */
#include <math.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "filter/bloom/bloom.h"

enum {
    DEFAULT_CAPACITY = 65536,
    DEFAULT_CLASSIC_HASHES = 7,
    MIN_CLASSIC_BITS = 64, /* below this the expansion is not good enough */
    LANES = 8,
    LANE_BITS = 64,
    MAX_ROUNDS = 4
};

#define DEFAULT_ERROR 0.01

static double classic_error(double bits, unsigned hashes, double keys) {
    double thrown = hashes * keys;
    double set = bits <= 1 ? (keys > 0 ? 1 : 0) : -expm1(thrown * log1p(-1 / bits));
    if (set <= 0) return 0;
    double load = thrown / bits;
    double variance = exp(-load) * (1 - (1 + load) * exp(-load)) / bits;
    double k = hashes;
    double error = pow(set, k) * (1 + k * (k - 1) / 2 * variance / (set * set));
    return error < 1 ? error : 1;
}

/* The distribution of the number of different bits among r random ones of a lane. */
static void distinct_distribution(unsigned rounds, double distribution[MAX_ROUNDS + 1]) {
    for (unsigned d = 0; d <= MAX_ROUNDS; d++)
        distribution[d] = 0;
    distribution[0] = 1;
    for (unsigned drawn = 0; drawn < rounds; drawn++) {
        for (unsigned d = drawn + 1; d > 0; d--) {
            distribution[d] = distribution[d] * d / LANE_BITS +
                              distribution[d - 1] * (LANE_BITS - (d - 1)) / LANE_BITS;
        }
        distribution[0] = 0;
    }
}

/* The probability that the bits a fresh key wants of one lane are all set, as a combination of
 * the powers (1 - i/64)^(jr): weight[i] is the coefficient of power i. */
static void lane_weights(unsigned rounds, double weight[MAX_ROUNDS + 1]) {
    double distribution[MAX_ROUNDS + 1];
    distinct_distribution(rounds, distribution);
    for (unsigned i = 0; i <= MAX_ROUNDS; i++)
        weight[i] = 0;
    for (unsigned d = 1; d <= rounds; d++) {
        double binomial = 1;
        for (unsigned i = 0; i <= d; i++) {
            weight[i] += distribution[d] * (i % 2 == 0 ? binomial : -binomial);
            binomial = binomial * (d - i) / (i + 1);
        }
    }
}

static double blocked_error(double lines, unsigned hashes, double keys) {
    unsigned rounds = hashes / LANES;
    double mean = keys / lines;
    if (mean > 2048) return 1; /* every bit of every line is set */
    double weight[MAX_ROUNDS + 1], step[MAX_ROUNDS + 1], power[MAX_ROUNDS + 1];
    lane_weights(rounds, weight);
    for (unsigned i = 0; i <= MAX_ROUNDS; i++) {
        step[i] = pow(1 - (double)i / LANE_BITS, rounds);
        power[i] = 1;
    }
    double error = 0;
    double most = mean + 12 * sqrt(mean) + 30; /* what lies beyond has no weight */
    for (double j = 0; j <= most; j++) {
        double lane = 0;
        for (unsigned i = 0; i <= rounds; i++) {
            lane += weight[i] * power[i];
            power[i] *= step[i];
        }
        double poisson = exp(j * log(mean) - mean - lgamma(j + 1));
        double lane4 = lane * lane * lane * lane;
        error += poisson * lane4 * lane4;
    }
    return error < 1 ? error : 1;
}

double lethe_bloom_expected_error(lethe_bloom_layout layout, uint64_t bits, uint32_t hashes,
                                  uint64_t keys) {
    if (keys == 0) return 0;
    if (layout == LETHE_BLOOM_CLASSIC) return classic_error((double)bits, hashes, (double)keys);
    uint64_t lines = bits / LETHE_BLOOM_LINE_BITS;
    return blocked_error((double)lines, hashes, (double)keys);
}

double lethe_bloom_keys_from_fill(const lethe_bloom_shape *shape, double fill) {
    if (fill >= 1) return INFINITY;
    double clear = -log1p(-fill);
    if (shape->layout == LETHE_BLOOM_CLASSIC) return clear * (double)shape->bits / shape->hashes;
    /* With a Poisson number of keys on a line, a bit stays clear with probability
     * exp(-mean (1 - (63/64)^r)). */
    double lines = (double)shape->bits / LETHE_BLOOM_LINE_BITS;
    unsigned rounds = shape->hashes / LANES;
    return lines * clear / (1 - pow(1 - 1.0 / LANE_BITS, rounds));
}

/* The fewest units (bits, or lines of 512) at which the error is met. */
static uint64_t fewest(lethe_bloom_layout layout, unsigned hashes, uint64_t keys, double error) {
    uint64_t unit = layout == LETHE_BLOOM_CLASSIC ? 1 : LETHE_BLOOM_LINE_BITS;
    uint64_t low = layout == LETHE_BLOOM_CLASSIC ? MIN_CLASSIC_BITS : 1;
    uint64_t high = LETHE_BLOOM_MAX_BITS / unit;
    if (lethe_bloom_expected_error(layout, high * unit, hashes, keys) > error) return 0;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (lethe_bloom_expected_error(layout, middle * unit, hashes, keys) <= error) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low * unit;
}

/* Tries the numbers of hashes around the ideal one and keeps the smallest filter. */
static lethe_status plan_from_capacity(lethe_bloom_shape *shape) {
    unsigned step = shape->layout == LETHE_BLOOM_CLASSIC ? 1 : LANES;
    unsigned most = shape->layout == LETHE_BLOOM_CLASSIC ? LETHE_BLOOM_MAX_HASHES : MAX_ROUNDS;
    unsigned ideal = (unsigned)(log2(1 / shape->error) / step);
    if (ideal > most) ideal = most;
    unsigned first = ideal > 1 ? ideal - 1 : 1;
    for (unsigned times = first; times <= ideal + 2 && times <= most; times++) {
        uint64_t bits = fewest(shape->layout, times * step, shape->capacity, shape->error);
        if (bits != 0 && (shape->bits == 0 || bits < shape->bits)) {
            shape->bits = bits;
            shape->hashes = times * step;
        }
    }
    if (shape->bits == 0) return LETHE_EINVAL;
    shape->error =
        lethe_bloom_expected_error(shape->layout, shape->bits, shape->hashes, shape->capacity);
    return LETHE_OK;
}

bool lethe_bloom_is_valid_size(lethe_bloom_layout layout, uint64_t bits, uint32_t hashes) {
    if (bits == 0 || bits > LETHE_BLOOM_MAX_BITS) return false;
    if (layout == LETHE_BLOOM_CLASSIC) return hashes >= 1 && hashes <= LETHE_BLOOM_MAX_HASHES;
    return layout == LETHE_BLOOM_BLOCKED && bits % LETHE_BLOOM_LINE_BITS == 0 &&
           hashes % LANES == 0 && hashes >= LANES && hashes <= LANES * MAX_ROUNDS;
}

static lethe_status plan_from_bits(const lethe_bloom_options *options, lethe_bloom_shape *shape) {
    if (options->capacity != 0 || options->error != 0 || options->bits > LETHE_BLOOM_MAX_BITS) {
        return LETHE_EINVAL;
    }
    bool classic = shape->layout == LETHE_BLOOM_CLASSIC;
    uint64_t unit = classic ? 1 : LETHE_BLOOM_LINE_BITS;
    shape->bits = (options->bits + unit - 1) / unit * unit;
    shape->hashes = options->hashes;
    if (shape->hashes == 0) shape->hashes = classic ? DEFAULT_CLASSIC_HASHES : LANES;
    return lethe_bloom_is_valid_size(shape->layout, shape->bits, shape->hashes) ? LETHE_OK
                                                                                : LETHE_EINVAL;
}

uint64_t lethe_bloom_words(const lethe_bloom_shape *shape) {
    return (shape->bits + 63) / 64;
}

static lethe_status plan_shape(const lethe_bloom_options *options, lethe_bloom_shape *out) {
    if (options->layout != LETHE_BLOOM_CLASSIC && options->layout != LETHE_BLOOM_BLOCKED) {
        return LETHE_EINVAL;
    }
    lethe_bloom_shape shape = LETHE_INIT(lethe_bloom_shape);
    shape.layout = options->layout;
    shape.seed = options->seed != 0 ? options->seed : LETHE_DEFAULT_SEED;
    lethe_status status;
    if (options->bits != 0) {
        status = plan_from_bits(options, &shape);
    } else {
        shape.capacity = options->capacity != 0 ? options->capacity : DEFAULT_CAPACITY;
        shape.error = options->error != 0 ? options->error : DEFAULT_ERROR;
        /* Written so that a NaN is refused as well. */
        bool valid = shape.error >= LETHE_BLOOM_MIN_ERROR && shape.error <= LETHE_BLOOM_MAX_ERROR;
        if (!valid || shape.capacity > LETHE_BLOOM_MAX_CAPACITY || options->hashes != 0)
            return LETHE_EINVAL;
        status = plan_from_capacity(&shape);
    }
    if (status != LETHE_OK) return status;
    shape.memory_bytes = lethe_bloom_words(&shape) * sizeof(uint64_t);
    *out = shape;
    return LETHE_OK;
}

lethe_status lethe_bloom_plan_options(const lethe_bloom_options *options,
                                      lethe_bloom_options *taken, lethe_bloom_shape *shape) {
    lethe_status status = LETHE_TAKE(options, taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken->allocator)) return LETHE_EINVAL;
    return plan_shape(taken, shape);
}

LETHE_DEFINE_PLAN(lethe_bloom, memory_bytes)
