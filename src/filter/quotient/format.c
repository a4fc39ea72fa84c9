/* filter/quotient/format.c - saves, loads and maps quotient filters: docs/format/quotient.md.
 *
 * The payload is 88 bytes of fields, the table as it lies in memory, and the counts in ascending
 * order. The fields are as long as they are so that the table begins at a multiple of 64 bytes of
 * the file: it can be used where it is mapped. A loader believes the size only when the fields
 * agree with each other and with the bytes that are there, and the table only when check.c has gone
 * through it. */
#include "core/allocator.h"
#include "core/codec.h"
#include "core/detail.h"
#include "core/io.h"
#include "filter/quotient/quotient.h"

#define TYPE "QUOT"

enum { VERSION = 1, FIELD_BYTES = 88, ENTRY_BYTES = 16, SCRATCH_BYTES = 16384 };

_Static_assert((LETHE_FRAME_HEADER_BYTES + FIELD_BYTES) % 64 == 0,
               "the table is aligned in a file");
_Static_assert(LETHE_FRAME_HEADER_BYTES + FIELD_BYTES >= LETHE_QUOTIENT_MARGIN_BYTES,
               "a mapped table may be read a little before its beginning");

static void put_fields(lethe_encoder *encoder, const lethe_quotient *filter) {
    const lethe_quotient_shape *shape = &filter->shape;
    lethe_encoder_put_u64(encoder, shape->slots);
    lethe_encoder_put_u32(encoder, shape->remainder_bits);
    lethe_encoder_put_u32(encoder, 0);
    lethe_encoder_put_u64(encoder, shape->seed);
    lethe_encoder_put_u64(encoder, shape->capacity);
    lethe_encoder_put_u64(encoder, shape->grow_to);
    lethe_encoder_put_f64(encoder, shape->error);
    lethe_encoder_put_u64(encoder, filter->slots_used);
    lethe_encoder_put_u64(encoder, filter->distinct);
    lethe_encoder_put_u64(encoder, filter->total);
    lethe_encoder_put_u64(encoder, filter->counts.used);
    lethe_encoder_put_u64(encoder, 0);
}

static lethe_status save_sorted(const lethe_quotient *filter, const lethe_quotient_entry *entries,
                                lethe_sink sink) {
    lethe_encoder *encoder;
    lethe_status status = lethe_encoder_begin(sink, TYPE, VERSION,
                                              FIELD_BYTES + filter->shape.memory_bytes +
                                                  filter->counts.used * ENTRY_BYTES,
                                              filter->allocator, &encoder);
    if (status != LETHE_OK) return status;
    put_fields(encoder, filter);
    lethe_encoder_put_bytes(encoder, filter->table.remainders, filter->shape.memory_bytes);
    for (uint64_t i = 0; i < filter->counts.used; i++) {
        lethe_encoder_put_u64(encoder, entries[i].fingerprint);
        lethe_encoder_put_u64(encoder, entries[i].count);
    }
    return lethe_encoder_end(encoder);
}

lethe_status lethe_quotient_save(const lethe_quotient *filter, lethe_sink sink) {
    if (filter == NULL || sink.write == NULL) return LETHE_EINVAL;
    if (filter->counts.used == 0) return save_sorted(filter, NULL, sink);
    size_t bytes = (size_t)filter->counts.used * sizeof(lethe_quotient_entry);
    lethe_quotient_entry *entries = lethe_alloc_zeroed(filter->allocator, bytes);
    if (entries == NULL) return LETHE_ENOMEM;
    lethe_quotient_counts_sorted(&filter->counts, entries);
    lethe_status status = save_sorted(filter, entries, sink);
    lethe_release(filter->allocator, entries, bytes);
    return status;
}

/* What the fields say of the filter beside its shape. */
struct sums {
    uint64_t slots_used, distinct, total, counted;
};

static bool is_possible(const lethe_quotient_shape *shape) {
    bool has_error = shape->error > 0 && shape->error <= 1;
    return shape->seed != 0 && shape->grow_to <= LETHE_QUOTIENT_MAX_CAPACITY &&
           shape->capacity <= LETHE_QUOTIENT_MAX_CAPACITY &&
           (shape->capacity != 0 ? has_error : shape->error == 0);
}

/* Reads the fields; LETHE_ECORRUPT unless they make a filter whose table and counts are what is
 * left. */
static lethe_status read_fields(lethe_decoder *decoder, lethe_quotient_shape *shape,
                                struct sums *sums) {
    uint64_t slots = lethe_decoder_get_u64(decoder);
    uint32_t remainder_bits = lethe_decoder_get_u32(decoder);
    uint64_t zeros = lethe_decoder_get_u32(decoder);
    *shape = LETHE_OPTIONS(lethe_quotient_shape, .seed = lethe_decoder_get_u64(decoder));
    shape->capacity = lethe_decoder_get_u64(decoder);
    shape->grow_to = lethe_decoder_get_u64(decoder);
    shape->error = lethe_decoder_get_f64(decoder);
    sums->slots_used = lethe_decoder_get_u64(decoder);
    sums->distinct = lethe_decoder_get_u64(decoder);
    sums->total = lethe_decoder_get_u64(decoder);
    sums->counted = lethe_decoder_get_u64(decoder);
    zeros |= lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);

    if (zeros != 0 || !lethe_quotient_is_valid_size(slots, remainder_bits) || !is_possible(shape))
        return LETHE_ECORRUPT;
    lethe_quotient_set_size(shape, slots, remainder_bits);
    uint64_t left = lethe_decoder_left(decoder);
    bool fits = left >= shape->memory_bytes && sums->counted <= slots &&
                left - shape->memory_bytes == sums->counted * ENTRY_BYTES;
    return fits ? LETHE_OK : LETHE_ECORRUPT;
}

