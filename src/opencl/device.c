/* opencl/device.c - opens a device: context, kernels and the two lanes.
 *
 * IDEA    A batch is cut into pieces. A piece goes to a lane: its keys to the device, kernels, its
 *         answers back, all in the lane's in-order queue. Pieces take the two lanes in turn, so one
 *         piece is transferred while another is computed.
 * I1      No command is under way when a public function returns, whatever it returns. So the
 *         caller's arrays are his again, and buffers can be released.
 * I2      All work has a fixed group size, and kernels ignore the items beyond the last: a driver
 *         that compiles a kernel anew for every group size does it once.
 * WHY     OpenCL 1.2 is what the drivers of all vendors have. Kernels compute with whole numbers
 *         only: rounding, and what a driver's options do to it, cannot matter.
 * LIMIT   Little-endian hosts and devices: numbers travel as they lie in memory. */
#include "opencl/device.h"

#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"

/* Made of kernels/ by embed.cmake. */
extern const char lethe_opencl_source[];

enum { DEFAULT_BATCH = 65536, GROUP_SIZE = 64 };

static lethe_status take_options(const lethe_opencl_options *options, lethe_opencl_options *taken) {
    lethe_status status = LETHE_TAKE(options, taken, allocator);
    if (status != LETHE_OK) return status;
    if (taken->type > LETHE_OPENCL_CPU || (int)taken->type < 0) return LETHE_EINVAL;
    if (taken->batch > LETHE_OPENCL_MAX_BATCH) return LETHE_EINVAL;
    if (!lethe_allocator_is_usable(taken->allocator)) return LETHE_EINVAL;
    if (taken->batch == 0) taken->batch = DEFAULT_BATCH;
    return LETHE_OK;
}

lethe_status lethe_opencl_find(const lethe_opencl_options *options, lethe_opencl_info *out,
                               lethe_detail *detail) {
    lethe_detail_clear(detail);
    lethe_opencl_options taken;
    lethe_status status = take_options(options, &taken);
    if (status != LETHE_OK) return status;
    struct lethe_opencl_found found;
    status = lethe_sized_check(out, LETHE_SIZE_WITH(&found.info, platform));
    if (status != LETHE_OK) return status;
    status = lethe_opencl_search(&lethe_opencl_loader, &taken, &found, detail);
    if (status != LETHE_OK) return status;
    return LETHE_GIVE(&found.info, out, platform);
}

/* What the driver's compiler says, as far as a detail has room for it. */
static lethe_status fail_build(lethe_opencl *device, cl_int error, lethe_detail *detail) {
    char log[256] = "";
    size_t bytes = 0;
    const struct lethe_opencl_calls *calls = device->calls;
    cl_int asked = calls->GetProgramBuildInfo(device->program, device->id, CL_PROGRAM_BUILD_LOG, 0,
                                              NULL, &bytes);
    char *whole =
        asked == CL_SUCCESS && bytes > 0 ? lethe_alloc_zeroed(device->allocator, bytes) : NULL;
    if (whole != NULL) {
        (void)calls->GetProgramBuildInfo(device->program, device->id, CL_PROGRAM_BUILD_LOG, bytes,
                                         whole, NULL);
        memcpy(log, whole, bytes < sizeof log ? bytes - 1 : sizeof log - 1);
        lethe_release(device->allocator, whole, bytes);
    }
    return lethe_detail_fill(detail, LETHE_EDEVICE,
                             "cannot compile the kernels for the OpenCL device %s: %s (%d)%s%s",
                             device->info.name, lethe_opencl_error_name(error), (int)error,
                             log[0] != '\0' ? ": " : "", log);
}

