/* engine/meters/meters.c - the store's record about its meters, and how old buckets go.
 *
 * LAYOUT  Lethe's usual frame (core/codec.h), type METR; docs/format/store.md has the fields.
 * I1      A bucket below kept_from does not exist, whatever memory, log and tables still have: it
 *         is neither read nor changed. kept_from rises in a commit, which deletes the range on
 *         disk too. So dropping buckets is as atomic and as durable as any commit.
 * I2      kept_from never falls, once something was counted, by an operation or by a hold. What was
 *         dropped is in the rest from then on.
 * WHY     The store's clock decides how old buckets are, and not the wall clock that chose them:
 *         a wall clock that is set ahead for a minute must not drop years.
 * LIMIT   A fold that was under way may bring dropped buckets back to disk. They stay there,
 *         unseen, until the next ones are dropped. */
#include "engine/meters/meters.h"

#include <string.h>

#include "core/codec.h"
#include "core/detail.h"
#include "engine/log/segment.h"
#include "engine/meters/buckets.h"

/* The first version has no added_ms, and is still written where there is none. */
enum { FIRST_VERSION = 1, VERSION = 2, FIXED_BYTES = 16, FIRST_METER_BYTES = 24, METER_BYTES = 32 };
static const char TYPE[] = "METR";
static const lethe_bytes KEY = {.data = "per", .size = 3};

bool lethe_meters_is_record(lethe_bytes key) {
    return key.size == KEY.size && memcmp(key.data, KEY.data, KEY.size) == 0;
}

static uint16_t version_for(const lethe_meters *meters) {
    for (uint32_t i = 0; i < meters->count; i++) {
        if (meters->all[i].added_ms > 0) return VERSION;
    }
    return FIRST_VERSION;
}

static lethe_status encode(const lethe_meters *meters, lethe_memory_writer *writer) {
    lethe_encoder *encoder;
    size_t name_size = strlen(meters->zone_name);
    uint16_t version = version_for(meters);
    uint64_t each = version == FIRST_VERSION ? FIRST_METER_BYTES : METER_BYTES;
    lethe_status status =
        lethe_encoder_begin(lethe_sink_to_memory(writer), TYPE, version,
                            FIXED_BYTES + meters->count * each + name_size, NULL, &encoder);
    if (status != LETHE_OK) return status;
    lethe_encoder_put_u64(encoder, meters->since);
    lethe_encoder_put_u32(encoder, meters->count);
    lethe_encoder_put_u32(encoder, (uint32_t)name_size);
    for (uint32_t i = 0; i < meters->count; i++) {
        lethe_encoder_put_u32(encoder, meters->all[i].resolution.unit);
        lethe_encoder_put_u32(encoder, meters->all[i].resolution.seconds);
        lethe_encoder_put_u64(encoder, meters->all[i].keep_ms);
        lethe_encoder_put_u64(encoder, meters->all[i].kept_from);
        if (version > FIRST_VERSION) lethe_encoder_put_u64(encoder, meters->all[i].added_ms);
    }
    lethe_encoder_put_bytes(encoder, meters->zone_name, name_size);
    return lethe_encoder_end(encoder);
}

static bool is_sound(const lethe_meter *meter) {
    return lethe_resolution_is_sound(meter->resolution) && meter->keep_ms <= LETHE_LAST_MOMENT_MS &&
           meter->kept_from < LETHE_LABEL_END && meter->added_ms <= LETHE_LAST_MOMENT_MS;
}

