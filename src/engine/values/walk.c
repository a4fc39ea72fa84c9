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

static void step_stored(lethe_value_walk *walk) {
    walk->has_stored = lethe_walk_next(walk->stored, &walk->stored_key, &walk->stored_value);
}

/* The record with the empty key only says how far COUNTERS is folded. */
static void begin(lethe_value_walk *walk) {
    if (walk->begun) return;
    walk->begun = true;
    step_stored(walk);
    if (walk->has_stored && walk->stored_key.size == 0) step_stored(walk);
}

static size_t entry_count(const lethe_value_walk *walk) {
    return walk->entries.size / sizeof(lethe_value_entry);
}

lethe_status lethe_value_walk_next(lethe_value_walk *walk, lethe_bytes *key, int64_t *value,
                                   bool *found) {
    const lethe_value_entry *entries = (const void *)walk->entries.data;
    size_t count = entry_count(walk);
    if (walk->steps && walk->has_stored) step_stored(walk); /* what was given out last is used up */
    walk->steps = false;
    begin(walk);
    while (walk->has_stored || walk->at < count) {
        const lethe_value_entry *entry = entries + walk->at;
        int order = !walk->has_stored   ? -1
                    : walk->at == count ? 1
                                        : lethe_compare_keys(entry->key, walk->stored_key);
        if (order > 0) {
            *key = walk->stored_key;
            *found = walk->steps = true;
            return lethe_value_load(walk->stored_value, value) == LETHE_OK ? LETHE_OK
                                                                           : LETHE_ECORRUPT;
        }
        walk->at++;
        if (order == 0) step_stored(walk); /* where a key is in both, the copy counts */
        if (entry->absent) continue;
        *key = entry->key;
        *value = entry->value;
        *found = true;
        return LETHE_OK;
    }
    *found = false;
    return LETHE_OK;
}

void lethe_value_walk_seek(lethe_value_walk *walk, lethe_bytes key) {
    const lethe_value_entry *entries = (const void *)walk->entries.data;
    size_t low = walk->at, high = entry_count(walk);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lethe_compare_keys(entries[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    walk->at = low;
    lethe_walk_seek(walk->stored, key);
    walk->steps = walk->begun = false;
}

lethe_status lethe_value_walk_visit(lethe_value_walk *walk, lethe_store_visit visit,
                                    void *context) {
    lethe_bytes key;
    int64_t value;
    bool found;
    for (;;) {
        lethe_status status = lethe_value_walk_next(walk, &key, &value, &found);
        if (status != LETHE_OK || !found) return status;
        if (!visit(context, key, value)) return LETHE_OK;
    }
}

lethe_status lethe_value_walk_end(lethe_value_walk *walk, lethe_detail *detail) {
    lethe_buffer_free(&walk->entries);
    lethe_buffer_free(&walk->keys);
    return walk->stored != NULL ? lethe_walk_end(walk->stored, detail) : LETHE_OK;
}
