/* opencl/gaussian.h - a Gaussian Bloom filter on a device: what its files share.
 *
 * gaussian.c makes filters; gaussian_keys.c adds and tests; gaussian_down.c brings them back. */
#ifndef LETHE_OPENCL_GAUSSIAN_H
#define LETHE_OPENCL_GAUSSIAN_H

#include "opencl/device.h"

struct lethe_opencl_gaussian {
    lethe_opencl *device;
    cl_mem slots;
    /* The bells, where each begins, and the multipliers that lead from a hash to positions. */
    cl_mem levels, firsts, powers;
    uint64_t range;
    uint32_t hashes, slot_bits;
    /* How far the widest bell reaches, and how many slots share a list of positions. */
    uint64_t radius, tile;
    lethe_opencl_form form;
    /* Whole words, without the bytes after them that a kernel may read. */
    size_t slot_bytes;

    uint64_t additions;
    uint64_t capacity;
    double error;
    uint64_t seed;
    /* The saved filter's bytes before its slots; NULL for a filter with the caller's own bells. */
    unsigned char *head;
    size_t head_bytes;
};

/* The value of a full slot, as the device has it. */
uint64_t lethe_opencl_full_slot(uint32_t slot_bits);

#endif
