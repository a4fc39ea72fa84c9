/* lethe/gaussian.h - the Gaussian Bloom filter: a Bloom filter whose empty slots say more.
 *
 * A classical filter of m bits becomes m small numbers between 0 and 1. Hash function i writes
 * not a bit but a bell around its slot: 1 in the middle, as wide as i says. A slot holds the largest
 * of what was written to it. A key is present if its own bells lie nowhere above the slots: so the
 * neighbours of a full slot tell by which hash function it was filled, and a key whose slots were all
 * filled, but by others, is often recognised as absent.
 *
 * The full slots are, bit for bit, the classical filter of the same m, k and seed: a lethe_bloom can
 * be extracted at any time and handed to a peer that knows nothing of this, and a lethe_bloom
 * can be promoted to a Gaussian filter that goes on from it.
 *
 * Guarantee  No false negative, ever. Never a false positive that the underlying Bloom filter does
 *            not have as well; so its error is at most that of lethe_bloom with the same m and k,
 *            and lower by up to k^k/k! while the filter is far from full.
 * Memory     slots * slot_bits / 8 bytes; see lethe_gaussian_plan.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    In equal MEMORY a plain Bloom filter is far better: four times the bits do more than
 *            four bits in a slot. This filter is for when m and k are given by a protocol, a file or a
 *            peer, and memory beside them is to spare.
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
    LETHE_GAUSSIAN_SPACING_EVEN = 0, /* evenly from a bare slot to a width that slot_bits bears */
    LETHE_GAUSSIAN_SPACING_PUBLISHED = 1 /* as in the paper: hash function i deviates by i slots */
} lethe_gaussian_spacing;

/* How the bells are computed, once, when a filter is made; the filter keeps and saves them. */
typedef enum lethe_gaussian_exponential {
    LETHE_GAUSSIAN_EXPONENTIAL_EXACT = 0,      /* exp() */
    LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH = 1 /* a multiplication and an addition; up to 4% off */
} lethe_gaussian_exponential;

/* The limits of the options below. */
#define LETHE_GAUSSIAN_MAX_SLOTS (UINT64_C(1) << 40)
#define LETHE_GAUSSIAN_MAX_HASHES 64
#define LETHE_GAUSSIAN_MAX_SLOT_BITS 8
#define LETHE_GAUSSIAN_FLOAT_BITS 32
#define LETHE_GAUSSIAN_DOUBLE_BITS 64

/* Zero in a field selects its default; NULL means all defaults. The size comes either from
 * capacity and error, or from slots and hashes; naming both is LETHE_EINVAL. */
typedef struct lethe_gaussian_options {
    uint64_t capacity; /* keys; 0 -> 65536; memory is linear in it */
    double error;    /* false-positive rate at capacity, of the underlying Bloom filter; 0 -> 0.01;
                          [1e-15, 0.5] */
    uint64_t slots;  /* m; 0 -> from capacity; the widest bell..2^40 */
    uint32_t hashes; /* k, with slots; 0 -> 7; 1..64 */
    uint32_t slot_bits; /* 0 -> 4; 1..8, or 32 (float) or 64 (double); 1 is a classical filter */
    lethe_gaussian_spacing spacing;
    double deviation_cap; /* no bell wider than this, in slots; 0 -> no cap; (0, 64] */
    lethe_gaussian_exponential exponential;
    uint64_t seed; /* keys the hash; 0 -> LETHE_DEFAULT_SEED; saved with the filter */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the filter */
} lethe_gaussian_options;

/* The shape that options lead to. */
typedef struct lethe_gaussian_shape {
    uint64_t slots;     /* m */
    uint32_t hashes;    /* k */
    uint32_t slot_bits; /* 1..8, 32 or 64 */
    lethe_gaussian_spacing spacing;
    lethe_gaussian_exponential exponential;
    double deviation_cap; /* 0: none */
    uint32_t radius;      /* how many slots the widest bell reaches to either side */
    uint64_t capacity;    /* keys it was planned for; 0 when planned from slots */
    double error;         /* at most this at capacity; 0 when planned from slots */
    uint64_t seed;
    uint64_t memory_bytes; /* of the slots */
} lethe_gaussian_shape;

typedef struct lethe_gaussian_stats {
    lethe_gaussian_shape shape;
    uint64_t additions;       /* calls to add, repeated keys counted each time */
    uint64_t slots_full;      /* the bits set in the underlying Bloom filter */
    double fill;              /* slots_full / slots */
    double error_estimate;    /* probability that a fresh key is reported present, now */
    double bloom_error;       /* the same of the underlying Bloom filter */
    double distinct_estimate; /* estimated number of different keys; infinite when all are full */
} lethe_gaussian_stats;

/* Computes the shape without allocating anything. Cost: O(hashes * radius).
 * Errors: LETHE_EINVAL (also when slots is smaller than the widest bell). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_plan(const lethe_gaussian_options *options,
                                                            lethe_gaussian_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_gaussian_free). On error *out is NULL.
 * Cost: O(slots), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_new(const lethe_gaussian_options *options,
                                                           lethe_gaussian **out);

/* Creates an independent copy with the same allocator. Cost: O(slots). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_copy(const lethe_gaussian *filter,
                                                            lethe_gaussian **out);

/* Creates an empty filter with so many slots and the very bells, hash functions, seed and allocator of pattern, which
 * may be as small as a bell: what another machine needs to make the same filter, where lethe_gaussian_new would
 * go by its own exp(). capacity and error are what its shape will tell. *out is NULL on error.
 * Cost: as lethe_gaussian_new. Errors: LETHE_EINVAL (fewer slots than the widest bell has, or more than 2^40;
 * error not within [0, 1]), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_new_like(const lethe_gaussian *pattern,
                                                                uint64_t slots, uint64_t capacity,
                                                                double error, lethe_gaussian **out);

/* Takes NULL. */
LETHE_API void lethe_gaussian_free(lethe_gaussian *filter);

