/* paper/device.h - an OpenCL device, as the figures about GPUs need it.
 *
 * device.c does it with liblethe_opencl; where lethe is built without that, device_none.c says so
 * instead. A machine may have no device, or one that is its CPU: then the times say nothing about
 * GPUs, and only the answers are worth anything. A figure opens with device_describe, which writes
 * that into the report and into the picture. */
#ifndef LETHE_CLI_PAPER_DEVICE_H
#define LETHE_CLI_PAPER_DEVICE_H

#include "lethe/gaussian.h"
#include "lethe/sketch.h"
#include "paper/paper.h"

struct device;

/* Opens the best device there is, for batches of that size. *out is NULL if there is none, which is
 * LETHE_OK; detail then says why. Other errors are those of a device that failed. */
LETHE_MUST_CHECK lethe_status device_open(uint32_t batch, struct device **out,
                                          lethe_detail *detail);
void device_close(struct device *device);

/* Writes into the report which device it is, and what its times are worth; or that there is none.
 * Takes NULL, with the detail of device_open. */
void device_describe(const struct device *device, const lethe_detail *detail,
                     struct report *report);

/* What queries cost. */
struct device_times {
    double million_per_second; /* of a long run, two batches in flight */
    double latency_us;         /* of one batch alone, from the call to its answers */
    double kernel_us;          /* of it, by the device's clock */
    double transfer_us;        /* both ways */
    uint64_t wrong;            /* answers that are not the CPU's */
};

/* Asks a sketch on the device for keys, in batches of the device's size, and compares all answers
 * with the CPU's. keys, unless NULL, are to be hashed by the device; they have those hashes. */
LETHE_MUST_CHECK lethe_status device_time_queries(struct device *device, const lethe_sketch *sketch,
                                                  const lethe_hash *hashes, const lethe_bytes *keys,
                                                  size_t count, struct device_times *out,
                                                  lethe_detail *detail);

/* A Gaussian filter on the device: a copy of one of the host's. */
struct device_filter;
LETHE_MUST_CHECK lethe_status device_filter_open(struct device *device, const lethe_gaussian *from,
                                                 bool whole, struct device_filter **out,
                                                 lethe_detail *detail);
LETHE_MUST_CHECK lethe_status device_filter_add(struct device_filter *filter,
                                                const lethe_bytes *keys, size_t count,
                                                lethe_detail *detail);
/* Whether it is, byte for byte, what the host's filter is now. */
LETHE_MUST_CHECK lethe_status device_filter_compare(struct device_filter *filter,
                                                    const lethe_gaussian *with, bool *same,
                                                    lethe_detail *detail);
void device_filter_close(struct device_filter *filter);

/* EXIT_DONE, or says what the device did. */
int device_code(lethe_status status, const lethe_detail *detail);

#endif
