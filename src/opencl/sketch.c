/* opencl/sketch.c - a sketch's part that answers, on a device.
 *
 * IDEA    Queries of count-min, conservative and FID sketches are the same: depth loads and the
 *         least of them. A log sketch looks the least level up in a table of the values of all
 *         levels; a count sketch takes a median. One work item per key, and nothing is written.
 * LAYOUT  The counters as an export has them: rows one after the other, each counter in its own
 *         size, little-endian. So an export is transferred as it is.
 * I1      `fields` are the fields of an export of this sketch, its total as of now. With the
 *         counters they are an export again, or a whole count-min sketch.
 * I2      New counters come in a second buffer: a transfer that fails changes nothing.
 * WHY     Sketches come and go as exports, through public functions and the documented format. This
 *         library knows nothing of how a lethe_sketch lies in memory.
 * PAPER   docs/papers.md#the-fid-sketch, Section 4.3.2 */
#include <assert.h>
#include <string.h>

#include "core/allocator.h"
#include "core/bytes.h"
#include "core/codec.h"
#include "core/detail.h"
#include "core/sized.h"
#include "opencl/device.h"
#include "sketch/scale.h"

/* docs/format/sketch.md: version 2 has one field more. */
enum { FIELD_BYTES = 64, MOST_FIELD_BYTES = 72, TOTAL_AT = 40, WORD = 8 };

struct lethe_opencl_sketch {
    lethe_opencl *device;
    cl_mem cells;
    /* Log: what each level stands for. Other kinds: a buffer that is not looked at. */
    cl_mem values;
    size_t cell_bytes, field_bytes;
    lethe_sketch_shape shape;
    unsigned char fields[MOST_FIELD_BYTES];
    /* All there is to the sketch: a count-min sketch that does not keep the top. */
    bool is_whole;
    /* An addition failed halfway. */
    bool is_broken;
};

static bool is_count_kind(const lethe_sketch_shape *shape) {
    return shape->kind == LETHE_SKETCH_COUNT;
}

/* Where a frame's fields and counters begin. */
static const unsigned char *payload(const lethe_memory_writer *frame) {
    return (const unsigned char *)frame->data + LETHE_FRAME_HEADER_BYTES;
}

/* The counters of an export, which come after its fields: whole words of them. */
static size_t cell_bytes_of(const lethe_sketch_shape *shape) {
    size_t bytes = (size_t)(shape->width * shape->depth * (shape->counter_bits / 8));
    return (bytes + WORD - 1) / WORD * WORD;
}

/* Sends the counters of an export, a frame, to a buffer of their own; NULL after an error. */
static cl_mem send_cells(struct lethe_opencl_job *job, const lethe_memory_writer *frame,
                         size_t bytes) {
    const unsigned char *end = (const unsigned char *)frame->data + frame->size;
    const unsigned char *first =
        end - (LETHE_FRAME_OVERHEAD_BYTES - LETHE_FRAME_HEADER_BYTES) - bytes;
    cl_mem cells = lethe_opencl_job_buffer(job, bytes);
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(job);
    lethe_opencl_job_write(job, lane, cells, first, bytes);
    return cells;
}

/* The values of all levels of a log sketch. */
static lethe_status send_values(lethe_opencl *device, uint32_t counter_bits, cl_mem *out,
                                lethe_detail *detail) {
    struct lethe_scale scale;
    lethe_scale_init(&scale, counter_bits);
    uint64_t levels = UINT64_C(1) << counter_bits;
    size_t bytes = levels * sizeof(uint64_t);
    uint64_t *values = lethe_alloc_zeroed(device->allocator, bytes);
    if (values == NULL)
        return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory for a table of levels");
    for (uint64_t level = 0; level < levels; level++)
        values[level] = lethe_scale_count(&scale, level);
    struct lethe_opencl_job job = lethe_opencl_job_begin(device, detail);
    *out = lethe_opencl_job_buffer(&job, bytes);
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(&job);
    lethe_opencl_job_write(&job, lane, *out, values, bytes);
    lethe_status status = lethe_opencl_job_end(&job);
    lethe_release(device->allocator, values, bytes);
    return status;
}

