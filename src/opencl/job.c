/* opencl/job.c - sends work to a device: see opencl/device.h.
 *
 * Commands are enqueued without waiting. Only job_lane and job_end wait, and collect what the
 * commands of a lane cost. An event is kept only where somebody asks for it: for its times, or
 * because a command in the other lane must wait for it. */
#include <string.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "opencl/device.h"

struct lethe_opencl_job lethe_opencl_job_begin(lethe_opencl *device, lethe_detail *detail) {
    lethe_detail_clear(detail);
    return (struct lethe_opencl_job){.device = device, .detail = detail};
}

/* The first error of a job. */
static void fail(struct lethe_opencl_job *job, cl_int error, const char *attempt) {
    if (error == CL_SUCCESS || job->status != LETHE_OK) return;
    job->status = lethe_opencl_fail(job->detail, error, attempt, job->device->info.name);
}

/* Adds the time that a command took to its kind. */
static void collect_time(struct lethe_opencl_job *job, cl_event event,
                         enum lethe_opencl_work work) {
    if (!job->device->profile || job->status != LETHE_OK) return;
    cl_ulong start = 0, end = 0;
    cl_int error = job->device->calls->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_START,
                                                             sizeof start, &start, NULL);
    if (error == CL_SUCCESS) {
        error = job->device->calls->GetEventProfilingInfo(event, CL_PROFILING_COMMAND_END,
                                                          sizeof end, &end, NULL);
    }
    fail(job, error, "ask for times");
    if (error == CL_SUCCESS) job->device->worked_ns[work] += end - start;
}

/* Waits until the lane has done what was sent, also after an error. */
static void wait_lane(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane) {
    fail(job, job->device->calls->Finish(lane->queue), "finish");
    for (unsigned i = 0; i < lane->sent_count; i++) {
        collect_time(job, lane->sent[i].event, lane->sent[i].work);
        (void)job->device->calls->ReleaseEvent(lane->sent[i].event);
    }
    lane->sent_count = 0;
}

lethe_status lethe_opencl_job_end(struct lethe_opencl_job *job) {
    for (int i = 0; i < LETHE_OPENCL_LANES; i++)
        wait_lane(job, &job->device->lanes[i]);
    job->before = NULL;
    return job->status;
}

struct lethe_opencl_lane *lethe_opencl_job_lane(struct lethe_opencl_job *job) {
    struct lethe_opencl_lane *lane = &job->device->lanes[job->turn++ % LETHE_OPENCL_LANES];
    if (job->status == LETHE_OK) wait_lane(job, lane);
    return lane;
}

void lethe_opencl_job_flush(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane) {
    if (job->status == LETHE_OK) fail(job, job->device->calls->Flush(lane->queue), "start");
}

cl_mem lethe_opencl_job_buffer(struct lethe_opencl_job *job, size_t bytes) {
    if (job->status != LETHE_OK) return NULL;
    cl_int error = CL_SUCCESS;
    cl_mem memory = job->device->calls->CreateBuffer(job->device->context, CL_MEM_READ_WRITE, bytes,
                                                     NULL, &error);
    if (memory == NULL) fail(job, error, "allocate memory");
    return memory;
}

cl_mem lethe_opencl_job_reserve(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                                enum lethe_opencl_role role, size_t bytes) {
    struct lethe_opencl_buffer *buffer = &lane->buffers[role];
    if (job->status != LETHE_OK) return NULL;
    if (bytes == 0) bytes = 1; /* there is no empty buffer */
    if (buffer->bytes >= bytes) return buffer->memory;
    cl_mem memory = lethe_opencl_job_buffer(job, bytes);
    if (memory == NULL) return NULL;
    /* The lane is at rest, or has only commands that keep the old buffer alive until they end. */
    if (buffer->memory != NULL) (void)job->device->calls->ReleaseMemObject(buffer->memory);
    *buffer = (struct lethe_opencl_buffer){memory, bytes};
    return memory;
}

/* Where a command's event goes: NULL if nobody wants it. */
static cl_event *event_place(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                             bool wanted, enum lethe_opencl_work work) {
    if (!wanted && !job->device->profile) return NULL;
    if (lane->sent_count == LETHE_OPENCL_EVENTS) wait_lane(job, lane);
    lane->sent[lane->sent_count].work = work;
    lane->sent[lane->sent_count].event = NULL;
    return &lane->sent[lane->sent_count].event;
}

/* After a command: counts its event, or notes its error. */
static void sent(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane, cl_int error,
                 const cl_event *event, const char *attempt) {
    fail(job, error, attempt);
    if (error == CL_SUCCESS && event != NULL) lane->sent_count++;
}

void lethe_opencl_job_write(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane, cl_mem to,
                            const void *from, size_t bytes) {
    if (job->status != LETHE_OK || bytes == 0) return;
    cl_event *event = event_place(job, lane, false, LETHE_OPENCL_TO);
    cl_int error = job->device->calls->EnqueueWriteBuffer(lane->queue, to, CL_FALSE, 0, bytes, from,
                                                          0, NULL, event);
    sent(job, lane, error, event, "transfer to memory");
}

void lethe_opencl_job_read(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                           cl_mem from, void *to, size_t bytes) {
    if (job->status != LETHE_OK || bytes == 0) return;
    cl_event *event = event_place(job, lane, false, LETHE_OPENCL_FROM);
    cl_int error = job->device->calls->EnqueueReadBuffer(lane->queue, from, CL_FALSE, 0, bytes, to,
                                                         0, NULL, event);
    sent(job, lane, error, event, "transfer from memory");
}

void lethe_opencl_job_zero(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane, cl_mem to,
                           size_t bytes) {
    if (job->status != LETHE_OK) return;
    static const cl_uchar zero = 0;
    cl_event *event = event_place(job, lane, false, LETHE_OPENCL_RUN);
    cl_int error = job->device->calls->EnqueueFillBuffer(lane->queue, to, &zero, sizeof zero, 0,
                                                         bytes, 0, NULL, event);
    sent(job, lane, error, event, "clear memory");
}

void lethe_opencl_job_run(struct lethe_opencl_job *job, struct lethe_opencl_lane *lane,
                          enum lethe_opencl_kernel kernel, uint64_t items, bool chained,
                          const struct lethe_opencl_argument *arguments, size_t count) {
    if (job->status != LETHE_OK || items == 0) return;
    const struct lethe_opencl_calls *calls = job->device->calls;
    for (size_t i = 0; i < count && job->status == LETHE_OK; i++) {
        fail(job,
             calls->SetKernelArg(job->device->kernels[kernel], (cl_uint)i, arguments[i].size,
                                 arguments[i].value),
             "set an argument");
    }
    if (job->status != LETHE_OK) return;
    size_t group = job->device->group_sizes[kernel];
    size_t all = (size_t)((items + group - 1) / group * group);
    cl_event *event = event_place(job, lane, chained, LETHE_OPENCL_RUN);
    bool waits = chained && job->before != NULL;
    cl_int error =
        calls->EnqueueNDRangeKernel(lane->queue, job->device->kernels[kernel], 1, NULL, &all,
                                    &group, waits ? 1 : 0, waits ? &job->before : NULL, event);
    sent(job, lane, error, event, "run a kernel");
    if (error == CL_SUCCESS && chained) job->before = *event;
}
