/* paper/gbf.h - what the figures of the Gaussian Bloom filter share: the rates of many small
 * filters.
 *
 * The paper fills a filter with random strings, asks it for 100 others, and repeats that; it shows
 * medians. Here the rate of a filter is not sampled: the positions of a fresh key are independent
 * and even, so its chance is the product, over the hash functions, of the share of slots where that
 * function's bell would be found. lethe_gaussian_info counts them. */
#ifndef LETHE_CLI_PAPER_GBF_H
#define LETHE_CLI_PAPER_GBF_H

#include "lethe/gaussian.h"
#include "paper/paper.h"

enum { GBF_SLOTS = 256 }; /* m in all of the paper's figures on rates */

/* Medians over filters of the same shape with other elements each. */
struct gbf_rates {
    double gaussian;
    double bloom; /* the Bloom filter underneath, of the same m and k */
};

/* A failure sticks in status. */
struct gbf_rates gbf_rates_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                              uint64_t elements, lethe_status *status);

/* EXIT_DONE, or says that memory ran out. */
int gbf_code(lethe_status status);

#endif
