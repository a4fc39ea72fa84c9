/* word.h - eight bytes of text in a word, for the code that runs on any CPU. */
#ifndef LETHE_CLI_EVENTS_WORD_H
#define LETHE_CLI_EVENTS_WORD_H

#include <stdint.h>
#include <string.h>

/* A word of eight such bytes. */
#define REPEATED(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Eight bytes from `at` on; the first is the lowest, whatever the CPU's order is. */
static inline uint64_t word_load(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

/* 0x80 in each byte of the word that is zero. A byte is zero if and only if adding 0x7f to its
 * lower bits sets none of the highest, and it has no highest bit itself. Nothing is carried from
 * one byte to the next, so all eight are found exactly. */
static inline uint64_t word_zeros(uint64_t word) {
    const uint64_t low = REPEATED(0x7f);
    return ~(((word & low) + low) | word | low);
}

/* 0x80 in each byte of the word that is the one that is looked for. */
static inline uint64_t word_find(uint64_t word, char byte) {
    return word_zeros(word ^ REPEATED((unsigned char)byte));
}

/* Gathers the highest bits of the bytes, of a word that has no others, in the lowest byte. */
static inline uint64_t word_gather(uint64_t word) {
    return (word >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

#endif