/* Sends the counters of a host's sketch, and takes them over when they are all there. */
static lethe_status take_cells(lethe_opencl_sketch *sketch, const lethe_sketch *from,
                               lethe_detail *detail) {
    lethe_memory_writer frame = {0};
    lethe_status status = lethe_sketch_export(from, lethe_sink_to_memory(&frame));
    if (status == LETHE_OK) {
        struct lethe_opencl_job job = lethe_opencl_job_begin(sketch->device, detail);
        size_t cell_bytes = cell_bytes_of(&sketch->shape);
        cl_mem cells = send_cells(&job, &frame, cell_bytes);
        status = lethe_opencl_job_end(&job);
        cl_mem unwanted = status == LETHE_OK ? sketch->cells : cells;
        if (unwanted != NULL) (void)sketch->device->calls->ReleaseMemObject(unwanted);
        if (status == LETHE_OK) {
            sketch->cells = cells;
            sketch->cell_bytes = cell_bytes;
            sketch->field_bytes = frame.size - LETHE_FRAME_OVERHEAD_BYTES - cell_bytes;
            sketch->is_broken = false;
            assert(sketch->field_bytes <= sizeof sketch->fields);
            memcpy(sketch->fields, payload(&frame), sketch->field_bytes);
        }
    }
    lethe_memory_writer_free(&frame);
    return status;
}

static lethe_status make(lethe_opencl *device, const lethe_sketch *from, lethe_opencl_sketch **out,
                         lethe_detail *detail) {
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    lethe_sketch_stats stats = LETHE_INIT(lethe_sketch_stats);
    lethe_status status = lethe_sketch_get_shape(from, &shape);
    if (status == LETHE_OK) status = lethe_sketch_info(from, &stats);
    if (status != LETHE_OK) return status;
    lethe_opencl_sketch *sketch = lethe_alloc_zeroed(device->allocator, sizeof *sketch);
    if (sketch == NULL) return LETHE_ENOMEM;
    *sketch = (lethe_opencl_sketch){.device = device,
                                    .shape = shape,
                                    .is_whole = shape.kind == LETHE_SKETCH_COUNT_MIN &&
                                                shape.top == 0 && !stats.query_only};
    status = take_cells(sketch, from, detail);
    if (status == LETHE_OK && shape.kind == LETHE_SKETCH_LOG)
        status = send_values(device, shape.counter_bits, &sketch->values, detail);
    if (status != LETHE_OK) {
        lethe_opencl_sketch_free(sketch);
        return status;
    }
    *out = sketch;
    return LETHE_OK;
}

lethe_status lethe_opencl_sketch_upload(lethe_opencl *device, const lethe_sketch *sketch,
                                        lethe_opencl_sketch **out, lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (device == NULL || sketch == NULL) return LETHE_EINVAL;
    lethe_detail_clear(detail);
    return lethe_opencl_done(detail, make(device, sketch, out, detail));
}

/* Reads an export on the host, which checks it. */
static lethe_status read_export(lethe_opencl *device, lethe_source source, lethe_sketch **out,
                                lethe_detail *detail) {
    lethe_detail_clear(detail);
    lethe_status status = lethe_sketch_import(source, device->allocator, out);
    if (status == LETHE_OK || status == LETHE_EINVAL) return status;
    return lethe_detail_fill(detail, status, "cannot read an export: %s", lethe_strerror(status));
}

lethe_status lethe_opencl_sketch_import(lethe_opencl *device, lethe_source source,
                                        lethe_opencl_sketch **out, lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (device == NULL) return LETHE_EINVAL;
    lethe_sketch *host;
    lethe_status status = read_export(device, source, &host, detail);
    if (status != LETHE_OK) return status;
    status = make(device, host, out, detail);
    lethe_sketch_free(host);
    return lethe_opencl_done(detail, status);
}

