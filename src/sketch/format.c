/* sketch/format.c - saves and loads sketches: docs/format/sketch.md.
 *
 * Two types share their fields: the whole sketch, and the export, which only answers. Counters
 * are written one by one in their own size, little-endian, through a small buffer. A loader
 * trusts sizes only if the fields agree with each other, with the limits of plan.c and with the
 * length of the data. */
#include <string.h>

#include "core/allocator.h"
#include "core/codec.h"
#include "core/io.h"
#include "sketch/sketch.h"
#include "sketch/top.h"

#define TYPE "SKCH"
#define EXPORT_TYPE "SKFQ"

enum { NEWEST_VERSION = 2, FIELD_BYTES = 64, ENTRY_BYTES = 24, BUFFER_BYTES = 4096, WORD = 8 };

static uint64_t padded(uint64_t bytes) {
    return (bytes + WORD - 1) / WORD * WORD;
}

/* The bytes that a part takes in a file. */
static uint64_t part_bytes(const lethe_sketch_shape *shape, uint64_t counters) {
    return padded(counters * (shape->counter_bits / 8));
}

/* The bytes of all counters of a frame. */
static uint64_t counter_bytes(const lethe_sketch_shape *shape, bool query_only) {
    uint64_t bytes = part_bytes(shape, lethe_sketch_counters(shape));
    if (query_only) return bytes;
    return bytes * (1 + lethe_sketch_has_ds(shape)) +
           part_bytes(shape, lethe_sketch_is_counters(shape));
}

/* Version 2 is for what version 1 cannot say. All else stays readable by older libraries. */
static uint16_t version_of(const lethe_sketch_shape *shape) {
    bool has_own_depth = shape->kind == LETHE_SKETCH_FID && shape->is_depth != shape->depth;
    bool is_log_with_ds = shape->kind == LETHE_SKETCH_LOG && lethe_sketch_has_ds(shape);
    return has_own_depth || is_log_with_ds ? 2 : 1;
}

static uint64_t field_bytes(unsigned version) {
    return FIELD_BYTES + (version > 1 ? WORD : 0);
}

static void put_part(lethe_encoder *encoder, const lethe_sketch_shape *shape, const void *cells,
                     uint64_t counters) {
    if (cells == NULL) return;
    unsigned char buffer[BUFFER_BYTES];
    uint32_t size = shape->counter_bits / 8;
    uint64_t filled = 0;
    for (uint64_t i = 0; i < counters; i++) {
        uint64_t counter = lethe_sketch_get_counter(cells, i, shape->counter_bits);
        for (uint32_t byte = 0; byte < size; byte++)
            buffer[filled++] = (unsigned char)(counter >> 8 * byte);
        if (filled < BUFFER_BYTES) continue;
        lethe_encoder_put_bytes(encoder, buffer, filled);
        filled = 0;
    }
    while (filled % WORD != 0)
        buffer[filled++] = 0;
    lethe_encoder_put_bytes(encoder, buffer, filled);
}

/* Reads a part; false if the padding up to a whole word is not zero. */
static bool get_part(lethe_decoder *decoder, const lethe_sketch_shape *shape, void *cells,
                     uint64_t counters) {
    unsigned char buffer[BUFFER_BYTES];
    uint32_t size = shape->counter_bits / 8;
    uint64_t left = part_bytes(shape, counters), at = 0;
    while (left > 0) {
        uint64_t some = left < BUFFER_BYTES ? left : BUFFER_BYTES;
        lethe_decoder_get_bytes(decoder, buffer, some);
        uint64_t used = 0;
        for (; used < some && at < counters; at++, used += size) {
            uint64_t counter = 0;
            for (uint32_t byte = 0; byte < size; byte++)
                counter |= (uint64_t)buffer[used + byte] << 8 * byte;
            lethe_sketch_set_counter(cells, at, shape->counter_bits, counter);
        }
        for (; used < some; used++) {
            if (buffer[used] != 0) return false;
        }
        left -= some;
    }
    return true;
}

