/* lethe/quotient.h - quotient filters: an approximate multiset that can count, remove, merge and grow.
 *
 * A filter keeps a fingerprint of each key, a number from 0 to max_fingerprint, and how often it was added.
 * Fingerprints lie in ascending order, which is what a Bloom filter lacks: filters can be read through,
 * merged, doubled and halved in one pass over memory, without the keys.
 *
 * Guarantee  No false negative, provided that only keys which were added are removed. A key that was not added
 *            is reported present with a probability of `distinct` / (max_fingerprint + 1): at most the
 *            error asked for until `capacity` (or `grow_to`) different keys were added. Counts of
 *            fingerprints are exact, so the count of a key is never too low, and too high only
 *            where another key has the same fingerprint.
 * Memory     r + 2.125 bits a slot, r = log2((max_fingerprint + 1) / slots); at the planned load of 90%, a key takes
 *            1.11 (log2(1/error) + 2) bits. A fingerprint that was added once takes one slot, one that was
 *            added more often two, and from three on 16 to 43 bytes in a side table: see info.
 * Full       At 95% of its slots a filter doubles them, up to `grow_to`; then adding is LETHE_EFULL, and nothing
 *            is changed or lost. Fingerprints that crowd into one place by design (chosen by
 *            somebody who knows the seed) can bring LETHE_EFULL about earlier.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    Removing a key that was never added is LETHE_ENOTFOUND, but with the probability above it removes
 *            another key's fingerprint instead, and nobody can tell. */
#ifndef LETHE_QUOTIENT_H
#define LETHE_QUOTIENT_H

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

typedef struct lethe_quotient lethe_quotient;

/* The limits of the options below. */
#define LETHE_QUOTIENT_MAX_CAPACITY (UINT64_C(1) << 40)
#define LETHE_QUOTIENT_MAX_SLOTS (UINT64_C(1) << 41)
#define LETHE_QUOTIENT_MAX_REMAINDER_BITS 57
#define LETHE_QUOTIENT_MIN_ERROR 1e-15
#define LETHE_QUOTIENT_MAX_ERROR 0.5

/* Zero in a field selects its default; NULL means all defaults. The size comes either from capacity and
 * error, or from slots and remainder_bits; naming both is LETHE_EINVAL. */
typedef struct lethe_quotient_options {
    uint64_t
        capacity; /* different keys, where one that is added twice or more counts as two; 0 -> 65536;
                        * 1..2^40; memory is linear in it */
    double error; /* false-positive rate at capacity, or at grow_to; 0 -> 0.01; [1e-15, 0.5] */
    uint64_t
        slots; /* 0 -> from capacity; 1..2^41, rounded up to a multiple of 64. 2^q slots and r = f - q
                     * make fingerprints of just f bits */
    uint32_t remainder_bits; /* r, with slots; 0 -> 8; 1..57, and slots * 2^r <= 2^64 */
    uint64_t
        grow_to;   /* keys until which it doubles by itself; 0 -> never; capacity..2^40. With slots:
                              * while r allows. A bit of r goes with each doubling */
    uint64_t seed; /* keys the hash; 0 -> LETHE_DEFAULT_SEED; saved with the filter */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the filter */
} lethe_quotient_options;

/* The shape that options lead to. Doubling and halving change slots, remainder_bits and memory_bytes. */
typedef struct lethe_quotient_shape {
    uint64_t slots; /* a multiple of 64 */
    uint32_t remainder_bits;
    uint64_t max_fingerprint; /* slots * 2^remainder_bits - 1: never changes */
    uint64_t capacity;        /* keys it was planned for; 0 when planned from slots */
    uint64_t grow_to;         /* 0: does not grow by itself */
    double error;             /* expected at capacity or grow_to; 0 when planned from slots */
    uint64_t seed;
    uint64_t
        memory_bytes; /* of the slots and all that describes them, without the side table of counts */
} lethe_quotient_shape;

