/* engine/log/segment.c - encoding and checking the log's records.
 *
 * LAYOUT  ids:      [version 1][0 0 0][count u32] count x [id, 10 bytes]
 *                   [run count u32] runs x [clock u64][count u32]
 *                   version 2: count x [digest u32] after the ids
 *                   version 3: then count x [lag u32]
 *         changes:  [version 1][0 0 0][count u32]
 *                   count x [2 * key size + deleted, varint][key][value]
 *         deltas:   [version 2][0 0 0][count u32]
 *                   count x [key size, varint][key][delta]
 *         buckets:  [version 3], and the rest as changes, but
 *                   [4 * key size + 2 * is a bucket + deleted, varint]
 *                   version 4: also [2 + deleted, varint]
 *                   [8 * difference of labels + resolution, varint][value],
 *                   a bucket of the last counter before it
 *
 *         A value or delta is the number folded over zero (0, -1, 1, -2, ...), as a varint. All
 *         numbers are little-endian, except the keys of segments, which must sort as bytes.
 * WHY     Ids come first and runs last, so that ids are written where they stay while a commit
 *         fills up. Values are absolute: a segment may be replayed any number of times. Deltas are
 *         for a sketch, which has no values. Each must be replayed exactly once. Most buckets are
 *         of the present period, and their counter changed with them: so neither its key nor the
 *         label is written again. */
#include "engine/log/segment.h"

#include "core/bytes.h"

/* Changes and deltas are in one family: the version distinguishes them. */
enum {
    VERSION = 1,
    DELTAS_VERSION = 2,
    BUCKETS_VERSION = 3,
    BESIDE_VERSION = 4,
    HEADER_BYTES = 8,
    RUN_BYTES = 12
};
/* Of segments of ids. */
enum { DIGESTS_VERSION = 2, LAGS_VERSION = 3, NOTE_BYTES = 4 };
/* Before the counter's key, in that of a bucket. */
enum { BUCKET_PREFIX_BYTES = 6 };
/* Labels are less. */
#define LABEL_END (UINT64_C(1) << 40)

void lethe_log_id_store(unsigned char *out, lethe_log_id id) {
    lethe_put_u64(out, id.low);
    lethe_put_u16(out + 8, id.high);
}

lethe_log_id lethe_log_id_load(const unsigned char *data) {
    return (lethe_log_id){.low = lethe_get_u64(data), .high = lethe_get_u16(data + 8)};
}

void lethe_log_ids_expand(const unsigned char *ids, uint32_t count, lethe_hash *out) {
    for (uint32_t i = 0; i < count; i++) {
        out[i] = lethe_log_id_expand(lethe_log_id_load(ids + (size_t)i * LETHE_LOG_ID_BYTES));
    }
}

void lethe_commit_key(uint64_t commit, unsigned char out[LETHE_COMMIT_KEY_BYTES]) {
    lethe_put_sorted_u64(out, commit);
}

bool lethe_commit_of_key(lethe_bytes key, uint64_t *out) {
    if (key.size != LETHE_COMMIT_KEY_BYTES) return false;
    *out = lethe_get_sorted_u64(key.data);
    return true;
}

/* All kinds of segment begin alike. */
static lethe_status begin(lethe_buffer *buffer, unsigned char version) {
    buffer->size = 0;
    if (!lethe_buffer_reserve(buffer, HEADER_BYTES)) return LETHE_ENOMEM;
    memset(buffer->data, 0, HEADER_BYTES);
    buffer->data[0] = version;
    buffer->size = HEADER_BYTES;
    return LETHE_OK;
}

static lethe_status open_header(lethe_bytes segment, unsigned char version, unsigned char newest,
                                uint32_t *count) {
    const unsigned char *data = segment.data;
    if (segment.size < HEADER_BYTES) return LETHE_ECORRUPT;
    if (data[0] > newest) return LETHE_EVERSION;
    if (data[0] != version || data[1] != 0 || data[2] != 0 || data[3] != 0) return LETHE_ECORRUPT;
    *count = lethe_get_u32(data + 4);
    return LETHE_OK;
}

lethe_status lethe_id_segment_begin(lethe_buffer *buffer) {
    return begin(buffer, VERSION);
}

const unsigned char *lethe_id_segment_ids(const lethe_buffer *buffer) {
    return buffer->data + HEADER_BYTES;
}

uint32_t lethe_id_segment_count(const lethe_buffer *buffer) {
    return (uint32_t)((buffer->size - HEADER_BYTES) / LETHE_LOG_ID_BYTES);
}

