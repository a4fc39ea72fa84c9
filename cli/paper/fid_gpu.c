/* paper/fid_gpu.c - sketches and keys of the figures of queries on a GPU; see fid_gpu.h. */
#include "paper/fid_gpu.h"

#include <stdlib.h>

#include "frame/exit_code.h"
#include "say/message.h"

static uint64_t little_endian(uint64_t value) {
    unsigned char bytes[sizeof value];
    for (size_t i = 0; i < sizeof value; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    __builtin_memcpy(&value, bytes, sizeof value);
    return value;
}

void fid_gpu_begin(struct fid_gpu *gpu) {
    *gpu = (struct fid_gpu){.items = calloc(FID_GPU_LENGTH, sizeof *gpu->items),
                            .keys = calloc(FID_GPU_LENGTH, sizeof *gpu->keys)};
    bool fits = gpu->items != NULL && gpu->keys != NULL;
    for (int i = 0; i < 2; i++) {
        fid_stream_begin(&gpu->streams[i], i == 1, FID_ITEMS, FID_GPU_LENGTH);
        fits &= gpu->streams[i].status == LETHE_OK;
    }
    for (int set = 0; set < FID_GPU_SETS; set++) {
        gpu->hashes[set] = calloc(FID_GPU_LENGTH, sizeof *gpu->hashes[set]);
        fits &= gpu->hashes[set] != NULL;
    }
    if (!fits) {
        gpu->status = LETHE_ENOMEM;
        return;
    }
    for (size_t i = 0; i < FID_GPU_LENGTH; i++) {
        for (int set = 0; set < 2; set++)
            gpu->hashes[set][i] = gpu->streams[set].hashes[gpu->streams[set].items[i]];
        gpu->hashes[2][i] = lethe_hash_u64(LETHE_DEFAULT_SEED, FID_ITEMS + i);
        gpu->items[i] = little_endian(gpu->streams[0].items[i]);
        gpu->keys[i] = (lethe_bytes){&gpu->items[i], sizeof gpu->items[i]};
    }
}

int fid_gpu_end(struct fid_gpu *gpu) {
    for (int i = 0; i < 2; i++)
        fid_stream_end(&gpu->streams[i]);
    for (int set = 0; set < FID_GPU_SETS; set++)
        free(gpu->hashes[set]);
    free(gpu->items);
    free(gpu->keys);
    return device_code(gpu->status, &gpu->detail);
}

lethe_sketch *fid_gpu_sketch(struct fid_gpu *gpu, uint64_t width, uint32_t depth) {
    if (gpu->status != LETHE_OK) return NULL;
    struct fid_stream *stream = &gpu->streams[0];
    lethe_sketch *sketch = fid_sketch(stream, FID_FID, width, depth, false);
    fid_insert(stream, sketch, 0, stream->length);
    gpu->status = stream->status;
    return sketch;
}

struct device *fid_gpu_device(struct fid_gpu *gpu, uint32_t batch) {
    struct device *device = NULL;
    if (gpu->status == LETHE_OK) gpu->status = device_open(batch, &device, &gpu->detail);
    return device;
}

struct device_times fid_gpu_ask(struct fid_gpu *gpu, struct device *device,
                                const lethe_sketch *sketch, int set) {
    struct device_times times = {0};
    if (gpu->status != LETHE_OK) return times;
    const lethe_bytes *keys = set == FID_GPU_SETS ? gpu->keys : NULL;
    const lethe_hash *hashes = gpu->hashes[set == FID_GPU_SETS ? 0 : set];
    gpu->status =
        device_time_queries(device, sketch, hashes, keys, FID_GPU_LENGTH, &times, &gpu->detail);
    gpu->asked += FID_GPU_LENGTH;
    gpu->wrong += times.wrong;
    return times;
}

void fid_gpu_conclude(const struct fid_gpu *gpu, struct report *report) {
    if (gpu->asked == 0) return;
    if (gpu->wrong == 0) {
        report_result(report, "all %llu answers are the CPU's, to the bit.",
                      (unsigned long long)gpu->asked);
    } else {
        report_result(report, "%llu of %llu answers are NOT the CPU's: the driver is wrong.",
                      (unsigned long long)gpu->wrong, (unsigned long long)gpu->asked);
    }
}

int device_code(lethe_status status, const lethe_detail *detail) {
    if (status == LETHE_OK) return EXIT_DONE;
    const char *why = status == LETHE_ENOMEM ? "not enough memory" : detail->text;
    return message_fail(EXIT_ENVIRONMENT, "the figure cannot be made: %s", why);
}
