/* lethe/packed.h - filters without a header, for the many small blocks of a storage engine.
 *
 * A storage engine keeps one filter for every few kilobytes of data: so small that a header would be
 * a good part of it, so many that nothing may be allocated to look at one. Here a block is the bits
 * themselves and one more byte that says how to read them; it lies in the caller's bytes. What all
 * blocks have in common is a lethe_packed, made once and shared: the kind of filter, how many
 * bits a key gets, the seed, and the bells of the Gaussian filter.
 *
 *   size = lethe_packed_size(packed, count);
 *   lethe_packed_build(packed, hashes, count, bytes, size);    and later, also years later,
 *   if (!lethe_packed_test(packed, hash, bytes, size)) the key is surely absent
 *
 * Guarantee  A block that build wrote has no false negative, under any lethe_packed of the same kind
 *            and seed: bits_per_key, hashes and slot_bits may change, since a block remembers its own.
 *            Bytes that are not a block get an answer as well: "may be there" when they are too
 *            short or say of themselves what can't be, otherwise whatever the bits say.
 *            The same hashes make the same bytes on every CPU and in every release.
 * Memory     A lethe_packed is 8 KiB. A block is keys * bits_per_key bits and one byte, at least 9 bytes
 *            (blocked: whole lines of 64 bytes and one byte).
 * Threads    A lethe_packed never changes: all threads may share it. Blocks are the caller's.
 * Caveats    No checksum: the engine around it has one. Kind and seed are not in a block; a store's
 *            name for its filter policy should tell both. Blocks are described in
 *            docs/format/packed.md. */
#ifndef LETHE_PACKED_H
#define LETHE_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lethe_packed lethe_packed;

typedef enum lethe_packed_kind {
    LETHE_PACKED_BLOOM = 0, /* k bits anywhere: the smallest error for the bits */
    LETHE_PACKED_BLOCKED =
        1, /* all bits of a key in one cache line: for blocks of thousands of keys */
    LETHE_PACKED_GAUSSIAN = 2, /* lethe/gaussian.h with bits_per_key / slot_bits slots a key */
    LETHE_PACKED_QUOTIENT = 3  /* remainders in the order of their buckets: errs least from 7 bits a
                                   key on; for blocks of up to a few thousand keys */
} lethe_packed_kind;

/* The limits of the options below. */
#define LETHE_PACKED_MAX_BITS_PER_KEY 1024
#define LETHE_PACKED_MAX_HASHES 32
#define LETHE_PACKED_MAX_GAUSSIAN_HASHES 12
#define LETHE_PACKED_MAX_SLOT_BITS 4

/* Zero in a field selects its default; NULL means all defaults. */
typedef struct lethe_packed_options {
    lethe_packed_kind kind;
    double
        bits_per_key; /* 0 -> 10; [1, 1024]; quotient: [3, 1024], of which it uses 58 and a bit */
    uint32_t hashes;  /* k; 0 -> the best for the slots a key has; 1..32; blocked: 8, 16, 24 or 32;
                            gaussian: 1..12; quotient: 1 */
    uint32_t slot_bits; /* gaussian: 0 -> 2; 1..4; otherwise 0 */
    uint64_t seed;      /* keys lethe_packed_hash; 0 -> LETHE_DEFAULT_SEED; not saved */
    const lethe_allocator *allocator; /* NULL -> the default; must outlive the object */
} lethe_packed_options;

/* Makes what all blocks share. The caller owns *out (lethe_packed_free). On error *out is NULL.
 * Cost: under a millisecond. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_packed_new(const lethe_packed_options *options,
                                                         lethe_packed **out);

/* Takes NULL. */
LETHE_API void lethe_packed_free(lethe_packed *packed);

/* The hash of a key under the seed: what the functions below take. Cost: O(size). */
LETHE_API lethe_hash lethe_packed_hash(const lethe_packed *packed, const void *key, size_t size);

/* k as it was given or chosen. Cost: O(1). */
LETHE_API uint32_t lethe_packed_hashes(const lethe_packed *packed);

/* The bytes of a block for count keys; 0 when there is no such size. Cost: O(1). */
LETHE_API size_t lethe_packed_size(const lethe_packed *packed, size_t count);

/* Writes a block of all the hashes into bytes[0..size), where size is lethe_packed_size(packed, count); or another
 * number of bytes, to err more or less. What was there does not matter, nor does its alignment. Nothing is
 * allocated. In bytes that are too few, or no whole lines, the block says "may be there" of every key.
 * Cost: O(size + count * k); quotient: O(size + count * (1 + count / 1024)). */
LETHE_API void lethe_packed_build(const lethe_packed *packed, const lethe_hash *hashes,
                                  size_t count, void *bytes, size_t size);

/* Whether the key may be in the block bytes[0..size), which may be anything. Nothing is allocated.
 * Cost: k steps at most; an absent key stops at the first contradiction. Quotient: a word of counts for
 * every 32 keys of the block, and mostly one remainder. */
LETHE_API bool lethe_packed_test(const lethe_packed *packed, lethe_hash hash, const void *bytes,
                                 size_t size);

#ifdef __cplusplus
}
#endif

#endif
