/* sketch/sketch.h - what the files of the sketches share.
 *
 * sketch.c has the public functions; plan.c the mathematics of sizes and errors; place.h where a key's
 * counters lie; hot.h the operations on counters, compiled once for each instruction set by
 * hot_*.c; scale.* what a logarithmic counter stands for; top.* the most frequent keys; change.c
 * several changes together; format.c saving and loading. */
#ifndef LETHE_SKETCH_SKETCH_H
#define LETHE_SKETCH_SKETCH_H

#include "lethe/sketch.h"

struct lethe_scale;
struct lethe_top;

/* What an operation needs to know. A part is depth rows of counters, one row behind the other. */
struct lethe_sketch_core {
    void *cells; /* what answers queries: the FQ part, or the only one */
    void *is;    /* the IS part; NULL in all kinds but FID */
    void *ds;    /* the DS part; NULL where removal does without one, or is not possible */
    uint32_t width, is_width, depth;
    bool ds_is_count_min;
    uint64_t max;    /* where a counter is full */
    uint64_t total;  /* added less removed; stays at UINT64_MAX */
    uint64_t random; /* log: the state of its random numbers */
    const struct lethe_scale *scale;
};

/* A batch: weights NULL is 1 each; counts and flags are results, NULL where not wanted. */
struct lethe_sketch_batch {
    const lethe_hash *hashes;
    const uint64_t *weights;
    size_t count;
    uint64_t *counts; /* the estimate, after adding or removing */
    uint8_t *flags;   /* query: saturated; remove: done, not refused */
};

/* One kind, for one size of counters and one instruction set. */
struct lethe_sketch_operations {
    void (*add)(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);
    void (*remove)(struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);
    void (*query)(const struct lethe_sketch_core *core, const struct lethe_sketch_batch *batch);
};

enum { LETHE_SKETCH_KINDS = 5, LETHE_SKETCH_SIZES = 4 };

/* By kind, and by the logarithm of the bytes of a counter. log has no 32 and 64 bits; what can't
 * remove has no remove. */
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
    bool query_only;
    struct lethe_top *top; /* NULL when none is kept */
    struct lethe_scale *scale;
    const lethe_allocator *allocator;
};

/* Bytes of a counter, as a power of two: 0 to 3. */
static inline unsigned lethe_sketch_size_class(uint32_t counter_bits) {
    return counter_bits == 8 ? 0 : counter_bits == 16 ? 1 : counter_bits == 32 ? 2 : 3;
}

/* Whether a kind's estimates are never below the truth. */
static inline bool lethe_sketch_never_under(lethe_sketch_kind kind) {
    return kind == LETHE_SKETCH_COUNT_MIN || kind == LETHE_SKETCH_CONSERVATIVE ||
           kind == LETHE_SKETCH_FID;
}

/* Whether sizes, kind and removal make a sketch that this library could have made. */
bool lethe_sketch_is_valid_shape(const lethe_sketch_shape *shape);

/* Fills in what follows from the other fields: epsilon, delta and the bytes. */
void lethe_sketch_complete_shape(lethe_sketch_shape *shape);

/* The value at which a counter of that kind and size is full. */
uint64_t lethe_sketch_counter_max(lethe_sketch_kind kind, uint32_t counter_bits);

/* Whether keys can be removed from a sketch of this kind and shape. */
bool lethe_sketch_can_remove(const lethe_sketch *sketch);

/* Makes an empty sketch of a shape that is known to be valid; query_only has the part that
 * answers alone. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_sketch_from_shape(const lethe_sketch_shape *shape,
                                                      bool query_only,
                                                      const lethe_allocator *allocator,
                                                      lethe_sketch **out);

/* Counters one at a time, for what is not in a hurry. Those of cells may be read by others
 * meanwhile: relaxed. */
uint64_t lethe_sketch_get_counter(const void *cells, uint64_t at, uint32_t counter_bits);
void lethe_sketch_set_counter(void *cells, uint64_t at, uint32_t counter_bits, uint64_t value);

/* The same as a number with a sign, of a count sketch. */
int64_t lethe_sketch_signed(uint64_t counter, uint32_t counter_bits);

#endif
