/* sketch/sketch.c - the public sketch: makes sketches, hands operations to their kind.
 *
 * IDEA    All five kinds are rows of counters, and a key has one counter in each row. What an
 *         addition does to them is the kind (hot.h); everything that looks at whole parts (merging,
 *         copying, counting) is the same for all and stands here.
 * LAYOUT  Up to three parts in memory of their own: cells, which alone answer queries, is and ds. A
 *         row's counters lie side by side, rows one behind the other.
 * I1      Shape and seed never change after creation, nor do the addresses of the parts.
 * I2      cells is written by relaxed stores only, a counter at a time, since readers may be looking.
 * WHY     The FID sketch as three parts, not one array of structures: its point is that the part which
 *         answers is small enough for a cache, and can be handed out without the others.
 *         No width is rounded to a power of two, and no remainder is taken: place.h multiplies.
 * LIMIT   Counters of all parts have one size. Merged conservative and FID sketches are above what one
 *         sketch of all keys would be.
 * PAPER   M. Charikar, K. Chen, M. Farach-Colton, Finding frequent items in data streams, 2002 (count).
 *         G. Cormode, S. Muthukrishnan, An improved data stream summary, 2005 (count-min).
 *         C. Estan, G. Varghese, New directions in traffic measurement and accounting, 2002 (conservative).
 *         G. Pitel, G. Fouquier, Count-Min-Log sketch, 2015 (log).
 *         T. Yang et al., FID-sketch: an accurate sketch to store frequencies in data streams, 2018. */
#include "sketch/sketch.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/cpu.h"
#include "sketch/scale.h"
#include "sketch/top.h"

enum { KEYS_AT_ONCE = 256 };

static const struct lethe_sketch_operations *operations_for(const lethe_sketch_shape *shape) {
    unsigned size = lethe_sketch_size_class(shape->counter_bits);
#if defined(__x86_64__)
    if (lethe_cpu() >= LETHE_CPU_AVX2) return &lethe_sketch_avx2[shape->kind][size];
#endif
    return &lethe_sketch_portable[shape->kind][size];
}

static uint64_t counters_of(const lethe_sketch_shape *shape) {
    return shape->width * shape->depth;
}

static uint64_t is_counters_of(const lethe_sketch_shape *shape) {
    return shape->is_width * shape->depth;
}

static bool has_ds(const lethe_sketch_shape *shape) {
    return shape->removal != LETHE_SKETCH_REMOVAL_NONE;
}

/* Where a log sketch's random numbers begin. */
static uint64_t first_random(const lethe_sketch_shape *shape) {
    return shape->kind == LETHE_SKETCH_LOG ? shape->seed : 0;
}

static size_t part_bytes(uint64_t counters, uint32_t counter_bits) {
    return (size_t)(counters * (counter_bits / 8));
}

