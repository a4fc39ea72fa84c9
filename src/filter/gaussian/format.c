/* filter/gaussian/format.c - saves and loads Gaussian Bloom filters: docs/format/gaussian.md.
 *
 * The payload is 80 bytes of fields, the radius of every bell, the levels of all bells, and the
 * words of the slots. A loader believes a size only when it agrees with the other fields, with the
 * limits of plan.c and with the bytes that are there; and bells and slots only when this library
 * could have made them. */
#include <math.h>
#include <string.h>

#include "core/codec.h"
#include "core/io.h"
#include "filter/gaussian/gaussian.h"

#define TYPE "GAUS"

enum { VERSION = 1, FIELD_BYTES = 80 };

/* The bits of the last word after the last slot: set in memory, clear in a file. */
static uint64_t end_mask(const lethe_gaussian_shape *shape) {
    unsigned used = shape->slots * shape->slot_bits % 64;
    return used == 0 ? 0 : UINT64_MAX << used;
}

static void put_slots(lethe_encoder *encoder, const lethe_gaussian *filter) {
    const lethe_gaussian_shape *shape = &filter->shape;
    const unsigned char *slots = lethe_gaussian_slots(filter);
    if (lethe_gaussian_is_packed(shape->slot_bits)) {
        size_t all_but_last = (size_t)shape->memory_bytes - sizeof(uint64_t);
        lethe_encoder_put_bytes(encoder, slots, all_but_last);
        uint64_t last = lethe_gaussian_read(slots + all_but_last) & ~end_mask(shape);
        lethe_encoder_put_u64(encoder, last);
        return;
    }
    for (uint64_t i = 0; i < shape->slots; i++) {
        if (shape->slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS) {
            lethe_encoder_put_f64(encoder, ((const double *)(const void *)slots)[i]);
            continue;
        }
        uint32_t bits;
        memcpy(&bits, slots + i * sizeof bits, sizeof bits);
        lethe_encoder_put_u32(encoder, bits);
    }
    if (end_mask(shape) != 0) lethe_encoder_put_u32(encoder, 0);
}

lethe_status lethe_gaussian_save(const lethe_gaussian *filter, lethe_sink sink) {
    if (filter == NULL) return LETHE_EINVAL;
    const lethe_gaussian_shape *shape = &filter->shape;
    const struct lethe_gaussian_table *table = &filter->table;
    uint64_t bytes =
        FIELD_BYTES + (shape->hashes + table->level_count) * sizeof(uint64_t) + shape->memory_bytes;
    lethe_encoder *encoder;
    lethe_status status =
        lethe_encoder_begin(sink, TYPE, VERSION, bytes, filter->allocator, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u32(encoder, shape->slot_bits);
    lethe_encoder_put_u32(encoder, shape->hashes);
    lethe_encoder_put_u64(encoder, shape->slots);
    lethe_encoder_put_u64(encoder, shape->seed);
    lethe_encoder_put_u64(encoder, shape->capacity);
    lethe_encoder_put_f64(encoder, shape->error);
    lethe_encoder_put_u64(encoder, filter->additions);
    lethe_encoder_put_u32(encoder, (uint32_t)shape->spacing);
    lethe_encoder_put_u32(encoder, (uint32_t)shape->exponential);
    lethe_encoder_put_f64(encoder, shape->deviation_cap);
    lethe_encoder_put_u64(encoder, table->level_count);
    lethe_encoder_put_u64(encoder, 0);
    for (uint32_t i = 0; i < shape->hashes; i++)
        lethe_encoder_put_u64(encoder, table->bells[i].radius);
    for (size_t i = 0; i < table->level_count; i++)
        lethe_encoder_put_f64(encoder, table->levels[i]);
    put_slots(encoder, filter);
    return lethe_encoder_end(encoder);
}

/* Reads the fields; LETHE_ECORRUPT unless they can be those of a filter. */
static lethe_status read_fields(lethe_decoder *decoder, lethe_gaussian_shape *shape,
                                uint64_t *additions, uint64_t *level_count) {
    *shape = (lethe_gaussian_shape)LETHE_INIT(lethe_gaussian_shape);
    shape->slot_bits = lethe_decoder_get_u32(decoder);
    shape->hashes = lethe_decoder_get_u32(decoder);
    shape->slots = lethe_decoder_get_u64(decoder);
    shape->seed = lethe_decoder_get_u64(decoder);
    shape->capacity = lethe_decoder_get_u64(decoder);
    shape->error = lethe_decoder_get_f64(decoder);
    *additions = lethe_decoder_get_u64(decoder);
    uint32_t spacing = lethe_decoder_get_u32(decoder);
    uint32_t exponential = lethe_decoder_get_u32(decoder);
    shape->deviation_cap = lethe_decoder_get_f64(decoder);
    *level_count = lethe_decoder_get_u64(decoder);
    uint64_t zero = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    bool valid = lethe_gaussian_is_valid_size(shape->slots, shape->hashes, shape->slot_bits) &&
                 lethe_gaussian_is_valid_cap(shape->deviation_cap) &&
                 spacing <= LETHE_GAUSSIAN_SPACING_PUBLISHED &&
                 exponential <= LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH && shape->error >= 0 &&
                 shape->error <= 1 && shape->seed != 0 && zero == 0;
    if (!valid) return LETHE_ECORRUPT;
    shape->spacing = (lethe_gaussian_spacing)spacing;
    shape->exponential = (lethe_gaussian_exponential)exponential;
    shape->memory_bytes = lethe_gaussian_words(shape) * sizeof(uint64_t);
    return LETHE_OK;
}

/* Reads the radii, which must agree with the number of levels and with the bytes that follow. */
static lethe_status read_radii(lethe_decoder *decoder, lethe_gaussian_shape *shape,
                               uint64_t level_count, uint32_t *radii) {
    uint64_t levels = 0;
    for (uint32_t i = 0; i < shape->hashes; i++) {
        uint64_t radius = lethe_decoder_get_u64(decoder);
        if (radius > LETHE_GAUSSIAN_MAX_RADIUS) return LETHE_ECORRUPT;
        radii[i] = (uint32_t)radius;
        levels += radius + 1;
        if (radius > shape->radius) shape->radius = (uint32_t)radius;
    }
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    bool valid = levels == level_count && shape->slots >= 2 * (uint64_t)shape->radius + 1 &&
                 lethe_decoder_left(decoder) == levels * sizeof(double) + shape->memory_bytes;
    return valid ? LETHE_OK : LETHE_ECORRUPT;
}

static lethe_status read_table(lethe_decoder *decoder, lethe_gaussian_shape *shape,
                               uint64_t level_count, const lethe_allocator *allocator,
                               struct lethe_gaussian_table *table) {
    uint32_t radii[LETHE_GAUSSIAN_MAX_HASHES];
    lethe_status status = read_radii(decoder, shape, level_count, radii);
    if (status != LETHE_OK) return status;
    status = lethe_gaussian_table_init(radii, shape->hashes, shape->slot_bits, allocator, table);
    if (status != LETHE_OK) return status;
    for (size_t i = 0; i < table->level_count; i++)
        table->levels[i] = lethe_decoder_get_f64(decoder);
    status = lethe_decoder_status(decoder);
    if (status == LETHE_OK && !lethe_gaussian_table_is_valid(table)) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) status = lethe_gaussian_table_finish(table, shape->radius, allocator);
    if (status != LETHE_OK) lethe_gaussian_table_drop(table, allocator);
    return status;
}

