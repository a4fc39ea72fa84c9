/* filter/gaussian/value_place.inc.h - where a bell begins in slots that are numbers, of the type
 * VALUE. */
#include "filter/gaussian/gaussian.h"

/* In slots. */
static inline uint64_t locate(const struct lethe_gaussian_field *field,
                              const struct lethe_gaussian_bell *bell, uint64_t position) {
    (void)field;
    return position + bell->start;
}

static inline const unsigned char *first_byte(const struct lethe_gaussian_field *field,
                                              const struct lethe_gaussian_bell *bell,
                                              uint64_t location) {
    (void)bell;
    return field->memory + location * sizeof(VALUE);
}
