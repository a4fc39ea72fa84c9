/* engine/ids/pending.c - a hash table of ids on their way to disk.
 *
 * LAYOUT  slots: [place of an id in the group's segment, plus 1, u32]; 0 is empty; linear probing
 *         from id.low
 * I1      The first `known` ids of the segment are in the slots, and no others.
 * WHY     Hardly ever is anybody asked for such an id, since the window knows it too. So an id is
 *         put into the table when somebody asks, and not when it is decided.
 *         The table is as large as a full group needs, and is kept from one commit to the next. A
 *         commit may have a single id, so few ids are removed one by one, and many by clearing the
 *         whole table. */
#include "engine/ids/pending.h"

#include <string.h>

#include "core/allocator.h"

enum { SLOTS = LETHE_PENDING_SLOTS, FEW = SLOTS / 64 };

lethe_status lethe_pending_prepare(lethe_pending_ids *pending, const lethe_allocator *allocator) {
    pending->allocator = allocator;
    pending->slots = lethe_alloc_zeroed(allocator, SLOTS * sizeof *pending->slots);
    return pending->slots != NULL ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_pending_drop(lethe_pending_ids *pending) {
    lethe_release(pending->allocator, pending->slots, SLOTS * sizeof *pending->slots);
}

static lethe_log_id id_at(const unsigned char *log_ids, uint32_t place) {
    return lethe_log_id_load(log_ids + (size_t)place * LETHE_LOG_ID_BYTES);
}

static uint32_t home_of(lethe_log_id id) {
    return (uint32_t)(id.low % SLOTS);
}

void lethe_pending_clear(lethe_pending_ids *pending, const unsigned char *log_ids) {
    uint32_t count = pending->known;
    bool are_few = count <= FEW;
    pending->known = 0;
    if (count > 0 && !are_few) memset(pending->slots, 0, SLOTS * sizeof *pending->slots);
    for (uint32_t i = 0; are_few && i < count; i++) {
        uint32_t at = home_of(id_at(log_ids, i));
        while (pending->slots[at] != i + 1)
            at = (at + 1) % SLOTS;
        pending->slots[at] = 0;
    }
}

/* Puts the ids that came since into the slots. */
static void learn(lethe_pending_ids *pending, const unsigned char *log_ids, uint32_t count) {
    for (; pending->known < count; pending->known++) {
        uint32_t at = home_of(id_at(log_ids, pending->known));
        while (pending->slots[at] != 0)
            at = (at + 1) % SLOTS;
        pending->slots[at] = pending->known + 1;
    }
}

bool lethe_pending_has(lethe_pending_ids *pending, const unsigned char *log_ids, uint32_t count,
                       lethe_log_id id) {
    learn(pending, log_ids, count);
    for (uint32_t at = home_of(id); pending->slots[at] != 0; at = (at + 1) % SLOTS) {
        lethe_log_id found = id_at(log_ids, pending->slots[at] - 1);
        if (found.low == id.low && found.high == id.high) return true;
    }
    return false;
}
