/* filter/bloom/format.c - saves and loads Bloom filters: docs/format/bloom.md.
 *
 * The payload is 56 bytes of fields and the words of the bit array. A loader trusts the size only
 * when the fields agree with each other, with the limits of plan.c, and with the bytes that are
 * there. */
#include "core/bits.h"
#include "core/codec.h"
#include "core/io.h"
#include "filter/bloom/bloom.h"
#include "filter/bloom/frame.h"

lethe_status lethe_bloom_save(const lethe_bloom *filter, lethe_sink sink) {
    if (filter == NULL) return LETHE_EINVAL;
    const lethe_bloom_shape *shape = &filter->shape;
    lethe_encoder *encoder;
    lethe_status status =
        lethe_bloom_frame_begin(sink, shape, filter->additions, filter->allocator, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_words(encoder, filter->bits.words, lethe_bloom_words(shape));
    return lethe_encoder_end(encoder);
}

/* Reads the fields; LETHE_ECORRUPT unless they make a filter whose words are what is left. */
static lethe_status read_fields(lethe_decoder *decoder, lethe_bloom_shape *shape,
                                uint64_t *additions) {
    uint32_t layout = lethe_decoder_get_u32(decoder);
    *shape = (lethe_bloom_shape)LETHE_INIT(lethe_bloom_shape);
    shape->hashes = lethe_decoder_get_u32(decoder);
    shape->bits = lethe_decoder_get_u64(decoder);
    shape->seed = lethe_decoder_get_u64(decoder);
    shape->capacity = lethe_decoder_get_u64(decoder);
    shape->error = lethe_decoder_get_f64(decoder);
    *additions = lethe_decoder_get_u64(decoder);
    uint64_t zero = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    if (layout > LETHE_BLOOM_BLOCKED) return LETHE_ECORRUPT;
    shape->layout = (lethe_bloom_layout)layout;
    bool valid = lethe_bloom_is_valid_size(shape->layout, shape->bits, shape->hashes) &&
                 shape->error >= 0 && shape->error <= 1 && shape->seed != 0 && zero == 0;
    if (!valid) return LETHE_ECORRUPT;
    shape->memory_bytes = lethe_bloom_words(shape) * sizeof(uint64_t);
    return shape->memory_bytes == lethe_decoder_left(decoder) ? LETHE_OK : LETHE_ECORRUPT;
}

static lethe_status get_filter(lethe_decoder *decoder, const lethe_allocator *allocator,
                               lethe_bloom **out) {
    lethe_bloom_shape shape;
    uint64_t additions;
    lethe_status status = read_fields(decoder, &shape, &additions);
    if (status == LETHE_OK) status = lethe_bloom_from_shape(&shape, allocator, out);
    if (status != LETHE_OK) return status;
    lethe_bloom *filter = *out;
    filter->additions = additions;
    lethe_decoder_get_words(decoder, filter->bits.words, lethe_bloom_words(&shape));
    /* I1 of classic.c. */
    return lethe_bits_end_clean(filter->bits.words, shape.bits) ? LETHE_OK : LETHE_ECORRUPT;
}

LETHE_DEFINE_LOAD(lethe_bloom, LETHE_BLOOM_FRAME_TYPE, LETHE_BLOOM_FRAME_VERSION, get_filter)

LETHE_DEFINE_FILE_FUNCTIONS(lethe_bloom)