static void put_fields(lethe_encoder *encoder, const lethe_sketch *sketch, uint32_t listed) {
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_encoder_put_u32(encoder, (uint32_t)shape->kind);
    lethe_encoder_put_u32(encoder, shape->counter_bits);
    lethe_encoder_put_u32(encoder, shape->depth);
    lethe_encoder_put_u32(encoder, (uint32_t)shape->removal);
    lethe_encoder_put_u64(encoder, shape->width);
    lethe_encoder_put_u64(encoder, shape->is_width);
    lethe_encoder_put_u64(encoder, shape->seed);
    lethe_encoder_put_u64(encoder, sketch->core.total);
    lethe_encoder_put_u64(encoder, sketch->core.random);
    lethe_encoder_put_u32(encoder, shape->top);
    lethe_encoder_put_u32(encoder, listed);
    if (version_of(shape) > 1) lethe_encoder_put_u64(encoder, shape->is_depth);
}

static void put_key(lethe_encoder *encoder, const struct lethe_top_key *key) {
    static const unsigned char zeros[WORD];
    lethe_encoder_put_u64(encoder, key->count);
    lethe_encoder_put_u64(encoder, key->at_least);
    lethe_encoder_put_u32(encoder, key->size);
    lethe_encoder_put_u32(encoder, 0);
    if (key->size > 0) lethe_encoder_put_bytes(encoder, key->bytes, key->size);
    lethe_encoder_put_bytes(encoder, zeros, padded(key->size) - key->size);
}

/* Writes a whole sketch, with the keys of its list in order. */
static lethe_status save_with(const lethe_sketch *sketch, const struct lethe_top_key *const *keys,
                              uint32_t listed, lethe_sink sink) {
    const lethe_sketch_shape *shape = &sketch->shape;
    uint64_t bytes = field_bytes(version_of(shape)) + counter_bytes(shape, false);
    for (uint32_t i = 0; i < listed; i++)
        bytes += ENTRY_BYTES + padded(keys[i]->size);
    lethe_encoder *encoder;
    lethe_status status =
        lethe_encoder_begin(sink, TYPE, version_of(shape), bytes, sketch->allocator, &encoder);
    if (status != LETHE_OK) return status;
    put_fields(encoder, sketch, listed);
    put_part(encoder, shape, sketch->core.cells, lethe_sketch_counters(shape));
    put_part(encoder, shape, sketch->core.is, lethe_sketch_is_counters(shape));
    put_part(encoder, shape, sketch->core.ds, lethe_sketch_counters(shape));
    for (uint32_t i = 0; i < listed; i++)
        put_key(encoder, keys[i]);
    return lethe_encoder_end(encoder);
}

lethe_status lethe_sketch_save(const lethe_sketch *sketch, lethe_sink sink) {
    if (sketch == NULL || sketch->query_only) return LETHE_EINVAL;
    if (sketch->top == NULL) return save_with(sketch, NULL, 0, sink);
    const struct lethe_top_key **keys;
    size_t bytes;
    lethe_status status = lethe_top_sorted(sketch->top, &keys, &bytes);
    if (status != LETHE_OK) return status;
    status = save_with(sketch, keys, lethe_top_count(sketch->top), sink);
    lethe_release(sketch->allocator, keys, bytes);
    return status;
}

lethe_status lethe_sketch_export(const lethe_sketch *sketch, lethe_sink sink) {
    if (sketch == NULL) return LETHE_EINVAL;
    const lethe_sketch_shape *shape = &sketch->shape;
    lethe_encoder *encoder;
    uint64_t bytes = field_bytes(version_of(shape)) + counter_bytes(shape, true);
    lethe_status status = lethe_encoder_begin(sink, EXPORT_TYPE, version_of(shape), bytes,
                                              sketch->allocator, &encoder);
    if (status != LETHE_OK) return status;
    put_fields(encoder, sketch, 0);
    put_part(encoder, shape, sketch->core.cells, lethe_sketch_counters(shape));
    return lethe_encoder_end(encoder);
}

/* The fields of a saved sketch. */
struct fields {
    lethe_sketch_shape shape;
    uint64_t total, random;
    uint32_t listed;
};

