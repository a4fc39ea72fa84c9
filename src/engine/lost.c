/* engine/lost.c - ids that an earlier version dropped from the log too soon.
 *
 * IDEA    It gave back, with the tables of segments that were too old, a table whose last segment was the first that had
 *         to stay: the one behind `dropped`. So at most that segment is missing, and the state says how many ids it had.
 * WHY     Nothing was counted wrong by that, but copies of those events could be, from now on. So the store opens if
 *         none can: when the ids are too old for the window and not kept for ever, or the ledger has them, or the index, which
 *         knows their times as well. Otherwise it is refused, with what would help. */
#include <stdio.h>
#include <stdlib.h>

#include "engine/detail.h"
#include "engine/engine.h"

/* Entries of the index that the segment may have held, as lethe_pending each. */
static lethe_status collect(lethe_counter *counter, uint64_t latest_ms, lethe_buffer *out,
                            lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(counter->store, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        lethe_pending pending;
        status = key.size == LETHE_LOG_ID_BYTES ? lethe_index_load(value, &pending.entry)
                                                : LETHE_ECORRUPT;
        if (status != LETHE_OK || pending.entry.clock_ms > latest_ms) continue;
        if (pending.entry.clock_ms + counter->kept_ms < counter->state.clock_ms) continue;
        pending.id = lethe_log_id_load(key.data);
        if (!lethe_buffer_reserve(out, sizeof pending)) status = LETHE_ENOMEM;
        if (status == LETHE_OK) lethe_buffer_append(out, &pending, sizeof pending);
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    return ended != LETHE_OK ? ended : status;
}

static int by_time(const void *left, const void *right) {
    const lethe_pending *a = left, *b = right;
    return (a->entry.clock_ms > b->entry.clock_ms) - (a->entry.clock_ms < b->entry.clock_ms);
}

/* The segment anew, of ids that are in the order of their times. */
static lethe_status build(const lethe_buffer *found, lethe_group *segment) {
    const lethe_pending *all = (const void *)found->data;
    lethe_status status = lethe_ids_begin(&segment->ids);
    for (size_t i = 0; i < found->size / sizeof *all && status == LETHE_OK; i++)
        status = lethe_group_add_id(segment, all[i].id, all[i].entry.clock_ms);
    if (status != LETHE_OK) return status;
    return lethe_ids_end(&segment->ids, (const void *)segment->runs.data,
                         segment->runs.size / sizeof(lethe_id_run));
}

/* Puts the segment into the log, and the state that knows of it. */
static lethe_status put(lethe_counter *counter, uint64_t commit, lethe_bytes segment,
                        lethe_detail *detail) {
    unsigned char key[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(commit, key);
    lethe_batch *batch = lethe_batch_new();
    if (batch == NULL) return LETHE_ENOMEM;
    lethe_batch_put(batch, counter->store, LETHE_FAMILY_IDS,
                    (lethe_bytes){.data = key, .size = sizeof key}, segment);
    lethe_engine_set_moment(counter);
    lethe_status status = lethe_state_put(&counter->state, batch, counter->store);
    if (status == LETHE_OK) status = lethe_store_commit(counter->store, batch, detail);
    lethe_batch_free(batch);
    return status;
}

/* Makes the segment again from the index. It may then have ids that the next one has as well: that does no harm. */
static lethe_status restore_segment(lethe_counter *counter, uint64_t commit, uint64_t latest_ms,
                                    lethe_bytes *out, lethe_group *segment, lethe_detail *detail) {
    lethe_buffer found = {.allocator = counter->allocator};
    lethe_status status = collect(counter, latest_ms, &found, detail);
    size_t count = found.size / sizeof(lethe_pending);
    if (status == LETHE_OK && count > 0) {
        qsort(found.data, count, sizeof(lethe_pending), by_time);
        status = build(&found, segment);
        *out = (lethe_bytes){.data = segment->ids.data, .size = segment->ids.size};
        counter->state.log_ids += count;
        if (status == LETHE_OK) status = put(counter, commit, *out, detail);
    }
    lethe_buffer_free(&found);
    return status;
}

/* Refuses: copies of what is lost would be counted. */
static lethe_status refuse(const lethe_counter *counter, const lethe_lost *lost,
                           lethe_detail *detail) {
    enum { SHORTEST_WINDOW_MS = 1000 };
    uint64_t age_ms = counter->state.clock_ms - lost->latest_ms;
    bool forever = counter->state.forever;
    char advice[128] = "";
    if (age_ms > SHORTEST_WINDOW_MS && !forever) {
        (void)snprintf(advice, sizeof advice,
                       ", or open it with a window of less than %llu ms, which does not reach back "
                       "to them",
                       (unsigned long long)age_ms);
    }
    return lethe_detail_fill(
        detail, LETHE_ECORRUPT,
        "%llu ids of commit %llu are missing from the log: an earlier version of lethe dropped "
        "them too soon, and copies of their events would be counted again; restore a backup%s%s",
        (unsigned long long)lost->ids, (unsigned long long)lost->commit,
        counter->options.event_time || forever ? ""
                                               : ", or wait until they are too old for the window",
        advice);
}

lethe_status lethe_engine_mend_log(lethe_counter *counter, const lethe_lost *lost,
                                   lethe_lost_visit visit, lethe_detail *detail) {
    static const char *const known[] = {"the ledger has them", "the index has them",
                                        "they are too old to matter"};
    const lethe_state *state = &counter->state;
    bool in_ledger =
        counter->ledger != NULL && lethe_ledger_covers(counter->ledger) >= lost->commit;
    bool in_index = state->has_index;
    /* Where ids are kept for ever none is too old. */
    bool is_old = !state->forever && lost->latest_ms + counter->kept_ms < state->clock_ms;
    if (!in_ledger && !in_index && !is_old) return refuse(counter, lost, detail);
    counter->state.log_ids -= lost->ids;
    lethe_status status = LETHE_OK;
    if (in_index && !is_old) {
        lethe_group segment = {.ids.allocator = counter->allocator,
                               .runs.allocator = counter->allocator};
        lethe_bytes bytes = {0};
        status = restore_segment(counter, lost->commit, lost->latest_ms, &bytes, &segment, detail);
        if (status == LETHE_OK && bytes.size > 0) status = visit(counter, lost->commit, bytes);
        lethe_buffer_free(&segment.ids);
        lethe_buffer_free(&segment.runs);
    }
    (void)lethe_detail_fill(&counter->notice, LETHE_OK,
                            "the log lacked %llu ids of commit %llu, which an earlier version of "
                            "lethe dropped too soon; nothing is lost: %s",
                            (unsigned long long)lost->ids, (unsigned long long)lost->commit,
                            known[is_old      ? 2
                                  : in_ledger ? 0
                                              : 1]);
    return status;
}
