/* sketch/sketch.h - what the files of the sketches share.
 *
 * sketch.c makes sketches; update.c adds, removes and counts; change.c makes several changes or
 * none; list.c, merge.c, info.c and format.c have the other public functions. plan.c has the
 * mathematics of sizes and errors; place.h the positions of a key's counters; hot.inc.h the
 * operations on counters, compiled once per instruction set by hot_*.c; scale.* the values of
 * logarithmic counters; top.* the most frequent keys. */
#ifndef LETHE_SKETCH_SKETCH_H
#define LETHE_SKETCH_SKETCH_H

#include "lethe/sketch.h"

struct lethe_scale;
struct lethe_top;

/* What an operation needs to know. A part is depth rows of counters, one row after the other. */
struct lethe_sketch_core {
    /* The part that answers: FQ, or the only one. */
    void *cells;
    /* The IS part; NULL in all kinds except FID. */
    void *is;
    /* The DS part; NULL if the kind can remove without one, or cannot remove. */
    void *ds;

    /* is_width and is_depth: 0 without an IS part. */
    uint32_t width, is_width, depth, is_depth;
    bool ds_is_count_min;
    /* The value of a full counter. */
    uint64_t max;

    /* Added minus removed; stays at UINT64_MAX once it gets there. */
    uint64_t total;

    /* Log only: the state of the random numbers, and the values of levels. */
    uint64_t random;
    const struct lethe_scale *scale;
};

/* A batch of keys. */
struct lethe_sketch_batch {
    const lethe_hash *hashes;
    /* NULL: 1 for each key. */
    const uint64_t *weights;
    size_t count;
    /* The caller came with keys, which use the processor's caches too. */
    bool has_keys;

    /* Result: the estimates, after adding or removing. May be NULL when adding or removing. */
    uint64_t *counts;
    /* Result: count: whether the answer is saturated; remove: whether it was done, not refused. May
     * be NULL. */
    uint8_t *flags;
};

/* The operations of one kind, for one size of counters and one instruction set. */
struct lethe_sketch_operations {
    void (*add)(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);
    void (*remove)(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);
    void (*count)(const struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);

    /* The same for a single key. remove_one returns whether it was done, count_one the estimate;
     * saturated may be NULL. */
    void (*add_one)(struct lethe_sketch_core *core, lethe_hash hash, uint64_t weight);
    bool (*remove_one)(struct lethe_sketch_core *core, lethe_hash hash, uint64_t weight);
    uint64_t (*count_one)(const struct lethe_sketch_core *core, lethe_hash hash, bool *saturated);
};

enum { LETHE_SKETCH_KINDS = 5, LETHE_SKETCH_SIZES = 4 };

/* By kind, and by the logarithm of the bytes of a counter. log has no entries for 32 and 64
 * bits. remove expects the DS part that the kind needs. */
typedef const struct lethe_sketch_operations lethe_sketch_operations_table[LETHE_SKETCH_KINDS]
                                                                          [LETHE_SKETCH_SIZES];
extern lethe_sketch_operations_table lethe_sketch_portable;
#if defined(__x86_64__)
extern lethe_sketch_operations_table lethe_sketch_avx2;
#endif

struct lethe_sketch {
    struct lethe_sketch_core core;
    const struct lethe_sketch_operations *operations;
    lethe_sketch_shape shape;

    /* Made from an export: only the part that answers exists. */
    bool query_only;

    /* NULL unless the most frequent keys are kept. */
    struct lethe_top *top;

    struct lethe_scale *scale;
    const lethe_allocator *allocator;
};

/* The bytes of a counter, as the logarithm to base 2: 0 to 3. */
static inline unsigned lethe_sketch_size_class(uint32_t counter_bits) {
    return counter_bits == 8 ? 0 : counter_bits == 16 ? 1 : counter_bits == 32 ? 2 : 3;
}

/* The counters of the part that answers, and of the DS part. */
static inline uint64_t lethe_sketch_counters(const lethe_sketch_shape *shape) {
    return shape->width * shape->depth;
}

static inline uint64_t lethe_sketch_is_counters(const lethe_sketch_shape *shape) {
    return shape->is_width * shape->is_depth;
}

/* Whether the kind needs a DS part to remove. */
static inline bool lethe_sketch_needs_ds(lethe_sketch_kind kind) {
    return kind == LETHE_SKETCH_CONSERVATIVE || kind == LETHE_SKETCH_LOG ||
           kind == LETHE_SKETCH_FID;
}

static inline bool lethe_sketch_has_ds(const lethe_sketch_shape *shape) {
    return shape->removal != LETHE_SKETCH_REMOVAL_NONE;
}

/* Whether a kind's estimates are never below the true frequency. */
static inline bool lethe_sketch_never_under(lethe_sketch_kind kind) {
    return kind == LETHE_SKETCH_COUNT_MIN || kind == LETHE_SKETCH_CONSERVATIVE ||
           kind == LETHE_SKETCH_FID;
}

/* Takes a caller's options and plans the shape. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_sketch_plan_options(const lethe_sketch_options *options,
                                                        lethe_sketch_options *taken,
                                                        lethe_sketch_shape *shape);

/* Whether this library could have made a sketch of these sizes, this kind and this removal. */
bool lethe_sketch_is_valid_shape(const lethe_sketch_shape *shape);

/* Fills in what follows from the other fields: epsilon, delta and the bytes. */
void lethe_sketch_complete_shape(lethe_sketch_shape *shape);

/* The value of a full counter of that kind and size. */
uint64_t lethe_sketch_counter_max(lethe_sketch_kind kind, uint32_t counter_bits);

/* Whether keys can be removed from this sketch. */
bool lethe_sketch_can_remove(const lethe_sketch *sketch);

/* Whether a key can be added to this sketch or removed from it, as far as its bytes are
 * concerned. */
bool lethe_sketch_can_take(const lethe_sketch *sketch, lethe_bytes key);

/* Makes an empty sketch of a valid shape; with query_only, only the part that answers.
 * Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_sketch_from_shape(const lethe_sketch_shape *shape,
                                                      bool query_only,
                                                      const lethe_allocator *allocator,
                                                      lethe_sketch **out);

/* Makes the list of the most frequent keys of both sketches. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_sketch_merge_lists(const lethe_sketch *sketch,
                                                       const lethe_sketch *other,
                                                       struct lethe_top **out);

/* Single counters, for code that is not on the hot path. */
uint64_t lethe_sketch_get_counter(const void *cells, uint64_t at, uint32_t counter_bits);
void lethe_sketch_set_counter(void *cells, uint64_t at, uint32_t counter_bits, uint64_t value);

/* A counter of a count sketch as a signed number. */
int64_t lethe_sketch_signed(uint64_t counter, uint32_t counter_bits);

#endif
