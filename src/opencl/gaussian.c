/* opencl/gaussian.c - makes Gaussian Bloom filters on a device.
 *
 * IDEA    The paper's Section 4.2: one work item per hash function finds the positions, then one
 *         work item per slot takes the largest of all levels there. A slot has one owner, so
 *         nothing is synchronized. In the local form, a list of positions for each tile of slots
 *         spares a slot the bells that cannot reach it.
 * LAYOUT  Slots as in a saved filter (docs/format/gaussian.md), plus a word that kernels may read.
 * I1      Levels are made on the host, once, and transferred as whole numbers: the number of steps
 *         in packed slots, the bits of the float or double otherwise. Since they are from 0 to 1,
 *         they are in order as whole numbers too. A device never computes a level.
 * I2      Only the middle of a bell is full, as in filter/gaussian, so the full slots are the
 *         underlying Bloom filter (Definition 3), also with a caller's own bells.
 * WHY     Filters come and go as saved filters, through public functions and the documented format.
 * PAPER   docs/papers.md#the-gaussian-bloom-filter, Section 4.2 */
#include "opencl/gaussian.h"

#include <math.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/codec.h"
#include "core/detail.h"
#include "core/sized.h"
#include "filter/bloom/probe.h"

/* docs/format/gaussian.md; and what a kernel may read after the slots. */
enum { FIELD_BYTES = 80, ADDITIONS_AT = 40, LEVELS_AT = 64, WORD = 8, LEAST_TILE = 64 };

/* A caller's table has at most so many levels, and at most so many slots. */
#define MOST_LEVELS (UINT64_C(1) << 28)
#define MOST_SLOTS (UINT64_C(1) << 32)

uint64_t lethe_opencl_full_slot(uint32_t slot_bits) {
    if (slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) return 0x3f800000;
    if (slot_bits == LETHE_GAUSSIAN_DOUBLE_BITS) return UINT64_C(0x3ff0000000000000);
    return (1U << slot_bits) - 1;
}

/* A level as the device has it: steps, or the bits of a float or double. */
static uint64_t level_bits(double level, uint32_t slot_bits) {
    if (slot_bits <= LETHE_GAUSSIAN_MAX_SLOT_BITS) return (uint64_t)level;
    if (slot_bits == LETHE_GAUSSIAN_FLOAT_BITS) {
        float number = (float)level;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        return bits;
    }
    uint64_t bits;
    memcpy(&bits, &level, sizeof bits);
    return bits;
}

/* What a filter is made of on the host. */
struct plan {
    uint64_t *levels; /* as the device has them */
    uint64_t level_count;
    uint64_t firsts[LETHE_GAUSSIAN_MAX_HASHES + 1];
    const unsigned char *slots; /* NULL: all zero */
};

/* Sends everything that the filter has on the device. */
static lethe_status send_filter(lethe_opencl_gaussian *filter, const struct plan *plan,
                                lethe_detail *detail) {
    uint64_t powers[LETHE_GAUSSIAN_MAX_HASHES], power = 1;
    for (uint32_t i = 0; i < filter->hashes; i++)
        powers[i] = power *= LETHE_BLOOM_MULTIPLIER;
    struct lethe_opencl_job job = lethe_opencl_job_begin(filter->device, detail);
    size_t level_bytes = plan->level_count * sizeof *plan->levels;
    size_t first_bytes = (filter->hashes + 1) * sizeof *plan->firsts;
    filter->slots = lethe_opencl_job_buffer(&job, filter->slot_bytes + WORD);
    filter->levels = lethe_opencl_job_buffer(&job, level_bytes);
    filter->firsts = lethe_opencl_job_buffer(&job, first_bytes);
    filter->powers = lethe_opencl_job_buffer(&job, filter->hashes * sizeof *powers);
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(&job);
    lethe_opencl_job_write(&job, lane, filter->levels, plan->levels, level_bytes);
    lethe_opencl_job_write(&job, lane, filter->firsts, plan->firsts, first_bytes);
    lethe_opencl_job_write(&job, lane, filter->powers, powers, filter->hashes * sizeof *powers);
    lethe_opencl_job_zero(&job, lane, filter->slots, filter->slot_bytes + WORD);
    if (plan->slots != NULL)
        lethe_opencl_job_write(&job, lane, filter->slots, plan->slots, filter->slot_bytes);
    return lethe_opencl_job_end(&job);
}

