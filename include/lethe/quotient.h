/* lethe/quotient.h - quotient filters: an approximate multiset that counts, removes, merges and
 * grows.
 *
 * A filter keeps a fingerprint of each key, a number from 0 to max_fingerprint, and how often it
 * was added. Fingerprints are kept in ascending order, which a Bloom filter does not do. So a
 * filter can be read in order, merged, doubled and halved in one pass over its memory, without the
 * keys.
 *
 * Guarantee  No false negative, provided that only keys which were added are removed. A key that
 *            was not added is reported present with a probability of
 *            `distinct` / (max_fingerprint + 1). That is at most the error asked for until
 *            `capacity` (or `grow_to`) different keys were added. Counts of fingerprints are exact,
 *            so the count of a key is never too low, and it is too high only where another key has
 *            the same fingerprint.
 * Memory     r + 2.125 bits per slot, where r = log2((max_fingerprint + 1) / slots). At the planned
 *            load of 90% a key takes 1.11 (log2(1/error) + 2) bits. A fingerprint that was added
 *            once takes one slot, and one that was added more often takes two. From three times on
 *            it takes 16 to 43 bytes more, in a side table; see lethe_quotient_info.
 * Full       At 95% of its slots a filter doubles them, up to `grow_to`. Beyond that, adding is
 *            LETHE_EFULL, and nothing is changed or lost. Somebody who knows the seed can choose
 *            keys that crowd into one place, and so cause LETHE_EFULL earlier.
 * Threads    Readers may share a filter; a writer needs it alone.
 * Caveats    Removing a key that was never added is LETHE_ENOTFOUND. But with the probability above
 *            it removes another key's fingerprint instead, which cannot be detected. */
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

/* Zero in a field selects its default; NULL options are all defaults. The size comes either from
 * capacity and error or from slots and remainder_bits; giving both is LETHE_EINVAL. */
typedef struct lethe_quotient_options {
    size_t size;

    /* Different keys; a key that is added twice or more counts as two. 0 -> 65536; 1..2^40. Memory
     * is linear in it. */
    uint64_t capacity;
    /* False-positive rate at capacity, or at grow_to; 0 -> 0.01; [1e-15, 0.5]. */
    double error;

    /* 0 -> from capacity; 1..2^41, rounded up to a multiple of 64. With 2^q slots and r = f - q,
     * fingerprints have exactly f bits. */
    uint64_t slots;
    /* r, together with slots; 0 -> 8; 1..57, and slots * 2^r <= 2^64. */
    uint32_t remainder_bits;

    /* The number of keys up to which the filter doubles by itself; 0 -> never; capacity..2^40. With
     * slots: as far as r allows. Each doubling takes one bit of r. */
    uint64_t grow_to;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. It is saved with the filter. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the filter. */
    const lethe_allocator *allocator;
} lethe_quotient_options;

/* The shape that options lead to. Doubling and halving change slots, remainder_bits and
 * memory_bytes. */
typedef struct lethe_quotient_shape {
    size_t size;

    /* A multiple of 64. */
    uint64_t slots;
    /* slots * 2^remainder_bits - 1; it never changes. */
    uint64_t max_fingerprint;
    uint32_t remainder_bits;

    /* Keys that the filter was planned for; 0 when it was planned from slots. */
    uint64_t capacity;
    /* 0: the filter does not grow by itself. */
    uint64_t grow_to;
    /* The error expected at capacity or grow_to; 0 when it was planned from slots. */
    double error;

    uint64_t seed;
    /* Of the slots and all that describes them, without the side table of counts. */
    uint64_t memory_bytes;
} lethe_quotient_shape;

