/* filter/quotient/fields.h - the remainders of a quotient filter: packed fields of r bits, shifted
 * a block at a time.
 *
 * Field number s occupies bits s * r to s * r + r - 1 of one long little-endian array, so 64
 * fields, a block, are just r words, and a block's fields never share a word with a neighbour's.
 * Shifting is done on whole blocks: 64 bytes of 8-bit fields are two vectors, 128 of 16-bit ones
 * four, and any other width goes word by word, or four words at a time.
 *
 * LIMIT  r is 1..57, so that a field is read with one unaligned load. Up to 40 bytes after a block
 *        are read, and some of them written back as they were: they must be there and belong to the
 *        same writer. */
#ifndef LETHE_FILTER_QUOTIENT_FIELDS_H
#define LETHE_FILTER_QUOTIENT_FIELDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "remainders are read by unaligned loads of little-endian words");

enum { LETHE_FIELDS_A_BLOCK = 64, LETHE_FIELDS_MAX_BITS = 57 };

/* Whether bits is known to be this width where the code is compiled. Where it is not, the general
 * way is taken for every width, so that no width has a way of its own that only some callers
 * test. */
#define LETHE_FIELDS_ARE(bits, width) (__builtin_constant_p(bits) && (bits) == (width))

/* A word whose lowest count bits are set; count is 0..64. */
static inline uint64_t lethe_fields_below(unsigned count) {
#if defined(__BMI2__)
    return _bzhi_u64(~UINT64_C(0), count);
#else
    return count < 64 ? (UINT64_C(1) << count) - 1 : ~UINT64_C(0);
#endif
}