/* Reads the fields; LETHE_ECORRUPT unless they describe a sketch whose counters follow. */
static lethe_status get_fields(lethe_decoder *decoder, bool query_only, struct fields *fields) {
    lethe_sketch_shape *shape = &fields->shape;
    *fields = (struct fields){.shape = LETHE_INIT(lethe_sketch_shape)};
    uint32_t kind = lethe_decoder_get_u32(decoder);
    shape->counter_bits = lethe_decoder_get_u32(decoder);
    shape->depth = lethe_decoder_get_u32(decoder);
    uint32_t removal = lethe_decoder_get_u32(decoder);
    shape->width = lethe_decoder_get_u64(decoder);
    shape->is_width = lethe_decoder_get_u64(decoder);
    shape->seed = lethe_decoder_get_u64(decoder);
    fields->total = lethe_decoder_get_u64(decoder);
    fields->random = lethe_decoder_get_u64(decoder);
    shape->top = lethe_decoder_get_u32(decoder);
    fields->listed = lethe_decoder_get_u32(decoder);
    unsigned version = lethe_decoder_version(decoder);
    shape->is_depth = version > 1                ? lethe_decoder_get_u64(decoder)
                      : kind == LETHE_SKETCH_FID ? shape->depth
                                                 : 0;
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    if (kind > LETHE_SKETCH_FID || removal > LETHE_SKETCH_REMOVAL_COUNT_MIN) return LETHE_ECORRUPT;
    shape->kind = (lethe_sketch_kind)kind;
    shape->removal = (lethe_sketch_removal)removal;
    if (!lethe_sketch_is_valid_shape(shape) || version_of(shape) != version) return LETHE_ECORRUPT;
    lethe_sketch_complete_shape(shape);
    if (shape->kind != LETHE_SKETCH_LOG && fields->random != 0) return LETHE_ECORRUPT;
    if (fields->listed > (query_only ? 0 : lethe_top_capacity(shape->top))) return LETHE_ECORRUPT;
    uint64_t least = counter_bytes(shape, query_only) + (uint64_t)fields->listed * ENTRY_BYTES;
    uint64_t left = lethe_decoder_left(decoder);
    return left == least || (left > least && fields->listed > 0) ? LETHE_OK : LETHE_ECORRUPT;
}

/* The counters of a count sketch go from -max to max. A lower one was not written by save. */
static bool are_counters_in_range(const lethe_sketch *sketch) {
    const lethe_sketch_shape *shape = &sketch->shape;
    if (shape->kind != LETHE_SKETCH_COUNT) return true;
    for (uint64_t i = 0; i < lethe_sketch_counters(shape); i++) {
        uint64_t counter = lethe_sketch_get_counter(sketch->core.cells, i, shape->counter_bits);
        if (lethe_sketch_signed(counter, shape->counter_bits) < -(int64_t)sketch->core.max)
            return false;
    }
    return true;
}