/* Reads the words of packed slots; returns whether the bits after the last slot are clear. */
static bool get_packed(lethe_decoder *decoder, const lethe_gaussian *filter) {
    const lethe_gaussian_shape *shape = &filter->shape;
    unsigned char *slots = lethe_gaussian_slots(filter);
    size_t all_but_last = (size_t)shape->memory_bytes - sizeof(uint64_t);
    lethe_decoder_get_bytes(decoder, slots, all_but_last);
    uint64_t last = lethe_decoder_get_u64(decoder);
    lethe_gaussian_write(slots + all_but_last, last | end_mask(shape));
    return (last & end_mask(shape)) == 0;
}

/* Reads slots that are numbers; whether all are from 0 to 1, with no sign on a zero. */
static bool get_values(lethe_decoder *decoder, const lethe_gaussian *filter) {
    const lethe_gaussian_shape *shape = &filter->shape;
    unsigned char *slots = lethe_gaussian_slots(filter);
    bool valid = true;
    for (uint64_t i = 0; i < shape->slots; i++) {
        double value;
        if (shape->slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS) {
            value = lethe_decoder_get_f64(decoder);
            memcpy(slots + i * sizeof value, &value, sizeof value);
        } else {
            uint32_t bits = lethe_decoder_get_u32(decoder);
            float number;
            memcpy(&number, &bits, sizeof number);
            memcpy(slots + i * sizeof number, &number, sizeof number);
            value = number;
        }
        valid &= value >= 0 && value <= 1 && !signbit(value);
    }
    if (end_mask(shape) != 0) valid &= lethe_decoder_get_u32(decoder) == 0;
    return valid;
}

static lethe_status get_filter(lethe_decoder *decoder, const lethe_allocator *allocator,
                               lethe_gaussian **out) {
    lethe_gaussian_shape shape;
    uint64_t additions, level_count;
    struct lethe_gaussian_table table;
    lethe_status status = read_fields(decoder, &shape, &additions, &level_count);
    if (status == LETHE_OK) status = read_table(decoder, &shape, level_count, allocator, &table);
    if (status == LETHE_OK) status = lethe_gaussian_from_table(&shape, &table, allocator, out);
    if (status != LETHE_OK) return status;
    (*out)->additions = additions;
    bool valid = lethe_gaussian_is_packed(shape.slot_bits) ? get_packed(decoder, *out)
                                                           : get_values(decoder, *out);
    return valid ? LETHE_OK : LETHE_ECORRUPT;
}

LETHE_DEFINE_LOAD(lethe_gaussian, TYPE, VERSION, get_filter)

LETHE_DEFINE_FILE_FUNCTIONS(lethe_gaussian)
