/* engine/decide.c - deciding operations: applied, copy, late, refused.
 *
 * IDEA    Operations are decided in chunks, in passes, so that the cache misses of a thousand overlap: screen
 *         (lengths, time, hashes), fetch the counters, and then, a step of the clock at a time, ask the window for all and
 *         settle each in turn.
 * I1      An operation is applied iff its id goes into the filling group's log, in the same step.
 * I2      A copy is decided in the group of its original or a later one, and groups become durable in their order: so
 *         a copy's answer never counts before its original's. That is why ids may enter the window at once.
 *         A commit that fails takes the window with it: the store must be opened again, and the window is filled
 *         from what is on disk.
 * I3      Ids decided within one step of the clock (W / 64) are recorded under the time of the last of them;
 *         the window keeps ids one step longer than W for it. Otherwise a replay of old events,
 *         each with a time of its own, could ask the window only one by one.
 * I4      Every answer is the one that the operations decided one by one would have got. The window is asked ahead for
 *         one step only, in which no time passes for it; and what settling changes in it makes all later answers of the step,
 *         except `fresh`, to be asked again.
 * I5      In exact mode the window only hints: what it has, another id may have too, and nothing is ever taken out of it. Every
 *         hit is looked up: among the ids on their way to disk, then in the index.
 * I6      With a ledger, an id that was applied is known from then on: by the groups that are on their way to disk, and from
 *         the moment they are durable by the ledger. The window may have forgotten it by then. */
#include "engine/decide.h"

#include "os/clock.h"

/* What is new to the window may be older than it: asks the ledger about those from `from` to `to` that
 * are no duplicates of what the window has. */
static lethe_status ask_ledger(lethe_counter *counter, lethe_chunk *chunk, size_t from, size_t to) {
    lethe_hash hashes[LETHE_CHUNK];
    uint16_t places[LETHE_CHUNK];
    uint8_t present[LETHE_CHUNK];
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        chunk->in_ledger[i] = 0;
        if (chunk->answers[i] == LETHE_DUPLICATE) continue;
        hashes[count] = chunk->hashes[i];
        places[count++] = (uint16_t)i;
    }
    if (count == 0) return LETHE_OK;
    lethe_status status =
        lethe_ledger_test(counter->ledger, hashes, count, present, &counter->failure);
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        chunk->in_ledger[places[i]] = present[i];
    }
    return status;
}

/* The end of the step of the clock that begins at `from`. */
static size_t end_of_step(const lethe_counter *counter, const lethe_chunk *chunk, size_t from) {
    size_t to = from + 1;
    while (to < chunk->count && chunk->clocks[to] - chunk->clocks[from] <= counter->step_ms)
        to++;
    return to;
}

/* Where a chunk has many steps the ledger is asked for all of it at once, so that its reads overlap: settling changes
 * nothing in it. */
static lethe_status ask_ahead(lethe_counter *counter, lethe_chunk *chunk) {
    if (counter->ledger == NULL || chunk->count == 0) return LETHE_OK;
    if (end_of_step(counter, chunk, 0) == chunk->count) return LETHE_OK;
    memset(chunk->answers, LETHE_FRESH, chunk->count);
    return ask_ledger(counter, chunk, 0, chunk->count);
}

/* Asks the window about the next step of the clock, in one question. */
static lethe_status ask_step(lethe_counter *counter, lethe_chunk *chunk) {
    size_t from = chunk->asked, to = end_of_step(counter, chunk, from);
    uint64_t recorded_ms = chunk->clocks[to - 1];
    for (size_t i = from; i < to; i++) {
        chunk->recorded[i] = recorded_ms;
    }
    /* An id that the window could not take is LETHE_REFUSED: that says all. */
    lethe_status status = lethe_window_check_and_record_batch(
        counter->window, chunk->hashes + from, to - from, recorded_ms, chunk->answers + from);
    (void)status;
    chunk->asked = to;
    bool is_all = from == 0 && to == chunk->count;
    return counter->ledger != NULL && is_all ? ask_ledger(counter, chunk, from, to) : LETHE_OK;
}

/* The same for one operation, whose answer is no longer true. */
static lethe_status ask_again(lethe_counter *counter, lethe_chunk *chunk, size_t at) {
    lethe_window_answer answer;
    lethe_status status = lethe_window_check_and_record(counter->window, chunk->hashes[at],
                                                        chunk->recorded[at], &answer);
    (void)status;
    chunk->answers[at] = (uint8_t)answer;
    return counter->ledger != NULL ? ask_ledger(counter, chunk, at, at + 1) : LETHE_OK;
}

