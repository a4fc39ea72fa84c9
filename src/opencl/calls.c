/* opencl/calls.c - the table of the loader's functions, and the names of errors. */
#include "opencl/calls.h"

#include <stddef.h>

const struct lethe_opencl_calls lethe_opencl_loader = {
#define ROW(name) .name = cl##name,
    LETHE_OPENCL_CALLS(ROW)
#undef ROW
};

const char *lethe_opencl_error_name(cl_int error) {
#define NAME(code) \
    { code, #code }
    static const struct {
        cl_int error;
        const char *name;
    } names[] = {
        NAME(CL_DEVICE_NOT_FOUND),
        NAME(CL_DEVICE_NOT_AVAILABLE),
        NAME(CL_COMPILER_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(CL_OUT_OF_RESOURCES),
        NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
        NAME(CL_BUILD_PROGRAM_FAILURE),
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_DEVICE),
        NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_COMMAND_QUEUE),
        NAME(CL_INVALID_MEM_OBJECT),
        NAME(CL_INVALID_KERNEL_ARGS),
        NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_BUFFER_SIZE),
        {-1001, "no driver is installed"},
    };
#undef NAME
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].error == error) return names[i].name;
    }
    return "an error of the driver";
}
