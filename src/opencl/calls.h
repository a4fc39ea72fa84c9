/* opencl/calls.h - the functions of OpenCL that this library calls, as a table.
 *
 * Everything goes through the table, so a test can put another one in its place and let any call
 * fail. Nothing else in Lethe includes OpenCL's headers. */
#ifndef LETHE_OPENCL_CALLS_H
#define LETHE_OPENCL_CALLS_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define LETHE_OPENCL_CALLS(call)                                                           \
    call(GetPlatformIDs) call(GetPlatformInfo) call(GetDeviceIDs) call(GetDeviceInfo)      \
        call(CreateContext) call(ReleaseContext) call(CreateCommandQueue)                  \
            call(ReleaseCommandQueue) call(CreateProgramWithSource) call(BuildProgram)     \
                call(GetProgramBuildInfo) call(ReleaseProgram) call(CreateKernel)          \
                    call(ReleaseKernel) call(GetKernelWorkGroupInfo) call(SetKernelArg)    \
                        call(CreateBuffer) call(ReleaseMemObject) call(EnqueueWriteBuffer) \
                            call(EnqueueReadBuffer) call(EnqueueFillBuffer)                \
                                call(EnqueueNDRangeKernel) call(Flush) call(Finish)        \
                                    call(GetEventProfilingInfo) call(ReleaseEvent)

struct lethe_opencl_calls {
#define LETHE_OPENCL_MEMBER(name) __typeof__(cl##name) *name;
    LETHE_OPENCL_CALLS(LETHE_OPENCL_MEMBER)
#undef LETHE_OPENCL_MEMBER
};

/* The loader's own functions. */
extern const struct lethe_opencl_calls lethe_opencl_loader;

/* The name of an error, such as "CL_OUT_OF_RESOURCES". Never NULL. */
const char *lethe_opencl_error_name(cl_int error);

#endif
