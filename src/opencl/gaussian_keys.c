/* opencl/gaussian_keys.c - adds keys to a Gaussian Bloom filter on a device, and tests them.
 *
 * An insertion reads slots, raises them and writes them back, so two insertions must not run at the
 * same time, though their pieces are in different lanes: they are chained. Everything else of a
 * piece, from its transfer to its lists, overlaps with the insertion of the piece before. */
#include <string.h>

#include "opencl/gaussian.h"

/* Sorts the positions of a piece into lists, and raises the slots that they can reach. */
static void insert_local(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                         const lethe_opencl_gaussian *filter, cl_mem places, cl_ulong place_count,
                         uint64_t groups) {
    size_t heads_bytes = (size_t)(filter->range / filter->tile + 1) * sizeof(cl_uint);
    cl_mem heads = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_HEADS, heads_bytes);
    cl_mem nexts = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_NEXTS,
                                            (size_t)place_count * sizeof(cl_uint));
    cl_ulong range = filter->range, radius = filter->radius, tile = filter->tile;
    cl_uint bits = filter->slot_bits, functions = filter->hashes;
    lethe_opencl_job_zero(job, lane, heads, heads_bytes);
    LETHE_OPENCL_RUN(job, lane, link_places, place_count, false, BUFFER(places),
                     NUMBER(place_count), NUMBER(tile), BUFFER(heads), BUFFER(nexts));
    LETHE_OPENCL_RUN(job, lane, insert_local, groups, true, BUFFER(filter->slots), NUMBER(range),
                     NUMBER(bits), BUFFER(places), NUMBER(functions), BUFFER(filter->levels),
                     BUFFER(filter->firsts), NUMBER(radius), NUMBER(tile), BUFFER(heads),
                     BUFFER(nexts));
}

static size_t add_piece(struct lethe_opencl_job *job, const lethe_opencl_gaussian *filter,
                        const struct lethe_opencl_keys *keys, size_t first) {
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(job);
    size_t some = lethe_opencl_send_keys(job, lane, keys, first);
    cl_ulong range = filter->range, number = some, place_count = number * filter->hashes;
    cl_uint bits = filter->slot_bits, functions = filter->hashes;
    cl_mem hashes = lane->buffers[LETHE_OPENCL_HASHES].memory;
    cl_mem places = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_PLACES,
                                             (size_t)place_count * sizeof(cl_ulong));
    LETHE_OPENCL_RUN(job, lane, find_places, place_count, false, BUFFER(hashes), NUMBER(number),
                     NUMBER(functions), BUFFER(filter->powers), NUMBER(range), BUFFER(places));
    uint64_t owned = bits > LETHE_GAUSSIAN_MAX_SLOT_BITS ? 1 : 8;
    uint64_t groups = (filter->range + owned - 1) / owned;
    if (filter->form == LETHE_OPENCL_LOCAL) {
        insert_local(job, lane, filter, places, place_count, groups);
    } else {
        LETHE_OPENCL_RUN(job, lane, insert_whole, groups, true, BUFFER(filter->slots),
                         NUMBER(range), NUMBER(bits), BUFFER(places), NUMBER(place_count),
                         NUMBER(functions), BUFFER(filter->levels), BUFFER(filter->firsts));
    }
    lethe_opencl_job_flush(job, lane);
    return some;
}

static lethe_status add_all(lethe_opencl_gaussian *filter, const struct lethe_opencl_keys *keys,
                            lethe_detail *detail) {
    if (!lethe_opencl_are_keys(keys)) return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(filter->device, detail);
    for (size_t first = 0; first < keys->count && job.status == LETHE_OK;)
        first += add_piece(&job, filter, keys, first);
    lethe_status status = lethe_opencl_job_end(&job);
    if (status == LETHE_OK) filter->additions += keys->count;
    return status;
}

lethe_status lethe_opencl_gaussian_add_batch(lethe_opencl_gaussian *filter,
                                             const lethe_hash *hashes, size_t count,
                                             lethe_detail *detail) {
    if (filter == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_keys keys = {.hashes = hashes, .count = count};
    return add_all(filter, &keys, detail);
}

lethe_status lethe_opencl_gaussian_add_key_batch(lethe_opencl_gaussian *filter,
                                                 const lethe_bytes *keys, size_t count,
                                                 lethe_detail *detail) {
    if (filter == NULL) return LETHE_EINVAL;
    struct lethe_opencl_keys all = {.bytes = keys, .count = count, .seed = filter->seed};
    return add_all(filter, &all, detail);
}

static size_t test_piece(struct lethe_opencl_job *job, const lethe_opencl_gaussian *filter,
                         const struct lethe_opencl_keys *keys, size_t first, uint8_t *present) {
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(job);
    size_t some = lethe_opencl_send_keys(job, lane, keys, first);
    cl_ulong range = filter->range, number = some;
    cl_uint bits = filter->slot_bits, functions = filter->hashes;
    cl_mem hashes = lane->buffers[LETHE_OPENCL_HASHES].memory;
    cl_mem flags = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_FLAGS, some);
    LETHE_OPENCL_RUN(job, lane, test_keys, some, false, BUFFER(filter->slots), NUMBER(range),
                     NUMBER(bits), BUFFER(hashes), NUMBER(number), NUMBER(functions),
                     BUFFER(filter->powers), BUFFER(filter->levels), BUFFER(filter->firsts),
                     BUFFER(flags));
    lethe_opencl_job_read(job, lane, flags, present + first, some);
    lethe_opencl_job_flush(job, lane);
    return some;
}

static lethe_status test_all(lethe_opencl_gaussian *filter, const struct lethe_opencl_keys *keys,
                             uint8_t *present, lethe_detail *detail) {
    if (!lethe_opencl_are_keys(keys) || (present == NULL && keys->count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(filter->device, detail);
    for (size_t first = 0; first < keys->count && job.status == LETHE_OK;)
        first += test_piece(&job, filter, keys, first, present);
    lethe_status status = lethe_opencl_job_end(&job);
    if (status != LETHE_OK && keys->count > 0) memset(present, 0, keys->count);
    return status;
}

lethe_status lethe_opencl_gaussian_test_batch(lethe_opencl_gaussian *filter,
                                              const lethe_hash *hashes, size_t count,
                                              uint8_t *present, lethe_detail *detail) {
    if (filter == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_keys keys = {.hashes = hashes, .count = count};
    return test_all(filter, &keys, present, detail);
}

lethe_status lethe_opencl_gaussian_test_key_batch(lethe_opencl_gaussian *filter,
                                                  const lethe_bytes *keys, size_t count,
                                                  uint8_t *present, lethe_detail *detail) {
    if (filter == NULL) return LETHE_EINVAL;
    struct lethe_opencl_keys all = {.bytes = keys, .count = count, .seed = filter->seed};
    return test_all(filter, &all, present, detail);
}
