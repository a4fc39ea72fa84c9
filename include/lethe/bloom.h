/* lethe/bloom.h - Bloom filters: an approximate set that only grows.
 *
 * One type with two layouts. The classical filter sets k bits anywhere in m, as the papers have it:
 * any m, any k, and the fewest bits for a given error. The blocked filter keeps all the bits of a
 * key in one 64-byte cache line. It needs one memory access per operation and uses SIMD, so it is
 * several times as fast. It takes 5% more bits at an error of 1%, and 36% more at 1e-6.
 *
 * Guarantee  No false negative, ever. A key that was not added is reported present with a
 *            probability of at most the error asked for, until capacity keys were added.
 *            lethe_bloom_info reports the probability as it is now.
 * Memory     Classical: about 1.44 log2(1/error) bits per key. lethe_bloom_plan computes it.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    Nothing can be removed (lethe/quotient.h can). Adding beyond capacity is allowed and
 *            raises the error. */
#ifndef LETHE_BLOOM_H
#define LETHE_BLOOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_bloom lethe_bloom;

typedef enum lethe_bloom_layout {
    LETHE_BLOOM_CLASSIC = 0,
    LETHE_BLOOM_BLOCKED = 1
} lethe_bloom_layout;

/* The limits of the options below. */
#define LETHE_BLOOM_MAX_CAPACITY (UINT64_C(1) << 40)
#define LETHE_BLOOM_MAX_BITS (UINT64_C(1) << 47)
#define LETHE_BLOOM_MAX_HASHES 64
#define LETHE_BLOOM_MIN_ERROR 1e-15
#define LETHE_BLOOM_MAX_ERROR 0.5

/* Zero in a field selects its default; NULL options are all defaults. The size comes either from
 * capacity and error or from bits and hashes; giving both is LETHE_EINVAL. */
typedef struct lethe_bloom_options {
    size_t size;

    lethe_bloom_layout layout;

    /* Keys; 0 -> 65536; 1..2^40. Memory is linear in it. */
    uint64_t capacity;
    /* False-positive rate at capacity; 0 -> 0.01; [1e-15, 0.5]. */
    double error;

    /* m; 0 -> from capacity; 1..2^47. Blocked: rounded up to whole lines of 512. */
    uint64_t bits;
    /* k, together with bits; 0 -> 7, blocked 8; 1..64. Blocked: 8, 16, 24 or 32. */
    uint32_t hashes;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. It is saved with the filter. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the filter. */
    const lethe_allocator *allocator;
} lethe_bloom_options;

/* The shape that options lead to. */
typedef struct lethe_bloom_shape {
    size_t size;

    lethe_bloom_layout layout;
    /* k */
    uint32_t hashes;
    /* m */
    uint64_t bits;

    /* Keys that the filter was planned for; 0 when it was planned from bits. */
    uint64_t capacity;
    /* The error expected at capacity; 0 when it was planned from bits. */
    double error;

    uint64_t seed;
    /* Of the bit array. */
    uint64_t memory_bytes;
} lethe_bloom_shape;

typedef struct lethe_bloom_stats {
    size_t size;

    /* Keys added; a repeated key counts each time. */
    uint64_t additions;
    uint64_t bits_set;
    /* bits_set / bits */
    double fill;
    /* The probability that a key that was not added is reported present, now. */
    double error_estimate;
    /* The estimated number of different keys; infinite when all bits are set. */
    double distinct_estimate;
} lethe_bloom_stats;

/* Computes the shape without allocating anything. On error *out is unchanged.
 * Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_plan(const lethe_bloom_options *options,
                                                         lethe_bloom_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_bloom_free). On error *out is NULL.
 * Cost: O(bits), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_new(const lethe_bloom_options *options,
                                                        lethe_bloom **out);

/* Creates an independent copy with the same allocator. On error *out is NULL.
 * Cost: O(bits). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_copy(const lethe_bloom *filter,
                                                         lethe_bloom **out);

/* Takes NULL. */
LETHE_API void lethe_bloom_free(lethe_bloom *filter);