/* Tells one set of changes from another; never 0. */
static uint32_t digest_of(const lethe_counter *counter, const lethe_operation *operation) {
    uint64_t digest = operation->change_count;
    for (size_t i = 0; i < operation->change_count; i++) {
        const lethe_change *each = &operation->changes[i];
        uint64_t seed = counter->state.seed ^ digest * UINT64_C(0x9e3779b97f4a7c15);
        seed ^= (uint64_t)each->delta * UINT64_C(0xd6e8feb86659fd93);
        digest = lethe_hash_bytes(seed, each->key.data, each->key.size).low;
    }
    return (uint32_t)(digest >> 32) | 1;
}

/* The latest of an id's entries on its way to disk; NULL if there is none. */
static const lethe_pending *find_pending(const lethe_counter *counter, lethe_log_id id) {
    const lethe_pending *pending = NULL;
    for (uint64_t number = counter->filling; number > counter->durable && pending == NULL; number--)
        pending = lethe_group_find_pending(&counter->groups[number % LETHE_GROUPS], id);
    return pending;
}

/* When the id was applied, by what is certain. */
static lethe_status look_up(lethe_counter *counter, lethe_log_id id, lethe_index_entry *out,
                            bool *found) {
    const lethe_pending *pending = find_pending(counter, id);
    *found = pending != NULL;
    if (*found) {
        *out = pending->entry;
        return LETHE_OK;
    }
    unsigned char key[LETHE_LOG_ID_BYTES];
    lethe_log_id_store(key, id);
    lethe_record record;
    lethe_status status =
        lethe_store_get(counter->store, LETHE_FAMILY_INDEX,
                        (lethe_bytes){.data = key, .size = sizeof key}, &record, &counter->failure);
    if (status != LETHE_OK) return status;
    *found = record.data != NULL;
    if (*found) {
        status = lethe_index_load((lethe_bytes){.data = record.data, .size = record.size}, out);
    }
    lethe_record_release(&record);
    return status;
}

/* Exact mode: is what the window calls a duplicate one? Stores LETHE_APPLIED if it is fresh. */
static lethe_status confirm(lethe_counter *counter, const lethe_chunk *chunk, size_t at,
                            uint32_t digest, lethe_outcome *outcome) {
    lethe_index_entry entry;
    bool found;
    lethe_status status = look_up(counter, chunk->ids[at], &entry, &found);
    if (status != LETHE_OK) return status;
    uint64_t clock_ms = chunk->clocks[at];
    bool aged = found && clock_ms > entry.clock_ms &&
                clock_ms - entry.clock_ms > counter->options.window_ms;
    if (found && !aged) {
        bool differs =
            counter->options.check_payload && entry.digest != 0 && entry.digest != digest;
        *outcome = differs ? LETHE_DIFFERS : LETHE_COPY;
        return LETHE_OK;
    }
    if (!found) counter->state.totals.confirmed_false++;
    /* What the window took it for will be forgotten sooner than this one may be. */
    status = lethe_window_record(counter->window, chunk->hashes[at], chunk->recorded[at]);
    *outcome = status == LETHE_EFULL ? LETHE_NO_ROOM : LETHE_APPLIED;
    return status == LETHE_EFULL ? LETHE_OK : status;
}

/* Logs the id of an operation that was applied. */
static lethe_status log_id(lethe_counter *counter, const lethe_chunk *chunk, size_t at,
                           uint32_t digest) {
    lethe_group *group = lethe_engine_filling(counter);
    lethe_status status = lethe_group_add_id(group, chunk->ids[at], chunk->recorded[at]);
    if (status != LETHE_OK || !lethe_engine_keeps_pending(counter)) return status;
    lethe_index_entry entry = {.clock_ms = chunk->clocks[at], .digest = digest};
    return lethe_group_add_pending(group, (lethe_pending){.id = chunk->ids[at], .entry = entry});
}

/* An operation that was fresh is refused: its id is forgotten, and what the window said of others of this step since it had
 * that id is not true any more. In exact mode the id stays: it may share its place with another one's, which must not be
 * forgotten with it, and the index knows that it was not applied. */
static void take_back(lethe_counter *counter, lethe_chunk *chunk, size_t at) {
    if (counter->options.exact) return;
    /* If it can't be told from another's, it stays: P2's small share of false answers. */
    lethe_status status =
        lethe_window_forget(counter->window, chunk->hashes[at], chunk->recorded[at]);
    (void)status;
    for (size_t i = at + 1; i < chunk->asked; i++) {
        if (chunk->answers[i] != LETHE_FRESH) chunk->answers[i] = LETHE_ASK_AGAIN;
    }
}

