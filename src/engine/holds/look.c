/* engine/holds/look.c - looking at holds: one, all, and in numbers. Also in a reader.
 *
 * I1      What is shown is durable (engine/claims/known.c, I2). */
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
static lethe_hold describe(const lethe_claims_moment *moment, lethe_bytes id,
                           const lethe_hold_record *hold) {
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
    bool runs = hold->state == LETHE_HOLD_IS_OPEN && moment->now_ms <= hold->deadline_ms;
    uint64_t end_ms = lethe_hold_is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
    if (lethe_hold_is_unsettled(hold)) out.state = runs ? LETHE_HOLD_IS_OPEN : LETHE_HOLD_IS_LAPSED;
    /* One more: the clock must be past the last millisecond. */
    out.left_ms = end_ms + (runs ? 0 : moment->window_ms) + 1 - moment->now_ms;
    return out;
}

/* Copies the bytes that it has borrowed. */
static lethe_status keep(lethe_store *store, const lethe_hold_record *record, lethe_hold *hold,
                         lethe_detail *detail) {
    (void)record; /* what is described has all of it */
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

#define NOUN hold
#define RECORDS holds
#define BY_ID LETHE_HOLD_BY_ID
#include "engine/claims/look.inc.h"

lethe_status lethe_holds_info(const lethe_store *store, lethe_holds_stats *out) {
    lethe_holds_stats stats = {0};
    if (store == NULL || out == NULL ||
        lethe_sized_check(out, LETHE_SIZE_WITH(out, memory_bytes)) != LETHE_OK)
        return LETHE_EINVAL;
    /* Only its lock changes, and what follows from the clock. */
    lethe_store *shared = (lethe_store *)(uintptr_t)store;
    lethe_engine_enter(shared);
    lethe_holds_lapse(shared, lethe_claims_time_of(shared));
    const lethe_holds_totals *totals = &store->claims.record.holds;
    if (store->claims.exist) {
        /* A lease that has ended may not be recorded yet: that happens with the next calls. */
        bool is_known = !store->options.read_only && store->holds.count < totals->open_count;
        stats.open = is_known ? store->holds.count : totals->open_count;
        stats.ended = totals->ended_count + (totals->open_count - stats.open);
        stats.forced = totals->forced;
    }
    stats.memory_bytes = store->holds.bytes + store->holds.capacity * sizeof(void *) +
                         lethe_held_memory_bytes(&store->values.held);
    stats.held = store->holds.held_high > 0 ? UINT64_MAX : store->holds.held_low;
    if (store->holds.by_id != NULL)
        stats.memory_bytes += lethe_tally_memory_bytes(store->holds.by_id);
    lethe_engine_leave(shared);
    return LETHE_GIVE(&stats, out, memory_bytes);
}
