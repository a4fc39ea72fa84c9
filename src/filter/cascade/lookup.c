/* filter/cascade/lookup.c - many lookups at once.
 *
 * IDEA    Memory is asked first. The keys that it does not settle are sorted, so that the keys of
 *         one page of a run are neighbours; lookup_read.c then reads each page once. All reads of a
 *         batch, of all runs, are in flight together.
 * I1      Runs are kept by reference while they are read, because a merge may replace them
 *         meanwhile.
 * I2      What the runs say about a key is composed from the newest run to the oldest. Without
 *         tombstones the order does not matter, and all runs are read at once; otherwise the runs
 *         of each range are read one after the other.
 * WHY     With many keys the reads become sequential: it is then a merge join with the disk. */
#include "filter/cascade/lookup.h"

#include <string.h>

#include "core/allocator.h"

enum { SMALL_SORT = 64, RADIX_BITS = 11 };

static void free_lookup(lethe_cascade *cascade, struct lethe_cascade_lookup *lookup) {
    const lethe_allocator *allocator = cascade->allocator;
    lethe_os_reads_free(lookup->reads);
    lethe_release(allocator, lookup->keys, lookup->room * sizeof *lookup->keys);
    lethe_release(allocator, lookup->scratch, lookup->room * sizeof *lookup->scratch);
    lethe_release(allocator, lookup->in_memory, lookup->room * sizeof *lookup->in_memory);
    lethe_release(allocator, lookup->found, lookup->room * sizeof *lookup->found);
    lethe_release(allocator, lookup->counts, lookup->room * sizeof *lookup->counts);
    lethe_release(allocator, lookup, sizeof *lookup);
}

static lethe_status make_lookup(lethe_cascade *cascade, struct lethe_cascade_lookup **out) {
    static const lethe_os_reads_kind kinds[] = {LETHE_OS_READS_BEST, LETHE_OS_READS_URING,
                                                LETHE_OS_READS_THREADS};
    const lethe_allocator *allocator = cascade->allocator;
    *out = NULL;
    struct lethe_cascade_lookup *lookup = lethe_alloc_zeroed(allocator, sizeof *lookup);
    if (lookup == NULL) return LETHE_ENOMEM;
    lookup->cascade = cascade;
    lookup->room = cascade->setting.lookup_keys;
    lookup->keys = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->keys);
    lookup->scratch = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->scratch);
    lookup->in_memory = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->in_memory);
    lookup->found = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->found);
    lookup->counts = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->counts);
    lethe_status status = LETHE_ENOMEM;
    if (lookup->keys != NULL && lookup->scratch != NULL && lookup->in_memory != NULL &&
        lookup->found != NULL && lookup->counts != NULL) {
        status =
            lethe_os_reads_new(kinds[cascade->setting.reading], cascade->setting.read_depth,
                               LETHE_CASCADE_READ_PAGES * LETHE_CASCADE_PAGE_BYTES, &lookup->reads);
    }
    if (status != LETHE_OK) {
        free_lookup(cascade, lookup);
        return status;
    }
    *out = lookup;
    return LETHE_OK;
}

static lethe_status take_lookup(lethe_cascade *cascade, struct lethe_cascade_lookup **out) {
    lethe_os_lock_take(&cascade->state);
    *out = cascade->lookups;
    if (*out != NULL) cascade->lookups = (*out)->next;
    lethe_os_lock_give(&cascade->state);
    return *out != NULL ? LETHE_OK : make_lookup(cascade, out);
}

static void give_lookup(lethe_cascade *cascade, struct lethe_cascade_lookup *lookup) {
    lethe_os_lock_take(&cascade->state);
    lookup->next = cascade->lookups;
    cascade->lookups = lookup;
    cascade->pages_read += lookup->pages_read;
    cascade->filtered += lookup->filtered;
    lookup->pages_read = lookup->filtered = 0;
    if (!lethe_os_reads_use_uring(lookup->reads)) cascade->uses_uring = false;
    lethe_os_lock_give(&cascade->state);
}

lethe_status lethe_cascade_prepare_lookup(lethe_cascade *cascade) {
    struct lethe_cascade_lookup *lookup;
    lethe_status status = make_lookup(cascade, &lookup);
    if (status != LETHE_OK) return status;
    cascade->uses_uring = lethe_os_reads_use_uring(lookup->reads);
    give_lookup(cascade, lookup);
    return LETHE_OK;
}

