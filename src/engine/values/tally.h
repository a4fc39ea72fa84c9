/* engine/values/tally.h - counters in memory: a hash table from key to value.
 *
 * A record stays where it is until lethe_tally_keep, so others may hold pointers to it. Each has a
 * stamp, the commit that last changed it, which shows whether the counters on disk have it
 * (counters.c). One thread at a time. */
#ifndef LETHE_ENGINE_VALUES_TALLY_H
#define LETHE_ENGINE_VALUES_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/status.h"

typedef struct lethe_tally_record {
    int64_t value;
    uint32_t stamp;
    uint16_t key_size;
    /* Known not to be in the store, or deleted; value is 0. */
    bool absent;
    char key[];
} __attribute__((packed, aligned(4))) lethe_tally_record; /* there may be millions of them */

typedef struct lethe_tally lethe_tally;

/* Each record has so many bytes of room beside its key for what belongs to it, a multiple of 4.
 * They are zeros at first, and move with the record. */
LETHE_MUST_CHECK lethe_status lethe_tally_new(const lethe_allocator *allocator, uint32_t room_bytes,
                                              lethe_tally **out);
void lethe_tally_free(lethe_tally *tally); /* takes NULL */

/* The part of a key's hash that the table uses. */
static inline uint32_t lethe_tally_tag(lethe_hash hash) {
    return (uint32_t)(hash.high >> 32);
}

/* Two steps before find: fetch the slot, then the record, with its room if its key has about
 * key_size bytes. The record is returned: it has the tag, but may be another key's. NULL: none
 * has. */
void lethe_tally_prefetch_slot(const lethe_tally *tally, uint32_t tag);
lethe_tally_record *lethe_tally_prefetch_record(const lethe_tally *tally, uint32_t tag,
                                                size_t key_size);

/* NULL if it is not there. Cost: two cache misses. */
lethe_tally_record *lethe_tally_find(const lethe_tally *tally, uint32_t tag, lethe_bytes key);
/* Adds a key that is not there, with stamp 0. NULL when there is no memory. Cost: as find;
 * amortised, the table grows. */
lethe_tally_record *lethe_tally_add(lethe_tally *tally, uint32_t tag, lethe_bytes key);
/* The same for one that will hardly be looked for: it is found only after the next settle. Cost: no
 * cache miss. */
lethe_tally_record *lethe_tally_add_unsettled(lethe_tally *tally, uint32_t tag, lethe_bytes key);
/* Lets all that were added be found. Cost: a cache miss for each that was not settled. */
void lethe_tally_settle(lethe_tally *tally);

/* The room of a record: after its key, at a multiple of 4. */
static inline void *lethe_tally_room(const lethe_tally_record *record) {
    size_t size = (offsetof(lethe_tally_record, key) + record->key_size + 3) & ~(size_t)3;
    return (char *)(uintptr_t)record + size;
}

/* Every record, in the order in which they were added; *position starts at 0. NULL at the end. */
lethe_tally_record *lethe_tally_each(const lethe_tally *tally, uint64_t *position);

/* Which records stay, and how the tag of a key is computed. */
typedef struct lethe_tally_filter {
    bool (*stays)(const void *context, const lethe_tally_record *record);
    uint32_t (*tag)(const void *context, lethe_bytes key);
    const void *context;
} lethe_tally_filter;

/* Drops the records that do not stay, and moves the others. On LETHE_ENOMEM nothing changed. */
LETHE_MUST_CHECK lethe_status lethe_tally_keep(lethe_tally *tally,
                                               const lethe_tally_filter *filter);

/* What a tally of so many records with keys of that length, and that room, would take. */
uint64_t lethe_tally_planned_bytes(uint64_t records, uint64_t key_bytes, uint32_t room_bytes);

uint64_t lethe_tally_count(const lethe_tally *tally);
uint64_t lethe_tally_memory_bytes(const lethe_tally *tally);

#endif
