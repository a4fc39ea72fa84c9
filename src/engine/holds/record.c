/* engine/holds/record.c - reading and writing the record of a hold. */
#include "engine/holds/record.h"

#include <string.h>

#include "core/bytes.h"

enum { VERSION = 1, PLACES = 8 };

size_t lethe_hold_store(unsigned char out[LETHE_HOLD_RECORD_LIMIT_BYTES],
                        const lethe_hold_record *hold) {
    memset(out, 0, LETHE_HOLD_FIXED_BYTES);
    out[0] = VERSION;
    out[1] = (unsigned char)hold->state;
    out[2] = (unsigned char)hold->place;
    lethe_put_u16(out + 4, (uint16_t)hold->key.size);
    const uint64_t words[] = {hold->number,          hold->deadline_ms,      hold->ended_ms,
                              hold->wall_ms,         (uint64_t)hold->amount, (uint64_t)hold->max,
                              (uint64_t)hold->actual};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        lethe_put_u64(out + 8 + 8 * i, words[i]);
    memcpy(out + LETHE_HOLD_FIXED_BYTES, hold->key.data, hold->key.size);
    return LETHE_HOLD_FIXED_BYTES + hold->key.size;
}

/* Whether what is said of its end can be. */
static bool has_sound_end(const lethe_hold_record *hold) {
    bool is_open = hold->state == LETHE_HOLD_IS_OPEN;
    if (hold->state < LETHE_HOLD_IS_OPEN || hold->state > LETHE_HOLD_IS_RELEASED) return false;
    if (is_open != (hold->number == 0)) return false;
    if (lethe_hold_is_unsettled(hold) && hold->ended_ms != 0) return false;
    return hold->state == LETHE_HOLD_IS_SETTLED ? hold->actual >= 0 : hold->actual == 0;
}

lethe_status lethe_hold_load(lethe_bytes record, lethe_hold_record *out) {
    const unsigned char *data = record.data;
    if (record.size < LETHE_HOLD_FIXED_BYTES) return LETHE_ECORRUPT;
    if (data[0] > VERSION) return LETHE_EVERSION;
    size_t key_size = lethe_get_u16(data + 4);
    *out = (lethe_hold_record){.state = (lethe_hold_state)data[1],
                               .place = data[2],
                               .number = lethe_get_u64(data + 8),
                               .deadline_ms = lethe_get_u64(data + 16),
                               .ended_ms = lethe_get_u64(data + 24),
                               .wall_ms = lethe_get_u64(data + 32),
                               .amount = (int64_t)lethe_get_u64(data + 40),
                               .max = (int64_t)lethe_get_u64(data + 48),
                               .actual = (int64_t)lethe_get_u64(data + 56),
                               .key = {.data = data + LETHE_HOLD_FIXED_BYTES, .size = key_size}};
    bool is_sound = data[0] == VERSION && data[3] == 0 && lethe_get_u16(data + 6) == 0 &&
                    out->place <= PLACES && out->amount >= 1 && key_size >= 1 &&
                    key_size <= LETHE_KEY_LIMIT_BYTES &&
                    record.size == LETHE_HOLD_FIXED_BYTES + key_size && has_sound_end(out);
    return is_sound ? LETHE_OK : LETHE_ECORRUPT;
}
