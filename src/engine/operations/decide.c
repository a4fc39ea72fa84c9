/* engine/operations/decide.c - deciding operations: applied, duplicate, late, limited, refused.
 *
 * IDEA    Operations are decided in chunks, in passes, so that the cache misses of a thousand of
 *         them overlap: screen them (lengths, time, hashes), fetch their counters, and then, one
 *         step of the clock after another, ask the window about all and decide each in turn.
 * I1      An operation is applied if and only if its id goes into the filling group's log, in the
 *         same step.
 * I2      A duplicate is decided in the group of the original or in a later one, and groups become
 *         durable in their order: so the answer to a duplicate never counts before the answer to
 *         the original. That is why ids may enter the window at once. A commit that fails takes the
 *         window with it: the store must be opened again, which fills the window from disk.
 * I3      Ids decided within one step of the clock (W / 64) are recorded under the time of the last
 *         of them (ids/ids.c, I1). Otherwise a replay of old events, each with a time of its own,
 *         could ask the window only one by one.
 * I4      Every answer is the one that the operation would have got if all were decided one by one,
 *         except for copies between W and W + W / 64 (I3), which may be answered either way.
 *         The window is asked ahead for one step only, in which no time passes for it. Where
 *         deciding removes an id from it, all later answers of the step are asked again, except
 *         `fresh`.
 * I5      With a ledger, an id that was applied is known from then on: by the groups on their way
 *         to disk, and by the ledger from the moment they are durable. The window may have
 *         forgotten it by then; where it cannot have, the groups are not asked.
 * I6      A window that can't remove an id (the forgetful kind) is only tested ahead, and an id
 *         enters it when all else is decided. Room for it is made before the values change, so
 *         that nothing can fail after them. In exact mode the window only hints, and ids enter it
 *         ahead as with the other kind.
 * I7      What is new to the window cannot be in the ledger while the window knows every id that
 *         was ever applied: the log has dropped none, the oldest is no older than W, and the window
 *         has no cap that could make it forget sooner. Then the ledger is not asked. */
#include "engine/operations/chunk.h"
#include "engine/values/bounds.h"

/* What is new to the window may be older than W: asks the ledger about the ids from `from` to `to`
 * that are not duplicates by the window's answer, unless that says it all (I7). */
static lethe_status ask_ledger(lethe_store *store, lethe_chunk *chunk, size_t from, size_t to) {
    lethe_hash hashes[LETHE_CHUNK];
    uint16_t places[LETHE_CHUNK];
    uint8_t present[LETHE_CHUNK];
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        chunk->in_ledger[i] = 0;
        if (chunk->answers[i] == LETHE_ANSWER_DUPLICATE) continue;
        if (chunk->window_has_all && chunk->answers[i] == LETHE_ANSWER_FRESH) continue;
        hashes[count] = chunk->hashes[i];
        places[count++] = (uint16_t)i;
    }
    if (count == 0) return LETHE_OK;
    lethe_status status =
        lethe_ledger_test(store->ids.ledger, hashes, count, present, &store->failure);
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        chunk->in_ledger[places[i]] = present[i];
    }
    return status;
}

/* The end of the step of the clock that begins at `from`. */
static size_t end_of_step(const lethe_store *store, const lethe_chunk *chunk, size_t from) {
    size_t to = from + 1;
    while (to < chunk->count && chunk->clocks[to] - chunk->clocks[from] <= store->ids.step_ms)
        to++;
    return to;
}

/* Whether an id that is on its way to disk can have left the window when the last operation of the
 * chunk is decided: groups, and the times within one, are in order. Otherwise the window knows all
 * of them, and they need not be asked for one by one (I5). */
static bool may_have_left(const lethe_store *store, const lethe_chunk *chunk) {
    const lethe_log *log = &store->log;
    if (store->ids.ledger == NULL || chunk->count == 0) return false;
    uint64_t oldest_ms = chunk->clocks[0];
    for (uint64_t number = log->durable + 1; number <= log->filling; number++) {
        const lethe_group *group = &log->groups[number % LETHE_GROUPS];
        const lethe_id_run *runs = (const void *)group->runs.data;
        if (group->runs.size == 0) continue;
        if (runs[0].clock_ms < oldest_ms) oldest_ms = runs[0].clock_ms;
        break;
    }
    return chunk->clocks[chunk->count - 1] - oldest_ms > store->options.window_ms;
}

