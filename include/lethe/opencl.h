/* lethe/opencl.h - sketches and Gaussian Bloom filters in the memory of an OpenCL device.
 *
 * A library of its own, liblethe_opencl; nothing else in Lethe needs it. For programs that have a
 * GPU with memory to spare, and batches of thousands of keys: queries of a sketch run one per work
 * item, and a Gaussian filter is kept by the device while the CPU does something else.
 *
 *   lethe_opencl *device;
 *   lethe_detail detail;
 *   lethe_status status = lethe_opencl_open(NULL, &device, &detail);
 *   if (status == LETHE_ENOTFOUND) ...              the machine has no device: detail says so
 *   lethe_opencl_sketch *there;
 *   status = lethe_opencl_sketch_upload(device, sketch, &there, &detail);
 *   status = lethe_opencl_sketch_count_batch(there, hashes, count, counts, NULL, &detail);
 *
 * Guarantee  Every answer, and every bit of what is downloaded, is what the same calls on the CPU
 *            give. Devices compute with whole numbers only: the bells of a Gaussian filter are
 *            tables made on the host, never a device's exp(), whose rounding nobody promises.
 *            Nothing on the host changes when a device fails.
 * Memory     On the device: the counters or slots, and for each of two batches in flight its keys
 *            and answers. On the host: nothing that grows, except for keys that are not hashed,
 *            which are collected for the transfer.
 * Threads    A device, and all that lives on it, belongs to one thread at a time.
 * Caveats    OpenCL 1.2 and a little-endian device are needed. A small batch takes the time of its
 *            transfers: the CPU is faster then. lethe_opencl_info reports the device's type. A CPU
 *            can be a device too, which is good for tests and for nothing else.
 *
 * detail, which may be NULL, gets a sentence about every failure that is not LETHE_EINVAL; it
 * names the device. Errors that all functions with a detail can return, besides those they name:
 * LETHE_EINVAL, LETHE_ENOMEM (on the host or the device), LETHE_EDEVICE (the device was lost, or
 * its driver failed). */
#ifndef LETHE_OPENCL_H
#define LETHE_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/allocator.h"
#include "lethe/bloom.h"
#include "lethe/gaussian.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/sketch.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device, made ready. */
typedef struct lethe_opencl lethe_opencl;

typedef enum lethe_opencl_type {
    LETHE_OPENCL_ANY = 0,
    LETHE_OPENCL_GPU = 1,
    LETHE_OPENCL_ACCELERATOR = 2,
    LETHE_OPENCL_CPU = 3
} lethe_opencl_type;

/* The most keys that go to a device at once. */
#define LETHE_OPENCL_MAX_BATCH (UINT32_C(1) << 20)

/* Zero in a field selects its default; NULL options are all defaults. */
typedef struct lethe_opencl_options {
    size_t size;

    /* Only devices of this type; 0 -> all. */
    lethe_opencl_type type;
    /* Which of them, from 0: GPUs come first, then accelerators, then CPUs. */
    uint32_t index;
    /* The keys that go to the device at once; 0 -> 65536; 1..2^20. Longer batches are cut into
     * pieces of this size, of which two are on their way at any time. */
    uint32_t batch;
    /* Whether lethe_opencl_get_times works. It costs a little time. */
    bool profile;

    /* NULL -> the default one. It must outlive the device and all that lives on it. */
    const lethe_allocator *allocator;
} lethe_opencl_options;

typedef struct lethe_opencl_info {
    size_t size;

    /* Never ANY. */
    lethe_opencl_type type;
    uint32_t compute_units;
    /* Of the device, and the most that one buffer can have. */
    uint64_t memory_bytes;
    uint64_t buffer_bytes;
    /* As the driver spells them; cut off if longer. */
    char name[128];
    char platform[128];
} lethe_opencl_info;

/* What the device has done, by its own clock. The three kinds of work of two batches can overlap:
 * their sum may exceed the time that passed. */
typedef struct lethe_opencl_times {
    size_t size;

    uint64_t to_device_ns;
    uint64_t kernel_ns;
    uint64_t from_device_ns;
} lethe_opencl_times;

