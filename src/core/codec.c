/* core/codec.c - writes and reads the frame around saved data.
 *
 * IDEA    Everything that can go wrong with stored bytes is caught here once: wrong file, cut
 *         short, run on, flipped, swapped with another, from a newer version. A structure's
 *         own loader only has to check that its fields make sense together.
 * LAYOUT  0  magic     8 bytes, 0x89 "LETHE" CR LF (a text-mode transfer breaks it visibly)
 *         8  type      4 letters
 *         12 version   u16, of that type's format
 *         14 zero      u16
 *         16 length    u64, of the payload
 *         24 zero      u64
 *         32 check     u64, XXH3-64 of bytes 0..31
 *         40 payload
 *         .. check     u64, XXH3-64 of the payload, seeded with the header's check, which
 *                      ties the two together
 * I1      Nothing is believed before it is checked: the header has its own checksum, and the
 *         length must equal what the source really holds, before anything is allocated.
 * I2      After the first error nothing more is read or written.
 * WHY     The staging buffer makes small puts cheap. Bulk words bypass it, in pieces so
 *         small that they are still in the cache when the sink takes them, after the checksum. */
#include "core/codec.h"

#include <assert.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/allocator.h"
#include "core/bits.h"
#include "core/bytes.h"

enum { STAGING_BYTES = 4096, CHECKED_HEADER_BYTES = 32 };

/* Bulk words go in pieces of this many bytes, about what the second-level cache holds. */
#define PIECE_BYTES ((size_t)256 * 1024)

static const unsigned char magic[8] = {0x89, 'L', 'E', 'T', 'H', 'E', '\r', '\n'};

struct lethe_encoder {
    const lethe_allocator *allocator;
    lethe_sink sink;
    lethe_status status;
    uint64_t payload_left; /* what begin announced less what was put */
    size_t staged;
    unsigned char staging[STAGING_BYTES];
    XXH3_state_t checksum;
};

struct lethe_decoder {
    const lethe_allocator *allocator;
    lethe_source source;
    lethe_status status;
    unsigned version;
    uint64_t payload_left; /* not yet given to the caller */
    uint64_t source_left;  /* payload bytes not yet taken from the source */
    size_t staged, used;   /* staging[used..staged) is read but not given */
    unsigned char staging[STAGING_BYTES];
    XXH3_state_t checksum;
};

static uint64_t header_check(const unsigned char *header) {
    return XXH3_64bits(header, CHECKED_HEADER_BYTES);
}

uint64_t lethe_checksum(uint64_t seed, const void *data, size_t size) {
    return XXH3_64bits_withSeed(data, size, seed);
}

lethe_status lethe_encoder_begin(lethe_sink sink, const char *type, uint16_t version,
                                 uint64_t payload_bytes, const lethe_allocator *allocator,
                                 lethe_encoder **out) {
    assert(strlen(type) == 4);
    *out = NULL;
    if (sink.write == NULL) return LETHE_EINVAL;
    unsigned char header[LETHE_FRAME_HEADER_BYTES] = {0};
    memcpy(header, magic, sizeof magic);
    memcpy(header + 8, type, 4);
    lethe_put_u16(header + 12, version);
    lethe_put_u64(header + 16, payload_bytes);
    lethe_put_u64(header + 32, header_check(header));

    lethe_encoder *encoder = lethe_alloc_zeroed(allocator, sizeof *encoder);
    if (encoder == NULL) return LETHE_ENOMEM;
    lethe_status status = sink.write(sink.context, header, sizeof header);
    if (status != LETHE_OK) {
        lethe_release(allocator, encoder, sizeof *encoder);
        return status;
    }
    encoder->allocator = allocator;
    encoder->sink = sink;
    encoder->status = LETHE_OK;
    encoder->payload_left = payload_bytes;
    encoder->staged = 0;
    XXH3_INITSTATE(&encoder->checksum);
    XXH3_64bits_reset_withSeed(&encoder->checksum, lethe_get_u64(header + 32));
    *out = encoder;
    return LETHE_OK;
}

static void write_through(lethe_encoder *encoder, const void *data, size_t size) {
    if (encoder->status != LETHE_OK || size == 0) return;
    XXH3_64bits_update(&encoder->checksum, data, size);
    encoder->status = encoder->sink.write(encoder->sink.context, data, size);
}

static void flush(lethe_encoder *encoder) {
    write_through(encoder, encoder->staging, encoder->staged);
    encoder->staged = 0;
}

