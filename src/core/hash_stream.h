/* core/hash_stream.h - the hash of bytes that come in pieces: that of lethe_hash_bytes. */
#ifndef LETHE_CORE_HASH_STREAM_H
#define LETHE_CORE_HASH_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/hash.h"

typedef struct lethe_hash_stream lethe_hash_stream;

/* NULL when there is no memory. */
lethe_hash_stream *lethe_hash_stream_new(uint64_t seed);
void lethe_hash_stream_add(lethe_hash_stream *stream, const void *data, size_t size);
/* Of all that was added. Frees the stream. */
lethe_hash lethe_hash_stream_end(lethe_hash_stream *stream);

#endif
