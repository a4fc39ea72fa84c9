/* engine/values/tally.c - counters in memory.
 *
 * IDEA    Records lie one after another in chunks that never move. The table has for each a 32-bit
 *         tag and the record's place, 8 bytes together.
 * LAYOUT  slot:   [tag 32][place + 1, 32]           0: empty
 *         place:  [chunk][unit of 4 bytes within the chunk, 19 bits]
 *         chunk:  2 MiB of records: value, stamp, key size, key, room; each a multiple of 4 bytes
 * I1      A slot's home is tag * slots / 2^32; it lies there or after, with no empty slot between.
 * I2      At most 5/8 of the slots are in use, and would be if all were settled.
 * I3      Slots of records that were added unsettled wait in a list, in order. The table has room
 *         for them, so that settling cannot fail.
 * I4      Slots are a whole number of cache lines. Of a line all slots are looked at together: in
 *         an empty one the lower half is 0, which it is in no other, and in the one that is looked
 *         for the upper half is the tag.
 * WHY     Value and key mostly share a cache line, so a counter costs two misses, and both can be
 *         fetched ahead. The home grows with the tag: so the table grows by reading and writing it
 *         in order, by any factor.
 * LIMIT   16 GiB of records. */
#include "engine/values/tally.h"

#include <string.h>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "core/allocator.h"
#include "core/bytes.h"
#include "engine/buffer.h"

enum { CHUNK_BYTES = 1 << 21, UNIT_BYTES = 4, CHUNK_UNITS = CHUNK_BYTES / UNIT_BYTES };
enum { CHUNK_LIMIT = 1 << 13, FIRST_SLOTS = 1 << 12, LINE_BYTES = 64, LINE_SLOTS = 8 };

struct lethe_tally {
    const lethe_allocator *allocator;
    uint64_t *slots;
    uint64_t slot_count;
    uint64_t count;
    lethe_buffer waiting; /* slots that have no place yet (I3) */
    char **chunks;        /* CHUNK_LIMIT pointers */
    uint32_t *used;       /* units in use, of each chunk */
    uint32_t chunk_count;
    uint32_t room_units; /* of each record */
};

static uint64_t home_of(uint32_t tag, uint64_t slot_count) {
    return (uint64_t)tag * slot_count >> 32;
}

static lethe_tally_record *record_at(const lethe_tally *tally, uint32_t place) {
    char *chunk = tally->chunks[place / CHUNK_UNITS];
    return (lethe_tally_record *)(void *)(chunk + (size_t)(place % CHUNK_UNITS) * UNIT_BYTES);
}

static uint32_t units_of(const lethe_tally *tally, size_t key_size) {
    size_t bytes = offsetof(lethe_tally_record, key) + key_size;
    return (uint32_t)((bytes + UNIT_BYTES - 1) / UNIT_BYTES) + tally->room_units;
}

lethe_status lethe_tally_new(const lethe_allocator *allocator, uint32_t room_bytes,
                             lethe_tally **out) {
    *out = NULL;
    lethe_tally *tally = lethe_alloc_zeroed(allocator, sizeof *tally);
    if (tally == NULL) return LETHE_ENOMEM;
    tally->allocator = tally->waiting.allocator = allocator;
    tally->room_units = room_bytes / UNIT_BYTES;
    tally->slot_count = FIRST_SLOTS;
    tally->slots = lethe_alloc_zeroed(allocator, FIRST_SLOTS * sizeof *tally->slots);
    tally->chunks = lethe_alloc_zeroed(allocator, CHUNK_LIMIT * sizeof *tally->chunks);
    tally->used = lethe_alloc_zeroed(allocator, CHUNK_LIMIT * sizeof *tally->used);
    if (tally->slots == NULL || tally->chunks == NULL || tally->used == NULL) {
        lethe_tally_free(tally);
        return LETHE_ENOMEM;
    }
    *out = tally;
    return LETHE_OK;
}

void lethe_tally_free(lethe_tally *tally) {
    if (tally == NULL) return;
    for (uint32_t i = 0; tally->chunks != NULL && i < tally->chunk_count; i++) {
        lethe_release(tally->allocator, tally->chunks[i], CHUNK_BYTES);
    }
    lethe_buffer_free(&tally->waiting);
    lethe_release(tally->allocator, tally->slots, tally->slot_count * sizeof *tally->slots);
    lethe_release(tally->allocator, tally->chunks, CHUNK_LIMIT * sizeof *tally->chunks);
    lethe_release(tally->allocator, tally->used, CHUNK_LIMIT * sizeof *tally->used);
    lethe_release(tally->allocator, tally, sizeof *tally);
}