/* Forgets all keys; shape, bells and seed stay. Cost: O(slots). */
LETHE_API void lethe_gaussian_clear(lethe_gaussian *filter);

/* The shape the filter was made with. Cost: O(1). */
LETHE_API lethe_gaussian_shape lethe_gaussian_get_shape(const lethe_gaussian *filter);

/* Counts full slots, and at each tries every bell: error_estimate is exact for the slots as they are.
 * Cost: O(slots * hashes * radius). */
LETHE_API lethe_gaussian_stats lethe_gaussian_info(const lethe_gaussian *filter);

/* The same from a sample: full slots are counted in no more than about most_slots, spread evenly, and bells are tried at
 * most_slots / 8k of them. All but shape and additions are then estimates, and an error_estimate of 0 may mean that it is
 * too small to be met. Cost: O(most_slots), at most that of info. */
LETHE_API lethe_gaussian_stats lethe_gaussian_estimate(const lethe_gaussian *filter,
                                                       uint64_t most_slots);

/* One key. Cost: one hash and, uncached, k cache misses (a test of an absent key stops at the first
 * contradiction, and begins with the widest bell, which is contradicted soonest). */
LETHE_API void lethe_gaussian_add(lethe_gaussian *filter, const void *key, size_t size);
LETHE_API bool lethe_gaussian_test(const lethe_gaussian *filter, const void *key, size_t size);
/* Adds and tells whether the key seemed to be there before. */
LETHE_API bool lethe_gaussian_add_and_test(lethe_gaussian *filter, const void *key, size_t size);

/* The same for a key that is hashed already, with the filter's own seed. */
LETHE_API void lethe_gaussian_add_hash(lethe_gaussian *filter, lethe_hash hash);
LETHE_API bool lethe_gaussian_test_hash(const lethe_gaussian *filter, lethe_hash hash);
LETHE_API bool lethe_gaussian_add_and_test_hash(lethe_gaussian *filter, lethe_hash hash);

/* Batches: the same answers as count single calls in order, with the cache misses overlapped.
 * present[i] becomes 1 or 0. Best from about 64 keys up; the length has no upper bound.
 * Cost: see lethe-bench(1). */
LETHE_API void lethe_gaussian_add_batch(lethe_gaussian *filter, const lethe_hash *hashes,
                                        size_t count);
LETHE_API void lethe_gaussian_test_batch(const lethe_gaussian *filter, const lethe_hash *hashes,
                                         size_t count, uint8_t *present);
LETHE_API void lethe_gaussian_add_and_test_batch(lethe_gaussian *filter, const lethe_hash *hashes,
                                                 size_t count, uint8_t *present);

/* Adds every key of other to filter: slot for slot what adding them one by one gives.
 * Cost: O(slots). Errors: LETHE_EMISMATCH (slots, hashes, slot_bits, seed or a bell differ; nothing
 * changed). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_union(lethe_gaussian *filter,
                                                             const lethe_gaussian *other);

/* Makes the underlying Bloom filter, bit for bit what lethe_bloom with the same bits, hashes and seed
 * would be after the same additions; capacity and error are handed on. The caller owns *out.
 * Cost: O(slots). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_extract(const lethe_gaussian *filter,
                                                               lethe_bloom **out);

/* Makes a Gaussian filter out of a classical Bloom filter: the neighbours of a set bit are raised to
 * the highest of all bells, since any may have been there. It answers as the Bloom filter does,
 * or better; only keys added later gain. The size in options must be zero; slot_bits, spacing,
 * deviation_cap, exponential and allocator are taken from it, NULL means their defaults.
 * Cost: O(slots). Errors: LETHE_EINVAL (options; a blocked filter; fewer bits than the widest bell
 * has slots, or more than 2^40), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_promote(
    const lethe_bloom *bloom, const lethe_gaussian_options *options, lethe_gaussian **out);

/* What a slot holds, 0 to 1; slot < slots. In packed slots, the number of steps over the most there
 * are. Cost: O(1). */
LETHE_API double lethe_gaussian_slot(const lethe_gaussian *filter, uint64_t slot);
/* What hash function number hash, from 1 to hashes, writes at a distance from its own slot. Cost: O(1). */
LETHE_API double lethe_gaussian_bell(const lethe_gaussian *filter, uint32_t hash,
                                     uint64_t distance);

/* Writes the filter with its bells. Cost: O(slots). Errors: the sink's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_save(const lethe_gaussian *filter,
                                                            lethe_sink sink);
/* Reads a filter that save wrote; allocator NULL is the default. On error *out is NULL.
 * Cost: O(slots). Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION, LETHE_ENOMEM, the source's. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_load(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_gaussian **out);

/* The same to and from a file; a file that exists is replaced whole or not at all.
 * Errors: as above, and LETHE_EIO, LETHE_ENOSPACE, LETHE_ENOTFOUND, LETHE_EINVAL (the path is a folder, a
 * device or a pipe); errno tells more. An error of save_file leaves the old file, unless only the sync of the
 * folder failed: then the new one is there, and a power cut may bring the old one back. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_save_file(const lethe_gaussian *filter,
                                                                 const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_gaussian_load_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_gaussian **out);

#ifdef __cplusplus
}
#endif

#endif
