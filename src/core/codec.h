/* core/codec.h - the frame around everything Lethe saves.
 *
 * Format: docs/format/codec.md. A frame is a 40-byte header (magic, type, version, payload
 * length, checksum of the header), the payload, and a checksum of the payload. All numbers
 * are little-endian.
 *
 * Writing   begin, put..., end. The payload's length is given at the beginning, and exactly that
 *           much must follow.
 * Reading   begin, get..., end. Errors stick: after the first one every get returns zero, so
 *           a loader reads its fields in a row and asks once. It asks before it believes a size:
 *           lethe_decoder_status, then lethe_decoder_left to compare.
 * Trust     begin has checked the header and that the source really holds the payload, so
 *           memory bounded by lethe_decoder_left is memory bounded by real data. The payload's own
 *           checksum is known only at end: until then its fields may be anything. */
#ifndef LETHE_CORE_CODEC_H
#define LETHE_CORE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/io.h"

enum { LETHE_FRAME_HEADER_BYTES = 40, LETHE_FRAME_OVERHEAD_BYTES = 48 };

typedef struct lethe_encoder lethe_encoder;
typedef struct lethe_decoder lethe_decoder;

/* Starts a frame of payload_bytes into sink. type is four letters. *out is freed by end.
 * Errors: LETHE_EINVAL (the sink lacks its function), LETHE_ENOMEM, the sink's. */
LETHE_MUST_CHECK lethe_status lethe_encoder_begin(lethe_sink sink, const char *type,
                                                  uint16_t version, uint64_t payload_bytes,
                                                  const lethe_allocator *allocator,
                                                  lethe_encoder **out);
void lethe_encoder_put_u32(lethe_encoder *encoder, uint32_t value);
void lethe_encoder_put_u64(lethe_encoder *encoder, uint64_t value);
void lethe_encoder_put_f64(lethe_encoder *encoder, double value);
void lethe_encoder_put_words(lethe_encoder *encoder, const uint64_t *words, size_t count);
void lethe_encoder_put_bytes(lethe_encoder *encoder, const void *data, size_t size);
/* What went wrong so far, if anything. */
lethe_status lethe_encoder_status(const lethe_encoder *encoder);
/* Ends the frame and frees the encoder; the first error of all that was put, if any. */
LETHE_MUST_CHECK lethe_status lethe_encoder_end(lethe_encoder *encoder);
/* Frees the encoder of a frame that can't be completed. */
void lethe_encoder_abort(lethe_encoder *encoder);

/* Starts reading a frame that fills source exactly. On error *out is NULL.
 * Errors: LETHE_ECORRUPT, LETHE_ETYPE, LETHE_EVERSION (newer than newest_version), LETHE_ENOMEM,
 * the source's. */
LETHE_MUST_CHECK lethe_status lethe_decoder_begin(lethe_source source, const char *type,
                                                  uint16_t newest_version,
                                                  const lethe_allocator *allocator,
                                                  lethe_decoder **out);
unsigned lethe_decoder_version(const lethe_decoder *decoder);
uint32_t lethe_decoder_get_u32(lethe_decoder *decoder);
uint64_t lethe_decoder_get_u64(lethe_decoder *decoder);
double lethe_decoder_get_f64(lethe_decoder *decoder);
/* Fill words[0..count), data[0..size); zero them on error. */
void lethe_decoder_get_words(lethe_decoder *decoder, uint64_t *words, size_t count);
void lethe_decoder_get_bytes(lethe_decoder *decoder, void *data, size_t size);
/* Payload bytes not yet read. */
uint64_t lethe_decoder_left(const lethe_decoder *decoder);
lethe_status lethe_decoder_status(const lethe_decoder *decoder);
/* Frees the decoder. LETHE_OK only when the whole payload was read and its checksum is right. */
LETHE_MUST_CHECK lethe_status lethe_decoder_end(lethe_decoder *decoder);
/* The same for a loader that has come to `status`: returns that if it is an error. */
LETHE_MUST_CHECK static inline lethe_status lethe_decoder_end_after(lethe_decoder *decoder,
                                                                    lethe_status status) {
    lethe_status ended = lethe_decoder_end(decoder);
    return status != LETHE_OK ? status : ended;
}

/* Defines TYPE_load for a structure whose frame is read by
 *     get_(lethe_decoder *, const lethe_allocator *, TYPE **out)
 * On error, get_ may leave an object at *out, which TYPE_free takes. */
#define LETHE_DEFINE_LOAD(type_, frame_type_, newest_version_, get_) \
    LETHE_DEFINE_LOAD_AS(type_##_load, type_, frame_type_, newest_version_, get_)
/* The same for a function of another name. */
#define LETHE_DEFINE_LOAD_AS(function_, type_, frame_type_, newest_version_, get_)               \
    lethe_status function_(lethe_source source, const lethe_allocator *allocator, type_ **out) { \
        if (out == NULL) return LETHE_EINVAL;                                                    \
        *out = NULL;                                                                             \
        lethe_decoder *decoder;                                                                  \
        lethe_status status =                                                                    \
            lethe_decoder_begin(source, frame_type_, newest_version_, allocator, &decoder);      \
        if (status != LETHE_OK) return status;                                                   \
        type_ *made = NULL;                                                                      \
        status = lethe_decoder_end_after(decoder, get_(decoder, allocator, &made));              \
        if (status == LETHE_OK) {                                                                \
            *out = made;                                                                         \
        } else {                                                                                 \
            type_##_free(made);                                                                  \
        }                                                                                        \
        return status;                                                                           \
    }

/* XXH3-64 of size bytes, for what has a checksum without a frame. Cost: some 10 GB/s. */
uint64_t lethe_checksum(uint64_t seed, const void *data, size_t size);

/* Checks a header alone; source_bytes is the length of the whole frame. */
LETHE_MUST_CHECK lethe_status
lethe_frame_check_header(const unsigned char header[LETHE_FRAME_HEADER_BYTES],
                         uint64_t source_bytes, lethe_file_info *out);

#endif
