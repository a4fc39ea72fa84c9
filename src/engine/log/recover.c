/* engine/log/recover.c - from what is on disk to what must be in memory.
 *
 * IDEA    Three walks: CHANGES after the last fold, into the values; COUNTERS, if they fit into
 *         memory (values/counters_open.c); IDS, into window, ledger and periods. Each record is
 *         checked before it is believed.
 * I1      Ids come back under the time they were recorded with, in their order. So the window is
 *         the one that was lost, or one that forgets a little later.
 * I2      What a run accepted under a memory cap, the next one can open under the same: before the
 *         ids come, the window makes room for as many as there are (window/chain_refill.c).
 * WHY     The log has 80 bits of each id, so that the window may be made again with another size,
 *         error or W. */
#include "core/detail.h"
#include "core/tunables.h"
#include "engine/ids/fill.h"
#include "engine/store.h"

/* Of a window, at the lowest error. */
enum { MOST_BYTES_PER_ID = 12 };

lethe_status lethe_explain_damage(const char *what, lethe_status status, lethe_detail *detail) {
    if (status == LETHE_EVERSION) {
        return lethe_detail_fill(detail, status,
                                 "the store was written by a newer version of lethe; use that one");
    }
    if (status == LETHE_ENOMEM) {
        return lethe_detail_fill(detail, status, "not enough memory to open the store");
    }
    return lethe_detail_fill(detail, status, "%s is damaged; restore a backup", what);
}

