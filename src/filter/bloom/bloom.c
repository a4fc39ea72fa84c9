/* filter/bloom/bloom.c - the public Bloom filter: makes filters, hands operations to their layout.
 *
 * IDEA    Both layouts are an array of bits and two numbers. Everything that works on whole arrays
 *         (merging, counting, estimates, copies) is the same for both and is in this file. What
 *         works on single keys differs. It comes as a table of functions, which is chosen when the
 *         filter is made, by its layout and by what the CPU can do.
 * I1      Shape and seed never change after creation.
 * I2      The bit array is aligned to 64 bytes, as every allocator must provide, so that a line of
 *         the blocked layout is a cache line. */
#include "filter/bloom/bloom.h"

#include <math.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/cpu.h"
#include "core/sized.h"

static const struct lethe_bloom_operations *operations_for(lethe_bloom_layout layout) {
    if (layout == LETHE_BLOOM_CLASSIC) return &lethe_bloom_classic;
    switch (lethe_cpu()) {
#if defined(__x86_64__)
    case LETHE_CPU_AVX512:
        return &lethe_bloom_blocked_avx512;
    case LETHE_CPU_AVX2:
        return &lethe_bloom_blocked_avx2;
#endif
    default:
        return &lethe_bloom_blocked_scalar;
    }
}

lethe_status lethe_bloom_from_shape(const lethe_bloom_shape *shape,
                                    const lethe_allocator *allocator, lethe_bloom **out) {
    *out = NULL;
    size_t bytes;
    if (!lethe_size_multiply(lethe_bloom_words(shape), sizeof(uint64_t), &bytes)) {
        return LETHE_ENOMEM;
    }
    lethe_bloom *filter = lethe_alloc_zeroed(allocator, sizeof *filter);
    if (filter == NULL) return LETHE_ENOMEM;
    bool blocked = shape->layout == LETHE_BLOOM_BLOCKED;
    *filter = (lethe_bloom){
        .bits = {.range = blocked ? shape->bits / LETHE_BLOOM_LINE_BITS : shape->bits,
                 .hashes = shape->hashes},
        .operations = operations_for(shape->layout),
        .shape = *shape,
        .allocator = allocator,
    };
    filter->shape.size = sizeof filter->shape;
    filter->bits.words = lethe_alloc_zeroed(allocator, bytes);
    if (filter->bits.words == NULL) {
        lethe_bloom_free(filter);
        return LETHE_ENOMEM;
    }
    *out = filter;
    return LETHE_OK;
}

lethe_status lethe_bloom_new(const lethe_bloom_options *options, lethe_bloom **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_bloom_options taken;
    lethe_bloom_shape shape;
    lethe_status status = lethe_bloom_plan_options(options, &taken, &shape);
    if (status != LETHE_OK) return status;
    return lethe_bloom_from_shape(&shape, taken.allocator, out);
}

lethe_status lethe_bloom_copy(const lethe_bloom *filter, lethe_bloom **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    lethe_status status = lethe_bloom_from_shape(&filter->shape, filter->allocator, out);
    if (status != LETHE_OK) return status;
    memcpy((*out)->bits.words, filter->bits.words, filter->shape.memory_bytes);
    (*out)->additions = filter->additions;
    return LETHE_OK;
}

void lethe_bloom_free(lethe_bloom *filter) {
    if (filter == NULL) return;
    const lethe_allocator *allocator = filter->allocator;
    lethe_release(allocator, filter->bits.words, filter->shape.memory_bytes);
    lethe_release(allocator, filter, sizeof *filter);
}

void lethe_bloom_clear(lethe_bloom *filter) {
    if (filter == NULL) return;
    memset(filter->bits.words, 0, filter->shape.memory_bytes);
    filter->additions = 0;
}

uint64_t lethe_bloom_seed(const lethe_bloom *filter) {
    return filter != NULL ? filter->shape.seed : 0;
}

lethe_status lethe_bloom_get_shape(const lethe_bloom *filter, lethe_bloom_shape *out) {
    if (filter == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&filter->shape, out, memory_bytes);
}

void lethe_bloom_add_hash(lethe_bloom *filter, lethe_hash hash) {
    if (filter == NULL) return;
    filter->additions++;
    filter->operations->add(&filter->bits, hash);
}

bool lethe_bloom_test_hash(const lethe_bloom *filter, lethe_hash hash) {
    return filter != NULL && filter->operations->test(&filter->bits, hash);
}

bool lethe_bloom_add_and_test_hash(lethe_bloom *filter, lethe_hash hash) {
    if (filter == NULL) return false;
    filter->additions++;
    return filter->operations->add_and_test(&filter->bits, hash);
}

void lethe_bloom_add(lethe_bloom *filter, const void *key, size_t size) {
    lethe_bloom_add_hash(filter, lethe_hash_bytes(lethe_bloom_seed(filter), key, size));
}

bool lethe_bloom_test(const lethe_bloom *filter, const void *key, size_t size) {
    return lethe_bloom_test_hash(filter, lethe_hash_bytes(lethe_bloom_seed(filter), key, size));
}