/* Reads one key of the list into bytes and adds it to the list. */
static lethe_status get_key(lethe_decoder *decoder, lethe_sketch *sketch, unsigned char *bytes) {
    uint64_t count = lethe_decoder_get_u64(decoder);
    uint64_t at_least = lethe_decoder_get_u64(decoder);
    uint32_t size = lethe_decoder_get_u32(decoder);
    uint32_t zero = lethe_decoder_get_u32(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (size > LETHE_SKETCH_MAX_KEY_BYTES || zero != 0 ||
        padded(size) > lethe_decoder_left(decoder)) {
        return LETHE_ECORRUPT;
    }
    lethe_decoder_get_bytes(decoder, bytes, padded(size));
    for (uint64_t i = size; i < padded(size); i++) {
        if (bytes[i] != 0) return LETHE_ECORRUPT;
    }
    lethe_hash hash = lethe_hash_bytes(sketch->shape.seed, bytes, size);
    if (lethe_top_find(sketch->top, hash) != NULL) return LETHE_ECORRUPT;
    return lethe_top_added(sketch->top, hash, (lethe_bytes){bytes, size}, at_least, count);
}

/* Reads the keys of the list. Only one order is accepted, so a sketch has one saved form. */
static lethe_status get_keys(lethe_decoder *decoder, lethe_sketch *sketch, uint32_t listed) {
    if (listed == 0) return LETHE_OK;
    size_t room = padded(LETHE_SKETCH_MAX_KEY_BYTES);
    if (room > lethe_decoder_left(decoder)) room = lethe_decoder_left(decoder);
    unsigned char *bytes = lethe_alloc_zeroed(sketch->allocator, room);
    if (bytes == NULL) return LETHE_ENOMEM;
    lethe_status status = LETHE_OK;
    for (uint32_t i = 0; i < listed && status == LETHE_OK; i++) {
        status = get_key(decoder, sketch, bytes);
        if (status != LETHE_OK || i == 0) continue;
        /* While there is room, the list keeps keys in the order in which they were added. */
        if (lethe_top_compare(lethe_top_at(sketch->top, i - 1), lethe_top_at(sketch->top, i)) >= 0)
            status = LETHE_ECORRUPT;
    }
    lethe_release(sketch->allocator, bytes, room);
    return status;
}

static lethe_status get_sketch(lethe_decoder *decoder, bool query_only,
                               const lethe_allocator *allocator, lethe_sketch **out) {
    struct fields fields;
    lethe_status status = get_fields(decoder, query_only, &fields);
    if (status != LETHE_OK) return status;
    status = lethe_sketch_from_shape(&fields.shape, query_only, allocator, out);
    if (status != LETHE_OK) return status;
    lethe_sketch *sketch = *out;
    const lethe_sketch_shape *shape = &fields.shape;
    struct lethe_sketch_core *core = &sketch->core;
    core->total = fields.total;
    core->random = fields.random;
    uint64_t counters = lethe_sketch_counters(shape);
    bool sound = get_part(decoder, shape, core->cells, counters);
    if (core->is != NULL)
        sound = sound && get_part(decoder, shape, core->is, lethe_sketch_is_counters(shape));
    if (core->ds != NULL) sound = sound && get_part(decoder, shape, core->ds, counters);
    if (!sound || !are_counters_in_range(sketch)) return LETHE_ECORRUPT;
    return get_keys(decoder, sketch, fields.listed);
}

static lethe_status get_whole(lethe_decoder *decoder, const lethe_allocator *allocator,
                              lethe_sketch **out) {
    return get_sketch(decoder, false, allocator, out);
}

LETHE_DEFINE_LOAD(lethe_sketch, TYPE, NEWEST_VERSION, get_whole)

static lethe_status get_export(lethe_decoder *decoder, const lethe_allocator *allocator,
                               lethe_sketch **out) {
    return get_sketch(decoder, true, allocator, out);
}

LETHE_DEFINE_LOAD_AS(lethe_sketch_import, lethe_sketch, EXPORT_TYPE, NEWEST_VERSION, get_export)

static bool is_same_export(const lethe_sketch_shape *a, const lethe_sketch_shape *b) {
    return a->kind == b->kind && a->width == b->width && a->depth == b->depth &&
           a->counter_bits == b->counter_bits && a->seed == b->seed;
}

lethe_status lethe_sketch_apply(lethe_sketch *sketch, lethe_source source) {
    if (sketch == NULL || !sketch->query_only) return LETHE_EINVAL;
    lethe_sketch *newer;
    lethe_status status = lethe_sketch_import(source, sketch->allocator, &newer);
    if (status != LETHE_OK) return status;
    const lethe_sketch_shape *shape = &sketch->shape;
    if (is_same_export(shape, &newer->shape)) {
        for (uint64_t i = 0; i < lethe_sketch_counters(shape); i++) {
            uint64_t counter = lethe_sketch_get_counter(newer->core.cells, i, shape->counter_bits);
            lethe_sketch_set_counter(sketch->core.cells, i, shape->counter_bits, counter);
        }
        sketch->core.total = newer->core.total;
        sketch->core.random = newer->core.random;
    } else {
        status = LETHE_EMISMATCH;
    }
    lethe_sketch_free(newer);
    return status;
}

LETHE_DEFINE_FILE_FUNCTIONS(lethe_sketch)
LETHE_DEFINE_FILE_FUNCTIONS_AS(lethe_sketch, export, import)

static lethe_status apply(void *context, lethe_source source) {
    return lethe_sketch_apply(context, source);
}

lethe_status lethe_sketch_apply_file(lethe_sketch *sketch, const char *path, lethe_detail *detail) {
    return lethe_load_from_file(path, apply, sketch, detail);
}