static inline uint64_t lethe_fields_load(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline void lethe_fields_store(unsigned char *bytes, uint64_t word) {
    memcpy(bytes, &word, sizeof word);
}

/* Field number slot of the whole array. */
static inline uint64_t lethe_fields_get(const unsigned char *fields, unsigned bits, uint64_t slot) {
    if (LETHE_FIELDS_ARE(bits, 8)) return fields[slot];
    uint64_t at = slot * bits;
    return lethe_fields_load(fields + at / 8) >> (at % 8) & lethe_fields_below(bits);
}

/* Makes room for one bit at position and puts bit there; the last bit falls out. */
static inline uint64_t lethe_fields_insert_bit(uint64_t word, unsigned position, uint64_t bit) {
    uint64_t below = word & lethe_fields_below(position);
    return below | bit << position | (word ^ below) << 1;
}

/* Takes out the bit at position; the bits above move down, and last becomes the highest. */
static inline uint64_t lethe_fields_drop_bit(uint64_t word, unsigned position, uint64_t last) {
    uint64_t kept = lethe_fields_below(position);
    return (word & kept) | (word >> 1 & ~kept) | last << 63;
}

#if defined(__AVX2__)

/* Which of 32 bytes, numbered from first, are slots number slot and up: for bytes, and for 16-bit
 * fields. */
static inline __m256i lethe_fields_bytes_from(unsigned first, int slot) {
    const __m256i numbers =
        _mm256_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                         21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
    return _mm256_cmpgt_epi8(_mm256_add_epi8(numbers, _mm256_set1_epi8((char)first)),
                             _mm256_set1_epi8((char)(slot - 1)));
}

static inline __m256i lethe_fields_shorts_from(unsigned first, int slot) {
    const __m256i numbers = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_cmpgt_epi16(_mm256_add_epi16(numbers, _mm256_set1_epi16((short)first)),
                              _mm256_set1_epi16((short)(slot - 1)));
}

static inline __m256i lethe_fields_vector(const unsigned char *at) {
    return _mm256_loadu_si256((const __m256i *)at);
}

/* The vectors of a block that begin one field before each of its own. The first one's lowest field
 * would be the block before, whose cache line nobody asked for: it is made of the block's own
 * bytes, and never used. */
static inline __m256i lethe_fields_one_before(__m256i first, int bytes) {
    __m256i low_to_high = _mm256_permute2x128_si256(first, first, 0x08);
    return bytes == 1 ? _mm256_alignr_epi8(first, low_to_high, 15)
                      : _mm256_alignr_epi8(first, low_to_high, 14);
}

/* From the last vector to the first, so that none is read after it was written; fields below slot
 * stay. */
static inline void lethe_fields_insert_bytes(unsigned char *block, unsigned slot, uint64_t value) {
    __m256i low = lethe_fields_vector(block), high = lethe_fields_vector(block + 32);
    high = _mm256_blendv_epi8(high, lethe_fields_vector(block + 31),
                              lethe_fields_bytes_from(32, (int)slot));
    low = _mm256_blendv_epi8(low, lethe_fields_one_before(low, 1),
                             lethe_fields_bytes_from(0, (int)slot));
    _mm256_storeu_si256((__m256i *)(block + 32), high);
    _mm256_storeu_si256((__m256i *)block, low);
    block[slot] = (unsigned char)value;
}

static inline void lethe_fields_insert_shorts(unsigned char *block, unsigned slot, uint64_t value) {
    for (int first = 48; first >= 0; first -= 16) {
        unsigned char *at = block + 2 * (ptrdiff_t)first;
        __m256i old = lethe_fields_vector(at);
        __m256i before = first > 0 ? lethe_fields_vector(at - 2) : lethe_fields_one_before(old, 2);
        __m256i moved =
            _mm256_blendv_epi8(old, before, lethe_fields_shorts_from((unsigned)first, (int)slot));
        _mm256_storeu_si256((__m256i *)at, moved);
    }
    uint16_t narrow = (uint16_t)value;
    memcpy(block + 2 * (size_t)slot, &narrow, sizeof narrow);
}

/* Chooses moved for 64-bit words number first and up, of the four that begin with number word. */
static inline __m256i lethe_fields_choose(__m256i old, __m256i moved, unsigned word, unsigned first,
                                          unsigned end) {
    __m256i index = _mm256_add_epi64(_mm256_set1_epi64x(word), _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i before = _mm256_cmpgt_epi64(_mm256_set1_epi64x(first), index);
    __m256i after = _mm256_cmpgt_epi64(index, _mm256_set1_epi64x((long long)end - 1));
    return _mm256_blendv_epi8(moved, old, _mm256_or_si256(before, after));
}

#endif

/* Shifts words first..last of a block up by bits, the lowest taking from the word before it; first
 * is not 0. Vectors go over some words more and leave them as they were. Narrow fields are all gone
 * over, so that the number of steps depends on r alone and is always guessed right; of wide ones,
 * no more cache lines are touched than have to be. */
static inline void lethe_fields_shift_up(unsigned char *block, unsigned first, unsigned last,
                                         unsigned bits) {
#if defined(__AVX2__)
    const __m128i left = _mm_cvtsi32_si128((int)bits), right = _mm_cvtsi32_si128(64 - (int)bits);
    unsigned from = bits <= 16 ? 0 : first / 4 * 4;
    unsigned word = (bits <= 16 ? bits + 3 : last + 4) / 4 * 4;
    while (word > from) {
        word -= 4;
        unsigned char *at = block + 8 * (size_t)word;
        __m256i upper = lethe_fields_vector(at);
        /* As above: the block's first word takes from none. */
        __m256i lower =
            word > 0 ? lethe_fields_vector(at - 8) : _mm256_permute4x64_epi64(upper, 0x90);
        __m256i moved =
            _mm256_or_si256(_mm256_sll_epi64(upper, left), _mm256_srl_epi64(lower, right));
        _mm256_storeu_si256((__m256i *)at, lethe_fields_choose(upper, moved, word, first, bits));
    }
#else
    for (unsigned end = last + 1; end > first; end--) {
        unsigned char *at = block + 8 * (size_t)end - 8;
        lethe_fields_store(at, lethe_fields_load(at) << bits |
                                   lethe_fields_load(at - 8) >> (64 - bits));
    }
#endif
}

/* Shifts words first..bits-1 down by bits, each taking from the word after it. */
static inline void lethe_fields_shift_down(unsigned char *block, unsigned first, unsigned bits) {
#if defined(__AVX2__)
    const __m128i right = _mm_cvtsi32_si128((int)bits), left = _mm_cvtsi32_si128(64 - (int)bits);
    for (unsigned word = 0; word < bits; word += 4) {
        unsigned char *at = block + 8 * (size_t)word;
        __m256i lower = lethe_fields_vector(at), upper = lethe_fields_vector(at + 8);
        __m256i moved =
            _mm256_or_si256(_mm256_srl_epi64(lower, right), _mm256_sll_epi64(upper, left));
        _mm256_storeu_si256((__m256i *)at, lethe_fields_choose(lower, moved, word, first, bits));
    }
#else
    for (unsigned i = first; i < bits; i++) {
        unsigned char *at = block + 8 * (size_t)i;
        lethe_fields_store(at, lethe_fields_load(at) >> bits | lethe_fields_load(at + 8)
                                                                   << (64 - bits));
    }
#endif
}

static inline void lethe_fields_insert_words(unsigned char *block, unsigned bits, unsigned slot,
                                             unsigned used, uint64_t value) {
    unsigned at = slot * bits, first = at / 64, shift = at % 64;
    unsigned last = used < 64 ? (used * bits + bits - 1) / 64 : bits - 1;
    unsigned char *head = block + 8 * (size_t)first;
    lethe_fields_shift_up(block, first + 2, last, bits);
    uint64_t low = lethe_fields_load(head);
    uint64_t below = low & lethe_fields_below(shift), moved = low ^ below;
    if (first + 1 < bits) {
        /* What moves up from the first word, and what of the value does not fit into it. */
        uint64_t high = lethe_fields_load(head + 8);
        high = high << bits | moved >> (64 - bits) | value >> 1 >> (63 - shift);
        lethe_fields_store(head + 8, high);
    }
    lethe_fields_store(head, below | moved << bits | value << shift);
}

static inline void lethe_fields_drop_words(unsigned char *block, unsigned bits, unsigned slot,
                                           uint64_t last) {
    unsigned at = slot * bits, first = at / 64;
    unsigned char *head = block + 8 * (size_t)first, *end = block + 8 * (size_t)bits - 8;
    uint64_t low = lethe_fields_load(head), kept = lethe_fields_below(at % 64);
    uint64_t high = first + 1 < bits ? lethe_fields_load(head + 8) << (64 - bits) : 0;
    lethe_fields_shift_down(block, first + 1, bits);
    lethe_fields_store(head, (low & kept) | ((low >> bits | high) & ~kept));
    uint64_t top = lethe_fields_load(end) & lethe_fields_below(64 - bits);
    lethe_fields_store(end, top | last << (64 - bits));
}

/* Moves a block's fields from slot (0..63) on one up and puts value into slot; the last one falls
 * out. Those from used on are zero. */
static inline void lethe_fields_insert(unsigned char *block, unsigned bits, unsigned slot,
                                       unsigned used, uint64_t value) {
#if defined(__AVX2__)
    if (LETHE_FIELDS_ARE(bits, 8)) {
        lethe_fields_insert_bytes(block, slot, value);
        return;
    }
    if (LETHE_FIELDS_ARE(bits, 16)) {
        lethe_fields_insert_shorts(block, slot, value);
        return;
    }
#endif
    lethe_fields_insert_words(block, bits, slot, used, value);
}

/* Moves a block's fields above slot one down, over it, and puts last into the block's last slot. */
static inline void lethe_fields_drop(unsigned char *block, unsigned bits, unsigned slot,
                                     uint64_t last) {
    if (LETHE_FIELDS_ARE(bits, 8)) {
        memmove(block + slot, block + slot + 1, 63 - slot);
        block[63] = (unsigned char)last;
        return;
    }
    lethe_fields_drop_words(block, bits, slot, last);
}

#endif
