/* tests/support/frequencies.c - streams of items; see frequencies.h. */
#include "support/test.h"

#include <stdlib.h>

#include "support/frequencies.h"
#include "support/random.h"

/* The first item whose cumulated probability exceeds chance. */
static uint32_t search(const double *cumulated, uint32_t items, double chance) {
    uint32_t low = 0, high = items - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (cumulated[middle] > chance) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

void frequencies_make(struct frequencies *out, uint32_t items, size_t length, bool zipf,
                      uint64_t seed) {
    *out = (struct frequencies){.stream = malloc(length * sizeof *out->stream),
                                .length = length,
                                .exact = calloc(items, sizeof *out->exact),
                                .items = items};
    double *cumulated = malloc(items * sizeof *cumulated), sum = 0;
    assert_true(out->stream != NULL && out->exact != NULL && cumulated != NULL);
    for (uint32_t i = 0; i < items; i++) {
        sum += 1.0 / (i + 1);
        cumulated[i] = sum;
    }
    struct test_random random = {seed};
    for (size_t i = 0; i < length; i++) {
        uint64_t bits = test_random_next(&random);
        uint32_t item = (uint32_t)((bits >> 32) * items >> 32);
        if (zipf) item = search(cumulated, items, (double)(bits >> 11) * 0x1p-53 * sum);
        out->stream[i] = item;
        out->exact[item]++;
    }
    free(cumulated);
}

void frequencies_free(struct frequencies *frequencies) {
    free(frequencies->stream);
    free(frequencies->exact);
}