typedef struct lethe_quotient_stats {
    lethe_quotient_shape shape;
    uint64_t distinct; /* different fingerprints */
    uint64_t total;    /* the sum of their counts; stays at 2^64 - 1 once it got there */
    uint64_t slots_used;
    double load;           /* slots_used / slots */
    double error_estimate; /* probability that a fresh key is reported present, now */
    uint64_t counted; /* fingerprints with a count of 3 or more: the entries of the side table */
    uint64_t memory_bytes;    /* of everything */
    uint64_t missed_removals; /* how often a removal found nothing, since it was made or loaded */
    uint32_t doublings;       /* since it was made or loaded */
    bool read_only;           /* mapped */
} lethe_quotient_stats;

/* A fingerprint and how often it was added. */
typedef struct lethe_quotient_entry {
    uint64_t fingerprint;
    uint64_t count; /* 1.. */
} lethe_quotient_entry;

/* Computes the shape without allocating anything. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_plan(const lethe_quotient_options *options,
                                                            lethe_quotient_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_quotient_free). On error *out is NULL.
 * Cost: O(slots), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_new(const lethe_quotient_options *options,
                                                           lethe_quotient **out);

/* Creates an independent copy with the same allocator, writable also when filter is mapped.
 * Cost: O(slots). Errors: LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_copy(const lethe_quotient *filter,
                                                            lethe_quotient **out);

/* Takes NULL. Unmaps a filter that is mapped. */
LETHE_API void lethe_quotient_free(lethe_quotient *filter);

/* Forgets all keys; the shape stays as it is now. Cost: O(slots). Errors: LETHE_EINVAL (read-only). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_clear(lethe_quotient *filter);

/* The shape as it is now. Cost: O(1). */
LETHE_API lethe_quotient_shape lethe_quotient_get_shape(const lethe_quotient *filter);
/* Cost: O(1). */
LETHE_API lethe_quotient_stats lethe_quotient_info(const lethe_quotient *filter);

/* The fingerprint of a key that was hashed with the filter's seed. It keeps the order of hash.high, and filters with
 * the same max_fingerprint agree on it. Cost: a multiplication. */
LETHE_API uint64_t lethe_quotient_fingerprint(const lethe_quotient *filter, lethe_hash hash);

/* One key. add counts it `count` times (1 or more); remove takes `count` of them away, all or nothing; count
 * tells how often it is there. Each comes for a key, for its hash, and for a raw fingerprint.
 * Cost: a hash and, uncached, two cache misses; beside that the block of 64 slots moves by one,
 * and at high loads some of its neighbours; now and then the filter doubles or the side table grows.
 * Errors of add: LETHE_EFULL; LETHE_ENOMEM; LETHE_EINVAL (count 0, read-only, fingerprint above
 * max_fingerprint); LETHE_EFULL also where a count would pass 2^64 - 1. Of remove: LETHE_ENOTFOUND
 * (fewer than count are there), LETHE_EINVAL. After an error nothing has changed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add(lethe_quotient *filter, const void *key,
                                                           size_t size, uint64_t count);
LETHE_API bool lethe_quotient_test(const lethe_quotient *filter, const void *key, size_t size);
LETHE_API uint64_t lethe_quotient_count(const lethe_quotient *filter, const void *key, size_t size);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_remove(lethe_quotient *filter,
                                                              const void *key, size_t size,
                                                              uint64_t count);

LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_hash(lethe_quotient *filter,
                                                                lethe_hash hash, uint64_t count);
LETHE_API bool lethe_quotient_test_hash(const lethe_quotient *filter, lethe_hash hash);
LETHE_API uint64_t lethe_quotient_count_hash(const lethe_quotient *filter, lethe_hash hash);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_remove_hash(lethe_quotient *filter,
                                                                   lethe_hash hash, uint64_t count);

LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_fingerprint(lethe_quotient *filter,
                                                                       uint64_t fingerprint,
                                                                       uint64_t count);
LETHE_API bool lethe_quotient_test_fingerprint(const lethe_quotient *filter, uint64_t fingerprint);
LETHE_API uint64_t lethe_quotient_count_fingerprint(const lethe_quotient *filter,
                                                    uint64_t fingerprint);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_remove_fingerprint(lethe_quotient *filter,
                                                                          uint64_t fingerprint,
                                                                          uint64_t count);

/* Batches: the same answers as count single calls in order, each adding or removing once, with the cache
 * misses overlapped. They stop at the first error; *done, where it is not NULL, is how many were
 * added or removed before it. present[i] becomes 1 or 0. Best from about 64 keys up; the length has no
 * upper bound. Cost: see lethe-bench(1), workload quotient. Errors: as above. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_batch(lethe_quotient *filter,
                                                                 const lethe_hash *hashes,
                                                                 size_t count, size_t *done);
LETHE_API void lethe_quotient_test_batch(const lethe_quotient *filter, const lethe_hash *hashes,
                                         size_t count, uint8_t *present);
LETHE_API void lethe_quotient_count_batch(const lethe_quotient *filter, const lethe_hash *hashes,
                                          size_t count, uint64_t *counts);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_remove_batch(lethe_quotient *filter,
                                                                    const lethe_hash *hashes,
                                                                    size_t count, size_t *done);

LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_fingerprint_batch(
    lethe_quotient *filter, const uint64_t *fingerprints, size_t count, size_t *done);
LETHE_API void lethe_quotient_test_fingerprint_batch(const lethe_quotient *filter,
                                                     const uint64_t *fingerprints, size_t count,
                                                     uint8_t *present);

/* A place in the order of fingerprints. Its fields are the filter's business; any change of the filter
 * ends its use. It needs no freeing. */
