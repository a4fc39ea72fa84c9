/* engine/fold.c - moving values from the log into COUNTERS, now and then.
 *
 * IDEA    A fold takes all values that changed since the last one, as they are after some commit, sorts them by key
 *         and hands them to the store as one table. Then the log's changes up to that commit can go.
 * I1      The values are those of a sealed group's end, and they are written only when that group is durable.
 * I2      The note of how far is folded goes with the next commit. Until then the changes are still in the
 *         log, and replaying them over the folded values gives the same: they are absolute.
 * I3      A sketch is folded as a whole, as it is after some commit, and with that commit's number: the log up to
 *         there is not replayed over it, since deltas are not absolute.
 * WHY     Merging every touched counter in each commit would cost more than all the rest together. */
#include "core/allocator.h"
#include "engine/engine.h"
#include "engine/fold_order.h"

/* The next record that the store does not have. */
static const lethe_tally_record *next_changed(const lethe_counter *counter, uint64_t *position) {
    const lethe_tally_record *record;
    do {
        record = lethe_tally_each(counter->tally, position);
    } while (record != NULL && record->stamp <= counter->folded_stamp);
    return record;
}

/* Collects what the store does not have. With the lock, and an empty filling group. Counted first, so that the memory
 * for it is taken once and is no more than it needs. */
static lethe_status collect(const lethe_counter *counter, lethe_buffer *out) {
    uint64_t position = 0;
    size_t count = 0;
    while (next_changed(counter, &position) != NULL)
        count++;
    if (count == 0) return LETHE_OK;
    if (!lethe_buffer_reserve(out, count * sizeof(lethe_folding))) return LETHE_ENOMEM;
    position = 0;
    const lethe_tally_record *record;
    while ((record = next_changed(counter, &position)) != NULL) {
        lethe_folding folding = {
            .record = record, .value = record->value, .absent = record->absent};
        lethe_buffer_append(out, &folding, sizeof folding);
    }
    return LETHE_OK;
}

/* Without the lock: records' keys never change, and nothing drops them while fold_running. */
static lethe_status write_table(lethe_counter *counter, lethe_buffer *foldings,
                                lethe_detail *detail) {
    lethe_folding *all = (void *)foldings->data;
    size_t count = foldings->size / sizeof *all;
    if (count == 0) return LETHE_OK;
    lethe_fold_order(all, count);
    lethe_fold_table *table;
    lethe_status status = lethe_fold_table_begin(counter->store, counter->fold_cut, &table, detail);
    if (status != LETHE_OK) return status;
    for (size_t i = 0; i < count; i++) {
        if (i + 8 < count) __builtin_prefetch(all[i + 8].record);
        lethe_bytes key = {.data = all[i].record->key, .size = all[i].record->key_size};
        unsigned char value[LETHE_VALUE_LIMIT_BYTES];
        if (all[i].absent) {
            lethe_fold_table_delete(table, key);
        } else {
            size_t size = lethe_value_store(value, all[i].value);
            lethe_fold_table_put(table, key, (lethe_bytes){.data = value, .size = size});
        }
    }
    return lethe_fold_table_end(table, detail);
}

/* Drops counters from memory that the store has, when they take too much of it. */
static lethe_status evict(lethe_counter *counter) {
    if (counter->sketch != NULL ||
        lethe_tally_memory_bytes(counter->tally) <= counter->options.counters_memory_bytes) {
        return LETHE_OK;
    }
    /* The filling group points to records; a sealed one does not. */
    lethe_status status = lethe_engine_seal(counter);
    if (status != LETHE_OK) return status;
    status = lethe_tally_keep(counter->tally, counter->folded_stamp, counter->state.seed);
    if (status == LETHE_OK) counter->tally_complete = false;
    return status == LETHE_ENOMEM ? LETHE_OK : status; /* there will be another time */
}

/* What a fold takes with the lock, to write it without. */
struct taken {
    lethe_buffer foldings;
    lethe_sketch *sketch;
};

static lethe_status take(const lethe_counter *counter, struct taken *taken) {
    if (counter->sketch == NULL) return collect(counter, &taken->foldings);
    if (counter->unfolded_changes == 0) return LETHE_OK;
    return lethe_sketch_copy(counter->sketch, &taken->sketch);
}

static lethe_status write_taken(lethe_counter *counter, struct taken *taken, lethe_detail *detail) {
    if (taken->sketch == NULL) return write_table(counter, &taken->foldings, detail);
    return lethe_sketch_store_save(counter->store, taken->sketch, counter->fold_cut,
                                   counter->allocator, &counter->sketch_saved, detail);
}

/* With the lock, which is given up while the table is written. */
static lethe_status fold(lethe_counter *counter, lethe_detail *detail) {
    lethe_status status = lethe_engine_seal(counter);
    if (status != LETHE_OK) return status;
    struct taken taken = {.foldings = {.allocator = counter->allocator}};
    status = take(counter, &taken);
    counter->fold_cut = counter->sealed;
    counter->fold_cut_segments = counter->segments;
    uint64_t bytes = counter->unfolded_bytes, changes = counter->unfolded_changes;
    if (status == LETHE_OK) status = lethe_engine_wait_durable(counter, counter->fold_cut);
    if (status == LETHE_OK) {
        lethe_engine_leave(counter);
        status = write_taken(counter, &taken, detail);
        lethe_engine_enter(counter);
    }
    bool wrote = taken.foldings.size > 0 || taken.sketch != NULL;
    lethe_buffer_free(&taken.foldings);
    lethe_sketch_free(taken.sketch);
    if (status != LETHE_OK) return status;
    if (wrote) {
        counter->fold_done = counter->fold_cut;
        counter->folded_segments = counter->fold_cut_segments;
    }
    counter->folded_stamp = lethe_engine_stamp(counter, counter->fold_cut);
    counter->unfolded_bytes -= bytes;
    counter->unfolded_changes -= changes;
    return evict(counter);
}

void *lethe_engine_folder_main(void *context) {
    lethe_counter *counter = context;
    lethe_engine_enter(counter);
    for (;;) {
        while (!counter->stopping && (!counter->fold_wanted || counter->failed != LETHE_OK))
            lethe_os_condition_wait(&counter->fold, &counter->lock);
        if (counter->stopping) break;
        counter->fold_running = true;
        lethe_detail detail = {""};
        lethe_status status = fold(counter, &detail);
        counter->fold_running = counter->fold_wanted = false;
        if (status != LETHE_OK) lethe_engine_fail(counter, status, &detail);
        lethe_os_condition_wake_all(&counter->done);
    }
    lethe_engine_leave(counter);
    return NULL;
}

lethe_status lethe_engine_fold_all(lethe_counter *counter) {
    /* One that is running may have begun before the last change. */
    while (counter->fold_running && counter->failed == LETHE_OK)
        lethe_os_condition_wait(&counter->done, &counter->lock);
    counter->fold_wanted = true;
    lethe_os_condition_wake_all(&counter->fold);
    while (counter->fold_wanted && counter->failed == LETHE_OK)
        lethe_os_condition_wait(&counter->done, &counter->lock);
    return counter->failed;
}
