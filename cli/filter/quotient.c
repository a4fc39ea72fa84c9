/* quotient.c - the kind `quotient`: lethe_quotient, which counts lines and can remove them. */
#include <math.h>

#include "filter/kind.h"
#include "frame/exit_code.h"
#include "lethe/quotient.h"

static const char *const build_options[] = {NULL};

static int read_options(const struct arguments *arguments, struct filter_settings *settings) {
    (void)arguments;
    (void)settings;
    return EXIT_DONE;
}

static void fill_options(const struct filter_settings *settings, void *options) {
    lethe_quotient_options *own = options;
    own->capacity = settings->capacity;
    own->error = settings->error;
    own->seed = settings->seed;
}

/* Whether the filter can be doubled: a bit of each remainder goes with a doubling. */
static bool has_bits_left(const lethe_quotient *filter) {
    lethe_quotient_shape shape = LETHE_INIT(lethe_quotient_shape);
    return lethe_quotient_get_shape(filter, &shape) == LETHE_OK && shape.remainder_bits > 1;
}

enum { PIECE = 512 };

/* Adds up to PIECE hashes. More than was planned for is no reason to stop: twice the slots hold the
 * same fingerprints, and only the error rises, as in a Bloom filter. */
static lethe_status add_piece(lethe_quotient *filter, const lethe_hash *hashes, size_t count) {
    lethe_hash left[PIECE];
    uint8_t added[PIECE];
    lethe_status status = lethe_quotient_add_batch(filter, hashes, count, added);
    while (status == LETHE_EFULL && has_bits_left(filter)) {
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (added[i] == 0) left[kept++] = hashes[i];
        hashes = left;
        count = kept;
        status = lethe_quotient_double(filter);
        if (status == LETHE_OK) status = lethe_quotient_add_batch(filter, hashes, count, added);
    }
    return status;
}

static lethe_status add(void *object, const lethe_hash *hashes, size_t count) {
    lethe_status status = LETHE_OK;
    for (size_t at = 0; at < count && status == LETHE_OK; at += PIECE)
        status = add_piece(object, hashes + at, count - at < PIECE ? count - at : PIECE);
    return status;
}

static void describe(const void *object, struct filter_facts *out) {
    struct structure_facts facts;
    if (structure_report(&structure_quotient, object, 0, &facts) != LETHE_OK) return;
    double range = (double)structure_number(&facts, "max_fingerprint") + 1;
    double distinct = (double)structure_number(&facts, "distinct");
    out->additions = structure_number(&facts, "total");
    /* Lines that share a fingerprint are one here. */
    out->distinct_estimate = -range * log1p(-distinct / range);
    out->fill = structure_fraction(&facts, "load");
}

static const char *const shape[] = {"slots", "remainder_bits", NULL};

const struct filter_kind filter_kind_quotient = {
    .name = "quotient",
    .structure = &structure_quotient,
    .build_options = build_options,
    .shape = shape,
    .read_options = read_options,
    .fill_options = fill_options,
    .add = add,
    .describe = describe,
};
