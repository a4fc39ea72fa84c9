/* lethe/packed.h - filters without a header, for the many small blocks of a storage engine.
 *
 * A storage engine keeps one filter for every few kilobytes of data. Such filters are so small that
 * a header would take a large part of each, and so numerous that nothing may be allocated to look
 * at one. Here a block is the bits themselves and one more byte that says how to read them; it lies
 * in the caller's bytes. What all blocks have in common is a lethe_packed, made once and shared:
 * the kind of filter, the bits per key, the seed, and the bells of the Gaussian filter.
 *
 *   size = lethe_packed_size(packed, count);
 *   status = lethe_packed_build(packed, hashes, count, bytes, size);
 *   and later, perhaps years later,
 *   if (!lethe_packed_test(packed, hash, bytes, size)) the key is certainly absent
 *
 * Guarantee  A block that build wrote has no false negative, under any lethe_packed of the same
 *            kind and seed. bits_per_key, hashes and slot_bits may change, since a block remembers
 *            its own. Bytes that are not a block get an answer as well: "may be there" when they
 *            are too short or describe themselves in an impossible way, otherwise whatever the bits
 *            say. The same hashes make the same bytes on every CPU and in every release.
 * Memory     A lethe_packed is 8 KiB. A block is keys * bits_per_key bits and one byte, at least 9
 *            bytes (blocked: whole lines of 64 bytes and one byte).
 * Threads    A lethe_packed never changes, so all threads may share it. Blocks are the caller's.
 * Caveats    A block has no checksum; the engine around it has one. Kind and seed are not in a
 *            block: the storage engine's name for its filter policy should say both.
 *            docs/format/packed.md describes the blocks. */
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
    /* k bits anywhere: the smallest error for few bits per key. */
    LETHE_PACKED_BLOOM = 0,
    /* All bits of a key in one cache line: for blocks of thousands of keys. */
    LETHE_PACKED_BLOCKED = 1,
    /* lethe/gaussian.h with bits_per_key / slot_bits slots per key. */
    LETHE_PACKED_GAUSSIAN = 2,
    /* Remainders in the order of their buckets: the smallest error from 7 bits per key on; for
     * blocks of up to a few thousand keys. */
    LETHE_PACKED_QUOTIENT = 3
} lethe_packed_kind;

/* The limits of the options below. */
#define LETHE_PACKED_MAX_BITS_PER_KEY 1024
#define LETHE_PACKED_MAX_HASHES 32
#define LETHE_PACKED_MAX_GAUSSIAN_HASHES 12
#define LETHE_PACKED_MAX_SLOT_BITS 4

/* Zero in a field selects its default; NULL options are all defaults. */
typedef struct lethe_packed_options {
    size_t size;

    lethe_packed_kind kind;
    /* k; 0 -> the best for the slots that a key has; 1..32. Blocked: 8, 16, 24 or 32; Gaussian:
     * 1..12; quotient: 1. */
    uint32_t hashes;
    /* 0 -> 10; [1, 1024]. Quotient: [3, 1024], of which it uses at most 58 and a fraction. */
    double bits_per_key;
    /* Gaussian: 0 -> 2; 1..4. Otherwise 0. */
    uint32_t slot_bits;

    /* Keys lethe_packed_hash; 0 -> LETHE_DEFAULT_SEED. It is not saved. */
    uint64_t seed;
    /* NULL -> the default one. It must outlive the object. */
    const lethe_allocator *allocator;
} lethe_packed_options;

/* Makes what all blocks share. The caller owns *out (lethe_packed_free). On error *out is NULL.
 * Cost: under a millisecond. Errors: LETHE_EINVAL, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_packed_new(const lethe_packed_options *options,
                                                         lethe_packed **out);

/* Takes NULL. */
LETHE_API void lethe_packed_free(lethe_packed *packed);

/* The hash of a key under the seed, as the functions below take it. A NULL packed has seed 0.
 * Cost: O(size). */
LETHE_API lethe_hash lethe_packed_hash(const lethe_packed *packed, const void *key, size_t size);

/* k as it was given or chosen; 0 for NULL. Cost: O(1). */
LETHE_API uint32_t lethe_packed_hashes(const lethe_packed *packed);

/* The bytes of a block for count keys; 0 when there is no such size, and for NULL. Cost: O(1). */
LETHE_API size_t lethe_packed_size(const lethe_packed *packed, size_t count);

/* Writes a block of all the hashes into bytes[0..size). size is lethe_packed_size(packed, count),
 * or another number of bytes for a larger or smaller error. The bytes may hold anything before and
 * need no alignment. Nothing is allocated. If the bytes are too few, or are not whole lines where
 * lines are needed, the block says "may be there" of every key. Cost: O(size + count * k);
 * quotient: O(size + count * (1 + count / 1024)). Errors: LETHE_EINVAL; then nothing is written. */
LETHE_API lethe_status lethe_packed_build(const lethe_packed *packed, const lethe_hash *hashes,
                                          size_t count, void *bytes, size_t size);

/* Whether the key may be in the block bytes[0..size), which may be anything; true where packed or
 * bytes is NULL. Nothing is allocated. Cost: at most k steps; a test of an absent key stops at the
 * first contradiction. Quotient: one word of counts for every 32 keys of the block, and usually one
 * remainder. */
LETHE_API bool lethe_packed_test(const lethe_packed *packed, lethe_hash hash, const void *bytes,
                                 size_t size);

#ifdef __cplusplus
}
#endif

#endif
