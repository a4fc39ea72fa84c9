/* lethe/gaussian.h - the Gaussian Bloom filter: a Bloom filter whose empty slots carry information.
 *
 * Where a classical filter has m bits, this filter has m small numbers between 0 and 1. Hash
 * function i writes, instead of a bit, a bell around its slot: 1 in the middle, and the wider the
 * larger i is. A slot holds the largest number that was written to it. A key is reported present if
 * none of its bells rises above the slots. So the neighbours of a full slot show which hash
 * function filled it, and a key whose slots were all filled by other keys is often recognised as
 * absent.
 *
 * The full slots are, bit for bit, the classical filter of the same m, k and seed. A lethe_bloom
 * can be extracted at any time and given to a peer that knows nothing of Gaussian filters, and a
 * lethe_bloom can be promoted to a Gaussian filter that goes on from there.
 *
 * Guarantee  No false negative, ever. Each false positive is one of the underlying Bloom filter as
 *            well. So the error is at most that of lethe_bloom with the same m and k, and it is
 *            lower by a factor of up to k^k/k! while the filter is far from full.
 * Memory     slots * slot_bits / 8 bytes; lethe_gaussian_plan computes it.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    In equal MEMORY a plain Bloom filter is far better: four times the bits help more than
 *            four bits per slot. This filter is for cases where m and k are given by a protocol, a
 *            file or a peer, and there is memory to spare.
 *            Nothing can be removed. Adding beyond capacity is allowed and raises the error. */
#ifndef LETHE_GAUSSIAN_H
#define LETHE_GAUSSIAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/bloom.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_gaussian lethe_gaussian;

/* How wide the bell of each hash function is. */
typedef enum lethe_gaussian_spacing {
    /* Evenly, from a single slot to the greatest width that slot_bits can represent. */
    LETHE_GAUSSIAN_SPACING_EVEN = 0,
    /* As in the paper: hash function i has a standard deviation of i slots. */
    LETHE_GAUSSIAN_SPACING_PUBLISHED = 1
} lethe_gaussian_spacing;

/* How the bells are computed. That happens once, when a filter is made; they are saved with it. */
typedef enum lethe_gaussian_exponential {
    /* exp() */
    LETHE_GAUSSIAN_EXPONENTIAL_EXACT = 0,
    /* One multiplication and one addition; up to 4% off. */
    LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH = 1
} lethe_gaussian_exponential;

/* The limits of the options below. */
#define LETHE_GAUSSIAN_MAX_SLOTS (UINT64_C(1) << 40)
#define LETHE_GAUSSIAN_MAX_HASHES 64
#define LETHE_GAUSSIAN_MAX_SLOT_BITS 8
#define LETHE_GAUSSIAN_FLOAT_BITS 32
#define LETHE_GAUSSIAN_DOUBLE_BITS 64

/* Zero in a field selects its default; NULL options are all defaults. The size comes either from
 * capacity and error or from slots and hashes; giving both is LETHE_EINVAL. */
typedef struct lethe_gaussian_options {
    size_t size;

    /* Keys; 0 -> 65536. Memory is linear in it. */
    uint64_t capacity;
    /* False-positive rate at capacity, of the underlying Bloom filter; 0 -> 0.01; [1e-15, 0.5]. */
    double error;

    /* m; 0 -> from capacity; from the slots of the widest bell to 2^40. */
    uint64_t slots;
    /* k, together with slots; 0 -> 7; 1..64. */
    uint32_t hashes;

    /* 0 -> 4; 1..8, or 32 (float) or 64 (double). 1 is a classical filter. */
    uint32_t slot_bits;
    lethe_gaussian_spacing spacing;
    lethe_gaussian_exponential exponential;
    /* No bell is wider than this, in slots; 0 -> no cap; (0, 64]. */
    double deviation_cap;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. It is saved with the filter. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the filter. */
    const lethe_allocator *allocator;
} lethe_gaussian_options;

