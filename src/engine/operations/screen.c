/* engine/operations/screen.c - what can be decided without looking anything up: whether an
 * operation is valid, and its time.
 *
 * IDEA    With event time the store's clock is that of the latest event, and it never goes back. So
 *         an event whose time is wrong must not move it: all that follow would be late. Two rules:
 * I1      No event moves the clock beyond the wall clock and max_future_ms.
 * I2      An event that jumps ahead by more than W, so that others can become late by it, is
 *         believed only if at least as many of the events after it (in the submission, or
 *         announced) agree with it as would become late.
 * WHY     Times older than the wall clock are ordinary: logs are counted when they are complete, or
 *         again years later. So the wall clock can't distinguish a log that goes on after a pause
 *         from one wrong line. What comes next can. An event that nothing follows is believed:
 *         there is no way to know, and no event that could become late.
 * I3      An event that is late and to be counted (LETHE_OPERATION_COUNT_LATE) is decided like the
 *         others, under the store's clock: so its id is asked for, and remembered for W from
 *         now. */
#include "engine/operations/chunk.h"
#include "engine/values/bounds.h"
#include "os/clock.h"

enum { KNOWN_FLAGS = LETHE_OPERATION_COUNT_LATE | LETHE_OPERATION_GIVE_UP };

/* Whether the flags of changes, of which one at least is not 0, are known, and fit the store. */
static bool are_bounds_valid(const lethe_store *store, const lethe_operation *operation) {
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *change = &operation->changes[i];
        if (change->flags != 0 && !lethe_bounds_are_valid(&store->values, change)) return false;
    }
    return true;
}

/* *has_bounds becomes true if a change has bounds, and stays as it is otherwise. */
static bool is_valid(const lethe_store *store, const lethe_operation *operation, bool *has_bounds) {
    lethe_bytes id = operation->id;
    uint32_t flags = 0;
    if (id.size < 1 || id.size > LETHE_ID_LIMIT_BYTES || id.data == NULL) return false;
    if ((operation->flags & ~(uint32_t)KNOWN_FLAGS) != 0 || operation->reserved != 0) return false;
    if (operation->change_count < 1 || operation->change_count > LETHE_CHANGES_LIMIT)
        return operation->change_count == 0 && (operation->flags & LETHE_OPERATION_GIVE_UP) != 0;
    if (operation->changes == NULL) return false;
    for (size_t i = 0; i < operation->change_count; i++) {
        if (!lethe_is_key(operation->changes[i].key)) return false;
        flags |= operation->changes[i].flags;
    }
    if (flags == 0) return (operation->flags & LETHE_OPERATION_GIVE_UP) == 0;
    *has_bounds = true;
    return are_bounds_valid(store, operation) && (operation->flags & LETHE_OPERATION_GIVE_UP) == 0;
}

static bool is_older(uint64_t time_ms, uint64_t clock_ms, uint64_t by_ms) {
    return time_ms < clock_ms && clock_ms - time_ms > by_ms;
}

/* However far ahead an event may be: the ends of windows after it must not be beyond 64 bits, or
 * what was applied just now would be old. */
static bool is_ahead(const lethe_store *store, uint64_t time_ms, uint64_t wall_ms) {
    return time_ms > store->state.clock_ms &&
           (time_ms > LETHE_LAST_MOMENT_MS ||
            is_older(wall_ms, time_ms, store->options.max_future_ms));
}

/* Whether nobody knows if it was applied: it is older than W, or older than what the store has
 * known since W was shorter. Where ids are kept for ever that depends on the id, and is decided
 * later. */
static bool is_late(const lethe_store *store, uint64_t time_ms) {
    const lethe_state *state = &store->state;
    if (store->ids.ledger != NULL) return false;
    return time_ms < state->known_from_ms ||
           is_older(time_ms, state->clock_ms, store->options.window_ms);
}

/* What the events after a jump say of it. */
struct verdict {
    size_t with, behind;
};

/* Counts one of them. Events that are late in any case, or too far ahead themselves, have no
 * say. */
static void hear(const lethe_store *store, uint64_t time_ms, uint64_t jump_ms, uint64_t wall_ms,
                 struct verdict *verdict) {
    uint64_t window_ms = store->options.window_ms;
    if (is_ahead(store, time_ms, wall_ms)) return;
    if (is_late(store, time_ms)) return;
    bool is_behind = is_older(time_ms, jump_ms, window_ms);
    verdict->behind += is_behind;
    verdict->with += !is_behind;
}

/* Whether the clock may go to the time of `operation`, more than W ahead, by those after it. */
static bool is_believed(const lethe_store *store, const lethe_operation *operation,
                        size_t following, uint64_t wall_ms) {
    struct verdict verdict = {0};
    bool has_bounds = false;
    if (following > LETHE_WITNESSES) following = LETHE_WITNESSES;
    for (size_t i = 1; i <= following; i++) {
        if (is_valid(store, &operation[i], &has_bounds))
            hear(store, operation[i].time_ms, operation->time_ms, wall_ms, &verdict);
    }
    for (size_t i = 0; i < store->clock.announced && following + i < LETHE_WITNESSES; i++) {
        hear(store, store->clock.announced_ms[i], operation->time_ms, wall_ms, &verdict);
    }
    return verdict.with >= verdict.behind;
}

