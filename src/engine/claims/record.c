/* engine/claims/record.c - reading and writing the records of CLAIMS.
 *
 * LAYOUT  docs/format/store.md. The record about all is Lethe's usual frame (core/codec.h),
 *         type CLMS, since it is what all the others are compared with.
 * WHY     The numbers of a queue are dense: its first record is found by its key, without passing
 *         over records that were deleted, of which a database may keep millions. */
#include "engine/claims/record.h"

#include <string.h>

#include "core/bytes.h"
#include "core/codec.h"
#include "core/detail.h"

enum { VERSION = 1, OPEN = 1, DONE = 2 };
/* Of the record about all. It is still written as before where there never was a hold. */
enum { WITHOUT_HOLDS = 1, WITH_HOLDS = 2 };
enum { PAYLOAD_BYTES = 8 * 14 + 16, HOLDS_BYTES = 8 * 7 };
static const char TYPE[] = "CLMS";
static const lethe_bytes NO_KEY = {.data = "", .size = 0};

void lethe_claim_key_of_kind(char kind, lethe_bytes id, lethe_claim_key *out) {
    out->data[0] = (unsigned char)kind;
    memcpy(out->data + 1, id.data, id.size);
    out->size = 1 + id.size;
}

void lethe_claim_key_of_number(char kind, uint64_t number, lethe_claim_key *out) {
    out->data[0] = (unsigned char)kind;
    lethe_put_sorted_u64(out->data + 1, number);
    out->size = LETHE_CLAIM_NUMBER_KEY_BYTES;
}

size_t lethe_claim_store(unsigned char out[LETHE_CLAIM_RECORD_LIMIT_BYTES],
                         const lethe_claim_record *claim) {
    memset(out, 0, LETHE_CLAIM_FIXED_BYTES);
    out[0] = VERSION;
    out[1] = claim->is_done ? DONE : OPEN;
    lethe_put_u16(out + 2, (uint16_t)claim->token.size);
    lethe_put_u16(out + 4, (uint16_t)claim->fingerprint.size);
    lethe_put_u64(out + 8, claim->number);
    lethe_put_u64(out + 16, claim->moment_ms);
    lethe_put_u64(out + 24, claim->reply_number);
    lethe_put_u32(out + 32, claim->reply_bytes);
    unsigned char *at = out + LETHE_CLAIM_FIXED_BYTES;
    memcpy(at, claim->token.data, claim->token.size);
    at += claim->token.size;
    if (claim->fingerprint.size > 0) memcpy(at, claim->fingerprint.data, claim->fingerprint.size);
    return LETHE_CLAIM_FIXED_BYTES + claim->token.size + claim->fingerprint.size;
}

/* Whether what is said of a reply can be. */
static bool is_sound_reply(uint64_t number, uint32_t bytes) {
    return (number == 0) == (bytes == 0) && bytes <= LETHE_REPLY_LIMIT_BYTES;
}

lethe_status lethe_claim_load(lethe_bytes record, lethe_claim_record *out) {
    const unsigned char *data = record.data;
    if (record.size < LETHE_CLAIM_FIXED_BYTES) return LETHE_ECORRUPT;
    if (data[0] > VERSION) return LETHE_EVERSION;
    size_t token = lethe_get_u16(data + 2), fingerprint = lethe_get_u16(data + 4);
    *out = (lethe_claim_record){
        .is_done = data[1] == DONE,
        .number = lethe_get_u64(data + 8),
        .moment_ms = lethe_get_u64(data + 16),
        .reply_number = lethe_get_u64(data + 24),
        .reply_bytes = lethe_get_u32(data + 32),
        .token = {.data = data + LETHE_CLAIM_FIXED_BYTES, .size = token},
        .fingerprint = {.data = data + LETHE_CLAIM_FIXED_BYTES + token, .size = fingerprint}};
    bool is_sound = data[0] == VERSION && (data[1] == OPEN || data[1] == DONE) &&
                    lethe_get_u16(data + 6) == 0 && lethe_get_u32(data + 36) == 0 && token >= 1 &&
                    token <= LETHE_TOKEN_LIMIT_BYTES &&
                    fingerprint <= LETHE_FINGERPRINT_LIMIT_BYTES &&
                    record.size == LETHE_CLAIM_FIXED_BYTES + token + fingerprint &&
                    is_sound_reply(out->reply_number, out->reply_bytes) &&
                    (out->is_done || out->reply_number == 0);
    return is_sound ? LETHE_OK : LETHE_ECORRUPT;
}

