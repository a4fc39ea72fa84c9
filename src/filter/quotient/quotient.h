/* filter/quotient/quotient.h - what the files of the quotient filter share.
 *
 * quotient.c has the public functions on keys, and the essay; plan.c sizes; hot.inc.h what touches
 * slots, compiled once for each instruction set; counts.c the side table of counts; stream.c
 * reading through, merging and building; check.c whether a table is what it should be; format.c
 * saving, loading and mapping. */
#ifndef LETHE_FILTER_QUOTIENT_QUOTIENT_H
#define LETHE_FILTER_QUOTIENT_QUOTIENT_H

#include "core/bits.h"
#include "lethe/quotient.h"
#include "os/mapping.h"

enum {
    LETHE_QUOTIENT_BLOCK = 64, /* slots, and buckets, to a block */
    LETHE_QUOTIENT_TAIL = 5,   /* blocks after the last bucket's: four for what is carried out of
                                * it, and one that is always empty, so that each has a successor */
    LETHE_QUOTIENT_MAX_CARRY = 255,
    LETHE_QUOTIENT_MAX_CHAIN = 512,   /* blocks that one addition may move */
    LETHE_QUOTIENT_MARGIN_BYTES = 64, /* around the table, read and written back by vectors */
    /* The most entries that can have their bucket in one block. */
    LETHE_QUOTIENT_MAX_HOMED = LETHE_QUOTIENT_BLOCK + LETHE_QUOTIENT_MAX_CARRY
};

/* What a block knows of its buckets and slots. */
struct lethe_quotient_marks {
    uint64_t occupied; /* bit b: bucket b has entries, wherever they lie */
    uint64_t ends;     /* bit s: slot s holds the last entry of its bucket */
};

/* What an operation needs to know, in one cache line. */
struct lethe_quotient_table {
    unsigned char *remainders; /* 8r bytes a block */
    struct lethe_quotient_marks *marks;
    uint8_t *carry;  /* how many entries of earlier blocks lie in this one and later ones */
    uint64_t blocks; /* that have buckets */
    uint32_t bits;   /* r */
};

/* What became of one more copy of a fingerprint. */
enum lethe_quotient_outcome {
    LETHE_QUOTIENT_FIRST,  /* it is there now and was not before */
    LETHE_QUOTIENT_SECOND, /* it is there twice now */
    LETHE_QUOTIENT_MANY,   /* it was there twice; nothing changed, its count must */
    LETHE_QUOTIENT_CROWDED /* no room within reach; nothing changed */
};

/* Sorted fingerprints on their way into an empty table. */
struct lethe_quotient_builder {
    struct lethe_quotient_table *table;
    uint64_t block;         /* whose buckets are being filled; earlier ones are done */
    uint64_t slot;          /* the next free one */
    uint64_t last_quotient; /* of what was put last */
    bool is_crowded;        /* some did not fit; the rest was dropped */
};

/* The operations for one instruction set and, in some, one r. */
struct lethe_quotient_operations {
    /* How many copies there are: 0, 1 or 2. */
    unsigned (*copies)(const struct lethe_quotient_table *table, uint64_t fingerprint);
    enum lethe_quotient_outcome (*add)(struct lethe_quotient_table *table, uint64_t fingerprint);
    /* Takes one copy out; returns how many there were. */
    unsigned (*remove)(struct lethe_quotient_table *table, uint64_t fingerprint);
    /* Adds fingerprints until one is MANY or CROWDED; returns how many it added and counts the
     * SECOND ones. */
    size_t (*add_batch)(struct lethe_quotient_table *table, const uint64_t *fingerprints,
                        size_t count, size_t *seconds);
    void (*test_batch)(const struct lethe_quotient_table *table, const uint64_t *fingerprints,
                       size_t count, uint8_t *present);
    /* The fingerprints of a block's buckets in ascending order, copies and all; returns their
     * number. */
    size_t (*decode)(const struct lethe_quotient_table *table, uint64_t block,
                     uint64_t out[LETHE_QUOTIENT_MAX_HOMED]);
    /* How many of ascending fingerprints equal the one before them; thrice: and the one before
     * that. */
    size_t (*repeated)(const uint64_t *fingerprints, size_t count, size_t *thrice);
    /* Appends further fingerprints to those that were put before; they ascend, and each occurs at
     * most twice. */
    void (*append)(struct lethe_quotient_builder *builder, const uint64_t *fingerprints,
                   size_t count);
    /* Ends a table that was built. */
    void (*finish)(struct lethe_quotient_builder *builder);
};

/* Indexed by enum lethe_quotient_width. */
enum lethe_quotient_width {
    LETHE_QUOTIENT_ANY_WIDTH,
    LETHE_QUOTIENT_8_BITS,
    LETHE_QUOTIENT_16_BITS,
    LETHE_QUOTIENT_WIDTHS
};

extern const struct lethe_quotient_operations lethe_quotient_portable[LETHE_QUOTIENT_WIDTHS];
#if defined(__x86_64__)
extern const struct lethe_quotient_operations lethe_quotient_avx2[LETHE_QUOTIENT_WIDTHS];
#endif

/* The counts of fingerprints that are there three times and more. {0} is an empty one. */
struct lethe_quotient_counts {
    lethe_quotient_entry *entries; /* count 0 is a free place */
    uint64_t places;               /* a power of two, or 0 */
    uint64_t used;
};

