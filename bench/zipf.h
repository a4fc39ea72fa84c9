/* bench/zipf.h - keys whose frequencies follow Zipf's law with exponent 1. */
#ifndef LETHE_BENCH_ZIPF_H
#define LETHE_BENCH_ZIPF_H

#include <stddef.h>
#include <stdint.h>

/* Draws ranks 0..items-1, rank r with a probability in proportion to 1/(r+1). */
struct zipf {
    uint32_t *alias;
    uint32_t *threshold; /* a share of 2^32 */
    uint32_t items;
    uint64_t state;
};

/* Ends the program when there is no memory. */
void zipf_init(struct zipf *zipf, uint32_t items, uint64_t seed);
uint32_t zipf_next(struct zipf *zipf);
void zipf_drop(struct zipf *zipf);

#endif