uint64_t lethe_claim_digest(lethe_bytes key, lethe_bytes record) {
    return lethe_checksum(lethe_checksum(0, key.data, key.size), record.data, record.size);
}

size_t lethe_claim_entry_store(unsigned char out[LETHE_CLAIM_ENTRY_LIMIT_BYTES],
                               const lethe_claim_entry *entry) {
    memset(out, 0, LETHE_CLAIM_ENTRY_FIXED_BYTES);
    lethe_put_u64(out, entry->moment_ms);
    lethe_put_u64(out + 8, entry->reply_number);
    lethe_put_u32(out + 16, entry->reply_bytes);
    memcpy(out + LETHE_CLAIM_ENTRY_FIXED_BYTES, entry->id.data, entry->id.size);
    return LETHE_CLAIM_ENTRY_FIXED_BYTES + entry->id.size;
}

lethe_status lethe_claim_entry_load(lethe_bytes record, lethe_claim_entry *out) {
    const unsigned char *data = record.data;
    if (record.size <= LETHE_CLAIM_ENTRY_FIXED_BYTES ||
        record.size > LETHE_CLAIM_ENTRY_LIMIT_BYTES) {
        return LETHE_ECORRUPT;
    }
    *out = (lethe_claim_entry){.moment_ms = lethe_get_u64(data),
                               .reply_number = lethe_get_u64(data + 8),
                               .reply_bytes = lethe_get_u32(data + 16),
                               .id = {.data = data + LETHE_CLAIM_ENTRY_FIXED_BYTES,
                                      .size = record.size - LETHE_CLAIM_ENTRY_FIXED_BYTES}};
    bool is_sound =
        is_sound_reply(out->reply_number, out->reply_bytes) && lethe_get_u32(data + 20) == 0;
    return is_sound ? LETHE_OK : LETHE_ECORRUPT;
}

lethe_status lethe_claims_encode(const lethe_claims_record *record, lethe_memory_writer *out) {
    lethe_encoder *encoder;
    *out = (lethe_memory_writer){0};
    const lethe_holds_totals *holds = &record->holds;
    bool has_holds = holds->placed > 0;
    lethe_status status =
        lethe_encoder_begin(lethe_sink_to_memory(out), TYPE, has_holds ? WITH_HOLDS : WITHOUT_HOLDS,
                            PAYLOAD_BYTES + (has_holds ? HOLDS_BYTES : 0), NULL, &encoder);
    if (status != LETHE_OK) return status;
    const uint64_t words[] = {
        record->clock_ms,          record->boot_ms,    record->wall_ms,    record->opened.first,
        record->opened.next,       record->done.first, record->done.next,  record->replies.first,
        record->replies.next,      record->open_count, record->done_count, record->reply_bytes,
        record->reply_limit_bytes, record->digest};
    lethe_encoder_put_words(encoder, words, sizeof words / sizeof words[0]);
    lethe_encoder_put_bytes(encoder, record->boot_id, sizeof record->boot_id);
    const uint64_t more[] = {holds->placed, holds->open_count,  holds->ended_count,
                             holds->forced, holds->ended.first, holds->ended.next,
                             holds->digest};
    if (has_holds) lethe_encoder_put_words(encoder, more, sizeof more / sizeof more[0]);
    return lethe_encoder_end(encoder);
}

