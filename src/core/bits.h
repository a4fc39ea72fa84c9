/* core/bits.h - arithmetic on single 64-bit words: the vocabulary of every filter.
 *
 * Select has two implementations that give the same answer. A file compiled for BMI2 gets PDEP
 * inline; any other gets the portable one. Structures whose hot path is select are compiled once
 * for each and choose at run time by core/cpu.h. */
#ifndef LETHE_CORE_BITS_H
#define LETHE_CORE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__BMI2__) || defined(__BMI__) || defined(__AVX2__)
#include <immintrin.h>
#endif

__extension__ typedef unsigned __int128 lethe_uint128;

/* The upper half of a * b. With a random, this maps it to 0..b-1 evenly and without division. */
static inline uint64_t lethe_multiply_high(uint64_t a, uint64_t b) {
    return (uint64_t)(((lethe_uint128)a * b) >> 64);
}

static inline unsigned lethe_popcount64(uint64_t word) {
    return (unsigned)__builtin_popcountll(word);
}

/* The set bits of words[0..count), of first and second together where second is not NULL. In a
 * function of its own, since only there can the CPU's own instruction be used on any machine. */
uint64_t lethe_popcount_words(const uint64_t *first, const uint64_t *second, size_t count);

/* How many of word's bits below position are set; position is 0..64. */
static inline unsigned lethe_rank64(uint64_t word, unsigned position) {
    if (position < 64) word &= (UINT64_C(1) << position) - 1;
    return lethe_popcount64(word);
}

/* The position of word's set bit number index, from 0; 64 when it has no more than index. */
static inline unsigned lethe_select64_portable(uint64_t word, unsigned index) {
    /* Byte sums side by side: byte i of sums holds the set bits of bytes 0..i. */
    uint64_t sums = word - ((word >> 1) & UINT64_C(0x5555555555555555));
    sums = (sums & UINT64_C(0x3333333333333333)) + ((sums >> 2) & UINT64_C(0x3333333333333333));
    sums = (sums + (sums >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    sums *= UINT64_C(0x0101010101010101);
    if (index >= sums >> 56) return 64;

    unsigned shift = 0;
    while ((sums >> shift & 0xff) <= index)
        shift += 8;
    if (shift > 0) index -= (unsigned)(sums >> (shift - 8) & 0xff);
    uint64_t byte = word >> shift & 0xff;
    while (index-- > 0)
        byte &= byte - 1;
    return shift + (unsigned)__builtin_ctzll(byte);
}

/* The same for a word that is known to have more than index ones. */
static inline unsigned lethe_select64_of(uint64_t word, unsigned index) {
#if defined(__BMI2__)
    return (unsigned)_tzcnt_u64(_pdep_u64(UINT64_C(1) << index, word));
#else
    return lethe_select64_portable(word, index);
#endif
}

static inline unsigned lethe_select64(uint64_t word, unsigned index) {
#if defined(__BMI2__)
    /* TZCNT of no bit is 64: just what is wanted. An index of 64 and more would wrap the shift. */
    return index > 63 ? 64 : (unsigned)_tzcnt_u64(_pdep_u64(UINT64_C(1) << index, word));
#else
    return lethe_select64_portable(word, index);
#endif
}

/* The number of zeros below the lowest one; 64 when there is no one. */
static inline unsigned lethe_trailing_zeros64(uint64_t word) {
#if defined(__BMI__)
    return (unsigned)_tzcnt_u64(word);
#else
    return word == 0 ? 64 : (unsigned)__builtin_ctzll(word);
#endif
}

/* Gathers the bits of word at mask's ones into the low bits, in order: PEXT. */
static inline uint64_t lethe_extract64_portable(uint64_t word, uint64_t mask) {
    uint64_t gathered = 0;
    for (unsigned to = 0; mask != 0; to++, mask &= mask - 1)
        gathered |= (word >> __builtin_ctzll(mask) & 1) << to;
    return gathered;
}

/* Scatters the low bits of word to mask's ones, in order: PDEP. */
static inline uint64_t lethe_deposit64_portable(uint64_t word, uint64_t mask) {
    uint64_t scattered = 0;
    for (; mask != 0; word >>= 1, mask &= mask - 1)
        scattered |= (word & 1) << __builtin_ctzll(mask);
    return scattered;
}

static inline uint64_t lethe_extract64(uint64_t word, uint64_t mask) {
#if defined(__BMI2__)
    return _pext_u64(word, mask);
#else
    return lethe_extract64_portable(word, mask);
#endif
}

static inline uint64_t lethe_deposit64(uint64_t word, uint64_t mask) {
#if defined(__BMI2__)
    return _pdep_u64(word, mask);
#else
    return lethe_deposit64_portable(word, mask);
#endif
}

/* Whether what the last of the words has beyond this many bits is zero. */
static inline bool lethe_bits_end_clean(const uint64_t *words, uint64_t bits) {
    unsigned used = bits % 64;
    return used == 0 || words[bits / 64] >> used == 0;
}

/* A word as it lies in a little-endian file, and back. */
static inline uint64_t lethe_little_endian64(uint64_t word) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

#endif