/* Whether the window knows every id that was ever applied when the last operation of the chunk is
 * decided (I7). The ids of the group that fills up are the oldest where the log has none. */
static bool window_has_all(const lethe_store *store, const lethe_chunk *chunk) {
    if (store->state.dropped > 0 || store->options.max_memory_bytes > 0) return false;
    const lethe_group *group = &store->log.groups[store->log.filling % LETHE_GROUPS];
    const lethe_id_run *runs = (const void *)group->runs.data;
    uint64_t oldest_ms = store->ids.oldest_ms, now_ms = chunk->clocks[chunk->count - 1];
    if (group->runs.size > 0 && runs[0].clock_ms < oldest_ms) oldest_ms = runs[0].clock_ms;
    if (chunk->clocks[0] < oldest_ms) oldest_ms = chunk->clocks[0];
    return now_ms - oldest_ms <= store->options.window_ms;
}

/* If a chunk has many steps, the ledger is asked about the whole chunk at once, so that its reads
 * overlap. Deciding changes nothing in the ledger. */
lethe_status lethe_engine_ask_ahead(lethe_store *store, lethe_chunk *chunk) {
    chunk->asks_pending = may_have_left(store, chunk);
    if (store->ids.ledger == NULL || chunk->count == 0) return LETHE_OK;
    chunk->window_has_all = window_has_all(store, chunk);
    if (end_of_step(store, chunk, 0) == chunk->count) return LETHE_OK;
    memset(chunk->answers, LETHE_ANSWER_FRESH, chunk->count);
    return ask_ledger(store, chunk, 0, chunk->count);
}

/* Whether ids enter the window last (I6). */
static bool adds_last(const lethe_store *store) {
    return store->state.forgetful && !store->options.exact;
}

/* What was new to the window a step ago, an operation of the same step may have added. */
static void ask_fresh_again(lethe_chunk *chunk, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (chunk->answers[i] == LETHE_ANSWER_FRESH) chunk->answers[i] = LETHE_ASK_AGAIN;
    }
}

lethe_status lethe_engine_ask_step(lethe_store *store, lethe_chunk *chunk) {
    size_t from = chunk->asked, to = end_of_step(store, chunk, from);
    uint64_t recorded_ms = chunk->clocks[to - 1];
    for (size_t i = from; i < to; i++) {
        chunk->recorded[i] = recorded_ms;
    }
    const lethe_hash *hashes = chunk->hashes + from;
    uint8_t *answers = chunk->answers + from;
    /* The answer LETHE_ANSWER_REFUSED says all that the status would. */
    lethe_status status =
        adds_last(store)
            ? lethe_window_test_batch(store->ids.window, hashes, to - from, recorded_ms, answers)
            : lethe_window_add_and_test_batch(store->ids.window, hashes, to - from, recorded_ms,
                                              answers);
    (void)status;
    chunk->asked = to;
    bool is_all = from == 0 && to == chunk->count;
    status = store->ids.ledger != NULL && is_all ? ask_ledger(store, chunk, from, to) : LETHE_OK;
    if (adds_last(store)) ask_fresh_again(chunk, from, to);
    if (store->ids.index != NULL) lethe_engine_prepare_to_confirm(store, chunk, from, to);
    return status;
}

/* Asks about one operation whose id is added last. The ledger's answer is still true: what the
 * window takes for a duplicate stays one. */
static lethe_status ask_and_make_room(lethe_store *store, lethe_chunk *chunk, size_t at) {
    lethe_window *window = store->ids.window;
    lethe_answer answer = lethe_window_test(window, chunk->hashes[at], chunk->recorded[at]);
    if (answer == LETHE_ANSWER_FRESH &&
        lethe_window_make_room(window, chunk->hashes[at], chunk->recorded[at]) != LETHE_OK) {
        answer = LETHE_ANSWER_REFUSED;
    }
    chunk->answers[at] = (uint8_t)answer;
    return LETHE_OK;
}

/* The same about one operation, whose answer is no longer true. */
static lethe_status ask_again(lethe_store *store, lethe_chunk *chunk, size_t at) {
    if (adds_last(store)) return ask_and_make_room(store, chunk, at);
    lethe_answer answer;
    lethe_status status = lethe_window_add_and_test(store->ids.window, chunk->hashes[at],
                                                    chunk->recorded[at], &answer);
    (void)status;
    chunk->answers[at] = (uint8_t)answer;
    return store->ids.ledger != NULL ? ask_ledger(store, chunk, at, at + 1) : LETHE_OK;
}

