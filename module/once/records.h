/* module/once/records.h - records with an id that is kept exactly and a time at which something is
 * due: claims and holds.
 *
 * records.c has the essay. A record is a structure of its owner's that begins with struct record;
 * the owner makes and releases it. Records don't move in memory while they exist. */
#ifndef LETHE_MODULE_ONCE_RECORDS_H
#define LETHE_MODULE_ONCE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "once/counters.h"

/* The head of a record. */
struct record {
    /* Its place in the map. The name of the entry is the record's id. */
    struct counter *entry;
    /* From this moment on, by the table's clock, something is to be done with it. */
    uint64_t due_ms;
    /* In the heap. */
    size_t place;
};

struct records {
    /* The value of an entry is the address of its record. */
    struct counters by_id;
    /* A heap of all records, by the time at which they are due; as many as by_id has. */
    struct record **heap;
    size_t capacity;
};

/* None; nothing is allocated until there is one. */
void records_init(struct records *records, uint64_t seed);
/* Releases all: each record by release. */
typedef void records_visitor(void *context, struct record *record);
void records_drop(struct records *records, records_visitor *release, void *context);

static inline uint64_t records_count(const struct records *records) {
    return records->by_id.count;
}
/* NULL when there is none of that id. Cost: O(1). */
struct record *records_find(const struct records *records, const char *id, size_t size);
/* Adds one whose due_ms is set, under an id that has none. Cost: O(log n). */
void records_add(struct records *records, const char *id, size_t size, struct record *record);
/* Takes it out; the record is the caller's to release. Cost: O(log n). */
void records_remove(struct records *records, struct record *record);
/* It is due at another time. Cost: O(log n). */
void records_move(struct records *records, struct record *record, uint64_t due_ms);
/* The one that is due first, if it is due as of now_ms; otherwise NULL. Cost: O(1). */
struct record *records_due(const struct records *records, uint64_t now_ms);

/* Every record, in no order. */
void records_each(const struct records *records, records_visitor *visit, void *context);
/* A few of them, as counters_scan does. */
uint64_t records_scan(const struct records *records, uint64_t cursor, records_visitor *visit,
                      void *context);
/* Of the map and the heap, without the records themselves. */
size_t records_memory(const struct records *records);

#endif
