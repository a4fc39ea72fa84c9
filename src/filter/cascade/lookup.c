/* lookup.c - many lookups at once.
 *
 * IDEA    Memory is asked first. The keys that it does not settle are sorted; so those of one page of a run are
 *         neighbours, each page is read once however many keys it may hold, and pages that are close to
 *         each other come with one read. All reads of a batch, of all runs, are in flight together.
 * I1      Runs are kept by reference while they are read: a merge may replace them meanwhile.
 * I2      What a key's runs say of it is composed from the newest to the oldest. Where there are no tombstones the
 *         order does not matter and all runs are read at once; else one run of each range after the other.
 * WHY     With many keys the reads become sequential by themselves: that is a merge join with the disk. */
#include <string.h>

#include "core/allocator.h"
#include "filter/cascade/state.h"
#include "os/reads.h"

enum {
    PAGE = LETHE_CASCADE_PAGE_BYTES,
    READ_PAGES = 16,  /* at most, with one read */
    GAP_PAGES = 2,    /* that are read rather than skipped */
    REQUESTS = 4096,  /* prepared at a time */
    GROUP = 128,      /* keys that a level filter is asked for at a time */
    DECODE_KEYS = 64, /* in a page, from which on it is decoded as a whole */
    SMALL_SORT = 64,
    RADIX_BITS = 11
};

struct key {
    uint64_t fingerprint;
    uint32_t index; /* of the caller's */
    uint32_t place; /* in told */
};

/* One read, and the sorted keys that its pages may hold. */
struct request {
    struct lethe_cascade_run *run;
    uint64_t page;
    uint32_t pages;
    uint32_t first_key, end_key;
};

struct lethe_cascade_lookup {
    struct lethe_cascade_lookup *next;
    lethe_os_reads *reads;
    lethe_cascade *cascade;
    size_t room; /* keys */
    struct key *keys, *scratch;
    struct lethe_cascade_value *told;  /* what memory says of a key */
    struct lethe_cascade_value *found; /* what memory and the runs so far say of keys[i] */
    uint64_t *counts;                  /* by index */
    struct lethe_cascade_run *runs[LETHE_CASCADE_MAX_RANGES][LETHE_CASCADE_MAX_RUNS];
    struct lethe_cascade_sieve *filters[LETHE_CASCADE_MAX_RANGES][LETHE_CASCADE_MAX_RUNS];
    unsigned run_counts[LETHE_CASCADE_MAX_RANGES];
    unsigned most_runs;
    bool has_tombstones;
    bool needs_counts;
    uint64_t oldest_period;
    size_t key_count;
    struct request requests[REQUESTS];
    lethe_os_read list[REQUESTS];
    size_t request_count;
    uint64_t pages_read, filtered;
    struct lethe_cascade_run *damaged; /* a page of it made no sense */
    uint64_t numbers[LETHE_CASCADE_PAGE_ENTRIES];
    uint16_t which[LETHE_CASCADE_PAGE_ENTRIES];
    struct lethe_cascade_value values[LETHE_CASCADE_PAGE_ENTRIES];
};

static void free_lookup(lethe_cascade *cascade, struct lethe_cascade_lookup *lookup) {
    const lethe_allocator *allocator = cascade->allocator;
    lethe_os_reads_free(lookup->reads);
    lethe_release(allocator, lookup->keys, lookup->room * sizeof *lookup->keys);
    lethe_release(allocator, lookup->scratch, lookup->room * sizeof *lookup->scratch);
    lethe_release(allocator, lookup->told, lookup->room * sizeof *lookup->told);
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
    lookup->told = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->told);
    lookup->found = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->found);
    lookup->counts = lethe_alloc_zeroed(allocator, lookup->room * sizeof *lookup->counts);
    lethe_status status = LETHE_ENOMEM;
    if (lookup->keys != NULL && lookup->scratch != NULL && lookup->told != NULL &&
        lookup->found != NULL && lookup->counts != NULL) {
        status = lethe_os_reads_new(kinds[cascade->setting.reading], cascade->setting.read_depth,
                                    READ_PAGES * PAGE, &lookup->reads);
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

/* Notes which runs there are, and keeps them. State is held. */
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

/* What the tables of its range say of a key, newest first. State is held. */
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

/* Asks memory for all keys; those that it does not settle are left in keys, what it says of them in told.
 * State is held. */
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
        lookup->told[place] = value;
        lookup->keys[place] =
            (struct key){.fingerprint = fingerprint, .index = (uint32_t)i, .place = place};
    }
}