/* Puts the notes after the ids, and the version that says so before them. */
static lethe_status append_notes(lethe_buffer *buffer, lethe_id_notes notes) {
    const lethe_buffer *const all[] = {notes.digests, notes.lags};
    static const unsigned char versions[] = {DIGESTS_VERSION, LAGS_VERSION};
    for (size_t i = 0; i < 2 && all[i] != NULL && all[i]->size > 0; i++) {
        if (!lethe_buffer_reserve(buffer, all[i]->size)) return LETHE_ENOMEM;
        lethe_buffer_append(buffer, all[i]->data, all[i]->size);
        buffer->data[0] = versions[i];
    }
    return LETHE_OK;
}

lethe_status lethe_id_segment_end(lethe_buffer *buffer, const lethe_id_run *runs, size_t run_count,
                                  lethe_id_notes notes) {
    uint32_t count = lethe_id_segment_count(buffer);
    lethe_status status = append_notes(buffer, notes);
    if (status != LETHE_OK) return status;
    if (!lethe_buffer_reserve(buffer, 4 + run_count * RUN_BYTES)) return LETHE_ENOMEM;
    lethe_put_u32(buffer->data + 4, count);
    unsigned char *at = buffer->data + buffer->size;
    lethe_put_u32(at, (uint32_t)run_count);
    at += 4;
    for (size_t i = 0; i < run_count; i++, at += RUN_BYTES) {
        lethe_put_u64(at, runs[i].clock_ms);
        lethe_put_u32(at + 8, runs[i].count);
    }
    buffer->size = (size_t)(at - buffer->data);
    return LETHE_OK;
}

lethe_id_run lethe_id_segment_run(const lethe_id_segment *ids, uint32_t index) {
    const unsigned char *run = ids->runs + (size_t)index * RUN_BYTES;
    return (lethe_id_run){.clock_ms = lethe_get_u64(run), .count = lethe_get_u32(run + 8)};
}

lethe_index_entry lethe_id_segment_entry(const lethe_id_segment *ids, uint32_t at,
                                         lethe_id_run run) {
    size_t place = (size_t)at * NOTE_BYTES;
    lethe_index_entry entry = {.clock_ms = run.clock_ms};
    if (ids->digests != NULL) entry.digest = lethe_get_u32(ids->digests + place);
    if (ids->lags != NULL) entry.clock_ms -= lethe_get_u32(ids->lags + place);
    return entry;
}

/* Whether all digests are known, and no id was applied before the beginning of time. */
static bool has_sound_notes(const lethe_id_segment *ids) {
    bool is_sound = true;
    for (uint32_t i = 0; ids->digests != NULL && i < ids->count; i++)
        is_sound &= lethe_get_u32(ids->digests + (size_t)i * NOTE_BYTES) != 0;
    if (ids->lags == NULL) return is_sound;
    uint32_t at = 0;
    for (uint32_t i = 0; i < ids->run_count; i++) {
        lethe_id_run run = lethe_id_segment_run(ids, i);
        for (uint32_t end = at + run.count; at < end; at++)
            is_sound &= lethe_get_u32(ids->lags + (size_t)at * NOTE_BYTES) <= run.clock_ms;
    }
    return is_sound;
}

lethe_status lethe_id_segment_open(lethe_bytes segment, lethe_id_segment *out) {
    *out = (lethe_id_segment){0};
    const unsigned char *data = segment.data;
    unsigned char version = VERSION;
    if (segment.size > 0 && (data[0] == DIGESTS_VERSION || data[0] == LAGS_VERSION))
        version = data[0];
    lethe_status status = open_header(segment, version, LAGS_VERSION, &out->count);
    if (status != LETHE_OK) return status;
    uint64_t after_ids = HEADER_BYTES + (uint64_t)out->count * LETHE_LOG_ID_BYTES;
    uint64_t notes_bytes = (uint64_t)out->count * NOTE_BYTES;
    uint64_t before_runs = after_ids + (version - VERSION) * notes_bytes + 4;
    if (segment.size < before_runs || (version > VERSION && out->count == 0)) return LETHE_ECORRUPT;
    out->ids = data + HEADER_BYTES;
    if (version >= DIGESTS_VERSION) out->digests = data + after_ids;
    if (version >= LAGS_VERSION) out->lags = data + after_ids + notes_bytes;
    out->runs = data + before_runs;
    out->run_count = lethe_get_u32(out->runs - 4);
    if (segment.size - before_runs != (uint64_t)out->run_count * RUN_BYTES) return LETHE_ECORRUPT;
    uint64_t total = 0, clock_ms = 0;
    for (uint32_t i = 0; i < out->run_count; i++) {
        lethe_id_run run = lethe_id_segment_run(out, i);
        if (run.clock_ms < clock_ms) return LETHE_ECORRUPT;
        clock_ms = run.clock_ms;
        total += run.count;
    }
    return total == out->count && has_sound_notes(out) ? LETHE_OK : LETHE_ECORRUPT;
}