void lethe_cascade_free_lookups(lethe_cascade *cascade) {
    while (cascade->lookups != NULL) {
        struct lethe_cascade_lookup *lookup = cascade->lookups;
        cascade->lookups = lookup->next;
        free_lookup(cascade, lookup);
    }
}

/* Records which runs there are, and keeps them. State is held. */
static void keep_runs(struct lethe_cascade_lookup *lookup) {
    lethe_cascade *cascade = lookup->cascade;
    lookup->most_runs = 0;
    lookup->has_tombstones = false;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        struct lethe_cascade_range *range = &cascade->ranges[i];
        lookup->run_counts[i] = range->run_count;
        if (range->run_count > lookup->most_runs) lookup->most_runs = range->run_count;
        for (unsigned j = 0; j < range->run_count; j++) {
            lookup->runs[i][j] = range->runs[j];
            lookup->filters[i][j] = range->runs[j]->filter;
            range->runs[j]->references++;
            lookup->has_tombstones |= range->runs[j]->facts.tombstones > 0;
        }
        lookup->has_tombstones |= range->active->tombstones > 0;
        for (unsigned j = 0; j < range->frozen_count; j++)
            lookup->has_tombstones |= range->frozen[j]->tombstones > 0;
    }
}

static void release_runs(struct lethe_cascade_lookup *lookup) {
    lethe_cascade *cascade = lookup->cascade;
    lethe_os_lock_take(&cascade->state);
    if (lookup->damaged != NULL) lookup->damaged->is_damaged = true;
    lookup->damaged = NULL;
    for (unsigned i = 0; i < cascade->range_count; i++) {
        for (unsigned j = 0; j < lookup->run_counts[i]; j++)
            lethe_cascade_release_run(cascade, lookup->runs[i][j]);
    }
    lethe_os_lock_give(&cascade->state);
    lethe_cascade_free_unused(cascade);
}

/* What the tables of a key's range say about it, newest first. State is held. */
static struct lethe_cascade_value ask_tables(const struct lethe_cascade_lookup *lookup,
                                             const struct lethe_cascade_range *range,
                                             uint64_t fingerprint) {
    const struct lethe_cascade_words *words = &lookup->cascade->words;
    struct lethe_cascade_value all = {0};
    for (unsigned i = 0; i <= range->frozen_count; i++) {
        const struct lethe_cascade_table *table = i == 0 ? range->active : range->frozen[i - 1];
        struct lethe_cascade_value value;
        uint64_t tag;
        if (!lethe_cascade_table_find(table, fingerprint << words->tag_bits, &tag, &value))
            continue;
        if (lethe_cascade_has_ages(words) && table->first_period + tag < lookup->oldest_period) {
            continue;
        }
        all = lethe_cascade_compose(all, value);
    }
    return all;
}

/* Asks memory for all keys; those that it does not settle are left in keys, and what it says about
 * them in `in_memory`. State is held. */
static void ask_memory(struct lethe_cascade_lookup *lookup, const lethe_hash *hashes,
                       size_t count) {
    lethe_cascade *cascade = lookup->cascade;
    enum { AHEAD = 12 };
    lookup->key_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            uint64_t ahead = lethe_cascade_fingerprint(cascade, hashes[i + AHEAD]);
            lethe_cascade_table_prefetch(
                cascade->ranges[lethe_cascade_range_of(cascade, ahead)].active,
                ahead << cascade->words.tag_bits);
        }
        uint64_t fingerprint = lethe_cascade_fingerprint(cascade, hashes[i]);
        const struct lethe_cascade_range *range =
            &cascade->ranges[lethe_cascade_range_of(cascade, fingerprint)];
        struct lethe_cascade_value value = ask_tables(lookup, range, fingerprint);
        lookup->counts[i] = value.added;
        if (value.added > 0 && !lookup->needs_counts) continue;
        uint32_t place = (uint32_t)lookup->key_count++;
        lookup->in_memory[place] = value;
        lookup->keys[place] = (struct lethe_cascade_key){
            .fingerprint = fingerprint, .index = (uint32_t)i, .place = place};
    }
}

