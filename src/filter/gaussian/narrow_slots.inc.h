/* filter/gaussian/narrow_slots.inc.h - packed slots whose every bell fits one word at a byte
 * address. */
#include "filter/gaussian/packed_place.inc.h"

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    uint64_t slots = lethe_gaussian_read(field->memory + location / 8) >> location % 8;
    return lethe_gaussian_below(slots, bell->piece) == 0;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    unsigned char *bytes = field->memory + location / 8;
    uint64_t word = lethe_gaussian_read(bytes);
    uint64_t slots = word >> location % 8;
    uint64_t raised = lethe_gaussian_raise(slots, bell->piece, field->slot_bits);
    lethe_gaussian_write(bytes, word ^ (slots ^ raised) << location % 8);
    return slots == raised;
}