static lethe_status decode(lethe_decoder *decoder, lethe_meters *out) {
    out->since = lethe_decoder_get_u64(decoder);
    uint32_t count = lethe_decoder_get_u32(decoder), name_size = lethe_decoder_get_u32(decoder);
    if (count < 1 || count > LETHE_METERS_LIMIT || name_size < 1 ||
        name_size >= LETHE_ZONE_NAME_BYTES) {
        return LETHE_ECORRUPT;
    }
    for (uint32_t i = 0; i < count; i++) {
        lethe_meter *meter = &out->all[i];
        meter->resolution.unit = (lethe_unit)lethe_decoder_get_u32(decoder);
        meter->resolution.seconds = lethe_decoder_get_u32(decoder);
        meter->keep_ms = lethe_decoder_get_u64(decoder);
        meter->kept_from = lethe_decoder_get_u64(decoder);
        bool is_first = lethe_decoder_version(decoder) == FIRST_VERSION;
        meter->added_ms = is_first ? 0 : lethe_decoder_get_u64(decoder);
        meter->known_from = LETHE_LABEL_END;
        if (!is_sound(meter)) return LETHE_ECORRUPT;
    }
    out->count = count;
    lethe_decoder_get_bytes(decoder, out->zone_name, name_size);
    return LETHE_OK;
}

lethe_status lethe_meters_load(lethe_disk *disk, lethe_meters *out, lethe_detail *detail) {
    *out = (lethe_meters){0};
    lethe_record record;
    lethe_status status = lethe_disk_get(disk, LETHE_FAMILY_STATE, KEY, &record, detail);
    if (status != LETHE_OK || record.data == NULL) return status;
    lethe_memory_reader reader = {.data = record.data, .size = record.size};
    lethe_decoder *decoder;
    status = lethe_decoder_begin(lethe_source_from_memory(&reader), TYPE, VERSION, NULL, &decoder);
    if (status == LETHE_OK) {
        status = lethe_decoder_end_after(decoder, decode(decoder, out));
    }
    lethe_record_release(&record);
    if (status == LETHE_OK && !lethe_disk_has(disk, LETHE_FAMILY_BUCKETS)) status = LETHE_ECORRUPT;
    if (status == LETHE_OK) return LETHE_OK;
    *out = (lethe_meters){0};
    if (status == LETHE_EVERSION) {
        return lethe_detail_fill(detail, status,
                                 "the store was written by a newer version of lethe; use that one");
    }
    return lethe_detail_fill(detail, status,
                             "the store's record of its meters is damaged; restore a backup");
}

void lethe_meters_drop(lethe_meters *meters) {
    lethe_zone_free(meters->zone);
    meters->zone = NULL;
}

lethe_status lethe_meters_need_zone(lethe_meters *meters, const lethe_allocator *allocator,
                                    lethe_detail *detail) {
    if (meters->zone != NULL) return LETHE_OK;
    return lethe_zone_load(meters->zone_name, allocator, &meters->zone, detail);
}

lethe_status lethe_meters_expect(lethe_disk *disk, const lethe_state *state, lethe_detail *detail) {
    lethe_meters meters;
    lethe_status status = lethe_meters_load(disk, &meters, detail);
    if (status != LETHE_OK || meters.count == 0) return status;
    lethe_record record;
    status = lethe_disk_get(disk, LETHE_FAMILY_BUCKETS, (lethe_bytes){0}, &record, detail);
    if (status != LETHE_OK) return status;
    uint64_t folded = 0;
    bool is_sound = record.data == NULL ||
                    lethe_commit_of_key((lethe_bytes){record.data, record.size}, &folded);
    lethe_record_release(&record);
    bool has_all = folded >= state->folded || state->folded < meters.since;
    if (is_sound && has_all && folded <= state->commit && meters.since <= state->commit)
        return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "buckets are missing that the store's state counts; restore a backup");
}

uint32_t lethe_meters_find(const lethe_meters *meters, const char *by) {
    if (by == NULL) return meters->count > 0 ? 0 : LETHE_METERS_LIMIT;
    lethe_resolution resolution;
    if (!lethe_resolution_parse(by, strlen(by), &resolution)) return LETHE_METERS_LIMIT;
    for (uint32_t i = 0; i < meters->count; i++) {
        if (lethe_resolution_equals(meters->all[i].resolution, resolution)) return i;
    }
    return LETHE_METERS_LIMIT;
}

