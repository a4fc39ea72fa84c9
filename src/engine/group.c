/* engine/group.c - what belongs to one commit, while it fills up.
 *
 * WHY     Its buffers are kept from one commit to the next, so that after the first few nothing is
 *         allocated. The table of pending ids exists only where index or ledger have the last word: both learn of an id
 *         when it is durable. Otherwise the window has it as soon as it is decided, and a copy's answer waits
 *         for its own group, which is never written before its original's. */
#include <stdlib.h>

#include "core/allocator.h"
#include "engine/engine.h"

enum { PENDING_SLOTS = 2 * LETHE_GROUP_LIMIT };

lethe_status lethe_group_prepare(lethe_group *group, const lethe_allocator *allocator,
                                 bool keeps_pending) {
    lethe_buffer *const buffers[] = {&group->ids, &group->runs, &group->touched, &group->changes,
                                     &group->pending};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->allocator = allocator;
    }
    group->batch = lethe_batch_new();
    if (group->batch == NULL) return LETHE_ENOMEM;
    if (!keeps_pending) return LETHE_OK;
    group->pending_slots =
        lethe_alloc_zeroed(allocator, PENDING_SLOTS * sizeof *group->pending_slots);
    return group->pending_slots != NULL ? LETHE_OK : LETHE_ENOMEM;
}

void lethe_group_drop(lethe_group *group) {
    lethe_batch_free(group->batch);
    if (group->pending_slots != NULL) {
        lethe_release(group->ids.allocator, group->pending_slots,
                      PENDING_SLOTS * sizeof *group->pending_slots);
    }
    lethe_buffer_free(&group->ids);
    lethe_buffer_free(&group->runs);
    lethe_buffer_free(&group->touched);
    lethe_buffer_free(&group->changes);
    lethe_buffer_free(&group->pending);
}

/* Empties the table of pending ids: where they are few one by one, since the table is large and a commit may have but one. */
static void forget_pending(lethe_group *group) {
    const lethe_pending *all = (const void *)group->pending.data;
    uint32_t count = (uint32_t)(group->pending.size / sizeof *all);
    bool are_few = count <= PENDING_SLOTS / 64;
    if (count > 0 && !are_few)
        memset(group->pending_slots, 0, PENDING_SLOTS * sizeof *group->pending_slots);
    for (uint32_t i = 0; are_few && i < count; i++) {
        uint32_t at = (uint32_t)(all[i].id.low % PENDING_SLOTS);
        while (group->pending_slots[at] != i + 1)
            at = (at + 1) % PENDING_SLOTS;
        group->pending_slots[at] = 0;
    }
    group->pending.size = 0;
}

lethe_status lethe_group_begin(lethe_group *group, uint64_t number) {
    group->number = number;
    group->operations = group->delta_count = 0;
    group->drops_ids = group->drops_changes = group->wants_cover = false;
    group->runs.size = group->touched.size = 0;
    forget_pending(group);
    lethe_batch_clear(group->batch);
    lethe_status status = lethe_ids_begin(&group->ids);
    if (status != LETHE_OK) return status;
    return group->holds_deltas ? lethe_deltas_begin(&group->changes)
                               : lethe_changes_begin(&group->changes);
}

lethe_status lethe_group_touch(lethe_group *group, lethe_tally_record *record, uint32_t stamp) {
    if (record->stamp == stamp) return LETHE_OK;
    lethe_touched touched = {.record = record};
    if (!lethe_buffer_reserve(&group->touched, sizeof touched)) return LETHE_ENOMEM;
    lethe_buffer_append(&group->touched, &touched, sizeof touched);
    record->stamp = stamp;
    return LETHE_OK;
}

lethe_status lethe_group_add_id(lethe_group *group, lethe_log_id id, uint64_t clock_ms) {
    if (!lethe_buffer_reserve(&group->ids, LETHE_LOG_ID_BYTES)) return LETHE_ENOMEM;
    lethe_id_run *runs = (void *)group->runs.data;
    size_t count = group->runs.size / sizeof *runs;
    if (count == 0 || runs[count - 1].clock_ms != clock_ms) {
        if (!lethe_buffer_reserve(&group->runs, sizeof *runs)) return LETHE_ENOMEM;
        lethe_buffer_append(&group->runs, &(lethe_id_run){.clock_ms = clock_ms}, sizeof *runs);
        runs = (void *)group->runs.data;
        count++;
    }
    runs[count - 1].count++;
    lethe_ids_append(&group->ids, id);
    return LETHE_OK;
}

lethe_status lethe_group_add_pending(lethe_group *group, lethe_pending pending) {
    if (!lethe_buffer_reserve(&group->pending, sizeof pending)) return LETHE_ENOMEM;
    lethe_buffer_append(&group->pending, &pending, sizeof pending);
    uint32_t at = (uint32_t)(pending.id.low % PENDING_SLOTS);
    while (group->pending_slots[at] != 0)
        at = (at + 1) % PENDING_SLOTS;
    group->pending_slots[at] = (uint32_t)(group->pending.size / sizeof pending);
    return LETHE_OK;
}

const lethe_pending *lethe_group_find_pending(const lethe_group *group, lethe_log_id id) {
    const lethe_pending *all = (const void *)group->pending.data, *latest = NULL;
    uint32_t at = (uint32_t)(id.low % PENDING_SLOTS);
    for (; group->pending_slots[at] != 0; at = (at + 1) % PENDING_SLOTS) {
        const lethe_pending *found = &all[group->pending_slots[at] - 1];
        if (found->id.low == id.low && found->id.high == id.high) latest = found;
    }
    return latest;
}

/* Where a pending id goes in the order of keys. */
struct position {
    uint64_t prefix; /* the key's first eight bytes, as a number that sorts as they do */
    uint32_t at;
};

static int by_prefix(const void *left, const void *right) {
    const struct position *a = left, *b = right;
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* In order: RocksDB finds the place of a key fast if it is near the last one's, and a table of random keys
 * is larger than the cache. An id that was applied twice, with more than W between, is put in that order: the
 * later entry counts. */
lethe_status lethe_group_put_index(lethe_group *group, lethe_store *store) {
    const lethe_pending *all = (const void *)group->pending.data;
    size_t count = group->pending.size / sizeof *all;
    if (count == 0) return LETHE_OK;
    lethe_buffer order = {.allocator = group->pending.allocator};
    bool has_room = lethe_buffer_reserve(&order, count * sizeof(struct position));
    if (!has_room || order.data == NULL) return LETHE_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct position position = {.prefix = __builtin_bswap64(all[i].id.low), .at = (uint32_t)i};
        lethe_buffer_append(&order, &position, sizeof position);
    }
    struct position *positions = (void *)order.data;
    qsort(positions, count, sizeof *positions, by_prefix);
    for (size_t i = 0; i < count; i++) {
        unsigned char key[LETHE_LOG_ID_BYTES], value[LETHE_INDEX_VALUE_BYTES];
        lethe_log_id_store(key, all[positions[i].at].id);
        lethe_index_store(value, all[positions[i].at].entry);
        lethe_batch_put(group->batch, store, LETHE_FAMILY_INDEX,
                        (lethe_bytes){.data = key, .size = sizeof key},
                        (lethe_bytes){.data = value, .size = sizeof value});
    }
    lethe_buffer_free(&order);
    return LETHE_OK;
}
