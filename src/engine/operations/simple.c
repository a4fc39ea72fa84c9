/* engine/operations/simple.c - deciding simple operations that were hashed ahead.
 *
 * IDEA    As decide.c, with nothing left of it that simple operations cannot need: no bounds, one
 *         change each, hashes and times in rows of their own. The window answers for a whole step
 *         of the clock, which is mostly the whole chunk. Each operation goes through three steps,
 *         each of which finds in the cache what the one before it asked for: the slot of its key,
 *         its record, the change. So three operations are under way at once, STEP apart, and the
 *         next ones are fetched across the borders of steps.
 * I1      Every answer is the one that decide.c would have given, and what is written is the same:
 *         decide.c is the definition, and tests compare the two. Whatever depends on time or on
 *         more than the window (late, future, jumps, steps, ledger, exact mode) is decided by the
 *         functions that decide.c calls itself. With event time steps may end elsewhere, since a
 *         chunk ends before an operation that is not simple; so a retry that comes after W, but
 *         within its slack, may be answered otherwise.
 * I2      Records stay where they are while a chunk is decided (values/tally.h), so one that was
 *         found ahead is still there. One that was not may have been added since: it is looked for
 *         again.
 * I3      The window is asked about a step only when all before it are decided: one of them may
 *         take its id back, under the time of its own step.
 * I4      Ids are logged as they are applied, and counted as a run when their step is over.
 * WHY     A chunk of a thousand operations is decided by a few loops instead of by a thousand calls
 *         of a dozen functions each. */
#include "core/bytes.h"
#include "engine/operations/chunk.h"
#include "engine/values/counters.h"

enum { STEP = 16, AHEAD = 2 * STEP, OUTCOMES = LETHE_OUTCOME_APPLIED_LATE + 1 };

bool lethe_engine_has_simple(const lethe_store *store) {
    return store->values.kind == &lethe_counters_values && !store->state.forgetful;
}

/* Simple operations on their way. */
struct passage {
    lethe_store *store;
    lethe_group *group;
    const lethe_operation *operations;
    const lethe_prepared_one *all;
    const uint32_t *digests;
    /* NULL without event time. */
    const uint64_t *times;
    lethe_chunk *chunk;
    /* One time for all, and no ledger: of the chunk, hashes are enough, and of those that the index
     * is asked about the rest, until one operation overflows. */
    bool is_plain;
    uint64_t clock_ms;
    /* Ids that were logged and are not counted yet (I4). */
    uint64_t logged;
};

/* Which operation it is that has this place in the chunk. */
static size_t place_of(const struct passage *passage, size_t at) {
    return passage->times == NULL ? at : passage->chunk->at[at];
}

/* What decide.c knows of an operation. */
static void complete_one(const struct passage *passage, size_t at) {
    lethe_chunk *chunk = passage->chunk;
    chunk->ids[at] = lethe_prepared_id(&passage->all[at]);
    chunk->clocks[at] = chunk->recorded[at] = passage->clock_ms;
    chunk->is_late[at] = false;
}

static void complete(const struct passage *passage) {
    for (size_t i = 0; i < passage->chunk->count; i++)
        complete_one(passage, i);
}

/* By the wall clock all of them pass, under one time. */
static void screen(struct passage *passage, size_t count) {
    lethe_store *store = passage->store;
    lethe_chunk *chunk = passage->chunk;
    uint64_t now_ms = lethe_clock_now(&store->clock, &store->state);
    if (now_ms > store->state.clock_ms) store->state.clock_ms = now_ms;
    passage->clock_ms = store->state.clock_ms;
    for (size_t i = 0; i < count; i++)
        chunk->hashes[i] = lethe_log_id_expand(lethe_prepared_id(&passage->all[i]));
    chunk->count = count;
    chunk->asked = 0;
    if (!passage->is_plain) complete(passage);
}

/* Ends a step: the ids that it has logged were recorded under its time. */
static lethe_status count_ids(struct passage *passage) {
    const lethe_chunk *chunk = passage->chunk;
    uint64_t count = passage->logged;
    passage->logged = 0;
    if (count == 0) return LETHE_OK;
    uint64_t recorded_ms =
        passage->is_plain ? passage->clock_ms : chunk->recorded[chunk->asked - 1];
    return lethe_group_count_ids(passage->group, count, recorded_ms);
}

/* Asks the window about the next step. */
static lethe_status ask(struct passage *passage) {
    lethe_chunk *chunk = passage->chunk;
    lethe_status status = count_ids(passage);
    if (status != LETHE_OK) return status;
    if (!passage->is_plain) return lethe_engine_ask_step(passage->store, chunk);
    /* The answer LETHE_ANSWER_REFUSED says all that the status would. */
    status = lethe_window_add_and_test_batch(passage->store->ids.window, chunk->hashes,
                                             chunk->count, passage->clock_ms, chunk->answers);
    (void)status;
    chunk->asked = chunk->count;
    if (passage->store->ids.index == NULL) return LETHE_OK;
    for (size_t i = 0; i < chunk->count; i++) {
        if (chunk->answers[i] == LETHE_ANSWER_DUPLICATE) complete_one(passage, i);
    }
    lethe_engine_prepare_to_confirm(passage->store, chunk, 0, chunk->count);
    return LETHE_OK;
}

