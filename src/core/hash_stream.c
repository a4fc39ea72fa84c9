/* core/hash_stream.c - XXH3-128 of bytes that come in pieces. */
#include "core/hash_stream.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A stream is xxHash's own state; only the name of the type is ours. */
static XXH3_state_t *inner(lethe_hash_stream *stream) {
    return (XXH3_state_t *)(void *)stream;
}

lethe_hash_stream *lethe_hash_stream_new(uint64_t seed) {
    XXH3_state_t *state = XXH3_createState();
    if (state != NULL) (void)XXH3_128bits_reset_withSeed(state, seed);
    return (lethe_hash_stream *)(void *)state;
}

void lethe_hash_stream_add(lethe_hash_stream *stream, const void *data, size_t size) {
    (void)XXH3_128bits_update(inner(stream), data, size);
}

lethe_hash lethe_hash_stream_end(lethe_hash_stream *stream) {
    XXH128_hash_t value = XXH3_128bits_digest(inner(stream));
    (void)XXH3_freeState(inner(stream));
    return (lethe_hash){.low = value.low64, .high = value.high64};
}
