/* sketch/plan.c - derives a shape from the options, and the error bounds from a shape.
 *
 * COUNT-MIN  In one row, a key's counter exceeds its frequency by at most p N on average. N is the
 *            total, and p = 1/width + 2^-32 is the share of the most likely counter (place.h). By
 *            Markov's inequality it exceeds it by e p N with probability at most 1/e, and in all
 *            rows with probability at most e^-depth. So epsilon = e p and delta = e^-depth.
 *            Counters of conservative and FID sketches are never above those of a count-min sketch
 *            of the same shape, so the same bounds hold for them.
 * COUNT      In one row, the error has a variance of at most p F2; F2 is the sum of squared
 *            frequencies. By Chebyshev's inequality it exceeds 2 sqrt(p F2) with probability at
 *            most 1/4. The median does so only if half of the rows do, which is the tail of a
 *            binomial distribution. epsilon = 2 sqrt(p), relative to the L2 norm.
 *
 * Nothing here allocates. */
#include <math.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "sketch/sketch.h"

enum {
    DEFAULT_WIDTH = 65536,
    DEFAULT_DEPTH = 4,
    DEFAULT_COUNT_DEPTH = 5,
    DEFAULT_BITS = 32,
    DEFAULT_LOG_BITS = 16,
    IS_RATIO = 10 /* as in the paper */
};

#define DEFAULT_DELTA 0.02
#define MIN_DELTA 1e-12
#define MAX_DELTA 0.5
#define EULER 2.718281828459045
#define GRAIN 0x1p-32 /* the step of the numbers that choose a counter */

/* The probability that at least half of the rows err, if each errs with probability 1/4. */
static double median_failure(uint32_t depth) {
    uint32_t half = (depth + 1) / 2;
    double term = pow(0.75, depth), sum = 0;
    for (uint32_t failing = 0; failing <= depth; failing++) {
        if (failing >= half) sum += term;
        term = term * (depth - failing) / (failing + 1) / 3;
    }
    return sum;
}

uint64_t lethe_sketch_counter_max(lethe_sketch_kind kind, uint32_t counter_bits) {
    uint64_t all = UINT64_MAX >> (64 - counter_bits);
    return kind == LETHE_SKETCH_COUNT ? all >> 1 : all;
}

static uint64_t parts_of(const lethe_sketch_shape *shape) {
    bool has_ds = shape->removal == LETHE_SKETCH_REMOVAL_SUBTRACTION ||
                  shape->removal == LETHE_SKETCH_REMOVAL_COUNT_MIN;
    return 1 + has_ds;
}

void lethe_sketch_complete_shape(lethe_sketch_shape *shape) {
    double share = 1.0 / (double)shape->width + GRAIN;
    if (shape->kind == LETHE_SKETCH_COUNT) {
        shape->epsilon = 2 * sqrt(share);
        shape->delta = median_failure(shape->depth);
    } else {
        shape->epsilon = EULER * share;
        shape->delta = exp(-(double)shape->depth);
    }
    uint64_t row_bytes = shape->width * shape->counter_bits / 8;
    uint64_t is_row_bytes = shape->is_width * shape->counter_bits / 8;
    shape->query_memory_bytes = row_bytes * shape->depth;
    shape->memory_bytes =
        row_bytes * parts_of(shape) * shape->depth + is_row_bytes * shape->is_depth;
}

static bool is_valid_part(uint64_t width, uint64_t depth) {
    return depth >= 1 && depth <= LETHE_SKETCH_MAX_DEPTH && width >= 1 &&
           width <= LETHE_SKETCH_MAX_WIDTH && width * depth <= LETHE_SKETCH_MAX_COUNTERS;
}

static bool is_valid_bits(lethe_sketch_kind kind, uint32_t bits) {
    bool is_log = kind == LETHE_SKETCH_LOG;
    return bits == 8 || bits == 16 || (!is_log && (bits == 32 || bits == 64));
}

static bool is_valid_removal(lethe_sketch_kind kind, lethe_sketch_removal removal) {
    if (removal == LETHE_SKETCH_REMOVAL_NONE) return true;
    if (removal == LETHE_SKETCH_REMOVAL_SUBTRACTION) return lethe_sketch_needs_ds(kind);
    /* A counter of a log sketch can exceed its count-min counter by chance. Being brought down to
     * that each time would make it too low. */
    return removal == LETHE_SKETCH_REMOVAL_COUNT_MIN && lethe_sketch_needs_ds(kind) &&
           kind != LETHE_SKETCH_LOG;
}

bool lethe_sketch_is_valid_shape(const lethe_sketch_shape *shape) {
    lethe_sketch_kind kind = shape->kind;
    if (kind < LETHE_SKETCH_COUNT_MIN || kind > LETHE_SKETCH_FID) return false;
    if (!is_valid_part(shape->width, shape->depth)) return false;
    bool has_is = kind == LETHE_SKETCH_FID;
    if (has_is ? !is_valid_part(shape->is_width, shape->is_depth)
               : shape->is_width != 0 || shape->is_depth != 0) {
        return false;
    }
    if (!is_valid_bits(kind, shape->counter_bits)) return false;
    return is_valid_removal(kind, shape->removal) && shape->top <= LETHE_SKETCH_MAX_TOP &&
           shape->seed != 0;
}