static bool has_key(const lethe_tally_record *record, const lethe_prepared_one *one) {
    return record->key_size == one->key_size &&
           lethe_same_bytes(record->key, one->key, one->key_size);
}

/* Logs the id of an operation that is applied; there is room for it. */
static lethe_status log_id(struct passage *passage, size_t at) {
    const lethe_store *store = passage->store;
    const lethe_chunk *chunk = passage->chunk;
    size_t place = place_of(passage, at);
    lethe_log_id id = lethe_prepared_id(&passage->all[place]);
    lethe_id_segment_append(&passage->group->ids, id);
    passage->logged++;
    if (store->ids.index == NULL) return LETHE_OK;
    bool is_plain = passage->is_plain;
    lethe_index_entry entry = {.clock_ms = is_plain ? passage->clock_ms : chunk->clocks[at],
                               .digest = passage->digests[place]};
    lethe_group_append_note(passage->group, entry,
                            is_plain ? passage->clock_ms : chunk->recorded[at]);
    return lethe_engine_index_id(passage->store, id, entry);
}

/* Changes a counter that has no buckets; or *overflows becomes true. */
static lethe_status change_counter(const struct passage *passage, const lethe_prepared_one *one,
                                   lethe_tally_record *record, bool *overflows) {
    int64_t value;
    *overflows = __builtin_add_overflow(record->value, one->delta, &value);
    if (*overflows) return LETHE_OK;
    lethe_status status = lethe_counters_touch(&passage->store->values, passage->group,
                                               &passage->group->touched, record);
    if (status != LETHE_OK) return status;
    record->value = value;
    record->absent = false;
    return LETHE_OK;
}

/* Changes a counter and its buckets, and logs the id; or *overflows becomes true. record: what was
 * fetched, or NULL. */
static lethe_status apply(struct passage *passage, size_t at, lethe_tally_record *record,
                          bool *overflows) {
    lethe_values *values = &passage->store->values;
    size_t place = place_of(passage, at);
    const lethe_prepared_one *one = &passage->all[place];
    lethe_status status = LETHE_OK;
    if (record == NULL || !has_key(record, one)) {
        lethe_bytes key = {.data = one->key, .size = one->key_size};
        status =
            lethe_counters_get_record(values, one->tag, key, &record, &passage->store->failure);
        if (status != LETHE_OK) return status;
    }
    if (values->meters.count == 0) {
        status = change_counter(passage, one, record, overflows);
    } else {
        const lethe_change change = {.key = {.data = one->key, .size = one->key_size},
                                     .delta = one->delta};
        uint64_t event_ms = passage->times != NULL ? passage->times[place] : 0;
        status = lethe_counters_change_one(values, passage->group, event_ms, &change, record,
                                           one->tag, overflows, &passage->store->failure);
    }
    return status != LETHE_OK || *overflows ? status : log_id(passage, at);
}

/* What window, ledger and index say of one that is not simply fresh. */
static lethe_status judge(const struct passage *passage, size_t at, lethe_outcome *outcome) {
    size_t place = place_of(passage, at);
    const lethe_prepared_one *one = &passage->all[place];
    lethe_change change = {.key = {.data = one->key, .size = one->key_size}, .delta = one->delta};
    lethe_payload payload = {.all = &change, .count = 1, .digest = passage->digests[place]};
    return lethe_engine_judge(passage->store, &payload, passage->chunk, at, outcome);
}

/* Whether a fresh one is late, and *counts all the same. */
static bool is_late(const struct passage *passage, size_t at, bool *counts) {
    if (passage->times == NULL) return false;
    size_t place = passage->chunk->at[at];
    if (!passage->chunk->is_late[at] &&
        !lethe_engine_is_before_memory(passage->store, passage->times[place]))
        return false;
    *counts = (passage->operations[place].flags & LETHE_OPERATION_COUNT_LATE) != 0;
    return true;
}

/* Decides one whose counter was fetched. */
static lethe_status decide(struct passage *passage, size_t at, lethe_tally_record *record,
                           lethe_outcome *outcome) {
    lethe_chunk *chunk = passage->chunk;
    bool overflows = false, counts = true;
    lethe_status status = at == chunk->asked ? ask(passage) : LETHE_OK;
    *outcome = LETHE_OUTCOME_APPLIED;
    if (status != LETHE_OK) return status;
    if (chunk->answers[at] != LETHE_ANSWER_FRESH || passage->store->ids.ledger != NULL)
        status = judge(passage, at, outcome);
    if (status != LETHE_OK || *outcome != LETHE_OUTCOME_APPLIED) return status;
    bool late = is_late(passage, at, &counts);
    if (counts) status = apply(passage, at, record, &overflows);
    if (late) *outcome = counts ? LETHE_OUTCOME_APPLIED_LATE : LETHE_OUTCOME_LATE;
    if (status != LETHE_OK || (counts && !overflows)) return status;
    if (overflows) *outcome = LETHE_OUTCOME_OVERFLOW;
    if (passage->is_plain) complete(passage);
    lethe_engine_take_back(passage->store, chunk, at);
    return LETHE_OK;
}

