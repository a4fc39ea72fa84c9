/* engine/operations/confirm.c - exact mode: is what the window calls a duplicate really one?
 *
 * I1      In exact mode the window only hints. What it has, another id may have as well, and
 *         nothing is ever removed from it. Every hit is looked up: among the ids on their way to
 *         disk, then in the index.
 * WHY     Hits are rare, unless events are sent again. So a lookup costs little where it matters,
 *         and no fresh event is ever taken for a duplicate. */
#include "engine/operations/chunk.h"

uint32_t lethe_engine_digest(const lethe_store *store, const lethe_operation *operation) {
    uint64_t digest = operation->change_count;
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *each = &operation->changes[i];
        uint64_t seed = store->state.seed ^ digest * UINT64_C(0x9e3779b97f4a7c15);
        seed ^= (uint64_t)each->delta * UINT64_C(0xd6e8feb86659fd93);
        digest = lethe_hash_bytes(seed, each->key.data, each->key.size).low;
    }
    return (uint32_t)(digest >> 32) | 1;
}

const lethe_pending *lethe_engine_find_pending(const lethe_store *store, lethe_log_id id) {
    const lethe_log *log = &store->log;
    const lethe_pending *pending = NULL;
    for (uint64_t number = log->filling; number > log->durable && pending == NULL; number--)
        pending = lethe_pending_find(&log->groups[number % LETHE_GROUPS].pending, id);
    return pending;
}

/* When the id was applied, by what is certain. */
static lethe_status look_up(lethe_store *store, lethe_log_id id, lethe_index_entry *out,
                            bool *found) {
    const lethe_pending *pending = lethe_engine_find_pending(store, id);
    *found = pending != NULL;
    if (!*found) return lethe_index_get(store->disk, id, out, found, &store->failure);
    *out = pending->entry;
    return LETHE_OK;
}

lethe_status lethe_engine_confirm(lethe_store *store, const lethe_chunk *chunk, size_t at,
                                  uint32_t digest, lethe_outcome *outcome) {
    lethe_index_entry entry;
    bool found;
    lethe_status status = look_up(store, chunk->ids[at], &entry, &found);
    if (status != LETHE_OK) return status;
    uint64_t clock_ms = chunk->clocks[at];
    bool aged =
        found && clock_ms > entry.clock_ms && clock_ms - entry.clock_ms > store->options.window_ms;
    if (found && !aged) {
        bool differs = store->options.check_payload && entry.digest != 0 && entry.digest != digest;
        *outcome = differs ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
        return LETHE_OK;
    }
    if (!found) store->state.totals.confirmed_false++;
    /* The window will forget the id that it took this one for sooner than this one. */
    status = lethe_window_add(store->ids.window, chunk->hashes[at], chunk->recorded[at]);
    *outcome = status == LETHE_EFULL ? LETHE_OUTCOME_REFUSED : LETHE_OUTCOME_APPLIED;
    return status == LETHE_EFULL ? LETHE_OK : status;
}
