/* sketch/merge.c - adds everything that one sketch holds to another.
 *
 * I1      Only joining the lists can fail, and it comes first, on a new list. So an error leaves
 *         the sketch as it was. */
#include "sketch/scale.h"
#include "sketch/sketch.h"
#include "sketch/top.h"

static bool is_same_shape(const lethe_sketch_shape *a, const lethe_sketch_shape *b) {
    return a->kind == b->kind && a->width == b->width && a->depth == b->depth &&
           a->is_width == b->is_width && a->is_depth == b->is_depth &&
           a->counter_bits == b->counter_bits && a->removal == b->removal && a->top == b->top &&
           a->seed == b->seed;
}

/* The sum of two counters. A full counter stays full. */
static uint64_t sum_of(lethe_sketch *sketch, uint64_t a, uint64_t b) {
    uint64_t max = sketch->core.max;
    if (sketch->shape.kind == LETHE_SKETCH_LOG) {
        double chance = lethe_scale_chance(&sketch->core.random);
        double more = lethe_scale_value(sketch->scale, b);
        if (a == max || b == max) return max;
        return b == 0 ? a : lethe_scale_raise(sketch->scale, a, more, chance, max);
    }
    if (sketch->shape.kind != LETHE_SKETCH_COUNT) {
        return a >= max - b ? max : a + b;
    }
    uint32_t bits = sketch->shape.counter_bits;
    int64_t first = lethe_sketch_signed(a, bits), second = lethe_sketch_signed(b, bits);
    int64_t end = (int64_t)max, sum;
    if (first == end || first == -end) return a;
    if (second == end || second == -end) return b;
    if (__builtin_add_overflow(first, second, &sum)) sum = first > 0 ? end : -end;
    return (uint64_t)(sum > end ? end : sum < -end ? -end : sum);
}

static void merge_part(lethe_sketch *sketch, void *cells, const void *others, uint64_t counters) {
    uint32_t bits = sketch->shape.counter_bits;
    for (uint64_t i = 0; cells != NULL && i < counters; i++) {
        uint64_t a = lethe_sketch_get_counter(cells, i, bits);
        uint64_t b = lethe_sketch_get_counter(others, i, bits);
        lethe_sketch_set_counter(cells, i, bits, sum_of(sketch, a, b));
    }
}

lethe_status lethe_sketch_merge(lethe_sketch *sketch, const lethe_sketch *other) {
    if (sketch == NULL || other == NULL) return LETHE_EINVAL;
    if (sketch->query_only || other->query_only) return LETHE_EINVAL;
    const lethe_sketch_shape *shape = &sketch->shape;
    if (!is_same_shape(shape, &other->shape)) return LETHE_EMISMATCH;
    if (sketch->top != NULL) {
        struct lethe_top *merged;
        lethe_status status = lethe_sketch_merge_lists(sketch, other, &merged);
        if (status != LETHE_OK) return status;
        lethe_top_free(sketch->top);
        sketch->top = merged;
    }
    struct lethe_sketch_core *core = &sketch->core;
    uint64_t counters = lethe_sketch_counters(shape), total = other->core.total;
    merge_part(sketch, core->cells, other->core.cells, counters);
    merge_part(sketch, core->ds, other->core.ds, counters);
    merge_part(sketch, core->is, other->core.is, lethe_sketch_is_counters(shape));
    core->total = core->total + total < total ? UINT64_MAX : core->total + total;
    return LETHE_OK;
}