lethe_status lethe_engine_judge(lethe_store *store, const lethe_payload *payload,
                                lethe_chunk *chunk, size_t at, lethe_outcome *outcome) {
    if (chunk->answers[at] == LETHE_ASK_AGAIN) {
        lethe_status status = ask_again(store, chunk, at);
        if (status != LETHE_OK) return status;
    }
    *outcome = LETHE_OUTCOME_APPLIED;
    if (chunk->answers[at] == LETHE_ANSWER_DUPLICATE) {
        *outcome = LETHE_OUTCOME_DUPLICATE;
        if (store->options.exact) return lethe_engine_confirm(store, payload, chunk, at, outcome);
    } else if (store->ids.ledger != NULL &&
               (chunk->in_ledger[at] != 0 ||
                (chunk->asks_pending && lethe_engine_is_pending(store, chunk->ids[at])))) {
        *outcome = LETHE_OUTCOME_DUPLICATE;
    } else if (chunk->answers[at] == LETHE_ANSWER_REFUSED) {
        *outcome = LETHE_OUTCOME_REFUSED;
    }
    return LETHE_OK;
}

/* Logs the id of an operation that was applied, and adds it to the index, and to the window if it
 * is not there. */
static lethe_status log_id(lethe_store *store, lethe_group *group, const lethe_chunk *chunk,
                           size_t at, uint32_t digest) {
    lethe_status status = lethe_group_add_id(group, chunk->ids[at], chunk->recorded[at]);
    if (status == LETHE_OK && adds_last(store))
        status = lethe_window_add(store->ids.window, chunk->hashes[at], chunk->recorded[at]);
    lethe_index_entry entry = {.clock_ms = chunk->clocks[at], .digest = digest};
    if (status == LETHE_OK && store->ids.index != NULL) {
        status = lethe_group_note_id(group, entry, chunk->recorded[at]);
        if (status == LETHE_OK) status = lethe_engine_index_id(store, chunk->ids[at], entry);
    }
    return status;
}

/* In exact mode the id stays: another id may share its place, which must not be forgotten, and the
 * index shows that this one was not applied. */
void lethe_engine_take_back(lethe_store *store, lethe_chunk *chunk, size_t at) {
    if (store->options.exact || adds_last(store)) return;
    /* An id that can't be distinguished from another stays: it is one of the false positives of
     * P2. */
    lethe_status status =
        lethe_window_remove(store->ids.window, chunk->hashes[at], chunk->recorded[at]);
    (void)status;
    for (size_t i = at + 1; i < chunk->asked; i++) {
        if (chunk->answers[i] != LETHE_ANSWER_FRESH) chunk->answers[i] = LETHE_ASK_AGAIN;
    }
}

/* Decides one operation that passed the screen. change_at: see lethe_values_change. */
static lethe_status decide_one(lethe_store *store, const lethe_operation *operation,
                               size_t change_at, lethe_chunk *chunk, size_t at, lethe_limit *limits,
                               lethe_outcome *outcome) {
    lethe_payload payload = {0};
    lethe_status status = LETHE_OK;
    if (store->options.exact) status = lethe_engine_read_payload(store, operation, &payload);
    if (status == LETHE_OK && at == chunk->asked) status = lethe_engine_ask_step(store, chunk);
    if (status == LETHE_OK) status = lethe_engine_judge(store, &payload, chunk, at, outcome);
    if (status != LETHE_OK || *outcome != LETHE_OUTCOME_APPLIED) return status;
    lethe_group *group = lethe_log_filling(&store->log);
    bool is_late = chunk->is_late[at] || lethe_engine_is_before_memory(store, operation->time_ms);
    if (is_late && (operation->flags & LETHE_OPERATION_COUNT_LATE) == 0) {
        *outcome = LETHE_OUTCOME_LATE;
    } else {
        bool is_limited = false, overflows = false;
        if (chunk->has_bounds)
            status =
                lethe_bounds_judge(&store->values, operation, limits, &is_limited, &store->failure);
        if (status == LETHE_OK && !is_limited)
            status = lethe_values_change(&store->values, group, operation, change_at, &overflows,
                                         &store->failure);
        if (status != LETHE_OK) return status;
        if (overflows) *outcome = LETHE_OUTCOME_OVERFLOW;
        if (is_limited) *outcome = LETHE_OUTCOME_LIMITED;
    }
    if (*outcome == LETHE_OUTCOME_APPLIED) {
        if (is_late) *outcome = LETHE_OUTCOME_APPLIED_LATE;
        return log_id(store, group, chunk, at, payload.digest);
    }
    lethe_engine_take_back(store, chunk, at);
    return LETHE_OK;
}

