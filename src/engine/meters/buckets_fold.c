/* engine/meters/buckets_fold.c - buckets from memory to BUCKETS.
 *
 * IDEA    The keys of buckets begin with resolution and label, and go on with the counter's key. A
 *         fold has sorted its counters by then. So the buckets beside them are in order as soon as
 *         they are taken in the order of their counters, resolution by resolution, and sorted by
 *         their labels, which mostly are all the same. Loose ones are few, are sorted by
 *         themselves, and come in between.
 * WHY     Sorting the buckets by their keys would read every key twice more. */
#include <stdlib.h>

#include "engine/meters/buckets.h"
#include "engine/values/fold_order.h"
#include "engine/values/values.h"

/* Labels that are no further apart are sorted by counting them. */
enum { SPAN = 1 << 12 };

/* A bucket beside a counter, and which counter of the fold that is. */
struct entry {
    uint64_t label;
    uint32_t counter, beside;
};

/* What is being written. */
struct writing {
    const lethe_folding *counters, *loose;
    const lethe_folding_beside *beside;
    size_t counter_count, loose_count, next_loose;
    lethe_fold_table *table;
    unsigned char key[LETHE_BUCKET_KEY_LIMIT_BYTES];
};

/* The buckets of one resolution, in the order of their counters; *is_sorted: of labels, too. */
static size_t gather(const struct writing *writing, uint32_t which, struct entry *out,
                     bool *is_sorted) {
    size_t count = 0;
    *is_sorted = true;
    for (size_t i = 0; i < writing->counter_count; i++) {
        const lethe_folding *counter = &writing->counters[i];
        if (i + 8 < writing->counter_count)
            __builtin_prefetch(&writing->beside[writing->counters[i + 8].beside_at]);
        for (uint32_t j = 0; j < counter->beside_count; j++) {
            uint32_t at = counter->beside_at + j;
            if (writing->beside[at].which != which) continue;
            uint64_t label = writing->beside[at].label;
            if (count > 0 && label < out[count - 1].label) *is_sorted = false;
            out[count++] = (struct entry){.label = label, .counter = (uint32_t)i, .beside = at};
        }
    }
    return count;
}

static int by_label(const void *left, const void *right) {
    const struct entry *a = left, *b = right;
    if (a->label != b->label) return a->label < b->label ? -1 : 1;
    return (a->counter > b->counter) - (a->counter < b->counter);
}

/* Sorts by label, and keeps the order of counters within one. There is room for as many after
 * them. */
static void sort(struct entry *entries, size_t count) {
    uint64_t least = UINT64_MAX, most = 0;
    uint32_t places[SPAN] = {0}, sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (entries[i].label < least) least = entries[i].label;
        if (entries[i].label > most) most = entries[i].label;
    }
    if (most - least >= SPAN) {
        qsort(entries, count, sizeof *entries, by_label);
        return;
    }
    for (size_t i = 0; i < count; i++)
        places[entries[i].label - least]++;
    for (size_t i = 0; i <= most - least; i++) {
        uint32_t number = places[i];
        places[i] = sum;
        sum += number;
    }
    struct entry *sorted = entries + count;
    for (size_t i = 0; i < count; i++)
        sorted[places[entries[i].label - least]++] = entries[i];
    memcpy(entries, sorted, count * sizeof *sorted);
}

/* Writes the loose buckets whose keys are below this one; all with an empty key. */
static void write_loose(struct writing *writing, lethe_bytes before) {
    for (; writing->next_loose < writing->loose_count; writing->next_loose++) {
        const lethe_folding *loose = &writing->loose[writing->next_loose];
        if (writing->next_loose + 8 < writing->loose_count) __builtin_prefetch(loose[8].record);
        lethe_bytes key = {.data = loose->record->key, .size = loose->record->key_size};
        if (before.size > 0 && lethe_compare_keys(key, before) > 0) return;
        lethe_fold_put(writing->table, key, loose->value, loose->absent);
    }
}

static void write_entries(struct writing *writing, uint32_t which, const struct entry *entries,
                          size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (i + 16 < count) {
            __builtin_prefetch(&writing->counters[entries[i + 16].counter]);
            __builtin_prefetch(&writing->beside[entries[i + 16].beside]);
        }
        if (i + 8 < count) __builtin_prefetch(writing->counters[entries[i + 8].counter].record);
        const lethe_tally_record *counter = writing->counters[entries[i].counter].record;
        const lethe_folding_beside *bucket = &writing->beside[entries[i].beside];
        if (i == 0 || entries[i].label != entries[i - 1].label)
            lethe_bucket_prefix(which, entries[i].label, writing->key);
        memcpy(writing->key + LETHE_BUCKET_PREFIX_BYTES, counter->key, counter->key_size);
        lethe_bytes key = {.data = writing->key,
                           .size = LETHE_BUCKET_PREFIX_BYTES + (size_t)counter->key_size};
        write_loose(writing, key);
        lethe_fold_put(writing->table, key, bucket->value, bucket->absent);
    }
}

size_t lethe_buckets_fold_room(size_t counters) {
    return 2 * counters * sizeof(struct entry);
}

lethe_status lethe_buckets_write_fold(lethe_values *values, lethe_fold_load *load, uint64_t cut,
                                      lethe_detail *detail) {
    struct writing writing = {.counters = (const void *)load->foldings.data,
                              .beside = (const void *)load->beside.data,
                              .loose = (const void *)load->loose.data,
                              .counter_count = load->foldings.size / sizeof(lethe_folding),
                              .loose_count = load->loose.size / sizeof(lethe_folding)};
    struct entry *entries = (void *)load->room.data;
    lethe_fold_order((void *)load->loose.data, writing.loose_count);
    lethe_status status =
        lethe_fold_table_begin(values->disk, LETHE_FAMILY_BUCKETS, cut, &writing.table, detail);
    if (status != LETHE_OK) return status;
    for (uint32_t i = 0; i < values->meters.count; i++) {
        bool is_sorted;
        size_t count = gather(&writing, i, entries, &is_sorted);
        if (!is_sorted) sort(entries, count);
        write_entries(&writing, i, entries, count);
    }
    write_loose(&writing, (lethe_bytes){0});
    return lethe_fold_table_end(writing.table, NULL, detail);
}
