/* filter/gaussian/value_slots.inc.h - slots that are floating-point numbers, of the type VALUE; one
 * at a time. */
#include "filter/gaussian/value_place.inc.h"

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    const VALUE *slots = (const VALUE *)(const void *)field->memory + location;
    const VALUE *values = (const VALUE *)field->parts + bell->parts;
    for (uint32_t i = 0; i < 2 * bell->radius + 1; i++) {
        if (slots[i] < values[i]) return false;
    }
    return true;
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    VALUE *slots = (VALUE *)(void *)field->memory + location;
    const VALUE *values = (const VALUE *)field->parts + bell->parts;
    bool none = true;
    for (uint32_t i = 0; i < 2 * bell->radius + 1; i++) {
        bool below = slots[i] < values[i];
        if (below) slots[i] = values[i];
        none &= !below;
    }
    return none;
}
