/* opencl/gaussian_down.c - brings a Gaussian Bloom filter back from a device: as a filter, as the
 * Bloom filter underneath, as numbers.
 *
 * The bytes from the device and those that the host has kept make a saved filter, which is loaded.
 * So a filter that a device has spoilt is found out. */
#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/codec.h"
#include "core/detail.h"
#include "filter/bloom/frame.h"
#include "opencl/gaussian.h"

/* docs/format/gaussian.md */
enum { VERSION = 1, ADDITIONS_AT = 40 };

/* Reads a buffer of the device into memory of its own, which the caller releases. */
static lethe_status fetch(lethe_opencl_gaussian *filter, struct lethe_opencl_job *job,
                          struct lethe_opencl_lane *lane, cl_mem from, size_t bytes,
                          unsigned char **out) {
    *out = lethe_alloc_zeroed(filter->device->allocator, bytes);
    if (*out == NULL && job->status == LETHE_OK)
        job->status = lethe_detail_fill(job->detail, LETHE_ENOMEM, "not enough memory for slots");
    lethe_opencl_job_read(job, lane, from, *out, bytes);
    return lethe_opencl_job_end(job);
}

static lethe_status fetch_slots(lethe_opencl_gaussian *filter, unsigned char **out,
                                lethe_detail *detail) {
    struct lethe_opencl_job job = lethe_opencl_job_begin(filter->device, detail);
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(&job);
    return fetch(filter, &job, lane, filter->slots, filter->slot_bytes, out);
}

static lethe_status fail_load(lethe_opencl_gaussian *filter, lethe_status status,
                              lethe_detail *detail) {
    if (status != LETHE_ECORRUPT) return lethe_opencl_done(detail, status);
    return lethe_detail_fill(detail, LETHE_EDEVICE,
                             "the OpenCL device %s has returned what is no filter",
                             filter->device->info.name);
}

lethe_status lethe_opencl_gaussian_download(lethe_opencl_gaussian *filter, lethe_gaussian **out,
                                            lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL || filter->head == NULL) return LETHE_EINVAL;
    const lethe_allocator *allocator = filter->device->allocator;
    unsigned char *slots;
    lethe_memory_writer frame = {0};
    lethe_encoder *encoder;
    lethe_status status = fetch_slots(filter, &slots, detail);
    if (status == LETHE_OK) {
        status = lethe_encoder_begin(lethe_sink_to_memory(&frame), "GAUS", VERSION,
                                     filter->head_bytes + filter->slot_bytes, allocator, &encoder);
    }
    if (status == LETHE_OK) {
        lethe_put_u64(filter->head + ADDITIONS_AT, filter->additions);
        lethe_encoder_put_bytes(encoder, filter->head, filter->head_bytes);
        lethe_encoder_put_bytes(encoder, slots, filter->slot_bytes);
        status = lethe_encoder_end(encoder);
    }
    lethe_memory_reader reader = {.data = frame.data, .size = frame.size};
    if (status == LETHE_OK)
        status = lethe_gaussian_load(lethe_source_from_memory(&reader), allocator, out);
    lethe_memory_writer_free(&frame);
    lethe_release(allocator, slots, filter->slot_bytes);
    return fail_load(filter, status, detail);
}

/* A Bloom filter out of its bits. */
static lethe_status make_bloom(lethe_opencl_gaussian *filter, const unsigned char *bits,
                               size_t bytes, lethe_bloom **out) {
    const lethe_allocator *allocator = filter->device->allocator;
    lethe_memory_writer frame = {0};
    lethe_encoder *encoder;
    const lethe_bloom_shape shape = {.size = sizeof shape,
                                     .layout = LETHE_BLOOM_CLASSIC,
                                     .hashes = filter->hashes,
                                     .bits = filter->range,
                                     .seed = filter->seed,
                                     .capacity = filter->capacity,
                                     .error = filter->error,
                                     .memory_bytes = bytes};
    lethe_status status = lethe_bloom_frame_begin(lethe_sink_to_memory(&frame), &shape,
                                                  filter->additions, allocator, &encoder);
    if (status == LETHE_OK) {
        lethe_encoder_put_bytes(encoder, bits, bytes);
        status = lethe_encoder_end(encoder);
    }
    lethe_memory_reader reader = {.data = frame.data, .size = frame.size};
    if (status == LETHE_OK)
        status = lethe_bloom_load(lethe_source_from_memory(&reader), allocator, out);
    lethe_memory_writer_free(&frame);
    return status;
}

lethe_status lethe_opencl_gaussian_extract(lethe_opencl_gaussian *filter, lethe_bloom **out,
                                           lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (filter == NULL) return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(filter->device, detail);
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(&job);
    uint64_t words = (filter->range + 63) / 64;
    size_t bytes = (size_t)words * sizeof(cl_ulong);
    cl_mem found = lethe_opencl_job_reserve(&job, lane, LETHE_OPENCL_COUNTS, bytes);
    cl_ulong range = filter->range, full = lethe_opencl_full_slot(filter->slot_bits);
    cl_uint slot_bits = filter->slot_bits;
    LETHE_OPENCL_RUN(&job, lane, extract_bits, words, false, BUFFER(filter->slots), NUMBER(range),
                     NUMBER(slot_bits), NUMBER(full), BUFFER(found));
    unsigned char *bits;
    lethe_status status = fetch(filter, &job, lane, found, bytes, &bits);
    if (status == LETHE_OK) status = make_bloom(filter, bits, bytes, out);
    lethe_release(filter->device->allocator, bits, bytes);
    return fail_load(filter, status, detail);
}

/* A slot as a number from 0 to 1. */
static double slot_value(const unsigned char *slots, uint64_t slot, uint32_t bits) {
    if (bits == LETHE_GAUSSIAN_DOUBLE_BITS) {
        double value;
        memcpy(&value, slots + slot * sizeof value, sizeof value);
        return value;
    }
    if (bits == LETHE_GAUSSIAN_FLOAT_BITS) {
        float value;
        memcpy(&value, slots + slot * sizeof value, sizeof value);
        return value;
    }
    unsigned level = 0;
    for (uint32_t i = 0; i < bits; i++) {
        uint64_t bit = slot * bits + i;
        level |= (unsigned)(slots[bit / 8] >> bit % 8 & 1) << i;
    }
    return level / (double)lethe_opencl_full_slot(bits);
}

lethe_status lethe_opencl_gaussian_read(lethe_opencl_gaussian *filter, double *values, size_t count,
                                        lethe_detail *detail) {
    if (filter == NULL || values == NULL || count != filter->range) return LETHE_EINVAL;
    unsigned char *slots;
    lethe_status status = fetch_slots(filter, &slots, detail);
    for (size_t i = 0; i < count; i++)
        values[i] = status == LETHE_OK ? slot_value(slots, i, filter->slot_bits) : 0;
    lethe_release(filter->device->allocator, slots, filter->slot_bytes);
    return status;
}