/* Makes sure that one more fits. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_quotient_counts_reserve(struct lethe_quotient_counts *counts,
                                                            const lethe_allocator *allocator);
/* 0 when it is not there. */
uint64_t lethe_quotient_counts_get(const struct lethe_quotient_counts *counts,
                                   uint64_t fingerprint);
/* Sets a count, 0 takes the fingerprint out. A new one needs room reserved. */
void lethe_quotient_counts_set(struct lethe_quotient_counts *counts, uint64_t fingerprint,
                               uint64_t count);
/* The entries in ascending order, in memory of counts->used of them that the caller gives. */
void lethe_quotient_counts_sorted(const struct lethe_quotient_counts *counts,
                                  lethe_quotient_entry *out);
LETHE_MUST_CHECK lethe_status lethe_quotient_counts_copy(const struct lethe_quotient_counts *from,
                                                         const lethe_allocator *allocator,
                                                         struct lethe_quotient_counts *out);
void lethe_quotient_counts_drop(struct lethe_quotient_counts *counts,
                                const lethe_allocator *allocator);
uint64_t lethe_quotient_counts_bytes(const struct lethe_quotient_counts *counts);

struct lethe_quotient {
    struct lethe_quotient_table table;
    const struct lethe_quotient_operations *operations;
    struct lethe_quotient_counts counts;
    uint64_t max_fingerprint;
    uint64_t slots_used, limit; /* full at limit */
    uint64_t distinct, total;
    uint64_t missed_removals;
    uint32_t doublings;
    lethe_quotient_shape shape;
    const lethe_allocator *allocator;
    unsigned char *memory;    /* the table with its margins; NULL when it is mapped */
    lethe_os_mapping mapping; /* the whole file, or zeroed */
};

/* Whether a filter is there and can be changed: it is not mapped. */
static inline bool lethe_quotient_is_writable(const lethe_quotient *filter) {
    return filter != NULL && filter->memory != NULL;
}

/* hash.high times the number of fingerprints, which may be 2^64, and the upper half of that. */
static inline uint64_t lethe_quotient_fingerprint_of(const lethe_quotient *filter,
                                                     lethe_hash hash) {
    lethe_uint128 product = (lethe_uint128)hash.high * filter->max_fingerprint;
    return (uint64_t)((product + hash.high) >> 64);
}

/* How many blocks a table has with its tail. */
static inline uint64_t lethe_quotient_all_blocks(const struct lethe_quotient_table *table) {
    return table->blocks + LETHE_QUOTIENT_TAIL;
}

/* How many more times the fingerprint was added than it has copies in slots. */
static inline uint64_t lethe_quotient_uncopied(const struct lethe_quotient_counts *counts,
                                               uint64_t fingerprint) {
    if (counts->used == 0) return 0;
    uint64_t count = lethe_quotient_counts_get(counts, fingerprint);
    return count != 0 ? count - 2 : 0;
}

static inline uint64_t lethe_quotient_sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* The bytes of remainders, marks and carries, one after the other, as they lie in memory and in
 * files. */
uint64_t lethe_quotient_table_bytes(uint64_t slots, uint32_t remainder_bits);

/* Whether a filter of these sizes can be made. */
bool lethe_quotient_is_valid_size(uint64_t slots, uint32_t remainder_bits);

/* Points a table of this shape to where its bytes lie. */
void lethe_quotient_place_table(const lethe_quotient_shape *shape, unsigned char *bytes,
                                struct lethe_quotient_table *out);

/* Takes a caller's options into *taken and computes their shape. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_quotient_plan_options(const lethe_quotient_options *options,
                                                          lethe_quotient_options *taken,
                                                          lethe_quotient_shape *shape);

/* How often a fingerprint that is in range was added. */
uint64_t lethe_quotient_count_of(const lethe_quotient *filter, uint64_t fingerprint);

/* Adds a fingerprint that is in range `count` times, 1 or more. Errors: LETHE_EFULL, LETHE_ENOMEM;
 * then nothing has changed. */
LETHE_MUST_CHECK lethe_status lethe_quotient_add_some(lethe_quotient *filter, uint64_t fingerprint,
                                                      uint64_t count);

/* Makes an empty filter of a shape that is known to be valid; with_table false leaves its table to
 * the caller. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_quotient_from_shape(const lethe_quotient_shape *shape,
                                                        const lethe_allocator *allocator,
                                                        bool with_table, lethe_quotient **out);

/* Sets slots, remainder_bits and what follows from them; they are a valid size. */
void lethe_quotient_set_size(lethe_quotient_shape *shape, uint64_t slots, uint32_t remainder_bits);

/* The shape with twice or half the slots. */
lethe_quotient_shape lethe_quotient_doubled(const lethe_quotient_shape *shape);
lethe_quotient_shape lethe_quotient_halved(const lethe_quotient_shape *shape);

/* Makes a filter of this shape that holds what all of `filters` hold; they agree in seed and
 * max_fingerprint. Errors: LETHE_EFULL, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_quotient_rebuild(const lethe_quotient *const *filters,
                                                     size_t count,
                                                     const lethe_quotient_shape *shape,
                                                     const lethe_allocator *allocator,
                                                     lethe_quotient **out);

/* Checks what was loaded from a stranger: that table and counts are just as this library would have
 * made them, and that the sums in the filter are right. Cost: O(slots). */
bool lethe_quotient_is_sound(const lethe_quotient *filter);

#endif
