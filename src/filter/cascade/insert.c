/* filter/cascade/insert.c - keys on their way into memory.
 *
 * IDEA    Keys go to the log first, a record at a time, and then into the tables of their ranges. A
 *         full table is frozen and a free one takes its place; threads that work write the frozen
 *         ones out.
 * I1      The log holds every key that tables hold, in order, and each table knows the number of
 *         the first key that it may hold, so numbers show which keys have been written out.
 * I2      Where there is no free table, the inserting thread writes one out itself, or waits for
 *         the thread that does: so memory is bounded.
 * WHY     A thread that inserts faster than others merge helps in proportion as soon as merging
 *         falls behind, so that no call has to wait for all earlier calls' merges. */
#include <string.h>

#include "filter/cascade/state.h"

enum {
    PREFETCH = 16,
    HELP_ENTRIES = 10,         /* merged for each key inserted, when merging is behind */
    FLUSH_ENTRIES = 32 * 1024, /* written at a time while waiting for a table */
    OPEN_PERIODS = 200         /* that a table spans at most */
};

/* Freezes a range's table and gives it a free one. State is held. */
static void freeze(lethe_cascade *cascade, struct lethe_cascade_range *range, uint64_t key) {
    for (unsigned i = range->frozen_count; i > 0; i--)
        range->frozen[i] = range->frozen[i - 1];
    range->frozen[0] = range->active;
    range->frozen_count++;
    range->active = cascade->free_tables[--cascade->free_count];
    range->active->first_key = key;
}

/* Whether some range has so many runs that its tables can't be written before they are merged. */
static bool is_stuck(lethe_cascade *cascade) {
    bool stuck = false;
    lethe_os_lock_take(&cascade->state);
    for (unsigned i = 0; i < cascade->range_count; i++)
        stuck |= cascade->ranges[i].run_count >= LETHE_CASCADE_MAX_RUNS - 1;
    lethe_os_lock_give(&cascade->state);
    return stuck;
}

/* What keeps tables from ever being written: runs that can't be merged, or manifests that can't be
 * written, which would release the names of merged runs. State is held. */
static lethe_status standstill(const lethe_cascade *cascade) {
    for (unsigned i = 0; i < cascade->range_count; i++) {
        for (unsigned j = 0; j < cascade->ranges[i].run_count; j++) {
            if (cascade->ranges[i].runs[j]->is_damaged) return LETHE_ECORRUPT;
        }
    }
    return LETHE_EIO;
}

/* Makes sure that there is a free table. State is held, and given up meanwhile. */
static lethe_status wait_for_table(lethe_cascade *cascade) {
    while (cascade->free_count == 0) {
        lethe_os_lock_give(&cascade->state);
        struct lethe_cascade_progress flushed, merged = {0};
        lethe_status status = lethe_cascade_step(cascade, FLUSH_ENTRIES, true, &flushed);
        /* No flush to begin: either others are at all of them, or merging is too far behind. */
        if (status == LETHE_OK && !flushed.did && is_stuck(cascade)) {
            status = lethe_cascade_step(cascade, FLUSH_ENTRIES, false, &merged);
        }
        lethe_os_lock_take(&cascade->state);
        if (status != LETHE_OK) return status;
        if (flushed.did || merged.did || cascade->free_count > 0) continue;
        if (lethe_cascade_stands_still(cascade)) return standstill(cascade);
        lethe_os_condition_wait_for(&cascade->changed, &cascade->state, 10);
    }
    return LETHE_OK;
}

/* Puts one key into its range's table. State is held. */
static lethe_status apply_one(lethe_cascade *cascade, uint64_t fingerprint, bool removes,
                              uint64_t period, uint64_t key) {
    struct lethe_cascade_range *range =
        &cascade->ranges[lethe_cascade_range_of(cascade, fingerprint)];
    for (;;) {
        struct lethe_cascade_table *table = range->active;
        uint64_t word = fingerprint << cascade->words.tag_bits;
        bool spans_too_much = false;
        /* What came before an empty table's first key is in runs, and the log may have given it
         * back. */
        if (table->count == 0) table->first_key = key;
        if (lethe_cascade_has_ages(&cascade->words)) {
            if (table->count == 0) table->first_period = table->last_period = period;
            spans_too_much = period - table->first_period > OPEN_PERIODS;
            word |= spans_too_much ? 0 : period - table->first_period;
        }
        lethe_status status =
            spans_too_much ? LETHE_EFULL : lethe_cascade_table_apply(table, word, removes);
        if (status == LETHE_OK && table->last_period < period) table->last_period = period;
        if (status != LETHE_EFULL) return status;
        if (table->count == 0) return LETHE_ENOMEM; /* can't be: an empty table takes a key */
        status = wait_for_table(cascade);
        if (status != LETHE_OK) return status;
        /* While the lock was given up, only flushes went on: the active table is the same. */
        freeze(cascade, range, key);
    }
}

