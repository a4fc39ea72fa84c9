/* engine/recover.c - from what is on disk to what must be in memory.
 *
 * IDEA    Three walks: CHANGES behind the last fold, over the counters; COUNTERS, if they all fit into memory; IDS,
 *         into the window. Each record is checked before it is believed.
 * I1      Ids come back under the clock they were recorded with, in their order, so the window is the one that
 *         was lost, or one that forgets a little later.
 * WHY     The ids of a log hold 80 bits each, so that the window may be made anew with another size, error or W. */
#include "engine/detail.h"
#include "engine/engine.h"

enum { BATCH = 1024 };

static lethe_status damaged(lethe_detail *detail, const char *what, lethe_status status) {
    if (status == LETHE_EVERSION) {
        return lethe_detail_fill(detail, status,
                                 "the store was written by a newer version of lethe; use that one");
    }
    if (status == LETHE_ENOMEM) {
        return lethe_detail_fill(detail, status, "not enough memory to open the store");
    }
    return lethe_detail_fill(detail, status, "%s is damaged; restore a backup", what);
}

static lethe_status replay_segment(lethe_counter *counter, lethe_bytes segment) {
    lethe_changes changes;
    lethe_status status = lethe_changes_open(segment, &changes);
    while (status == LETHE_OK && changes.left > 0) {
        lethe_new_value change;
        status = lethe_changes_next(&changes, &change);
        if (status != LETHE_OK) break;
        uint32_t tag = lethe_engine_tag(counter, change.key);
        lethe_tally_record *record = lethe_tally_find(counter->tally, tag, change.key);
        if (record == NULL) record = lethe_tally_add(counter->tally, tag, change.key);
        if (record == NULL) return LETHE_ENOMEM;
        record->value = change.value;
        record->absent = change.deleted;
        record->stamp = LETHE_REPLAYED_STAMP;
        counter->unfolded_changes++;
    }
    counter->unfolded_bytes += segment.size;
    return status;
}

