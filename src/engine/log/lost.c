/* engine/log/lost.c - ids that an earlier version dropped from the log too soon.
 *
 * IDEA    With the tables of segments that were too old, that version removed a table whose last
 *         segment was the first that had to stay: the one after `dropped`. So at most that segment
 *         is missing, and the state says how many ids it had.
 * WHY     That made no total wrong, but from now on duplicates of those events could be counted. So
 *         the store opens only if that is impossible: when the ids are too old for the window and
 *         not kept for ever, or the ledger has them, or the index, which has their times as well.
 *         Otherwise it is refused, with a message that says what would help. */
#include <stdio.h>
#include <stdlib.h>

#include "core/detail.h"
#include "engine/store.h"

/* An id and what INDEX knows of it. */
struct entry {
    lethe_log_id id;
    lethe_index_entry known;
};

/* Collects the entries of the index that the segment may have held, as struct entry each. */
static lethe_status collect(lethe_store *store, uint64_t latest_ms, lethe_buffer *out,
                            lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status =
        lethe_walk_begin(store->disk, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        struct entry entry;
        status =
            key.size == LETHE_LOG_ID_BYTES ? lethe_index_load(value, &entry.known) : LETHE_ECORRUPT;
        if (status != LETHE_OK || entry.known.clock_ms > latest_ms) continue;
        if (entry.known.clock_ms + store->ids.kept_ms < store->state.clock_ms) continue;
        entry.id = lethe_log_id_load(key.data);
        if (!lethe_buffer_reserve(out, sizeof entry)) status = LETHE_ENOMEM;
        if (status == LETHE_OK) lethe_buffer_append(out, &entry, sizeof entry);
    }
    lethe_status ended = lethe_walk_end(walk, detail);
    return ended != LETHE_OK ? ended : status;
}

static int by_time(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    return (a->known.clock_ms > b->known.clock_ms) - (a->known.clock_ms < b->known.clock_ms);
}

/* Makes the segment from ids in the order of their times. */
static lethe_status build(const lethe_buffer *found, lethe_group *segment) {
    const struct entry *all = (const void *)found->data;
    lethe_status status = lethe_id_segment_begin(&segment->ids);
    for (size_t i = 0; i < found->size / sizeof *all && status == LETHE_OK; i++)
        status = lethe_group_add_id(segment, all[i].id, all[i].known.clock_ms);
    if (status != LETHE_OK) return status;
    return lethe_group_end_ids(segment);
}

/* Puts the segment into the log, with a state that counts it. */
static lethe_status put(lethe_store *store, uint64_t commit, lethe_bytes segment,
                        lethe_detail *detail) {
    unsigned char key[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(commit, key);
    lethe_batch *batch = lethe_batch_new();
    if (batch == NULL) return LETHE_ENOMEM;
    lethe_batch_put(batch, store->disk, LETHE_FAMILY_IDS,
                    (lethe_bytes){.data = key, .size = sizeof key}, segment);
    lethe_clock_stamp(&store->clock, &store->state);
    lethe_status status = lethe_state_put(&store->state, batch, store->disk);
    if (status == LETHE_OK) status = lethe_disk_commit(store->disk, batch, detail);
    lethe_batch_free(batch);
    return status;
}

/* Makes the segment again from the index. It may then have ids that the next one has as well, which
 * does no harm. */
static lethe_status restore_segment(lethe_store *store, uint64_t commit, uint64_t latest_ms,
                                    lethe_bytes *out, lethe_group *segment, lethe_detail *detail) {
    lethe_buffer found = {.allocator = store->allocator};
    lethe_status status = collect(store, latest_ms, &found, detail);
    size_t count = found.size / sizeof(struct entry);
    if (status == LETHE_OK && count > 0) {
        qsort(found.data, count, sizeof(struct entry), by_time);
        status = build(&found, segment);
        *out = (lethe_bytes){.data = segment->ids.data, .size = segment->ids.size};
        store->state.log_ids += count;
        if (status == LETHE_OK) status = put(store, commit, *out, detail);
    }
    lethe_buffer_free(&found);
    return status;
}

/* Refuses the store: duplicates of what is lost would be counted. */
static lethe_status refuse(const lethe_store *store, const lethe_lost *lost, lethe_detail *detail) {
    enum { SHORTEST_WINDOW_MS = 1000 };
    uint64_t age_ms = store->state.clock_ms - lost->latest_ms;
    bool forever = store->state.forever;
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
        "them too soon, and duplicates of their events would be counted; restore a backup%s%s",
        (unsigned long long)lost->ids, (unsigned long long)lost->commit,
        store->options.event_time || forever ? ""
                                             : ", or wait until they are too old for the window",
        advice);
}

lethe_status lethe_log_mend(lethe_store *store, const lethe_lost *lost, lethe_lost_visit visit,
                            lethe_detail *detail) {
    static const char *const known[] = {"the ledger has them", "the index has them",
                                        "they are too old to matter"};
    const lethe_state *state = &store->state;
    bool in_ledger =
        store->ids.ledger != NULL && lethe_ledger_covers(store->ids.ledger) >= lost->commit;
    bool in_index = state->has_index;
    /* Where ids are kept for ever none is too old. */
    bool is_old = !state->forever && lost->latest_ms + store->ids.kept_ms < state->clock_ms;
    if (!in_ledger && !in_index && !is_old) return refuse(store, lost, detail);
    store->state.log_ids -= lost->ids;
    lethe_status status = LETHE_OK;
    if (in_index && !is_old) {
        lethe_group segment = {.ids.allocator = store->allocator,
                               .runs.allocator = store->allocator};
        lethe_bytes bytes = {0};
        status = restore_segment(store, lost->commit, lost->latest_ms, &bytes, &segment, detail);
        if (status == LETHE_OK && bytes.size > 0) status = visit(store, lost->commit, bytes);
        lethe_buffer_free(&segment.ids);
        lethe_buffer_free(&segment.runs);
    }
    (void)lethe_detail_fill(&store->notice, LETHE_OK,
                            "the log lacked %llu ids of commit %llu, which an earlier version of "
                            "lethe dropped too soon; nothing is lost: %s",
                            (unsigned long long)lost->ids, (unsigned long long)lost->commit,
                            known[is_old      ? 2
                                  : in_ledger ? 0
                                              : 1]);
    return status;
}