void lethe_opencl_sketch_free(lethe_opencl_sketch *sketch) {
    if (sketch == NULL) return;
    lethe_opencl *device = sketch->device;
    if (sketch->cells != NULL) (void)device->calls->ReleaseMemObject(sketch->cells);
    if (sketch->values != NULL) (void)device->calls->ReleaseMemObject(sketch->values);
    lethe_release(device->allocator, sketch, sizeof *sketch);
}

lethe_status lethe_opencl_sketch_apply(lethe_opencl_sketch *sketch, lethe_source source,
                                       lethe_detail *detail) {
    if (sketch == NULL) return LETHE_EINVAL;
    lethe_sketch *newer;
    lethe_status status = read_export(sketch->device, source, &newer, detail);
    if (status != LETHE_OK) return status;
    lethe_sketch_shape a = sketch->shape, b = LETHE_INIT(lethe_sketch_shape);
    status = lethe_sketch_get_shape(newer, &b);
    if (status == LETHE_OK && (a.kind != b.kind || a.width != b.width || a.depth != b.depth ||
                               a.counter_bits != b.counter_bits || a.seed != b.seed)) {
        status = lethe_detail_fill(detail, LETHE_EMISMATCH, "the export is of another sketch");
    }
    if (status == LETHE_OK) status = take_cells(sketch, newer, detail);
    lethe_sketch_free(newer);
    return lethe_opencl_done(detail, status);
}

lethe_status lethe_opencl_sketch_get_shape(const lethe_opencl_sketch *sketch,
                                           lethe_sketch_shape *out) {
    if (sketch == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&sketch->shape, out, query_memory_bytes);
}

static lethe_status fail_broken(const lethe_opencl_sketch *sketch, lethe_detail *detail) {
    return lethe_detail_fill(detail, LETHE_EDEVICE,
                             "an addition failed halfway on the OpenCL device %s: the counters of "
                             "the sketch there are not known",
                             sketch->device->info.name);
}

/* Sends one piece of queries: keys, kernel, answers. */
static size_t count_piece(struct lethe_opencl_job *job, const lethe_opencl_sketch *sketch,
                          const struct lethe_opencl_keys *keys, size_t first, uint64_t *counts,
                          uint8_t *saturated) {
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(job);
    size_t some = lethe_opencl_send_keys(job, lane, keys, first);
    cl_mem answers =
        lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_COUNTS, some * sizeof *counts);
    cl_mem flags = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_FLAGS, some);
    cl_mem hashes = lane->buffers[LETHE_OPENCL_HASHES].memory;
    cl_mem values = sketch->values != NULL ? sketch->values : sketch->cells;
    cl_ulong width = sketch->shape.width, number = some;
    cl_uint depth = sketch->shape.depth, is_log = sketch->values != NULL;
    cl_uint size = (cl_uint)__builtin_ctz(sketch->shape.counter_bits / 8);
    if (is_count_kind(&sketch->shape)) {
        LETHE_OPENCL_RUN(job, lane, count_signed, some, false, BUFFER(sketch->cells), NUMBER(width),
                         NUMBER(depth), NUMBER(size), BUFFER(hashes), NUMBER(number),
                         BUFFER(answers), BUFFER(flags));
    } else {
        LETHE_OPENCL_RUN(job, lane, count_least, some, false, BUFFER(sketch->cells), NUMBER(width),
                         NUMBER(depth), NUMBER(size), BUFFER(hashes), NUMBER(number),
                         NUMBER(is_log), BUFFER(values), BUFFER(answers), BUFFER(flags));
    }
    lethe_opencl_job_read(job, lane, answers, counts + first, some * sizeof *counts);
    if (saturated != NULL) lethe_opencl_job_read(job, lane, flags, saturated + first, some);
    lethe_opencl_job_flush(job, lane);
    return some;
}