/* Describes the device that lethe_opencl_open would open, without opening it. With index 0, 1, ...
 * it lists them all. Errors: LETHE_ENOTFOUND (there is no such device). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_find(const lethe_opencl_options *options,
                                                          lethe_opencl_info *out,
                                                          lethe_detail *detail);

/* Opens a device and compiles the kernels for it. The caller owns *out (lethe_opencl_close). On
 * error *out is NULL. Cost: up to seconds, for the driver's compiler.
 * Errors: LETHE_ENOTFOUND (there is no such device), LETHE_EDEVICE (also if the driver could not
 * compile the kernels: detail has the beginning of what it says). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_open(const lethe_opencl_options *options,
                                                          lethe_opencl **out, lethe_detail *detail);

/* All that lives on the device must have been freed. Takes NULL. */
LETHE_API void lethe_opencl_close(lethe_opencl *device);

/* Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_opencl_get_info(const lethe_opencl *device, lethe_opencl_info *out);

/* What the device has done since it was opened, or since the last call. Cost: O(1).
 * Errors: LETHE_EINVAL (also for a device that was opened without `profile`). */
LETHE_API lethe_status lethe_opencl_get_times(lethe_opencl *device, lethe_opencl_times *out);

/* Hashes keys on the device: hashes[i] becomes lethe_hash_bytes(seed, key i), for keys of every
 * size. On error the hashes are zero. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_hash_batch(lethe_opencl *device, uint64_t seed,
                                                                const lethe_bytes *keys,
                                                                size_t count, lethe_hash *hashes,
                                                                lethe_detail *detail);

/* --- Sketches: the part that answers, of every kind. --- */

typedef struct lethe_opencl_sketch lethe_opencl_sketch;

/* Copies the part of a sketch that answers to the device; of a FID sketch that is the FQ part. The
 * caller owns *out (lethe_opencl_sketch_free). On error *out is NULL. Cost: O(width * depth). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_upload(lethe_opencl *device,
                                                                   const lethe_sketch *sketch,
                                                                   lethe_opencl_sketch **out,
                                                                   lethe_detail *detail);

/* The same from what lethe_sketch_export wrote. Errors: those of lethe_sketch_import too. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_import(lethe_opencl *device,
                                                                   lethe_source source,
                                                                   lethe_opencl_sketch **out,
                                                                   lethe_detail *detail);

/* Takes NULL. */
LETHE_API void lethe_opencl_sketch_free(lethe_opencl_sketch *sketch);

/* Brings a sketch to the state of a later export of the same sketch. The new counters go to a
 * second buffer, which replaces the first when they are all there: after an error the sketch
 * answers as before. Errors: LETHE_EMISMATCH (the shape or seed differs), and as import. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_apply(lethe_opencl_sketch *sketch,
                                                                  lethe_source source,
                                                                  lethe_detail *detail);

/* Cost: O(1). Errors: LETHE_EINVAL. */
LETHE_API lethe_status lethe_opencl_sketch_get_shape(const lethe_opencl_sketch *sketch,
                                                     lethe_sketch_shape *out);

/* As lethe_sketch_count_batch. On error the answers are zero. Any count; the pieces of a long batch
 * overlap. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_opencl_sketch_count_batch(lethe_opencl_sketch *sketch, const lethe_hash *hashes, size_t count,
                                uint64_t *counts, uint8_t *saturated, lethe_detail *detail);

/* The same for keys of any size, which the device hashes. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_count_key_batch(
    lethe_opencl_sketch *sketch, const lethe_bytes *keys, size_t count, uint64_t *counts,
    uint8_t *saturated, lethe_detail *detail);

/* Adds keys to a count-min sketch on the device, with atomic additions. That is right for this kind
 * alone: its counters only grow, up to their largest value, so the order of additions does not
 * matter. A conservative, log or FID sketch looks at all counters of a key before it raises some,
 * and a count sketch that reaches an end stays there: their results depend on the order, which a
 * device does not keep. NULL weights are 1 each.
 * After LETHE_EDEVICE or LETHE_ENOMEM some keys may have been added and others not: the sketch then
 * refuses everything with LETHE_EDEVICE, until an export is applied.
 * Errors, with nothing changed: LETHE_EINVAL (also for another kind, a sketch that was made from an
 * export or keeps the top, a weight of 0, or counters of 64 bits on a device without atomic
 * operations on these). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_add_batch(lethe_opencl_sketch *sketch,
                                                                      const lethe_hash *hashes,
                                                                      size_t count,
                                                                      const uint64_t *weights,
                                                                      lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_opencl_sketch_add_key_batch(lethe_opencl_sketch *sketch, const lethe_bytes *keys,
                                  size_t count, const uint64_t *weights, lethe_detail *detail);

/* Makes a sketch on the host: a whole one if keys can be added to it here, otherwise one that only
 * answers, as lethe_sketch_import makes it. The caller owns *out; on error it is NULL. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_sketch_download(lethe_opencl_sketch *sketch,
                                                                     lethe_sketch **out,
                                                                     lethe_detail *detail);

/* --- Gaussian Bloom filters. --- */

