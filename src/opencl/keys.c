/* opencl/keys.c - sends keys to a device, and has it hash those that are not hashed.
 *
 * Keys lie anywhere in the host's memory. For the transfer they are collected one after the other,
 * with the offset of each and of the end. A piece has at most the device's batch of keys and about
 * PIECE_BYTES bytes; a single key may be longer. */
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "opencl/device.h"

enum { PIECE_BYTES = 16 << 20 };

bool lethe_opencl_are_keys(const struct lethe_opencl_keys *keys) {
    if (keys->count == 0) return true;
    if (keys->hashes != NULL) return true;
    if (keys->bytes == NULL) return false;
    for (size_t i = 0; i < keys->count; i++) {
        if (keys->bytes[i].data == NULL && keys->bytes[i].size > 0) return false;
    }
    return true;
}

/* Makes *block at least so large; what it held is lost. */
static bool make_room(struct lethe_opencl_job *job, void **block, size_t *room, size_t bytes) {
    if (*room >= bytes) return true;
    void *larger = lethe_alloc_zeroed(job->device->allocator, bytes);
    if (larger == NULL) {
        job->status = lethe_detail_fill(job->detail, LETHE_ENOMEM,
                                        "not enough memory to collect keys for a transfer");
        return false;
    }
    lethe_release(job->device->allocator, *block, *room);
    *block = larger;
    *room = bytes;
    return true;
}

/* Collects keys from number first on in the lane; the number of them. */
static size_t collect(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                      const struct lethe_opencl_keys *keys, size_t first) {
    size_t count = 0, bytes = 0, most = job->device->batch;
    if (most > keys->count - first) most = keys->count - first;
    while (count < most && (count == 0 || bytes < PIECE_BYTES))
        bytes += keys->bytes[first + count++].size;
    void *bytes_block = lane->bytes, *offsets_block = lane->offsets;
    bool fits = make_room(job, &bytes_block, &lane->bytes_room, bytes > 0 ? bytes : 1);
    lane->bytes = bytes_block;
    fits = fits &&
           make_room(job, &offsets_block, &lane->offsets_room, (count + 1) * sizeof *lane->offsets);
    lane->offsets = offsets_block;
    if (!fits) return count;
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        lethe_bytes key = keys->bytes[first + i];
        lane->offsets[i] = end;
        if (key.size > 0) memcpy(lane->bytes + end, key.data, key.size);
        end += key.size;
    }
    lane->offsets[count] = end;
    return count;
}

size_t lethe_opencl_send_keys(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                              const struct lethe_opencl_keys *keys, size_t first) {
    if (keys->hashes != NULL) {
        size_t left = keys->count - first;
        size_t count = left < job->device->batch ? left : job->device->batch;
        cl_mem hashes =
            lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_HASHES, count * sizeof(lethe_hash));
        lethe_opencl_job_write(job, lane, hashes, keys->hashes + first, count * sizeof(lethe_hash));
        return count;
    }
    size_t count = collect(job, lane, keys, first);
    if (job->status != LETHE_OK) return count;
    size_t size = (size_t)lane->offsets[count], offsets_size = (count + 1) * sizeof(uint64_t);
    cl_mem bytes = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_BYTES, size);
    cl_mem offsets = lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_OFFSETS, offsets_size);
    cl_mem hashes =
        lethe_opencl_job_reserve(job, lane, LETHE_OPENCL_HASHES, count * sizeof(lethe_hash));
    lethe_opencl_job_write(job, lane, bytes, lane->bytes, size);
    lethe_opencl_job_write(job, lane, offsets, lane->offsets, offsets_size);
    cl_ulong number = count, seed = keys->seed;
    LETHE_OPENCL_RUN(job, lane, hash_keys, count, false, BUFFER(bytes), BUFFER(offsets),
                     NUMBER(number), NUMBER(seed), BUFFER(hashes));
    return count;
}

lethe_status lethe_opencl_hash_batch(lethe_opencl *device, uint64_t seed, const lethe_bytes *keys,
                                     size_t count, lethe_hash *hashes, lethe_detail *detail) {
    struct lethe_opencl_keys all = {.bytes = keys, .count = count, .seed = seed};
    if (device == NULL || (hashes == NULL && count > 0) || !lethe_opencl_are_keys(&all))
        return LETHE_EINVAL;
    struct lethe_opencl_job job = lethe_opencl_job_begin(device, detail);
    for (size_t first = 0, some; first < count && job.status == LETHE_OK; first += some) {
        struct lethe_opencl_lane *lane = lethe_opencl_job_lane(&job);
        some = lethe_opencl_send_keys(&job, lane, &all, first);
        lethe_opencl_job_read(&job, lane, lane->buffers[LETHE_OPENCL_HASHES].memory, hashes + first,
                              some * sizeof *hashes);
        lethe_opencl_job_flush(&job, lane);
    }
    lethe_status status = lethe_opencl_job_end(&job);
    if (status != LETHE_OK && count > 0) memset(hashes, 0, count * sizeof *hashes);
    return status;
}
