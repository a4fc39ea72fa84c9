/* filter/bloom/bloom.h - what the files of the Bloom filter share.
 *
 * bloom.c has the public functions; plan.c the mathematics of sizes; classic.c and
 * blocked*.c one layout each, as tables of operations; format.c saving and loading. */
#ifndef LETHE_FILTER_BLOOM_BLOOM_H
#define LETHE_FILTER_BLOOM_BLOOM_H

#include "lethe/bloom.h"

/* What an operation needs to know, in one cache line. */
struct lethe_bloom_bits {
    uint64_t *words;
    /* Classic: m; blocked: the number of lines. */
    uint64_t range;
    /* k */
    uint32_t hashes;
};

/* One layout, for one instruction set. */
struct lethe_bloom_operations {
    void (*add)(const struct lethe_bloom_bits *bits, lethe_hash hash);
    bool (*test)(const struct lethe_bloom_bits *bits, lethe_hash hash);
    bool (*add_and_test)(const struct lethe_bloom_bits *bits, lethe_hash hash);
    void (*add_batch)(const struct lethe_bloom_bits *bits, const lethe_hash *hashes, size_t count);
    void (*test_batch)(const struct lethe_bloom_bits *bits, const lethe_hash *hashes, size_t count,
                       uint8_t *present);
    void (*add_and_test_batch)(const struct lethe_bloom_bits *bits, const lethe_hash *hashes,
                               size_t count, uint8_t *present);
};

extern const struct lethe_bloom_operations lethe_bloom_classic;
extern const struct lethe_bloom_operations lethe_bloom_blocked_scalar;
#if defined(__x86_64__)
extern const struct lethe_bloom_operations lethe_bloom_blocked_avx2;
extern const struct lethe_bloom_operations lethe_bloom_blocked_avx512;
#endif

struct lethe_bloom {
    struct lethe_bloom_bits bits;
    const struct lethe_bloom_operations *operations;
    uint64_t additions;
    lethe_bloom_shape shape;
    const lethe_allocator *allocator;
};

enum { LETHE_BLOOM_LINE_BITS = 512, LETHE_BLOOM_LINE_WORDS = 8 };

/* The number of 64-bit words of a shape's bit array. */
uint64_t lethe_bloom_words(const lethe_bloom_shape *shape);

/* Takes a caller's options into *taken and computes their shape. Errors: LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_bloom_plan_options(const lethe_bloom_options *options,
                                                       lethe_bloom_options *taken,
                                                       lethe_bloom_shape *shape);

/* Makes an empty filter of a shape that is known to be valid. Errors: LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_bloom_from_shape(const lethe_bloom_shape *shape,
                                                     const lethe_allocator *allocator,
                                                     lethe_bloom **out);

/* Whether bits, hashes and layout make a filter that this library could have made. */
bool lethe_bloom_is_valid_size(lethe_bloom_layout layout, uint64_t bits, uint32_t hashes);

/* The expected false-positive rate of a filter of these sizes after adding keys. */
double lethe_bloom_expected_error(lethe_bloom_layout layout, uint64_t bits, uint32_t hashes,
                                  uint64_t keys);

/* How many different keys set this share of the bits, on average. */
double lethe_bloom_keys_from_fill(const lethe_bloom_shape *shape, double fill);

#endif
