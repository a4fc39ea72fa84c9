/* paper/cf_runs.h - the four runs of Figure 3: the same keys into a published cascade filter, into
 * ours and into two Bloom filters, on the same disk and with the same memory.
 *
 * SIZES  The paper's 8.59 G keys are 2^33. Its QF0 is not printed; with 2^27 slots that are three
 *        quarters full, as in its Figure 2, there are at most six levels on disk at a time, as it
 *        says. Remainders have 11 bits in the largest level, so a fingerprint has 44, and QF0 takes
 *        320 MiB. A scale divides keys, slots and memory alike. */
#ifndef LETHE_CLI_PAPER_CF_RUNS_H
#define LETHE_CLI_PAPER_CF_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/temporary.h"

enum { COURSE_SAMPLES = 4000, CF_LOOKUPS = 5000, CF_BATCH = 4096, BLOOM_HASHES = 11 };

#define PAPER_ERROR 0.0004
#define BLOOM_SECONDS 10

struct cf_sizes {
    uint64_t keys;
    unsigned quotient_bits, fingerprint_bits; /* of the published filter */
    uint64_t memory_entries;                  /* that its QF0 takes */
    size_t memory_bytes;                      /* for each filter: what QF0 takes */
    char folder[TEMPORARY_BYTES];
};

/* How many keys were in after how long, and what lookups of absent keys cost. */
struct course {
    double seconds[COURSE_SAMPLES], keys[COURSE_SAMPLES];
    size_t count;
    double rate;        /* insertions a second, of all */
    double cpu_seconds; /* of inserting */
    double longest_s;   /* the longest wait of an insertion; ours: of a batch */
    double longest_at;  /* how many keys were in then */
    unsigned levels;    /* on disk, when keys were looked up */
    double lookup_seconds;
    uint64_t lookups, reads; /* pages that they read */
    double page_seconds;     /* of as many reads of one page anywhere, by turns with lookups */
};

/* The sizes for a scale, a power of two from 1 to 1024. */
void cf_sizes_for(unsigned scale, struct cf_sizes *sizes);

/* Each returns EXIT_DONE, or another code after saying why. */
int cf_run_published(const struct cf_sizes *sizes, bool has_tombstones, struct course *course);
int cf_run_ours(const struct cf_sizes *sizes, struct course *course);
/* The traditional one is also asked for absent keys, filled as it would be in the end. */
int cf_run_bloom(const struct cf_sizes *sizes, bool is_elevator, struct course *course);

/* Millions of keys that were in at a time; NAN after the end. */
double course_at(const struct course *course, double seconds);

#endif
