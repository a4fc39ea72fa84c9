/* sketch/sketch.c - the public sketch: makes sketches, copies and clears them.
 *
 * IDEA    All five kinds are rows of counters, and a key has one counter in each row. The kinds
 *         differ in what an addition does to these counters (hot.inc.h). Everything that looks at
 *         whole parts (making, copying, merging, info) is the same for all kinds.
 * LAYOUT  Up to three parts, each allocated on its own: cells, which alone answers, is and ds. The
 *         counters of a row are adjacent, and the rows follow each other.
 * I1      Shape, seed and the addresses of the parts never change after creation.
 * I2      cells is written only by relaxed stores of whole counters, since readers may be looking.
 * WHY     The FID sketch is three parts and not one array of structures, because the part that
 *         answers must be small enough for a cache, and is handed out without the others (export).
 *         Widths are not rounded to powers of two: place.h multiplies instead of masking.
 * LIMIT   The counters of all parts have one size. Merged conservative and FID sketches
 *         over-estimate more than one sketch of all keys would.
 * PAPER   count: M. Charikar, K. Chen, M. Farach-Colton, Finding frequent items in data streams,
 *         2002.
 *         count-min: G. Cormode, S. Muthukrishnan, An improved data stream summary, 2005.
 *         conservative: C. Estan, G. Varghese, New directions in traffic measurement and
 *         accounting, 2002.
 *         log: G. Pitel, G. Fouquier, Count-Min-Log sketch, 2015.
 *         FID: T. Yang et al., FID-sketch: an accurate sketch to store frequencies in data streams,
 *         2018. */
#include "sketch/sketch.h"

#include <string.h>

#include "core/allocator.h"
#include "core/cpu.h"
#include "core/sized.h"
#include "sketch/cells.h"
#include "sketch/scale.h"
#include "sketch/top.h"

static const struct lethe_sketch_operations *operations_for(const lethe_sketch_shape *shape) {
    unsigned size = lethe_sketch_size_class(shape->counter_bits);
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2) return &lethe_sketch_avx2[shape->kind][size];
#endif
    return &lethe_sketch_portable[shape->kind][size];
}

/* The state that a log sketch's random numbers start from. */
static uint64_t first_random(const lethe_sketch_shape *shape) {
    return shape->kind == LETHE_SKETCH_LOG ? shape->seed : 0;
}

static size_t part_bytes(uint64_t counters, uint32_t counter_bits) {
    return (size_t)(counters * (counter_bits / 8));
}

/* Allocates the parts. On failure the missing ones stay NULL, which free accepts. */
static lethe_status allocate_parts(lethe_sketch *sketch, bool query_only) {
    const lethe_sketch_shape *shape = &sketch->shape;
    size_t bytes, is_bytes = 0;
    if (!lethe_size_multiply(lethe_sketch_counters(shape), shape->counter_bits / 8, &bytes) ||
        !lethe_size_multiply(lethe_sketch_is_counters(shape), shape->counter_bits / 8, &is_bytes)) {
        return LETHE_ENOMEM;
    }
    struct lethe_sketch_core *core = &sketch->core;
    core->cells = lethe_alloc_zeroed(sketch->allocator, bytes);
    if (core->cells == NULL) return LETHE_ENOMEM;
    if (shape->kind == LETHE_SKETCH_LOG) {
        sketch->scale = lethe_alloc_zeroed(sketch->allocator, sizeof *sketch->scale);
        if (sketch->scale == NULL) return LETHE_ENOMEM;
        lethe_scale_init(sketch->scale, shape->counter_bits);
        core->scale = sketch->scale;
    }
    if (query_only) return LETHE_OK;
    if (is_bytes > 0) core->is = lethe_alloc_zeroed(sketch->allocator, is_bytes);
    if (lethe_sketch_has_ds(shape)) core->ds = lethe_alloc_zeroed(sketch->allocator, bytes);
    if ((is_bytes > 0 && core->is == NULL) || (lethe_sketch_has_ds(shape) && core->ds == NULL)) {
        return LETHE_ENOMEM;
    }
    if (shape->top == 0) return LETHE_OK;
    return lethe_top_new(shape->top, sketch->allocator, &sketch->top);
}

