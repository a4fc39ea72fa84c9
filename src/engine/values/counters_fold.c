/* engine/values/counters_fold.c - exact counters from memory to COUNTERS.
 *
 * I1      Stamps count commits from base_commit on. Records have 32 bits for them, so stamps begin
 *         again before they are too large. Then it matters only whether COUNTERS has a record;
 *         while a fold is running it also matters whether the record was changed after the fold's
 *         cut, so stamps wait for the fold to end.
 * WHY     Writing every changed counter to COUNTERS in each commit would cost more than everything
 *         else together. A fold writes each once, sorted, as one table (disk/fold_table.c). */
#include "core/tunables.h"
#include "engine/values/counters.h"
#include "engine/values/fold_order.h"

void lethe_counters_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding) {
    lethe_counters *counters = &values->counters;
    if (is_folding || next_commit - counters->base_commit < lethe_tune.stamp_limit) return;
    lethe_tally_record *record;
    uint64_t position = 0;
    while ((record = lethe_tally_each(counters->tally, &position)) != NULL) {
        record->stamp =
            record->stamp > counters->folded_stamp ? LETHE_REPLAYED_STAMP : LETHE_FOLDED_STAMP;
    }
    counters->folded_stamp = LETHE_FOLDED_STAMP;
    counters->base_commit = next_commit - LETHE_FIRST_STAMP;
}

uint64_t lethe_counters_fold_after_bytes(const lethe_values *values) {
    (void)values;
    return lethe_tune.fold_after_bytes;
}

bool lethe_counters_are_too_large(const lethe_values *values) {
    return lethe_tally_memory_bytes(values->counters.tally) > values->counters.memory_limit_bytes;
}

/* The next record that COUNTERS does not have. */
static const lethe_tally_record *next_changed(const lethe_counters *counters, uint64_t *position) {
    const lethe_tally_record *record;
    do {
        record = lethe_tally_each(counters->tally, position);
    } while (record != NULL && record->stamp <= counters->folded_stamp);
    return record;
}

/* Counted first, so that the memory is taken once and is no more than needed. */
lethe_status lethe_counters_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load) {
    (void)fold;
    const lethe_counters *counters = &values->counters;
    uint64_t position = 0;
    size_t count = 0;
    while (next_changed(counters, &position) != NULL)
        count++;
    if (count == 0) return LETHE_OK;
    if (!lethe_buffer_reserve(&load->foldings, count * sizeof(lethe_folding))) return LETHE_ENOMEM;
    position = 0;
    const lethe_tally_record *record;
    while ((record = next_changed(counters, &position)) != NULL) {
        lethe_folding folding = {
            .record = record, .value = record->value, .absent = record->absent};
        lethe_buffer_append(&load->foldings, &folding, sizeof folding);
    }
    return LETHE_OK;
}

/* Without the lock: the keys of records never change, and records stay while a fold is running. */
lethe_status lethe_counters_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail) {
    lethe_folding *all = (void *)load->foldings.data;
    size_t count = load->foldings.size / sizeof *all;
    if (count == 0) return LETHE_OK;
    lethe_fold_order(all, count);
    lethe_fold_table *table;
    lethe_status status = lethe_fold_table_begin(values->disk, cut, &table, detail);
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

void lethe_counters_end_fold(lethe_values *values, uint64_t cut) {
    values->counters.folded_stamp = lethe_counters_stamp(&values->counters, cut);
}

lethe_status lethe_counters_evict(lethe_values *values) {
    lethe_counters *counters = &values->counters;
    lethe_status status = lethe_tally_keep(counters->tally, counters->folded_stamp, values->seed);
    if (status == LETHE_OK) counters->is_complete = false;
    return status == LETHE_ENOMEM ? LETHE_OK : status; /* there will be another time */
}
