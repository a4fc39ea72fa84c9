/* sketch/change.c - makes several changes, or none of them.
 *
 * IDEA    The changes are made one after another. Before each, the counters of its key are saved.
 *         If a change is refused, the saved counters are restored in reverse order. That is exact
 *         even where keys share counters.
 * I1      The list of the most frequent keys learns of the changes only after all of them are made,
 *         in their order and with the estimate after each. So it ends as if they were single calls.
 * WHY     Checking all changes first would not work: a removal lowers counters that a later one
 *         needs. Undoing by the opposite change would not work either: a removal does not undo
 *         an addition to a conservative or FID sketch. */
#include <string.h>

#include "core/allocator.h"
#include "sketch/place.h"
#include "sketch/sketch.h"
#include "sketch/top.h"

enum { STACK_WORDS = 512 };

/* One change in progress. */
struct change {
    lethe_hash hash;
    /* The estimate after the change. */
    uint64_t count;
    /* The counters of the key before it: depth each of cells and ds, is_depth of is. */
    uint64_t before[];
};

static size_t change_bytes(const lethe_sketch *sketch) {
    size_t counters = 2 * (size_t)sketch->core.depth + sketch->core.is_depth;
    return sizeof(struct change) + counters * sizeof(uint64_t);
}

static void find_places(lethe_hash hash, uint32_t width, uint32_t depth,
                        uint32_t at[LETHE_SKETCH_MAX_DEPTH]) {
    for (uint32_t row = 0; row < depth; row += LETHE_PLACE_ROWS) {
        lethe_place_rows(lethe_place_group(hash, row / LETHE_PLACE_ROWS), width, row * width,
                         at + row);
    }
}

/* Save and restore the counters of one part. */
static void keep_part(void *cells, uint32_t bits, const uint32_t *at, uint32_t depth,
                      uint64_t *before) {
    for (uint32_t row = 0; cells != NULL && row < depth; row++)
        before[row] = lethe_sketch_get_counter(cells, at[row], bits);
}

static void restore_part(void *cells, uint32_t bits, const uint32_t *at, uint32_t depth,
                         uint64_t *before) {
    for (uint32_t row = 0; cells != NULL && row < depth; row++)
        lethe_sketch_set_counter(cells, at[row], bits, before[row]);
}

typedef void part_visit(void *cells, uint32_t bits, const uint32_t *at, uint32_t depth,
                        uint64_t *before);

static void visit_parts(lethe_sketch *sketch, struct change *change, part_visit *visit) {
    struct lethe_sketch_core *core = &sketch->core;
    uint32_t depth = core->depth, bits = sketch->shape.counter_bits;
    uint32_t at[LETHE_SKETCH_MAX_DEPTH], is_at[LETHE_SKETCH_MAX_DEPTH];
    find_places(change->hash, core->width, depth, at);
    visit(core->cells, bits, at, depth, change->before);
    visit(core->ds, bits, at, depth, change->before + depth);
    if (core->is == NULL) return;
    find_places(change->hash, core->is_width, core->is_depth, is_at);
    visit(core->is, bits, is_at, core->is_depth, change->before + 2 * (size_t)depth);
}

static uint64_t weight_of(int64_t delta) {
    return delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
}

/* Makes one change of the counters, or refuses it. */
static lethe_status make(lethe_sketch *sketch, struct change *change, int64_t delta) {
    uint64_t weight = weight_of(delta);
    uint8_t flag = 1;
    struct lethe_sketch_batch batch = {
        .hashes = &change->hash, .weights = &weight, .count = 1, .counts = &change->count};
    if (delta < 0) {
        batch.flags = &flag;
        sketch->operations->remove(&sketch->core, &batch);
        return flag ? LETHE_OK : LETHE_ENOTFOUND;
    }
    sketch->operations->add(&sketch->core, &batch);
    bool saturated;
    (void)lethe_sketch_count_hash(sketch, change->hash, &saturated);
    return saturated ? LETHE_EFULL : LETHE_OK;
}

static lethe_status tell_top(struct lethe_top *top, const lethe_sketch_delta *delta,
                             const struct change *change) {
    if (top == NULL || delta->delta == 0) return LETHE_OK;
    uint64_t weight = weight_of(delta->delta);
    if (delta->delta > 0)
        return lethe_top_added(top, change->hash, delta->key, weight, change->count);
    lethe_top_removed(top, change->hash, weight, change->count);
    return LETHE_OK;
}

static struct change *change_at(void *changes, size_t bytes, size_t i) {
    return (struct change *)(void *)((char *)changes + i * bytes);
}

/* Makes the changes; changes has room for what they save. */
static lethe_status change_all(lethe_sketch *sketch, const lethe_sketch_delta *deltas, size_t count,
                               void *changes) {
    size_t bytes = change_bytes(sketch), made = 0;
    uint64_t total = sketch->core.total, random = sketch->core.random;
    lethe_status status = LETHE_OK;
    for (; made < count && status == LETHE_OK; made++) {
        struct change *change = change_at(changes, bytes, made);
        change->hash =
            lethe_hash_bytes(sketch->shape.seed, deltas[made].key.data, deltas[made].key.size);
        visit_parts(sketch, change, keep_part);
        if (deltas[made].delta != 0) status = make(sketch, change, deltas[made].delta);
    }
    if (status != LETHE_OK) {
        while (made-- > 0)
            visit_parts(sketch, change_at(changes, bytes, made), restore_part);
        sketch->core.total = total;
        sketch->core.random = random;
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        lethe_status told = tell_top(sketch->top, &deltas[i], change_at(changes, bytes, i));
        if (told != LETHE_OK) status = told;
    }
    return status;
}

static bool are_possible(const lethe_sketch *sketch, const lethe_sketch_delta *deltas,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (deltas[i].delta < 0 && !lethe_sketch_can_remove(sketch)) return false;
        if (!lethe_sketch_can_take(sketch, deltas[i].key)) return false;
    }
    return !sketch->query_only;
}

lethe_status lethe_sketch_change(lethe_sketch *sketch, const lethe_sketch_delta *deltas,
                                 size_t count) {
    if (sketch == NULL || (deltas == NULL && count > 0)) return LETHE_EINVAL;
    if (!are_possible(sketch, deltas, count)) return LETHE_EINVAL;
    uint64_t few[STACK_WORDS];
    size_t bytes;
    if (!lethe_size_multiply(count, change_bytes(sketch), &bytes)) return LETHE_ENOMEM;
    if (bytes <= sizeof few) return change_all(sketch, deltas, count, few);
    void *many = lethe_alloc_zeroed(sketch->allocator, bytes);
    if (many == NULL) return LETHE_ENOMEM;
    lethe_status status = change_all(sketch, deltas, count, many);
    lethe_release(sketch->allocator, many, bytes);
    return status;
}