typedef struct lethe_opencl_gaussian lethe_opencl_gaussian;

/* How keys are inserted. The slots are the same. */
typedef enum lethe_opencl_form {
    /* A slot looks only at bells that can reach it: the paper's three-sigma rule. */
    LETHE_OPENCL_LOCAL = 0,
    /* Every slot looks at every bell: the paper's form for a GPU. */
    LETHE_OPENCL_WHOLE = 1
} lethe_opencl_form;

/* A filter over the whole field, whose bells are any tables. */
typedef struct lethe_opencl_field_options {
    size_t size;

    /* m and k. 1..2^32 and 1..64. */
    uint64_t slots;
    uint32_t hashes;
    /* As in lethe/gaussian.h; 0 -> 32. */
    uint32_t slot_bits;

    /* levels[i * (reach + 1) + d] is what hash function i + 1 writes at the distance d from its own
     * slot, to either side: from 0 to 1; exactly 1 at distance 0 and less than 1 elsewhere. In
     * packed slots it is rounded down to a whole number of steps. Not kept after the call. */
    const double *levels;
    /* How far they go; up to slots - 1. hashes * (reach + 1) is at most 2^28. */
    uint64_t reach;

    /* Keys the hash; 0 -> LETHE_DEFAULT_SEED. */
    uint64_t seed;
} lethe_opencl_field_options;

/* Copies a filter to the device, its bells included. The caller owns *out
 * (lethe_opencl_gaussian_free). On error *out is NULL. Cost: O(slots). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_upload(lethe_opencl *device,
                                                                     const lethe_gaussian *filter,
                                                                     lethe_opencl_form form,
                                                                     lethe_opencl_gaussian **out,
                                                                     lethe_detail *detail);

/* Makes an empty filter with the caller's bells. It lives on the device only: it can be asked, read
 * and extracted, but not downloaded. On error *out is NULL. Cost: O(slots + hashes * reach). */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_opencl_gaussian_new(lethe_opencl *device, const lethe_opencl_field_options *options,
                          lethe_opencl_gaussian **out, lethe_detail *detail);

/* Takes NULL. */
LETHE_API void lethe_opencl_gaussian_free(lethe_opencl_gaussian *filter);

/* Adds keys. Each slot belongs to one work item, so slots need no atomic operation.
 * After LETHE_EDEVICE or LETHE_ENOMEM some keys may have been added and others not, and none are
 * counted as additions: adding them again is right. Cost, per piece of a batch: O(slots), and the
 * whole form O(slots * keys * hashes). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_add_batch(
    lethe_opencl_gaussian *filter, const lethe_hash *hashes, size_t count, lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_add_key_batch(
    lethe_opencl_gaussian *filter, const lethe_bytes *keys, size_t count, lethe_detail *detail);

/* Tests keys: present[i] becomes 1 or 0, as in lethe/gaussian.h. A work item per key, which stops
 * at the first contradiction. On error all of them are 0. */
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_opencl_gaussian_test_batch(lethe_opencl_gaussian *filter, const lethe_hash *hashes,
                                 size_t count, uint8_t *present, lethe_detail *detail);
LETHE_API LETHE_MUST_CHECK lethe_status
lethe_opencl_gaussian_test_key_batch(lethe_opencl_gaussian *filter, const lethe_bytes *keys,
                                     size_t count, uint8_t *present, lethe_detail *detail);

/* Makes a filter on the host: the same as if the keys had been added there, down to the bytes that
 * lethe_gaussian_save writes. The caller owns *out; on error it is NULL. Cost: O(slots).
 * Errors: LETHE_EINVAL (also for a filter that lethe_opencl_gaussian_new made). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_download(
    lethe_opencl_gaussian *filter, lethe_gaussian **out, lethe_detail *detail);

/* Makes the underlying Bloom filter on the host. The device finds the full slots; only bits are
 * transferred. The caller owns *out; on error it is NULL. Cost: O(slots). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_extract(lethe_opencl_gaussian *filter,
                                                                      lethe_bloom **out,
                                                                      lethe_detail *detail);

/* What the slots hold, from 0 to 1, as lethe_gaussian_slot; count is the number of slots. On error
 * the values are zero. Cost: O(slots). Errors: LETHE_EINVAL (also for another count). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_opencl_gaussian_read(lethe_opencl_gaussian *filter,
                                                                   double *values, size_t count,
                                                                   lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