lethe_status lethe_changes_walk_begin(lethe_disk *disk, const lethe_state *state, lethe_walk **out,
                                      lethe_detail *detail) {
    unsigned char from[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(state->folded + 1, from);
    lethe_status status = lethe_walk_begin(disk, LETHE_FAMILY_CHANGES,
                                           (lethe_bytes){.data = from, .size = sizeof from}, out);
    return status == LETHE_OK ? LETHE_OK : lethe_explain_damage("", status, detail);
}

/* Whether there is what the state says must be: a database whose manifest lost its end opens
 * without an error. */
static lethe_status expect_values(lethe_disk *disk, const lethe_state *state, uint64_t segments,
                                  lethe_detail *detail) {
    lethe_record record;
    lethe_status status =
        lethe_disk_get(disk, LETHE_FAMILY_COUNTERS, (lethe_bytes){0}, &record, detail);
    if (status != LETHE_OK) return status;
    uint64_t folded = 0;
    bool is_sound = record.data == NULL ||
                    lethe_commit_of_key((lethe_bytes){record.data, record.size}, &folded);
    lethe_record_release(&record);
    /* A reader may have met the tables of one moment and the log of another. */
    if (is_sound && folded >= state->folded && folded <= state->commit &&
        segments == state->change_segments) {
        return lethe_meters_expect(disk, state, detail);
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "counters or changes are missing that the store's state counts; "
                             "restore a backup");
}

lethe_status lethe_log_replay(lethe_store *store, lethe_detail *detail) {
    lethe_status status = lethe_values_replay(&store->values, &store->state, &store->fold, detail);
    if (status != LETHE_OK) return status;
    return expect_values(store->disk, &store->state, store->fold.segments, detail);
}

lethe_status lethe_log_inspect(lethe_disk *disk, lethe_detail *detail) {
    lethe_state state;
    lethe_status status = lethe_state_load(disk, &state, detail);
    if (status == LETHE_ENOTFOUND) return LETHE_OK; /* nothing was acknowledged yet */
    if (status == LETHE_OK) status = lethe_disk_expect(disk, state.commit, detail);
    if (status != LETHE_OK) return status;
    lethe_walk *walk;
    status = lethe_changes_walk_begin(disk, &state, &walk, detail);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    uint64_t segments = 0;
    while (lethe_walk_next(walk, &key, &value))
        segments++;
    status = lethe_walk_end(walk, detail);
    if (status == LETHE_OK) status = expect_values(disk, &state, segments, detail);
    return status == LETHE_OK ? lethe_claims_expect(disk, &state, detail) : status;
}

/* What to do with a segment of ids; the walk is the same. */
struct purpose {
    bool records;     /* in window and index, and in the ledger what it lacks */
    lethe_fill *fill; /* the thread that fills the window, unless NULL */
    /* Becomes whether the log has ids without digests, of which the records of INDEX, where there
     * are such, know more. */
    bool needs_records;
    /* Becomes why the index can't be made. */
    lethe_status index_failed;
};

/* Whether the run's ids are forgotten by now. */
static bool is_expired(const lethe_store *store, lethe_id_run run) {
    return run.clock_ms + store->ids.kept_ms < store->state.clock_ms;
}

static lethe_status record_run(lethe_store *store, const unsigned char *ids, lethe_id_run run,
                               const struct purpose *purpose) {
    if (is_expired(store, run)) return LETHE_OK;
    return purpose->fill != NULL ? lethe_fill_run(purpose->fill, ids, run)
                                 : lethe_ids_record_run(store->ids.window, ids, run);
}

/* Adds a run, which begins with id number `from`, to the index. */
static lethe_status index_run(lethe_store *store, const lethe_id_segment *ids, uint32_t from,
                              lethe_id_run run) {
    if (is_expired(store, run)) return LETHE_OK;
    lethe_status status = LETHE_OK;
    for (uint32_t i = from; i < from + run.count && status == LETHE_OK; i++) {
        lethe_log_id id = lethe_log_id_load(ids->ids + (size_t)i * LETHE_LOG_ID_BYTES);
        status = lethe_index_add(store->ids.index, id, lethe_id_segment_entry(ids, i, run));
    }
    return status;
}

static lethe_status take_runs(lethe_store *store, const lethe_id_segment *ids,
                              struct purpose *purpose) {
    if (!purpose->records) return LETHE_OK;
    purpose->needs_records = purpose->needs_records || ids->digests == NULL;
    /* What INDEX has is in the index already, with more than the log knows. */
    bool in_records = ids->digests == NULL && store->state.has_index;
    lethe_status status = LETHE_OK;
    uint32_t from = 0;
    for (uint32_t i = 0; i < ids->run_count && status == LETHE_OK; i++) {
        lethe_id_run run = lethe_id_segment_run(ids, i);
        status = record_run(store, ids->ids + (size_t)from * LETHE_LOG_ID_BYTES, run, purpose);
        if (status == LETHE_OK && store->ids.index != NULL && !in_records)
            status = purpose->index_failed = index_run(store, ids, from, run);
        from += run.count;
    }
    return status;
}

/* Takes a segment in; *clock_ms becomes the time of its last id. */
static lethe_status take_segment(lethe_store *store, uint64_t commit, lethe_bytes segment,
                                 struct purpose *purpose, lethe_id_segment *ids,
                                 uint64_t *clock_ms) {
    lethe_status status = lethe_id_segment_open(segment, ids);
    if (status != LETHE_OK || ids->count == 0) return status;
    uint64_t first_ms = lethe_id_segment_run(ids, 0).clock_ms;
    if (first_ms < store->ids.oldest_ms) store->ids.oldest_ms = first_ms;
    status = take_runs(store, ids, purpose);
    if (status == LETHE_OK && purpose->records && store->ids.ledger != NULL)
        status = lethe_ledger_insert(store->ids.ledger, commit, segment, NULL);
    *clock_ms = lethe_id_segment_run(ids, ids->run_count - 1).clock_ms;
    return status;
}

static lethe_status take_next(lethe_store *store, uint64_t commit, lethe_bytes segment,
                              struct purpose *purpose) {
    lethe_id_segment ids;
    uint64_t clock_ms = 0;
    lethe_status status = take_segment(store, commit, segment, purpose, &ids, &clock_ms);
    if (status == LETHE_OK && ids.count > 0) {
        lethe_periods_add(&store->log.periods, store->options.window_ms, commit, clock_ms,
                          ids.count);
    }
    return status;
}

/* Takes the oldest segment, after the others. */
static lethe_status take_oldest(lethe_store *store, uint64_t commit, lethe_bytes segment) {
    lethe_id_segment ids;
    uint64_t clock_ms = 0;
    lethe_status status =
        take_segment(store, commit, segment, &(struct purpose){.records = true}, &ids, &clock_ms);
    if (status == LETHE_OK && ids.count > 0)
        lethe_periods_add_first(&store->log.periods, commit, clock_ms, ids.count);
    return status;
}

/* What a walk through IDS found. */
struct found_ids {
    /* No segment is missing at the beginning. */
    bool is_gapless;
    /* If the segment after the dropped ones is missing: none of its ids is later. */
    uint64_t latest_ms;
};

/* Compares the log with what the state says of it. */
static lethe_status expect_ids(lethe_store *store, const struct found_ids *found,
                               lethe_detail *detail) {
    uint64_t log_ids = lethe_periods_ids(&store->log.periods);
    const lethe_state *state = &store->state;
    if (log_ids == state->log_ids) return LETHE_OK;
    if (!found->is_gapless && log_ids < state->log_ids &&
        state->log_ids - log_ids <= LETHE_GROUP_LIMIT) {
        lethe_lost lost = {.commit = state->dropped + 1,
                           .ids = state->log_ids - log_ids,
                           .latest_ms = found->latest_ms};
        return lethe_log_mend(store, &lost, take_oldest, detail);
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the log has %llu ids, and the state says %llu; restore a backup",
                             (unsigned long long)log_ids, (unsigned long long)state->log_ids);
}

/* The time of a segment's first id. */
static uint64_t first_clock_ms(lethe_bytes segment, uint64_t otherwise_ms) {
    lethe_id_segment ids;
    if (lethe_id_segment_open(segment, &ids) != LETHE_OK || ids.run_count == 0) return otherwise_ms;
    return lethe_id_segment_run(&ids, 0).clock_ms;
}

/* How many threads should fill the window; 0: the caller alone. */
static unsigned filling_threads(const lethe_store *store) {
    if (store->state.log_ids < lethe_tune.fill_thread_ids || store->options.threads < 2) return 0;
    return store->options.threads;
}

/* Why the index, which needs memory and disk of its own, can't be made. */
static lethe_status explain_index(lethe_status status, lethe_detail *detail) {
    return lethe_detail_fill(detail, status, "cannot make the index of exact mode: %s",
                             lethe_strerror(status));
}

static lethe_status walk_ids(lethe_store *store, struct purpose *purpose, lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(store->disk, LETHE_FAMILY_IDS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    uint64_t commit = 0;
    bool is_first = true;
    struct found_ids found = {.is_gapless = store->state.dropped == 0,
                              .latest_ms = store->clock.found_ms};
    unsigned threads = purpose->records ? filling_threads(store) : 0;
    if (threads > 0) purpose->fill = lethe_fill_begin(store->ids.window, threads);
    while (status == LETHE_OK && lethe_walk_next(walk, &key, &value)) {
        if (is_first && lethe_commit_of_key(key, &commit)) {
            found.is_gapless = found.is_gapless || commit <= store->state.dropped + 1;
            found.latest_ms = first_clock_ms(value, found.latest_ms);
            is_first = false;
        }
        status = lethe_commit_of_key(key, &commit) && commit <= store->state.commit
                     ? take_next(store, commit, value, purpose)
                     : LETHE_ECORRUPT;
    }
    lethe_status filled = lethe_fill_end(purpose->fill);
    purpose->fill = NULL;
    lethe_status ended = lethe_walk_end(walk, detail);
    if (status == LETHE_OK) status = filled;
    if (status == LETHE_EFULL) {
        return lethe_detail_fill(detail, status,
                                 "the window's memory cap is too small for the ids that it must "
                                 "remember; raise it");
    }
    if (purpose->index_failed != LETHE_OK) return explain_index(status, detail);
    if (status != LETHE_OK) return lethe_explain_damage("a segment of ids", status, detail);
    if (ended != LETHE_OK || store->options.read_only) return ended;
    return expect_ids(store, &found, detail);
}

/* Empties INDEX, which nobody needs any more; the state says so first. */
static lethe_status drop_records(lethe_store *store) {
    lethe_batch *batch = lethe_batch_new();
    if (batch == NULL) return LETHE_ENOMEM;
    store->state.has_index = false;
    lethe_status status = lethe_state_put(&store->state, batch, store->disk);
    if (status == LETHE_OK) status = lethe_disk_commit(store->disk, batch, NULL);
    if (status == LETHE_OK) status = lethe_index_empty(store->disk, batch);
    lethe_batch_free(batch);
    return status;
}

/* Counts the log's ids that the window must remember. What cannot be read is left to the walk that
 * records them. */
static lethe_status count_living(lethe_store *store, uint64_t *count, lethe_detail *detail) {
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(store->disk, LETHE_FAMILY_IDS, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return lethe_explain_damage("", status, detail);
    lethe_bytes key, value;
    lethe_id_segment ids;
    *count = 0;
    while (lethe_walk_next(walk, &key, &value)) {
        if (lethe_id_segment_open(value, &ids) != LETHE_OK) continue;
        for (uint32_t i = 0; i < ids.run_count; i++) {
            lethe_id_run run = lethe_id_segment_run(&ids, i);
            if (!is_expired(store, run)) *count += run.count;
        }
    }
    return lethe_walk_end(walk, detail);
}

/* Makes room for the log's ids in a window that has a cap. The log may have many that expired while
 * the store was closed. Where it could matter, they are counted: that takes another walk. */
static lethe_status make_room(lethe_store *store, lethe_detail *detail) {
    uint64_t cap = store->options.max_memory_bytes, count = store->state.log_ids;
    if (cap == 0 || count == 0) return LETHE_OK;
    lethe_status status = LETHE_OK;
    if (count > cap / MOST_BYTES_PER_ID) status = count_living(store, &count, detail);
    return status == LETHE_OK ? lethe_ids_refill(&store->ids, count, detail) : status;
}

/* Says so if the window could be filled only beyond its cap. */
static void note_memory(lethe_store *store) {
    uint64_t cap = store->options.max_memory_bytes;
    if (cap == 0 || store->notice.text[0] != '\0') return;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(store->ids.window, store->state.clock_ms, &stats);
    if (stats.memory_bytes <= cap) return;
    (void)lethe_detail_fill(&store->notice, LETHE_OK,
                            "the window needs %llu bytes for the ids that it must remember, more "
                            "than its memory cap of %llu; until enough of them have expired, new "
                            "ones are refused: raise the cap",
                            (unsigned long long)stats.memory_bytes, (unsigned long long)cap);
}

/* Reads the log's ids, and the records of INDEX, which an earlier version may have left. These are
 * dropped when exact mode is switched off, or when the log knows all that they know; after the
 * rest: the log may need them (lost.c), and a store that is refused is left as it was. */
static lethe_status recover_ids(lethe_store *store, lethe_detail *detail) {
    struct purpose purpose = {.records = true};
    lethe_status status = LETHE_OK;
    if (store->ids.index != NULL && store->state.has_index) {
        status =
            lethe_index_add_earlier(store->ids.index, store->disk, store->state.clock_ms, detail);
        if (status == LETHE_ECORRUPT) return lethe_explain_damage("the index", status, detail);
        if (status != LETHE_OK) return explain_index(status, detail);
    }
    status = make_room(store, detail);
    if (status == LETHE_OK) status = walk_ids(store, &purpose, detail);
    if (status == LETHE_OK && store->options.max_memory_bytes > 0) {
        status = lethe_ids_refill(&store->ids, 0, detail);
        note_memory(store);
    }
    if (status != LETHE_OK || !store->state.has_index) return status;
    if (store->ids.index != NULL && purpose.needs_records) return LETHE_OK;
    status = drop_records(store);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "cannot change the index");
    return LETHE_OK;
}

lethe_status lethe_log_recover(lethe_store *store, lethe_detail *detail) {
    lethe_status status = lethe_log_replay(store, detail);
    if (status == LETHE_OK) status = lethe_values_load(&store->values, &store->state, detail);
    return status == LETHE_OK ? recover_ids(store, detail) : status;
}

lethe_status lethe_log_survey(lethe_store *store, lethe_detail *detail) {
    store->log.periods.count = 0;
    return walk_ids(store, &(struct purpose){.records = false}, detail);
}