/* The shape that options lead to. */
typedef struct lethe_gaussian_shape {
    size_t size;

    /* m */
    uint64_t slots;
    /* k */
    uint32_t hashes;
    /* 1..8, 32 or 64. */
    uint32_t slot_bits;
    lethe_gaussian_spacing spacing;
    lethe_gaussian_exponential exponential;
    /* 0: none. */
    double deviation_cap;
    /* How many slots the widest bell reaches to either side. */
    uint32_t radius;

    /* Keys that the filter was planned for; 0 when it was planned from slots. */
    uint64_t capacity;
    /* The error at capacity is at most this; 0 when it was planned from slots. */
    double error;

    uint64_t seed;
    /* Of the slots. */
    uint64_t memory_bytes;
} lethe_gaussian_shape;

typedef struct lethe_gaussian_stats {
    size_t size;

    /* Keys added; a repeated key counts each time. */
    uint64_t additions;
    /* The bits set in the underlying Bloom filter. */
    uint64_t slots_full;
    /* slots_full / slots */
    double fill;
    /* The probability that a key that was not added is reported present, now. */
    double error_estimate;
    /* The same for the underlying Bloom filter. */
    double bloom_error;
    /* The estimated number of different keys; infinite when all slots are full. */
    double distinct_estimate;
} lethe_gaussian_stats;

/* Computes the shape without allocating anything. On error *out is unchanged.
 * Cost: O(hashes * radius). Errors: LETHE_EINVAL (also when slots is smaller than the widest
 * bell). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_plan(const lethe_gaussian_options *options,
                                                            lethe_gaussian_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_gaussian_free). On error *out is NULL.
 * Cost: O(slots), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_new(const lethe_gaussian_options *options,
                                                           lethe_gaussian **out);

/* Creates an independent copy with the same allocator. On error *out is NULL.
 * Cost: O(slots). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_copy(const lethe_gaussian *filter,
                                                            lethe_gaussian **out);

/* Creates an empty filter with `slots` slots and with the exact bells, hash functions, seed and
 * allocator of pattern, which may have as few slots as its widest bell. Another machine can make
 * the same filter this way, where lethe_gaussian_new would depend on that machine's exp(). capacity
 * and error are what the shape will report. On error *out is NULL. Cost: as lethe_gaussian_new.
 * Errors: LETHE_EINVAL (also for fewer slots than the widest bell has, more than 2^40, or an error
 * outside [0, 1]), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_new_like(const lethe_gaussian *pattern,
                                                                uint64_t slots, uint64_t capacity,
                                                                double error, lethe_gaussian **out);

/* Takes NULL. */
LETHE_API void lethe_gaussian_free(lethe_gaussian *filter);

/* Forgets all keys; shape, bells and seed stay. Takes NULL. Cost: O(slots). */
LETHE_API void lethe_gaussian_clear(lethe_gaussian *filter);

/* The seed to hash keys with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_gaussian_seed(const lethe_gaussian *filter);

/* Reports the shape that the filter was made with. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_gaussian_get_shape(const lethe_gaussian *filter,
                                                lethe_gaussian_shape *out);

/* Counts the full slots and tries every bell at each of them: error_estimate is exact for the slots
 * as they are. Cost: O(slots * hashes * radius). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_gaussian_info(const lethe_gaussian *filter, lethe_gaussian_stats *out);

/* The same from a sample. Full slots are counted among at most about most_slots, spread evenly, and
 * bells are tried at most_slots / 8k of them. Everything except additions is then an estimate. An
 * error_estimate of 0 may mean that the error is too small to be seen in the sample.
 * Cost: O(most_slots), and at most that of info. Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_gaussian_estimate(const lethe_gaussian *filter, uint64_t most_slots,
                                               lethe_gaussian_stats *out);

/* Single keys. add_and_test returns whether the key seemed to be there before. A NULL filter holds
 * nothing: add does nothing, and the tests are false.
 * Cost: one hash and, uncached, k cache misses. A test begins with the widest bell, which is
 * contradicted soonest, and stops at the first contradiction. */
