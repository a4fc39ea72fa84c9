/* window/queue.h - the block of the forgetful quotient filter: a queue of remainders.
 *
 * IDEA    A fingerprint's quotient names its block; its remainder is in one of the block's S slots.
 *         New remainders enter at one end and old ones leave at the other. So one bit per entry and
 *         one bit per period encode the age of every entry, and nothing moves when entries expire.
 * LAYOUT  A block has 32, 64 or 128 bytes, for remainders of f = 8 k + j bits and G periods:
 *         bytes   k arrays of S bytes: byte s of array i is bits 8 i to 8 i + 7 of slot s's
 *                 remainder.
 *         planes  j arrays of S bits, packed: bit s of plane i is bit 8 k + i of slot s's
 *                 remainder.
 *         head    one byte: its upper five bits are the slot that was written last. The lower three
 *                 may belong to the last plane.
 *         stamp   one byte: the period of the last write, modulo 256.
 *         ages    S + G bits, in whole bytes up to the end of the block. From the lowest bit
 *                 upwards: a one for each entry, youngest first, and a zero at each step to an
 *                 older period.
 * I1      The living entries are the ones below zero number G (counted from 0), as of the stamp's
 *         period; above it all bits are zero. An entry's age in periods is the number of zeros
 *         below its one.
 * I2      Entry number i, counted from the youngest, is in slot (head - i) mod S. The contents of
 *         all other slots are meaningless.
 * WHY     As time passes, zeros enter from below, so one shift brings a block up to date. The
 *         position of zero number G, minus G, is the number of living entries. A lookup compares
 *         one byte of all slots at once, used or not, and looks at the ages only if something
 *         matches. 64 bytes are one cache line, and hold 18 remainders of 25 bits over 30 periods.
 * LIMIT   S is at most 32. Stamps must be less than 256 periods old.
 * SPEED   Hot callers pass a pointer to a constant shape where they can. Then all of this folds
 *         to a few dozen instructions. Nothing outside the block is ever read. */
#ifndef LETHE_WINDOW_QUEUE_H
#define LETHE_WINDOW_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"
#include "core/inline.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "blocks are read by unaligned loads of little-endian words");

enum {
    LETHE_QUEUE_MAX_SLOTS = 32,
    LETHE_QUEUE_MAX_BITS = 57,
    LETHE_QUEUE_MAX_GENERATIONS = 62,
    LETHE_QUEUE_VECTOR_BYTES = 32, /* read at once by a lookup, all within the block */
    LETHE_QUEUE_HEAD_SHIFT = 3
};

struct lethe_queue_shape {
    /* f, the bits of a remainder. */
    unsigned bits;
    /* G: an entry of age 0 to G is alive. */
    unsigned generations;
    unsigned block_bytes;
    /* S: as many as fit. */
    unsigned slots;
    /* The offset of the head byte. The stamp follows it, then the ages. */
    unsigned head_at;
};

/* A bit array that is long enough for S + G bits. */
typedef lethe_uint128 lethe_queue_ages;

LETHE_INLINE unsigned lethe_queue_head_at(unsigned slots, unsigned generations,
                                          unsigned block_bytes) {
    return block_bytes - 2 - (slots + generations + 7) / 8;
}

/* Whether that many slots fit in a block. */
static inline bool lethe_queue_fits(unsigned slots, unsigned bits, unsigned generations,
                                    unsigned block_bytes) {
    if (2 + (slots + generations + 7) / 8 > block_bytes) return false;
    unsigned head_at = lethe_queue_head_at(slots, generations, block_bytes);
    return slots * bits <= 8 * head_at + LETHE_QUEUE_HEAD_SHIFT;
}

/* The shape with the most slots; false if not even four fit. */
static inline bool lethe_queue_plan(unsigned bits, unsigned generations, unsigned block_bytes,
                                    struct lethe_queue_shape *out) {
    bool is_known = block_bytes == 32 || block_bytes == 64 || block_bytes == 128;
    if (!is_known || bits < 1 || bits > LETHE_QUEUE_MAX_BITS || generations < 1 ||
        generations > LETHE_QUEUE_MAX_GENERATIONS) {
        return false;
    }
    unsigned slots = LETHE_QUEUE_MAX_SLOTS;
    while (slots >= 4 && !lethe_queue_fits(slots, bits, generations, block_bytes))
        slots--;
    *out = (struct lethe_queue_shape){
        .bits = bits,
        .generations = generations,
        .block_bytes = block_bytes,
        .slots = slots,
        .head_at = lethe_queue_head_at(slots, generations, block_bytes),
    };
    return slots >= 4;
}

