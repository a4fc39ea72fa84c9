/* filter/bloom/format.c - saves and loads Bloom filters: docs/format/bloom.md.
 *
 * The payload is 56 bytes of fields and the words of the bit array. A loader trusts the size only
 * when the fields agree with each other, with the limits of plan.c, and with the bytes that are
 * there. */
#include "core/codec.h"
#include "core/io.h"
#include "filter/bloom/bloom.h"

#define TYPE "BLOM"

enum { VERSION = 1, FIELD_BYTES = 56 };

lethe_status lethe_bloom_save(const lethe_bloom *filter, lethe_sink sink) {
    if (filter == NULL) return LETHE_EINVAL;
    const lethe_bloom_shape *shape = &filter->shape;
    lethe_encoder *encoder;
    lethe_status status = lethe_encoder_begin(
        sink, TYPE, VERSION, FIELD_BYTES + shape->memory_bytes, filter->allocator, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u32(encoder, (uint32_t)shape->layout);
    lethe_encoder_put_u32(encoder, shape->hashes);
    lethe_encoder_put_u64(encoder, shape->bits);
    lethe_encoder_put_u64(encoder, shape->seed);
    lethe_encoder_put_u64(encoder, shape->capacity);
    lethe_encoder_put_f64(encoder, shape->error);
    lethe_encoder_put_u64(encoder, filter->additions);
    lethe_encoder_put_u64(encoder, 0);
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

/* Whether the bits of the last word that lie beyond m are clear (I1 of classic.c). */
static bool has_clean_end(const lethe_bloom *filter) {
    unsigned used = filter->shape.bits % 64;
    if (used == 0) return true;
    return filter->bits.words[lethe_bloom_words(&filter->shape) - 1] >> used == 0;
}

lethe_status lethe_bloom_load(lethe_source source, const lethe_allocator *allocator,
                              lethe_bloom **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_decoder *decoder;
    lethe_status status = lethe_decoder_begin(source, TYPE, VERSION, allocator, &decoder);
    if (status != LETHE_OK) return status;
    lethe_bloom_shape shape;
    uint64_t additions;
    lethe_bloom *filter = NULL;
    status = read_fields(decoder, &shape, &additions);
    if (status == LETHE_OK) status = lethe_bloom_from_shape(&shape, allocator, &filter);
    if (status == LETHE_OK) {
        filter->additions = additions;
        lethe_decoder_get_words(decoder, filter->bits.words, lethe_bloom_words(&shape));
    }
    lethe_status ended = lethe_decoder_end(decoder);
    if (status == LETHE_OK) status = ended;
    if (status == LETHE_OK && !has_clean_end(filter)) status = LETHE_ECORRUPT;
    if (status != LETHE_OK) {
        lethe_bloom_free(filter);
        return status;
    }
    *out = filter;
    return LETHE_OK;
}

LETHE_DEFINE_FILE_FUNCTIONS(lethe_bloom)
