/* engine/operations/confirm.c - exact mode: is what the window calls a duplicate really one?
 *
 * I1      In exact mode the window only hints. What it has, another id may have as well, and
 *         nothing is ever removed from it. Every hit is looked up in the index, which has an id
 *         from the moment that it is decided.
 * I2      The payload of an operation is what it changes. It may be sent again with other bounds,
 *         or with more of them, or with none, when a limit has changed meanwhile. A change of 0
 *         may be there for its bounds. So it is left out beside another one of its key, whether it
 *         has bounds or not; of several changes of 0, one stays. By itself it is a change like any.
 * I3      The order of an operation's changes does not matter to its digest. It did once: an index
 *         may have digests by order, so a duplicate may agree with either.
 * WHY     Hits are rare, unless events are sent again. So a lookup costs little where it matters,
 *         and a fresh event is taken for a duplicate only if 80 bits of two ids' hashes are the
 *         same (log/segment.h). */
#include <stdlib.h>

#include "core/detail.h"
#include "engine/operations/chunk.h"

/* --- payloads --- */

/* A change that may be there only for its bounds, which are no part of the payload (I2). */
static bool only_bounds(const lethe_change *change) {
    return change->delta == 0;
}

/* By key; of one key, those that may be left out come last. */
static int compare_changes(const void *a, const void *b) {
    const lethe_change *one = ((const struct lethe_chosen *)a)->change;
    const lethe_change *other = ((const struct lethe_chosen *)b)->change;
    int order = lethe_compare_keys(one->key, other->key);
    return order != 0 ? order : only_bounds(one) - only_bounds(other);
}

static int compare_places(const void *a, const void *b) {
    const lethe_change *one = ((const struct lethe_chosen *)a)->change;
    const lethe_change *other = ((const struct lethe_chosen *)b)->change;
    return (one > other) - (one < other);
}

static bool may_leave_out(const lethe_operation *operation) {
    bool may = false;
    for (size_t i = 0; i < operation->change_count && operation->change_count > 1; i++)
        may = may || only_bounds(&operation->changes[i]);
    return may;
}

/* Lists the changes without those that are left out, in their own order. */
static lethe_status select_changes(lethe_store *store, const lethe_operation *operation,
                                   lethe_payload *out) {
    lethe_buffer *room = &store->values.counters.undo; /* nothing is to be undone yet */
    size_t count = operation->change_count;
    room->size = 0;
    if (!lethe_buffer_reserve(room, count * sizeof *out->each)) return LETHE_ENOMEM;
    struct lethe_chosen *each = (void *)room->data;
    for (size_t i = 0; i < count; i++)
        each[i].change = &operation->changes[i];
    qsort(each, count, sizeof *each, compare_changes);
    out->count = 1;
    for (size_t i = 1; i < count; i++) {
        /* What was kept last has the same key if any has. */
        const lethe_change *kept = each[out->count - 1].change;
        const lethe_change *change = each[i].change;
        if (only_bounds(change) && lethe_compare_keys(kept->key, change->key) == 0) continue;
        each[out->count++].change = change;
    }
    qsort(each, out->count, sizeof *each, compare_places);
    out->each = each;
    return LETHE_OK;
}

static const lethe_change *change_of(const lethe_payload *payload, size_t at) {
    return payload->each != NULL ? payload->each[at].change : &payload->all[at];
}

/* One change after others, of which the digest is known, or how many there are. */
static uint64_t digest_on(uint64_t seed, uint64_t digest, const lethe_change *change) {
    seed ^= digest * UINT64_C(0x9e3779b97f4a7c15);
    seed ^= (uint64_t)change->delta * UINT64_C(0xd6e8feb86659fd93);
    return lethe_hash_bytes(seed, change->key.data, change->key.size).low;
}

static uint32_t shorten(uint64_t digest) {
    return (uint32_t)(digest >> 32) | 1;
}

/* By the order of the changes, as earlier versions did; of one change, it is the digest. */
static uint32_t digest_in_order(const lethe_store *store, const lethe_payload *payload) {
    uint64_t digest = payload->count;
    for (size_t i = 0; i < payload->count; i++)
        digest = digest_on(store->state.seed, digest, change_of(payload, i));
    return shorten(digest);
}