lethe_status lethe_sketch_from_shape(const lethe_sketch_shape *shape, bool query_only,
                                     const lethe_allocator *allocator, lethe_sketch **out) {
    *out = NULL;
    lethe_sketch *sketch = lethe_alloc_zeroed(allocator, sizeof *sketch);
    if (sketch == NULL) return LETHE_ENOMEM;
    *sketch = (lethe_sketch){
        .core = {.width = (uint32_t)shape->width,
                 .is_width = (uint32_t)shape->is_width,
                 .depth = shape->depth,
                 .is_depth = (uint32_t)shape->is_depth,
                 .ds_is_count_min = shape->removal == LETHE_SKETCH_REMOVAL_COUNT_MIN,
                 .max = lethe_sketch_counter_max(shape->kind, shape->counter_bits),
                 .random = first_random(shape)},
        .operations = operations_for(shape),
        .shape = *shape,
        .query_only = query_only,
        .allocator = allocator,
    };
    lethe_status status = allocate_parts(sketch, query_only);
    if (status != LETHE_OK) {
        lethe_sketch_free(sketch);
        return status;
    }
    *out = sketch;
    return LETHE_OK;
}

lethe_status lethe_sketch_new(const lethe_sketch_options *options, lethe_sketch **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_sketch_options taken;
    lethe_sketch_shape shape;
    lethe_status status = lethe_sketch_plan_options(options, &taken, &shape);
    if (status != LETHE_OK) return status;
    return lethe_sketch_from_shape(&shape, false, taken.allocator, out);
}

void lethe_sketch_free(lethe_sketch *sketch) {
    if (sketch == NULL) return;
    const lethe_allocator *allocator = sketch->allocator;
    const lethe_sketch_shape *shape = &sketch->shape;
    size_t bytes = part_bytes(lethe_sketch_counters(shape), shape->counter_bits);
    lethe_release(allocator, sketch->core.cells, bytes);
    lethe_release(allocator, sketch->core.ds, bytes);
    lethe_release(allocator, sketch->core.is,
                  part_bytes(lethe_sketch_is_counters(shape), shape->counter_bits));
    if (sketch->scale != NULL) lethe_release(allocator, sketch->scale, sizeof *sketch->scale);
    lethe_top_free(sketch->top);
    lethe_release(allocator, sketch, sizeof *sketch);
}

lethe_status lethe_sketch_copy(const lethe_sketch *sketch, lethe_sketch **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (sketch == NULL) return LETHE_EINVAL;
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_status status =
        lethe_sketch_from_shape(shape, sketch->query_only, sketch->allocator, out);
    if (status != LETHE_OK) return status;
    struct lethe_sketch_core *core = &(*out)->core;
    size_t bytes = part_bytes(lethe_sketch_counters(shape), shape->counter_bits);
    memcpy(core->cells, sketch->core.cells, bytes);
    if (core->ds != NULL) memcpy(core->ds, sketch->core.ds, bytes);
    if (core->is != NULL) {
        memcpy(core->is, sketch->core.is,
               part_bytes(lethe_sketch_is_counters(shape), shape->counter_bits));
    }
    core->total = sketch->core.total;
    core->random = sketch->core.random;
    if (sketch->top == NULL) return LETHE_OK;
    lethe_top_free((*out)->top);
    (*out)->top = NULL;
    status = lethe_top_copy(sketch->top, &(*out)->top);
    if (status != LETHE_OK) {
        lethe_sketch_free(*out);
        *out = NULL;
    }
    return status;
}

uint64_t lethe_sketch_get_counter(const void *cells, uint64_t at, uint32_t counter_bits) {
    return lethe_cell_get(cells, at, lethe_sketch_size_class(counter_bits));
}

void lethe_sketch_set_counter(void *cells, uint64_t at, uint32_t counter_bits, uint64_t value) {
    lethe_cell_set(cells, at, lethe_sketch_size_class(counter_bits), value);
}

int64_t lethe_sketch_signed(uint64_t counter, uint32_t counter_bits) {
    unsigned unused = 64 - counter_bits;
    return (int64_t)(counter << unused) >> unused;
}

void lethe_sketch_clear(lethe_sketch *sketch) {
    if (sketch == NULL) return;
    const lethe_sketch_shape *shape = &sketch->shape;
    struct lethe_sketch_core *core = &sketch->core;
    uint64_t counters = lethe_sketch_counters(shape);
    for (uint64_t i = 0; i < counters; i++)
        lethe_sketch_set_counter(core->cells, i, shape->counter_bits, 0);
    if (core->ds != NULL) memset(core->ds, 0, part_bytes(counters, shape->counter_bits));
    if (core->is != NULL) {
        memset(core->is, 0, part_bytes(lethe_sketch_is_counters(shape), shape->counter_bits));
    }
    core->total = 0;
    core->random = first_random(shape);
    if (sketch->top != NULL) lethe_top_clear(sketch->top);
}

uint64_t lethe_sketch_seed(const lethe_sketch *sketch) {
    return sketch != NULL ? sketch->shape.seed : 0;
}

lethe_status lethe_sketch_get_shape(const lethe_sketch *sketch, lethe_sketch_shape *out) {
    if (sketch == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&sketch->shape, out, query_memory_bytes);
}
