/* sketch/info.c - the stats of a sketch. Reads only. */
#include <math.h>
#include <stdlib.h>

#include "core/sized.h"
#include "sketch/scale.h"
#include "sketch/sketch.h"
#include "sketch/top.h"

static int compare_doubles(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Estimates the sum of squared frequencies. Each row's sum of squared counters is an estimate;
 * their median is robust against a row in which two frequent keys share a counter. */
static double second_moment(const lethe_sketch *sketch) {
    const lethe_sketch_shape *shape = &sketch->shape;
    double sums[LETHE_SKETCH_MAX_DEPTH] = {0};
    for (uint32_t row = 0; row < shape->depth; row++) {
        for (uint64_t i = 0; i < shape->width; i++) {
            uint64_t counter = lethe_sketch_get_counter(sketch->core.cells, row * shape->width + i,
                                                        shape->counter_bits);
            double value = (double)lethe_sketch_signed(counter, shape->counter_bits);
            sums[row] += value * value;
        }
    }
    qsort(sums, shape->depth, sizeof *sums, compare_doubles);
    return sums[shape->depth / 2];
}

/* A counter without its sign. It is full if this is core.max. */
static uint64_t size_of(const lethe_sketch *sketch, uint64_t counter) {
    if (sketch->shape.kind != LETHE_SKETCH_COUNT) return counter;
    int64_t value = lethe_sketch_signed(counter, sketch->shape.counter_bits);
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

uint64_t lethe_sketch_total(const lethe_sketch *sketch) {
    return sketch != NULL ? sketch->core.total : 0;
}

/* Counters in blocks at equal distances: their places come from hashes, so that any choice is as
 * good, and in blocks fewer pages are touched. */
static void look_at(const lethe_sketch *sketch, uint64_t looked_at, lethe_sketch_stats *stats) {
    const uint64_t block = 4096;
    uint64_t blocks = (looked_at + block - 1) / block;
    uint64_t counters = lethe_sketch_counters(&sketch->shape);
    uint64_t distance = looked_at < counters ? counters / blocks : block;
    for (uint64_t i = 0; i < looked_at; i++) {
        uint64_t place = i / block * distance + i % block;
        uint64_t counter =
            lethe_sketch_get_counter(sketch->core.cells, place, sketch->shape.counter_bits);
        stats->counters_used += counter != 0;
        uint64_t size = size_of(sketch, counter);
        stats->counters_saturated += size == sketch->core.max;
        if (size > stats->counter_highest) stats->counter_highest = size;
    }
}

static uint64_t scaled(uint64_t found, uint64_t looked_at, uint64_t counters) {
    return (uint64_t)((double)found * ((double)counters / (double)looked_at) + 0.5);
}

lethe_status lethe_sketch_info(const lethe_sketch *sketch, lethe_sketch_stats *out) {
    return lethe_sketch_estimate(sketch, UINT64_MAX, out);
}

lethe_status lethe_sketch_estimate(const lethe_sketch *sketch, uint64_t most_counters,
                                   lethe_sketch_stats *out) {
    if (sketch == NULL || most_counters == 0) return LETHE_EINVAL;
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_sketch_stats stats = {
        .size = sizeof stats,
        .query_only = sketch->query_only,
        .total = sketch->core.total,
        .counter_max = sketch->core.max,
        .top_listed = sketch->top != NULL ? lethe_top_count(sketch->top) : 0,
    };
    if (stats.top_listed > shape->top) stats.top_listed = shape->top;
    uint64_t counters = lethe_sketch_counters(shape);
    uint64_t looked_at = most_counters < counters ? most_counters : counters;
    look_at(sketch, looked_at, &stats);
    if (looked_at < counters) {
        stats.counters_used = scaled(stats.counters_used, looked_at, counters);
        stats.counters_saturated = scaled(stats.counters_saturated, looked_at, counters);
    }
    stats.error_above = shape->epsilon * (double)sketch->core.total;
    if (shape->kind == LETHE_SKETCH_COUNT) {
        /* Only all counters together say more than that the L2 norm is at most the total. */
        if (looked_at == counters) stats.error_above = shape->epsilon * sqrt(second_moment(sketch));
        stats.error_below = stats.error_above;
    }
    if (shape->kind == LETHE_SKETCH_LOG) {
        stats.counter_max = lethe_scale_count(sketch->scale, sketch->core.max);
        stats.relative_error = lethe_scale_relative_error(sketch->scale);
    }
    return LETHE_GIVE(&stats, out, relative_error);
}
