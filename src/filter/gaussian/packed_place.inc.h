/* filter/gaussian/packed_place.inc.h - where a bell begins in packed slots. */
#include "filter/gaussian/gaussian.h"

/* In bits. */
static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    return position * field->slot_bits + bell->start;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t location) {
    (void)bell;
    return field->memory + location / 8;
}