static lethe_status make_kernels(lethe_opencl *device, lethe_detail *detail) {
    static const char *const names[] = {
#define NAME(name) #name,
        LETHE_OPENCL_KERNELS(NAME)
#undef NAME
    };
    const struct lethe_opencl_calls *calls = device->calls;
    const char *source = lethe_opencl_source;
    cl_int error;
    device->program = calls->CreateProgramWithSource(device->context, 1, &source, NULL, &error);
    if (device->program == NULL)
        return lethe_opencl_fail(detail, error, "make a program", device->info.name);
    error = calls->BuildProgram(device->program, 1, &device->id, "-cl-std=CL1.2", NULL, NULL);
    if (error != CL_SUCCESS) return fail_build(device, error, detail);
    for (int i = 0; i < LETHE_OPENCL_KERNEL_COUNT; i++) {
        device->kernels[i] = calls->CreateKernel(device->program, names[i], &error);
        if (device->kernels[i] == NULL)
            return lethe_opencl_fail(detail, error, "make a kernel", device->info.name);
        size_t most = 0;
        error = calls->GetKernelWorkGroupInfo(device->kernels[i], device->id,
                                              CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
        if (error != CL_SUCCESS)
            return lethe_opencl_fail(detail, error, "ask for group sizes", device->info.name);
        device->group_sizes[i] = most < GROUP_SIZE ? most : GROUP_SIZE;
    }
    return LETHE_OK;
}

static lethe_status make_lanes(lethe_opencl *device, lethe_detail *detail) {
    cl_command_queue_properties properties = device->profile ? CL_QUEUE_PROFILING_ENABLE : 0;
    for (int i = 0; i < LETHE_OPENCL_LANES; i++) {
        cl_int error;
        device->lanes[i].queue =
            device->calls->CreateCommandQueue(device->context, device->id, properties, &error);
        if (device->lanes[i].queue == NULL)
            return lethe_opencl_fail(detail, error, "make a queue", device->info.name);
    }
    return LETHE_OK;
}

static lethe_status make_ready(lethe_opencl *device, lethe_detail *detail) {
    cl_int error;
    device->context = device->calls->CreateContext(NULL, 1, &device->id, NULL, NULL, &error);
    if (device->context == NULL)
        return lethe_opencl_fail(detail, error, "make a context", device->info.name);
    lethe_status status = make_kernels(device, detail);
    return status == LETHE_OK ? make_lanes(device, detail) : status;
}

lethe_status lethe_opencl_open_with(const struct lethe_opencl_calls *calls,
                                    const lethe_opencl_options *options, lethe_opencl **out,
                                    lethe_detail *detail) {
    lethe_detail_clear(detail);
    if (out == NULL) return LETHE_EINVAL;
    *out = NULL;
    lethe_opencl_options taken;
    lethe_status status = take_options(options, &taken);
    if (status != LETHE_OK) return status;
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    return lethe_detail_fill(detail, LETHE_EDEVICE, "this machine is not little-endian");
#endif
    struct lethe_opencl_found found;
    status = lethe_opencl_search(calls, &taken, &found, detail);
    if (status != LETHE_OK) return status;
    lethe_opencl *device = lethe_alloc_zeroed(taken.allocator, sizeof *device);
    if (device == NULL) return lethe_opencl_done(detail, LETHE_ENOMEM);
    *device = (lethe_opencl){.calls = calls,
                             .id = found.id,
                             .info = found.info,
                             .has_wide_atomics = found.has_wide_atomics,
                             .batch = taken.batch,
                             .profile = taken.profile,
                             .allocator = taken.allocator};
    status = make_ready(device, detail);
    if (status != LETHE_OK) {
        lethe_opencl_close(device);
        return status;
    }
    *out = device;
    return LETHE_OK;
}

lethe_status lethe_opencl_open(const lethe_opencl_options *options, lethe_opencl **out,
                               lethe_detail *detail) {
    return lethe_opencl_open_with(&lethe_opencl_loader, options, out, detail);
}

static void drop_lane(lethe_opencl *device, struct lethe_opencl_lane *lane) {
    for (int role = 0; role < LETHE_OPENCL_ROLES; role++) {
        if (lane->buffers[role].memory != NULL)
            (void)device->calls->ReleaseMemObject(lane->buffers[role].memory);
    }
    lethe_release(device->allocator, lane->bytes, lane->bytes_room);
    lethe_release(device->allocator, lane->offsets, lane->offsets_room);
    if (lane->queue != NULL) (void)device->calls->ReleaseCommandQueue(lane->queue);
}

void lethe_opencl_close(lethe_opencl *device) {
    if (device == NULL) return;
    for (int i = 0; i < LETHE_OPENCL_LANES; i++)
        drop_lane(device, &device->lanes[i]);
    for (int i = 0; i < LETHE_OPENCL_KERNEL_COUNT; i++) {
        if (device->kernels[i] != NULL) (void)device->calls->ReleaseKernel(device->kernels[i]);
    }
    if (device->program != NULL) (void)device->calls->ReleaseProgram(device->program);
    if (device->context != NULL) (void)device->calls->ReleaseContext(device->context);
    lethe_release(device->allocator, device, sizeof *device);
}

lethe_status lethe_opencl_get_info(const lethe_opencl *device, lethe_opencl_info *out) {
    if (device == NULL) return LETHE_EINVAL;
    return LETHE_GIVE(&device->info, out, platform);
}

lethe_status lethe_opencl_get_times(lethe_opencl *device, lethe_opencl_times *out) {
    if (device == NULL || !device->profile) return LETHE_EINVAL;
    lethe_opencl_times times = {.size = sizeof times,
                                .to_device_ns = device->worked_ns[LETHE_OPENCL_TO],
                                .kernel_ns = device->worked_ns[LETHE_OPENCL_RUN],
                                .from_device_ns = device->worked_ns[LETHE_OPENCL_FROM]};
    lethe_status status = LETHE_GIVE(&times, out, from_device_ns);
    if (status == LETHE_OK) memset(device->worked_ns, 0, sizeof device->worked_ns);
    return status;
}
