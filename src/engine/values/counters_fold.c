/* engine/values/counters_fold.c - exact counters from memory to COUNTERS.
 *
 * I1      Stamps count commits from base_commit on. Records have 32 bits for them, so stamps begin
 *         again before they are too large. Then it matters only whether COUNTERS has a record;
 *         while a fold is running it also matters whether the record was changed after the fold's
 *         cut, so stamps wait for the fold to end.
 * WHY     Writing every changed counter to COUNTERS in each commit would cost more than everything
 *         else together. A fold writes each once, sorted, as one table (disk/fold_table.c). The
 *         user waits for the last one, when all other threads have nothing to do: so a large fold
 *         is split at a key, and a second thread sorts and writes the upper half. */
#include "core/tunables.h"
#include "engine/values/counters.h"
#include "engine/values/fold_order.h"
#include "os/thread.h"

static void begin_stamp(lethe_tally_record *record, uint32_t folded_stamp) {
    record->stamp = record->stamp > folded_stamp ? LETHE_REPLAYED_STAMP : LETHE_FOLDED_STAMP;
}

/* Of all records, and of so many buckets beside each. */
static void begin_stamps(const lethe_tally *tally, uint32_t beside, uint32_t folded_stamp) {
    lethe_tally_record *record;
    uint64_t position = 0;
    while ((record = lethe_tally_each(tally, &position)) != NULL) {
        begin_stamp(record, folded_stamp);
        for (uint32_t i = 0; i < beside; i++)
            begin_stamp(lethe_bucket_beside(record, i), folded_stamp);
    }
}

void lethe_counters_number_commits(lethe_values *values, uint64_t next_commit, bool is_folding) {
    lethe_counters *counters = &values->counters;
    if (is_folding || next_commit - counters->base_commit < lethe_tune.stamp_limit) return;
    begin_stamps(counters->tally, values->meters.count, counters->folded_stamp);
    if (values->meters.count > 0) begin_stamps(values->buckets.loose, 0, counters->folded_stamp);
    counters->folded_stamp = LETHE_FOLDED_STAMP;
    counters->base_commit = next_commit - LETHE_FIRST_STAMP;
}

uint64_t lethe_counters_fold_after_bytes(const lethe_values *values) {
    (void)values;
    return lethe_tune.fold_after_bytes;
}

