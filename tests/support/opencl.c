/* tests/support/opencl.c - see opencl.h. */
#include "support/opencl.h"

#include <stdio.h>

#include "support/random.h"
#include "support/test.h"

lethe_opencl *test_opencl_open(const lethe_opencl_options *options) {
    static bool said;
    lethe_opencl *device;
    lethe_detail detail;
    lethe_status status = lethe_opencl_open(options, &device, &detail);
    if (status == LETHE_ENOTFOUND) {
        if (!said) printf("nothing is tested: %s\n", detail.text);
        said = true;
        return NULL;
    }
    if (status != LETHE_OK) fail_msg("%s: %s", lethe_strerror(status), detail.text);
    lethe_opencl_info info = LETHE_INIT(lethe_opencl_info);
    assert_ok(lethe_opencl_get_info(device, &info));
    static const char *const types[] = {"", "GPU", "accelerator", "CPU"};
    if (!said) printf("device: %s (%s)\n", info.name, types[info.type]);
    said = true;
    return device;
}

void test_opencl_draw(uint64_t seed, lethe_hash *hashes, size_t count) {
    struct test_random random = {seed};
    for (size_t i = 0; i < count; i++)
        hashes[i] = (lethe_hash){test_random_next(&random), test_random_next(&random)};
}

struct test_opencl_faults test_opencl_faults;

/* Whether this call is to fail. */
static bool fails(void) {
    size_t call = test_opencl_faults.calls++;
    return call == test_opencl_faults.fail_at ||
           (test_opencl_faults.for_ever && call > test_opencl_faults.fail_at);
}

/* A call that returns an error. */
#define FAILING(name, parameters, arguments)           \
    static cl_int CL_API_CALL fail_##name parameters { \
        if (fails()) return test_opencl_faults.error;  \
        return cl##name arguments;                     \
    }
/* One that enqueues a command, and may make an event. */
#define ENQUEUING(name, parameters, arguments)                           \
    static cl_int CL_API_CALL fail_##name parameters {                   \
        if (fails()) return test_opencl_faults.error;                    \
        cl_int error = cl##name arguments;                               \
        test_opencl_faults.live += error == CL_SUCCESS && event != NULL; \
        return error;                                                    \
    }
/* One that makes an object, and stores an error. */
#define MAKING(type, name, parameters, arguments)    \
    static type CL_API_CALL fail_##name parameters { \
        if (fails()) {                               \
            *error = test_opencl_faults.error;       \
            return NULL;                             \
        }                                            \
        type made = cl##name arguments;              \
        test_opencl_faults.live += made != NULL;     \
        return made;                                 \
    }
#define RELEASING(name, type)                             \
    static cl_int CL_API_CALL count_##name(type object) { \
        test_opencl_faults.live--;                        \
        return cl##name(object);                          \
    }

FAILING(GetPlatformIDs, (cl_uint room, cl_platform_id *ids, cl_uint *count), (room, ids, count))
FAILING(GetPlatformInfo,
        (cl_platform_id id, cl_platform_info what, size_t room, void *value, size_t *size),
        (id, what, room, value, size))
FAILING(GetDeviceIDs,
        (cl_platform_id id, cl_device_type type, cl_uint room, cl_device_id *ids, cl_uint *count),
        (id, type, room, ids, count))
FAILING(GetDeviceInfo,
        (cl_device_id id, cl_device_info what, size_t room, void *value, size_t *size),
        (id, what, room, value, size))
FAILING(BuildProgram,
        (cl_program program, cl_uint count, const cl_device_id *ids, const char *options,
         void(CL_CALLBACK *notify)(cl_program, void *), void *context),
        (program, count, ids, options, notify, context))
FAILING(GetKernelWorkGroupInfo,
        (cl_kernel kernel, cl_device_id id, cl_kernel_work_group_info what, size_t room,
         void *value, size_t *size),
        (kernel, id, what, room, value, size))
FAILING(SetKernelArg, (cl_kernel kernel, cl_uint index, size_t size, const void *value),
        (kernel, index, size, value))
