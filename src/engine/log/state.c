/* engine/log/state.c - reading and writing the store's record about itself.
 *
 * LAYOUT  Lethe's usual frame (core/codec.h), type CNTR; docs/format/store.md has the fields.
 * WHY     What an older version would not respect has a version of its own, so that it refuses the
 *         store: a sketch (2), a time before which ids were forgotten (3), numbers of operations
 *         that overflowed or were invalid, and a window of the forgetful kind (4), a scale (5): an
 *         older program would take hundredths for whole numbers; and a number of operations that
 *         were limited (6).
 * I1      A store is written in the first version that holds all of it, and a state under another
 *         version is damaged. One that has no need of the later versions stays readable by older
 *         programs. */
#include "engine/log/state.h"

#include <string.h>

#include "core/codec.h"
#include "core/detail.h"

enum {
    VERSION = 1,
    SKETCH_VERSION = 2,
    KNOWN_VERSION = 3,
    OUTCOMES_VERSION = 4,
    SCALE_VERSION = 5,
    LIMITED_VERSION = 6,
    LAST_VERSION = LIMITED_VERSION
};
enum {
    PAYLOAD_BYTES = 8 * 20 + 16 + 4,
    SKETCH_PAYLOAD_BYTES = PAYLOAD_BYTES + 12,
    KNOWN_PAYLOAD_BYTES = SKETCH_PAYLOAD_BYTES + 8,
    OUTCOMES_PAYLOAD_BYTES = KNOWN_PAYLOAD_BYTES + 16,
    SCALE_PAYLOAD_BYTES = OUTCOMES_PAYLOAD_BYTES + 4,
    LIMITED_PAYLOAD_BYTES = SCALE_PAYLOAD_BYTES + 8
};
static const char TYPE[] = "CNTR";
static const lethe_bytes KEY = {.data = "state", .size = 5};

enum {
    HAS_INDEX = 1,
    EXACT = 2,
    CHECK_PAYLOAD = 4,
    EVENT_TIME = 8,
    FOREVER = 16,
    FORGETFUL = 32,
    HAS_CLAIMS = 64
};

bool lethe_state_is_record(lethe_bytes key) {
    return key.size == KEY.size && memcmp(key.data, KEY.data, KEY.size) == 0;
}

static uint32_t flags_of(const lethe_state *state) {
    return (state->has_index ? HAS_INDEX : 0) | (state->exact ? EXACT : 0) |
           (state->check_payload ? CHECK_PAYLOAD : 0) | (state->event_time ? EVENT_TIME : 0) |
           (state->forever ? FOREVER : 0) | (state->forgetful ? FORGETFUL : 0) |
           (state->has_claims ? HAS_CLAIMS : 0);
}

static unsigned version_of(const lethe_state *state) {
    if (state->totals.limited > 0) return LIMITED_VERSION;
    if (state->scale > 0) return SCALE_VERSION;
    if (state->totals.overflow > 0 || state->totals.invalid > 0 || state->forgetful)
        return OUTCOMES_VERSION;
    if (state->known_from_ms > 0) return KNOWN_VERSION;
    return state->sketch_bytes > 0 ? SKETCH_VERSION : VERSION;
}

lethe_status lethe_state_put(const lethe_state *state, lethe_batch *batch, lethe_disk *disk) {
    static const uint64_t payload_bytes[] = {
        [VERSION] = PAYLOAD_BYTES,
        [SKETCH_VERSION] = SKETCH_PAYLOAD_BYTES,
        [KNOWN_VERSION] = KNOWN_PAYLOAD_BYTES,
        [OUTCOMES_VERSION] = OUTCOMES_PAYLOAD_BYTES,
        [SCALE_VERSION] = SCALE_PAYLOAD_BYTES,
        [LIMITED_VERSION] = LIMITED_PAYLOAD_BYTES,
    };
    lethe_memory_writer writer = {0};
    lethe_encoder *encoder;
    unsigned version = version_of(state);
    lethe_status status = lethe_encoder_begin(lethe_sink_to_memory(&writer), TYPE, version,
                                              payload_bytes[version], NULL, &encoder);
    if (status != LETHE_OK) return status;
    const lethe_totals *totals = &state->totals;
    const uint64_t words[] = {
        state->seed,        state->commit,           state->folded,
        state->clock_ms,    state->boot_ms,          state->window_ms,
        state->log_ids,     totals->applied,         totals->duplicates,
        totals->late,       totals->future,          totals->refused,
        totals->mismatched, totals->confirmed_false, state->window_memory_bytes,
        state->window_ids};
    lethe_encoder_put_words(encoder, words, sizeof words / sizeof words[0]);
    lethe_encoder_put_f64(encoder, state->error);
    lethe_encoder_put_f64(encoder, state->window_error);
    lethe_encoder_put_u64(encoder, state->change_segments);
    lethe_encoder_put_u64(encoder, state->dropped);
    lethe_encoder_put_bytes(encoder, state->boot_id, sizeof state->boot_id);
    lethe_encoder_put_u32(encoder, flags_of(state));
    if (version >= SKETCH_VERSION) {
        lethe_encoder_put_u32(encoder, state->sketch_top);
        lethe_encoder_put_u64(encoder, state->sketch_bytes);
    }
    if (version >= KNOWN_VERSION) lethe_encoder_put_u64(encoder, state->known_from_ms);
    if (version >= OUTCOMES_VERSION) {
        lethe_encoder_put_u64(encoder, totals->overflow);
        lethe_encoder_put_u64(encoder, totals->invalid);
    }
    if (version >= SCALE_VERSION) lethe_encoder_put_u32(encoder, state->scale);
    if (version >= LIMITED_VERSION) lethe_encoder_put_u64(encoder, totals->limited);
    status = lethe_encoder_end(encoder);
    if (status == LETHE_OK) {
        lethe_batch_put(batch, disk, LETHE_FAMILY_STATE, KEY,
                        (lethe_bytes){.data = writer.data, .size = writer.size});
    }
    lethe_memory_writer_free(&writer);
    return status;
}

