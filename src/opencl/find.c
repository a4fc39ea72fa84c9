/* opencl/find.c - looks for devices.
 *
 * All platforms are asked for all of their devices. GPUs count first, then accelerators, then CPUs;
 * within a type they keep the drivers' order. A device that is not little-endian, or not there at
 * the moment, does not count. */
#include <string.h>

#include "core/detail.h"
#include "core/sized.h"
#include "opencl/device.h"

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 16, EXTENSION_BYTES = 8192 };

lethe_status lethe_opencl_fail(lethe_detail *detail, cl_int error, const char *attempt,
                               const char *device) {
    lethe_status status = LETHE_EDEVICE;
    if (error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_HOST_MEMORY ||
        error == CL_INVALID_BUFFER_SIZE) {
        status = LETHE_ENOMEM;
    }
    return lethe_detail_fill(detail, status, "cannot %s on the OpenCL device %s: %s (%d)", attempt,
                             device, lethe_opencl_error_name(error), (int)error);
}

lethe_status lethe_opencl_done(lethe_detail *detail, lethe_status status) {
    if (status == LETHE_OK || status == LETHE_EINVAL) return status;
    if (detail == NULL || detail->text[0] != '\0') return status;
    return lethe_detail_fill(detail, status, "%s", lethe_strerror(status));
}

static lethe_opencl_type type_of(cl_device_type type) {
    if (type & CL_DEVICE_TYPE_GPU) return LETHE_OPENCL_GPU;
    return type & CL_DEVICE_TYPE_CPU ? LETHE_OPENCL_CPU : LETHE_OPENCL_ACCELERATOR;
}

/* Asks for texts and numbers; a driver that does not know is asked no more. */
struct question {
    const struct lethe_opencl_calls *calls;
    cl_device_id id;
    cl_int error;
};

static void ask(struct question *question, cl_device_info what, void *answer, size_t bytes) {
    if (question->error != CL_SUCCESS) return;
    question->error = question->calls->GetDeviceInfo(question->id, what, bytes, answer, NULL);
}

/* Fills in what the driver says of a device; false if it cannot be used. */
static bool describe(const struct lethe_opencl_calls *calls, cl_platform_id platform,
                     struct lethe_opencl_found *found, cl_int *error) {
    lethe_opencl_info *info = &found->info;
    *info = (lethe_opencl_info)LETHE_INIT(lethe_opencl_info);
    struct question question = {calls, found->id, CL_SUCCESS};
    cl_device_type type = 0;
    cl_bool is_available = CL_FALSE, is_little = CL_FALSE, has_compiler = CL_FALSE;
    cl_ulong memory = 0, buffer = 0;
    cl_uint units = 0;
    char name[1024] = "", extensions[EXTENSION_BYTES] = "", platform_name[1024] = "";
    ask(&question, CL_DEVICE_TYPE, &type, sizeof type);
    ask(&question, CL_DEVICE_AVAILABLE, &is_available, sizeof is_available);
    ask(&question, CL_DEVICE_ENDIAN_LITTLE, &is_little, sizeof is_little);
    ask(&question, CL_DEVICE_COMPILER_AVAILABLE, &has_compiler, sizeof has_compiler);
    ask(&question, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    ask(&question, CL_DEVICE_GLOBAL_MEM_SIZE, &memory, sizeof memory);
    ask(&question, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &buffer, sizeof buffer);
    ask(&question, CL_DEVICE_NAME, name, sizeof name - 1);
    ask(&question, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions - 1);
    if (question.error == CL_SUCCESS) {
        question.error = calls->GetPlatformInfo(platform, CL_PLATFORM_NAME,
                                                sizeof platform_name - 1, platform_name, NULL);
    }
    if (question.error != CL_SUCCESS) {
        *error = question.error;
        return false;
    }
    info->type = type_of(type);
    info->compute_units = units;
    info->memory_bytes = memory;
    info->buffer_bytes = buffer;
    memcpy(info->name, name, sizeof info->name - 1);
    memcpy(info->platform, platform_name, sizeof info->platform - 1);
    found->has_wide_atomics = strstr(extensions, "cl_khr_int64_base_atomics") != NULL;
    return is_available && is_little && has_compiler;
}

/* The usable devices of one platform, added to found. */
static void search_platform(const struct lethe_opencl_calls *calls, cl_platform_id platform,
                            struct lethe_opencl_found *found, size_t *count, cl_int *error) {
    cl_device_id ids[MOST_DEVICES];
    cl_uint there = 0;
    cl_int asked = calls->GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST_DEVICES, ids, &there);
    if (asked != CL_SUCCESS) {
        if (asked != CL_DEVICE_NOT_FOUND) *error = asked;
        return;
    }
    for (cl_uint i = 0; i < there && i < MOST_DEVICES && *count < MOST_DEVICES; i++) {
        found[*count] = (struct lethe_opencl_found){.id = ids[i]};
        if (describe(calls, platform, &found[*count], error)) ++*count;
    }
}

/* The device number index of a type, or of all types in their order. */
static const struct lethe_opencl_found *choose(const struct lethe_opencl_found *found, size_t count,
                                               lethe_opencl_type type, uint32_t index) {
    for (int of = LETHE_OPENCL_GPU; of <= LETHE_OPENCL_CPU; of++) {
        if (type != LETHE_OPENCL_ANY && type != (lethe_opencl_type)of) continue;
        for (size_t i = 0; i < count; i++) {
            if (found[i].info.type == (lethe_opencl_type)of && index-- == 0) return &found[i];
        }
    }
    return NULL;
}

lethe_status lethe_opencl_search(const struct lethe_opencl_calls *calls,
                                 const lethe_opencl_options *options,
                                 struct lethe_opencl_found *out, lethe_detail *detail) {
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_uint platform_count = 0;
    cl_int error = calls->GetPlatformIDs(MOST_PLATFORMS, platforms, &platform_count);
    if (error != CL_SUCCESS) {
        /* The loader's own error for "no driver" is not in the standard's header. */
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there is no OpenCL device: %s (%d)",
                                 lethe_opencl_error_name(error), (int)error);
    }
    struct lethe_opencl_found found[MOST_DEVICES];
    size_t count = 0;
    for (cl_uint i = 0; i < platform_count && i < MOST_PLATFORMS; i++)
        search_platform(calls, platforms[i], found, &count, &error);
    const struct lethe_opencl_found *chosen = choose(found, count, options->type, options->index);
    if (chosen != NULL) {
        *out = *chosen;
        return LETHE_OK;
    }
    if (error != CL_SUCCESS) return lethe_opencl_fail(detail, error, "look", "list");
    if (count == 0) return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there is no OpenCL device");
    return lethe_detail_fill(detail, LETHE_ENOTFOUND,
                             "there is no OpenCL device of that type and number; there are %zu",
                             count);
}