void lethe_meter_turn(lethe_meters *meters, uint32_t which, uint64_t time_ms) {
    lethe_meter *meter = &meters->all[which];
    meter->stretch = lethe_period_at(meter->resolution, meters->zone, time_ms);
    lethe_bucket_prefix(which, meter->stretch.label, meter->prefix);
}

/* The first period that is kept at this time of the store's clock: the one that the moment before
 * the time to keep is in. */
static bool advance(lethe_meters *meters, lethe_meter *meter, uint64_t clock_ms) {
    if (meter->keep_ms == 0 || clock_ms <= meter->keep_ms || clock_ms < meter->drop_after_ms)
        return false;
    lethe_stretch stretch =
        lethe_period_at(meter->resolution, meters->zone, clock_ms - meter->keep_ms);
    meter->drop_after_ms = stretch.to_ms + meter->keep_ms;
    if (stretch.label <= meter->kept_from) return false;
    meter->kept_from = stretch.label;
    return true;
}

void lethe_meters_seal(lethe_meters *meters, uint64_t clock_ms, lethe_meters_step *out) {
    out->writes = meters->is_changed;
    out->drops = 0;
    for (uint32_t i = 0; i < meters->count; i++) {
        if (advance(meters, &meters->all[i], clock_ms)) out->drops |= 1U << i;
    }
    out->writes = out->writes || out->drops != 0;
    if (!out->writes) return;
    out->after = *meters;
    meters->is_changed = false;
}

/* The buckets of a resolution that a step drops: from `from` up to, but without, `to`. */
struct range {
    unsigned char from[LETHE_BUCKET_PREFIX_BYTES], to[LETHE_BUCKET_PREFIX_BYTES];
};

static bool is_dropped(const lethe_meters_step *step, uint32_t which, struct range *out) {
    if ((step->drops >> which & 1) == 0) return false;
    lethe_bucket_prefix(which, 0, out->from);
    lethe_bucket_prefix(which, step->after.all[which].kept_from, out->to);
    return true;
}

/* A commit that drops buckets also puts something into their family: see log/commit.c, I4. */
static void put_drops(const lethe_meters_step *step, uint64_t commit, lethe_batch *batch,
                      lethe_disk *disk) {
    unsigned char value[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(commit, value);
    lethe_batch_put(batch, disk, LETHE_FAMILY_BUCKETS, lethe_bucket_dropped_key(),
                    (lethe_bytes){.data = value, .size = sizeof value});
    struct range range;
    for (uint32_t i = 0; i < step->after.count; i++) {
        if (!is_dropped(step, i, &range)) continue;
        lethe_batch_delete_range(batch, disk, LETHE_FAMILY_BUCKETS,
                                 (lethe_bytes){.data = range.from, .size = sizeof range.from},
                                 (lethe_bytes){.data = range.to, .size = sizeof range.to});
    }
}

/* No bucket has the end of a range as its key: it would have no counter. */
void lethe_meters_reclaim(const lethe_meters_step *step, lethe_disk *disk) {
    struct range range;
    if (!step->writes) return;
    for (uint32_t i = 0; i < step->after.count; i++) {
        if (!is_dropped(step, i, &range)) continue;
        lethe_disk_reclaim(disk, LETHE_FAMILY_BUCKETS,
                           (lethe_bytes){.data = range.from, .size = sizeof range.from},
                           (lethe_bytes){.data = range.to, .size = sizeof range.to});
    }
}

lethe_status lethe_meters_put(const lethe_meters_step *step, uint64_t commit, lethe_batch *batch,
                              lethe_disk *disk) {
    if (!step->writes) return LETHE_OK;
    lethe_memory_writer writer = {0};
    lethe_status status = encode(&step->after, &writer);
    if (status == LETHE_OK) {
        lethe_batch_put(batch, disk, LETHE_FAMILY_STATE, KEY,
                        (lethe_bytes){.data = writer.data, .size = writer.size});
    }
    lethe_memory_writer_free(&writer);
    if (status == LETHE_OK && step->drops != 0) put_drops(step, commit, batch, disk);
    return status;
}
