/* opencl/device.h - what the files of liblethe_opencl share: a device, its two lanes, and jobs.
 *
 * calls.* is the table of OpenCL's functions; find.c looks for devices; device.c opens one; job.c
 * sends work to it; keys.c sends keys; sketch.c and gaussian*.c are what lives there; kernels/ is
 * what runs there. */
#ifndef LETHE_OPENCL_DEVICE_H
#define LETHE_OPENCL_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/opencl.h"
#include "opencl/calls.h"

/* The kernels, by the names that they have in kernels/. */
#define LETHE_OPENCL_KERNELS(kernel)                                                      \
    kernel(hash_keys) kernel(count_least) kernel(count_signed) kernel(add_count_min)      \
        kernel(find_places) kernel(insert_whole) kernel(link_places) kernel(insert_local) \
            kernel(test_keys) kernel(extract_bits)

enum lethe_opencl_kernel {
#define LETHE_OPENCL_KERNEL(name) LETHE_OPENCL_KERNEL_##name,
    LETHE_OPENCL_KERNELS(LETHE_OPENCL_KERNEL)
#undef LETHE_OPENCL_KERNEL
        LETHE_OPENCL_KERNEL_COUNT
};

/* What a lane keeps on the device for the batch that it carries; each is made when it is first
 * needed, and only ever replaced by a larger one. */
enum lethe_opencl_role {
    LETHE_OPENCL_BYTES,
    LETHE_OPENCL_OFFSETS,
    LETHE_OPENCL_HASHES,
    LETHE_OPENCL_WEIGHTS,
    LETHE_OPENCL_COUNTS,
    LETHE_OPENCL_FLAGS,
    LETHE_OPENCL_PLACES,
    LETHE_OPENCL_HEADS,
    LETHE_OPENCL_NEXTS,
    LETHE_OPENCL_ROLES
};

struct lethe_opencl_buffer {
    cl_mem memory;
    size_t bytes;
};

/* The kinds of work that are timed. */
enum lethe_opencl_work { LETHE_OPENCL_TO, LETHE_OPENCL_RUN, LETHE_OPENCL_FROM, LETHE_OPENCL_WORKS };

/* The commands of one piece never exceed this. */
enum { LETHE_OPENCL_LANES = 2, LETHE_OPENCL_EVENTS = 12 };

/* An in-order queue. While one lane transfers, the other computes. */
struct lethe_opencl_lane {
    cl_command_queue queue;
    struct lethe_opencl_buffer buffers[LETHE_OPENCL_ROLES];
    /* Keys that are not hashed, collected for the transfer. */
    unsigned char *bytes;
    uint64_t *offsets;
    size_t bytes_room, offsets_room;
    /* What was sent since the lane was last waited for, where somebody wants to know. */
    struct {
        cl_event event;
        enum lethe_opencl_work work;
    } sent[LETHE_OPENCL_EVENTS];
    unsigned sent_count;
};

struct lethe_opencl {
    const struct lethe_opencl_calls *calls;
    cl_device_id id;
    cl_context context;
    cl_program program;
    cl_kernel kernels[LETHE_OPENCL_KERNEL_COUNT];
    size_t group_sizes[LETHE_OPENCL_KERNEL_COUNT];
    struct lethe_opencl_lane lanes[LETHE_OPENCL_LANES];
    uint64_t worked_ns[LETHE_OPENCL_WORKS];
    lethe_opencl_info info;
    uint32_t batch;
    bool profile;
    bool has_wide_atomics;
    const lethe_allocator *allocator;
};

/* A device of the driver's, and what is known of it. */
struct lethe_opencl_found {
    cl_device_id id;
    lethe_opencl_info info;
    bool has_wide_atomics;
};