static lethe_status settle_fresh(lethe_counter *counter, const lethe_operation *operation,
                                 const uint32_t *tags, lethe_chunk *chunk, size_t at,
                                 uint32_t digest, lethe_outcome *outcome) {
    bool overflows;
    lethe_status status = counter->sketch != NULL
                              ? lethe_engine_sketch_change(counter, operation, &overflows)
                              : lethe_engine_change(counter, operation, tags, &overflows);
    if (status != LETHE_OK) return status;
    if (!overflows) return log_id(counter, chunk, at, digest);
    *outcome = LETHE_OVERFLOW;
    take_back(counter, chunk, at);
    return LETHE_OK;
}

/* What window and ledger say of an operation, now that all before it are settled. LETHE_APPLIED: that it is fresh. */
static lethe_status judge(lethe_counter *counter, lethe_chunk *chunk, size_t at, uint32_t digest,
                          lethe_outcome *outcome) {
    if (chunk->answers[at] == LETHE_ASK_AGAIN) {
        lethe_status status = ask_again(counter, chunk, at);
        if (status != LETHE_OK) return status;
    }
    *outcome = LETHE_APPLIED;
    if (chunk->answers[at] == LETHE_DUPLICATE) {
        *outcome = LETHE_COPY;
        if (counter->options.exact) return confirm(counter, chunk, at, digest, outcome);
    } else if (counter->ledger != NULL &&
               (chunk->in_ledger[at] != 0 || find_pending(counter, chunk->ids[at]) != NULL)) {
        *outcome = LETHE_COPY;
    } else if (chunk->answers[at] == LETHE_REFUSED) {
        *outcome = LETHE_NO_ROOM;
    }
    return LETHE_OK;
}

/* Whether an operation whose id nobody knows may all the same have been applied: before ids were kept for ever. */
static bool is_before_memory(const lethe_counter *counter, const lethe_operation *operation) {
    return counter->options.event_time && operation->time_ms < counter->state.known_from_ms;
}

/* Decides one operation that passed the screen. */
static lethe_status settle(lethe_counter *counter, const lethe_operation *operation,
                           const uint32_t *tags, lethe_chunk *chunk, size_t at,
                           lethe_outcome *outcome) {
    uint32_t digest = counter->options.exact ? digest_of(counter, operation) : 0;
    lethe_status status = at == chunk->asked ? ask_step(counter, chunk) : LETHE_OK;
    if (status == LETHE_OK) status = judge(counter, chunk, at, digest, outcome);
    if (status != LETHE_OK || *outcome != LETHE_APPLIED) return status;
    if (is_before_memory(counter, operation)) {
        *outcome = LETHE_LATE;
        take_back(counter, chunk, at);
        return LETHE_OK;
    }
    return settle_fresh(counter, operation, tags, chunk, at, digest, outcome);
}

static void add_to_totals(lethe_totals *totals, lethe_outcome outcome) {
    switch (outcome) {
    case LETHE_APPLIED:
        totals->applied++;
        return;
    case LETHE_COPY:
        totals->duplicates++;
        return;
    case LETHE_LATE:
        totals->late++;
        return;
    case LETHE_AHEAD:
        totals->ahead++;
        return;
    case LETHE_DIFFERS:
        totals->differing++;
        return;
    case LETHE_OVERFLOW:
    case LETHE_INVALID:
    case LETHE_NO_ROOM:
        totals->refused++;
        return;
    }
}

static void fetch_records(const lethe_counter *counter, size_t tag_count) {
    for (size_t i = 0; i < tag_count && counter->sketch == NULL; i++) {
        lethe_tally_prefetch_record(counter->tally, counter->tags[i]);
    }
}

lethe_status lethe_engine_decide(lethe_counter *counter, const lethe_operation *operations,
                                 size_t count, size_t following, size_t tag_count,
                                 uint8_t *outcomes, int64_t *values) {
    lethe_chunk chunk;
    lethe_engine_screen(counter, operations, count, following, &chunk, outcomes);
    lethe_status status = ask_ahead(counter, &chunk);
    if (status != LETHE_OK) return status;
    fetch_records(counter, tag_count);
    lethe_group *group = lethe_engine_filling(counter);
    if (lethe_group_is_empty(group)) group->opened_ms = lethe_os_boot_ms();
    const uint32_t *tags = counter->tags;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        lethe_outcome outcome = (lethe_outcome)outcomes[i];
        if (next < chunk.count && chunk.at[next] == i) {
            status = settle(counter, &operations[i], tags, &chunk, next++, &outcome);
        }
        if (outcome != LETHE_INVALID) tags += operations[i].change_count;
        outcomes[i] = (uint8_t)outcome;
        add_to_totals(&counter->state.totals, outcome);
        if (status == LETHE_OK && values != NULL) {
            status = lethe_engine_values(counter, &operations[i], values);
            values += operations[i].change_count;
        }
        if (status != LETHE_OK) return status;
    }
    group->operations += (uint32_t)count;
    return counter->sketch != NULL ? lethe_engine_sketch_settle(counter) : LETHE_OK;
}
