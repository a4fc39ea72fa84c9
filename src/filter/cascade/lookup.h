/* filter/cascade/lookup.h - what the two files of lookups share: lookup.c asks memory and sorts,
 * lookup_read.c reads pages. lookup.c has the essay. */
#ifndef LETHE_FILTER_CASCADE_LOOKUP_H
#define LETHE_FILTER_CASCADE_LOOKUP_H

#include "filter/cascade/state.h"
#include "os/reads.h"

enum {
    /* Pages that one read covers at most. */
    LETHE_CASCADE_READ_PAGES = 16,
    /* Reads that are prepared at a time. */
    LETHE_CASCADE_READ_REQUESTS = 4096
};

/* A key that memory did not settle. */
struct lethe_cascade_key {
    uint64_t fingerprint;
    /* Of the caller's hash. */
    uint32_t index;
    /* Its number in in_memory. */
    uint32_t place;
};

/* One read, and the sorted keys that its pages may hold. */
struct lethe_cascade_request {
    struct lethe_cascade_run *run;
    uint64_t page;
    uint32_t pages;
    uint32_t first_key, end_key;
};

/* The memory of one batch of lookups; they are kept and used again. */
struct lethe_cascade_lookup {
    struct lethe_cascade_lookup *next;
    lethe_os_reads *reads;
    lethe_cascade *cascade;

    /* Room for this many keys. */
    size_t room;
    struct lethe_cascade_key *keys, *scratch;
    size_t key_count;
    /* What memory says of a key. */
    struct lethe_cascade_value *in_memory;
    /* What memory and the runs so far say of keys[i]. */
    struct lethe_cascade_value *found;
    /* By index. */
    uint64_t *counts;

    struct lethe_cascade_run *runs[LETHE_CASCADE_MAX_RANGES][LETHE_CASCADE_MAX_RUNS];
    struct lethe_cascade_sieve *filters[LETHE_CASCADE_MAX_RANGES][LETHE_CASCADE_MAX_RUNS];
    unsigned run_counts[LETHE_CASCADE_MAX_RANGES];
    unsigned most_runs;
    bool has_tombstones;
    bool needs_counts;
    uint64_t oldest_period;

    struct lethe_cascade_request requests[LETHE_CASCADE_READ_REQUESTS];
    lethe_os_read list[LETHE_CASCADE_READ_REQUESTS];
    size_t request_count;
    uint64_t pages_read, filtered;
    /* A run with a page that could not be understood, or NULL. */
    struct lethe_cascade_run *damaged;

    /* A page, decoded. */
    uint64_t numbers[LETHE_CASCADE_PAGE_ENTRIES];
    uint16_t which[LETHE_CASCADE_PAGE_ENTRIES];
    struct lethe_cascade_value values[LETHE_CASCADE_PAGE_ENTRIES];
};

/* Asks the runs at places [first_run, end_run) of each range's list for the sorted keys, and adds
 * what they say to found. Errors: LETHE_ECORRUPT, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_ask_runs(struct lethe_cascade_lookup *lookup,
                                                     unsigned first_run, unsigned end_run);

#endif