void lethe_opencl_gaussian_free(lethe_opencl_gaussian *filter) {
    if (filter == NULL) return;
    lethe_opencl *device = filter->device;
    cl_mem buffers[] = {filter->slots, filter->levels, filter->firsts, filter->powers};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        if (buffers[i] != NULL) (void)device->calls->ReleaseMemObject(buffers[i]);
    }
    lethe_release(device->allocator, filter->head, filter->head_bytes);
    lethe_release(device->allocator, filter, sizeof *filter);
}

/* The bytes of the slots, in whole words. */
static size_t slot_bytes(uint64_t slots, uint32_t slot_bits) {
    return (size_t)((slots * slot_bits + 63) / 64 * WORD);
}

/* Takes the bells of a saved filter from its payload. */
static void plan_bells(struct plan *plan, const unsigned char *payload, uint32_t hashes,
                       uint32_t slot_bits) {
    const unsigned char *radii = payload + FIELD_BYTES, *levels = radii + (size_t)hashes * WORD;
    for (uint32_t i = 0; i < hashes; i++)
        plan->firsts[i + 1] = plan->firsts[i] + lethe_get_u64(radii + (size_t)i * WORD) + 1;
    for (uint64_t i = 0; i < plan->level_count; i++) {
        uint64_t bits = lethe_get_u64(levels + i * WORD);
        double level;
        memcpy(&level, &bits, sizeof level);
        plan->levels[i] = level_bits(level, slot_bits);
    }
}

/* Fills a filter from a saved one, whose payload is given. */
static lethe_status fill_from(lethe_opencl_gaussian *filter, const unsigned char *payload,
                              lethe_detail *detail) {
    const lethe_allocator *allocator = filter->device->allocator;
    struct plan plan = {.level_count = lethe_get_u64(payload + LEVELS_AT)};
    size_t head_bytes = FIELD_BYTES + (size_t)(filter->hashes + plan.level_count) * WORD;
    filter->head = lethe_alloc_zeroed(allocator, head_bytes);
    if (filter->head == NULL) return LETHE_ENOMEM;
    filter->head_bytes = head_bytes;
    memcpy(filter->head, payload, head_bytes);
    filter->additions = lethe_get_u64(payload + ADDITIONS_AT);
    plan.slots = payload + head_bytes;
    plan.levels = lethe_alloc_zeroed(allocator, plan.level_count * sizeof *plan.levels);
    if (plan.levels == NULL) return LETHE_ENOMEM;
    plan_bells(&plan, payload, filter->hashes, filter->slot_bits);
    lethe_status status = send_filter(filter, &plan, detail);
    lethe_release(allocator, plan.levels, plan.level_count * sizeof *plan.levels);
    return status;
}

lethe_status lethe_opencl_gaussian_upload(lethe_opencl *device, const lethe_gaussian *filter,
                                          lethe_opencl_form form, lethe_opencl_gaussian **out,
                                          lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (device == NULL || filter == NULL || form > LETHE_OPENCL_WHOLE || (int)form < 0)
        return LETHE_EINVAL;
    lethe_detail_clear(detail);
    lethe_gaussian_shape shape = LETHE_INIT(lethe_gaussian_shape);
    lethe_status status = lethe_gaussian_get_shape(filter, &shape);
    if (status != LETHE_OK) return status;
    lethe_memory_writer frame = {0};
    lethe_opencl_gaussian *made = lethe_alloc_zeroed(device->allocator, sizeof *made);
    if (made == NULL) return lethe_opencl_done(detail, LETHE_ENOMEM);
    *made = (lethe_opencl_gaussian){
        .device = device,
        .range = shape.slots,
        .hashes = shape.hashes,
        .slot_bits = shape.slot_bits,
        .radius = shape.radius,
        .tile = shape.radius > LEAST_TILE ? shape.radius : LEAST_TILE,
        .form = form,
        .slot_bytes = slot_bytes(shape.slots, shape.slot_bits),
        .capacity = shape.capacity,
        .error = shape.error,
        .seed = shape.seed,
    };
    status = lethe_gaussian_save(filter, lethe_sink_to_memory(&frame));
    if (status == LETHE_OK) {
        const unsigned char *bytes = frame.data;
        status = fill_from(made, bytes + LETHE_FRAME_HEADER_BYTES, detail);
    }
    lethe_memory_writer_free(&frame);
    if (status != LETHE_OK) {
        lethe_opencl_gaussian_free(made);
        return lethe_opencl_done(detail, status);
    }
    *out = made;
    return LETHE_OK;
}