/* The first step. The key was written by another thread, and may still be in its core's cache. */
static void fetch_slot(const struct passage *passage, size_t at) {
    const lethe_index *index = passage->store->ids.index;
    const lethe_prepared_one *one = &passage->all[place_of(passage, at)];
    lethe_tally_prefetch_slot(passage->store->values.counters.tally, one->tag);
    __builtin_prefetch(one->key);
    if (index != NULL) lethe_index_prefetch_add(index, lethe_prepared_id(one));
}

/* The second one: the record that an operation will change, unless it seems to be a duplicate. */
static lethe_tally_record *fetch_record(const struct passage *passage, size_t at) {
    const lethe_chunk *chunk = passage->chunk;
    if (at < chunk->asked && chunk->answers[at] == LETHE_ANSWER_DUPLICATE) return NULL;
    const lethe_prepared_one *one = &passage->all[place_of(passage, at)];
    return lethe_tally_prefetch_record(passage->store->values.counters.tally, one->tag,
                                       one->key_size);
}

static void add_to_totals(lethe_totals *totals, const uint64_t counts[OUTCOMES]) {
    totals->applied += counts[LETHE_OUTCOME_APPLIED] + counts[LETHE_OUTCOME_APPLIED_LATE];
    totals->duplicates += counts[LETHE_OUTCOME_DUPLICATE];
    totals->late += counts[LETHE_OUTCOME_LATE];
    totals->future += counts[LETHE_OUTCOME_FUTURE];
    totals->overflow += counts[LETHE_OUTCOME_OVERFLOW];
    totals->refused += counts[LETHE_OUTCOME_REFUSED];
    totals->mismatched += counts[LETHE_OUTCOME_MISMATCH];
}

/* Those that passed the screen. */
static lethe_status decide_all(struct passage *passage, uint8_t *outcomes,
                               uint64_t counts[OUTCOMES]) {
    lethe_tally_record *records[AHEAD];
    lethe_status status = LETHE_OK;
    size_t count = passage->chunk->count;
    for (size_t i = 0; i < count + AHEAD && status == LETHE_OK; i++) {
        if (i < count) fetch_slot(passage, i);
        if (i >= AHEAD) {
            size_t at = i - AHEAD;
            lethe_outcome outcome;
            status = decide(passage, at, records[at % AHEAD], &outcome);
            outcomes[place_of(passage, at)] = (uint8_t)outcome;
            counts[outcome]++;
        }
        if (i >= STEP && i < count + STEP)
            records[(i - STEP) % AHEAD] = fetch_record(passage, i - STEP);
    }
    return status;
}

lethe_status lethe_engine_decide_simple(lethe_store *store, const lethe_prepared *prepared,
                                        size_t from, size_t count, uint8_t *outcomes) {
    lethe_chunk chunk;
    struct passage passage = {.store = store,
                              .group = lethe_log_filling(&store->log),
                              .operations = prepared->operations + from,
                              .all = prepared->all + from,
                              .digests = prepared->digests + from,
                              .chunk = &chunk};
    uint64_t counts[OUTCOMES] = {0};
    bool by_events = store->options.event_time;
    if (by_events) passage.times = prepared->times + from;
    passage.is_plain = !by_events && store->ids.ledger == NULL;
    lethe_log_open_group(passage.group);
    if (!lethe_buffer_reserve(&passage.group->ids, count * LETHE_LOG_ID_BYTES)) return LETHE_ENOMEM;
    if (store->ids.index != NULL && !lethe_group_reserve_notes(passage.group, count))
        return LETHE_ENOMEM;
    lethe_buckets_begin_chunk(&store->values);
    if (by_events) {
        lethe_engine_screen_simple(store, prepared, from, count, &chunk, outcomes);
        for (size_t i = 0; i < count && chunk.count < count; i++)
            counts[outcomes[i]] += outcomes[i] != LETHE_OUTCOME_APPLIED;
    } else {
        screen(&passage, count);
    }
    lethe_status status = passage.is_plain ? LETHE_OK : lethe_engine_ask_ahead(store, &chunk);
    if (status == LETHE_OK) status = decide_all(&passage, outcomes, counts);
    if (status == LETHE_OK) status = count_ids(&passage);
    add_to_totals(&store->state.totals, counts);
    passage.group->operations += (uint32_t)count;
    return status;
}