lethe_status lethe_engine_replay(lethe_counter *counter, lethe_detail *detail) {
    if (counter->state.sketch_bytes > 0) return lethe_engine_sketch_replay(counter, detail);
    unsigned char from[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(counter->state.folded + 1, from);
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(counter->store, LETHE_FAMILY_CHANGES,
                                           (lethe_bytes){.data = from, .size = sizeof from}, &walk);
    if (status != LETHE_OK) return damaged(detail, "", status);
    lethe_bytes key, value;
    counter->segments = 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        status = replay_segment(counter, value);
        counter->segments++;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return damaged(detail, "a segment of changes", status);
    return ended;
}

/* What the state says must be there, is: a database whose manifest lost its end opens without a word. */
static lethe_status expect_all(lethe_store *store, const lethe_state *state, uint64_t segments,
                               lethe_detail *detail) {
    lethe_record record;
    lethe_status status =
        lethe_store_get(store, LETHE_FAMILY_COUNTERS, (lethe_bytes){0}, &record, detail);
    if (status != LETHE_OK) return status;
    uint64_t folded = 0;
    bool is_sound = record.data == NULL ||
                    lethe_commit_of_key((lethe_bytes){record.data, record.size}, &folded);
    lethe_record_release(&record);
    /* A reader may have met the tables of one moment and the log of another. */
    if (is_sound && folded >= state->folded && folded <= state->commit &&
        segments == state->change_segments) {
        return LETHE_OK;
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "counters or changes are missing that the store's state speaks of; "
                             "restore a backup");
}

lethe_status lethe_engine_expect_all(const lethe_counter *counter, lethe_detail *detail) {
    return expect_all(counter->store, &counter->state, counter->segments, detail);
}

lethe_status lethe_engine_inspect(lethe_store *store, lethe_detail *detail) {
    lethe_state state;
    lethe_status status = lethe_state_load(store, &state, detail);
    if (status == LETHE_ENOTFOUND) return LETHE_OK; /* nothing was acknowledged yet */
    if (status == LETHE_OK) status = lethe_store_expect(store, state.commit, detail);
    if (status != LETHE_OK) return status;
    unsigned char from[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(state.folded + 1, from);
    lethe_walk *walk;
    status = lethe_walk_begin(store, LETHE_FAMILY_CHANGES,
                              (lethe_bytes){.data = from, .size = sizeof from}, &walk);
    if (status != LETHE_OK) return damaged(detail, "", status);
    lethe_bytes key, value;
    uint64_t segments = 0;
    while (lethe_walk_next(walk, &key, &value))
        segments++;
    status = lethe_walk_end(walk, detail);
    return status == LETHE_OK ? expect_all(store, &state, segments, detail) : status;
}

/* Reads all counters into memory, unless they might take more than half of what they may. */
static lethe_status load_counters(lethe_counter *counter, lethe_detail *detail) {
    uint64_t count = lethe_store_records(counter->store, LETHE_FAMILY_COUNTERS);
    uint64_t each = 64 + lethe_store_bytes(counter->store, LETHE_FAMILY_COUNTERS) / (count + 1);
    if (count > counter->options.counters_memory_bytes / 2 / each) return LETHE_OK;
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(counter->store, LETHE_FAMILY_COUNTERS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return damaged(detail, "", status);
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        if (key.size == 0) continue; /* says how far it is folded */
        if (key.size > LETHE_KEY_LIMIT_BYTES) {
            status = LETHE_ECORRUPT;
            break;
        }
        uint32_t tag = lethe_engine_tag(counter, key);
        if (lethe_tally_find(counter->tally, tag, key) != NULL) continue; /* the log knows better */
        lethe_tally_record *record = lethe_tally_add(counter->tally, tag, key);
        int64_t number = 0;
        status = record == NULL ? LETHE_ENOMEM : lethe_value_load(value, &number);
        if (record != NULL) record->value = number;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status != LETHE_OK) return damaged(detail, "a counter", status);
    counter->tally_complete = ended == LETHE_OK;
    return ended;
}

void lethe_engine_add_period(lethe_counter *counter, uint64_t commit, uint64_t clock_ms,
                             uint64_t ids) {
    lethe_period *last =
        counter->period_count > 0 ? &counter->periods[counter->period_count - 1] : NULL;
    bool is_full = counter->period_count == LETHE_PERIODS;
    if (last == NULL || (!is_full && clock_ms - last->first_ms >=
                                         counter->options.window_ms / LETHE_PERIOD_STEPS)) {
        last = &counter->periods[counter->period_count++];
        *last = (lethe_period){.first_ms = clock_ms, .first_commit = commit};
    }
    last->last_ms = clock_ms;
    last->last_commit = commit;
    last->ids += ids;
}

/* Records one run of ids, in batches. */
static lethe_status record_run(lethe_counter *counter, const unsigned char *ids, lethe_id_run run) {
    lethe_hash hashes[BATCH];
    for (uint32_t done = 0, size; done < run.count; done += size) {
        size = run.count - done < BATCH ? run.count - done : BATCH;
        for (uint32_t i = 0; i < size; i++) {
            hashes[i] = lethe_log_id_expand(
                lethe_log_id_load(ids + (size_t)(done + i) * LETHE_LOG_ID_BYTES));
        }
        lethe_status status =
            lethe_window_record_batch(counter->window, hashes, size, run.clock_ms);
        if (status != LETHE_OK) return status;
    }
    return LETHE_OK;
}

/* Ids in the index, for a store that had none so far. */
static lethe_status index_run(lethe_counter *counter, const unsigned char *ids, lethe_id_run run,
                              lethe_batch *batch) {
    unsigned char value[LETHE_INDEX_VALUE_BYTES];
    lethe_index_store(value, (lethe_index_entry){.clock_ms = run.clock_ms});
    lethe_batch_clear(batch);
    for (uint32_t i = 0; i < run.count; i++) {
        lethe_batch_put(
            batch, counter->store, LETHE_FAMILY_INDEX,
            (lethe_bytes){.data = ids + (size_t)i * LETHE_LOG_ID_BYTES, .size = LETHE_LOG_ID_BYTES},
            (lethe_bytes){.data = value, .size = sizeof value});
    }
    return lethe_store_commit(counter->store, batch, NULL);
}

/* What to do with a segment of ids; the walk is the same. */
struct purpose {
    bool records;       /* into the window, and what it lacks into the ledger */
    lethe_batch *index; /* into the index, unless NULL */
};

static lethe_status take_segment(lethe_counter *counter, uint64_t commit, lethe_bytes segment,
                                 const struct purpose *purpose) {
    lethe_ids ids;
    lethe_status status = lethe_ids_open(segment, &ids);
    if (status != LETHE_OK || ids.count == 0) return status;
    const unsigned char *at = ids.ids;
    for (uint32_t i = 0; i < ids.run_count && status == LETHE_OK; i++) {
        lethe_id_run run = lethe_ids_run(&ids, i);
        if (purpose->records && run.clock_ms + counter->kept_ms >= counter->state.clock_ms) {
            status = record_run(counter, at, run);
        }
        if (status == LETHE_OK && purpose->index != NULL) {
            status = index_run(counter, at, run, purpose->index);
        }
        at += (size_t)run.count * LETHE_LOG_ID_BYTES;
    }
    if (status == LETHE_OK && purpose->records && counter->ledger != NULL)
        status = lethe_ledger_insert(counter->ledger, commit, segment, NULL);
    lethe_engine_add_period(counter, commit, lethe_ids_run(&ids, ids.run_count - 1).clock_ms,
                            ids.count);
    return status;
}

/* Takes the oldest segment, which comes after the others here. */
static lethe_status take_oldest(lethe_counter *counter, uint64_t commit, lethe_bytes segment) {
    lethe_period first = counter->period_count > 0 ? counter->periods[0] : (lethe_period){0};
    uint32_t count = counter->period_count;
    counter->period_count = 0;
    lethe_status status =
        take_segment(counter, commit, segment, &(struct purpose){.records = true});
    if (count > 0) {
        first.first_commit = commit;
        first.first_ms = counter->periods[0].first_ms;
        first.ids += counter->periods[0].ids;
        counter->periods[0] = first;
        counter->period_count = count;
    }
    return status;
}

/* Compares the log with what the state says of it. latest_ms: no segment before the first that is behind the one that
 * follows what was dropped has later ids. */
static lethe_status expect_ids(lethe_counter *counter, bool is_gapless, uint64_t latest_ms,
                               lethe_detail *detail) {
    uint64_t log_ids = 0;
    for (uint32_t i = 0; i < counter->period_count; i++) {
        log_ids += counter->periods[i].ids;
    }
    const lethe_state *state = &counter->state;
    if (log_ids == state->log_ids) return LETHE_OK;
    if (!is_gapless && log_ids < state->log_ids && state->log_ids - log_ids <= LETHE_GROUP_LIMIT) {
        lethe_lost lost = {
            .commit = state->dropped + 1, .ids = state->log_ids - log_ids, .latest_ms = latest_ms};
        return lethe_engine_mend_log(counter, &lost, take_oldest, detail);
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the log has %llu ids, and the state says %llu; restore a backup",
                             (unsigned long long)log_ids, (unsigned long long)state->log_ids);
}

/* The time of a segment's first id. */
static uint64_t first_clock_ms(lethe_bytes segment, uint64_t otherwise_ms) {
    lethe_ids ids;
    if (lethe_ids_open(segment, &ids) != LETHE_OK || ids.run_count == 0) return otherwise_ms;
    return lethe_ids_run(&ids, 0).clock_ms;
}

static lethe_status walk_ids(lethe_counter *counter, const struct purpose *purpose,
                             lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(counter->store, LETHE_FAMILY_IDS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return damaged(detail, "", status);
    lethe_bytes key, value;
    uint64_t commit = 0, latest_ms = counter->found_clock_ms;
    bool is_first = true, is_gapless = counter->state.dropped == 0;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        if (is_first && lethe_commit_of_key(key, &commit)) {
            is_gapless = is_gapless || commit <= counter->state.dropped + 1;
            latest_ms = first_clock_ms(value, latest_ms);
            is_first = false;
        }
        status = lethe_commit_of_key(key, &commit) && commit <= counter->state.commit
                     ? take_segment(counter, commit, value, purpose)
                     : LETHE_ECORRUPT;
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status == LETHE_EFULL) {
        return lethe_detail_fill(detail, status,
                                 "the window's memory cap is too small for the ids that it must "
                                 "remember; raise it");
    }
    if (status != LETHE_OK) return damaged(detail, "a segment of ids", status);
    if (ended != LETHE_OK || counter->options.read_only) return ended;
    return expect_ids(counter, is_gapless, latest_ms, detail);
}

/* Empties INDEX, which the state does not speak of any more: what a crash leaves of it does no harm. Whole tables first,
 * and the rest one by one: a range that is deleted, and nothing beside it, is not to be (commit.c, I4). */
static lethe_status empty_index(lethe_counter *counter, lethe_batch *batch) {
    unsigned char first[LETHE_LOG_ID_BYTES] = {0}, last[LETHE_LOG_ID_BYTES];
    memset(last, 0xff, sizeof last);
    lethe_store_reclaim(counter->store, LETHE_FAMILY_INDEX,
                        (lethe_bytes){.data = first, .size = sizeof first},
                        (lethe_bytes){.data = last, .size = sizeof last});
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(counter->store, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    lethe_batch_clear(batch);
    for (uint32_t count = 1; status == LETHE_OK && lethe_walk_next(walk, &key, &value); count++) {
        lethe_batch_delete(batch, counter->store, LETHE_FAMILY_INDEX, key);
        if (count % LETHE_GROUP_LIMIT != 0) continue;
        status = lethe_store_commit(counter->store, batch, NULL);
        lethe_batch_clear(batch);
    }
    lethe_status ended = lethe_walk_end(walk, NULL);
    if (status == LETHE_OK) status = ended;
    return status == LETHE_OK ? lethe_store_commit(counter->store, batch, NULL) : status;
}

/* Empties INDEX where exact mode is switched off. */
static lethe_status drop_index(lethe_counter *counter) {
    if (counter->options.exact || !counter->state.has_index) return LETHE_OK;
    lethe_batch *batch = lethe_batch_new();
    if (batch == NULL) return LETHE_ENOMEM;
    counter->state.has_index = false;
    lethe_status status = lethe_state_put(&counter->state, batch, counter->store);
    if (status == LETHE_OK) status = lethe_store_commit(counter->store, batch, NULL);
    if (status == LETHE_OK) status = empty_index(counter, batch);
    lethe_batch_free(batch);
    return status;
}

/* Reads the log's ids, and makes INDEX what the options want: complete, or empty. It is emptied last: the log may need it
 * (lost.c), and a store that is refused is left as it was. */
static lethe_status recover_ids(lethe_counter *counter, lethe_detail *detail) {
    struct purpose purpose = {.records = true};
    if (counter->options.exact && !counter->state.has_index) {
        purpose.index = lethe_batch_new(); /* the walk fills it */
        if (purpose.index == NULL) return damaged(detail, "", LETHE_ENOMEM);
    }
    lethe_status status = walk_ids(counter, &purpose, detail);
    lethe_batch_free(purpose.index);
    if (status != LETHE_OK) return status;
    status = drop_index(counter);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "cannot change the index");
    counter->state.has_index = counter->options.exact;
    return LETHE_OK;
}

lethe_status lethe_engine_recover(lethe_counter *counter, lethe_detail *detail) {
    lethe_status status = lethe_engine_replay(counter, detail);
    if (status == LETHE_OK) status = lethe_engine_expect_all(counter, detail);
    if (status == LETHE_OK && counter->sketch == NULL) status = load_counters(counter, detail);
    return status == LETHE_OK ? recover_ids(counter, detail) : status;
}

lethe_status lethe_engine_survey(lethe_counter *counter, lethe_detail *detail) {
    counter->period_count = 0;
    return walk_ids(counter, &(struct purpose){0}, detail);
}