uint32_t lethe_engine_digest_one(uint64_t seed, const lethe_change *change) {
    return shorten(digest_on(seed, 1, change));
}

/* Apart from those by order. */
enum { IN_ANY_ORDER = 0x5e7 };

static uint32_t digest_of(const lethe_store *store, const lethe_payload *payload) {
    uint64_t sum = payload->count;
    if (sum == 1) return digest_in_order(store, payload);
    for (size_t i = 0; i < payload->count; i++) {
        const lethe_change *each = change_of(payload, i);
        uint64_t seed = store->state.seed ^ IN_ANY_ORDER;
        seed ^= (uint64_t)each->delta * UINT64_C(0xd6e8feb86659fd93);
        sum += lethe_hash_bytes(seed, each->key.data, each->key.size).low;
    }
    return shorten(sum);
}

lethe_status lethe_engine_read_payload(lethe_store *store, const lethe_operation *operation,
                                       lethe_payload *out) {
    *out = (lethe_payload){.all = operation->changes, .count = operation->change_count};
    if (may_leave_out(operation)) {
        lethe_status status = select_changes(store, operation, out);
        if (status != LETHE_OK) return status;
    }
    out->digest = digest_of(store, out);
    return LETHE_OK;
}

/* Whether this is the payload that has the digest of the original one. */
static bool agrees(const lethe_store *store, const lethe_payload *payload, uint32_t original) {
    return original == 0 || original == payload->digest ||
           original == digest_in_order(store, payload);
}

/* --- hits --- */

bool lethe_engine_is_pending(lethe_store *store, lethe_log_id id) {
    lethe_log *log = &store->log;
    bool is_pending = false;
    for (uint64_t number = log->filling; number > log->durable && !is_pending; number--)
        is_pending = lethe_group_has_id(lethe_log_group(log, number), id);
    return is_pending;
}

lethe_status lethe_engine_index_id(lethe_store *store, lethe_log_id id, lethe_index_entry entry) {
    lethe_status status = lethe_index_add(store->ids.index, id, entry);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(&store->failure, status,
                                                  "cannot write the index of exact mode: %s",
                                                  lethe_strerror(status));
}

void lethe_engine_prepare_to_confirm(const lethe_store *store, const lethe_chunk *chunk,
                                     size_t from, size_t to) {
    lethe_log_id hits[LETHE_CHUNK];
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        if (chunk->answers[i] == LETHE_ANSWER_DUPLICATE) hits[count++] = chunk->ids[i];
    }
    lethe_index_prefetch(store->ids.index, hits, count);
}

lethe_status lethe_engine_confirm(lethe_store *store, const lethe_payload *payload,
                                  const lethe_chunk *chunk, size_t at, lethe_outcome *outcome) {
    lethe_index_entry entry;
    bool found;
    lethe_status status = lethe_index_find(store->ids.index, chunk->ids[at], &entry, &found);
    if (status != LETHE_OK)
        return lethe_detail_fill(&store->failure, status, "cannot read the index of exact mode: %s",
                                 lethe_strerror(status));
    uint64_t clock_ms = chunk->clocks[at];
    /* A late operation that is to be counted is no new one with an old id: whatever is still known
     * of its id is of the same one. */
    bool aged = found && !chunk->is_late[at] && clock_ms > entry.clock_ms &&
                clock_ms - entry.clock_ms > store->options.window_ms;
    if (found && !aged) {
        bool differs = store->options.check_payload && !agrees(store, payload, entry.digest);
        *outcome = differs ? LETHE_OUTCOME_MISMATCH : LETHE_OUTCOME_DUPLICATE;
        return LETHE_OK;
    }
    if (!found) store->state.totals.confirmed_false++;
    /* The window will forget the id that it took this one for sooner than this one. */
    status = lethe_window_add(store->ids.window, chunk->hashes[at], chunk->recorded[at]);
    *outcome = status == LETHE_EFULL ? LETHE_OUTCOME_REFUSED : LETHE_OUTCOME_APPLIED;
    return status == LETHE_EFULL ? LETHE_OK : status;
}
