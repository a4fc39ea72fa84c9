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

static void begin_stamps(const lethe_tally *tally, uint32_t folded_stamp) {
    lethe_tally_record *record;
    uint64_t position = 0;
    while ((record = lethe_tally_each(tally, &position)) != NULL) {
        record->stamp = record->stamp > folded_stamp ? LETHE_REPLAYED_STAMP : LETHE_FOLDED_STAMP;
    }
}

void lethe_counters_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding) {
    lethe_counters *counters = &values->counters;
    if (is_folding || next_commit - counters->base_commit < lethe_tune.stamp_limit) return;
    begin_stamps(counters->tally, counters->folded_stamp);
    if (values->meters.count > 0) begin_stamps(values->buckets.tally, counters->folded_stamp);
    counters->folded_stamp = LETHE_FOLDED_STAMP;
    counters->base_commit = next_commit - LETHE_FIRST_STAMP;
}

uint64_t lethe_counters_fold_after_bytes(const lethe_values *values) {
    (void)values;
    return lethe_tune.fold_after_bytes;
}

bool lethe_counters_are_too_large(const lethe_values *values) {
    uint64_t bytes = lethe_tally_memory_bytes(values->counters.tally);
    if (values->meters.count > 0) bytes += lethe_tally_memory_bytes(values->buckets.tally);
    return bytes > values->counters.memory_limit_bytes;
}

/* The next record that the disk does not have. */
static const lethe_tally_record *next_changed(const lethe_tally *tally, uint32_t folded_stamp,
                                              uint64_t *position) {
    const lethe_tally_record *record;
    do {
        record = lethe_tally_each(tally, position);
    } while (record != NULL && record->stamp <= folded_stamp);
    return record;
}

/* Counted first, so that the memory is taken once and is no more than needed. */
static lethe_status take_changed(const lethe_tally *tally, uint32_t folded_stamp,
                                 lethe_buffer *out) {
    uint64_t position = 0;
    size_t count = 0;
    while (next_changed(tally, folded_stamp, &position) != NULL)
        count++;
    if (count == 0) return LETHE_OK;
    if (!lethe_buffer_reserve(out, count * sizeof(lethe_folding))) return LETHE_ENOMEM;
    position = 0;
    const lethe_tally_record *record;
    while ((record = next_changed(tally, folded_stamp, &position)) != NULL) {
        lethe_folding folding = {
            .record = record, .value = record->value, .absent = record->absent};
        lethe_buffer_append(out, &folding, sizeof folding);
    }
    return LETHE_OK;
}

lethe_status lethe_counters_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load) {
    (void)fold;
    const lethe_counters *counters = &values->counters;
    lethe_status status = take_changed(counters->tally, counters->folded_stamp, &load->foldings);
    if (status != LETHE_OK || values->meters.count == 0) return status;
    return take_changed(values->buckets.tally, counters->folded_stamp, &load->buckets);
}

static lethe_status write_table(lethe_values *values, enum lethe_family family,
                                const lethe_buffer *foldings, uint64_t cut, lethe_detail *detail) {
    lethe_folding *all = (void *)foldings->data;
    size_t count = foldings->size / sizeof *all;
    lethe_fold_order(all, count);
    lethe_fold_table *table;
    lethe_status status = lethe_fold_table_begin(values->disk, family, cut, &table, detail);
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

/* Without the lock: the keys of records never change, and records stay while a fold is running.
 * Whatever changes a bucket changes its counter too, so where there are no counters to write there
 * is nothing. Buckets go first, and even without any there is a table that says how far: COUNTERS
 * is never folded further than BUCKETS. */
lethe_status lethe_counters_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail) {
    if (load->foldings.size == 0) return LETHE_OK;
    lethe_status status = LETHE_OK;
    if (values->meters.count > 0)
        status = write_table(values, LETHE_FAMILY_BUCKETS, &load->buckets, cut, detail);
    if (status != LETHE_OK) return status;
    return write_table(values, LETHE_FAMILY_COUNTERS, &load->foldings, cut, detail);
}

void lethe_counters_end_fold(lethe_values *values, uint64_t cut) {
    values->counters.folded_stamp = lethe_counters_stamp(&values->counters, cut);
}

static bool stays(const void *context, const lethe_tally_record *record) {
    const lethe_values *values = context;
    return record->stamp > values->counters.folded_stamp;
}

static uint32_t find_tag(const void *context, lethe_bytes key) {
    return lethe_counters_tag(context, key);
}

lethe_status lethe_counters_evict(lethe_values *values) {
    lethe_counters *counters = &values->counters;
    bool all = lethe_counters_are_too_large(values);
    lethe_status status = lethe_buckets_evict(values, all);
    if (status == LETHE_OK && all) {
        status = lethe_tally_keep(
            counters->tally,
            &(lethe_tally_filter){.stays = stays, .tag = find_tag, .context = values});
        if (status == LETHE_OK) counters->is_complete = false;
    }
    return status == LETHE_ENOMEM ? LETHE_OK : status; /* there will be another time */
}
