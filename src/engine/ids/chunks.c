/* engine/ids/chunks.c - see chunks.h.
 *
 * WHY     A run is a list of chunks, and not one block, so that four small runs leave what a larger
 *         one can take. Chunks that are given back when four runs became one are as many as the new
 *         run has, so that keeping them takes no more memory than there was a moment ago.
 * LIMIT   Of more than LETHE_CHUNKS_SPARE that are given back at once, the others are cleared. */
#include "engine/ids/chunks.h"

#include "core/allocator.h"

unsigned char *lethe_chunks_take(lethe_chunks *chunks) {
    if (chunks->spare_count > 0) return chunks->spare[--chunks->spare_count];
    return lethe_alloc_zeroed(chunks->allocator, lethe_chunks_each_bytes(chunks));
}

void lethe_chunks_give(lethe_chunks *chunks, unsigned char *chunk) {
    if (chunk != NULL && chunks->spare_count < LETHE_CHUNKS_SPARE) {
        chunks->spare[chunks->spare_count++] = chunk;
    } else {
        lethe_release(chunks->allocator, chunk, lethe_chunks_each_bytes(chunks));
    }
}

void lethe_chunks_drop(lethe_chunks *chunks) {
    while (chunks->spare_count > 0)
        lethe_release(chunks->allocator, chunks->spare[--chunks->spare_count],
                      lethe_chunks_each_bytes(chunks));
}