/* Moves what is not in order to its place; fast where nearly all is. */
static void sort_nearly_sorted(struct lethe_cascade_key *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct lethe_cascade_key key = keys[i];
        size_t at = i;
        for (; at > 0 && keys[at - 1].fingerprint > key.fingerprint; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* One stable pass over RADIX_BITS from shift on, to the scratch and back by exchanging the two. */
static void sort_pass(struct lethe_cascade_lookup *lookup, unsigned shift) {
    enum { DIGITS = 1 << RADIX_BITS };
    uint32_t starts[DIGITS + 1] = {0};
    size_t count = lookup->key_count;
    for (size_t i = 0; i < count; i++)
        starts[(lookup->keys[i].fingerprint >> shift & (DIGITS - 1)) + 1]++;
    for (unsigned i = 0; i < DIGITS; i++)
        starts[i + 1] += starts[i];
    for (size_t i = 0; i < count; i++)
        lookup->scratch[starts[lookup->keys[i].fingerprint >> shift & (DIGITS - 1)]++] =
            lookup->keys[i];
    struct lethe_cascade_key *sorted = lookup->scratch;
    lookup->scratch = lookup->keys;
    lookup->keys = sorted;
}

/* Sorts the keys, equal ones in their order. */
static void sort_keys(struct lethe_cascade_lookup *lookup, unsigned bits) {
    size_t count = lookup->key_count;
    if (count > SMALL_SORT) {
        unsigned passes = (bits + RADIX_BITS - 1) / RADIX_BITS;
        for (unsigned pass = 0; pass < passes; pass++)
            sort_pass(lookup, pass * RADIX_BITS);
    }
    if (count <= SMALL_SORT) sort_nearly_sorted(lookup->keys, count);
    for (size_t i = 0; i < count; i++)
        lookup->found[i] = lookup->in_memory[lookup->keys[i].place];
}

/* Among equal keys that are not there, all except the first count as present. */
static void settle_repeats(struct lethe_cascade_lookup *lookup) {
    for (size_t i = 1; i < lookup->key_count; i++) {
        if (lookup->keys[i].fingerprint == lookup->keys[i - 1].fingerprint &&
            lookup->found[i].added == 0) {
            lookup->found[i].added = 1;
        }
    }
}

/* Looks up as many keys as there is room for; the answers are in counts. */
static lethe_status look_up_some(struct lethe_cascade_lookup *lookup, const lethe_hash *hashes,
                                 size_t count, uint64_t now_ms, bool settles_repeats) {
    lethe_cascade *cascade = lookup->cascade;
    lethe_os_lock_take(&cascade->state);
    lethe_cascade_tell_time(cascade, now_ms);
    lookup->oldest_period = lethe_cascade_oldest_period(&cascade->shape, cascade->clock_ms);
    keep_runs(lookup);
    ask_memory(lookup, hashes, count);
    lethe_os_lock_give(&cascade->state);

    lethe_status status = LETHE_OK;
    bool asks_disk = lookup->most_runs > 0 && lookup->key_count > 0;
    sort_keys(lookup, cascade->shape.fingerprint_bits);
    if (asks_disk && !lookup->has_tombstones) {
        status = lethe_cascade_ask_runs(lookup, 0, lookup->most_runs);
    } else if (asks_disk) {
        for (unsigned i = 0; i < lookup->most_runs && status == LETHE_OK; i++)
            status = lethe_cascade_ask_runs(lookup, i, i + 1);
    }
    lookup->request_count = 0;
    release_runs(lookup);
    if (status != LETHE_OK) return status;
    if (settles_repeats) settle_repeats(lookup);
    for (size_t i = 0; i < lookup->key_count; i++)
        lookup->counts[lookup->keys[i].index] = lookup->found[i].added;
    return LETHE_OK;
}

lethe_status lethe_cascade_look_up(lethe_cascade *cascade, const lethe_hash *hashes, size_t count,
                                   uint64_t now_ms, bool settles_repeats, uint8_t *present,
                                   uint64_t *counts) {
    struct lethe_cascade_lookup *lookup;
    lethe_status status = take_lookup(cascade, &lookup);
    if (status != LETHE_OK) return status;
    lookup->needs_counts = counts != NULL;
    for (size_t first = 0; first < count && status == LETHE_OK; first += lookup->room) {
        size_t some = count - first < lookup->room ? count - first : lookup->room;
        status = look_up_some(lookup, hashes + first, some, now_ms, settles_repeats);
        if (status != LETHE_OK) break;
        for (size_t i = 0; i < some && present != NULL; i++)
            present[first + i] = lookup->counts[i] > 0;
        if (counts != NULL) memcpy(counts + first, lookup->counts, some * sizeof *counts);
    }
    give_lookup(cascade, lookup);
    return status;
}