/* Reads the counts; LETHE_ECORRUPT unless they ascend and are three or more. */
static lethe_status read_counts(lethe_decoder *decoder, lethe_quotient *filter, uint64_t counted) {
    uint64_t last = 0;
    for (uint64_t i = 0; i < counted; i++) {
        uint64_t fingerprint = lethe_decoder_get_u64(decoder);
        uint64_t count = lethe_decoder_get_u64(decoder);
        if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
        if (count < 3 || (i > 0 && fingerprint <= last)) return LETHE_ECORRUPT;
        lethe_status status = lethe_quotient_counts_reserve(&filter->counts, filter->allocator);
        if (status != LETHE_OK) return status;
        lethe_quotient_counts_set(&filter->counts, fingerprint, count);
        last = fingerprint;
    }
    return LETHE_OK;
}

/* Lets the checksum see bytes that are not wanted. */
static void skip_bytes(lethe_decoder *decoder, uint64_t count) {
    unsigned char scratch[SCRATCH_BYTES];
    while (count > 0 && lethe_decoder_status(decoder) == LETHE_OK) {
        size_t piece = count < SCRATCH_BYTES ? (size_t)count : SCRATCH_BYTES;
        lethe_decoder_get_bytes(decoder, scratch, piece);
        count -= piece;
    }
}

/* The bytes that fill the carries up to a multiple of eight are zero. */
static bool has_clean_end(const lethe_quotient *filter) {
    const uint8_t *end = filter->table.remainders + filter->shape.memory_bytes;
    for (const uint8_t *at = filter->table.carry + lethe_quotient_all_blocks(&filter->table);
         at < end; at++) {
        if (*at != 0) return false;
    }
    return true;
}

/* Makes the filter of what the decoder gives. Its table is read or, where the bytes of the file are
 * in memory already, used where it lies. */
static lethe_status load_parts(lethe_decoder *decoder, unsigned char *file,
                               const lethe_allocator *allocator, lethe_quotient **out) {
    lethe_quotient_shape shape;
    struct sums sums;
    lethe_status status = read_fields(decoder, &shape, &sums);
    if (status != LETHE_OK) return status;
    status = lethe_quotient_from_shape(&shape, allocator, file == NULL, out);
    if (status != LETHE_OK) return status;
    lethe_quotient *filter = *out;
    if (file == NULL) {
        lethe_decoder_get_bytes(decoder, filter->table.remainders, shape.memory_bytes);
    } else {
        lethe_quotient_place_table(&shape, file + LETHE_FRAME_HEADER_BYTES + FIELD_BYTES,
                                   &filter->table);
        skip_bytes(decoder, shape.memory_bytes);
    }
    filter->slots_used = sums.slots_used;
    filter->distinct = sums.distinct;
    filter->total = sums.total;
    return read_counts(decoder, filter, sums.counted);
}

static lethe_status load_from(lethe_source source, unsigned char *file,
                              const lethe_allocator *allocator, lethe_quotient **out) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_decoder *decoder;
    lethe_status status = lethe_decoder_begin(source, TYPE, VERSION, allocator, &decoder);
    if (status != LETHE_OK) return status;
    lethe_quotient *filter = NULL;
    status = lethe_decoder_end_after(decoder, load_parts(decoder, file, allocator, &filter));
    if (status == LETHE_OK && !(has_clean_end(filter) && lethe_quotient_is_sound(filter)))
        status = LETHE_ECORRUPT;
    if (status != LETHE_OK) {
        lethe_quotient_free(filter);
        return status;
    }
    *out = filter;
    return LETHE_OK;
}

lethe_status lethe_quotient_load(lethe_source source, const lethe_allocator *allocator,
                                 lethe_quotient **out) {
    return load_from(source, NULL, allocator, out);
}

LETHE_DEFINE_FILE_FUNCTIONS(lethe_quotient)

lethe_status lethe_quotient_map_file(const char *path, const lethe_allocator *allocator,
                                     lethe_quotient **out, lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_os_mapping mapping;
    lethe_status status = path != NULL ? lethe_os_mapping_open(path, &mapping) : LETHE_EINVAL;
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "map", path);
    lethe_memory_reader reader = {.data = mapping.bytes, .size = mapping.size};
    status = load_from(lethe_source_from_memory(&reader), mapping.bytes, allocator, out);
    if (status == LETHE_OK) {
        (*out)->mapping = mapping;
    } else {
        lethe_os_mapping_close(&mapping);
    }
    return lethe_detail_of_file(detail, status, "map", path);
}
