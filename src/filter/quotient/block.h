/* filter/quotient/block.h - a rank-select block for quotient filters, which keeps entries in order.
 *
 * IDEA    A block has 32 buckets and 32 slots. A fingerprint's quotient names its block and bucket;
 *         its remainder lies in one of the slots. Remainders are kept in bucket order, so how
 *         many each bucket has is all that must be known to find them.
 * LAYOUT  unary       64 bits: for each bucket as many ones as it has entries, then a zero.
 *                     Unused bits at the end are zero.
 *         planes[p]   p bits more for each slot, bit-sliced: bit s of plane i is bit i of slot s.
 *         remainders  32 fields of r bits, packed, field s at bit s * r: 4r bytes.
 *         The three parts need not be neighbours; whoever owns the block says where they are.
 * I1      The first 32 zeros of unary end the 32 buckets; no ones come after the last of them.
 * I2      Plane bits and remainder fields of slots that are not used may be anything.
 * WHY     Two bits a slot of metadata, in one word: a select and a count of trailing ones find a
 *         bucket, an insert is a shift. Bit-sliced planes let 32 ages be compared in a few
 *         instructions, and PEXT and PDEP drop any number of entries at once.
 * LIMIT   r is 1..57, so that a remainder is read with one unaligned load. 8 bytes before and up to 40
 *         after a block's remainders are read, and some written back as they were: they must
 *         be there, and belong to the same writer.
 * PAPER   The quotient filter of Bender et al., Don't Thrash: How to Cache Your Hash on Flash, 2012, with
 *         its three bits a slot replaced by unary counts within the block. */
#ifndef LETHE_FILTER_QUOTIENT_BLOCK_H
#define LETHE_FILTER_QUOTIENT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "remainders are read by unaligned loads of little-endian words");

enum {
    LETHE_BLOCK_SLOTS = 32,
    LETHE_BLOCK_BUCKETS = 32,
    LETHE_BLOCK_MAX_REMAINDER_BITS = 57,
    LETHE_BLOCK_BEYOND_BYTES = 40 /* see LIMIT */
};

/* Where a bucket's entries are. */
struct lethe_block_run {
    unsigned position; /* of its first bit in unary */
    unsigned start;    /* its first slot */
    unsigned count;
};

static inline unsigned lethe_block_used(uint64_t unary) {
    return lethe_popcount64(unary);
}

/* One zero is put before the first bucket, so that the zero numbered `bucket` comes just before that
 * bucket's ones, for the first bucket too. */
static inline struct lethe_block_run lethe_block_find(uint64_t unary, unsigned bucket) {
    unsigned position = lethe_select64_of(~unary << 1 | 1, bucket);
    unsigned count = lethe_trailing_zeros64(~(unary >> position));
    return (struct lethe_block_run){position, position - bucket, count};
}

