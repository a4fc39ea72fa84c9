/* paper/gbf.c - the rates of many small Gaussian Bloom filters; see gbf.h. */
#include "paper/gbf.h"

#include <stdlib.h>

#include "say/message.h"

enum { INSTANCES = 101 };

static int compare(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double median(double *values) {
    qsort(values, INSTANCES, sizeof *values, compare);
    return values[INSTANCES / 2];
}

struct gbf_rates gbf_rates_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                              uint64_t elements, lethe_status *status) {
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = GBF_SLOTS, .hashes = hashes,
                      .slot_bits = slot_bits, .spacing = spacing);
    lethe_gaussian *filter = NULL;
    double gaussian[INSTANCES] = {0}, bloom[INSTANCES] = {0};
    if (*status == LETHE_OK) *status = lethe_gaussian_new(&options, &filter);
    for (uint64_t instance = 0; *status == LETHE_OK && instance < INSTANCES; instance++) {
        lethe_gaussian_clear(filter);
        for (uint64_t i = 0; i < elements; i++)
            lethe_gaussian_add_hash(filter, lethe_hash_u64(instance + 1, i));
        lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
        *status = lethe_gaussian_info(filter, &stats);
        gaussian[instance] = stats.error_estimate;
        bloom[instance] = stats.bloom_error;
    }
    lethe_gaussian_free(filter);
    return (struct gbf_rates){.gaussian = median(gaussian), .bloom = median(bloom)};
}

int gbf_code(lethe_status status) {
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot make a filter: %s", lethe_strerror(status));
}