bool lethe_bloom_add_and_test(lethe_bloom *filter, const void *key, size_t size) {
    return lethe_bloom_add_and_test_hash(filter,
                                         lethe_hash_bytes(lethe_bloom_seed(filter), key, size));
}

lethe_status lethe_bloom_add_batch(lethe_bloom *filter, const lethe_hash *hashes, size_t count) {
    if (filter == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    filter->additions += count;
    filter->operations->add_batch(&filter->bits, hashes, count);
    return LETHE_OK;
}

lethe_status lethe_bloom_test_batch(const lethe_bloom *filter, const lethe_hash *hashes,
                                    size_t count, uint8_t *present) {
    if (filter == NULL || ((hashes == NULL || present == NULL) && count > 0)) return LETHE_EINVAL;
    filter->operations->test_batch(&filter->bits, hashes, count, present);
    return LETHE_OK;
}

lethe_status lethe_bloom_add_and_test_batch(lethe_bloom *filter, const lethe_hash *hashes,
                                            size_t count, uint8_t *present) {
    if (filter == NULL || ((hashes == NULL || present == NULL) && count > 0)) return LETHE_EINVAL;
    filter->additions += count;
    filter->operations->add_and_test_batch(&filter->bits, hashes, count, present);
    return LETHE_OK;
}

static bool is_same_shape(const lethe_bloom *a, const lethe_bloom *b) {
    return a->shape.layout == b->shape.layout && a->shape.bits == b->shape.bits &&
           a->shape.hashes == b->shape.hashes && a->shape.seed == b->shape.seed;
}

lethe_status lethe_bloom_merge(lethe_bloom *filter, const lethe_bloom *other) {
    if (filter == NULL || other == NULL) return LETHE_EINVAL;
    if (!is_same_shape(filter, other)) return LETHE_EMISMATCH;
    uint64_t count = lethe_bloom_words(&filter->shape);
    for (uint64_t i = 0; i < count; i++)
        filter->bits.words[i] |= other->bits.words[i];
    filter->additions += other->additions;
    return LETHE_OK;
}

/* Bits set in a, or in a and b together where b is not NULL. */
static uint64_t count_bits(const lethe_bloom *a, const lethe_bloom *b) {
    return lethe_popcount_words(a->bits.words, b != NULL ? b->bits.words : NULL,
                                lethe_bloom_words(&a->shape));
}

static double estimate_keys(const lethe_bloom_shape *shape, uint64_t bits_set) {
    return lethe_bloom_keys_from_fill(shape, (double)bits_set / (double)shape->bits);
}

lethe_status lethe_bloom_intersection_estimate(const lethe_bloom *a, const lethe_bloom *b,
                                               double *out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = 0;
    if (a == NULL || b == NULL) return LETHE_EINVAL;
    if (!is_same_shape(a, b)) return LETHE_EMISMATCH;
    double in_a = estimate_keys(&a->shape, count_bits(a, NULL));
    double in_b = estimate_keys(&b->shape, count_bits(b, NULL));
    double in_either = estimate_keys(&a->shape, count_bits(a, b));
    double most = fmin(in_a, in_b);
    /* A union whose bits are all set says nothing; then only the smaller set is known. */
    double both = isinf(in_either) ? most : in_a + in_b - in_either;
    *out = both < 0 ? 0 : fmin(both, most);
    return LETHE_OK;
}

/* The exact probability, given the bits as they are, that a fresh key finds all its bits set. It
 * falls on any line with equal probability, and there it needs k/8 bits of each lane. */
static double blocked_error_now(const lethe_bloom *filter) {
    double sum = 0;
    unsigned rounds = filter->shape.hashes / LETHE_BLOOM_LINE_WORDS;
    for (uint64_t line = 0; line < filter->bits.range; line++) {
        const uint64_t *words = filter->bits.words + line * LETHE_BLOOM_LINE_WORDS;
        double lanes = 1;
        for (unsigned i = 0; i < LETHE_BLOOM_LINE_WORDS; i++)
            lanes *= lethe_popcount64(words[i]) / 64.0;
        double error = lanes;
        for (unsigned i = 1; i < rounds; i++)
            error *= lanes;
        sum += error;
    }
    return sum / (double)filter->bits.range;
}

lethe_status lethe_bloom_info(const lethe_bloom *filter, lethe_bloom_stats *out) {
    lethe_bloom_stats stats = LETHE_INIT(lethe_bloom_stats);
    if (filter == NULL) return LETHE_EINVAL;
    lethe_status status = lethe_sized_check(out, LETHE_SIZE_WITH(&stats, distinct_estimate));
    if (status != LETHE_OK) return status;
    stats.additions = filter->additions;
    stats.bits_set = count_bits(filter, NULL);
    stats.fill = (double)stats.bits_set / (double)filter->shape.bits;
    stats.distinct_estimate = estimate_keys(&filter->shape, stats.bits_set);
    stats.error_estimate = filter->shape.layout == LETHE_BLOOM_BLOCKED
                               ? blocked_error_now(filter)
                               : pow(stats.fill, filter->shape.hashes);
    return LETHE_GIVE(&stats, out, distinct_estimate);
}
