/* engine/ids/pending.c - a hash table of ids on their way to disk.
 *
 * LAYOUT  all:   the entries, in order
 *         slots: [place in all, plus 1, u32]; 0 is empty; linear probing from id.low
 * WHY     The table is as large as a full group needs, and is kept from one commit to the next. A
 *         commit may have a single id, so few ids are removed one by one, and many by clearing the
 *         whole table. */
#include "engine/ids/pending.h"

#include "core/allocator.h"

enum { SLOTS = LETHE_PENDING_SLOTS, FEW = SLOTS / 64 };

lethe_status lethe_pending_prepare(lethe_pending_ids *pending, const lethe_allocator *allocator) {
    pending->all.allocator = allocator;
    pending->slots = lethe_alloc_zeroed(allocator, SLOTS * sizeof *pending->slots);
    return pending->slots != NULL ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_pending_drop(lethe_pending_ids *pending) {
    if (pending->slots != NULL) {
        lethe_release(pending->all.allocator, pending->slots, SLOTS * sizeof *pending->slots);
    }
    lethe_buffer_free(&pending->all);
}

static uint32_t home_of(lethe_log_id id) {
    return (uint32_t)(id.low % SLOTS);
}

void lethe_pending_clear(lethe_pending_ids *pending) {
    const lethe_pending *all = (const void *)pending->all.data;
    uint32_t count = (uint32_t)(pending->all.size / sizeof *all);
    bool are_few = count <= FEW;
    if (count > 0 && !are_few) memset(pending->slots, 0, SLOTS * sizeof *pending->slots);
    for (uint32_t i = 0; are_few && i < count; i++) {
        uint32_t at = home_of(all[i].id);
        while (pending->slots[at] != i + 1)
            at = (at + 1) % SLOTS;
        pending->slots[at] = 0;
    }
    pending->all.size = 0;
}

lethe_status lethe_pending_add(lethe_pending_ids *pending, lethe_pending entry) {
    if (!lethe_buffer_reserve(&pending->all, sizeof entry)) return LETHE_ENOMEM;
    lethe_buffer_append(&pending->all, &entry, sizeof entry);
    uint32_t at = home_of(entry.id);
    while (pending->slots[at] != 0)
        at = (at + 1) % SLOTS;
    pending->slots[at] = (uint32_t)(pending->all.size / sizeof entry);
    return LETHE_OK;
}

const lethe_pending *lethe_pending_find(const lethe_pending_ids *pending, lethe_log_id id) {
    const lethe_pending *all = (const void *)pending->all.data, *latest = NULL;
    for (uint32_t at = home_of(id); pending->slots[at] != 0; at = (at + 1) % SLOTS) {
        const lethe_pending *found = &all[pending->slots[at] - 1];
        if (found->id.low == id.low && found->id.high == id.high) latest = found;
    }
    return latest;
}
