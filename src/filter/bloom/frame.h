/* filter/bloom/frame.h - the beginning of a saved Bloom filter (docs/format/bloom.md), for those
 * who save one, and for those who have its bits from elsewhere. The words of the bit array
 * follow. */
#ifndef LETHE_FILTER_BLOOM_FRAME_H
#define LETHE_FILTER_BLOOM_FRAME_H

#include "core/codec.h"
#include "lethe/bloom.h"

#define LETHE_BLOOM_FRAME_TYPE "BLOM"

enum { LETHE_BLOOM_FRAME_VERSION = 1, LETHE_BLOOM_FIELD_BYTES = 56 };

/* Begins to save a filter whose bit array has shape->memory_bytes, and puts its fields. */
LETHE_MUST_CHECK static inline lethe_status
lethe_bloom_frame_begin(lethe_sink sink, const lethe_bloom_shape *shape, uint64_t additions,
                        const lethe_allocator *allocator, lethe_encoder **out) {
    lethe_status status =
        lethe_encoder_begin(sink, LETHE_BLOOM_FRAME_TYPE, LETHE_BLOOM_FRAME_VERSION,
                            LETHE_BLOOM_FIELD_BYTES + shape->memory_bytes, allocator, out);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u32(*out, (uint32_t)shape->layout);
    lethe_encoder_put_u32(*out, shape->hashes);
    lethe_encoder_put_u64(*out, shape->bits);
    lethe_encoder_put_u64(*out, shape->seed);
    lethe_encoder_put_u64(*out, shape->capacity);
    lethe_encoder_put_f64(*out, shape->error);
    lethe_encoder_put_u64(*out, additions);
    lethe_encoder_put_u64(*out, 0);
    return LETHE_OK;
}

#endif