typedef struct lethe_quotient_stats {
    size_t size;

    /* Different fingerprints. */
    uint64_t distinct;
    /* The sum of their counts. Once it has reached 2^64 - 1 it stays there. */
    uint64_t total;
    uint64_t slots_used;
    /* slots_used / slots */
    double load;
    /* The probability that a key that was not added is reported present, now. */
    double error_estimate;
    /* Fingerprints with a count of 3 or more: the entries of the side table. */
    uint64_t counted;
    /* Since the filter was made or loaded. */
    uint32_t doublings;
    /* The filter is mapped. */
    bool read_only;
    /* Of everything. */
    uint64_t memory_bytes;
    /* How often a removal found nothing, since the filter was made or loaded. */
    uint64_t missed_removals;
} lethe_quotient_stats;

/* A fingerprint and how often it was added, which is once or more. */
typedef struct lethe_quotient_entry {
    uint64_t fingerprint;
    uint64_t count;
} lethe_quotient_entry;

/* Computes the shape without allocating anything. On error *out is unchanged.
 * Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_plan(const lethe_quotient_options *options,
                                                            lethe_quotient_shape *out);

/* Creates an empty filter. The caller owns *out (lethe_quotient_free). On error *out is NULL.
 * Cost: O(slots), paid as pages are touched. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_new(const lethe_quotient_options *options,
                                                           lethe_quotient **out);

/* Creates an independent copy with the same allocator. The copy can be changed even if filter is
 * mapped. On error *out is NULL. Cost: O(slots). Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_copy(const lethe_quotient *filter,
                                                            lethe_quotient **out);

/* Takes NULL. Unmaps a filter that is mapped. */
LETHE_API void lethe_quotient_free(lethe_quotient *filter);

/* Forgets all keys; the shape stays as it is now.
 * Cost: O(slots). Errors: LETHE_EINVAL (also for a read-only filter). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_clear(lethe_quotient *filter);

/* The seed to hash keys with; 0 for NULL. Cost: O(1). */
LETHE_API uint64_t lethe_quotient_seed(const lethe_quotient *filter);

/* Reports the shape as it is now. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_quotient_get_shape(const lethe_quotient *filter,
                                                lethe_quotient_shape *out);

/* Reports what the filter holds. Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_quotient_info(const lethe_quotient *filter, lethe_quotient_stats *out);

/* The fingerprint of a key that was hashed with the filter's seed; 0 for a NULL filter. It keeps
 * the order of hash.high, and filters with the same max_fingerprint agree on it. Cost: one
 * multiplication. */
LETHE_API uint64_t lethe_quotient_fingerprint(const lethe_quotient *filter, lethe_hash hash);

/* Single keys. add counts the key `count` times (1 or more). remove takes `count` of them away, all
 * or nothing. count returns how often the key is there. Each comes for a key, for its hash, and for
 * a fingerprint. A NULL filter holds nothing: its test is false and its count is 0. Cost: one hash
 * and, uncached, two cache misses. Adding and removing also move entries of the block of 64 slots
 * by one, and at high loads those of some neighbours. From time to time the filter doubles or the
 * side table grows. Errors of add: LETHE_EFULL (also where a count would exceed 2^64 - 1),
 * LETHE_ENOMEM, LETHE_EINVAL (count 0, a read-only filter, a fingerprint above max_fingerprint). Of
 * remove: LETHE_ENOTFOUND (fewer than count are there), LETHE_EINVAL. After an error nothing has
 * changed. */
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

/* Batches: the same answers as count single calls in order, each adding or removing once, with the
 * cache misses overlapped. Every item is tried; the status is the first error. added[i] and
 * removed[i] become 1 where the item was added or removed and 0 where it met an error; these arrays
 * may be NULL. present[i] becomes 1 or 0. Best from about 64 keys up; the length has no upper
 * bound. Cost: see lethe-bench(1), workload quotient. Errors: as for single keys. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_batch(lethe_quotient *filter,
                                                                 const lethe_hash *hashes,
                                                                 size_t count, uint8_t *added);
LETHE_API lethe_status lethe_quotient_test_batch(const lethe_quotient *filter,
                                                 const lethe_hash *hashes, size_t count,
                                                 uint8_t *present);
LETHE_API lethe_status lethe_quotient_count_batch(const lethe_quotient *filter,
                                                  const lethe_hash *hashes, size_t count,
                                                  uint64_t *counts);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_remove_batch(lethe_quotient *filter,
                                                                    const lethe_hash *hashes,
                                                                    size_t count, uint8_t *removed);

LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_add_fingerprint_batch(
    lethe_quotient *filter, const uint64_t *fingerprints, size_t count, uint8_t *added);
LETHE_API lethe_status lethe_quotient_test_fingerprint_batch(const lethe_quotient *filter,
                                                             const uint64_t *fingerprints,
                                                             size_t count, uint8_t *present);

/* A place in the order of fingerprints. Its fields belong to the filter. Any change of the filter
 * ends its use. It needs no freeing. */
