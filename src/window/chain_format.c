/* window/chain_format.c - saves and loads a chain of parts: docs/format/window.md.
 *
 * The counts of living entries are not saved. Loading derives them from the blocks and checks every
 * block, so a forged file cannot make an operation leave its block. */
#include "window/chain.h"

enum { CHAIN_FIELDS = 9, PART_FIELDS = 9, VERSION_WITHOUT_COPIES = 1 };

static uint64_t part_bytes(const lethe_part *part) {
    uint64_t map_words = (part->shape.slabs + 63) / 64;
    return 8 * (PART_FIELDS + map_words) + part->slabs_allocated * part->shape.slab_bytes;
}

uint64_t lethe_chain_saved_bytes(const lethe_chain *chain) {
    uint64_t bytes = 8 * (uint64_t)CHAIN_FIELDS;
    for (unsigned i = 0; i < chain->part_count; i++)
        bytes += part_bytes(chain->parts[i]);
    return bytes;
}

static void encode_part(const lethe_part *part, lethe_encoder *encoder) {
    const struct lethe_part_shape *shape = &part->shape;
    lethe_encoder_put_u64(encoder, shape->queue.bits);
    lethe_encoder_put_u64(encoder, shape->queue.block_bytes);
    lethe_encoder_put_u64(encoder, shape->queue.generations);
    lethe_encoder_put_u64(encoder, shape->slabs);
    lethe_encoder_put_u64(encoder, shape->blocks);
    lethe_encoder_put_u64(encoder, shape->capacity);
    lethe_encoder_put_u64(encoder, part->period);
    lethe_encoder_put_u64(encoder, part->sweep_block);
    lethe_encoder_put_u64(encoder, part->slabs_allocated);
    for (uint64_t first = 0; first < shape->slabs; first += 64) {
        uint64_t map = 0;
        for (uint64_t i = first; i < first + 64 && i < shape->slabs; i++)
            map |= (uint64_t)(part->slabs[i] != NULL) << (i - first);
        lethe_encoder_put_u64(encoder, map);
    }
    for (uint64_t i = 0; i < shape->slabs; i++) {
        if (part->slabs[i] != NULL)
            lethe_encoder_put_bytes(encoder, part->slabs[i], shape->slab_bytes);
    }
}

void lethe_chain_encode(const lethe_chain *chain, lethe_encoder *encoder) {
    lethe_encoder_put_u64(encoder, chain->clock_ms);
    lethe_encoder_put_u64(encoder, chain->arrivals);
    lethe_encoder_put_u64(encoder, chain->arrivals_before);
    lethe_encoder_put_u64(encoder, chain->fresh);
    lethe_encoder_put_u64(encoder, chain->duplicates);
    lethe_encoder_put_u64(encoder, chain->refused);
    lethe_encoder_put_u64(encoder, chain->is_capped);
    lethe_encoder_put_u64(encoder, chain->part_count);
    lethe_encoder_put_u64(encoder, chain->repeats_until);
    for (unsigned i = 0; i < chain->part_count; i++)
        encode_part(chain->parts[i], encoder);
}

static lethe_status decode_shape(lethe_decoder *decoder, const lethe_chain *chain,
                                 struct lethe_part_shape *shape) {
    uint64_t bits = lethe_decoder_get_u64(decoder), block_bytes = lethe_decoder_get_u64(decoder);
    uint64_t generations = lethe_decoder_get_u64(decoder);
    uint64_t slabs = lethe_decoder_get_u64(decoder), blocks = lethe_decoder_get_u64(decoder);
    uint64_t capacity = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    if (bits > LETHE_QUEUE_MAX_BITS || block_bytes > UINT32_MAX ||
        generations != chain->generations) {
        return LETHE_ECORRUPT;
    }
    *shape = (struct lethe_part_shape){
        .queue.bits = (unsigned)bits,
        .queue.block_bytes = (unsigned)block_bytes,
        .queue.generations = (unsigned)generations,
        .slabs = slabs,
        .blocks = blocks,
        .capacity = capacity,
    };
    bool is_one = lethe_part_finish_shape(shape) && lethe_part_has_whole_slabs(shape);
    return is_one ? LETHE_OK : LETHE_ECORRUPT;
}