static size_t store_varint(unsigned char *out, uint64_t value) {
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        out[size++] = (unsigned char)(value | 0x80);
    }
    out[size++] = (unsigned char)value;
    return size;
}

/* Returns the bytes read, or 0 if there is no whole number before end. */
static size_t load_varint(const unsigned char *at, const unsigned char *end, uint64_t *out) {
    *out = 0;
    for (size_t i = 0; i < 10 && at + i < end; i++) {
        uint64_t low = at[i] & 0x7f;
        if (i == 9 && low > 1) return 0;
        *out |= low << 7 * i;
        if (at[i] < 0x80) return i + 1;
    }
    return 0;
}

static uint64_t fold_sign(int64_t value) {
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

static int64_t unfold_sign(uint64_t value) {
    return (int64_t)(value >> 1 ^ (value & 1 ? UINT64_MAX : 0));
}

size_t lethe_value_store(unsigned char out[LETHE_VALUE_LIMIT_BYTES], int64_t value) {
    return store_varint(out, fold_sign(value));
}

lethe_status lethe_value_load(lethe_bytes record, int64_t *out) {
    const unsigned char *data = record.data;
    uint64_t folded;
    size_t used = record.size == 0 ? 0 : load_varint(data, data + record.size, &folded);
    if (used == 0 || used != record.size) return LETHE_ECORRUPT;
    *out = unfold_sign(folded);
    return LETHE_OK;
}

lethe_status lethe_changes_begin(lethe_buffer *buffer) {
    return begin(buffer, VERSION);
}

lethe_status lethe_changes_append(lethe_buffer *buffer, const lethe_new_value *change) {
    if (!lethe_buffer_reserve(buffer, change->key.size + 4 + LETHE_VALUE_LIMIT_BYTES)) {
        return LETHE_ENOMEM;
    }
    unsigned char *at = buffer->data + buffer->size;
    uint64_t head = change->key.size;
    if (buffer->data[0] != VERSION) head = head << 1 | (change->is_bucket ? 1 : 0);
    at += store_varint(at, head << 1 | (change->deleted ? 1 : 0));
    lethe_copy_bytes(at, change->key.data, change->key.size);
    at += change->key.size;
    if (!change->deleted) at += store_varint(at, fold_sign(change->value));
    buffer->size = (size_t)(at - buffer->data);
    return LETHE_OK;
}

lethe_status lethe_changes_append_beside(lethe_buffer *buffer, uint64_t last[LETHE_BESIDE_LIMIT],
                                         const lethe_new_value *change) {
    if (!lethe_buffer_reserve(buffer, 1 + 2 * LETHE_VALUE_LIMIT_BYTES)) return LETHE_ENOMEM;
    unsigned char *at = buffer->data + buffer->size;
    uint64_t moved = fold_sign((int64_t)(change->label - last[change->which]));
    *at++ = change->deleted ? 3 : 2;
    at += store_varint(at, moved * LETHE_BESIDE_LIMIT + change->which);
    if (!change->deleted) at += store_varint(at, fold_sign(change->value));
    last[change->which] = change->label;
    buffer->size = (size_t)(at - buffer->data);
    return LETHE_OK;
}

void lethe_changes_take_buckets(lethe_buffer *buffer) {
    buffer->data[0] = BESIDE_VERSION;
}

void lethe_changes_end(lethe_buffer *buffer, uint32_t count) {
    lethe_put_u32(buffer->data + 4, count);
}

static lethe_status open_changes(lethe_bytes segment, unsigned char version, lethe_changes *out) {
    *out = (lethe_changes){0};
    lethe_status status = open_header(segment, version, BESIDE_VERSION, &out->left);
    if (status != LETHE_OK) return status;
    out->at = (const unsigned char *)segment.data + HEADER_BYTES;
    out->end = (const unsigned char *)segment.data + segment.size;
    if (out->left == 0 && out->at != out->end) return LETHE_ECORRUPT;
    return LETHE_OK;
}

lethe_status lethe_changes_open(lethe_bytes segment, lethe_changes *out) {
    unsigned char version = VERSION;
    if (segment.size > 0) version = *(const unsigned char *)segment.data;
    bool has_beside = version == BESIDE_VERSION;
    bool has_buckets = version == BUCKETS_VERSION || has_beside;
    lethe_status status = open_changes(segment, has_buckets ? version : VERSION, out);
    out->has_buckets = has_buckets;
    out->has_beside = has_beside;
    return status;
}

/* Takes a number that must be there. */
static bool take_varint(lethe_changes *changes, uint64_t *out) {
    size_t used = load_varint(changes->at, changes->end, out);
    changes->at += used;
    return used > 0;
}

static bool take_key(lethe_changes *changes, uint64_t size, uint64_t prefix, lethe_bytes *out) {
    size_t left = (size_t)(changes->end - changes->at);
    if (size <= prefix || size > prefix + LETHE_KEY_LIMIT_BYTES || size > left) return false;
    *out = (lethe_bytes){.data = changes->at, .size = (size_t)size};
    changes->at += size;
    return true;
}

/* One less is left. After the last one the segment must end. */
static lethe_status count_down(lethe_changes *changes) {
    changes->left--;
    return changes->left > 0 || changes->at == changes->end ? LETHE_OK : LETHE_ECORRUPT;
}

/* Takes which bucket of the last counter it is. */
static bool take_place(lethe_changes *changes, lethe_new_value *out) {
    uint64_t place;
    if (changes->counter.size == 0 || !take_varint(changes, &place)) return false;
    out->key = changes->counter;
    out->which = (uint32_t)(place % LETHE_BESIDE_LIMIT);
    uint64_t *label = &changes->labels[out->which];
    *label += (uint64_t)unfold_sign(place / LETHE_BESIDE_LIMIT);
    out->label = *label;
    return out->label < LABEL_END;
}

lethe_status lethe_changes_next(lethe_changes *changes, lethe_new_value *out) {
    uint64_t head, value = 0;
    *out = (lethe_new_value){0};
    if (changes->left == 0 || !take_varint(changes, &head)) return LETHE_ECORRUPT;
    out->deleted = (head & 1) != 0;
    head >>= 1;
    out->is_bucket = changes->has_buckets && (head & 1) != 0;
    if (changes->has_buckets) head >>= 1;
    out->is_beside = changes->has_beside && out->is_bucket && head == 0;
    if (out->is_beside
            ? !take_place(changes, out)
            : !take_key(changes, head, out->is_bucket ? BUCKET_PREFIX_BYTES : 0, &out->key))
        return LETHE_ECORRUPT;
    if (!out->is_bucket) changes->counter = out->key;
    if (!out->deleted && !take_varint(changes, &value)) return LETHE_ECORRUPT;
    out->value = unfold_sign(value);
    return count_down(changes);
}

lethe_status lethe_deltas_begin(lethe_buffer *buffer) {
    return begin(buffer, DELTAS_VERSION);
}

lethe_status lethe_deltas_append(lethe_buffer *buffer, const lethe_change *change) {
    if (!lethe_buffer_reserve(buffer, change->key.size + 4 + LETHE_VALUE_LIMIT_BYTES)) {
        return LETHE_ENOMEM;
    }
    unsigned char *at = buffer->data + buffer->size;
    at += store_varint(at, change->key.size);
    memcpy(at, change->key.data, change->key.size);
    at += change->key.size;
    at += store_varint(at, fold_sign(change->delta));
    buffer->size = (size_t)(at - buffer->data);
    return LETHE_OK;
}

lethe_status lethe_deltas_open(lethe_bytes segment, lethe_changes *out) {
    return open_changes(segment, DELTAS_VERSION, out);
}

lethe_status lethe_deltas_next(lethe_changes *deltas, lethe_change *out) {
    uint64_t size, delta;
    *out = (lethe_change){0};
    if (deltas->left == 0 || !take_varint(deltas, &size)) return LETHE_ECORRUPT;
    if (!take_key(deltas, size, 0, &out->key) || !take_varint(deltas, &delta))
        return LETHE_ECORRUPT;
    out->delta = unfold_sign(delta);
    return delta != 0 ? count_down(deltas) : LETHE_ECORRUPT;
}

void lethe_index_store(unsigned char out[LETHE_INDEX_VALUE_BYTES], lethe_index_entry entry) {
    lethe_put_u64(out, entry.clock_ms);
    lethe_put_u32(out + 8, entry.digest);
}

lethe_status lethe_index_load(lethe_bytes record, lethe_index_entry *out) {
    if (record.size != LETHE_INDEX_VALUE_BYTES) return LETHE_ECORRUPT;
    const unsigned char *data = record.data;
    *out = (lethe_index_entry){.clock_ms = lethe_get_u64(data), .digest = lethe_get_u32(data + 8)};
    return LETHE_OK;
}
