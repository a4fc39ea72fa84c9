/* paper/fbf.h - what the figures of the forgetful Bloom filter share: one filter under a load.
 *
 * Ids are numbers that never repeat; probes are other numbers. A failure sticks in status, and the
 * figure asks once, at its end. */
#ifndef LETHE_CLI_PAPER_FBF_H
#define LETHE_CLI_PAPER_FBF_H

#include "lethe/forgetful.h"
#include "paper/paper.h"

struct fbf {
    lethe_forgetful *filter;
    lethe_status status;
    uint64_t period_ms;
    uint64_t now_ms;
    uint64_t next_id, next_probe;
    bool is_idle; /* no background work is done, so Algorithm 3 does not run */
};

/* The paper's filter in most figures, with so many past filters and a period. */
static inline lethe_forgetful_options fbf_options(uint32_t past, uint64_t period_ms) {
    return LETHE_OPTIONS(lethe_forgetful_options, .setting = LETHE_FORGETFUL_PAPER, .bits = 6250,
                         .hashes = 5, .past = past, .period_ms = period_ms);
}

/* round makes other ids: experiments are repeated and averaged. */
void fbf_begin(struct fbf *fbf, const lethe_forgetful_options *options, uint64_t round);
void fbf_end(struct fbf *fbf);

/* The stats of the filter now. */
lethe_forgetful_stats fbf_stats(const struct fbf *fbf);

/* Moves time to now_ms, with the work that is due, then records that many fresh ids. */
void fbf_record(struct fbf *fbf, uint64_t now_ms, uint64_t count);

/* Spreads count ids evenly over so many periods from now on, ending a millisecond before their
 * end. */
void fbf_load(struct fbf *fbf, uint64_t count, uint64_t periods);

/* The share of so many fresh ids that is taken for duplicates. */
double fbf_measure(struct fbf *fbf, uint64_t probes);

/* The same with FBF_PROBES, or more until FBF_HITS duplicates were met, but no more than most. */
double fbf_measure_precisely(struct fbf *fbf, uint64_t most);

/* The share of the ids from number oldest to the last one that is not known any more. */
double fbf_lost(const struct fbf *fbf, uint64_t oldest);

/* Equation 3. */
double fbf_estimate(const struct fbf *fbf);

/* A measurement repeated with other ids. */
struct fbf_rates {
    double measured, estimated;
};

/* Loads a new filter with count ids in two periods (as the paper does), or, steady, at the same
 * rate until every filter has been through it. In both cases a period is just ending. Probes
 * FBF_PROBES ids, or up to most (fbf_measure_precisely), and all that with other ids in each of so
 * many rounds. */
struct fbf_rates fbf_rates_at(const lethe_forgetful_options *options, uint64_t count, bool steady,
                              unsigned rounds, uint64_t most, lethe_status *status);

/* The paper probes 200,000 ids, once. 60 hits in each of five rounds make a rate certain to 6%. */
enum { FBF_ROUNDS = 5, FBF_PROBES = 200000, FBF_HITS = 60 };

/* EXIT_DONE, or says that memory ran out. */
int fbf_code(lethe_status status);

#endif