/* Forgets all keys; shape and seed stay. Takes NULL. Cost: O(bits). */
LETHE_API void lethe_bloom_clear(lethe_bloom *filter);

/* The seed to hash keys with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_bloom_seed(const lethe_bloom *filter);

/* Reports the shape that the filter was made with. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_bloom_get_shape(const lethe_bloom *filter, lethe_bloom_shape *out);

/* Counts bits and estimates from them. Cost: O(bits). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_bloom_info(const lethe_bloom *filter, lethe_bloom_stats *out);

/* Single keys. add_and_test returns whether the key seemed to be there before. A NULL filter holds
 * nothing: add does nothing, and the tests are false.
 * Cost: one hash and, uncached, k cache misses (classical) or one (blocked). A classical test of a
 * key that is absent stops at the first clear bit, after two on average at capacity. */
LETHE_API void lethe_bloom_add(lethe_bloom *filter, const void *key, size_t size);
LETHE_API bool lethe_bloom_test(const lethe_bloom *filter, const void *key, size_t size);
LETHE_API bool lethe_bloom_add_and_test(lethe_bloom *filter, const void *key, size_t size);

/* The same for a key that is already hashed, with the filter's seed. */
LETHE_API void lethe_bloom_add_hash(lethe_bloom *filter, lethe_hash hash);
LETHE_API bool lethe_bloom_test_hash(const lethe_bloom *filter, lethe_hash hash);
LETHE_API bool lethe_bloom_add_and_test_hash(lethe_bloom *filter, lethe_hash hash);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * present[i] becomes 1 or 0. Best from about 64 keys up; the length has no upper bound.
 * Cost: see lethe-bench(1). Errors: LETHE_EINVAL; then nothing has changed. */
LETHE_API lethe_status lethe_bloom_add_batch(lethe_bloom *filter, const lethe_hash *hashes,
                                             size_t count);
LETHE_API lethe_status lethe_bloom_test_batch(const lethe_bloom *filter, const lethe_hash *hashes,
                                              size_t count, uint8_t *present);
LETHE_API lethe_status lethe_bloom_add_and_test_batch(lethe_bloom *filter, const lethe_hash *hashes,
                                                      size_t count, uint8_t *present);

/* Adds every key of other to filter: the bits are the same as after adding the keys one by one.
 * Cost: O(bits). Errors: LETHE_EINVAL, LETHE_EMISMATCH (layout, bits, hashes or seed differ); then
 * nothing has changed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_merge(lethe_bloom *filter,
                                                          const lethe_bloom *other);

/* Estimates how many keys are in both filters, from the bits alone; 0 or more. Its standard error
 * is about that of the two distinct_estimates together, so the small overlap of two large sets is
 * lost in it. On error *out is 0. Cost: O(bits). Errors: LETHE_EINVAL, LETHE_EMISMATCH. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_intersection_estimate(const lethe_bloom *a,
                                                                          const lethe_bloom *b,
                                                                          double *out);

/* Writes the filter: docs/format/bloom.md.
 * Cost: O(bits). Errors: LETHE_EINVAL, LETHE_ENOMEM, the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_save(const lethe_bloom *filter,
                                                         lethe_sink sink);

/* Reads a filter that save wrote. The caller owns *out; on error it is NULL. A NULL allocator is
 * the default one. Cost: O(bits). Errors: LETHE_EINVAL, LETHE_ECORRUPT, LETHE_ETYPE,
 * LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_load(lethe_source source,
                                                         const lethe_allocator *allocator,
                                                         lethe_bloom **out);

/* The same to and from a file. A file that exists is replaced as a whole or not at all. detail,
 * which may be NULL, names the file and what is wrong. Errors: as above, and LETHE_EIO,
 * LETHE_ENOSPACE, LETHE_ENOTFOUND, LETHE_EINVAL (also where the path is a folder, a device or a
 * pipe). An error of save_file leaves the old file, unless only the sync of the folder failed: then
 * the new file is there, and a power cut may bring the old one back. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_save_file(const lethe_bloom *filter,
                                                              const char *path,
                                                              lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_load_file(const char *path,
                                                              const lethe_allocator *allocator,
                                                              lethe_bloom **out,
                                                              lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