bool lethe_counters_are_too_large(const lethe_values *values) {
    uint64_t bytes = lethe_tally_memory_bytes(values->counters.tally);
    if (values->meters.count > 0) bytes += lethe_tally_memory_bytes(values->buckets.loose);
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

/* Those beside one counter, for which there is room. */
static void take_beside(const lethe_values *values, lethe_folding *folding, lethe_buffer *out) {
    folding->beside_at = (uint32_t)(out->size / sizeof(lethe_folding_beside));
    for (uint32_t i = 0; i < values->meters.count; i++) {
        const lethe_tally_record *bucket = lethe_bucket_beside(folding->record, i);
        if (bucket->key_size == 0 || bucket->stamp <= values->counters.folded_stamp) continue;
        lethe_folding_beside beside = {.value = bucket->value,
                                       .label = lethe_label_load(bucket->key),
                                       .which = i,
                                       .absent = bucket->absent};
        lethe_buffer_append(out, &beside, sizeof beside);
        folding->beside_count++;
    }
}

/* A bucket that has changed is beside a counter that has, too (meters/buckets.c, I3). */
lethe_status lethe_counters_take_fold(lethe_values *values, const lethe_fold *fold,
                                      lethe_fold_load *load) {
    (void)fold;
    const lethe_counters *counters = &values->counters;
    lethe_status status = take_changed(counters->tally, counters->folded_stamp, &load->foldings);
    if (status != LETHE_OK || values->meters.count == 0) return status;
    lethe_folding *all = (void *)load->foldings.data;
    size_t count = load->foldings.size / sizeof *all;
    size_t bytes = count * values->meters.count * sizeof(lethe_folding_beside);
    if (!lethe_buffer_reserve(&load->beside, bytes) ||
        !lethe_buffer_reserve(&load->room, lethe_buckets_fold_room(count))) {
        return LETHE_ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        take_beside(values, &all[i], &load->beside);
    return take_changed(values->buckets.loose, counters->folded_stamp, &load->loose);
}

/* A half of a fold's counters, and the table that they go to. */
struct half {
    lethe_folding *foldings;
    size_t count;
    lethe_fold_table *table;
};

static void *order_half(void *context) {
    const struct half *half = context;
    lethe_fold_order(half->foldings, half->count);
    return NULL;
}

static void *write_half(void *context) {
    const struct half *half = context;
    const lethe_folding *all = half->foldings;
    lethe_disk_enter_thread();
    for (size_t i = 0; i < half->count; i++) {
        if (i + 8 < half->count) __builtin_prefetch(all[i + 8].record);
        lethe_bytes key = {.data = all[i].record->key, .size = all[i].record->key_size};
        lethe_fold_put(half->table, key, all[i].value, all[i].absent);
    }
    lethe_fold_table_finish(half->table);
    return NULL;
}

/* Does the same to both halves at once; or to one after the other, if there is no thread to be
 * had. */
static void do_halves(struct half halves[2], void *(*work)(void *half)) {
    lethe_os_thread thread;
    bool has_upper = halves[1].count > 0;
    bool runs = has_upper && lethe_os_thread_start(&thread, work, &halves[1]) == LETHE_OK;
    work(&halves[0]);
    if (runs) {
        lethe_os_thread_join(&thread);
    } else if (has_upper) {
        work(&halves[1]);
    }
}

static lethe_status write_counters(lethe_values *values, struct half halves[2], uint64_t cut,
                                   lethe_detail *detail) {
    lethe_status status =
        lethe_fold_table_begin(values->disk, LETHE_FAMILY_COUNTERS, cut, &halves[0].table, detail);
    if (status == LETHE_OK && halves[1].count > 0) {
        status = lethe_fold_table_begin_upper(values->disk, LETHE_FAMILY_COUNTERS, &halves[1].table,
                                              detail);
    }
    if (status != LETHE_OK) {
        lethe_fold_table_drop(halves[0].table);
        return status;
    }
    do_halves(halves, write_half);
    return lethe_fold_table_end(halves[0].table, halves[1].table, detail);
}

/* Without the lock: the keys of records never change, and records stay while a fold is running.
 * Whatever changes a bucket changes its counter too, so where there are no counters to write there
 * is nothing. Buckets go first, and even without any there is a table that says how far: COUNTERS
 * is never folded further than BUCKETS. */
lethe_status lethe_counters_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                       lethe_detail *detail) {
    if (load->foldings.size == 0) return LETHE_OK;
    lethe_folding *all = (void *)load->foldings.data;
    size_t count = load->foldings.size / sizeof *all;
    bool splits = count >= lethe_tune.fold_split_keys && !values->counters.is_alone;
    size_t lower = splits ? lethe_fold_split(all, count) : count;
    struct half halves[2] = {{.foldings = all, .count = lower},
                             {.foldings = all + lower, .count = count - lower}};
    do_halves(halves, order_half);
    lethe_status status = LETHE_OK;
    if (values->meters.count > 0) status = lethe_buckets_write_fold(values, load, cut, detail);
    return status == LETHE_OK ? write_counters(values, halves, cut, detail) : status;
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
        lethe_buckets_before_eviction(values);
        status = lethe_tally_keep(
            counters->tally,
            &(lethe_tally_filter){.stays = stays, .tag = find_tag, .context = values});
        if (status == LETHE_OK) counters->is_complete = false;
        lethe_buckets_after_eviction(values);
    }
    return status == LETHE_ENOMEM ? LETHE_OK : status; /* there will be another time */
}