static inline uint64_t lethe_block_load(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void lethe_block_store(unsigned char *bytes, uint64_t word) {
    memcpy(bytes, &word, sizeof word);
}

/* The remainder in a slot; mask has bits ones. */
static inline uint64_t lethe_block_remainder(const unsigned char *remainders, unsigned bits,
                                             uint64_t mask, unsigned slot) {
    unsigned at = slot * bits;
    return lethe_block_load(remainders + at / 8) >> (at % 8) & mask;
}

/* The slots, as a mask, whose planes hold value. */
static inline uint32_t lethe_block_match_planes(const uint32_t *planes, unsigned count,
                                                unsigned value) {
    uint32_t match = ~UINT32_C(0);
    for (unsigned i = 0; i < count; i++)
        match &= planes[i] ^ ((value >> i & 1) - 1);
    return match;
}

static inline unsigned lethe_block_get_planes(const uint32_t *planes, unsigned count,
                                              unsigned slot) {
    unsigned value = 0;
    for (unsigned i = 0; i < count; i++)
        value |= (planes[i] >> slot & 1) << i;
    return value;
}

static inline void lethe_block_set_planes(uint32_t *planes, unsigned count, unsigned slot,
                                          unsigned value) {
    for (unsigned i = 0; i < count; i++)
        planes[i] = (planes[i] & ~(UINT32_C(1) << slot)) | (value >> i & 1) << slot;
}

/* Makes room for one bit at position and puts bit there; the last bit falls out. */
static inline uint64_t lethe_block_insert_bit(uint64_t word, unsigned position, uint64_t bit) {
    uint64_t below = word & ((UINT64_C(1) << position) - 1);
    return below | bit << position | (word ^ below) << 1;
}

/* The two shifts below go over all words of a block and keep those outside first..last as they are: the
 * number of steps then depends on r alone, and is always guessed right. What is beyond the block by
 * up to 31 bytes is read and written back, too. */
#if defined(__AVX2__)
static inline __m256i lethe_block_choose(__m256i old, __m256i moved, unsigned word, unsigned first,
                                         unsigned last) {
    __m256i index = _mm256_add_epi64(_mm256_set1_epi64x(word), _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i before = _mm256_cmpgt_epi64(_mm256_set1_epi64x(first), index);
    __m256i after = _mm256_cmpgt_epi64(index, _mm256_set1_epi64x(last));
    return _mm256_blendv_epi8(moved, old, _mm256_or_si256(before, after));
}
#endif

/* Shifts 64-bit words number first to last up by bits, the lowest taking from the word before it. */
static inline void lethe_block_shift_up(unsigned char *bytes, unsigned first, unsigned last,
                                        unsigned bits) {
#if defined(__AVX2__)
    const __m128i left = _mm_cvtsi32_si128((int)bits), right = _mm_cvtsi32_si128(64 - (int)bits);
    for (unsigned word = (bits + 7) / 8 * 4; word > 0;) {
        word -= 4;
        unsigned char *at = bytes + 8 * (size_t)word;
        __m256i upper = _mm256_loadu_si256((const __m256i *)at);
        __m256i lower = _mm256_loadu_si256((const __m256i *)(at - 8));
        __m256i moved =
            _mm256_or_si256(_mm256_sll_epi64(upper, left), _mm256_srl_epi64(lower, right));
        _mm256_storeu_si256((__m256i *)at, lethe_block_choose(upper, moved, word, first, last));
    }
#else
    for (unsigned end = last + 1; end > first; end--) {
        unsigned char *at = bytes + 8 * (size_t)end - 8;
        lethe_block_store(at,
                          lethe_block_load(at) << bits | lethe_block_load(at - 8) >> (64 - bits));
    }
#endif
}

/* Shifts 64-bit words number first to last down by bits, each taking from the word after it. */
static inline void lethe_block_shift_down(unsigned char *bytes, unsigned first, unsigned last,
                                          unsigned bits) {
#if defined(__AVX2__)
    const __m128i right = _mm_cvtsi32_si128((int)bits), left = _mm_cvtsi32_si128(64 - (int)bits);
    unsigned words = (bits + 7) / 8 * 4;
    for (unsigned word = 0; word < words; word += 4) {
        unsigned char *at = bytes + 8 * (size_t)word;
        __m256i lower = _mm256_loadu_si256((const __m256i *)at);
        __m256i upper = _mm256_loadu_si256((const __m256i *)(at + 8));
        __m256i moved =
            _mm256_or_si256(_mm256_srl_epi64(lower, right), _mm256_sll_epi64(upper, left));
        _mm256_storeu_si256((__m256i *)at, lethe_block_choose(lower, moved, word, first, last));
    }
#else
    for (unsigned i = first; i <= last; i++) {
        unsigned char *at = bytes + 8 * (size_t)i;
        lethe_block_store(at, lethe_block_load(at) >> bits | lethe_block_load(at + 8)
                                                                 << (64 - bits));
    }
#endif
}

/* Whether 64-bit word number index is only half the block's: the last one of an odd r. */
static inline bool lethe_block_is_shared_word(unsigned bits, unsigned index) {
    return bits == 2 * index + 1;
}

/* Gives the upper half of such a word back its neighbour's bits. */
static inline void lethe_block_restore_upper(unsigned char *word, uint64_t before) {
    lethe_block_store(word,
                      (lethe_block_load(word) & UINT32_MAX) | (before & ~(uint64_t)UINT32_MAX));
}

/* Moves the remainders of slots start..used-1 one slot up and puts remainder into start. */
static inline void lethe_block_insert_remainder(unsigned char *bytes, unsigned bits, unsigned start,
                                                unsigned used, uint64_t remainder) {
    unsigned at = start * bits, first = at / 64, last = (used * bits + bits - 1) / 64;
    unsigned char *head = bytes + 8 * (size_t)first, *end = bytes + 8 * (size_t)last;
    uint64_t before = lethe_block_load(end);
    lethe_block_shift_up(bytes, first + 2, last, bits);
    uint64_t low = lethe_block_load(head), high = lethe_block_load(head + 8);
    uint64_t below = low & ((UINT64_C(1) << (at % 64)) - 1), moved = low ^ below;
    lethe_block_store(head, below | moved << bits | remainder << (at % 64));
    if (last > first) {
        /* What moves up from the first word, and what of the remainder does not fit into it. */
        high = high << bits | moved >> (64 - bits) | remainder >> 1 >> (63 - at % 64);
        lethe_block_store(head + 8, high);
    }
    if (lethe_block_is_shared_word(bits, last)) lethe_block_restore_upper(end, before);
}

/* Moves the remainders of slots slot+1..used-1 one slot down, over that of slot. */
static inline void lethe_block_drop_remainder(unsigned char *bytes, unsigned bits, unsigned slot,
                                              unsigned used) {
    unsigned at = slot * bits, first = at / 64, last = (used * bits - 1) / 64;
    unsigned char *head = bytes + 8 * (size_t)first, *end = bytes + 8 * (size_t)last;
    uint64_t before = lethe_block_load(end);
    uint64_t low = lethe_block_load(head), high = lethe_block_load(head + 8);
    uint64_t kept = (UINT64_C(1) << (at % 64)) - 1;
    uint64_t moved = low >> bits | high << (64 - bits);
    lethe_block_store(head, (low & kept) | (moved & ~kept));
    lethe_block_shift_down(bytes, first + 1, last, bits);
    if (lethe_block_is_shared_word(bits, last)) lethe_block_restore_upper(end, before);
}

/* Makes room in all planes for a slot at start, and puts value there. */
static inline void lethe_block_insert_planes(uint32_t *planes, unsigned count, unsigned start,
                                             unsigned value) {
    unsigned i = 0;
#if defined(__AVX2__)
    /* Four planes at a time. */
    for (; i + 4 <= count; i += 4) {
        __m128i word = _mm_loadu_si128((const __m128i *)(planes + i));
        __m128i bits = _mm_and_si128(
            _mm_srlv_epi32(_mm_set1_epi32((int)(value >> i)), _mm_setr_epi32(0, 1, 2, 3)),
            _mm_set1_epi32(1));
        __m128i mask = _mm_set1_epi32((int)((UINT32_C(1) << start) - 1));
        __m128i below = _mm_and_si128(word, mask);
        __m128i above = _mm_slli_epi32(_mm_andnot_si128(mask, word), 1);
        __m128i slot = _mm_sll_epi32(bits, _mm_cvtsi32_si128((int)start));
        _mm_storeu_si128((__m128i *)(planes + i), _mm_or_si128(_mm_or_si128(below, above), slot));
    }
#endif
    for (; i < count; i++)
        planes[i] = (uint32_t)lethe_block_insert_bit(planes[i], start, value >> i & 1);
}

/* Adds an entry to a bucket found by lethe_block_find; used is lethe_block_used, below 32. */
static inline void lethe_block_insert(uint64_t *unary, uint32_t *planes, unsigned plane_count,
                                      unsigned char *remainders, unsigned bits,
                                      struct lethe_block_run run, unsigned used, uint64_t remainder,
                                      unsigned value) {
    *unary = lethe_block_insert_bit(*unary, run.position, 1);
    lethe_block_insert_planes(planes, plane_count, run.start, value);
    lethe_block_insert_remainder(remainders, bits, run.start, used, remainder);
}

/* Drops the entries in the slots of drop, which are used ones, and closes the gaps. */
static inline void lethe_block_drop(uint64_t *unary, uint32_t *planes, unsigned plane_count,
                                    unsigned char *remainders, unsigned bits, uint32_t drop) {
    unsigned used = lethe_block_used(*unary);
    *unary = lethe_extract64(*unary, ~lethe_deposit64(drop, *unary));
    for (unsigned i = 0; i < plane_count; i++)
        planes[i] = (uint32_t)lethe_extract64(planes[i], ~drop);
    /* From the last to the first, so that the numbers of those to come stay as they are. */
    while (drop != 0) {
        unsigned slot = 31 - (unsigned)__builtin_clz(drop);
        lethe_block_drop_remainder(remainders, bits, slot, used--);
        drop ^= UINT32_C(1) << slot;
    }
}

#endif
