/* bench/zipf.c - Zipf's law by Walker's alias method: a draw is one random number and one look into
 * two tables; see zipf.h. */
#include "zipf.h"

#include <stdlib.h>

#include "frame.h"
#include "keys.h"

/* Pairs each rank that has less than its equal share with one that has more. */
static void pair_up(struct zipf *zipf, double *share, uint32_t *pending) {
    uint32_t items = zipf->items, few = 0, many = items;
    for (uint32_t i = 0; i < items; i++)
        pending[share[i] < 1 ? few++ : --many] = i;
    while (few > 0 && many < items) {
        uint32_t small = pending[--few], large = pending[many];
        zipf->threshold[small] = (uint32_t)(share[small] * 4294967295.0);
        zipf->alias[small] = large;
        share[large] -= 1 - share[small];
        if (share[large] < 1) {
            many++;
            pending[few++] = large;
        }
    }
    for (; many < items; many++)
        zipf->threshold[pending[many]] = UINT32_MAX;
    while (few > 0)
        zipf->threshold[pending[--few]] = UINT32_MAX;
}

void zipf_init(struct zipf *zipf, uint32_t items, uint64_t seed) {
    *zipf = (struct zipf){.alias = calloc(items, sizeof *zipf->alias),
                          .threshold = calloc(items, sizeof *zipf->threshold),
                          .items = items,
                          .state = seed};
    double *share = calloc(items, sizeof *share), sum = 0;
    uint32_t *pending = calloc(items, sizeof *pending);
    bench_require(zipf->alias && zipf->threshold && share && pending, "allocating Zipf's law");
    for (uint32_t i = 0; i < items; i++)
        sum += 1.0 / (i + 1);
    for (uint32_t i = 0; i < items; i++)
        share[i] = items / sum / (i + 1);
    pair_up(zipf, share, pending);
    free(share);
    free(pending);
}

uint32_t zipf_next(struct zipf *zipf) {
    uint64_t random = keys_scramble(zipf->state += UINT64_C(0x9e3779b97f4a7c15));
    uint32_t rank = (uint32_t)((random >> 32) * zipf->items >> 32);
    return (uint32_t)random <= zipf->threshold[rank] ? rank : zipf->alias[rank];
}

void zipf_drop(struct zipf *zipf) {
    free(zipf->alias);
    free(zipf->threshold);
}
