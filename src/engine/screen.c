/* engine/screen.c - what can be told of an operation without asking anybody: whether it is one, and its time.
 *
 * IDEA    The store's clock is that of the latest event, and it never goes back. So an event whose time is wrong must not
 *         move it: everything that follows would be late. Two things keep it:
 * I1      No event moves the clock beyond the wall clock and max_ahead_ms.
 * I2      An event that jumps ahead by more than W, so that others can become late by it, is believed only if no fewer of the
 *         events that follow it, in the submission or as announced, go with it than would be left behind.
 * WHY     Times older than the wall clock are ordinary: logs are counted when they are complete, or again years later. So
 *         the wall clock can't tell a log that begins after a pause from one wrong line; what comes next can.
 *         An event that nothing follows is believed: there is no telling, and none to be left behind. */
#include "engine/decide.h"
#include "os/clock.h"

bool lethe_engine_is_key(lethe_bytes key) {
    return key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES;
}

static bool is_valid(const lethe_operation *operation) {
    if (operation->id.size < 1 || operation->id.size > LETHE_ID_LIMIT_BYTES) return false;
    if (operation->change_count < 1 || operation->change_count > LETHE_CHANGES_LIMIT) return false;
    for (size_t i = 0; i < operation->change_count; i++) {
        if (!lethe_engine_is_key(operation->changes[i].key)) return false;
    }
    return true;
}

static bool is_older(uint64_t time_ms, uint64_t clock_ms, uint64_t by_ms) {
    return time_ms < clock_ms && clock_ms - time_ms > by_ms;
}

static bool is_ahead(const lethe_counter *counter, uint64_t time_ms, uint64_t wall_ms) {
    return time_ms > counter->state.clock_ms &&
           is_older(wall_ms, time_ms, counter->options.max_ahead_ms);
}

/* Whether nobody can tell if it was applied: it is older than W, or than what the store has known since W was shorter. Where ids
 * are kept for ever that depends on the id, and is decided later. */
static bool is_late(const lethe_counter *counter, uint64_t time_ms) {
    const lethe_state *state = &counter->state;
    if (counter->ledger != NULL) return false;
    return time_ms < state->known_from_ms ||
           is_older(time_ms, state->clock_ms, counter->options.window_ms);
}

/* What the events that follow a jump say of it. */
struct verdict {
    size_t with, behind;
};

/* Events that are late in any case, or too far ahead themselves, have no say. */
static void hear(const lethe_counter *counter, uint64_t time_ms, uint64_t jump_ms, uint64_t wall_ms,
                 struct verdict *verdict) {
    uint64_t window_ms = counter->options.window_ms;
    if (is_ahead(counter, time_ms, wall_ms)) return;
    if (is_late(counter, time_ms)) return;
    bool is_behind = is_older(time_ms, jump_ms, window_ms);
    verdict->behind += is_behind;
    verdict->with += !is_behind;
}

/* Whether the clock may go to the time of `operation`, more than W ahead, by those that follow it. */
static bool is_believed(const lethe_counter *counter, const lethe_operation *operation,
                        size_t following, uint64_t wall_ms) {
    struct verdict verdict = {0};
    if (following > LETHE_WITNESSES) following = LETHE_WITNESSES;
    for (size_t i = 1; i <= following; i++) {
        if (is_valid(&operation[i]))
            hear(counter, operation[i].time_ms, operation->time_ms, wall_ms, &verdict);
    }
    for (size_t i = 0; i < counter->announced && following + i < LETHE_WITNESSES; i++) {
        hear(counter, counter->announced_ms[i], operation->time_ms, wall_ms, &verdict);
    }
    return verdict.with >= verdict.behind;
}

bool lethe_counter_announce(lethe_counter *counter, const lethe_operation *operations,
                            size_t count) {
    lethe_engine_enter(counter);
    for (size_t i = 0; i < count && counter->announced < LETHE_WITNESSES; i++) {
        if (is_valid(&operations[i]))
            counter->announced_ms[counter->announced++] = operations[i].time_ms;
    }
    bool takes_more = counter->announced < LETHE_WITNESSES;
    lethe_engine_leave(counter);
    return takes_more;
}

/* Advances the store's clock to an event's time, or says why not. Where ids are kept for ever a jump leaves none
 * behind. */
static lethe_outcome screen_time(lethe_counter *counter, const lethe_operation *operation,
                                 size_t following, uint64_t wall_ms) {
    uint64_t time_ms = operation->time_ms, clock_ms = counter->state.clock_ms;
    uint64_t window_ms = counter->options.window_ms;
    if (time_ms <= clock_ms) return is_late(counter, time_ms) ? LETHE_LATE : LETHE_APPLIED;
    if (is_ahead(counter, time_ms, wall_ms)) return LETHE_AHEAD;
    if (is_older(clock_ms, time_ms, window_ms) && counter->ledger == NULL &&
        !is_believed(counter, operation, following, wall_ms)) {
        return LETHE_AHEAD;
    }
    counter->state.clock_ms = time_ms;
    return LETHE_APPLIED;
}

/* Hashes the keys of an operation, and has what is known of them fetched. */
static void fetch_slots(lethe_counter *counter, const lethe_operation *operation, uint32_t **tags) {
    if (counter->sketch != NULL) return;
    for (size_t i = 0; i < operation->change_count; i++) {
        **tags = lethe_engine_tag(counter, operation->changes[i].key);
        lethe_tally_prefetch_slot(counter->tally, *(*tags)++);
    }
}

void lethe_engine_screen(lethe_counter *counter, const lethe_operation *operations, size_t count,
                         size_t following, lethe_chunk *chunk, uint8_t *outcomes) {
    bool by_events = counter->options.event_time;
    uint64_t wall_ms = by_events ? lethe_os_wall_ms() : 0;
    if (!by_events) {
        uint64_t now_ms = lethe_engine_now(counter);
        if (now_ms > counter->state.clock_ms) counter->state.clock_ms = now_ms;
    }
    uint32_t *tags = counter->tags;
    chunk->count = chunk->asked = 0;
    for (size_t i = 0; i < count; i++) {
        const lethe_operation *operation = &operations[i];
        outcomes[i] = LETHE_INVALID;
        if (!is_valid(operation)) continue;
        outcomes[i] = LETHE_APPLIED;
        if (by_events) {
            outcomes[i] =
                (uint8_t)screen_time(counter, operation, count - 1 - i + following, wall_ms);
        }
        fetch_slots(counter, operation, &tags);
        if (outcomes[i] != LETHE_APPLIED) continue;
        lethe_hash hash =
            lethe_hash_bytes(counter->state.seed, operation->id.data, operation->id.size);
        size_t at = chunk->count++;
        chunk->at[at] = (uint16_t)i;
        chunk->ids[at] = lethe_log_id_of(hash);
        chunk->hashes[at] = lethe_log_id_expand(chunk->ids[at]);
        chunk->clocks[at] = counter->state.clock_ms;
    }
}