/* Reads the slabs that the map lists. */
static lethe_status decode_slabs(lethe_part *part, uint64_t count, lethe_decoder *decoder) {
    const struct lethe_part_shape *shape = &part->shape;
    uint64_t map_bytes = (shape->slabs + 63) / 64 * 8;
    uint64_t left = lethe_decoder_left(decoder);
    if (map_bytes > left || count > (left - map_bytes) / shape->slab_bytes) {
        return LETHE_ECORRUPT;
    }
    for (uint64_t first = 0; first < shape->slabs; first += 64) {
        uint64_t map = lethe_decoder_get_u64(decoder);
        for (uint64_t i = 0; i < 64; i++) {
            if ((map >> i & 1) == 0) continue;
            if (first + i >= shape->slabs || part->slabs_allocated == count) {
                return LETHE_ECORRUPT;
            }
            if (!lethe_part_ensure_slab(part, first + i)) return LETHE_ENOMEM;
        }
    }
    if (part->slabs_allocated != count) return LETHE_ECORRUPT;
    for (uint64_t i = 0; i < shape->slabs; i++) {
        if (part->slabs[i] != NULL)
            lethe_decoder_get_bytes(decoder, part->slabs[i], shape->slab_bytes);
    }
    return lethe_decoder_status(decoder);
}

static lethe_status decode_part(lethe_chain *chain, uint64_t *may_list, lethe_decoder *decoder,
                                lethe_part **out) {
    *out = NULL;
    struct lethe_part_shape shape = {0};
    lethe_status status = decode_shape(decoder, chain, &shape);
    if (status != LETHE_OK) return status;
    uint64_t period = lethe_decoder_get_u64(decoder), sweep_block = lethe_decoder_get_u64(decoder);
    uint64_t allocated = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    bool valid = period == chain->period && sweep_block <= shape.slabs * shape.blocks &&
                 allocated <= shape.slabs &&
                 /* the list of slabs must be in proportion to the data too */
                 shape.slabs / 8 <= lethe_decoder_left(decoder) && shape.slabs <= *may_list;
    if (!valid) return LETHE_ECORRUPT;
    *may_list -= shape.slabs;
    lethe_part *part = lethe_part_new(&shape, period, chain->options.allocator);
    if (part == NULL) return LETHE_ENOMEM;
    part->sweep_block = sweep_block;
    status = decode_slabs(part, allocated, decoder);
    if (status == LETHE_OK && !lethe_part_recount(part)) status = LETHE_ECORRUPT;
    if (status != LETHE_OK) {
        lethe_part_free(part);
        return status;
    }
    *out = part;
    return LETHE_OK;
}

/* Reads until when ids may be in more than one part. Files of the first version lack this, so for
 * them the latest possible period is assumed. */
static lethe_status decode_repeats(lethe_chain *chain, lethe_decoder *decoder) {
    uint64_t latest = chain->period + chain->generations + 1;
    bool says = lethe_decoder_version(decoder) > VERSION_WITHOUT_COPIES;
    chain->repeats_until = says ? lethe_decoder_get_u64(decoder) : latest;
    if (lethe_decoder_status(decoder) != LETHE_OK) return lethe_decoder_status(decoder);
    return chain->repeats_until <= latest ? LETHE_OK : LETHE_ECORRUPT;
}

lethe_status lethe_chain_decode(lethe_chain *chain, uint64_t *may_list, lethe_decoder *decoder) {
    uint64_t clock_ms = lethe_decoder_get_u64(decoder);
    chain->arrivals = lethe_decoder_get_u64(decoder);
    chain->arrivals_before = lethe_decoder_get_u64(decoder);
    chain->fresh = lethe_decoder_get_u64(decoder);
    chain->duplicates = lethe_decoder_get_u64(decoder);
    chain->refused = lethe_decoder_get_u64(decoder);
    uint64_t is_capped = lethe_decoder_get_u64(decoder);
    uint64_t count = lethe_decoder_get_u64(decoder);
    lethe_status status = lethe_decoder_status(decoder);
    if (status == LETHE_OK && (is_capped > 1 || count == 0 || count > LETHE_CHAIN_MAX_PARTS ||
                               clock_ms > LETHE_CHAIN_MAX_TIME_MS)) {
        status = LETHE_ECORRUPT;
    }
    if (status == LETHE_OK) {
        lethe_part_free(chain->parts[0]);
        chain->part_count = 0;
        chain->is_capped = is_capped != 0;
        lethe_chain_set_clock(chain, clock_ms);
        status = decode_repeats(chain, decoder);
    }
    for (uint64_t i = 0; i < count && status == LETHE_OK; i++) {
        status = decode_part(chain, may_list, decoder, &chain->parts[chain->part_count]);
        if (status == LETHE_OK) chain->part_count++;
    }
    chain->is_sweeping = true;
    if (status != LETHE_OK) lethe_chain_drop(chain);
    return status;
}
