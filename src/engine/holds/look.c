/* engine/holds/look.c - looking at holds: one, all, and in numbers. Also in a reader.
 *
 * I1      What is shown is durable: a walk sees only what is on disk, and get waits. */
#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "engine/store.h"

const char *lethe_hold_answer_name(lethe_hold_answer answer) {
    static const char *const names[] = {"held",    "settled",  "released", "duplicate",
                                        "limited", "mismatch", "overflow", "unknown"};
    return (size_t)answer < sizeof names / sizeof names[0] ? names[answer] : "?";
}

const char *lethe_hold_state_name(lethe_hold_state state) {
    static const char *const names[] = {"none", "open", "lapsed", "settled", "released"};
    return (size_t)state < sizeof names / sizeof names[0] ? names[state] : "?";
}

/* What there is to say of a hold that is not old. Its bytes are borrowed. */
static lethe_hold describe(uint64_t window_ms, lethe_bytes id, const lethe_hold_record *hold,
                           uint64_t now_ms) {
    lethe_hold out = {.size = sizeof out,
                      .id = id,
                      .key = hold->key,
                      .amount = hold->amount,
                      .max = hold->max,
                      .flags = hold->place > 0 ? LETHE_CHANGE_BUCKET : 0,
                      .resolution = hold->place > 0 ? hold->place - 1 : 0,
                      .state = hold->state,
                      .actual = hold->actual,
                      .wall_ms = hold->wall_ms};
    bool runs = hold->state == LETHE_HOLD_IS_OPEN && now_ms <= hold->deadline_ms;
    uint64_t end_ms = lethe_hold_is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
    if (lethe_hold_is_unsettled(hold)) out.state = runs ? LETHE_HOLD_IS_OPEN : LETHE_HOLD_IS_LAPSED;
    /* One more: the clock must be past the last millisecond. */
    out.left_ms = end_ms + (runs ? 0 : window_ms) + 1 - now_ms;
    return out;
}

/* Copies the bytes that it has borrowed. */
static lethe_status keep(lethe_store *store, lethe_hold *hold, lethe_detail *detail) {
    size_t bytes = hold->id.size + hold->key.size;
    char *memory = lethe_alloc_zeroed(store->allocator, bytes);
    if (memory == NULL)
        return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory for a hold");
    memcpy(memory, hold->id.data, hold->id.size);
    memcpy(memory + hold->id.size, hold->key.data, hold->key.size);
    hold->id.data = memory;
    hold->key.data = memory + hold->id.size;
    hold->memory = memory;
    hold->memory_bytes = bytes;
    hold->allocator = store->allocator;
    return LETHE_OK;
}

void lethe_hold_free(lethe_hold *hold) {
    if (hold == NULL || lethe_sized_check(hold, LETHE_SIZE_WITH(hold, allocator)) != LETHE_OK)
        return;
    lethe_release(hold->allocator, hold->memory, hold->memory_bytes);
    lethe_hold empty = {.size = sizeof empty};
    lethe_status given = LETHE_GIVE(&empty, hold, allocator);
    (void)given; /* it was checked */
}

/* With the lock. *commit: what this rests on. */
static lethe_status look(lethe_store *store, lethe_bytes id, lethe_hold *out, uint64_t *commit,
                         lethe_detail *detail) {
    lethe_hold_found found;
    lethe_status status = lethe_holds_find(store, id, &found, commit, detail);
    uint64_t now_ms = lethe_claims_time_of(store);
    if (status != LETHE_OK || !found.exists ||
        lethe_hold_is_old(store->options.window_ms, &found.hold, now_ms))
        return status;
    *out = describe(store->options.window_ms, id, &found.hold, now_ms);
    status = keep(store, out, detail);
    if (status != LETHE_OK) *out = (lethe_hold){.size = sizeof *out};
    return status;
}