LETHE_API void lethe_gaussian_add(lethe_gaussian *filter, const void *key, size_t size);
LETHE_API bool lethe_gaussian_test(const lethe_gaussian *filter, const void *key, size_t size);
LETHE_API bool lethe_gaussian_add_and_test(lethe_gaussian *filter, const void *key, size_t size);

/* The same for a key that is already hashed, with the filter's seed. */
LETHE_API void lethe_gaussian_add_hash(lethe_gaussian *filter, lethe_hash hash);
LETHE_API bool lethe_gaussian_test_hash(const lethe_gaussian *filter, lethe_hash hash);
LETHE_API bool lethe_gaussian_add_and_test_hash(lethe_gaussian *filter, lethe_hash hash);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * present[i] becomes 1 or 0. Best from about 64 keys up; the length has no upper bound.
 * Cost: see lethe-bench(1). Errors: LETHE_EINVAL; then nothing has changed. */
LETHE_API lethe_status lethe_gaussian_add_batch(lethe_gaussian *filter, const lethe_hash *hashes,
                                                size_t count);
LETHE_API lethe_status lethe_gaussian_test_batch(const lethe_gaussian *filter,
                                                 const lethe_hash *hashes, size_t count,
                                                 uint8_t *present);
LETHE_API lethe_status lethe_gaussian_add_and_test_batch(lethe_gaussian *filter,
                                                         const lethe_hash *hashes, size_t count,
                                                         uint8_t *present);

/* Adds every key of other to filter: the slots are the same as after adding the keys one by one.
 * Cost: O(slots). Errors: LETHE_EINVAL, LETHE_EMISMATCH (slots, hashes, slot_bits, seed or a bell
 * differ); then nothing has changed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_merge(lethe_gaussian *filter,
                                                             const lethe_gaussian *other);

/* Makes the underlying Bloom filter: bit for bit the lethe_bloom with the same bits, hashes and
 * seed after the same additions. It keeps capacity and error. The caller owns *out; on error it is
 * NULL. Cost: O(slots). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_extract(const lethe_gaussian *filter,
                                                               lethe_bloom **out);

/* Makes a Gaussian filter from a classical Bloom filter. The neighbours of a set bit are raised to
 * the highest of all bells, since any of them may have been there. So it answers as the Bloom
 * filter does or better, and only keys that are added later gain. The size in options must be zero;
 * slot_bits, spacing, deviation_cap, exponential and allocator are used. NULL options are all
 * defaults. The caller owns *out; on error it is NULL. Cost: O(slots). Errors: LETHE_EINVAL (also
 * for a blocked filter, fewer bits than the widest bell has slots, or more than 2^40),
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_promote(
    const lethe_bloom *bloom, const lethe_gaussian_options *options, lethe_gaussian **out);

/* What a slot holds, from 0 to 1; in packed slots its number of steps divided by the most there
 * are. 0 for a NULL filter and for slots that it does not have. Cost: O(1). */
LETHE_API double lethe_gaussian_slot(const lethe_gaussian *filter, uint64_t slot);

/* What hash function number hash, from 1 to hashes, writes at a distance from its own slot. 0 for a
 * NULL filter and for hash functions that it does not have. Cost: O(1). */
LETHE_API double lethe_gaussian_bell(const lethe_gaussian *filter, uint32_t hash,
                                     uint64_t distance);

/* Saving and loading, bells included: docs/format/gaussian.md. Cost: O(slots). Ownership, detail
 * and errors: as in lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_save(const lethe_gaussian *filter,
                                                            lethe_sink sink);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_load(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_gaussian **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_save_file(const lethe_gaussian *filter,
                                                                 const char *path,
                                                                 lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_load_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_gaussian **out,
                                                                 lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
