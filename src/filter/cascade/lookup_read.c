/* filter/cascade/lookup_read.c - the pages of runs that a batch of lookups needs.
 *
 * IDEA    Keys are sorted, so the keys of one page are neighbours. Each page is read once, pages
 *         that are close to each other come with one read, and many reads are in flight together. A
 *         page with few keys is searched for each of them; one with many keys is decoded and joined
 *         with them.
 * I1      Level filters are asked first, and only for keys that are not settled. */
#include <string.h>

#include "filter/cascade/lookup.h"

enum {
    PAGE = LETHE_CASCADE_PAGE_BYTES,
    /* Pages that are read rather than skipped. */
    GAP_PAGES = 2,
    /* Keys that a level filter is asked for at a time. */
    GROUP = 128,
    /* Keys in a page, from which on it is decoded as a whole. */
    DECODE_KEYS = 64
};

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
    struct lethe_cascade_page_place from = {0};
    for (uint32_t i = first; i < end; i++) {
        uint64_t number;
        struct lethe_cascade_value value;
        uint64_t least = lookup->keys[i].fingerprint << run->facts.age_bits;
        if (lethe_cascade_page_find(&page, &from, least, &number, &value)) {
            add_found(lookup, run, i, number, value);
        }
    }
    return LETHE_OK;
}

/* The least number that a key could have: where its search begins. */
static uint64_t number_of(const struct lethe_cascade_run *run,
                          const struct lethe_cascade_key *key) {
    return key->fingerprint << run->facts.age_bits;
}

/* The page of a key: the last that begins at or before the largest number it could have. */
static uint64_t page_of(const struct lethe_cascade_run *run, const struct lethe_cascade_key *key,
                        uint64_t hint) {
    uint64_t most = number_of(run, key) | ((UINT64_C(1) << run->facts.age_bits) - 1);
    return lethe_cascade_run_page(run, most, hint);
}

static lethe_status search_pages(void *context, size_t index, const unsigned char *data) {
    struct lethe_cascade_lookup *lookup = context;
    const struct lethe_cascade_request *request = &lookup->requests[index];
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
        const struct lethe_cascade_request *request = &lookup->requests[i];
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
    struct lethe_cascade_request *last =
        lookup->request_count == 0 ? NULL : &lookup->requests[lookup->request_count - 1];
    if (last != NULL && last->run == run && page - last->page < LETHE_CASCADE_READ_PAGES &&
        page <= last->page + last->pages + GAP_PAGES) {
        last->pages = (uint32_t)(page - last->page + 1);
        last->end_key = place + 1;
        return LETHE_OK;
    }
    if (lookup->request_count == LETHE_CASCADE_READ_REQUESTS) {
        lethe_status status = read_requests(lookup);
        if (status != LETHE_OK) return status;
    }
    lookup->requests[lookup->request_count++] = (struct lethe_cascade_request){
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

lethe_status lethe_cascade_ask_runs(struct lethe_cascade_lookup *lookup, unsigned first_run,
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