/* Width and depth for an error. The comparisons refuse NaN too. */
static lethe_status plan_from_error(const lethe_sketch_options *options,
                                    lethe_sketch_shape *shape) {
    double epsilon = options->epsilon, delta = options->delta != 0 ? options->delta : DEFAULT_DELTA;
    if (!(epsilon > 0 && epsilon < 1) || !(delta >= MIN_DELTA && delta <= MAX_DELTA)) {
        return LETHE_EINVAL;
    }
    double share;
    if (shape->kind == LETHE_SKETCH_COUNT) {
        share = epsilon * epsilon / 4;
        shape->depth = 1;
        while (shape->depth <= LETHE_SKETCH_MAX_DEPTH && median_failure(shape->depth) > delta)
            shape->depth += 2;
    } else {
        share = epsilon / EULER;
        shape->depth = (uint32_t)ceil(-log(delta));
    }
    if (share <= 2 * GRAIN || shape->depth > LETHE_SKETCH_MAX_DEPTH) return LETHE_EINVAL;
    double width = ceil(1 / (share - GRAIN));
    if (width > (double)LETHE_SKETCH_MAX_WIDTH) return LETHE_EINVAL;
    shape->width = (uint64_t)width;
    return LETHE_OK;
}

/* The rows of the IS part: by default as many as FQ has. */
static uint64_t is_depth_of(const lethe_sketch_options *options, const lethe_sketch_shape *shape) {
    bool is_default = shape->kind == LETHE_SKETCH_FID && options->is_depth == 0;
    return is_default ? shape->depth : options->is_depth;
}

/* The width of the widest sketch whose counters fit in memory_bytes. */
static lethe_status plan_from_memory(const lethe_sketch_options *options,
                                     lethe_sketch_shape *shape) {
    uint64_t counters = options->memory_bytes / (shape->counter_bits / 8);
    uint64_t rows = parts_of(shape) * shape->depth; /* of the width that is planned */
    if (shape->kind == LETHE_SKETCH_FID) {
        uint64_t is_depth = is_depth_of(options, shape);
        if (is_depth > LETHE_SKETCH_MAX_DEPTH || options->is_width > LETHE_SKETCH_MAX_WIDTH) {
            return LETHE_EINVAL;
        }
        uint64_t is_counters = options->is_width * is_depth;
        if (counters <= is_counters) return LETHE_EINVAL;
        counters -= is_counters;
        if (options->is_width == 0) rows += IS_RATIO * is_depth;
    }
    shape->width = counters / rows;
    if (shape->width > LETHE_SKETCH_MAX_WIDTH) shape->width = LETHE_SKETCH_MAX_WIDTH;
    return LETHE_OK;
}

static lethe_status plan_size(const lethe_sketch_options *options, lethe_sketch_shape *shape) {
    int ways = (options->width != 0) + (options->memory_bytes != 0) +
               (options->epsilon != 0 || options->delta != 0);
    if (ways > 1) return LETHE_EINVAL;
    bool is_count = shape->kind == LETHE_SKETCH_COUNT;
    shape->depth = options->depth;
    if (shape->depth == 0) shape->depth = is_count ? DEFAULT_COUNT_DEPTH : DEFAULT_DEPTH;
    if (shape->depth > LETHE_SKETCH_MAX_DEPTH) return LETHE_EINVAL;
    if (options->epsilon != 0 || options->delta != 0) {
        return options->depth == 0 ? plan_from_error(options, shape) : LETHE_EINVAL;
    }
    if (options->memory_bytes != 0) return plan_from_memory(options, shape);
    shape->width = options->width != 0 ? options->width : DEFAULT_WIDTH;
    return LETHE_OK;
}

/* The IS part: by default ten times as wide as FQ, or as wide as is allowed. */
static void plan_is(const lethe_sketch_options *options, lethe_sketch_shape *shape) {
    shape->is_width = options->is_width;
    shape->is_depth = is_depth_of(options, shape);
    if (shape->kind != LETHE_SKETCH_FID || shape->is_width != 0) return;
    uint64_t most = LETHE_SKETCH_MAX_COUNTERS / shape->is_depth;
    if (most > LETHE_SKETCH_MAX_WIDTH) most = LETHE_SKETCH_MAX_WIDTH;
    shape->is_width = shape->width > most / IS_RATIO ? most : IS_RATIO * shape->width;
}

static lethe_status plan_shape(const lethe_sketch_options *options, lethe_sketch_shape *out) {
    lethe_sketch_shape shape = {
        .size = sizeof shape,
        .kind = options->kind,
        .counter_bits = options->counter_bits,
        .removal = options->removal,
        .top = options->top,
        .seed = options->seed != 0 ? options->seed : LETHE_DEFAULT_SEED,
    };
    if (shape.counter_bits == 0) {
        shape.counter_bits = shape.kind == LETHE_SKETCH_LOG ? DEFAULT_LOG_BITS : DEFAULT_BITS;
    }
    if (!is_valid_bits(shape.kind, shape.counter_bits)) return LETHE_EINVAL;
    if (shape.removal == LETHE_SKETCH_REMOVAL_DEFAULT) {
        shape.removal = shape.kind == LETHE_SKETCH_FID ? LETHE_SKETCH_REMOVAL_SUBTRACTION
                                                       : LETHE_SKETCH_REMOVAL_NONE;
    }
    lethe_status status = plan_size(options, &shape);
    if (status != LETHE_OK) return status;
    plan_is(options, &shape);
    if (!lethe_sketch_is_valid_shape(&shape)) return LETHE_EINVAL;
    lethe_sketch_complete_shape(&shape);
    *out = shape;
    return LETHE_OK;
}

lethe_status lethe_sketch_plan_options(const lethe_sketch_options *options,
                                       lethe_sketch_options *taken, lethe_sketch_shape *shape) {
    lethe_status status = LETHE_TAKE(options, taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken->allocator)) return LETHE_EINVAL;
    return plan_shape(taken, shape);
}

LETHE_DEFINE_PLAN(lethe_sketch, query_memory_bytes)