bool lethe_store_announce(lethe_store *store, const lethe_operation *operations, size_t count) {
    if (store == NULL || (operations == NULL && count > 0)) return false;
    bool has_bounds = false;
    lethe_engine_enter(store);
    for (size_t i = 0; i < count && store->clock.announced < LETHE_WITNESSES; i++) {
        if (is_valid(store, &operations[i], &has_bounds))
            store->clock.announced_ms[store->clock.announced++] = operations[i].time_ms;
    }
    bool takes_more = store->clock.announced < LETHE_WITNESSES;
    lethe_engine_leave(store);
    return takes_more;
}

/* Advances the store's clock to an event's time, or returns why not. Where ids are kept for ever a
 * jump makes no event late. Of a jump the operation is looked at, and those after it; of a late one
 * the caller looks at the flags. */
static lethe_outcome screen_time(lethe_store *store, uint64_t time_ms,
                                 const lethe_operation *operation, size_t following,
                                 uint64_t wall_ms) {
    uint64_t clock_ms = store->state.clock_ms;
    uint64_t window_ms = store->options.window_ms;
    if (time_ms <= clock_ms)
        return is_late(store, time_ms) ? LETHE_OUTCOME_LATE : LETHE_OUTCOME_APPLIED;
    if (is_ahead(store, time_ms, wall_ms)) return LETHE_OUTCOME_FUTURE;
    if (is_older(clock_ms, time_ms, window_ms) && store->ids.ledger == NULL &&
        !is_believed(store, operation, following, wall_ms)) {
        return LETHE_OUTCOME_FUTURE;
    }
    store->state.clock_ms = time_ms;
    return LETHE_OUTCOME_APPLIED;
}

static bool counts_if_late(const lethe_operation *operation) {
    return (operation->flags & LETHE_OPERATION_COUNT_LATE) != 0;
}

static lethe_log_id hash_id(const lethe_store *store, const lethe_operation *operation,
                            const lethe_prepared_one *prepared) {
    if (prepared != NULL && lethe_prepared_is_simple(prepared)) return lethe_prepared_id(prepared);
    return lethe_log_id_of(
        lethe_hash_bytes(store->state.seed, operation->id.data, operation->id.size));
}

void lethe_engine_screen(lethe_store *store, const lethe_operation *operations,
                         const lethe_prepared_one *prepared, size_t count, size_t following,
                         lethe_chunk *chunk, uint8_t *outcomes) {
    bool by_events = store->options.event_time;
    uint64_t wall_ms = by_events ? lethe_os_wall_ms() : 0;
    if (!by_events) {
        uint64_t now_ms = lethe_clock_now(&store->clock, &store->state);
        if (now_ms > store->state.clock_ms) store->state.clock_ms = now_ms;
    }
    chunk->count = chunk->asked = 0;
    chunk->has_bounds = false;
    for (size_t i = 0; i < count; i++) {
        const lethe_operation *operation = &operations[i];
        outcomes[i] = LETHE_OUTCOME_INVALID;
        if (!is_valid(store, operation, &chunk->has_bounds)) continue;
        outcomes[i] = LETHE_OUTCOME_APPLIED;
        if (by_events) {
            outcomes[i] = (uint8_t)screen_time(store, operation->time_ms, operation,
                                               count - 1 - i + following, wall_ms);
        }
        bool counts_late = outcomes[i] == LETHE_OUTCOME_LATE && counts_if_late(operation);
        if (counts_late) outcomes[i] = LETHE_OUTCOME_APPLIED;
        if (outcomes[i] != LETHE_OUTCOME_APPLIED) continue;
        size_t at = chunk->count++;
        chunk->at[at] = (uint16_t)i;
        chunk->ids[at] = hash_id(store, operation, prepared != NULL ? &prepared[i] : NULL);
        chunk->hashes[at] = lethe_log_id_expand(chunk->ids[at]);
        chunk->clocks[at] = store->state.clock_ms;
        chunk->is_late[at] = counts_late;
    }
}

void lethe_engine_screen_simple(lethe_store *store, const lethe_prepared *prepared, size_t from,
                                size_t count, lethe_chunk *chunk, uint8_t *outcomes) {
    const lethe_operation *operations = prepared->operations + from;
    const lethe_prepared_one *all = prepared->all + from;
    const uint64_t *times = prepared->times + from;
    size_t following = prepared->count - from - 1;
    uint64_t wall_ms = lethe_os_wall_ms();
    chunk->count = chunk->asked = 0;
    chunk->has_bounds = false;
    for (size_t i = 0; i < count; i++) {
        lethe_outcome outcome =
            screen_time(store, times[i], &operations[i], following - i, wall_ms);
        bool counts_late = outcome == LETHE_OUTCOME_LATE && counts_if_late(&operations[i]);
        if (counts_late) outcome = LETHE_OUTCOME_APPLIED;
        outcomes[i] = (uint8_t)outcome;
        size_t at = chunk->count;
        chunk->at[at] = (uint16_t)i;
        chunk->ids[at] = lethe_prepared_id(&all[i]);
        chunk->hashes[at] = lethe_log_id_expand(chunk->ids[at]);
        chunk->clocks[at] = store->state.clock_ms;
        chunk->is_late[at] = counts_late;
        chunk->count += outcome == LETHE_OUTCOME_APPLIED;
    }
}
