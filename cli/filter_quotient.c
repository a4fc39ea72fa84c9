/* filter_quotient.c - the kind `quotient`: lethe_quotient, which counts lines and can remove them. */
#include <math.h>

#include "exit_code.h"
#include "filter_kind.h"
#include "lethe/quotient.h"

static const char *const build_options[] = {NULL};

static int read_options(const struct arguments *arguments, struct filter_settings *settings) {
    (void)arguments;
    (void)settings;
    return EXIT_DONE;
}

static lethe_quotient_options options_of(const struct filter_settings *settings) {
    return (lethe_quotient_options){
        .capacity = settings->capacity, .error = settings->error, .seed = settings->seed};
}

static lethe_status plan(const struct filter_settings *settings, uint64_t *memory_bytes) {
    lethe_quotient_options options = options_of(settings);
    lethe_quotient_shape shape;
    lethe_status status = lethe_quotient_plan(&options, &shape);
    *memory_bytes = shape.memory_bytes;
    return status;
}

static lethe_status make(const struct filter_settings *settings, void **out) {
    lethe_quotient_options options = options_of(settings);
    lethe_quotient *filter;
    lethe_status status = lethe_quotient_new(&options, &filter);
    *out = filter;
    return status;
}

static lethe_status load(const char *path, void **out) {
    lethe_quotient *filter;
    lethe_status status = lethe_quotient_load_file(path, NULL, &filter);
    *out = filter;
    return status;
}

static lethe_status save(const void *filter, const char *path) {
    return lethe_quotient_save_file(filter, path);
}

static void free_filter(void *filter) {
    lethe_quotient_free(filter);
}

static uint64_t seed(const void *filter) {
    return lethe_quotient_get_shape(filter).seed;
}

static void describe(const void *filter, struct filter_facts *out) {
    lethe_quotient_stats stats = lethe_quotient_info(filter);
    double range = (double)stats.shape.max_fingerprint + 1;
    *out = (struct filter_facts){
        .kind = filter_kind_quotient.name,
        .seed = stats.shape.seed,
        .capacity = stats.shape.capacity,
        .planned_error = stats.shape.error,
        .additions = stats.total,
        /* Lines that share a fingerprint are one here. */
        .distinct_estimate = -range * log1p(-(double)stats.distinct / range),
        .fill = stats.load,
        .error_now = stats.error_estimate,
        .memory_bytes = stats.memory_bytes,
    };
    filter_fact_number(out, "slots", stats.shape.slots);
    filter_fact_number(out, "remainder bits", stats.shape.remainder_bits);
}

/* More than was planned for is no reason to stop: twice the slots hold the same fingerprints, and only the error
 * rises, as in a Bloom filter. */
static lethe_status add_batch(void *filter, const lethe_hash *hashes, size_t count) {
    lethe_status status = LETHE_OK;
    for (size_t done = 0; done < count && status == LETHE_OK;) {
        size_t added;
        status = lethe_quotient_add_batch(filter, hashes + done, count - done, &added);
        done += added;
        if (status == LETHE_EFULL && lethe_quotient_get_shape(filter).remainder_bits > 1)
            status = lethe_quotient_double(filter);
    }
    return status;
}

static lethe_status test_batch(const void *filter, const lethe_hash *hashes, size_t count,
                               uint8_t *present) {
    lethe_quotient_test_batch(filter, hashes, count, present);
    return LETHE_OK;
}

static lethe_status remove_batch(void *filter, const lethe_hash *hashes, size_t count,
                                 uint8_t *removed) {
    for (size_t done = 0; done < count;) {
        size_t found;
        lethe_status status =
            lethe_quotient_remove_batch(filter, hashes + done, count - done, &found);
        for (size_t i = 0; i < found; i++)
            removed[done + i] = 1;
        done += found;
        if (status == LETHE_ENOTFOUND) {
            removed[done++] = 0;
        } else if (status != LETHE_OK) {
            return status;
        }
    }
    return LETHE_OK;
}

static lethe_status merge(void *filter, const void *other) {
    return lethe_quotient_absorb(filter, other);
}

const struct filter_kind filter_kind_quotient = {
    .name = "quotient",
    .type = "QUOT",
    .build_options = build_options,
    .read_options = read_options,
    .plan = plan,
    .make = make,
    .load = load,
    .save = save,
    .free = free_filter,
    .seed = seed,
    .describe = describe,
    .add_batch = add_batch,
    .test_batch = test_batch,
    .remove_batch = remove_batch,
    .merge = merge,
};