/* Which of the slots of a cache line have the tag or are empty, in two bits each (I4). */
static uint32_t find_in_line(const uint64_t *line, uint32_t tag) {
#if defined(__SSE2__)
    const __m128i *from = (const void *)line;
    const uint64_t slot = (uint64_t)tag << 32;
    __m128i wanted = _mm_set1_epi64x((long long)slot);
    __m128i a = _mm_cmpeq_epi32(_mm_loadu_si128(from), wanted);
    __m128i b = _mm_cmpeq_epi32(_mm_loadu_si128(from + 1), wanted);
    __m128i c = _mm_cmpeq_epi32(_mm_loadu_si128(from + 2), wanted);
    __m128i d = _mm_cmpeq_epi32(_mm_loadu_si128(from + 3), wanted);
    __m128i low = _mm_packs_epi32(a, b), high = _mm_packs_epi32(c, d);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
    uint32_t found = 0;
    for (unsigned i = 0; i < LINE_SLOTS; i++)
        found |= (uint32_t)(line[i] >> 32 == tag || line[i] == 0) << 2 * i;
    return found;
#endif
}

/* The first slot from *at on that has the tag, or 0 if an empty one comes first. *at becomes where
 * it is. */
static uint64_t next_slot(const lethe_tally *tally, uint32_t tag, uint64_t *at) {
    uint64_t from = *at;
    for (;;) {
        uint64_t line = from / LINE_SLOTS * LINE_SLOTS;
        uint32_t found = find_in_line(tally->slots + line, tag) >> 2 * (from % LINE_SLOTS);
        if (found != 0) {
            *at = from + (unsigned)__builtin_ctz(found) / 2;
            return tally->slots[*at];
        }
        from = line + LINE_SLOTS == tally->slot_count ? 0 : line + LINE_SLOTS;
    }
}

static uint64_t after(const lethe_tally *tally, uint64_t at) {
    return at + 1 == tally->slot_count ? 0 : at + 1;
}

void lethe_tally_prefetch_slot(const lethe_tally *tally, uint32_t tag) {
    __builtin_prefetch(&tally->slots[home_of(tag, tally->slot_count)]);
}

lethe_tally_record *lethe_tally_prefetch_record(const lethe_tally *tally, uint32_t tag,
                                                size_t key_size) {
    uint64_t at = home_of(tag, tally->slot_count), slot = next_slot(tally, tag, &at);
    if (slot == 0) return NULL;
    lethe_tally_record *record = record_at(tally, (uint32_t)slot - 1);
    __builtin_prefetch(record, 1);
    if (tally->room_units > 0) {
        const char *bytes = (const char *)record;
        size_t end = (size_t)units_of(tally, key_size) * UNIT_BYTES;
        for (size_t line = LINE_BYTES; line < end; line += LINE_BYTES)
            __builtin_prefetch(bytes + line, 1);
        __builtin_prefetch(bytes + end - 1, 1);
    }
    return record;
}

lethe_tally_record *lethe_tally_find(const lethe_tally *tally, uint32_t tag, lethe_bytes key) {
    uint64_t at = home_of(tag, tally->slot_count);
    for (;; at = after(tally, at)) {
        uint64_t slot = next_slot(tally, tag, &at);
        if (slot == 0) return NULL;
        lethe_tally_record *record = record_at(tally, (uint32_t)slot - 1);
        if (record->key_size == key.size && lethe_same_bytes(record->key, key.data, key.size))
            return record;
    }
}

static void place_slot(uint64_t *slots, uint64_t slot_count, uint64_t slot) {
    uint64_t at = home_of((uint32_t)(slot >> 32), slot_count);
    while (slots[at] != 0)
        at = at + 1 == slot_count ? 0 : at + 1;
    slots[at] = slot;
}

/* How many slots there are after so many (I4). */
static uint64_t grown(uint64_t slot_count) {
    return slot_count / 2 * 3 / LINE_SLOTS * LINE_SLOTS;
}

static bool grow(lethe_tally *tally) {
    uint64_t larger = grown(tally->slot_count);
    size_t bytes;
    if (!lethe_size_multiply(larger, sizeof *tally->slots, &bytes)) return false;
    uint64_t *slots = lethe_alloc_zeroed(tally->allocator, bytes);
    if (slots == NULL) return false;
    bool is_empty = tally->waiting.size / sizeof *slots == tally->count;
    for (uint64_t i = 0; i < tally->slot_count && !is_empty; i++) {
        if (tally->slots[i] != 0) place_slot(slots, larger, tally->slots[i]);
    }
    lethe_release(tally->allocator, tally->slots, tally->slot_count * sizeof *tally->slots);
    tally->slots = slots;
    tally->slot_count = larger;
    return true;
}

/* Finds room for a record and returns its place, or UINT32_MAX. */
static uint32_t allocate(lethe_tally *tally, size_t key_size) {
    uint32_t units = units_of(tally, key_size);
    uint32_t chunk = tally->chunk_count - 1;
    if (tally->chunk_count == 0 || tally->used[chunk] + units > CHUNK_UNITS) {
        if (tally->chunk_count == CHUNK_LIMIT) return UINT32_MAX;
        char *memory = lethe_alloc_zeroed(tally->allocator, CHUNK_BYTES);
        if (memory == NULL) return UINT32_MAX;
        chunk = tally->chunk_count++;
        tally->chunks[chunk] = memory;
        tally->used[chunk] = 0;
    }
    uint32_t place = chunk * CHUNK_UNITS + tally->used[chunk];
    if (place == UINT32_MAX) return UINT32_MAX;
    tally->used[chunk] += units;
    return place;
}