typedef struct lethe_quotient_cursor {
    const lethe_quotient *filter;
    uint64_t block;
    uint64_t skip;
} lethe_quotient_cursor;

/* A cursor before the first fingerprint that is from or higher; 0 is the very beginning. Cost: a cache miss. */
LETHE_API lethe_quotient_cursor lethe_quotient_seek(const lethe_quotient *filter, uint64_t from);

/* Fills entries[0..room) in ascending order from where the cursor is, and moves it on; returns how many there
 * were: fewer than room only at the end. Cost: sequential; best with room for 1000 and more. */
LETHE_API size_t lethe_quotient_next(lethe_quotient_cursor *cursor, lethe_quotient_entry *entries,
                                     size_t room);

/* Creates a filter that holds all that `count` others (1 or more) hold: counts of equal fingerprints are added up.
 * It has as many slots as the first one, doubled until they are at most 90% full; capacity, grow_to and allocator
 * are the first one's. *out is NULL on error. Cost: O(slots of all), sequential.
 * Errors: LETHE_EMISMATCH (seed or max_fingerprint differ), LETHE_EFULL (too many for any number of slots,
 * or a count that would pass 2^64 - 1), LETHE_ENOMEM, LETHE_EINVAL (count 0). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_merge(const lethe_quotient *const *filters,
                                                             size_t count, lethe_quotient **out);

/* Adds all that other holds to filter, as a merge of the two would have it. Errors: as above, and LETHE_EINVAL
 * (read-only); then nothing is changed. Cost: as merge, and memory for both while it lasts. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_absorb(lethe_quotient *filter,
                                                              const lethe_quotient *other);

/* Doubles, halves the number of slots in one pass; r becomes one less, one more. All answers stay as they
 * were. Cost: O(slots), and memory for both sizes while it lasts. Errors: LETHE_EINVAL (r is 1, 57; an odd
 * number of blocks of 64 to halve; read-only), LETHE_EFULL (what is there does not fit into half),
 * LETHE_ENOMEM; then nothing is changed. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_double(lethe_quotient *filter);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_halve(lethe_quotient *filter);

/* Saving and loading: docs/format/quotient.md. Equal contents in equal shapes are saved as equal bytes.
 * Cost: O(slots). Errors: as for lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_save(const lethe_quotient *filter,
                                                            lethe_sink sink);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_load(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_quotient **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_save_file(const lethe_quotient *filter,
                                                                 const char *path);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_load_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_quotient **out);

/* Opens a saved file where it lies: it is checked from end to end like any other, but not copied, and processes
 * share its pages. The filter is read-only: what would change it is LETHE_EINVAL. The file may be
 * replaced (save_file, rename) but must not be changed in place or cut while it is mapped.
 * Cost: a sequential read. Errors: as for load_file. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_map_file(const char *path,
                                                                const lethe_allocator *allocator,
                                                                lethe_quotient **out);

#ifdef __cplusplus
}
#endif

#endif
