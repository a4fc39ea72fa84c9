/* engine/ids/chunks.h - memory for runs of the index, in chunks of one size that are used again.
 *
 * Merging frees as much as it takes, over and over. Fresh memory comes from the system, which
 * clears it first; what was freed before need not be cleared. Whoever uses it needs it alone. */
#ifndef LETHE_ENGINE_IDS_CHUNKS_H
#define LETHE_ENGINE_IDS_CHUNKS_H

#include "lethe/allocator.h"

#include <stddef.h>
#include <stdint.h>

enum { LETHE_CHUNKS_SPARE = 16 };

typedef struct lethe_chunks {
    const lethe_allocator *allocator;
    /* A chunk has 2^item_bits items. */
    unsigned item_bits;
    size_t item_bytes;
    /* Those that were given back; more than fit here go to the system. */
    unsigned char *spare[LETHE_CHUNKS_SPARE];
    unsigned spare_count;
} lethe_chunks;

static inline size_t lethe_chunks_each_bytes(const lethe_chunks *chunks) {
    return chunks->item_bytes << chunks->item_bits;
}

/* A chunk; what it holds is undefined. NULL: there is no memory. */
unsigned char *lethe_chunks_take(lethe_chunks *chunks);
/* Takes NULL. */
void lethe_chunks_give(lethe_chunks *chunks, unsigned char *chunk);
/* Frees what was given back. */
void lethe_chunks_drop(lethe_chunks *chunks);

#endif