/* Whether the ages need more than one word. */
LETHE_INLINE bool lethe_queue_is_wide(const struct lethe_queue_shape *shape) {
    return shape->slots + shape->generations > 63;
}

LETHE_INLINE uint64_t lethe_queue_load(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

LETHE_INLINE void lethe_queue_store(unsigned char *bytes, uint64_t word) {
    memcpy(bytes, &word, sizeof word);
}

LETHE_INLINE unsigned lethe_queue_head(const struct lethe_queue_shape *shape,
                                       const unsigned char *block) {
    return block[shape->head_at] >> LETHE_QUEUE_HEAD_SHIFT;
}

LETHE_INLINE uint8_t lethe_queue_stamp(const struct lethe_queue_shape *shape,
                                       const unsigned char *block) {
    return block[shape->head_at + 1];
}

/* The offset of the ages, in bits, from the start of the last word, or of the last two words. */
LETHE_INLINE unsigned lethe_queue_ages_shift(const struct lethe_queue_shape *shape) {
    unsigned bytes = lethe_queue_is_wide(shape) ? 16 : 8;
    return 8 * (bytes - (shape->slots + shape->generations + 7) / 8);
}

/* The ages as stored in the block. */
LETHE_INLINE lethe_queue_ages lethe_queue_stored_ages(const struct lethe_queue_shape *shape,
                                                      const unsigned char *block) {
    unsigned shift = lethe_queue_ages_shift(shape);
    uint64_t last = lethe_queue_load(block + shape->block_bytes - 8);
    if (!lethe_queue_is_wide(shape)) return last >> shift;
    uint64_t before = lethe_queue_load(block + shape->block_bytes - 16);
    return ((lethe_queue_ages)last << 64 | before) >> shift;
}

/* The ages as of period, which is less than 256 periods after the stamp. An entry that is 63
 * periods old has expired in any case. */
LETHE_INLINE lethe_queue_ages lethe_queue_ages_at(const struct lethe_queue_shape *shape,
                                                  const unsigned char *block, uint64_t period) {
    unsigned elapsed = (uint8_t)((uint8_t)period - lethe_queue_stamp(shape, block));
    if (elapsed > 63) elapsed = 63;
    lethe_queue_ages ages = lethe_queue_stored_ages(shape, block);
    return lethe_queue_is_wide(shape) ? ages << elapsed : (uint64_t)ages << elapsed;
}

/* The same for a period that is less than 64 periods after the stamp, as a writer's always is. */
LETHE_INLINE lethe_queue_ages lethe_queue_ages_soon(const struct lethe_queue_shape *shape,
                                                    const unsigned char *block, uint64_t period) {
    unsigned elapsed = ((unsigned)period - lethe_queue_stamp(shape, block)) % 64;
    lethe_queue_ages ages = lethe_queue_stored_ages(shape, block);
    return lethe_queue_is_wide(shape) ? ages << elapsed : (uint64_t)ages << elapsed;
}

/* The position of one number index, which exists. */
LETHE_INLINE unsigned lethe_queue_select(const struct lethe_queue_shape *shape,
                                         lethe_queue_ages ones, unsigned index) {
    uint64_t low = (uint64_t)ones;
    if (!lethe_queue_is_wide(shape)) return lethe_select64_of(low, index);
    unsigned count = lethe_popcount64(low);
    if (index < count) return lethe_select64_of(low, index);
    return 64 + lethe_select64_of((uint64_t)(ones >> 64), index - count);
}

/* The end of the living entries: the position of zero number G. Minus G, it is their number. */
LETHE_INLINE unsigned lethe_queue_end(const struct lethe_queue_shape *shape,
                                      lethe_queue_ages ages) {
    return lethe_queue_select(shape, ~ages, shape->generations);
}

LETHE_INLINE bool lethe_queue_is_full(const struct lethe_queue_shape *shape, unsigned end) {
    return end == shape->slots + shape->generations;
}

LETHE_INLINE lethe_queue_ages lethe_queue_below(const struct lethe_queue_shape *shape,
                                                unsigned position) {
    if (lethe_queue_is_wide(shape)) return ((lethe_queue_ages)1 << position) - 1;
    return (UINT64_C(1) << position) - 1;
}

/* Writes ages, head and stamp; the bits around them stay as they are. */
LETHE_INLINE void lethe_queue_write(const struct lethe_queue_shape *shape, unsigned char *block,
                                    lethe_queue_ages ages, unsigned head, uint64_t period) {
    unsigned shift = lethe_queue_ages_shift(shape);
    unsigned char *last = block + shape->block_bytes - 8;
    unsigned char *before = block + shape->block_bytes - 16;
    if (!lethe_queue_is_wide(shape) && shift >= 16) {
        /* They are all in the last word. */
        unsigned head_at = shift - 16 + LETHE_QUEUE_HEAD_SHIFT;
        uint64_t kept = lethe_queue_load(last) & ((UINT64_C(1) << head_at) - 1);
        lethe_queue_store(last, (uint64_t)ages << shift | (period & UINT8_MAX) << (shift - 8) |
                                    (uint64_t)head << head_at | kept);
        return;
    }
    unsigned planes = block[shape->head_at] & ((1U << LETHE_QUEUE_HEAD_SHIFT) - 1);
    block[shape->head_at] = (unsigned char)(head << LETHE_QUEUE_HEAD_SHIFT | planes);
    if (!lethe_queue_is_wide(shape) && shift == 8) {
        /* Stamp and ages are the last word. */
        lethe_queue_store(last, (uint64_t)ages << 8 | (period & UINT8_MAX));
        return;
    }
    if (lethe_queue_is_wide(shape)) {
        /* The lowest of the sixteen bytes may belong to remainders. */
        lethe_queue_ages kept = lethe_queue_load(before), moved = ages << shift;
        kept &= ((lethe_queue_ages)1 << shift) - 1;
        lethe_queue_store(before, (uint64_t)(moved | kept));
        lethe_queue_store(last, (uint64_t)(moved >> 64));
    } else {
        uint64_t kept = lethe_queue_load(last) & ((UINT64_C(1) << shift) - 1);
        lethe_queue_store(last, (uint64_t)ages << shift | kept);
    }
    block[shape->head_at + 1] = (uint8_t)period;
}

/* Which of 32 bytes equal value, as a bit mask. */
LETHE_INLINE uint32_t lethe_queue_match_bytes(const unsigned char *bytes, uint8_t value) {
#if defined(__AVX2__)
    __m256i equal = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)bytes),
                                      _mm256_set1_epi8((char)value));
    return (uint32_t)_mm256_movemask_epi8(equal);