lethe_status lethe_claims_put(const lethe_claims_record *record, lethe_batch *batch,
                              lethe_disk *disk) {
    lethe_memory_writer writer;
    lethe_status status = lethe_claims_encode(record, &writer);
    if (status == LETHE_OK) {
        lethe_batch_put(batch, disk, LETHE_FAMILY_CLAIMS, NO_KEY,
                        (lethe_bytes){.data = writer.data, .size = writer.size});
    }
    lethe_memory_writer_free(&writer);
    return status;
}

static void decode_words(lethe_decoder *decoder, uint64_t *const *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        *words[i] = lethe_decoder_get_u64(decoder);
}

static void decode(lethe_decoder *decoder, lethe_claims_record *out) {
    lethe_holds_totals *holds = &out->holds;
    uint64_t *const words[] = {&out->clock_ms,          &out->boot_ms,       &out->wall_ms,
                               &out->opened.first,      &out->opened.next,   &out->done.first,
                               &out->done.next,         &out->replies.first, &out->replies.next,
                               &out->open_count,        &out->done_count,    &out->reply_bytes,
                               &out->reply_limit_bytes, &out->digest};
    uint64_t *const more[] = {&holds->placed, &holds->open_count,  &holds->ended_count,
                              &holds->forced, &holds->ended.first, &holds->ended.next,
                              &holds->digest};
    decode_words(decoder, words, sizeof words / sizeof words[0]);
    lethe_decoder_get_bytes(decoder, out->boot_id, sizeof out->boot_id);
    holds->ended = (lethe_claim_range){1, 1};
    if (lethe_decoder_version(decoder) >= WITH_HOLDS)
        decode_words(decoder, more, sizeof more / sizeof more[0]);
}

static bool is_sound_range(lethe_claim_range range) {
    return range.first >= 1 && range.first <= range.next;
}

static bool is_sound(const lethe_claims_record *record) {
    return is_sound_range(record->opened) && is_sound_range(record->done) &&
           is_sound_range(record->replies) &&
           record->open_count <= record->opened.next - record->opened.first &&
           record->done_count <= record->done.next - record->done.first &&
           is_sound_range(record->holds.ended) &&
           record->holds.ended_count <= record->holds.ended.next - record->holds.ended.first;
}

lethe_status lethe_claims_decode(lethe_bytes bytes, lethe_claims_record *out) {
    *out = (lethe_claims_record){0};
    lethe_memory_reader reader = {.data = bytes.data, .size = bytes.size};
    lethe_decoder *decoder;
    lethe_status status =
        lethe_decoder_begin(lethe_source_from_memory(&reader), TYPE, WITH_HOLDS, NULL, &decoder);
    if (status != LETHE_OK) return status;
    decode(decoder, out);
    status = lethe_decoder_end(decoder);
    if (status == LETHE_OK && !is_sound(out)) status = LETHE_ECORRUPT;
    if (status != LETHE_OK) *out = (lethe_claims_record){0};
    return status;
}

lethe_status lethe_claims_load(lethe_disk *disk, lethe_claims_record *out, lethe_detail *detail) {
    *out = (lethe_claims_record){0};
    if (!lethe_disk_has(disk, LETHE_FAMILY_CLAIMS)) return LETHE_ENOTFOUND;
    lethe_record record;
    lethe_status status = lethe_disk_get(disk, LETHE_FAMILY_CLAIMS, NO_KEY, &record, detail);
    if (status != LETHE_OK) return status;
    if (record.data == NULL) return LETHE_ENOTFOUND;
    status = lethe_claims_decode((lethe_bytes){.data = record.data, .size = record.size}, out);
    lethe_record_release(&record);
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status, "%s",
                             status == LETHE_EVERSION
                                 ? "the store was written by a newer version of lethe; use that one"
                                 : "the record about the store's claims is damaged; restore a "
                                   "backup");
}
