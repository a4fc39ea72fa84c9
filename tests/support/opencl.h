/* tests/support/opencl.h - a device for tests, and calls of OpenCL that fail on demand. */
#ifndef LETHE_TESTS_SUPPORT_OPENCL_H
#define LETHE_TESTS_SUPPORT_OPENCL_H

#include "lethe/opencl.h"
#include "opencl/calls.h"

/* Opens a device, and prints which the first time. NULL if the machine has none: then it says so,
 * and the test has nothing to do. */
lethe_opencl *test_opencl_open(const lethe_opencl_options *options);

/* Fills hashes or keys with random ones. */
void test_opencl_draw(uint64_t seed, lethe_hash *hashes, size_t count);

/* The loader's calls, except that call number fail_at from 0, of those that can fail, returns
 * `error` and does nothing. Only calls whose failure a caller can notice count: releasing does not.
 * Not for several threads. */
struct test_opencl_faults {
    size_t fail_at;
    cl_int error;
    size_t calls;
    /* All calls from fail_at on fail: the device is lost. */
    bool for_ever;
    /* What was made and not yet released: buffers, events, queues, kernels, programs, contexts. */
    long live;
};
extern struct test_opencl_faults test_opencl_faults;
extern const struct lethe_opencl_calls test_opencl_failing;

#endif