#else
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint32_t match = 0;
    for (unsigned i = 0; i < LETHE_QUEUE_VECTOR_BYTES; i += 8) {
        uint64_t differs = lethe_queue_load(bytes + i) ^ value * UINT64_C(0x0101010101010101);
        /* A byte that is zero gives a one, any other byte a zero; the product gathers these
         * bits. */
        uint64_t zero = ~(((differs & low) + low) | differs | low) >> 7;
        match |= (uint32_t)((zero * UINT64_C(0x0102040810204080)) >> 56) << i;
    }
    return match;
#endif
}

/* The slots, used or not, that contain the remainder, as a bit mask. */
LETHE_INLINE uint32_t lethe_queue_match(const struct lethe_queue_shape *shape,
                                        const unsigned char *block, uint64_t remainder) {
    const unsigned slots = shape->slots, bytes = shape->bits / 8;
    const unsigned last = shape->block_bytes - LETHE_QUEUE_VECTOR_BYTES;
    uint32_t match = (uint32_t)((UINT64_C(1) << slots) - 1);
    for (unsigned i = 0; i < bytes; i++) {
        /* The last arrays are read from an earlier byte, to stay within the block. */
        unsigned at = i * slots < last ? i * slots : last;
        match &=
            lethe_queue_match_bytes(block + at, (uint8_t)(remainder >> 8 * i)) >> (i * slots - at);
    }
    for (unsigned i = 8 * bytes; i < shape->bits; i++) {
        unsigned byte = i * slots / 8, most = shape->block_bytes - 8;
        if (byte > most) byte = most;
        uint64_t plane = lethe_queue_load(block + byte) >> (i * slots - 8 * byte);
        match &= (uint32_t)(plane ^ ((remainder >> i & 1) - 1));
    }
    return match;
}