FAILING(Flush, (cl_command_queue queue), (queue))
/* A real queue is finished all the same, so that nothing runs on. */
static cl_int CL_API_CALL fail_Finish(cl_command_queue queue) {
    cl_int error = clFinish(queue);
    return fails() ? test_opencl_faults.error : error;
}
FAILING(GetEventProfilingInfo,
        (cl_event event, cl_profiling_info what, size_t room, void *value, size_t *size),
        (event, what, room, value, size))

ENQUEUING(EnqueueWriteBuffer,
          (cl_command_queue queue, cl_mem to, cl_bool blocking, size_t at, size_t bytes,
           const void *from, cl_uint count, const cl_event *list, cl_event *event),
          (queue, to, blocking, at, bytes, from, count, list, event))
ENQUEUING(EnqueueReadBuffer,
          (cl_command_queue queue, cl_mem from, cl_bool blocking, size_t at, size_t bytes, void *to,
           cl_uint count, const cl_event *list, cl_event *event),
          (queue, from, blocking, at, bytes, to, count, list, event))
ENQUEUING(EnqueueFillBuffer,
          (cl_command_queue queue, cl_mem to, const void *pattern, size_t size, size_t at,
           size_t bytes, cl_uint count, const cl_event *list, cl_event *event),
          (queue, to, pattern, size, at, bytes, count, list, event))
ENQUEUING(EnqueueNDRangeKernel,
          (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *first,
           const size_t *all, const size_t *group, cl_uint count, const cl_event *list,
           cl_event *event),
          (queue, kernel, dimensions, first, all, group, count, list, event))

MAKING(cl_context, CreateContext,
       (const cl_context_properties *properties, cl_uint count, const cl_device_id *ids,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *context,
        cl_int *error),
       (properties, count, ids, notify, context, error))
MAKING(cl_command_queue, CreateCommandQueue,
       (cl_context context, cl_device_id id, cl_command_queue_properties properties, cl_int *error),
       (context, id, properties, error))
MAKING(cl_program, CreateProgramWithSource,
       (cl_context context, cl_uint count, const char **texts, const size_t *sizes, cl_int *error),
       (context, count, texts, sizes, error))
MAKING(cl_kernel, CreateKernel, (cl_program program, const char *name, cl_int *error),
       (program, name, error))
MAKING(cl_mem, CreateBuffer,
       (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *error),
       (context, flags, bytes, host, error))

RELEASING(ReleaseContext, cl_context)
RELEASING(ReleaseCommandQueue, cl_command_queue)
RELEASING(ReleaseProgram, cl_program)
RELEASING(ReleaseKernel, cl_kernel)
RELEASING(ReleaseMemObject, cl_mem)
RELEASING(ReleaseEvent, cl_event)

const struct lethe_opencl_calls test_opencl_failing = {
    .GetPlatformIDs = fail_GetPlatformIDs,
    .GetPlatformInfo = fail_GetPlatformInfo,
    .GetDeviceIDs = fail_GetDeviceIDs,
    .GetDeviceInfo = fail_GetDeviceInfo,
    .CreateContext = fail_CreateContext,
    .ReleaseContext = count_ReleaseContext,
    .CreateCommandQueue = fail_CreateCommandQueue,
    .ReleaseCommandQueue = count_ReleaseCommandQueue,
    .CreateProgramWithSource = fail_CreateProgramWithSource,
    .BuildProgram = fail_BuildProgram,
    .GetProgramBuildInfo = clGetProgramBuildInfo,
    .ReleaseProgram = count_ReleaseProgram,
    .CreateKernel = fail_CreateKernel,
    .ReleaseKernel = count_ReleaseKernel,
    .GetKernelWorkGroupInfo = fail_GetKernelWorkGroupInfo,
    .SetKernelArg = fail_SetKernelArg,
    .CreateBuffer = fail_CreateBuffer,
    .ReleaseMemObject = count_ReleaseMemObject,
    .EnqueueWriteBuffer = fail_EnqueueWriteBuffer,
    .EnqueueReadBuffer = fail_EnqueueReadBuffer,
    .EnqueueFillBuffer = fail_EnqueueFillBuffer,
    .EnqueueNDRangeKernel = fail_EnqueueNDRangeKernel,
    .Flush = fail_Flush,
    .Finish = fail_Finish,
    .GetEventProfilingInfo = fail_GetEventProfilingInfo,
    .ReleaseEvent = count_ReleaseEvent,
};
