/* filter/cascade/run.h - a run: pages of ascending numbers in one file, and the first number of
 * each page in memory.
 *
 * The numbers of a run all lie in one range of fingerprints. A run is written once, and then only
 * read. */
#ifndef LETHE_CASCADE_RUN_H
#define LETHE_CASCADE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filter/cascade/page.h"
#include "filter/cascade/sieve.h"
#include "lethe/allocator.h"
#include "lethe/status.h"
#include "os/block_file.h"
#include "os/path.h"

/* The path of a cascade's folder, which leaves room for the names of its files. */
enum { LETHE_CASCADE_FOLDER_BYTES = LETHE_OS_PATH_BYTES - 64 };

/* What the manifest says of a run. */
struct lethe_cascade_run_facts {
    uint64_t id; /* names the file; never used twice in a cascade */
    uint32_t level;
    uint32_t age_bits; /* of each number: its age, counted from first_period */
    uint64_t entries;
    uint64_t pages;                     /* with numbers; the fences come after them */
    uint64_t tombstones;                /* entries that cancel something older */
    uint64_t first_period, last_period; /* of its entries; 0 without ages */
};

struct lethe_cascade_run {
    struct lethe_cascade_run_facts facts;
    const lethe_allocator *allocator;
    lethe_os_block_file file;
    uint64_t *fences; /* the first number of each page */
    uint64_t fence_room;
    struct lethe_cascade_sieve
        *filter; /* of its fingerprints, or NULL; set under the cascade's lock */
    unsigned
        references; /* by the cascade's lists and by calls under way; under the cascade's lock */
    bool is_synced;
    /* Of the last manifest that was to name it; 0: none, and no manifest needs the file. */
    uint64_t generation;
    bool is_merging;
    bool is_damaged; /* a page of it could not be read: no merge takes it any more */
    struct lethe_cascade_run *next_unused; /* of those that wait to be freed without a lock */
};

/* Where a run's file is. */
void lethe_cascade_run_path(const char *folder, uint64_t id, char path[LETHE_OS_PATH_BYTES]);
/* The seed of a page's checksum, which ties it to its cascade, run and place. */
uint64_t lethe_cascade_page_seed(uint64_t identity, uint64_t run_id, uint64_t page);

/* Opens a run that the manifest names, and reads and checks its fences.
 * Errors: LETHE_ECORRUPT (also where the file is missing), LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_cascade_run_open(const char *folder, uint64_t identity,
                                                     struct lethe_cascade_run_facts facts,
                                                     bool direct, const lethe_allocator *allocator,
                                                     struct lethe_cascade_run **out);
/* Closes the file and frees the run; takes NULL. */
void lethe_cascade_run_free(struct lethe_cascade_run *run);

uint64_t lethe_cascade_run_bytes(const struct lethe_cascade_run *run);
/* The page that has the number if any has it; hint is where the search begins: a page at or before
 * it. */
uint64_t lethe_cascade_run_page(const struct lethe_cascade_run *run, uint64_t number,
                                uint64_t hint);

/* Writing a run. */
struct lethe_cascade_writer {
    const lethe_allocator *allocator;
    struct lethe_cascade_run *run;
    uint64_t identity;
    unsigned char *memory, *buffer; /* buffer is memory aligned for a direct file */
    size_t fill;
    uint64_t offset; /* of what is in the file */
    struct lethe_cascade_page_builder builder;
};

/* Begins a run of about expected entries spread over 2^number_bits.
 * Errors: LETHE_ENOMEM, LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_cascade_writer_begin(struct lethe_cascade_writer *writer,
                                                         const char *folder, uint64_t identity,
                                                         struct lethe_cascade_run_facts facts,
                                                         uint64_t expected, unsigned number_bits,
                                                         bool direct,
                                                         const lethe_allocator *allocator);
LETHE_MUST_CHECK lethe_status lethe_cascade_writer_add(struct lethe_cascade_writer *writer,
                                                       const uint64_t *numbers, size_t count);
LETHE_MUST_CHECK lethe_status lethe_cascade_writer_add_value(struct lethe_cascade_writer *writer,
                                                             uint64_t number,
                                                             struct lethe_cascade_value value);
/* Completes the file; *out is the run, or NULL when nothing was added. The writer is dropped.
 * On error it is not, and the caller drops it. */
LETHE_MUST_CHECK lethe_status lethe_cascade_writer_end(struct lethe_cascade_writer *writer,
                                                       const char *folder,
                                                       struct lethe_cascade_run **out);
/* Removes what was written, unless folder is NULL; takes a dropped one. */
void lethe_cascade_writer_drop(struct lethe_cascade_writer *writer, const char *folder);

#endif
