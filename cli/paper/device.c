/* paper/device.c - the device of the figures about GPUs, with liblethe_opencl; see device.h. */
#include "paper/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "frame/clock.h"
#include "lethe/opencl.h"

/* A measurement goes on for so long, and is the best of what it saw. */
#define SECONDS 0.08

enum { LEAST_RUNS = 3 };

struct device {
    lethe_opencl *opencl;
    lethe_opencl_info info;
    uint32_t batch;
};

struct device_filter {
    lethe_opencl_gaussian *gaussian;
};

lethe_status device_open(uint32_t batch, struct device **out, lethe_detail *detail) {
    *out = NULL;
    struct device *device = calloc(1, sizeof *device);
    if (device == NULL) return LETHE_ENOMEM;
    lethe_opencl_options options =
        LETHE_OPTIONS(lethe_opencl_options, .batch = batch, .profile = true);
    lethe_status status = lethe_opencl_open(&options, &device->opencl, detail);
    device->info = (lethe_opencl_info)LETHE_INIT(lethe_opencl_info);
    device->batch = batch;
    if (status == LETHE_OK) status = lethe_opencl_get_info(device->opencl, &device->info);
    if (status == LETHE_OK) {
        *out = device;
        return LETHE_OK;
    }
    device_close(device);
    return status == LETHE_ENOTFOUND ? LETHE_OK : status;
}

void device_close(struct device *device) {
    if (device == NULL) return;
    lethe_opencl_close(device->opencl);
    free(device);
}

void device_describe(const struct device *device, const lethe_detail *detail,
                     struct report *report) {
    if (device == NULL) {
        report_result(report, "%s: nothing about devices was measured.", detail->text);
        return;
    }
    static const char *const types[] = {"", "a GPU", "an accelerator", "a CPU"};
    report_result(report, "the device is %s, %s.", device->info.name, types[device->info.type]);
    if (device->info.type != LETHE_OPENCL_CPU) return;
    report_result(report, "correctness only: the device is the CPU.");
    report->picture_note = "correctness only: the device is the CPU";
}

/* Asks once, for all keys. */
static lethe_status ask(lethe_opencl_sketch *there, const lethe_hash *hashes,
                        const lethe_bytes *keys, size_t count, uint64_t *counts,
                        lethe_detail *detail) {
    return keys != NULL
               ? lethe_opencl_sketch_count_key_batch(there, keys, count, counts, NULL, detail)
               : lethe_opencl_sketch_count_batch(there, hashes, count, counts, NULL, detail);
}

/* The shortest of several runs, in microseconds; its times by the device's clock as well. */
static lethe_status time_runs(struct device *device, lethe_opencl_sketch *there,
                              const lethe_hash *hashes, const lethe_bytes *keys, size_t count,
                              uint64_t *counts, double *best_us, lethe_opencl_times *best,
                              lethe_detail *detail) {
    *best_us = INFINITY;
    double end = clock_seconds() + SECONDS;
    lethe_status status = LETHE_OK;
    for (int run = 0; status == LETHE_OK && (run < LEAST_RUNS || clock_seconds() < end); run++) {
        lethe_opencl_times times = LETHE_INIT(lethe_opencl_times);
        status = lethe_opencl_get_times(device->opencl, &times); /* from 0 on */
        double start = clock_seconds();
        if (status == LETHE_OK) status = ask(there, hashes, keys, count, counts, detail);
        double us = (clock_seconds() - start) * 1e6;
        if (status == LETHE_OK) status = lethe_opencl_get_times(device->opencl, &times);
        if (us >= *best_us) continue;
        *best_us = us;
        *best = times;
    }
    return status;
}

lethe_status device_time_queries(struct device *device, const lethe_sketch *sketch,
                                 const lethe_hash *hashes, const lethe_bytes *keys, size_t count,
                                 struct device_times *out, lethe_detail *detail) {
    *out = (struct device_times){0};
    uint64_t *counts = calloc(2 * count, sizeof *counts);
    lethe_opencl_sketch *there = NULL;
    lethe_status status = counts != NULL ? LETHE_OK : LETHE_ENOMEM;
    if (status == LETHE_OK)
        status = lethe_opencl_sketch_upload(device->opencl, sketch, &there, detail);
    double all_us = 0, one_us = 0;
    lethe_opencl_times all, one = LETHE_INIT(lethe_opencl_times);
    size_t batch = count < device->batch ? count : device->batch;
    if (status == LETHE_OK)
        status = time_runs(device, there, hashes, keys, batch, counts, &one_us, &one, detail);
    if (status == LETHE_OK)
        status = time_runs(device, there, hashes, keys, count, counts, &all_us, &all, detail);
    if (status == LETHE_OK)
        status = lethe_sketch_count_batch(sketch, hashes, count, counts + count, NULL);
    for (size_t i = 0; status == LETHE_OK && i < count; i++)
        out->wrong += counts[i] != counts[count + i];
    out->million_per_second = (double)count / all_us;
    out->latency_us = one_us;
    out->kernel_us = (double)one.kernel_ns / 1e3;
    out->transfer_us = (double)(one.to_device_ns + one.from_device_ns) / 1e3;
    lethe_opencl_sketch_free(there);
    free(counts);
    return status;
}

lethe_status device_filter_open(struct device *device, const lethe_gaussian *from, bool whole,
                                struct device_filter **out, lethe_detail *detail) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return LETHE_ENOMEM;
    lethe_opencl_form form = whole ? LETHE_OPENCL_WHOLE : LETHE_OPENCL_LOCAL;
    return lethe_opencl_gaussian_upload(device->opencl, from, form, &(*out)->gaussian, detail);
}

lethe_status device_filter_add(struct device_filter *filter, const lethe_bytes *keys, size_t count,
                               lethe_detail *detail) {
    return lethe_opencl_gaussian_add_key_batch(filter->gaussian, keys, count, detail);
}

lethe_status device_filter_compare(struct device_filter *filter, const lethe_gaussian *with,
                                   bool *same, lethe_detail *detail) {
    lethe_gaussian *back;
    lethe_memory_writer a = {0}, b = {0};
    *same = false;
    lethe_status status = lethe_opencl_gaussian_download(filter->gaussian, &back, detail);
    if (status == LETHE_OK) status = lethe_gaussian_save(back, lethe_sink_to_memory(&a));
    if (status == LETHE_OK) status = lethe_gaussian_save(with, lethe_sink_to_memory(&b));
    if (status == LETHE_OK) *same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    lethe_memory_writer_free(&a);
    lethe_memory_writer_free(&b);
    lethe_gaussian_free(back);
    return status;
}

void device_filter_close(struct device_filter *filter) {
    if (filter == NULL) return;
    lethe_opencl_gaussian_free(filter->gaussian);
    free(filter);
}
