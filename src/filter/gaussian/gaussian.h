/* filter/gaussian/gaussian.h - what the files of the Gaussian Bloom filter share.
 *
 * gaussian.c has the public functions on keys; plan.c shapes; bell.c the mathematics of bells and
 * table.c their tables; narrow.c, wide.c, float.c, double.c and *_avx2.c the operations on one kind
 * of slot each, all from the loops of loops.inc.h; whole.c what looks at all slots; format.c saving
 * and loading. */
#ifndef LETHE_FILTER_GAUSSIAN_GAUSSIAN_H
#define LETHE_FILTER_GAUSSIAN_GAUSSIAN_H

#include "filter/gaussian/bell.h"
#include "lethe/gaussian.h"

/* One hash function. Locations are bits in packed slots, otherwise slots; they count from the
 * beginning of memory, with the guard before slot 0. */
struct lethe_gaussian_bell {
    struct lethe_gaussian_piece
        piece;      /* packed: the first slots, and all of them in a narrow bell */
    uint64_t start; /* add to a position's location: to where the bell begins */
    uint64_t power; /* MULTIPLIER^i: from the low hash to the position */
    uint32_t radius;
    uint32_t levels; /* place of its levels in the table, for distances 0 to radius */
    uint32_t parts;  /* place of its pieces, vectors or values, and how many there are */
    uint32_t part_count;
};

/* What an operation needs to know. */
struct lethe_gaussian_field {
    unsigned char *memory; /* guard, slots, guard */
    uint64_t range;        /* m */
    uint32_t hashes;       /* k */
    uint32_t slot_bits;
    const struct lethe_gaussian_bell *bells; /* of hash functions 1..k */
    const void *parts;                       /* as the operations want them: see table.c */
};

/* One kind of slot, for one instruction set. */
struct lethe_gaussian_operations {
    void (*add)(const struct lethe_gaussian_field *field, lethe_hash hash);
    bool (*test)(const struct lethe_gaussian_field *field, lethe_hash hash);
    bool (*add_and_test)(const struct lethe_gaussian_field *field, lethe_hash hash);
    void (*add_batch)(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                      size_t count);
    void (*test_batch)(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                       size_t count, uint8_t *present);
    void (*add_and_test_batch)(const struct lethe_gaussian_field *field, const lethe_hash *hashes,
                               size_t count, uint8_t *present);
    /* One bell, from 0, at one slot. */
    bool (*covers)(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot);
    void (*raise)(const struct lethe_gaussian_field *field, uint32_t bell, uint64_t slot);
};

extern const struct lethe_gaussian_operations lethe_gaussian_narrow_scalar;
extern const struct lethe_gaussian_operations lethe_gaussian_wide_scalar;
extern const struct lethe_gaussian_operations lethe_gaussian_float_scalar;
extern const struct lethe_gaussian_operations lethe_gaussian_double_scalar;
#if defined(__x86_64__)
extern const struct lethe_gaussian_operations lethe_gaussian_narrow_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_nibble_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_pair_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_triple_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_wide_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_float_avx2;
extern const struct lethe_gaussian_operations lethe_gaussian_double_avx2;
#endif

/* A part of a wide bell for AVX2: 32 bytes of slots. */
enum { LETHE_GAUSSIAN_VECTOR_BYTES = 32 };
struct lethe_gaussian_vector {
    unsigned char levels[LETHE_GAUSSIAN_VECTOR_BYTES];
    unsigned char tops[LETHE_GAUSSIAN_VECTOR_BYTES];
};

/* A bell in slots of three bits for AVX2, at one place within a byte: see triple_avx2.c. */
enum { LETHE_GAUSSIAN_LANES = 8 };
struct lethe_gaussian_lanes {
    uint32_t masks[LETHE_GAUSSIAN_LANES];
    uint32_t levels[LETHE_GAUSSIAN_LANES];
};

/* The bells of a filter: levels as they are saved, and what the operations want. */
struct lethe_gaussian_table {
    struct lethe_gaussian_bell *bells;
    double *levels;
    void *parts;
    size_t level_count;
    size_t parts_bytes;
    uint32_t hashes;
    uint32_t slot_bits;
    const struct lethe_gaussian_operations *operations; /* chosen by slots, bells and CPU */
};

struct lethe_gaussian {
    struct lethe_gaussian_field field;
    const struct lethe_gaussian_operations *operations;
    uint64_t additions;
    lethe_gaussian_shape shape;
    struct lethe_gaussian_table table;
    size_t memory_bytes; /* with the guards */
    const lethe_allocator *allocator;
};

/* The guard on either side of the slots: all ones, so that no bell is contradicted where there are
 * no slots. Whole cache lines, enough for the widest bell and a vector beyond it. */
size_t lethe_gaussian_guard_bytes(uint32_t slot_bits, uint32_t radius);

/* The number of 64-bit words of a shape's slots. */
uint64_t lethe_gaussian_words(const lethe_gaussian_shape *shape);

/* Takes a caller's options into *taken and computes their shape. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_gaussian_plan_options(const lethe_gaussian_options *options,
                                                          lethe_gaussian_options *taken,
                                                          lethe_gaussian_shape *shape);

/* Whether slots, hashes and slot_bits are within their limits. */
bool lethe_gaussian_is_valid_size(uint64_t slots, uint32_t hashes, uint32_t slot_bits);

/* Whether deviation_cap is one; false for a NaN. */
bool lethe_gaussian_is_valid_cap(double cap);

/* Allocates a table for these radii, its levels still zero except in the middles; operations are
 * not yet chosen. On error *out is zeroed. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_gaussian_table_init(const uint32_t *radii, uint32_t hashes,
                                                        uint32_t slot_bits,
                                                        const lethe_allocator *allocator,
                                                        struct lethe_gaussian_table *out);

/* Fills the levels from a rule. */
void lethe_gaussian_table_fill(const struct lethe_gaussian_rule *rule,
                               struct lethe_gaussian_table *table);

/* Whether the levels make bells: below the middle, falling, above 0, each within the next one. */
bool lethe_gaussian_table_is_valid(const struct lethe_gaussian_table *table);

/* Chooses the operations and makes the parts that they want out of the levels. Errors:
 * LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_gaussian_table_finish(struct lethe_gaussian_table *table,
                                                          uint32_t radius,
                                                          const lethe_allocator *allocator);
void lethe_gaussian_table_drop(struct lethe_gaussian_table *table,
                               const lethe_allocator *allocator);

/* Makes an empty filter of a valid shape and takes over a finished table, also on error.
 * Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_gaussian_from_table(const lethe_gaussian_shape *shape,
                                                        struct lethe_gaussian_table *table,
                                                        const lethe_allocator *allocator,
                                                        lethe_gaussian **out);

/* The first byte of the slots, after the guard. */
unsigned char *lethe_gaussian_slots(const lethe_gaussian *filter);

#endif