static void put(lethe_encoder *encoder, const void *data, size_t size) {
    assert(size <= encoder->payload_left);
    encoder->payload_left -= size;
    if (encoder->staged + size > STAGING_BYTES) flush(encoder);
    memcpy(encoder->staging + encoder->staged, data, size);
    encoder->staged += size;
}

void lethe_encoder_put_u32(lethe_encoder *encoder, uint32_t value) {
    unsigned char bytes[4];
    lethe_put_u32(bytes, value);
    put(encoder, bytes, sizeof bytes);
}

void lethe_encoder_put_u64(lethe_encoder *encoder, uint64_t value) {
    unsigned char bytes[8];
    lethe_put_u64(bytes, value);
    put(encoder, bytes, sizeof bytes);
}

void lethe_encoder_put_f64(lethe_encoder *encoder, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    lethe_encoder_put_u64(encoder, bits);
}

void lethe_encoder_put_bytes(lethe_encoder *encoder, const void *data, size_t size) {
    assert(size <= encoder->payload_left);
    encoder->payload_left -= size;
    flush(encoder);
    const unsigned char *bytes = data;
    for (size_t done = 0; done < size; done += PIECE_BYTES) {
        size_t piece = size - done < PIECE_BYTES ? size - done : PIECE_BYTES;
        write_through(encoder, bytes + done, piece);
    }
}

void lethe_encoder_put_words(lethe_encoder *encoder, const uint64_t *words, size_t count) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    lethe_encoder_put_bytes(encoder, words, count * 8);
#else
    for (size_t i = 0; i < count; i++)
        lethe_encoder_put_u64(encoder, words[i]);
#endif
}

lethe_status lethe_encoder_status(const lethe_encoder *encoder) {
    return encoder->status;
}

lethe_status lethe_encoder_end(lethe_encoder *encoder) {
    flush(encoder);
    assert(encoder->status != LETHE_OK || encoder->payload_left == 0);
    lethe_status status = encoder->status;
    if (status == LETHE_OK) {
        unsigned char check[8];
        lethe_put_u64(check, XXH3_64bits_digest(&encoder->checksum));
        status = encoder->sink.write(encoder->sink.context, check, sizeof check);
    }
    lethe_release(encoder->allocator, encoder, sizeof *encoder);
    return status;
}

void lethe_encoder_abort(lethe_encoder *encoder) {
    lethe_release(encoder->allocator, encoder, sizeof *encoder);
}

lethe_status lethe_frame_check_header(const unsigned char header[LETHE_FRAME_HEADER_BYTES],
                                      uint64_t source_bytes, lethe_file_info *out) {
    *out = (lethe_file_info)LETHE_INIT(lethe_file_info);
    if (memcmp(header, magic, sizeof magic) != 0) return LETHE_ECORRUPT;
    if (lethe_get_u64(header + 32) != header_check(header)) return LETHE_ECORRUPT;
    uint64_t payload_bytes = lethe_get_u64(header + 16);
    if (source_bytes < LETHE_FRAME_OVERHEAD_BYTES ||
        payload_bytes != source_bytes - LETHE_FRAME_OVERHEAD_BYTES) {
        return LETHE_ECORRUPT;
    }
    memcpy(out->type, header + 8, 4);
    out->version = lethe_get_u16(header + 12);
    out->payload_bytes = payload_bytes;
    /* These are zero in every version so far: anything else is from the future. */
    if (lethe_get_u16(header + 14) != 0 || lethe_get_u64(header + 24) != 0) return LETHE_EVERSION;
    return LETHE_OK;
}

lethe_status lethe_decoder_begin(lethe_source source, const char *type, uint16_t newest_version,
                                 const lethe_allocator *allocator, lethe_decoder **out) {
    *out = NULL;
    if (source.read == NULL || !lethe_allocator_is_usable(allocator)) return LETHE_EINVAL;
    if (source.size_bytes < LETHE_FRAME_OVERHEAD_BYTES) return LETHE_ECORRUPT;
    unsigned char header[LETHE_FRAME_HEADER_BYTES];
    lethe_status status = source.read(source.context, header, sizeof header);
    if (status != LETHE_OK) return status;
    lethe_file_info info;
    status = lethe_frame_check_header(header, source.size_bytes, &info);
    if (status != LETHE_OK) return status;
    if (memcmp(info.type, type, 4) != 0) return LETHE_ETYPE;
    if (info.version == 0 || info.version > newest_version) return LETHE_EVERSION;

    lethe_decoder *decoder = lethe_alloc_zeroed(allocator, sizeof *decoder);
    if (decoder == NULL) return LETHE_ENOMEM;
    decoder->allocator = allocator;
    decoder->source = source;
    decoder->status = LETHE_OK;
    decoder->version = info.version;
    decoder->payload_left = decoder->source_left = info.payload_bytes;
    decoder->staged = decoder->used = 0;
    XXH3_INITSTATE(&decoder->checksum);
    XXH3_64bits_reset_withSeed(&decoder->checksum, lethe_get_u64(header + 32));
    *out = decoder;
    return LETHE_OK;
}