typedef struct lethe_quotient_cursor {
    const lethe_quotient *filter;
    uint64_t block;
    uint64_t skip;
} lethe_quotient_cursor;

/* A cursor before the first fingerprint that is `from` or higher; 0 is the very beginning. A NULL
 * filter has no fingerprints. Cost: one cache miss. */
LETHE_API lethe_quotient_cursor lethe_quotient_seek(const lethe_quotient *filter, uint64_t from);

/* Fills entries[0..room) in ascending order from where the cursor is, and moves the cursor on.
 * Returns how many entries there were, which is fewer than room only at the end, and 0 where an
 * argument is NULL. Cost: sequential; best with room for 1000 and more. */
LETHE_API size_t lethe_quotient_next(lethe_quotient_cursor *cursor, lethe_quotient_entry *entries,
                                     size_t room);

/* Creates a filter that holds all that `count` others (1 or more) hold; counts of equal
 * fingerprints are added up. It has as many slots as the first one, doubled until they are at most
 * 90% full. Capacity, grow_to and allocator are the first one's. *out is NULL on error.
 * Cost: O(slots of all), sequential.
 * Errors: LETHE_EINVAL (also for a count of 0), LETHE_EMISMATCH (seed or max_fingerprint differ),
 * LETHE_EFULL (too many for any number of slots, or a count that would exceed 2^64 - 1),
 * LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_quotient_new_merged(const lethe_quotient *const *filters, size_t count, lethe_quotient **out);

/* Adds all that other holds to filter; the result is that of lethe_quotient_new_merged. On error
 * nothing has changed. Cost: as above; while it runs it needs memory for both.
 * Errors: as above, and LETHE_EINVAL for a read-only filter. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_merge(lethe_quotient *filter,
                                                             const lethe_quotient *other);

/* Double or halve the number of slots in one pass; r becomes one less or one more. All answers stay
 * the same. On error nothing has changed. Cost: O(slots); while it runs it needs memory for both
 * sizes. Errors: LETHE_EINVAL (r is 1 or 57 already; an odd number of blocks of 64 to halve; a
 * read-only filter), LETHE_EFULL (the content does not fit into half the slots), LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_double(lethe_quotient *filter);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_halve(lethe_quotient *filter);

/* Saving and loading: docs/format/quotient.md. Equal contents in equal shapes are saved as equal
 * bytes. Cost: O(slots). Ownership, detail and errors: as in lethe/bloom.h. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_save(const lethe_quotient *filter,
                                                            lethe_sink sink);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_load(lethe_source source,
                                                            const lethe_allocator *allocator,
                                                            lethe_quotient **out);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_save_file(const lethe_quotient *filter,
                                                                 const char *path,
                                                                 lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_load_file(const char *path,
                                                                 const lethe_allocator *allocator,
                                                                 lethe_quotient **out,
                                                                 lethe_detail *detail);

/* Maps a saved file into memory. The file is checked from end to end as in load_file but not
 * copied, and processes share its pages. The filter is read-only: what would change it is
 * LETHE_EINVAL. While it is mapped the file may be replaced (save_file, rename), but it must not be
 * changed in place or truncated. Cost: a sequential read. Errors: as for load_file. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_quotient_map_file(const char *path,
                                                                const lethe_allocator *allocator,
                                                                lethe_quotient **out,
                                                                lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