/* Allocates the parts; what could not be is left NULL, and free takes that. */
static lethe_status allocate_parts(lethe_sketch *sketch, bool query_only) {
    const lethe_sketch_shape *shape = &sketch->shape;
    size_t bytes, is_bytes = 0;
    if (!lethe_size_multiply(counters_of(shape), shape->counter_bits / 8, &bytes) ||
        !lethe_size_multiply(is_counters_of(shape), shape->counter_bits / 8, &is_bytes)) {
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
    if (has_ds(shape)) core->ds = lethe_alloc_zeroed(sketch->allocator, bytes);
    if ((is_bytes > 0 && core->is == NULL) || (has_ds(shape) && core->ds == NULL)) {
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
    assert(out != NULL);
    *out = NULL;
    lethe_sketch_shape shape;
    lethe_status status = lethe_sketch_plan(options, &shape);
    if (status != LETHE_OK) return status;
    return lethe_sketch_from_shape(&shape, false, options != NULL ? options->allocator : NULL, out);
}

void lethe_sketch_free(lethe_sketch *sketch) {
    if (sketch == NULL) return;
    const lethe_allocator *allocator = sketch->allocator;
    const lethe_sketch_shape *shape = &sketch->shape;
    size_t bytes = part_bytes(counters_of(shape), shape->counter_bits);
    lethe_release(allocator, sketch->core.cells, bytes);
    lethe_release(allocator, sketch->core.ds, bytes);
    lethe_release(allocator, sketch->core.is,
                  part_bytes(is_counters_of(shape), shape->counter_bits));
    if (sketch->scale != NULL) lethe_release(allocator, sketch->scale, sizeof *sketch->scale);
    lethe_top_free(sketch->top);
    lethe_release(allocator, sketch, sizeof *sketch);
}

lethe_status lethe_sketch_copy(const lethe_sketch *sketch, lethe_sketch **out) {
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_status status =
        lethe_sketch_from_shape(shape, sketch->query_only, sketch->allocator, out);
    if (status != LETHE_OK) return status;
    struct lethe_sketch_core *core = &(*out)->core;
    size_t bytes = part_bytes(counters_of(shape), shape->counter_bits);
    memcpy(core->cells, sketch->core.cells, bytes);
    if (core->ds != NULL) memcpy(core->ds, sketch->core.ds, bytes);
    if (core->is != NULL) {
        memcpy(core->is, sketch->core.is, part_bytes(is_counters_of(shape), shape->counter_bits));
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
    switch (counter_bits) {
    case 8:
        return atomic_load_explicit((const _Atomic(uint8_t) *)cells + at, memory_order_relaxed);
    case 16:
        return atomic_load_explicit((const _Atomic(uint16_t) *)cells + at, memory_order_relaxed);
    case 32:
        return atomic_load_explicit((const _Atomic(uint32_t) *)cells + at, memory_order_relaxed);
    default:
        return atomic_load_explicit((const _Atomic(uint64_t) *)cells + at, memory_order_relaxed);
    }
}

void lethe_sketch_set_counter(void *cells, uint64_t at, uint32_t counter_bits, uint64_t value) {
    switch (counter_bits) {
    case 8:
        atomic_store_explicit((_Atomic(uint8_t) *)cells + at, (uint8_t)value, memory_order_relaxed);
        break;
    case 16:
        atomic_store_explicit((_Atomic(uint16_t) *)cells + at, (uint16_t)value,
                              memory_order_relaxed);
        break;
    case 32:
        atomic_store_explicit((_Atomic(uint32_t) *)cells + at, (uint32_t)value,
                              memory_order_relaxed);
        break;
    default:
        atomic_store_explicit((_Atomic(uint64_t) *)cells + at, value, memory_order_relaxed);
        break;
    }
}

int64_t lethe_sketch_signed(uint64_t counter, uint32_t counter_bits) {
    unsigned unused = 64 - counter_bits;
    return (int64_t)(counter << unused) >> unused;
}

void lethe_sketch_clear(lethe_sketch *sketch) {
    const lethe_sketch_shape *shape = &sketch->shape;
    struct lethe_sketch_core *core = &sketch->core;
    uint64_t counters = counters_of(shape);
    for (uint64_t i = 0; i < counters; i++)
        lethe_sketch_set_counter(core->cells, i, shape->counter_bits, 0);
    if (core->ds != NULL) memset(core->ds, 0, part_bytes(counters, shape->counter_bits));
    if (core->is != NULL) {
        memset(core->is, 0, part_bytes(is_counters_of(shape), shape->counter_bits));
    }
    core->total = 0;
    core->random = first_random(shape);
    if (sketch->top != NULL) lethe_top_clear(sketch->top);
}

lethe_sketch_shape lethe_sketch_get_shape(const lethe_sketch *sketch) {
    return sketch->shape;
}

/* Whether the weights of a batch can be added or removed; NULL is all ones. */
static bool are_positive(const uint64_t *weights, size_t count) {
    for (size_t i = 0; weights != NULL && i < count; i++) {
        if (weights[i] == 0) return false;
    }
    return true;
}

static bool are_short(const lethe_bytes *keys, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (keys[i].size > LETHE_SKETCH_MAX_KEY_BYTES) return false;
    }
    return true;
}

lethe_status lethe_sketch_add_batch(lethe_sketch *sketch, const lethe_hash *hashes,
                                    const uint64_t *weights, size_t count) {
    if (sketch->query_only || sketch->top != NULL || !are_positive(weights, count)) {
        return LETHE_EINVAL;
    }
    struct lethe_sketch_batch batch = {.hashes = hashes, .weights = weights, .count = count};
    sketch->operations->add(&sketch->core, &batch);
    return LETHE_OK;
}

/* Adds at most KEYS_AT_ONCE keys to the counters and offers them to the list. */
static lethe_status add_some_keys(lethe_sketch *sketch, const lethe_bytes *keys,
                                  const uint64_t *weights, size_t count) {
    lethe_hash hashes[KEYS_AT_ONCE];
    uint64_t counts[KEYS_AT_ONCE];
    struct lethe_top *top = sketch->top;
    lethe_hash_batch(sketch->shape.seed, keys, count, hashes);
    struct lethe_sketch_batch batch = {.hashes = hashes,
                                       .weights = weights,
                                       .count = count,
                                       .counts = top != NULL ? counts : NULL};
    sketch->operations->add(&sketch->core, &batch);
    lethe_status status = LETHE_OK;
    for (size_t i = 0; top != NULL && i < count; i++) {
        lethe_status added =
            lethe_top_added(top, hashes[i], keys[i], weights != NULL ? weights[i] : 1, counts[i]);
        if (added != LETHE_OK) status = added;
    }
    return status;
}

lethe_status lethe_sketch_add_keys(lethe_sketch *sketch, const lethe_bytes *keys,
                                   const uint64_t *weights, size_t count) {
    if (sketch->query_only || !are_positive(weights, count)) return LETHE_EINVAL;
    if (sketch->top != NULL && !are_short(keys, count)) return LETHE_EINVAL;
    lethe_status status = LETHE_OK;
    for (size_t first = 0; first < count; first += KEYS_AT_ONCE) {
        size_t some = count - first < KEYS_AT_ONCE ? count - first : KEYS_AT_ONCE;
        lethe_status added =
            add_some_keys(sketch, keys + first, weights != NULL ? weights + first : NULL, some);
        if (added != LETHE_OK) status = added;
    }
    return status;
}

lethe_status lethe_sketch_add_hash(lethe_sketch *sketch, lethe_hash hash, uint64_t weight) {
    return lethe_sketch_add_batch(sketch, &hash, &weight, 1);
}

lethe_status lethe_sketch_add(lethe_sketch *sketch, const void *key, size_t size, uint64_t weight) {
    lethe_bytes bytes = {.data = key, .size = size};
    return lethe_sketch_add_keys(sketch, &bytes, &weight, 1);
}

bool lethe_sketch_can_remove(const lethe_sketch *sketch) {
    if (sketch->query_only || sketch->operations->remove == NULL) return false;
    bool needs_ds =
        sketch->shape.kind == LETHE_SKETCH_CONSERVATIVE || sketch->shape.kind == LETHE_SKETCH_FID;
    return !needs_ds || sketch->core.ds != NULL;
}

lethe_status lethe_sketch_remove_batch(lethe_sketch *sketch, const lethe_hash *hashes,
                                       const uint64_t *weights, size_t count, uint8_t *removed) {
    if (!lethe_sketch_can_remove(sketch) || sketch->top != NULL || !are_positive(weights, count)) {
        return LETHE_EINVAL;
    }
    struct lethe_sketch_batch batch = {.hashes = hashes, .weights = weights, .count = count};
    batch.flags = removed;
    sketch->operations->remove(&sketch->core, &batch);
    return LETHE_OK;
}

lethe_status lethe_sketch_remove_keys(lethe_sketch *sketch, const lethe_bytes *keys,
                                      const uint64_t *weights, size_t count, uint8_t *removed) {
    if (!lethe_sketch_can_remove(sketch) || !are_positive(weights, count)) return LETHE_EINVAL;
    if (sketch->top != NULL && !are_short(keys, count)) return LETHE_EINVAL;
    lethe_hash hashes[KEYS_AT_ONCE];
    uint64_t counts[KEYS_AT_ONCE];
    uint8_t done[KEYS_AT_ONCE];
    for (size_t first = 0; first < count; first += KEYS_AT_ONCE) {
        size_t some = count - first < KEYS_AT_ONCE ? count - first : KEYS_AT_ONCE;
        const uint64_t *of_these = weights != NULL ? weights + first : NULL;
        lethe_hash_batch(sketch->shape.seed, keys + first, some, hashes);
        struct lethe_sketch_batch batch = {
            .hashes = hashes, .weights = of_these, .count = some, .counts = counts, .flags = done};
        sketch->operations->remove(&sketch->core, &batch);
        for (size_t i = 0; i < some; i++) {
            if (removed != NULL) removed[first + i] = done[i];
            if (sketch->top == NULL || !done[i]) continue;
            lethe_top_removed(sketch->top, hashes[i], of_these != NULL ? of_these[i] : 1,
                              counts[i]);
        }
    }
    return LETHE_OK;
}

lethe_status lethe_sketch_remove_hash(lethe_sketch *sketch, lethe_hash hash, uint64_t weight) {
    uint8_t removed = 0;
    lethe_status status = lethe_sketch_remove_batch(sketch, &hash, &weight, 1, &removed);
    if (status != LETHE_OK) return status;
    return removed ? LETHE_OK : LETHE_ENOTFOUND;
}

lethe_status lethe_sketch_remove(lethe_sketch *sketch, const void *key, size_t size,
                                 uint64_t weight) {
    uint8_t removed = 0;
    lethe_bytes bytes = {.data = key, .size = size};
    lethe_status status = lethe_sketch_remove_keys(sketch, &bytes, &weight, 1, &removed);
    if (status != LETHE_OK) return status;
    return removed ? LETHE_OK : LETHE_ENOTFOUND;
}

void lethe_sketch_query_batch(const lethe_sketch *sketch, const lethe_hash *hashes, size_t count,
                              uint64_t *counts, uint8_t *saturated) {
    struct lethe_sketch_batch batch = {.hashes = hashes, .count = count};
    batch.counts = counts;
    batch.flags = saturated;
    sketch->operations->query(&sketch->core, &batch);
}

lethe_sketch_answer lethe_sketch_query_hash(const lethe_sketch *sketch, lethe_hash hash) {
    lethe_sketch_answer answer;
    uint8_t saturated;
    lethe_sketch_query_batch(sketch, &hash, 1, &answer.count, &saturated);
    answer.saturated = saturated != 0;
    return answer;
}

lethe_sketch_answer lethe_sketch_query(const lethe_sketch *sketch, const void *key, size_t size) {
    return lethe_sketch_query_hash(sketch, lethe_hash_bytes(sketch->shape.seed, key, size));
}

static bool is_same_shape(const lethe_sketch_shape *a, const lethe_sketch_shape *b) {
    return a->kind == b->kind && a->width == b->width && a->depth == b->depth &&
           a->is_width == b->is_width && a->counter_bits == b->counter_bits &&
           a->removal == b->removal && a->top == b->top && a->seed == b->seed;
}

static uint64_t saturating_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Puts the keys of one list into the merged one, in their order: a key that the other sketch does not keep has there what
 * its counters say. The second list's part leaves out what both keep. */
static lethe_status merge_keys(const lethe_sketch *one, const lethe_sketch *two, bool is_second,
                               struct lethe_top *merged) {
    const struct lethe_top_key **keys;
    size_t bytes;
    lethe_status status = lethe_top_sorted(one->top, &keys, &bytes);
    for (uint32_t i = 0; i < lethe_top_count(one->top) && status == LETHE_OK; i++) {
        const struct lethe_top_key *key = keys[i];
        const struct lethe_top_key *twin = lethe_top_find(two->top, key->hash);
        if (twin != NULL && is_second) continue;
        uint64_t more = twin != NULL ? twin->count : lethe_sketch_query_hash(two, key->hash).count;
        uint64_t seen = twin != NULL ? twin->at_least : 0;
        status =
            lethe_top_added(merged, key->hash, (lethe_bytes){key->bytes, key->size},
                            saturating_sum(key->at_least, seen), saturating_sum(key->count, more));
    }
    lethe_release(one->allocator, keys, bytes);
    return status;
}

/* The list of both. */
static lethe_status merge_tops(const lethe_sketch *sketch, const lethe_sketch *other,
                               struct lethe_top *merged) {
    lethe_status status = merge_keys(sketch, other, false, merged);
    return status == LETHE_OK ? merge_keys(other, sketch, true, merged) : status;
}

/* a + b of two counters of the part that answers; a full one stays full. */
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

static void merge_support(void *cells, const void *others, uint64_t counters, uint32_t bits) {
    uint64_t max = UINT64_MAX >> (64 - bits);
    for (uint64_t i = 0; cells != NULL && i < counters; i++) {
        uint64_t a = lethe_sketch_get_counter(cells, i, bits);
        uint64_t b = lethe_sketch_get_counter(others, i, bits);
        lethe_sketch_set_counter(cells, i, bits, a >= max - b ? max : a + b);
    }
}

lethe_status lethe_sketch_merge(lethe_sketch *sketch, const lethe_sketch *other) {
    if (sketch->query_only || other->query_only) return LETHE_EINVAL;
    const lethe_sketch_shape *shape = &sketch->shape;
    if (!is_same_shape(shape, &other->shape)) return LETHE_EMISMATCH;
    if (sketch->top != NULL) {
        struct lethe_top *merged;
        lethe_status status = lethe_top_new(shape->top, sketch->allocator, &merged);
        if (status == LETHE_OK) status = merge_tops(sketch, other, merged);
        if (status != LETHE_OK) {
            lethe_top_free(merged);
            return status;
        }
        lethe_top_free(sketch->top);
        sketch->top = merged;
    }
    struct lethe_sketch_core *core = &sketch->core;
    uint64_t counters = counters_of(shape), total = other->core.total;
    for (uint64_t i = 0; i < counters; i++) {
        uint64_t a = lethe_sketch_get_counter(core->cells, i, shape->counter_bits);
        uint64_t b = lethe_sketch_get_counter(other->core.cells, i, shape->counter_bits);
        lethe_sketch_set_counter(core->cells, i, shape->counter_bits, sum_of(sketch, a, b));
    }
    merge_support(core->ds, other->core.ds, counters, shape->counter_bits);
    merge_support(core->is, other->core.is, is_counters_of(shape), shape->counter_bits);
    core->total = core->total + total < total ? UINT64_MAX : core->total + total;
    return LETHE_OK;
}

static int compare_entries(const void *a, const void *b) {
    const lethe_sketch_top_entry *first = a, *second = b;
    if (first->count != second->count) return first->count > second->count ? -1 : 1;
    size_t shared = first->size < second->size ? first->size : second->size;
    int order = shared == 0 ? 0 : memcmp(first->key, second->key, shared);
    if (order != 0) return order;
    return (first->size > second->size) - (first->size < second->size);
}

lethe_status lethe_sketch_top(const lethe_sketch *sketch, lethe_sketch_top_entry *entries,
                              size_t room, size_t *listed) {
    *listed = 0;
    if (sketch->top == NULL) return LETHE_EINVAL;
    uint32_t count = lethe_top_count(sketch->top);
    if (count == 0) return LETHE_OK;
    size_t bytes = count * sizeof(lethe_sketch_top_entry);
    lethe_sketch_top_entry *all = lethe_alloc_zeroed(sketch->allocator, bytes);
    if (all == NULL) return LETHE_ENOMEM;
    bool never_under = lethe_sketch_never_under(sketch->shape.kind);
    for (uint32_t i = 0; i < count; i++) {
        const struct lethe_top_key *key = lethe_top_at(sketch->top, i);
        uint64_t now = lethe_sketch_query_hash(sketch, key->hash).count;
        /* Both are above the truth; where the kind errs to both sides, the newer is the better one. */
        uint64_t best = never_under && key->count < now ? key->count : now;
        if (best < key->at_least) best = key->at_least;
        all[i] = (lethe_sketch_top_entry){
            .key = key->bytes, .size = key->size, .count = best, .at_least = key->at_least};
    }
    qsort(all, count, sizeof *all, compare_entries);
    if (room > sketch->shape.top) room = sketch->shape.top;
    if (room > count) room = count;
    if (room > 0) memcpy(entries, all, room * sizeof *all);
    *listed = room;
    lethe_release(sketch->allocator, all, bytes);
    return LETHE_OK;
}

static int compare_doubles(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The sum of squared frequencies. Each row's sum of squared counters estimates it; the median does not
 * mind a row where two large keys share a counter. */
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

/* A counter without its sign; where it is core.max, it is full. */
static uint64_t size_of(const lethe_sketch *sketch, uint64_t counter) {
    if (sketch->shape.kind != LETHE_SKETCH_COUNT) return counter;
    int64_t value = lethe_sketch_signed(counter, sketch->shape.counter_bits);
    return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

uint64_t lethe_sketch_total(const lethe_sketch *sketch) {
    return sketch->core.total;
}

lethe_sketch_stats lethe_sketch_info(const lethe_sketch *sketch) {
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_sketch_stats stats = {
        .shape = *shape,
        .query_only = sketch->query_only,
        .total = sketch->core.total,
        .counter_max = sketch->core.max,
        .top_listed = sketch->top != NULL ? lethe_top_count(sketch->top) : 0,
    };
    if (stats.top_listed > shape->top) stats.top_listed = shape->top;
    for (uint64_t i = 0; i < counters_of(shape); i++) {
        uint64_t counter = lethe_sketch_get_counter(sketch->core.cells, i, shape->counter_bits);
        stats.counters_used += counter != 0;
        uint64_t size = size_of(sketch, counter);
        stats.counters_saturated += size == sketch->core.max;
        if (size > stats.counter_highest) stats.counter_highest = size;
    }
    stats.error_above = shape->epsilon * (double)sketch->core.total;
    if (shape->kind == LETHE_SKETCH_COUNT) {
        stats.error_above = shape->epsilon * sqrt(second_moment(sketch));
        stats.error_below = stats.error_above;
    }
    if (shape->kind == LETHE_SKETCH_LOG) {
        stats.counter_max = lethe_scale_count(sketch->scale, sketch->core.max);
        stats.relative_error = lethe_scale_relative_error(sketch->scale);
    }
    return stats;
}