lethe_status lethe_hold_get(lethe_store *store, lethe_bytes id, lethe_hold *out) {
    lethe_hold hold = {.size = sizeof hold};
    if (out == NULL || LETHE_GIVE(&hold, out, allocator) != LETHE_OK) return LETHE_EINVAL;
    if (store == NULL || !lethe_is_key(id)) return LETHE_EINVAL;
    lethe_detail detail = {""};
    uint64_t commit;
    lethe_engine_enter(store);
    lethe_status status = look(store, id, &hold, &commit, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    if (status == LETHE_OK && commit > 0) status = lethe_log_wait(store, commit);
    lethe_engine_leave(store);
    if (status == LETHE_OK) return LETHE_GIVE(&hold, out, allocator);
    lethe_hold_free(&hold);
    return status;
}

/* Shows a hold of a walk, unless it is old. */
static lethe_status show(uint64_t window_ms, uint64_t now_ms, lethe_bytes key, lethe_bytes value,
                         lethe_hold *out, bool *is_known) {
    lethe_hold_record hold;
    lethe_status status = lethe_hold_load(value, &hold);
    *is_known = status == LETHE_OK && !lethe_hold_is_old(window_ms, &hold, now_ms);
    if (!*is_known) return status;
    lethe_bytes id = {.data = (const char *)key.data + 1, .size = key.size - 1};
    *out = describe(window_ms, id, &hold, now_ms);
    return LETHE_OK;
}

lethe_status lethe_holds_each(lethe_store *store, lethe_bytes from, lethe_hold_visit visit,
                              void *context) {
    if (store == NULL || visit == NULL || (from.data == NULL && from.size > 0)) return LETHE_EINVAL;
    if (from.size > LETHE_ID_LIMIT_BYTES) return LETHE_EINVAL;
    lethe_claim_key first;
    lethe_bytes begin = {.data = from.size > 0 ? from.data : "", .size = from.size};
    lethe_claim_key_of_kind(LETHE_HOLD_BY_ID, begin, &first);
    lethe_walk *walk = NULL;
    lethe_status status = LETHE_OK;
    lethe_engine_enter(store);
    uint64_t now_ms = lethe_claims_time_of(store), window_ms = store->options.window_ms;
    if (store->claims.exist) {
        status = lethe_walk_begin(store->disk, LETHE_FAMILY_CLAIMS, lethe_claim_key_bytes(&first),
                                  &walk);
    }
    lethe_engine_leave(store);
    if (status != LETHE_OK || walk == NULL) return status;
    lethe_bytes key, value;
    bool goes_on = true, is_known;
    while (goes_on && status == LETHE_OK && lethe_walk_next(walk, &key, &value) && key.size > 1 &&
           *(const char *)key.data == LETHE_HOLD_BY_ID) {
        lethe_hold shown;
        status = show(window_ms, now_ms, key, value, &shown, &is_known);
        if (is_known) goes_on = visit(context, &shown);
    }
    lethe_detail detail = {""};
    lethe_status ended = lethe_walk_end(walk, &detail);
    if (status != LETHE_OK) (void)lethe_explain_damage("a hold", status, &detail);
    if (status == LETHE_OK) status = ended;
    lethe_engine_remark_late(store, status, &detail);
    return status;
}

lethe_status lethe_holds_info(const lethe_store *store, lethe_holds_stats *out) {
    lethe_holds_stats stats = {0};
    if (store == NULL || out == NULL ||
        lethe_sized_check(out, LETHE_SIZE_WITH(out, memory_bytes)) != LETHE_OK)
        return LETHE_EINVAL;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* only its lock changes */
    lethe_engine_enter(shared);
    const lethe_holds_totals *totals = &store->claims.record.holds;
    if (store->claims.exist) {
        stats.open = totals->open_count;
        stats.ended = totals->ended_count;
        stats.forced = totals->forced;
    }
    stats.memory_bytes = store->holds.bytes + store->holds.capacity * sizeof(void *) +
                         lethe_held_memory_bytes(&store->values.held);
    if (store->holds.by_id != NULL)
        stats.memory_bytes += lethe_tally_memory_bytes(store->holds.by_id);
    lethe_engine_leave(shared);
    return LETHE_GIVE(&stats, out, memory_bytes);
}