/* Applies a record's keys; *done of them. State is held. */
static lethe_status apply_record(lethe_cascade *cascade, const struct lethe_cascade_record *record,
                                 const uint64_t *covered_keys, uint32_t *done) {
    uint64_t period = lethe_cascade_period_of(&cascade->shape, record->now_ms);
    const uint64_t *fingerprints = record->fingerprints;
    lethe_status status = LETHE_OK;
    uint32_t i = 0;
    for (; i < record->count && status == LETHE_OK; i++) {
        if (i + PREFETCH < record->count) {
            uint64_t ahead = fingerprints[i + PREFETCH];
            unsigned range = lethe_cascade_range_of(cascade, ahead);
            lethe_cascade_table_prefetch(cascade->ranges[range].active,
                                         ahead << cascade->words.tag_bits);
        }
        uint64_t key = record->first_key + i;
        if (covered_keys != NULL &&
            key < covered_keys[lethe_cascade_range_of(cascade, fingerprints[i])]) {
            continue;
        }
        status = apply_one(cascade, fingerprints[i], record->removes, period, key);
        if (status != LETHE_OK) break;
    }
    *done = i;
    return status;
}

/* Commits take files off the list at any time: it is looked at under the lock. */
static bool list_is_full(lethe_cascade *cascade) {
    lethe_os_lock_take(&cascade->state);
    bool is_full = cascade->log.file_count == LETHE_CASCADE_LOG_FILES;
    lethe_os_lock_give(&cascade->state);
    return is_full;
}

/* Begins a new file of the log when the last one is long. */
static lethe_status rotate_log(lethe_cascade *cascade) {
    if (!lethe_cascade_log_is_long(&cascade->log)) return LETHE_OK;
    if (list_is_full(cascade)) {
        /* So many files, because no manifest could be written that makes them superfluous. */
        if (cascade->setting.durability == LETHE_CASCADE_CHECKPOINTED) {
            cascade->log.file_bytes *= 2;
            return LETHE_OK;
        }
        lethe_status status = lethe_cascade_commit(cascade, NULL, false);
        if (status != LETHE_OK) return status;
        if (list_is_full(cascade)) return LETHE_OK;
    }
    lethe_os_block_file file;
    if (!lethe_cascade_is_in_place(cascade)) return LETHE_EIO;
    lethe_status status = lethe_cascade_log_make(&cascade->log, &file);
    if (status != LETHE_OK) return status;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_log_take(&cascade->log, file);
    lethe_os_lock_give(&cascade->state);
    return LETHE_OK;
}

/* The range whose table has the oldest keys keeps the log from being shortened: freezes that table
 * if the log has become too long. */
static lethe_status shorten_log(lethe_cascade *cascade) {
    uint64_t keys = cascade->tables[0].homes * cascade->range_count;
    struct lethe_cascade_range *oldest = NULL;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_range *range = &cascade->ranges[i];
        if (range->frozen_count > 0 || range->active->count == 0) continue;
        if (cascade->next_key - range->active->first_key < 3 * keys) continue;
        if (oldest == NULL || range->active->first_key < oldest->active->first_key) oldest = range;
    }
    if (oldest == NULL) return LETHE_OK;
    lethe_status status = wait_for_table(cascade);
    if (status == LETHE_OK) freeze(cascade, oldest, cascade->next_key);
    return status;
}

/* Merges a little if merging has fallen behind. */
static lethe_status help(lethe_cascade *cascade, uint32_t count) {
    lethe_os_lock_take(&cascade->state);
    bool is_behind = lethe_cascade_is_behind(cascade);
    bool is_due = lethe_cascade_commit_is_due(cascade) &&
                  lethe_cascade_log_bytes(&cascade->log) > 8 * cascade->setting.memory_bytes;
    lethe_os_lock_give(&cascade->state);
    if (is_due) {
        lethe_status status = lethe_cascade_commit(cascade, NULL, false);
        if (status != LETHE_OK) return status;
    }
    if (!is_behind) return LETHE_OK;
    struct lethe_cascade_progress progress;
    return lethe_cascade_step(cascade, (uint64_t)count * HELP_ENTRIES, false, &progress);
}

/* While a record is applied no commit may look: its first keys may be in runs before next_key
 * counts them, and its last ones may be taken out of the log again. Commits that wait come before
 * the next record, or they would wait for as long as somebody inserts. State is held. */