static lethe_status count_all(lethe_opencl_sketch *sketch, const struct lethe_opencl_keys *keys,
                              uint64_t *counts, uint8_t *saturated, lethe_detail *detail) {
    if (!lethe_opencl_are_keys(keys) || (counts == NULL && keys->count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(sketch->device, detail);
    if (sketch->is_broken) job.status = fail_broken(sketch, detail);
    for (size_t first = 0; first < keys->count && job.status == LETHE_OK;)
        first += count_piece(&job, sketch, keys, first, counts, saturated);
    lethe_status status = lethe_opencl_job_end(&job);
    if (status == LETHE_OK || keys->count == 0) return status;
    memset(counts, 0, keys->count * sizeof *counts);
    if (saturated != NULL) memset(saturated, 0, keys->count);
    return status;
}

lethe_status lethe_opencl_sketch_count_batch(lethe_opencl_sketch *sketch, const lethe_hash *hashes,
                                             size_t count, uint64_t *counts, uint8_t *saturated,
                                             lethe_detail *detail) {
    if (sketch == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_keys keys = {.hashes = hashes, .count = count};
    return count_all(sketch, &keys, counts, saturated, detail);
}

lethe_status lethe_opencl_sketch_count_key_batch(lethe_opencl_sketch *sketch,
                                                 const lethe_bytes *keys, size_t count,
                                                 uint64_t *counts, uint8_t *saturated,
                                                 lethe_detail *detail) {
    if (sketch == NULL) return LETHE_EINVAL;
    struct lethe_opencl_keys all = {.bytes = keys, .count = count, .seed = sketch->shape.seed};
    return count_all(sketch, &all, counts, saturated, detail);
}

static size_t add_piece(struct lethe_opencl_job *job, const lethe_opencl_sketch *sketch,
                        const struct lethe_opencl_keys *keys, size_t first,
                        const uint64_t *weights) {
    struct lethe_opencl_lane *lane = lethe_opencl_job_lane(job);
    size_t some = lethe_opencl_send_keys(job, lane, keys, first);
    cl_mem hashes = lane->buffers[LETHE_OPENCL_HASHES].memory, sent = hashes;
    if (weights != NULL) {
        size_t bytes = some * sizeof *weights;
        sent = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_WEIGHTS, bytes);
        lethe_opencl_job_write(job, lane, sent, weights + first, bytes);
    }
    cl_ulong width = sketch->shape.width, number = some;
    cl_uint depth = sketch->shape.depth, is_weighted = weights != NULL;
    cl_uint size = (cl_uint)__builtin_ctz(sketch->shape.counter_bits / 8);
    LETHE_OPENCL_RUN(job, lane, add_count_min, some, false, BUFFER(sketch->cells), NUMBER(width),
                     NUMBER(depth), NUMBER(size), BUFFER(hashes), NUMBER(number),
                     NUMBER(is_weighted), BUFFER(sent));
    lethe_opencl_job_flush(job, lane);
    return some;
}

/* The total of all weights, which stays at the largest value; false if one of them is 0. */
static bool sum_weights(const uint64_t *weights, size_t count, uint64_t *total) {
    for (size_t i = 0; i < count; i++) {
        uint64_t weight = weights != NULL ? weights[i] : 1;
        if (weight == 0) return false;
        if (__builtin_add_overflow(*total, weight, total)) *total = UINT64_MAX;
    }
    return true;
}

static lethe_status add_all(lethe_opencl_sketch *sketch, const struct lethe_opencl_keys *keys,
                            const uint64_t *weights, lethe_detail *detail) {
    if (!lethe_opencl_are_keys(keys) || !sketch->is_whole) return LETHE_EINVAL;
    if (sketch->shape.counter_bits == 64 && !sketch->device->has_wide_atomics) return LETHE_EINVAL;
    uint64_t total = lethe_get_u64(sketch->fields + TOTAL_AT);
    if (!sum_weights(weights, keys->count, &total)) return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(sketch->device, detail);
    if (sketch->is_broken) job.status = fail_broken(sketch, detail);
    for (size_t first = 0; first < keys->count && job.status == LETHE_OK;)
        first += add_piece(&job, sketch, keys, first, weights);
    lethe_status status = lethe_opencl_job_end(&job);
    if (status == LETHE_OK) {
        lethe_put_u64(sketch->fields + TOTAL_AT, total);
    } else {
        sketch->is_broken = true;
    }
    return status;
}

lethe_status lethe_opencl_sketch_add_batch(lethe_opencl_sketch *sketch, const lethe_hash *hashes,
                                           size_t count, const uint64_t *weights,
                                           lethe_detail *detail) {
    if (sketch == NULL || (hashes == NULL && count > 0)) return LETHE_EINVAL;
    struct lethe_opencl_keys keys = {.hashes = hashes, .count = count};
    return add_all(sketch, &keys, weights, detail);
}

lethe_status lethe_opencl_sketch_add_key_batch(lethe_opencl_sketch *sketch, const lethe_bytes *keys,
                                               size_t count, const uint64_t *weights,
                                               lethe_detail *detail) {
    if (sketch == NULL) return LETHE_EINVAL;
    struct lethe_opencl_keys all = {.bytes = keys, .count = count, .seed = sketch->shape.seed};
    return add_all(sketch, &all, weights, detail);
}

/* A whole sketch or an export, out of the fields and the counters. */
static lethe_status rebuild(const lethe_opencl_sketch *sketch, const void *cells,
                            lethe_sketch **out) {
    const lethe_allocator *allocator = sketch->device->allocator;
    lethe_memory_writer frame = {0};
    lethe_encoder *encoder;
    uint16_t version = sketch->field_bytes > FIELD_BYTES ? 2 : 1;
    lethe_status status =
        lethe_encoder_begin(lethe_sink_to_memory(&frame), sketch->is_whole ? "SKCH" : "SKFQ",
                            version, sketch->field_bytes + sketch->cell_bytes, allocator, &encoder);
    if (status == LETHE_OK) {
        lethe_encoder_put_bytes(encoder, sketch->fields, sketch->field_bytes);
        lethe_encoder_put_bytes(encoder, cells, sketch->cell_bytes);
        status = lethe_encoder_end(encoder);
    }
    lethe_memory_reader reader = {.data = frame.data, .size = frame.size};
    lethe_source source = lethe_source_from_memory(&reader);
    if (status == LETHE_OK) {
        status = sketch->is_whole ? lethe_sketch_load(source, allocator, out)
                                  : lethe_sketch_import(source, allocator, out);
    }
    lethe_memory_writer_free(&frame);
    return status;
}

lethe_status lethe_opencl_sketch_download(lethe_opencl_sketch *sketch, lethe_sketch **out,
                                          lethe_detail *detail) {
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    if (sketch == NULL) return LETHE_EINVAL;
    lethe_opencl *device = sketch->device;
    struct lethe_opencl_job job = lethe_opencl_job_begin(device, detail);
    if (sketch->is_broken) job.status = fail_broken(sketch, detail);
    void *cells = lethe_alloc_zeroed(device->allocator, sketch->cell_bytes);
    if (cells == NULL && job.status == LETHE_OK) {
        job.status = lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory for the counters");
    }
    lethe_opencl_job_read(&job, lethe_opencl_job_lane(&job), sketch->cells, cells,
                          sketch->cell_bytes);
    lethe_status status = lethe_opencl_job_end(&job);
    if (status == LETHE_OK) status = rebuild(sketch, cells, out);
    lethe_release(device->allocator, cells, sketch->cell_bytes);
    return lethe_opencl_done(detail, status);
}
