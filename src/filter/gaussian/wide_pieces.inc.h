/* filter/gaussian/wide_pieces.inc.h - packed slots whose bells are several words: piece by piece.
 *
 * A piece has as many slots as fit 57 bits, so that it can be read at a byte address; the next one
 * begins where it ends. */
#ifndef LETHE_FILTER_GAUSSIAN_WIDE_PIECES_H
#define LETHE_FILTER_GAUSSIAN_WIDE_PIECES_H

#include "filter/gaussian/gaussian.h"

/* The slots of a piece. */
static inline uint32_t lethe_gaussian_piece_slots(uint32_t slot_bits) {
    static const uint8_t slots[] = {0, 57, 28, 19, 14, 11, 9, 8, 8};
    return slots[slot_bits];
}

static inline bool covers_pieces(const struct lethe_gaussian_field *field,
                                 const struct lethe_gaussian_bell *bell, uint64_t location) {
    const struct lethe_gaussian_piece *pieces = field->parts;
    uint64_t step = (uint64_t)lethe_gaussian_piece_slots(field->slot_bits) * field->slot_bits;
    for (uint32_t i = 0; i < bell->part_count; i++, location += step) {
        uint64_t slots = lethe_gaussian_read(field->memory + location / 8) >> location % 8;
        if (lethe_gaussian_below(slots, pieces[bell->parts + i]) != 0) return false;
    }
    return true;
}

static inline bool raise_pieces(const struct lethe_gaussian_field *field,
                                const struct lethe_gaussian_bell *bell, uint64_t location) {
    const struct lethe_gaussian_piece *pieces = field->parts;
    uint64_t step = (uint64_t)lethe_gaussian_piece_slots(field->slot_bits) * field->slot_bits;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < bell->part_count; i++, location += step) {
        unsigned char *bytes = field->memory + location / 8;
        uint64_t word = lethe_gaussian_read(bytes);
        uint64_t slots = word >> location % 8;
        uint64_t raised = lethe_gaussian_raise(slots, pieces[bell->parts + i], field->slot_bits);
        lethe_gaussian_write(bytes, word ^ (slots ^ raised) << location % 8);
        changed |= slots ^ raised;
    }
    return changed == 0;
}

#endif