static void begin_record(lethe_cascade *cascade) {
    while (cascade->waiting_commits > 0)
        lethe_os_condition_wait(&cascade->changed, &cascade->state);
    cascade->is_applying = true;
    lethe_cascade_log_note(&cascade->log);
}

static void end_record(lethe_cascade *cascade, const struct lethe_cascade_record *record) {
    cascade->next_key += record->count;
    *(record->removes ? &cascade->removed : &cascade->inserted) += record->count;
    cascade->is_applying = false;
    lethe_os_condition_wake_all(&cascade->changed);
}

/* Takes what could not be applied out of the log: it must not come back from there. State is held,
 * and given up meanwhile. */
static void shorten_record(lethe_cascade *cascade, struct lethe_cascade_record *record,
                           uint32_t done) {
    lethe_os_lock_give(&cascade->state);
    lethe_status undone = lethe_cascade_log_shorten(&cascade->log, record, done);
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_log_note(&cascade->log);
    if (undone != LETHE_OK) cascade->is_broken = true;
}

/* Logs and applies a record; record->count becomes how many of its keys are in. */
static lethe_status apply_some(lethe_cascade *cascade, struct lethe_cascade_record *record) {
    uint32_t done = 0;
    lethe_status status = rotate_log(cascade);
    record->first_key = cascade->log.next_key;
    if (status == LETHE_OK) status = lethe_cascade_log_append(&cascade->log, record);
    if (status != LETHE_OK) {
        record->count = 0;
        return status;
    }
    bool is_sent = lethe_cascade_log_send(&cascade->log) == LETHE_OK;
    lethe_os_lock_take(&cascade->state);
    if (!is_sent) cascade->is_broken = true; /* as after a failed sync */
    begin_record(cascade);
    status = apply_record(cascade, record, NULL, &done);
    if (done < record->count) shorten_record(cascade, record, done);
    end_record(cascade, record);
    if (status == LETHE_OK) status = shorten_log(cascade);
    lethe_os_lock_give(&cascade->state);
    return status;
}

/* Fills the record; says whether it may be applied. */
static lethe_status prepare(lethe_cascade *cascade, const uint64_t *fingerprints, size_t count,
                            bool removes, uint64_t now_ms) {
    struct lethe_cascade_record *record = cascade->record;
    record->count = count < LETHE_CASCADE_RECORD_KEYS ? (uint32_t)count : LETHE_CASCADE_RECORD_KEYS;
    memcpy(record->fingerprints, fingerprints, record->count * sizeof *fingerprints);
    record->removes = removes;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, now_ms);
    record->now_ms = cascade->clock_ms;
    lethe_status status = cascade->is_broken ? LETHE_EIO : LETHE_OK;
    if (status == LETHE_OK && cascade->setting.refuse_over_capacity && !removes) {
        uint64_t entries =
            lethe_cascade_memory_entries(cascade) + lethe_cascade_run_entries(cascade);
        if (entries + record->count > cascade->shape.capacity) status = LETHE_EFULL;
    }
    lethe_os_lock_give(&cascade->state);
    return status;
}

lethe_status lethe_cascade_apply(lethe_cascade *cascade, const uint64_t *fingerprints, size_t count,
                                 bool removes, uint64_t now_ms, size_t *done) {
    lethe_status status = LETHE_OK;
    *done = 0;
    while (*done < count && status == LETHE_OK) {
        status = prepare(cascade, fingerprints + *done, count - *done, removes, now_ms);
        if (status == LETHE_OK) status = help(cascade, cascade->record->count);
        if (status != LETHE_OK) break;
        status = apply_some(cascade, cascade->record);
        *done += cascade->record->count;
    }
    if (status == LETHE_OK && cascade->setting.durability == LETHE_CASCADE_SYNCED) {
        status = lethe_cascade_sync(cascade);
    }
    return status;
}

lethe_status lethe_cascade_reapply(lethe_cascade *cascade,
                                   const struct lethe_cascade_record *record,
                                   const uint64_t *covered_keys) {
    uint64_t limit = UINT64_C(1) << cascade->shape.fingerprint_bits;
    for (uint32_t i = 0; i < record->count; i++) {
        if (record->fingerprints[i] >= limit) return LETHE_ECORRUPT;
    }
    if (record->removes && cascade->shape.window_ms != 0) return LETHE_ECORRUPT;
    uint32_t done;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, record->now_ms);
    lethe_status status = apply_record(cascade, record, covered_keys, &done);
    cascade->next_key = record->first_key + done;
    lethe_os_lock_give(&cascade->state);
    return status;
}