/* Finds the device that options ask for. Errors: LETHE_ENOTFOUND, LETHE_EDEVICE, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_opencl_search(const struct lethe_opencl_calls *calls,
                                                  const lethe_opencl_options *options,
                                                  struct lethe_opencl_found *out,
                                                  lethe_detail *detail);

/* lethe_opencl_open, with a table of calls. */
LETHE_MUST_CHECK lethe_status lethe_opencl_open_with(const struct lethe_opencl_calls *calls,
                                                     const lethe_opencl_options *options,
                                                     lethe_opencl **out, lethe_detail *detail);

/* The status of an error of OpenCL's, after saying in detail what could not be done, and where. */
lethe_status lethe_opencl_fail(lethe_detail *detail, cl_int error, const char *attempt,
                               const char *device);

/* Returns status, after saying something in detail if it is a failure about which nothing was said
 * yet. */
lethe_status lethe_opencl_done(lethe_detail *detail, lethe_status status);

/* Something that a caller wants done. The first error sticks: then everything else does nothing,
 * so that it is asked for once, at the end. */
struct lethe_opencl_job {
    lethe_opencl *device;
    lethe_detail *detail;
    lethe_status status;
    /* The lane that the next piece takes. */
    unsigned turn;
    /* The last command that the next one must wait for, in another lane; NULL for none. */
    cl_event before;
};

struct lethe_opencl_job lethe_opencl_job_begin(lethe_opencl *device, lethe_detail *detail);

/* Waits until nothing of the job is under way, also after an error, and returns its status. */
LETHE_MUST_CHECK lethe_status lethe_opencl_job_end(struct lethe_opencl_job *job);

/* Takes the lane that was used longest ago, and waits until it is free. */
struct lethe_opencl_lane *lethe_opencl_job_lane(struct lethe_opencl_job *job);

/* Hands what was sent in the lane to the device. */
void lethe_opencl_job_flush(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane);

/* A buffer of at least that many bytes; NULL after an error. The first is the caller's to release;
 * the second belongs to the lane. */
cl_mem lethe_opencl_job_buffer(struct lethe_opencl_job *job, size_t bytes);
cl_mem lethe_opencl_job_reserve(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                                enum lethe_opencl_role role, size_t bytes);

/* Transfers. The caller's bytes are used until the job has ended. 0 bytes are nothing to do. */
void lethe_opencl_job_write(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane, cl_mem to,
                            const void *from, size_t bytes);
void lethe_opencl_job_read(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                           cl_mem from, void *to, size_t bytes);
void lethe_opencl_job_zero(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane, cl_mem to,
                           size_t bytes);

struct lethe_opencl_argument {
    size_t size;
    const void *value;
};
#define NUMBER(variable) \
    { sizeof(variable), &(variable) }
#define BUFFER(variable) \
    { sizeof(cl_mem), &(variable) }

/* Runs a kernel with that many work items. With `chained`, not before the last chained one of the
 * job has ended, whatever its lane. */
void lethe_opencl_job_run(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                          enum lethe_opencl_kernel kernel, uint64_t items, bool chained,
                          const struct lethe_opencl_argument *arguments, size_t count);
#define LETHE_OPENCL_RUN(job, lane, kernel, items, chained, ...)                       \
    lethe_opencl_job_run(job, lane, LETHE_OPENCL_KERNEL_##kernel, items, chained,      \
                         (const struct lethe_opencl_argument[]){__VA_ARGS__},          \
                         sizeof((const struct lethe_opencl_argument[]){__VA_ARGS__}) / \
                             sizeof(struct lethe_opencl_argument))

/* Keys as a caller gives them: hashed, or to be hashed by the device. */
struct lethe_opencl_keys {
    const lethe_hash *hashes;
    const lethe_bytes *bytes;
    size_t count;
    uint64_t seed;
};

/* Whether the arrays are there, and all bytes that sizes promise. */
bool lethe_opencl_are_keys(const struct lethe_opencl_keys *keys);

/* Sends keys from number first on to the lane, so that its buffer of hashes has their hashes, and
 * returns how many went: at least one while there are any. After an error that is any number. */
size_t lethe_opencl_send_keys(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                              const struct lethe_opencl_keys *keys, size_t first);

#endif
