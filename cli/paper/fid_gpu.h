/* paper/fid_gpu.h - what the figures of queries on a GPU share: a sketch, and three sets of keys to
 * ask it for.
 *
 * The paper asks with three data sets and does not say which. Here: items in the order of a uniform
 * stream, of a Zipf stream, and keys that were never added. The sketch is filled from the uniform
 * stream; a shorter one than in other figures, since what counters hold does not matter here. */
#ifndef LETHE_CLI_PAPER_FID_GPU_H
#define LETHE_CLI_PAPER_FID_GPU_H

#include "paper/device.h"
#include "paper/fid.h"

enum { FID_GPU_SETS = 3, FID_GPU_LENGTH = 1 << 19 };

struct fid_gpu {
    struct fid_stream streams[2]; /* uniform, Zipf */
    lethe_hash *hashes[FID_GPU_SETS];
    uint64_t *items;   /* of the uniform set */
    lethe_bytes *keys; /* the same as bytes, for the device to hash */
    uint64_t asked, wrong;
    lethe_status status;
    lethe_detail detail;
};

void fid_gpu_begin(struct fid_gpu *gpu);

/* Frees it. EXIT_DONE, or says what failed. */
int fid_gpu_end(struct fid_gpu *gpu);

/* A filled FID sketch of that size; NULL after a failure. */
lethe_sketch *fid_gpu_sketch(struct fid_gpu *gpu, uint64_t width, uint32_t depth);

/* Opens a device; NULL if there is none, or after a failure. */
struct device *fid_gpu_device(struct fid_gpu *gpu, uint32_t batch);

/* Asks with one set; with set FID_GPU_SETS, with the keys of the uniform one, hashed there. */
struct device_times fid_gpu_ask(struct fid_gpu *gpu, struct device *device,
                                const lethe_sketch *sketch, int set);

/* "all 123 answers are the CPU's", or how many are not. */
void fid_gpu_conclude(const struct fid_gpu *gpu, struct report *report);

#endif
