/* lethe/bloom.h - Bloom filters: an approximate set that only grows.
 *
 * Two layouts behind one type. The classical filter sets k bits anywhere in m, as the papers
 * have it: any m, any k, the fewest bits for an error. The blocked filter keeps all the bits
 * of a key in one 64-byte cache line: one memory access an operation and SIMD, three to
 * four times the speed, for a few per cent more bits.
 *
 * Guarantee  No false negative, ever. A key that was not added is reported present with
 *            a probability of at most the error asked for, until capacity keys were added;
 *            lethe_bloom_info tells the probability as it is now.
 * Memory     About 1.44 log2(1/error) bits a key classical; see lethe_bloom_plan.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    Nothing can be removed (see lethe/quotient.h for that). Adding beyond capacity
 *            is allowed and raises the error. */
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

/* Zero in a field selects its default; NULL means all defaults. The size comes either from
 * capacity and error, or from bits and hashes; naming both is LETHE_EINVAL. */
typedef struct lethe_bloom_options {
    lethe_bloom_layout layout;
    uint64_t capacity; /* keys; 0 -> 65536; 1..2^40; memory is linear in it */
    double error;      /* false-positive rate at capacity; 0 -> 0.01; [1e-15, 0.5] */
    uint64_t bits;   /* m; 0 -> from capacity; 1..2^47; blocked: rounded up to whole lines of 512 */
    uint32_t hashes; /* k, with bits; 0 -> 7, blocked 8; 1..64; blocked: 8, 16, 24 or 32 */
    uint64_t seed;   /* keys the hash; 0 -> LETHE_DEFAULT_SEED; saved with the filter */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the filter */
} lethe_bloom_options;

/* The shape that options lead to. */
typedef struct lethe_bloom_shape {
    lethe_bloom_layout layout;
    uint64_t bits;     /* m */
    uint32_t hashes;   /* k */
    uint64_t capacity; /* keys it was planned for; 0 when planned from bits */
    double error;      /* expected at capacity; 0 when planned from bits */
    uint64_t seed;
    uint64_t memory_bytes; /* of the bit array */
} lethe_bloom_shape;

typedef struct lethe_bloom_stats {
    lethe_bloom_shape shape;
    uint64_t additions; /* calls to add, repeated keys counted each time */
    uint64_t bits_set;
    double fill;           /* bits_set / bits */
    double error_estimate; /* probability that a fresh key is reported present, now */
    double
        distinct_estimate; /* estimated number of different keys; infinite when all bits are set */
} lethe_bloom_stats;

/* Computes the shape without allocating anything. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_plan(const lethe_bloom_options *options,
                                                         lethe_bloom_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_bloom_free). On error *out is NULL.
 * Cost: O(bits), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_new(const lethe_bloom_options *options,
                                                        lethe_bloom **out);

/* Creates an independent copy with the same allocator. Cost: O(bits). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_copy(const lethe_bloom *filter,
                                                         lethe_bloom **out);

/* Takes NULL. */
LETHE_API void lethe_bloom_free(lethe_bloom *filter);

/* Forgets all keys; shape and seed stay. Cost: O(bits). */
LETHE_API void lethe_bloom_clear(lethe_bloom *filter);

/* The shape the filter was made with. Cost: O(1). */
LETHE_API lethe_bloom_shape lethe_bloom_get_shape(const lethe_bloom *filter);

/* Counts bits and estimates from them. Cost: O(bits). */
LETHE_API lethe_bloom_stats lethe_bloom_info(const lethe_bloom *filter);

/* One key. Cost: one hash and, uncached, k cache misses classical (a test of an absent key
 * stops at the first clear bit, two on average at capacity), one blocked. */
LETHE_API void lethe_bloom_add(lethe_bloom *filter, const void *key, size_t size);
LETHE_API bool lethe_bloom_test(const lethe_bloom *filter, const void *key, size_t size);
/* Adds and tells whether the key seemed to be there before. */
LETHE_API bool lethe_bloom_add_and_test(lethe_bloom *filter, const void *key, size_t size);

/* The same for a key that is hashed already, with the filter's own seed. */
LETHE_API void lethe_bloom_add_hash(lethe_bloom *filter, lethe_hash hash);
LETHE_API bool lethe_bloom_test_hash(const lethe_bloom *filter, lethe_hash hash);
LETHE_API bool lethe_bloom_add_and_test_hash(lethe_bloom *filter, lethe_hash hash);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * present[i] becomes 1 or 0. Best from about 64 keys up; the length has no upper bound.
 * Cost: see lethe-bench(1). */
LETHE_API void lethe_bloom_add_batch(lethe_bloom *filter, const lethe_hash *hashes, size_t count);
LETHE_API void lethe_bloom_test_batch(const lethe_bloom *filter, const lethe_hash *hashes,
                                      size_t count, uint8_t *present);
LETHE_API void lethe_bloom_add_and_test_batch(lethe_bloom *filter, const lethe_hash *hashes,
                                              size_t count, uint8_t *present);

/* Adds every key of other to filter: bit for bit what adding them one by one gives.
 * Cost: O(bits). Errors: LETHE_EMISMATCH (layout, bits, hashes or seed differ; nothing changed). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_union(lethe_bloom *filter,
                                                          const lethe_bloom *other);

/* Estimates how many keys are in both filters, from the bits alone; 0 or more.
 * Its standard error is about that of the two distinct_estimates together: small
 * overlaps of large sets drown in it. Cost: O(bits). Errors: LETHE_EMISMATCH. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_intersection_estimate(const lethe_bloom *a,
                                                                          const lethe_bloom *b,
                                                                          double *out);

/* Writes the filter. Cost: O(bits). Errors: the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_save(const lethe_bloom *filter,
                                                         lethe_sink sink);
/* Reads a filter that save wrote; allocator NULL is the default. On error *out is NULL.
 * Cost: O(bits). Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_load(lethe_source source,
                                                         const lethe_allocator *allocator,
                                                         lethe_bloom **out);

/* The same to and from a file; a file that exists is replaced whole or not at all.
 * Errors: as above, and LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOTFOUND, LETHE_EINVAL (the path is a folder, a
 * device or a pipe); errno tells more. An error of save_file leaves the old file, unless only the sync of the
 * folder failed: then the new one is there, and a power cut may bring the old one back. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_save_file(const lethe_bloom *filter,
                                                              const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_bloom_load_file(const char *path,
                                                              const lethe_allocator *allocator,
                                                              lethe_bloom **out);

#ifdef __cplusplus
}
#endif

#endif
