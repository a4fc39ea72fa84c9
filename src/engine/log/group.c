/* engine/log/group.c - what belongs to one commit.
 *
 * WHY     The buffers are kept from one commit to the next, so that nothing is allocated after the
 *         first few. Pending ids are looked up only where the ledger decides, which learns of an id
 *         when it is durable. Elsewhere window and index have the id as soon as it is decided, and
 *         the answer to a duplicate waits for its own group, which is never written before the
 *         group of the original. */
#include "engine/log/group.h"

#include "core/allocator.h"
#include "core/bytes.h"

_Static_assert(LETHE_PENDING_SLOTS == 2 * LETHE_GROUP_LIMIT, "a full group fills half the table");

lethe_status lethe_group_prepare(lethe_group *group, const lethe_allocator *allocator,
                                 bool keeps_pending) {
    lethe_buffer *const buffers[] = {
        &group->ids,     &group->runs,   &group->touched, &group->touched_buckets,
        &group->changes, &group->claims, &group->digests, &group->lags};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->allocator = allocator;
    }
    group->batch = lethe_batch_new();
    if (group->batch == NULL) return LETHE_ENOMEM;
    return keeps_pending ? lethe_pending_prepare(&group->pending, allocator) : LETHE_OK;
}

void lethe_group_drop(lethe_group *group) {
    lethe_batch_free(group->batch);
    lethe_pending_drop(&group->pending);
    lethe_buffer_free(&group->ids);
    lethe_buffer_free(&group->runs);
    lethe_buffer_free(&group->digests);
    lethe_buffer_free(&group->lags);
    lethe_buffer_free(&group->touched);
    lethe_buffer_free(&group->touched_buckets);
    lethe_buffer_free(&group->changes);
    lethe_buffer_free(&group->claims);
}

uint64_t lethe_group_memory_bytes(const lethe_group *group) {
    uint64_t bytes = group->ids.capacity + group->runs.capacity + group->digests.capacity +
                     group->lags.capacity + group->touched.capacity +
                     group->touched_buckets.capacity + group->changes.capacity +
                     group->claims.capacity;
    if (group->pending.slots != NULL) bytes += LETHE_PENDING_SLOTS * sizeof *group->pending.slots;
    return bytes;
}

lethe_status lethe_group_begin(lethe_group *group, uint64_t number) {
    group->number = number;
    group->operations = group->change_count = 0;
    group->drops_ids = group->drops_changes = group->wants_cover = false;
    group->runs.size = group->touched.size = group->touched_buckets.size = 0;
    group->claims.size = group->digests.size = group->lags.size = 0;
    group->has_lags = group->has_buckets = false;
    group->meters.writes = false;
    if (group->pending.known > 0)
        lethe_pending_clear(&group->pending, lethe_id_segment_ids(&group->ids));
    group->id_count = 0;
    group->ids_ended = false;
    lethe_batch_clear(group->batch);
    return lethe_id_segment_begin(&group->ids);
}

lethe_status lethe_group_count_ids(lethe_group *group, uint64_t count, uint64_t clock_ms) {
    if (count == 0) return LETHE_OK;
    lethe_id_run *runs = (void *)group->runs.data;
    size_t run_count = group->runs.size / sizeof *runs;
    if (run_count == 0 || runs[run_count - 1].clock_ms != clock_ms) {
        if (!lethe_buffer_reserve(&group->runs, sizeof *runs)) return LETHE_ENOMEM;
        lethe_buffer_append(&group->runs, &(lethe_id_run){.clock_ms = clock_ms}, sizeof *runs);
        runs = (void *)group->runs.data;
        run_count++;
    }
    runs[run_count - 1].count += (uint32_t)count;
    return LETHE_OK;
}

lethe_status lethe_group_add_id(lethe_group *group, lethe_log_id id, uint64_t clock_ms) {
    if (!lethe_buffer_reserve(&group->ids, LETHE_LOG_ID_BYTES)) return LETHE_ENOMEM;
    lethe_status status = lethe_group_count_ids(group, 1, clock_ms);
    if (status == LETHE_OK) lethe_id_segment_append(&group->ids, id);
    return status;
}

lethe_status lethe_group_note_id(lethe_group *group, lethe_index_entry entry,
                                 uint64_t recorded_ms) {
    if (!lethe_group_reserve_notes(group, 1)) return LETHE_ENOMEM;
    lethe_group_append_note(group, entry, recorded_ms);
    return LETHE_OK;
}

bool lethe_group_has_id(lethe_group *group, lethe_log_id id) {
    uint32_t count = group->ids_ended ? group->id_count : lethe_id_segment_count(&group->ids);
    return count > 0 &&
           lethe_pending_has(&group->pending, lethe_id_segment_ids(&group->ids), count, id);
}

lethe_status lethe_group_end_ids(lethe_group *group) {
    group->id_count = lethe_id_segment_count(&group->ids);
    group->ids_ended = true;
    lethe_id_notes notes = {.digests = &group->digests,
                            .lags = group->has_lags ? &group->lags : NULL};
    return lethe_id_segment_end(&group->ids, (const void *)group->runs.data,
                                group->runs.size / sizeof(lethe_id_run), notes);
}
