/* paper/device_none.c - in place of device.c where lethe is built without OpenCL: there is no
 * device. */
#include <stdio.h>
#include <stdlib.h>

#include "paper/device.h"

lethe_status device_open(uint32_t batch, struct device **out, lethe_detail *detail) {
    (void)batch;
    *out = NULL;
    snprintf(detail->text, sizeof detail->text, "this lethe was built without OpenCL");
    return LETHE_OK;
}

/* Nobody has a device to call the others with. */
void device_close(struct device *device) {
    (void)device;
}

lethe_status device_time_queries(struct device *device, const lethe_sketch *sketch,
                                 const lethe_hash *hashes, const lethe_bytes *keys, size_t count,
                                 struct device_times *out, lethe_detail *detail) {
    (void)device, (void)sketch, (void)hashes, (void)keys, (void)count, (void)out, (void)detail;
    return LETHE_EINVAL;
}

lethe_status device_filter_open(struct device *device, const lethe_gaussian *from, bool whole,
                                struct device_filter **out, lethe_detail *detail) {
    (void)device, (void)from, (void)whole, (void)detail;
    *out = NULL;
    return LETHE_EINVAL;
}

lethe_status device_filter_add(struct device_filter *filter, const lethe_bytes *keys, size_t count,
                               lethe_detail *detail) {
    (void)filter, (void)keys, (void)count, (void)detail;
    return LETHE_EINVAL;
}

lethe_status device_filter_compare(struct device_filter *filter, const lethe_gaussian *with,
                                   bool *same, lethe_detail *detail) {
    (void)filter, (void)with, (void)detail;
    *same = false;
    return LETHE_EINVAL;
}

void device_filter_close(struct device_filter *filter) {
    (void)filter;
}

void device_describe(const struct device *device, const lethe_detail *detail,
                     struct report *report) {
    (void)device;
    report_result(report, "%s: nothing about devices was measured.", detail->text);
}