/* Takes size payload bytes from the source into data. */
static void read_through(lethe_decoder *decoder, void *data, size_t size) {
    decoder->source_left -= size;
    decoder->status = decoder->source.read(decoder->source.context, data, size);
    if (decoder->status == LETHE_OK) XXH3_64bits_update(&decoder->checksum, data, size);
}

/* Gives size bytes, at most a staging buffer full; zeroes them on error. */
static void get(lethe_decoder *decoder, void *data, size_t size) {
    unsigned char *to = data;
    memset(to, 0, size);
    if (decoder->status == LETHE_OK && size > decoder->payload_left) {
        decoder->status = LETHE_ECORRUPT;
    }
    while (decoder->status == LETHE_OK && size > 0) {
        if (decoder->used == decoder->staged) {
            uint64_t left = decoder->source_left;
            decoder->staged = left < STAGING_BYTES ? (size_t)left : STAGING_BYTES;
            decoder->used = 0;
            read_through(decoder, decoder->staging, decoder->staged);
            if (decoder->status != LETHE_OK) return;
        }
        size_t staged = decoder->staged - decoder->used;
        size_t piece = size < staged ? size : staged;
        memcpy(to, decoder->staging + decoder->used, piece);
        decoder->used += piece;
        decoder->payload_left -= piece;
        to += piece;
        size -= piece;
    }
}

uint32_t lethe_decoder_get_u32(lethe_decoder *decoder) {
    unsigned char bytes[4];
    get(decoder, bytes, sizeof bytes);
    return lethe_get_u32(bytes);
}

uint64_t lethe_decoder_get_u64(lethe_decoder *decoder) {
    unsigned char bytes[8];
    get(decoder, bytes, sizeof bytes);
    return lethe_get_u64(bytes);
}

double lethe_decoder_get_f64(lethe_decoder *decoder) {
    uint64_t bits = lethe_decoder_get_u64(decoder);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void lethe_decoder_get_bytes(lethe_decoder *decoder, void *data, size_t size) {
    unsigned char *bytes = data;
    if (decoder->status == LETHE_OK && size > decoder->payload_left) {
        decoder->status = LETHE_ECORRUPT;
    }
    size_t done = 0;
    if (decoder->status == LETHE_OK) {
        size_t staged = decoder->staged - decoder->used;
        done = size < staged ? size : staged;
        get(decoder, bytes, done);
    }
    while (done < size && decoder->status == LETHE_OK) {
        size_t piece = size - done < PIECE_BYTES ? size - done : PIECE_BYTES;
        read_through(decoder, bytes + done, piece);
        decoder->payload_left -= piece;
        done += piece;
    }
    if (decoder->status != LETHE_OK && size > 0) memset(bytes, 0, size);
}

void lethe_decoder_get_words(lethe_decoder *decoder, uint64_t *words, size_t count) {
    lethe_decoder_get_bytes(decoder, words, count * 8); /* words exist, so this can't overflow */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    for (size_t i = 0; i < count; i++)
        words[i] = lethe_little_endian64(words[i]);
#endif
}

unsigned lethe_decoder_version(const lethe_decoder *decoder) {
    return decoder->version;
}

uint64_t lethe_decoder_left(const lethe_decoder *decoder) {
    return decoder->payload_left;
}

lethe_status lethe_decoder_status(const lethe_decoder *decoder) {
    return decoder->status;
}

lethe_status lethe_decoder_end(lethe_decoder *decoder) {
    lethe_status status = decoder->status;
    if (status == LETHE_OK && decoder->payload_left != 0) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) {
        unsigned char check[8];
        status = decoder->source.read(decoder->source.context, check, sizeof check);
        if (status == LETHE_OK && lethe_get_u64(check) != XXH3_64bits_digest(&decoder->checksum)) {
            status = LETHE_ECORRUPT;
        }
    }
    lethe_release(decoder->allocator, decoder, sizeof *decoder);
    return status;
}
