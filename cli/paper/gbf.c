/* paper/gbf.c - the rates of many small Gaussian Bloom filters; see gbf.h. */
#include "paper/gbf.h"

#include <stdlib.h>

#include "say/message.h"

enum { INSTANCES = 501, QUESTIONS = 1000 };

static int compare(const void *a, const void *b) {
    double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* The rates of all instances of one kind of filter: true ones, and measured ones. */
struct sample {
    double exact[INSTANCES], asked[INSTANCES];
};

static struct gbf_rate summarize(struct sample *sample) {
    qsort(sample->exact, INSTANCES, sizeof(double), compare);
    qsort(sample->asked, INSTANCES, sizeof(double), compare);
    return (struct gbf_rate){.first = sample->asked[INSTANCES / 4],
                             .median = sample->exact[INSTANCES / 2],
                             .third = sample->asked[INSTANCES - 1 - INSTANCES / 4]};
}

/* Asks a filter, and the Bloom filter underneath, for keys that were not added. */
static lethe_status ask(const lethe_gaussian *filter, uint64_t seed, double *gaussian,
                        double *bloom) {
    lethe_bloom *classical = NULL;
    lethe_status status = lethe_gaussian_extract(filter, &classical);
    if (status != LETHE_OK) return status;
    int found = 0, found_bloom = 0;
    for (uint64_t i = 0; i < QUESTIONS; i++) {
        lethe_hash hash = lethe_hash_u64(seed, UINT64_MAX - i);
        found += lethe_gaussian_test_hash(filter, hash);
        found_bloom += lethe_bloom_test_hash(classical, hash);
    }
    *gaussian = (double)found / QUESTIONS;
    *bloom = (double)found_bloom / QUESTIONS;
    lethe_bloom_free(classical);
    return LETHE_OK;
}

static lethe_status fill(const lethe_gaussian_options *options, uint64_t elements, bool asks,
                         struct sample *gaussian, struct sample *bloom) {
    lethe_gaussian *filter = NULL;
    lethe_status status = lethe_gaussian_new(options, &filter);
    for (uint64_t instance = 0; status == LETHE_OK && instance < INSTANCES; instance++) {
        lethe_gaussian_clear(filter);
        for (uint64_t i = 0; i < elements; i++)
            lethe_gaussian_add_hash(filter, lethe_hash_u64(instance + 1, i));
        lethe_gaussian_stats stats = LETHE_INIT(lethe_gaussian_stats);
        status = lethe_gaussian_info(filter, &stats);
        gaussian->exact[instance] = stats.error_estimate;
        bloom->exact[instance] = stats.bloom_error;
        if (status == LETHE_OK && asks) {
            status = ask(filter, instance + 1, &gaussian->asked[instance], &bloom->asked[instance]);
        }
    }
    lethe_gaussian_free(filter);
    return status;
}

static struct gbf_rates measure(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                                uint64_t elements, bool asks, lethe_status *status) {
    lethe_gaussian_options options =
        LETHE_OPTIONS(lethe_gaussian_options, .slots = GBF_SLOTS, .hashes = hashes,
                      .slot_bits = slot_bits, .spacing = spacing);
    struct sample gaussian = {{0}, {0}}, bloom = {{0}, {0}};
    if (*status == LETHE_OK) *status = fill(&options, elements, asks, &gaussian, &bloom);
    return (struct gbf_rates){.gaussian = summarize(&gaussian), .bloom = summarize(&bloom)};
}

struct gbf_rates gbf_medians_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                                uint64_t elements, lethe_status *status) {
    return measure(slot_bits, spacing, hashes, elements, false, status);
}

struct gbf_rates gbf_rates_at(uint32_t slot_bits, lethe_gaussian_spacing spacing, uint32_t hashes,
                              uint64_t elements, lethe_status *status) {
    return measure(slot_bits, spacing, hashes, elements, true, status);
}

void gbf_row(struct report *report, double group, double x, const struct gbf_rates *rates) {
    REPORT_ROW(report, group, x, rates->bloom.first, rates->bloom.median, rates->bloom.third,
               rates->gaussian.first, rates->gaussian.median, rates->gaussian.third);
}

int gbf_code(lethe_status status) {
    if (status == LETHE_OK) return EXIT_DONE;
    return message_fail(EXIT_ENVIRONMENT, "cannot make a filter: %s", lethe_strerror(status));
}