static void add_to_totals(lethe_totals *totals, lethe_outcome outcome) {
    switch (outcome) {
    case LETHE_OUTCOME_APPLIED:
    case LETHE_OUTCOME_APPLIED_LATE:
        totals->applied++;
        return;
    case LETHE_OUTCOME_DUPLICATE:
        totals->duplicates++;
        return;
    case LETHE_OUTCOME_LATE:
        totals->late++;
        return;
    case LETHE_OUTCOME_FUTURE:
        totals->future++;
        return;
    case LETHE_OUTCOME_MISMATCH:
        totals->mismatched++;
        return;
    case LETHE_OUTCOME_OVERFLOW:
        totals->overflow++;
        return;
    case LETHE_OUTCOME_INVALID:
        totals->invalid++;
        return;
    case LETHE_OUTCOME_LIMITED:
        totals->limited++;
        return;
    case LETHE_OUTCOME_REFUSED:
        totals->refused++;
        return;
    }
}

/* What the counters of an operation hold now. */
static lethe_status read_values(lethe_store *store, const lethe_operation *operation,
                                int64_t *values) {
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < operation->change_count && status == LETHE_OK; i++) {
        values[i] = 0;
        if (operation->changes == NULL) continue;
        bool found;
        status = lethe_values_read(&store->values, operation->changes[i].key, &values[i], &found,
                                   &store->failure);
    }
    return status;
}

/* After an operation was decided: what its counters hold, and moves on to the next operation. */
static lethe_status answer_changes(lethe_store *store, const lethe_operation *operation,
                                   lethe_outcome outcome, lethe_answers *answers) {
    lethe_status status = LETHE_OK;
    if (answers->values != NULL) {
        status = read_values(store, operation, answers->values);
        answers->values += operation->change_count;
    }
    if (answers->limits != NULL) {
        if (status == LETHE_OK && outcome != LETHE_OUTCOME_INVALID)
            status =
                lethe_bounds_stand(&store->values, operation, answers->limits, &store->failure);
        answers->limits += operation->change_count;
    }
    return status;
}

lethe_status lethe_engine_decide(lethe_store *store, const lethe_operation *operations,
                                 const lethe_prepared_one *prepared, size_t count, size_t following,
                                 lethe_answers answers) {
    lethe_chunk chunk;
    uint8_t *outcomes = answers.outcomes;
    bool wants_changes = answers.values != NULL || answers.limits != NULL;
    lethe_engine_screen(store, operations, prepared, count, following, &chunk, outcomes);
    lethe_status status = lethe_engine_ask_ahead(store, &chunk);
    if (status != LETHE_OK) return status;
    lethe_values_fetch(&store->values, operations, prepared, count, outcomes);
    if (chunk.has_bounds && store->holds.count > 0)
        lethe_holds_lapse(store, lethe_claims_now(&store->claims));
    lethe_group *group = lethe_log_filling(&store->log);
    lethe_log_open_group(group);
    size_t next = 0, change_at = 0;
    for (size_t i = 0; i < count; i++) {
        lethe_outcome outcome = (lethe_outcome)outcomes[i];
        if (next < chunk.count && chunk.at[next] == i)
            status = decide_one(store, &operations[i], change_at, &chunk, next++, answers.limits,
                                &outcome);
        if (outcome != LETHE_OUTCOME_INVALID) change_at += operations[i].change_count;
        outcomes[i] = (uint8_t)outcome;
        add_to_totals(&store->state.totals, outcome);
        if (wants_changes && status == LETHE_OK)
            status = answer_changes(store, &operations[i], outcome, &answers);
        if (status != LETHE_OK) {
            lethe_values_abandon_chunk(&store->values);
            return status;
        }
    }
    group->operations += (uint32_t)count;
    return lethe_values_finish_chunk(&store->values);
}