/* Moves what is not in order to its place; fast where nearly all is. */
static void sort_nearly_sorted(struct key *keys, size_t count) {
    for (size_t i = 1; i < count; i++) {
        struct key key = keys[i];
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
    struct key *sorted = lookup->scratch;
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
        lookup->found[i] = lookup->told[lookup->keys[i].place];
}

/* Adds what a run says of the key at a place. */
static void add_found(struct lethe_cascade_lookup *lookup, const struct lethe_cascade_run *run,
                      uint32_t place, uint64_t number, struct lethe_cascade_value value) {
    if (number >> run->facts.age_bits != lookup->keys[place].fingerprint) return;
    if (lethe_cascade_has_ages(&lookup->cascade->words)) {
        uint64_t age = number & ((UINT64_C(1) << run->facts.age_bits) - 1);
        if (run->facts.first_period + age < lookup->oldest_period) return;
    }
    lookup->found[place] = lethe_cascade_compose(lookup->found[place], value);
}

/* Joins many keys with all of a page. */
static lethe_status join_page(struct lethe_cascade_lookup *lookup,
                              const struct lethe_cascade_run *run,
                              const struct lethe_cascade_page *page, uint32_t first, uint32_t end) {
    lethe_status status =
        lethe_cascade_page_read(page, lookup->numbers, lookup->which, lookup->values);
    if (status != LETHE_OK) return status;
    unsigned at = 0, extra = 0;
    for (uint32_t i = first; i < end; i++) {
        uint64_t least = lookup->keys[i].fingerprint << run->facts.age_bits;
        while (at < page->count && lookup->numbers[at] < least)
            at++;
        if (at == page->count) break;
        while (extra < page->extra_count && lookup->which[extra] < at)
            extra++;
        struct lethe_cascade_value value = {.added = 1};
        if (extra < page->extra_count && lookup->which[extra] == at) value = lookup->values[extra];
        add_found(lookup, run, i, lookup->numbers[at], value);
    }
    return LETHE_OK;
}

static lethe_status search_page(struct lethe_cascade_lookup *lookup, struct lethe_cascade_run *run,
                                uint64_t page_number, const unsigned char *data, uint32_t first,
                                uint32_t end) {
    struct lethe_cascade_page page;
    uint64_t identity = lookup->cascade->shape.identity;
    lethe_status status = lethe_cascade_page_open(
        data, lethe_cascade_page_seed(identity, run->facts.id, page_number), &page);
    if (status != LETHE_OK) return status;
    if (page.base != run->fences[page_number]) return LETHE_ECORRUPT;
    if (end - first >= DECODE_KEYS) return join_page(lookup, run, &page, first, end);
    for (uint32_t i = first; i < end; i++) {
        uint64_t number;
        struct lethe_cascade_value value;
        uint64_t least = lookup->keys[i].fingerprint << run->facts.age_bits;
        if (lethe_cascade_page_find(&page, least, &number, &value)) {
            add_found(lookup, run, i, number, value);
        }
    }
    return LETHE_OK;
}

/* The least number that a key could have: where its search begins. */
static uint64_t number_of(const struct lethe_cascade_run *run, const struct key *key) {
    return key->fingerprint << run->facts.age_bits;
}

/* The page of a key: the last that begins at or before the largest number it could have. */
static uint64_t page_of(const struct lethe_cascade_run *run, const struct key *key, uint64_t hint) {
    uint64_t most = number_of(run, key) | ((UINT64_C(1) << run->facts.age_bits) - 1);
    return lethe_cascade_run_page(run, most, hint);
}

static lethe_status search_pages(void *context, size_t index, const unsigned char *data) {
    struct lethe_cascade_lookup *lookup = context;
    const struct request *request = &lookup->requests[index];
    uint32_t first = request->first_key;
    for (uint32_t i = 0; i < request->pages && first < request->end_key; i++) {
        uint64_t page = request->page + i;
        /* The keys of this page: those before the next page's first number. */
        uint32_t end = first;
        while (end < request->end_key && (page + 1 == request->run->facts.pages ||
                                          page_of(request->run, &lookup->keys[end], page) == page))
            end++;
        if (end > first) {
            lethe_status status =
                search_page(lookup, request->run, page, data + (size_t)i * PAGE, first, end);
            if (status != LETHE_OK) lookup->damaged = request->run;
            if (status != LETHE_OK) return status;
        }
        first = end;
    }
    return LETHE_OK;
}

static lethe_status read_requests(struct lethe_cascade_lookup *lookup) {
    for (size_t i = 0; i < lookup->request_count; i++) {
        const struct request *request = &lookup->requests[i];
        lookup->list[i] = (lethe_os_read){.descriptor = request->run->file.descriptor,
                                          .size = request->pages * PAGE,
                                          .offset = request->page * PAGE};
        lookup->pages_read += request->pages;
    }
    size_t count = lookup->request_count;
    lookup->request_count = 0;
    return lethe_os_reads_run(lookup->reads, lookup->list, count, search_pages, lookup);
}

/* Which of keys[first..first + count) a run may have; count is at most GROUP. */
static void ask_filter(struct lethe_cascade_lookup *lookup,
                       const struct lethe_cascade_sieve *filter, size_t first, size_t count,
                       uint8_t *maybe) {
    if (filter == NULL) {
        memset(maybe, 1, count);
    } else {
        uint64_t fingerprints[GROUP] = {0};
        for (size_t i = 0; i < count; i++)
            fingerprints[i] = lookup->keys[first + i].fingerprint;
        lethe_cascade_sieve_test(filter, fingerprints, count, maybe);
        for (size_t i = 0; i < count; i++)
            lookup->filtered += maybe[i] == 0;
    }
    if (lookup->needs_counts) return;
    for (size_t i = 0; i < count; i++)
        maybe[i] = maybe[i] && lookup->found[first + i].added == 0;
}

/* Adds the read of a page for the key at a place to the last request, or makes a new one. */
static lethe_status request_page(struct lethe_cascade_lookup *lookup, struct lethe_cascade_run *run,
                                 uint64_t page, uint32_t place) {
    struct request *last =
        lookup->request_count == 0 ? NULL : &lookup->requests[lookup->request_count - 1];
    if (last != NULL && last->run == run && page - last->page < READ_PAGES &&
        page <= last->page + last->pages + GAP_PAGES) {
        last->pages = (uint32_t)(page - last->page + 1);
        last->end_key = place + 1;
        return LETHE_OK;
    }
    if (lookup->request_count == REQUESTS) {
        lethe_status status = read_requests(lookup);
        if (status != LETHE_OK) return status;
    }
    lookup->requests[lookup->request_count++] = (struct request){
        .run = run, .page = page, .pages = 1, .first_key = place, .end_key = place + 1};
    return LETHE_OK;
}

/* Prepares the reads of one run for keys[first..end), which belong to its range. */
static lethe_status request_pages(struct lethe_cascade_lookup *lookup,
                                  struct lethe_cascade_run *run,
                                  const struct lethe_cascade_sieve *filter, size_t first,
                                  size_t end) {
    uint64_t hint = 0;
    for (; first < end; first += GROUP) {
        uint8_t maybe[GROUP];
        size_t count = end - first < GROUP ? end - first : GROUP;
        ask_filter(lookup, filter, first, count, maybe);
        for (size_t i = first; i < first + count; i++) {
            if (!maybe[i - first]) continue;
            hint = page_of(run, &lookup->keys[i], hint);
            lethe_status status = request_page(lookup, run, hint, (uint32_t)i);
            if (status != LETHE_OK) return status;
        }
    }
    return LETHE_OK;
}

/* Asks the runs at places [first_run, end_run) of each range's list. */
static lethe_status ask_runs(struct lethe_cascade_lookup *lookup, unsigned first_run,
                             unsigned end_run) {
    lethe_cascade *cascade = lookup->cascade;
    lethe_status status = LETHE_OK;
    for (size_t first = 0; first < lookup->key_count;) {
        unsigned range = lethe_cascade_range_of(cascade, lookup->keys[first].fingerprint);
        size_t end = first + 1;
        while (end < lookup->key_count &&
               lethe_cascade_range_of(cascade, lookup->keys[end].fingerprint) == range)
            end++;
        for (unsigned i = first_run; i < end_run && i < lookup->run_counts[range]; i++) {
            status = request_pages(lookup, lookup->runs[range][i], lookup->filters[range][i], first,
                                   end);
            if (status != LETHE_OK) return status;
        }
        first = end;
    }
    return read_requests(lookup);
}

/* Of equal keys that are not there, all but the first count as there. */
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
        status = ask_runs(lookup, 0, lookup->most_runs);
    } else if (asks_disk) {
        for (unsigned i = 0; i < lookup->most_runs && status == LETHE_OK; i++)
            status = ask_runs(lookup, i, i + 1);
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