/* Adds a record; its slot is the caller's to place. */
static lethe_tally_record *append(lethe_tally *tally, uint32_t tag, lethe_bytes key,
                                  uint64_t *slot) {
    if (tally->count + 1 > tally->slot_count / 8 * 5 && !grow(tally)) return NULL;
    uint32_t place = allocate(tally, key.size);
    if (place == UINT32_MAX) return NULL;
    lethe_tally_record *record = record_at(tally, place);
    *record = (lethe_tally_record){.key_size = (uint16_t)key.size};
    memcpy(record->key, key.data, key.size);
    *slot = (uint64_t)tag << 32 | (place + 1);
    tally->count++;
    return record;
}

lethe_tally_record *lethe_tally_add(lethe_tally *tally, uint32_t tag, lethe_bytes key) {
    uint64_t slot;
    lethe_tally_record *record = append(tally, tag, key, &slot);
    if (record != NULL) place_slot(tally->slots, tally->slot_count, slot);
    return record;
}

lethe_tally_record *lethe_tally_add_unsettled(lethe_tally *tally, uint32_t tag, lethe_bytes key) {
    uint64_t slot;
    if (!lethe_buffer_reserve(&tally->waiting, sizeof slot)) return NULL;
    lethe_tally_record *record = append(tally, tag, key, &slot);
    if (record != NULL) lethe_buffer_append(&tally->waiting, &slot, sizeof slot);
    return record;
}

void lethe_tally_settle(lethe_tally *tally) {
    const uint64_t *slots = (const void *)tally->waiting.data;
    size_t count = tally->waiting.size / sizeof *slots;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) lethe_tally_prefetch_slot(tally, (uint32_t)(slots[i + 8] >> 32));
        place_slot(tally->slots, tally->slot_count, slots[i]);
    }
    tally->waiting.size = 0;
}

lethe_tally_record *lethe_tally_each(const lethe_tally *tally, uint64_t *position) {
    uint64_t chunk = *position / CHUNK_UNITS, unit = *position % CHUNK_UNITS;
    if (chunk < tally->chunk_count && unit >= tally->used[chunk]) {
        chunk++;
        unit = 0;
    }
    if (chunk >= tally->chunk_count) return NULL;
    lethe_tally_record *record = record_at(tally, (uint32_t)(chunk * CHUNK_UNITS + unit));
    *position = chunk * CHUNK_UNITS + unit + units_of(tally, record->key_size);
    return record;
}

lethe_status lethe_tally_keep(lethe_tally *tally, const lethe_tally_filter *filter) {
    lethe_tally *kept;
    uint32_t room_bytes = tally->room_units * UNIT_BYTES;
    lethe_status status = lethe_tally_new(tally->allocator, room_bytes, &kept);
    if (status != LETHE_OK) return status;
    uint64_t position = 0;
    const lethe_tally_record *record;
    while ((record = lethe_tally_each(tally, &position)) != NULL) {
        if (!filter->stays(filter->context, record)) continue;
        lethe_bytes key = {.data = record->key, .size = record->key_size};
        lethe_tally_record *copy = lethe_tally_add(kept, filter->tag(filter->context, key), key);
        if (copy == NULL) {
            lethe_tally_free(kept);
            return LETHE_ENOMEM;
        }
        copy->value = record->value;
        copy->stamp = record->stamp;
        copy->absent = record->absent;
        memcpy(lethe_tally_room(copy), lethe_tally_room(record), room_bytes);
    }
    lethe_tally old = *tally;
    *tally = *kept;
    *kept = old;
    lethe_tally_free(kept);
    return LETHE_OK;
}

uint64_t lethe_tally_count(const lethe_tally *tally) {
    return tally->count;
}

uint64_t lethe_tally_memory_bytes(const lethe_tally *tally) {
    return tally->slot_count * sizeof *tally->slots + (uint64_t)tally->chunk_count * CHUNK_BYTES +
           tally->waiting.capacity + CHUNK_LIMIT * (sizeof *tally->chunks + sizeof *tally->used);
}

uint64_t lethe_tally_planned_bytes(uint64_t records, uint64_t key_bytes, uint32_t room_bytes) {
    const lethe_tally tally = {.room_units = room_bytes / UNIT_BYTES};
    uint64_t slots = FIRST_SLOTS, a_chunk = CHUNK_UNITS / units_of(&tally, (size_t)key_bytes);
    while (records > slots / 8 * 5)
        slots = grown(slots);
    uint64_t chunks = (records + a_chunk - 1) / a_chunk;
    return slots * sizeof *tally.slots + chunks * CHUNK_BYTES +
           CHUNK_LIMIT * (sizeof *tally.chunks + sizeof *tally.used);
}
