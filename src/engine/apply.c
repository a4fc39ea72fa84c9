/* engine/apply.c - deciding operations: applied, copy, late, refused.
 *
 * IDEA    Operations are decided in chunks, in four passes, so that the cache misses of a thousand overlap: screen
 *         (lengths, time, hashes), ask the window for all, fetch the counters, settle each in turn.
 * I1      An operation is applied iff its id goes into the filling group's log, in the same step.
 * I2      A copy is decided in the group of its original or a later one, and groups become durable in their order: so
 *         a copy's answer never counts before its original's. That is why ids may enter the window at once.
 *         A commit that fails takes the window with it: the store must be opened again, and the window is filled
 *         from what is on disk.
 * I3      Ids decided within one step of the clock (W / 64) are recorded under the time of the last of them;
 *         the window keeps ids one step longer than W for it. Otherwise a replay of old events,
 *         each with a time of its own, could ask the window only one by one.
 * WHY     In exact mode every hit is looked up: among the ids on their way to disk, then in the index. */
#include <assert.h>

#include "engine/detail.h"
#include "engine/engine.h"
#include "os/clock.h"

/* Operations of a chunk that passed the screen, in order. */
struct chunk {
    size_t count;
    uint16_t at[LETHE_CHUNK]; /* which operations */
    lethe_log_id ids[LETHE_CHUNK];
    lethe_hash hashes[LETHE_CHUNK]; /* as the window knows them */
    uint64_t clocks[LETHE_CHUNK];   /* the store's time at each */
    uint64_t recorded[LETHE_CHUNK]; /* the time it is recorded under */
    uint8_t answers[LETHE_CHUNK];   /* lethe_window_answer, or ASK_AGAIN */
};

/* A copy of an operation that was refused after the window had answered for both. */
enum { ASK_AGAIN = 255 };

/* This part of the most that a commit may have is enough for one. */
enum { ENOUGH_SHARE = 4 };
/* So many bytes of deltas are enough as well. */
enum { ENOUGH_BYTES = 64 << 20 };

static bool is_key(lethe_bytes key) {
    return key.size >= 1 && key.size <= LETHE_KEY_LIMIT_BYTES;
}

static bool is_valid(const lethe_operation *operation) {
    if (operation->id.size < 1 || operation->id.size > LETHE_ID_LIMIT_BYTES) return false;
    if (operation->change_count < 1 || operation->change_count > LETHE_CHANGES_LIMIT) return false;
    for (size_t i = 0; i < operation->change_count; i++) {
        if (!is_key(operation->changes[i].key)) return false;
    }
    return true;
}

/* Advances the store's clock to an event's time, or says why not. */
static lethe_outcome screen_time(lethe_counter *counter, uint64_t time_ms, uint64_t wall_ms) {
    uint64_t clock_ms = counter->state.clock_ms;
    uint64_t plausible_ms = wall_ms > clock_ms ? wall_ms : clock_ms;
    if (time_ms > plausible_ms && time_ms - plausible_ms > counter->options.max_ahead_ms) {
        return LETHE_AHEAD;
    }
    if (time_ms < clock_ms && clock_ms - time_ms > counter->options.window_ms &&
        counter->ledger == NULL) {
        return LETHE_LATE;
    }
    if (time_ms > clock_ms) counter->state.clock_ms = time_ms;
    return LETHE_APPLIED;
}