/* Whether a slot of either block might contain the remainder. This quick first look says yes for
 * about one in two thousand remainders that are not there. */
LETHE_INLINE bool lethe_queue_might_match(const struct lethe_queue_shape *shape,
                                          const unsigned char *first, const unsigned char *second,
                                          uint64_t remainder) {
#if defined(__AVX2__)
    if (shape->bits >= 16 && shape->block_bytes >= 64) {
        /* Compares two bytes of each slot. With at most 32 slots both reads are within the
         * block. */
        const unsigned slots = shape->slots;
        __m256i low = _mm256_set1_epi8((char)remainder);
        __m256i high = _mm256_set1_epi8((char)(remainder >> 8));
        __m256i in_first = _mm256_and_si256(
            _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)first), low),
            _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(first + slots)), high));
        __m256i in_second = _mm256_and_si256(
            _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)second), low),
            _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(second + slots)), high));
        uint32_t match = (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(in_first, in_second));
        return (match & (uint32_t)((UINT64_C(1) << slots) - 1)) != 0;
    }
#endif
    return (lethe_queue_match(shape, first, remainder) |
            lethe_queue_match(shape, second, remainder)) != 0;
}

/* The bytes of a block, from its first on, that this look reads. */
LETHE_INLINE unsigned lethe_queue_first_look_bytes(const struct lethe_queue_shape *shape) {
#if defined(__AVX2__)
    if (shape->bits >= 16 && shape->block_bytes >= 64) return 64;
#endif
    return shape->block_bytes;
}

/* The planes that lie within sixteen bytes are read and written together. */
struct lethe_queue_planes {
    /* How many, and the first of the sixteen bytes. None if less than two would be. */
    unsigned count, at;
    /* Their bits of slot 0, and how many are in the first of the two words. */
    lethe_queue_ages bits;
    unsigned in_first;
};

LETHE_INLINE struct lethe_queue_planes
lethe_queue_planes_of(const struct lethe_queue_shape *shape) {
    const unsigned slots = shape->slots, most = 128 / slots;
    struct lethe_queue_planes planes = {.count = shape->bits % 8, .at = shape->bits / 8 * slots};
    /* A read of bytes that were just written otherwise, as the head was, would have to wait. */
    if (planes.count < 2 || planes.at + 16 > shape->head_at) return (struct lethe_queue_planes){0};
    if (planes.count > most) planes.count = most;
    for (unsigned i = 0; i < planes.count; i++) {
        planes.bits |= (lethe_queue_ages)1 << i * slots;
        planes.in_first += i * slots < 64;
    }
    return planes;
}

LETHE_INLINE uint64_t lethe_queue_remainder(const struct lethe_queue_shape *shape,
                                            const unsigned char *block, unsigned slot) {
    const unsigned bytes = shape->bits / 8;
    const struct lethe_queue_planes planes = lethe_queue_planes_of(shape);
    uint64_t remainder = 0;
    for (unsigned i = 0; i < bytes; i++)
        remainder |= (uint64_t)block[i * shape->slots + slot] << 8 * i;
    if (planes.count > 0) {
        lethe_queue_ages words = (lethe_queue_ages)lethe_queue_load(block + planes.at + 8) << 64 |
                                 lethe_queue_load(block + planes.at);
        words >>= slot;
        uint64_t first = lethe_extract64((uint64_t)words, (uint64_t)planes.bits);
        uint64_t second = lethe_extract64((uint64_t)(words >> 64), (uint64_t)(planes.bits >> 64));
        remainder |= (first | second << planes.in_first) << 8 * bytes;
    }
    for (unsigned i = 8 * bytes + planes.count; i < shape->bits; i++) {
        unsigned at = i * shape->slots + slot;
        remainder |= (uint64_t)(block[at / 8] >> at % 8 & 1) << i;
    }
    return remainder;
}