/* Rounds a caller's level as filter/gaussian/bell.c does: only the middle is full. */
static uint64_t own_level(double value, uint64_t distance, uint32_t slot_bits) {
    uint64_t full = lethe_opencl_full_slot(slot_bits);
    if (distance == 0) return full;
    if (!(value > 0)) return 0; /* also for a negative zero */
    double top = slot_bits <= LETHE_GAUSSIAN_MAX_SLOT_BITS ? (double)full : 1;
    uint64_t bits = level_bits(value * top, slot_bits);
    return bits < full ? bits : full - 1;
}

static bool is_own_level(double value, uint64_t distance) {
    return distance == 0 ? value == 1 : value >= 0 && value < 1;
}

static bool are_valid(const lethe_opencl_field_options *options) {
    uint32_t bits = options->slot_bits;
    bool is_size = bits == LETHE_GAUSSIAN_FLOAT_BITS || bits == LETHE_GAUSSIAN_DOUBLE_BITS ||
                   (bits >= 1 && bits <= LETHE_GAUSSIAN_MAX_SLOT_BITS);
    return is_size && options->slots >= 1 && options->slots <= MOST_SLOTS && options->hashes >= 1 &&
           options->hashes <= LETHE_GAUSSIAN_MAX_HASHES && options->levels != NULL &&
           options->reach < options->slots && (options->reach + 1) * options->hashes <= MOST_LEVELS;
}

/* Makes the levels of a caller's bells; false if one of them is out of range. */
static bool plan_own(struct plan *plan, const lethe_opencl_field_options *options) {
    uint64_t row = options->reach + 1;
    for (uint32_t i = 0; i < options->hashes; i++) {
        plan->firsts[i + 1] = plan->firsts[i] + row;
        for (uint64_t distance = 0; distance < row; distance++) {
            double value = options->levels[i * row + distance];
            if (!is_own_level(value, distance)) return false;
            plan->levels[i * row + distance] = own_level(value, distance, options->slot_bits);
        }
    }
    return true;
}

lethe_status lethe_opencl_gaussian_new(lethe_opencl *device,
                                       const lethe_opencl_field_options *options,
                                       lethe_opencl_gaussian **out, lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (device == NULL || options == NULL) return LETHE_EINVAL;
    lethe_detail_clear(detail);
    lethe_opencl_field_options taken;
    lethe_status status = LETHE_TAKE(options, &taken, seed);
    if (status != LETHE_OK) return status;
    if (taken.slot_bits == 0) taken.slot_bits = LETHE_GAUSSIAN_FLOAT_BITS;
    if (!are_valid(&taken)) return LETHE_EINVAL;
    struct plan plan = {.level_count = (taken.reach + 1) * taken.hashes};
    size_t level_bytes = (size_t)plan.level_count * sizeof *plan.levels;
    plan.levels = lethe_alloc_zeroed(device->allocator, level_bytes);
    lethe_opencl_gaussian *made = lethe_alloc_zeroed(device->allocator, sizeof *made);
    if (plan.levels == NULL || made == NULL) {
        status = LETHE_ENOMEM;
    } else if (!plan_own(&plan, &taken)) {
        status = LETHE_EINVAL;
    }
    if (made != NULL) {
        *made = (lethe_opencl_gaussian){
            .device = device,
            .range = taken.slots,
            .hashes = taken.hashes,
            .slot_bits = taken.slot_bits,
            .radius = taken.reach,
            .form = LETHE_OPENCL_WHOLE,
            .slot_bytes = slot_bytes(taken.slots, taken.slot_bits),
            .seed = taken.seed != 0 ? taken.seed : LETHE_DEFAULT_SEED,
        };
    }
    if (status == LETHE_OK) status = send_filter(made, &plan, detail);
    lethe_release(device->allocator, plan.levels, level_bytes);
    if (status != LETHE_OK) {
        lethe_opencl_gaussian_free(made);
        return lethe_opencl_done(detail, status);
    }
    *out = made;
    return LETHE_OK;
}