/* First pass. outcomes[i] becomes LETHE_APPLIED for those that go on. */
static void screen(lethe_counter *counter, const lethe_operation *operations, size_t count,
                   struct chunk *chunk, uint8_t *outcomes) {
    uint64_t wall_ms = counter->options.event_time ? lethe_os_wall_ms() : 0;
    if (!counter->options.event_time) {
        uint64_t now_ms = lethe_engine_now(counter);
        if (now_ms > counter->state.clock_ms) counter->state.clock_ms = now_ms;
    }
    uint32_t *tags = counter->tags;
    chunk->count = 0;
    for (size_t i = 0; i < count; i++) {
        const lethe_operation *operation = &operations[i];
        outcomes[i] = LETHE_INVALID;
        if (!is_valid(operation)) continue;
        outcomes[i] = counter->options.event_time
                          ? (uint8_t)screen_time(counter, operation->time_ms, wall_ms)
                          : LETHE_APPLIED;
        for (size_t j = 0; j < operation->change_count && counter->sketch == NULL; j++) {
            *tags = lethe_engine_tag(counter, operation->changes[j].key);
            lethe_tally_prefetch_slot(counter->tally, *tags++);
        }
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

/* Second pass: one question to the window for each step of the clock. */
static void ask(lethe_counter *counter, struct chunk *chunk) {
    for (size_t from = 0, to; from < chunk->count; from = to) {
        to = from + 1;
        while (to < chunk->count && chunk->clocks[to] - chunk->clocks[from] <= counter->step_ms)
            to++;
        uint64_t recorded_ms = chunk->clocks[to - 1];
        for (size_t i = from; i < to; i++) {
            chunk->recorded[i] = recorded_ms;
        }
        /* An id that the window could not take is LETHE_REFUSED: that tells all. */
        lethe_status status = lethe_window_check_and_record_batch(
            counter->window, chunk->hashes + from, to - from, recorded_ms, chunk->answers + from);
        (void)status;
    }
}

/* What is new to the window may be older than it: the ledger knows. */
static lethe_status ask_ledger(lethe_counter *counter, struct chunk *chunk) {
    if (counter->ledger == NULL) return LETHE_OK;
    lethe_hash hashes[LETHE_CHUNK];
    uint16_t places[LETHE_CHUNK];
    uint8_t present[LETHE_CHUNK];
    size_t count = 0;
    for (size_t i = 0; i < chunk->count; i++) {
        if (chunk->answers[i] != LETHE_FRESH) continue;
        hashes[count] = chunk->hashes[i];
        places[count++] = (uint16_t)i;
    }
    lethe_status status =
        lethe_ledger_test(counter->ledger, hashes, count, present, &counter->failure);
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        if (present[i]) chunk->answers[places[i]] = LETHE_DUPLICATE;
    }
    return status;
}

/* Third pass. */
static void fetch(const lethe_counter *counter, size_t tag_count) {
    for (size_t i = 0; i < tag_count; i++) {
        lethe_tally_prefetch_record(counter->tally, counter->tags[i]);
    }
}

static lethe_status load_from_store(lethe_counter *counter, lethe_bytes key, int64_t *value,
                                    bool *found) {
    lethe_record record;
    lethe_status status =
        lethe_store_get(counter->store, LETHE_FAMILY_COUNTERS, key, &record, &counter->failure);
    if (status != LETHE_OK) return status;
    *value = 0;
    *found = record.data != NULL;
    if (*found) {
        status = lethe_value_load((lethe_bytes){.data = record.data, .size = record.size}, value);
    }
    lethe_record_release(&record);
    return status;
}

lethe_status lethe_engine_record(lethe_counter *counter, uint32_t tag, lethe_bytes key,
                                 lethe_tally_record **out) {
    *out = lethe_tally_find(counter->tally, tag, key);
    if (*out != NULL) return LETHE_OK;
    int64_t value = 0;
    bool found = false;
    if (!counter->tally_complete) {
        lethe_status status = load_from_store(counter, key, &value, &found);
        if (status != LETHE_OK) return status;
    }
    *out = lethe_tally_add(counter->tally, tag, key);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->value = value;
    (*out)->absent = !found;
    return LETHE_OK;
}

/* Makes an operation's changes, or none of them. */
static lethe_status change(lethe_counter *counter, const lethe_operation *operation,
                           const uint32_t *tags, bool *overflows) {
    lethe_group *group = lethe_engine_filling(counter);
    uint32_t stamp = lethe_engine_stamp(counter, group->number);
    bool *was_absent = counter->was_absent;
    size_t made = 0;
    *overflows = false;
    for (; made < operation->change_count; made++) {
        lethe_tally_record *record;
        lethe_status status =
            lethe_engine_record(counter, tags[made], operation->changes[made].key, &record);
        if (status == LETHE_OK) status = lethe_group_touch(group, record, stamp);
        if (status != LETHE_OK) return status;
        int64_t value;
        if (__builtin_add_overflow(record->value, operation->changes[made].delta, &value)) break;
        was_absent[made] = record->absent;
        record->value = value;
        record->absent = false;
    }
    if (made == operation->change_count) return LETHE_OK;
    *overflows = true;
    while (made-- > 0) {
        lethe_tally_record *record =
            lethe_tally_find(counter->tally, tags[made], operation->changes[made].key);
        record->value -= operation->changes[made].delta;
        record->absent = was_absent[made];
    }
    return LETHE_OK;
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

/* When the id was applied, by what is certain. */
static lethe_status look_up(lethe_counter *counter, lethe_log_id id, lethe_index_entry *out,
                            bool *found) {
    *found = true;
    for (uint64_t number = counter->filling; number > counter->durable; number--) {
        const lethe_pending *pending =
            lethe_group_find_pending(&counter->groups[number % LETHE_GROUPS], id);
        if (pending == NULL) continue;
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
static lethe_status confirm(lethe_counter *counter, const struct chunk *chunk, size_t at,
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
    *outcome = LETHE_APPLIED;
    if (!found) counter->state.totals.confirmed_false++;
    /* What the window took it for will be forgotten sooner than this one may be. */
    return lethe_window_record(counter->window, chunk->hashes[at], chunk->recorded[at]);
}

/* Logs the id of an operation that was applied. */
static lethe_status log_id(lethe_counter *counter, const struct chunk *chunk, size_t at,
                           uint32_t digest) {
    lethe_group *group = lethe_engine_filling(counter);
    lethe_status status = lethe_group_add_id(group, chunk->ids[at], chunk->recorded[at]);
    if (status != LETHE_OK || !counter->options.exact) return status;
    lethe_index_entry entry = {.clock_ms = chunk->clocks[at], .digest = digest};
    return lethe_group_add_pending(group, (lethe_pending){.id = chunk->ids[at], .entry = entry});
}

/* An operation that was fresh is refused: its id is forgotten, and its copies in this chunk, which the window took for
 * duplicates, are asked about again. */
static void take_back(lethe_counter *counter, struct chunk *chunk, size_t at) {
    /* If it can't be told from another's, it stays: P2's small share of false answers. */
    lethe_status status =
        lethe_window_forget(counter->window, chunk->hashes[at], chunk->recorded[at]);
    (void)status;
    for (size_t i = at + 1; i < chunk->count; i++) {
        if (chunk->hashes[i].low == chunk->hashes[at].low &&
            chunk->hashes[i].high == chunk->hashes[at].high &&
            chunk->answers[i] == LETHE_DUPLICATE) {
            chunk->answers[i] = ASK_AGAIN;
        }
    }
}

static lethe_status settle_fresh(lethe_counter *counter, const lethe_operation *operation,
                                 const uint32_t *tags, struct chunk *chunk, size_t at,
                                 uint32_t digest, lethe_outcome *outcome) {
    bool overflows;
    lethe_status status = counter->sketch != NULL
                              ? lethe_engine_sketch_change(counter, operation, &overflows)
                              : change(counter, operation, tags, &overflows);
    if (status != LETHE_OK) return status;
    if (!overflows) return log_id(counter, chunk, at, digest);
    *outcome = LETHE_OVERFLOW;
    take_back(counter, chunk, at);
    return LETHE_OK;
}

/* Fourth pass, for one operation that passed the screen. */
static lethe_status settle(lethe_counter *counter, const lethe_operation *operation,
                           const uint32_t *tags, struct chunk *chunk, size_t at,
                           lethe_outcome *outcome) {
    uint32_t digest = counter->options.exact ? digest_of(counter, operation) : 0;
    lethe_status status = LETHE_OK;
    if (chunk->answers[at] == ASK_AGAIN) {
        lethe_window_answer answer;
        status = lethe_window_check_and_record(counter->window, chunk->hashes[at],
                                               chunk->recorded[at], &answer);
        chunk->answers[at] = (uint8_t)answer;
    }
    *outcome = LETHE_APPLIED;
    if (chunk->answers[at] == LETHE_REFUSED) {
        *outcome = LETHE_NO_ROOM;
        return LETHE_OK;
    }
    if (chunk->answers[at] == LETHE_DUPLICATE) {
        *outcome = LETHE_COPY;
        if (!counter->options.exact) return LETHE_OK;
        status = confirm(counter, chunk, at, digest, outcome);
        if (status == LETHE_EFULL) {
            *outcome = LETHE_NO_ROOM;
            return LETHE_OK;
        }
    }
    if (status != LETHE_OK || *outcome != LETHE_APPLIED) return status;
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

static lethe_status read_estimates(lethe_counter *counter, const lethe_operation *operation,
                                   int64_t *values) {
    lethe_status status = lethe_engine_sketch_settle(counter);
    for (size_t i = 0; i < operation->change_count; i++) {
        values[i] = (int64_t)lethe_engine_sketch_ask(counter, operation->changes[i].key);
    }
    return status;
}

/* What the operation's counters hold now. */
static lethe_status read_values(lethe_counter *counter, const lethe_operation *operation,
                                int64_t *values) {
    if (counter->sketch != NULL) return read_estimates(counter, operation, values);
    for (size_t i = 0; i < operation->change_count; i++) {
        lethe_bytes key = operation->changes[i].key;
        values[i] = 0;
        if (!is_key(key)) continue;
        const lethe_tally_record *record =
            lethe_tally_find(counter->tally, lethe_engine_tag(counter, key), key);
        bool found;
        if (record != NULL) {
            values[i] = record->value;
        } else if (!counter->tally_complete) {
            lethe_status status = load_from_store(counter, key, &values[i], &found);
            if (status != LETHE_OK) return status;
        }
    }
    return LETHE_OK;
}

/* Decides a chunk, into the filling group, which has room for it. */
static lethe_status decide(lethe_counter *counter, const lethe_operation *operations, size_t count,
                           size_t tag_count, uint8_t *outcomes, int64_t *values) {
    struct chunk chunk;
    screen(counter, operations, count, &chunk, outcomes);
    ask(counter, &chunk);
    lethe_status asked = ask_ledger(counter, &chunk);
    if (asked != LETHE_OK) return asked;
    if (counter->sketch == NULL) fetch(counter, tag_count);
    lethe_group *group = lethe_engine_filling(counter);
    if (lethe_group_is_empty(group)) group->opened_ms = lethe_os_boot_ms();
    const uint32_t *tags = counter->tags;
    size_t next = 0;
    for (size_t i = 0; i < count; i++) {
        lethe_outcome outcome = (lethe_outcome)outcomes[i];
        lethe_status status = LETHE_OK;
        if (next < chunk.count && chunk.at[next] == i) {
            status = settle(counter, &operations[i], tags, &chunk, next++, &outcome);
        }
        if (outcome != LETHE_INVALID) tags += operations[i].change_count;
        outcomes[i] = (uint8_t)outcome;
        add_to_totals(&counter->state.totals, outcome);
        if (status == LETHE_OK && values != NULL) {
            status = read_values(counter, &operations[i], values);
            values += operations[i].change_count;
        }
        if (status != LETHE_OK) return status;
    }
    group->operations += (uint32_t)count;
    return counter->sketch != NULL ? lethe_engine_sketch_settle(counter) : LETHE_OK;
}

/* How many of the operations make the next chunk, and how many tags they need. */
static size_t next_chunk(const lethe_operation *operations, size_t count, size_t most,
                         size_t *tag_count) {
    *tag_count = 0;
    size_t taken = 0;
    while (taken < count && taken < most && taken < LETHE_CHUNK) {
        size_t more = operations[taken].change_count;
        if (more > LETHE_CHANGES_LIMIT) more = 0; /* will be refused */
        if (taken > 0 && *tag_count + more > LETHE_CHANGES_LIMIT) break;
        *tag_count += more;
        taken++;
    }
    return taken;
}

/* Whether the filling group should be sealed before `more` operations go into it: it would have too many, or there are
 * enough for a commit and the disk has nothing to do. On a slow disk groups are larger for it. */
static bool is_due(lethe_counter *counter, size_t more) {
    const lethe_group *group = lethe_engine_filling(counter);
    uint32_t waiting = group->operations, most = counter->options.commit_operations;
    if (waiting == 0) return false;
    return waiting + more > most || group->changes.size > ENOUGH_BYTES ||
           (waiting >= most / ENOUGH_SHARE && counter->sealed == counter->durable);
}

/* Seals the filling group until `more` operations fit in; they do in an empty one. */
static lethe_status make_room_for(lethe_counter *counter, size_t more) {
    lethe_status status = LETHE_OK;
    while (counter->failed == LETHE_OK && status == LETHE_OK && is_due(counter, more))
        status = lethe_engine_seal(counter);
    return counter->failed != LETHE_OK ? counter->failed : status;
}

static lethe_status decide_all(lethe_counter *counter, const lethe_operation *operations,
                               size_t count, bool has_marks, uint8_t *outcomes, int64_t *values) {
    while (count > 0) {
        lethe_status status = has_marks ? LETHE_OK : make_room_for(counter, 1);
        if (status != LETHE_OK) return status;
        size_t tag_count;
        size_t most =
            counter->options.commit_operations - lethe_engine_filling(counter)->operations;
        size_t taken = next_chunk(operations, count, most, &tag_count);
        size_t value_count = 0;
        for (size_t i = 0; i < taken; i++) {
            value_count += operations[i].change_count;
        }
        status = decide(counter, operations, taken, tag_count, outcomes, values);
        if (status != LETHE_OK) return status;
        operations += taken;
        outcomes += taken;
        count -= taken;
        if (values != NULL) values += value_count;
    }
    return LETHE_OK;
}

static const char MARK_PREFIX = 'm';

static void put_marks(lethe_counter *counter, const lethe_mark *marks, size_t count) {
    lethe_group *group = lethe_engine_filling(counter);
    if (count == 0) return;
    if (lethe_group_is_empty(group)) {
        group->opened_ms = lethe_os_boot_ms();
        group->operations = 1;
    }
    for (size_t i = 0; i < count; i++) {
        char name[1 + LETHE_KEY_LIMIT_BYTES];
        name[0] = MARK_PREFIX;
        memcpy(name + 1, marks[i].name.data, marks[i].name.size);
        lethe_bytes key = {.data = name, .size = 1 + marks[i].name.size};
        if (marks[i].value.size == 0) {
            lethe_batch_delete(group->batch, counter->store, LETHE_FAMILY_STATE, key);
        } else {
            lethe_batch_put(group->batch, counter->store, LETHE_FAMILY_STATE, key, marks[i].value);
        }
    }
}

static bool are_valid_marks(const lethe_mark *marks, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!is_key(marks[i].name) || marks[i].value.size > LETHE_KEY_LIMIT_BYTES) return false;
    }
    return count < LETHE_GROUP_LIMIT;
}

lethe_status lethe_counter_submit(lethe_counter *counter, const lethe_operation *operations,
                                  size_t count, const lethe_mark *marks, size_t mark_count,
                                  uint8_t *outcomes, int64_t *values, uint64_t *ticket) {
    *ticket = 0;
    if (counter->options.read_only || !are_valid_marks(marks, mark_count)) return LETHE_EINVAL;
    if (mark_count > 0 && count > counter->options.commit_operations) return LETHE_EINVAL;
    lethe_engine_enter(counter);
    lethe_status status = counter->failed;
    if (status == LETHE_OK) {
        /* Operations that come with marks go into one group with them: a mark that is not durable with all that it
         * speaks of would have it read again, and a copy that comes after W is no copy. */
        if (mark_count > 0) status = make_room_for(counter, count);
        bool was_empty = lethe_group_is_empty(lethe_engine_filling(counter));
        if (status == LETHE_OK)
            status = decide_all(counter, operations, count, mark_count > 0, outcomes, values);
        if (status == LETHE_OK) put_marks(counter, marks, mark_count);
        if (status != LETHE_OK) lethe_engine_fail(counter, status, NULL);
        *ticket = lethe_group_is_empty(lethe_engine_filling(counter)) ? counter->sealed
                                                                      : counter->filling;
        if (was_empty || counter->options.commit_interval_ms == 0) {
            lethe_os_condition_wake_all(&counter->work);
        }
    }
    lethe_engine_leave(counter);
    return status;
}

lethe_status lethe_counter_apply(lethe_counter *counter, const lethe_operation *operations,
                                 size_t count, uint8_t *outcomes, int64_t *values) {
    uint64_t ticket;
    lethe_status status =
        lethe_counter_submit(counter, operations, count, NULL, 0, outcomes, values, &ticket);
    return status == LETHE_OK ? lethe_counter_wait(counter, ticket) : status;
}

/* Sets one counter, or deletes it where `deletes` says so. */
static lethe_status overwrite(lethe_counter *counter, lethe_bytes key, int64_t value, bool deletes,
                              bool *existed) {
    lethe_tally_record *record;
    lethe_status status =
        lethe_engine_record(counter, lethe_engine_tag(counter, key), key, &record);
    if (status != LETHE_OK) return status;
    lethe_group *group = lethe_engine_filling(counter);
    if (lethe_group_is_empty(group)) group->opened_ms = lethe_os_boot_ms();
    status = lethe_group_touch(group, record, lethe_engine_stamp(counter, group->number));
    if (status != LETHE_OK) return status;
    if (existed != NULL) *existed = !record->absent;
    record->value = deletes ? 0 : value;
    record->absent = deletes;
    group->operations++;
    return LETHE_OK;
}

static lethe_status overwrite_all(lethe_counter *counter, const lethe_bytes *keys,
                                  const int64_t *values, size_t count, bool *existed) {
    if (counter->options.read_only || counter->has_sketch) return LETHE_EINVAL;
    for (size_t i = 0; i < count; i++) {
        if (!is_key(keys[i])) return LETHE_EINVAL;
    }
    lethe_engine_enter(counter);
    lethe_status status = counter->failed;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        status = make_room_for(counter, 1);
        if (status != LETHE_OK) break;
        status = overwrite(counter, keys[i], values != NULL ? values[i] : 0, values == NULL,
                           existed != NULL ? &existed[i] : NULL);
        if (status != LETHE_OK) lethe_engine_fail(counter, status, NULL);
    }
    uint64_t ticket =
        lethe_group_is_empty(lethe_engine_filling(counter)) ? counter->sealed : counter->filling;
    lethe_os_condition_wake_all(&counter->work);
    lethe_engine_leave(counter);
    return status == LETHE_OK ? lethe_counter_wait(counter, ticket) : status;
}

lethe_status lethe_counter_set(lethe_counter *counter, const lethe_bytes *keys,
                               const int64_t *values, size_t count) {
    static const int64_t none = 0;
    return overwrite_all(counter, keys, values != NULL ? values : &none, count, NULL);
}

lethe_status lethe_counter_delete(lethe_counter *counter, const lethe_bytes *keys, size_t count,
                                  bool *existed) {
    return overwrite_all(counter, keys, NULL, count, existed);
}
