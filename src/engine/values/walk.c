/* engine/values/walk.c - counters in the order of their keys.
 *
 * IDEA    The value of a counter is the one in memory if COUNTERS does not have it yet, and the one
 *         in COUNTERS otherwise. A walk merges both: copies of the first, sorted, and a walk
 *         through COUNTERS.
 * WHY     The copies are made with the lock, which takes milliseconds. The walk may take
 *         minutes. */
#include "engine/values/walk.h"

#include <stdlib.h>

#include "engine/log/segment.h"

int lethe_compare_keys(lethe_bytes a, lethe_bytes b) {
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size > 0 ? memcmp(a.data, b.data, size) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_key(const void *left, const void *right) {
    return lethe_compare_keys(((const lethe_value_entry *)left)->key,
                              ((const lethe_value_entry *)right)->key);
}

lethe_status lethe_value_walk_add(lethe_value_walk *walk, lethe_bytes key, int64_t value,
                                  bool absent) {
    lethe_value_entry entry = {
        .key_at = walk->keys.size, .key = key, .value = value, .absent = absent};
    if (!lethe_buffer_reserve(&walk->entries, sizeof entry) ||
        !lethe_buffer_reserve(&walk->keys, key.size)) {
        return LETHE_ENOMEM;
    }
    lethe_buffer_append(&walk->entries, &entry, sizeof entry);
    lethe_buffer_append(&walk->keys, key.data, key.size);
    return LETHE_OK;
}

void lethe_value_walk_sort(lethe_value_walk *walk) {
    lethe_value_entry *entries = (void *)walk->entries.data;
    size_t count = walk->entries.size / sizeof *entries;
    for (size_t i = 0; i < count; i++) {
        entries[i].key.data = walk->keys.data + entries[i].key_at;
    }
    if (count > 0) qsort(entries, count, sizeof *entries, by_key);
}

lethe_status lethe_value_walk_visit(lethe_value_walk *walk, lethe_store_visit visit,
                                    void *context) {
    const lethe_value_entry *entry = (const void *)walk->entries.data;
    const lethe_value_entry *end = entry + walk->entries.size / sizeof *entry;
    lethe_bytes key, value;
    bool has_stored = lethe_walk_next(walk->stored, &key, &value), goes_on = true;
    /* The record with the empty key only says how far COUNTERS is folded. */
    if (has_stored && key.size == 0) has_stored = lethe_walk_next(walk->stored, &key, &value);
    while (goes_on && (has_stored || entry < end)) {
        int order = !has_stored ? -1 : entry == end ? 1 : lethe_compare_keys(entry->key, key);
        if (order <= 0) { /* where a key is in both, the copy counts */
            if (!entry->absent) goes_on = visit(context, entry->key, entry->value);
            entry++;
        } else {
            int64_t number;
            if (lethe_value_load(value, &number) != LETHE_OK) return LETHE_ECORRUPT;
            goes_on = visit(context, key, number);
        }
        if (order >= 0 && goes_on) has_stored = lethe_walk_next(walk->stored, &key, &value);
    }
    return LETHE_OK;
}

lethe_status lethe_value_walk_end(lethe_value_walk *walk, lethe_detail *detail) {
    lethe_buffer_free(&walk->entries);
    lethe_buffer_free(&walk->keys);
    return walk->stored != NULL ? lethe_walk_end(walk->stored, detail) : LETHE_OK;
}