LETHE_INLINE void lethe_queue_put(const struct lethe_queue_shape *shape, unsigned char *block,
                                  unsigned slot, uint64_t remainder) {
    const unsigned bytes = shape->bits / 8;
    const struct lethe_queue_planes planes = lethe_queue_planes_of(shape);
    for (unsigned i = 0; i < bytes; i++)
        block[i * shape->slots + slot] = (uint8_t)(remainder >> 8 * i);
    if (planes.count > 0) {
        uint64_t upper = remainder >> 8 * bytes;
        lethe_queue_ages value =
            lethe_deposit64(upper >> planes.in_first, (uint64_t)(planes.bits >> 64));
        value = (value << 64 | lethe_deposit64(upper, (uint64_t)planes.bits)) << slot;
        lethe_queue_ages kept = ~(planes.bits << slot);
        uint64_t first = lethe_queue_load(block + planes.at) & (uint64_t)kept;
        uint64_t second = lethe_queue_load(block + planes.at + 8) & (uint64_t)(kept >> 64);
        lethe_queue_store(block + planes.at, first | (uint64_t)value);
        lethe_queue_store(block + planes.at + 8, second | (uint64_t)(value >> 64));
    }
    for (unsigned i = 8 * bytes + planes.count; i < shape->bits; i++) {
        unsigned at = i * shape->slots + slot, bit = 1U << at % 8;
        unsigned rest = block[at / 8] & ~bit;
        block[at / 8] = (unsigned char)(rest | (unsigned)(remainder >> i & 1) << at % 8);
    }
}

/* The next slot of the ring. Without a branch, which would be mispredicted once per round. */
LETHE_INLINE unsigned lethe_queue_next(const struct lethe_queue_shape *shape, unsigned slot) {
    unsigned next = slot + 1;
    return next & -((next - shape->slots) >> 31); /* the mask is all ones while next < slots */
}

/* The slot of an entry number, and equally the number of a slot: (head - number) mod S. */
static inline unsigned lethe_queue_turn(const struct lethe_queue_shape *shape, unsigned head,
                                        unsigned number) {
    return head >= number ? head - number : head + shape->slots - number;
}

/* Adds the youngest entry to a block that is not full. ages and end are as of period. */
LETHE_INLINE void lethe_queue_append(const struct lethe_queue_shape *shape, unsigned char *block,
                                     lethe_queue_ages ages, unsigned end, uint64_t period,
                                     uint64_t remainder) {
    unsigned slot = lethe_queue_next(shape, lethe_queue_head(shape, block));
    lethe_queue_ages alive = ages & lethe_queue_below(shape, end);
    lethe_queue_write(shape, block, alive << 1 | 1, slot, period);
    lethe_queue_put(shape, block, slot, remainder);
}

/* The number of the youngest living entry among the slots in match (of lethe_queue_match), or S. */
static inline unsigned lethe_queue_find(const struct lethe_queue_shape *shape,
                                        const unsigned char *block, uint32_t match,
                                        uint64_t period) {
    if (match == 0) return shape->slots;
    unsigned end = lethe_queue_end(shape, lethe_queue_ages_at(shape, block, period));
    unsigned head = lethe_queue_head(shape, block), best = shape->slots;
    for (; match != 0; match &= match - 1) {
        unsigned number = lethe_queue_turn(shape, head, (unsigned)__builtin_ctz(match));
        if (number < end - shape->generations && number < best) best = number;
    }
    return best;
}

/* The number of living entries among the slots in match. */
static inline unsigned lethe_queue_count(const struct lethe_queue_shape *shape,
                                         const unsigned char *block, uint32_t match,
                                         uint64_t period) {
    unsigned end = lethe_queue_end(shape, lethe_queue_ages_at(shape, block, period)), count = 0;
    unsigned head = lethe_queue_head(shape, block);
    for (; match != 0; match &= match - 1) {
        unsigned number = lethe_queue_turn(shape, head, (unsigned)__builtin_ctz(match));
        count += number < end - shape->generations;
    }
    return count;
}

/* Whether these functions could have left the block in this state. */
static inline bool lethe_queue_is_valid(const struct lethe_queue_shape *shape,
                                        const unsigned char *block) {
    lethe_queue_ages ages = lethe_queue_stored_ages(shape, block);
    unsigned end = lethe_queue_end(shape, ages); /* a forged block may have none */
    if (end > (lethe_queue_is_wide(shape) ? 127U : 63U)) return false;
    return end <= shape->slots + shape->generations &&
           (ages & ~lethe_queue_below(shape, end)) == 0 &&
           lethe_queue_head(shape, block) < shape->slots;
}

#endif
