/* sketch/hot_portable.c - the operations of sketches for any machine. */
#include <stddef.h>

#include "sketch/place.h"

static inline void place_many(const lethe_hash *hashes, size_t count, uint32_t width,
                              uint32_t first, uint32_t *at, size_t stride) {
    for (size_t i = 0; i < count; i++)
        lethe_place_rows(hashes[i], width, first, at + i * stride);
}

#define OPERATIONS lethe_sketch_portable
#include "sketch/hot.inc.h"
