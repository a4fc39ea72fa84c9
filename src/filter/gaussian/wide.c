/* filter/gaussian/wide.c - bells of several words in packed slots, with the instructions of every
 * machine. */
#include "filter/gaussian/packed_place.inc.h"
#include "filter/gaussian/wide_pieces.inc.h"

static inline bool covers_at(const struct lethe_gaussian_field *field,
                             const struct lethe_gaussian_bell *bell, uint64_t location) {
    return covers_pieces(field, bell, location);
}

static inline bool raise_at(const struct lethe_gaussian_field *field,
                            const struct lethe_gaussian_bell *bell, uint64_t location) {
    return raise_pieces(field, bell, location);
}

#define LAST_BYTE 31
#define OPERATIONS lethe_gaussian_wide_scalar
#include "filter/gaussian/loops.inc.h"
