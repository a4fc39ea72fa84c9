/* filter/quotient/plan.c - from capacity and error to slots and remainders.
 *
 * A fresh key is reported present when its fingerprint is one of those that are there: with d of
 * them among R possible ones, exactly d/R. So R >= n/error, whatever the number of slots. Slots are
 * n / 0.9, and r the least with slots * 2^r >= R.
 *
 * The number of blocks has at most eight significant bits (128..255 times a power of two, less than
 * 1% more than is needed), so that a filter can be halved again as often as that power says, and
 * filters planned for about the same can be merged. Doubling keeps slots * 2^r, and so all
 * fingerprints. */
#include <math.h>

#include "core/allocator.h"
#include "core/sized.h"
#include "filter/quotient/quotient.h"

enum { DEFAULT_CAPACITY = 65536, DEFAULT_REMAINDER_BITS = 8, SIGNIFICANT_BITS = 8 };

#define DEFAULT_ERROR 0.01
#define PLANNED_LOAD 0.9

uint64_t lethe_quotient_table_bytes(uint64_t slots, uint32_t remainder_bits) {
    uint64_t blocks = slots / LETHE_QUOTIENT_BLOCK + LETHE_QUOTIENT_TAIL;
    uint64_t carry_bytes = (blocks + 7) / 8 * 8;
    return blocks * (8 * (uint64_t)remainder_bits + sizeof(struct lethe_quotient_marks)) +
           carry_bytes;
}

bool lethe_quotient_is_valid_size(uint64_t slots, uint32_t remainder_bits) {
    return slots > 0 && slots <= LETHE_QUOTIENT_MAX_SLOTS && slots % LETHE_QUOTIENT_BLOCK == 0 &&
           remainder_bits >= 1 && remainder_bits <= LETHE_QUOTIENT_MAX_REMAINDER_BITS &&
           slots - 1 <= UINT64_MAX >> remainder_bits;
}

void lethe_quotient_set_size(lethe_quotient_shape *shape, uint64_t slots, uint32_t remainder_bits) {
    shape->slots = slots;
    shape->remainder_bits = remainder_bits;
    shape->max_fingerprint = (slots - 1) << remainder_bits | ((UINT64_C(1) << remainder_bits) - 1);
    shape->memory_bytes = lethe_quotient_table_bytes(slots, remainder_bits);
}

lethe_quotient_shape lethe_quotient_doubled(const lethe_quotient_shape *shape) {
    lethe_quotient_shape doubled = *shape;
    lethe_quotient_set_size(&doubled, shape->slots * 2, shape->remainder_bits - 1);
    return doubled;
}

lethe_quotient_shape lethe_quotient_halved(const lethe_quotient_shape *shape) {
    lethe_quotient_shape halved = *shape;
    lethe_quotient_set_size(&halved, shape->slots / 2, shape->remainder_bits + 1);
    return halved;
}

static lethe_status plan_from_slots(const lethe_quotient_options *options,
                                    lethe_quotient_shape *shape) {
    if (options->capacity != 0 || options->error != 0 || options->slots > LETHE_QUOTIENT_MAX_SLOTS)
        return LETHE_EINVAL;
    uint64_t slots =
        (options->slots + LETHE_QUOTIENT_BLOCK - 1) / LETHE_QUOTIENT_BLOCK * LETHE_QUOTIENT_BLOCK;
    uint32_t bits = options->remainder_bits != 0 ? options->remainder_bits : DEFAULT_REMAINDER_BITS;
    if (!lethe_quotient_is_valid_size(slots, bits)) return LETHE_EINVAL;
    lethe_quotient_set_size(shape, slots, bits);
    return LETHE_OK;
}

/* Blocks for that many keys, rounded up to eight significant bits. */
static uint64_t blocks_for(uint64_t keys) {
    uint64_t blocks = (uint64_t)ceil((double)keys / (PLANNED_LOAD * LETHE_QUOTIENT_BLOCK));
    unsigned shift = 0;
    while ((blocks - 1) >> shift >= 1U << SIGNIFICANT_BITS)
        shift++;
    return (((blocks - 1) >> shift) + 1) << shift;
}

static lethe_status plan_from_capacity(const lethe_quotient_options *options,
                                       lethe_quotient_shape *shape) {
    shape->capacity = options->capacity != 0 ? options->capacity : DEFAULT_CAPACITY;
    double error = options->error != 0 ? options->error : DEFAULT_ERROR;
    /* Written so that a NaN is refused as well. */
    bool valid = error >= LETHE_QUOTIENT_MIN_ERROR && error <= LETHE_QUOTIENT_MAX_ERROR;
    if (!valid || shape->capacity > LETHE_QUOTIENT_MAX_CAPACITY || options->remainder_bits != 0)
        return LETHE_EINVAL;
    if (shape->grow_to != 0 && shape->grow_to < shape->capacity) return LETHE_EINVAL;

    double keys = (double)(shape->grow_to != 0 ? shape->grow_to : shape->capacity);
    uint64_t slots = blocks_for(shape->capacity) * LETHE_QUOTIENT_BLOCK;
    /* A bit is left after as many doublings as grow_to takes. */
    uint32_t least_bits = 1;
    for (double room = PLANNED_LOAD * (double)slots; room < keys; room *= 2)
        least_bits++;
    uint32_t bits = least_bits;
    while (bits < 64 && ldexp((double)slots, (int)bits) < keys / error)
        bits++;
    if (!lethe_quotient_is_valid_size(slots, bits)) return LETHE_EINVAL;
    lethe_quotient_set_size(shape, slots, bits);
    shape->error = keys / ldexp((double)slots, (int)bits);
    return LETHE_OK;
}

lethe_status lethe_quotient_plan_options(const lethe_quotient_options *options,
                                         lethe_quotient_options *taken,
                                         lethe_quotient_shape *shape) {
    lethe_status status = LETHE_TAKE(options, taken, allocator);
    if (status != LETHE_OK) return status;
    if (!lethe_allocator_is_usable(taken->allocator) ||
        taken->grow_to > LETHE_QUOTIENT_MAX_CAPACITY)
        return LETHE_EINVAL;
    *shape = LETHE_OPTIONS(lethe_quotient_shape, .grow_to = taken->grow_to,
                           .seed = taken->seed != 0 ? taken->seed : LETHE_DEFAULT_SEED);
    return taken->slots != 0 ? plan_from_slots(taken, shape) : plan_from_capacity(taken, shape);
}

LETHE_DEFINE_PLAN(lethe_quotient, memory_bytes)