static void decode(lethe_decoder *decoder, lethe_state *out) {
    lethe_totals *totals = &out->totals;
    uint64_t *const words[] = {&out->seed,
                               &out->commit,
                               &out->folded,
                               &out->clock_ms,
                               &out->boot_ms,
                               &out->window_ms,
                               &out->log_ids,
                               &totals->applied,
                               &totals->duplicates,
                               &totals->late,
                               &totals->future,
                               &totals->refused,
                               &totals->mismatched,
                               &totals->confirmed_false,
                               &out->window_memory_bytes,
                               &out->window_ids};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *words[i] = lethe_decoder_get_u64(decoder);
    }
    out->error = lethe_decoder_get_f64(decoder);
    out->window_error = lethe_decoder_get_f64(decoder);
    out->change_segments = lethe_decoder_get_u64(decoder);
    out->dropped = lethe_decoder_get_u64(decoder);
    lethe_decoder_get_bytes(decoder, out->boot_id, sizeof out->boot_id);
    uint32_t flags = lethe_decoder_get_u32(decoder);
    out->has_index = (flags & HAS_INDEX) != 0;
    out->exact = (flags & EXACT) != 0;
    out->check_payload = (flags & CHECK_PAYLOAD) != 0;
    out->event_time = (flags & EVENT_TIME) != 0;
    out->forever = (flags & FOREVER) != 0;
    out->forgetful = (flags & FORGETFUL) != 0;
    out->has_claims = (flags & HAS_CLAIMS) != 0;
    if (lethe_decoder_version(decoder) >= SKETCH_VERSION) {
        out->sketch_top = lethe_decoder_get_u32(decoder);
        out->sketch_bytes = lethe_decoder_get_u64(decoder);
    }
    if (lethe_decoder_version(decoder) >= KNOWN_VERSION)
        out->known_from_ms = lethe_decoder_get_u64(decoder);
    if (lethe_decoder_version(decoder) >= OUTCOMES_VERSION) {
        totals->overflow = lethe_decoder_get_u64(decoder);
        totals->invalid = lethe_decoder_get_u64(decoder);
    }
    if (lethe_decoder_version(decoder) >= SCALE_VERSION)
        out->scale = lethe_decoder_get_u32(decoder);
    if (lethe_decoder_version(decoder) >= LIMITED_VERSION)
        totals->limited = lethe_decoder_get_u64(decoder);
}

static bool is_sound_sketch(const lethe_state *state) {
    if (state->sketch_bytes == 0 && state->sketch_top == 0) return true;
    return state->sketch_bytes >= LETHE_STATE_LEAST_SKETCH_BYTES &&
           state->sketch_bytes <= LETHE_STATE_MOST_SKETCH_BYTES && state->sketch_top >= 1 &&
           state->sketch_top <= LETHE_STATE_MOST_SKETCH_TOP;
}

static bool is_sound(const lethe_state *state, unsigned version) {
    return version == version_of(state) && state->scale <= LETHE_SCALE_LIMIT &&
           is_sound_sketch(state) && state->folded <= state->commit &&
           state->dropped <= state->commit && state->error >= 1e-12 && state->error <= 0.1 &&
           state->window_ms >= 1000 && state->window_ms <= UINT64_C(2592000000) &&
           state->known_from_ms <= state->clock_ms;
}

lethe_status lethe_state_load(lethe_disk *disk, lethe_state *out, lethe_detail *detail) {
    *out = (lethe_state){0};
    lethe_record record;
    lethe_status status = lethe_disk_get(disk, LETHE_FAMILY_STATE, KEY, &record, detail);
    if (status != LETHE_OK) return status;
    if (record.data == NULL) {
        status = lethe_disk_expect(disk, 0, detail); /* it had one if a commit was acknowledged */
        if (status != LETHE_OK) return status;
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "the store has no state");
    }
    lethe_memory_reader reader = {.data = record.data, .size = record.size};
    lethe_decoder *decoder;
    status =
        lethe_decoder_begin(lethe_source_from_memory(&reader), TYPE, LAST_VERSION, NULL, &decoder);
    if (status == LETHE_OK) {
        unsigned version = lethe_decoder_version(decoder);
        decode(decoder, out);
        status = lethe_decoder_end(decoder);
        if (status == LETHE_OK && !is_sound(out, version)) status = LETHE_ECORRUPT;
    }
    lethe_record_release(&record);
    if (status == LETHE_EVERSION) {
        return lethe_detail_fill(detail, status,
                                 "the store was written by a newer version of lethe; use that one");
    }
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "the store's state is damaged; restore a backup");
    }
    return LETHE_OK;
}
