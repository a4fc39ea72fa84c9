/* module/once/records.c - records under ids that are kept exactly, in the order in which they are
 * due.
 *
 * IDEA    Work that is claimed is a record with an end: of its lease, and later of its own memory.
 *         The map of a table's counters finds a record by its id, since it grows by one bucket at a
 *         time and has a cursor for listing; the value of an entry is the record's address. A
 *         binary heap has the record that is due first at its root.
 * I1      heap[record->place] is the record, and no parent in the heap is due later than its
 *         children.
 * WHY     When several are due at the same moment, any of them may be the root, and master and
 *         replica may differ in which. So nothing that is saved or replicated may depend on the
 *         order of the heap: an owner says by the time alone whether a record is still there.
 * MEMORY  An entry of 24 bytes and the id, 8 bytes in the map, and 8 to 16 in the heap; and the
 *         record.
 * LIMIT   The heap is one array: when it doubles, it is copied, 8 bytes a record. It does not
 *         shrink before it is empty. */
#include "once/records.h"

#include <string.h>

enum { FEWEST = 4 };

void records_init(struct records *records, uint64_t seed) {
    *records = (struct records){.heap = NULL};
    counters_init(&records->by_id, seed);
}

static struct record *record_of(const struct counter *entry) {
    struct record *record;
    memcpy(&record, &entry->value, sizeof(void *));
    return record;
}

static void release_heap(struct records *records) {
    redis.Free(records->heap);
    records->heap = NULL;
    records->capacity = 0;
}

void records_drop(struct records *records, records_visitor *release, void *context) {
    for (size_t i = 0; i < records_count(records); i++)
        release(context, records->heap[i]);
    release_heap(records);
    counters_drop(&records->by_id);
}

/* --- The heap */

static void put(struct records *records, size_t place, struct record *record) {
    records->heap[place] = record;
    record->place = place;
}

static void sift_up(struct records *records, struct record *record) {
    size_t place = record->place;
    while (place > 0 && records->heap[(place - 1) / 2]->due_ms > record->due_ms) {
        put(records, place, records->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(records, place, record);
}

static void sift_down(struct records *records, struct record *record, size_t count) {
    size_t place = record->place;
    for (size_t child; (child = 2 * place + 1) < count; place = child) {
        struct record *const *heap = records->heap;
        if (child + 1 < count && heap[child + 1]->due_ms < heap[child]->due_ms) child++;
        if (heap[child]->due_ms >= record->due_ms) break;
        put(records, place, heap[child]);
    }
    put(records, place, record);
}

static void reserve(struct records *records, size_t count) {
    if (count <= records->capacity) return;
    records->capacity = 2 * records->capacity + FEWEST;
    records->heap = redis.Realloc(records->heap, records->capacity * sizeof(struct record *));
}

/* --- Records */

struct record *records_find(const struct records *records, const char *id, size_t size) {
    const struct counter *entry = counters_find(&records->by_id, id, size);
    return entry != NULL ? record_of(entry) : NULL;
}

void records_add(struct records *records, const char *id, size_t size, struct record *record) {
    reserve(records, records_count(records) + 1);
    record->entry = counters_add(&records->by_id, id, size);
    record->entry->value = 0;
    memcpy(&record->entry->value, &record, sizeof(void *));
    put(records, records_count(records) - 1, record);
    sift_up(records, record);
}

void records_remove(struct records *records, struct record *record) {
    struct record *last = records->heap[records_count(records) - 1];
    const struct counter *entry = record->entry;
    size_t place = record->place;
    (void)counters_remove(&records->by_id, entry->name, entry->size);
    record->entry = NULL;
    if (last != record) {
        put(records, place, last);
        sift_up(records, last);
        sift_down(records, last, records_count(records));
    }
    if (records_count(records) == 0) release_heap(records);
}

void records_move(struct records *records, struct record *record, uint64_t due_ms) {
    record->due_ms = due_ms;
    sift_up(records, record);
    sift_down(records, record, records_count(records));
}

struct record *records_due(const struct records *records, uint64_t now_ms) {
    if (records_count(records) == 0 || records->heap[0]->due_ms > now_ms) return NULL;
    return records->heap[0];
}

/* --- All of them */

void records_each(const struct records *records, records_visitor *visit, void *context) {
    for (size_t i = 0; i < records_count(records); i++)
        visit(context, records->heap[i]);
}

struct visiting {
    records_visitor *visit;
    void *context;
};

static void visit_entry(void *context, struct counter *entry) {
    const struct visiting *visiting = context;
    visiting->visit(visiting->context, record_of(entry));
}

uint64_t records_scan(const struct records *records, uint64_t cursor, records_visitor *visit,
                      void *context) {
    struct visiting visiting = {visit, context};
    return counters_scan(&records->by_id, cursor, visit_entry, &visiting);
}

size_t records_memory(const struct records *records) {
    return counters_memory(&records->by_id) + records->capacity * sizeof(struct record *);
}
