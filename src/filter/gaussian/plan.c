/* filter/gaussian/plan.c - from options to a shape.
 *
 * Sizes are those of the Bloom filter underneath, for which they are known: the Gaussian filter
 * never errs more often. How much less depends on which other keys are near, and no formula is
 * exact; lethe_gaussian_info counts it from the slots. */
#include <math.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "filter/gaussian/gaussian.h"

enum { DEFAULT_HASHES = 7, DEFAULT_SLOT_BITS = 4 };

bool lethe_gaussian_is_valid_size(uint64_t slots, uint32_t hashes, uint32_t slot_bits) {
    bool is_type = slot_bits == LETHE_GAUSSIAN_FLOAT_BITS ||
                   slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS ||
                   (slot_bits >= 1 && slot_bits <= LETHE_GAUSSIAN_MAX_SLOT_BITS);
    return slots >= 1 && slots <= LETHE_GAUSSIAN_MAX_SLOTS && hashes >= 1 &&
           hashes <= LETHE_GAUSSIAN_MAX_HASHES && is_type;
}

bool lethe_gaussian_is_valid_cap(double cap) {
    return cap == 0 || (cap > 0 && cap <= LETHE_GAUSSIAN_MAX_HASHES);
}

uint64_t lethe_gaussian_words(const lethe_gaussian_shape *shape) {
    return (shape->slots * shape->slot_bits + 63) / 64;
}

/* The size from capacity and error. */
static lethe_status plan_from_capacity(const lethe_gaussian_options *options,
                                       lethe_gaussian_shape *shape) {
    if (options->hashes != 0) return LETHE_EINVAL;
    lethe_bloom_options bloom_options =
        LETHE_OPTIONS(lethe_bloom_options, .capacity = options->capacity, .error = options->error);
    lethe_bloom_shape bloom = LETHE_INIT(lethe_bloom_shape);
    lethe_status status = lethe_bloom_plan(&bloom_options, &bloom);
    if (status != LETHE_OK) return status;
    shape->slots = bloom.bits;
    shape->hashes = bloom.hashes;
    shape->capacity = bloom.capacity;
    shape->error = bloom.error;
    return LETHE_OK;
}

static lethe_status plan_from_slots(const lethe_gaussian_options *options,
                                    lethe_gaussian_shape *shape) {
    /* Written so that a NaN is refused as well. */
    if (options->capacity != 0 || !(options->error == 0)) return LETHE_EINVAL;
    shape->slots = options->slots;
    shape->hashes = options->hashes != 0 ? options->hashes : DEFAULT_HASHES;
    return LETHE_OK;
}

static bool are_valid_choices(const lethe_gaussian_options *options) {
    bool spacing = options->spacing == LETHE_GAUSSIAN_SPACING_EVEN ||
                   options->spacing == LETHE_GAUSSIAN_SPACING_PUBLISHED;
    bool exponential = options->exponential == LETHE_GAUSSIAN_EXPONENTIAL_EXACT ||
                       options->exponential == LETHE_GAUSSIAN_EXPONENTIAL_SCHRAUDOLPH;
    return spacing && exponential && lethe_gaussian_is_valid_cap(options->deviation_cap);
}

/* Bells, and a size that has room for the widest one. */
static lethe_status complete(lethe_gaussian_shape *shape) {
    if (!lethe_gaussian_is_valid_size(shape->slots, shape->hashes, shape->slot_bits))
        return LETHE_EINVAL;
    struct lethe_gaussian_rule rule = {.hashes = shape->hashes,
                                       .slot_bits = shape->slot_bits,
                                       .spacing = shape->spacing,
                                       .exponential = shape->exponential,
                                       .deviation_cap = shape->deviation_cap};
    shape->radius = lethe_gaussian_widest(&rule);
    uint64_t widest = 2 * (uint64_t)shape->radius + 1;
    if (shape->slots < widest) {
        if (shape->capacity == 0) return LETHE_EINVAL;
        shape->slots = widest;
    }
    shape->memory_bytes = lethe_gaussian_words(shape) * sizeof(uint64_t);
    return LETHE_OK;
}

lethe_status lethe_gaussian_plan_options(const lethe_gaussian_options *options,
                                         lethe_gaussian_options *taken,
                                         lethe_gaussian_shape *shape) {
    lethe_status status = LETHE_TAKE(options, taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken->allocator) || !are_valid_choices(taken))
        return LETHE_EINVAL;
    *shape =
        LETHE_OPTIONS(lethe_gaussian_shape,
                      .slot_bits = taken->slot_bits != 0 ? taken->slot_bits : DEFAULT_SLOT_BITS,
                      .spacing = taken->spacing, .exponential = taken->exponential,
                      .deviation_cap = taken->deviation_cap,
                      .seed = taken->seed != 0 ? taken->seed : LETHE_DEFAULT_SEED);
    status = taken->slots != 0 ? plan_from_slots(taken, shape) : plan_from_capacity(taken, shape);
    return status == LETHE_OK ? complete(shape) : status;
}

LETHE_DEFINE_PLAN(lethe_gaussian, memory_bytes)
