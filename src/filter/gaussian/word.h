/* filter/gaussian/word.h - many small slots side by side in a 64-bit word: compared and raised at
 * once.
 *
 * Slots of t bits lie densely. A piece is what a bell wants of up to 64/t neighbouring slots: their
 * levels, and the top bit of each slot that it speaks of. To compare fields without unpacking them,
 * the top bit of every slot is set and that of every level cleared, so that a subtraction borrows
 * from no neighbour; the top bits themselves are compared by logic. Fields without a top bit in the
 * piece are left alone, whatever they hold. */
#ifndef LETHE_FILTER_GAUSSIAN_WORD_H
#define LETHE_FILTER_GAUSSIAN_WORD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/bits.h"

struct lethe_gaussian_piece {
    uint64_t levels;
    uint64_t tops;
};

/* The top bits of those fields whose slot is below its level. */
static inline uint64_t lethe_gaussian_below(uint64_t slots, struct lethe_gaussian_piece piece) {
    uint64_t difference = (slots | piece.tops) - (piece.levels & ~piece.tops);
    uint64_t reaches = (slots & ~piece.levels) | (~(slots ^ piece.levels) & difference);
    return ~reaches & piece.tops;
}

/* The slots, those below their level raised to it. */
static inline uint64_t lethe_gaussian_raise(uint64_t slots, struct lethe_gaussian_piece piece,
                                            unsigned slot_bits) {
    uint64_t below = lethe_gaussian_below(slots, piece);
    uint64_t whole_fields = below | (below - (below >> (slot_bits - 1)));
    return slots ^ ((slots ^ piece.levels) & whole_fields);
}

/* A word as it lies in bytes at any address. */
static inline uint64_t lethe_gaussian_read(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return lethe_little_endian64(word);
}

static inline void lethe_gaussian_write(unsigned char *bytes, uint64_t word) {
    word = lethe_little_endian64(word);
    memcpy(bytes, &word, sizeof word);
}

#endif
