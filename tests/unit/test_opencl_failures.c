/* Goal:   whatever call of OpenCL fails, or allocation, a status and a sentence come back, nothing
 *         leaks, what the host has is unchanged, and what is on the device is either right or
 *         refused. A device that works again can be used again.
 * Method: the n-th call fails, for every n, once or from then on, while a device is opened and
 *         while everything is done that can be done on it. */
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/opencl.h"
#include "opencl/device.h"
#include "support/heap.h"
#include "support/opencl.h"

/* More calls than anything here makes: a test that counts so far has gone wrong. */
enum { KEYS = 40, BATCH = 16, MOST_CALLS = 2000 };

static const lethe_opencl_options usual = {
    .size = sizeof(lethe_opencl_options), .batch = BATCH, .profile = true};

static bool has_device(void) {
    lethe_opencl_info info = LETHE_INIT(lethe_opencl_info);
    lethe_detail detail;
    lethe_status status = lethe_opencl_find(NULL, &info, &detail);
    if (status != LETHE_OK) printf("nothing is tested: %s\n", detail.text);
    return status == LETHE_OK;
}

static void fail_from(size_t fail_at, cl_int error, bool for_ever) {
    long live = test_opencl_faults.live;
    test_opencl_faults = (struct test_opencl_faults){
        .fail_at = fail_at, .error = error, .for_ever = for_ever, .live = live};
}

/* What a failure may be reported as. */
static void assert_failed(lethe_status status, const lethe_detail *detail, cl_int error) {
    bool is_memory = error == CL_MEM_OBJECT_ALLOCATION_FAILURE;
    if (status != (is_memory ? LETHE_ENOMEM : LETHE_EDEVICE) && status != LETHE_ENOTFOUND)
        fail_msg("%s: %s", lethe_strerror(status), detail->text);
    if (detail->text[0] == '\0') fail_msg("no detail of: %s", lethe_strerror(status));
}

static void opening_survives_each_failed_call(void **state) {
    (void)state;
    if (!has_device()) skip();
    static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE};
    for (size_t n = 0; n < MOST_CALLS; n++) {
        lethe_opencl *device = (lethe_opencl *)&n;
        lethe_detail detail;
        fail_from(n, errors[n % 2], n % 4 == 0);
        lethe_status status =
            lethe_opencl_open_with(&test_opencl_failing, &usual, &device, &detail);
        if (status == LETHE_OK) {
            assert_true(test_opencl_faults.calls <= n);
            lethe_opencl_close(device);
            assert_int_equal(test_opencl_faults.live, 0);
            assert_true(n > 30);
            return;
        }
        assert_null(device);
        if (n > 0 && strstr(detail.text, "compile") == NULL)
            assert_failed(status, &detail, errors[n % 2]);
        assert_true(detail.text[0] != '\0');
        assert_int_equal(test_opencl_faults.live, 0);
    }
    fail_msg("the device could not be opened");
}

static void opening_survives_each_failed_allocation(void **state) {
    (void)state;
    if (!has_device()) skip();
    lethe_status status = LETHE_ENOMEM;
    for (size_t n = 0; status != LETHE_OK && n < MOST_CALLS; n++) {
        struct test_heap heap;
        test_heap_init(&heap, n);
        lethe_opencl_options options = usual;
        options.allocator = &heap.allocator;
        lethe_opencl *device;
        status = lethe_opencl_open(&options, &device, NULL);
        assert_true(status == LETHE_OK || status == LETHE_ENOMEM);
        lethe_opencl_close(device);
        assert_int_equal(heap.live_bytes, 0);
    }
}

/* What the host has. */
struct host {
    lethe_sketch *sketch;
    lethe_gaussian *gaussian;
    lethe_memory_writer export;
    lethe_hash hashes[KEYS];
    lethe_bytes keys[KEYS];
};

static void make_host(struct host *host) {
    *host = (struct host){0};
    assert_ok(lethe_sketch_new(&LETHE_OPTIONS(lethe_sketch_options, .width = 50), &host->sketch));
    assert_ok(lethe_gaussian_new(&LETHE_OPTIONS(lethe_gaussian_options, .slots = 500, .hashes = 3),
                                 &host->gaussian));
    test_opencl_draw(1, host->hashes, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        host->keys[i] = (lethe_bytes){"some bytes to be hashed, more than there are keys", i};
    assert_ok(lethe_sketch_add_batch(host->sketch, host->hashes, KEYS, NULL, NULL));
    assert_ok(lethe_gaussian_add_batch(host->gaussian, host->hashes, KEYS));
    assert_ok(lethe_sketch_export(host->sketch, lethe_sink_to_memory(&host->export)));
}

static void free_host(struct host *host) {
    lethe_sketch_free(host->sketch);
    lethe_gaussian_free(host->gaussian);
    lethe_memory_writer_free(&host->export);
}

/* All bytes of what the host has, as one number. */
static uint64_t host_checksum(const struct host *host) {
    lethe_memory_writer writer = {0};
    assert_ok(lethe_sketch_save(host->sketch, lethe_sink_to_memory(&writer)));
    assert_ok(lethe_gaussian_save(host->gaussian, lethe_sink_to_memory(&writer)));
    uint64_t sum = lethe_hash_bytes(1, writer.data, writer.size).low;
    lethe_memory_writer_free(&writer);
    return sum;
}

/* Everything that can be done with a sketch. What fails is noted; the first failure ends it. */
static lethe_status use_sketch(lethe_opencl *device, const struct host *host,
                               lethe_detail *detail) {
    lethe_opencl_sketch *there = NULL;
    lethe_sketch *back = NULL;
    uint64_t counts[KEYS], right[KEYS];
    uint8_t flags[KEYS];
    lethe_hash hashes[KEYS];
    assert_ok(lethe_sketch_count_batch(host->sketch, host->hashes, KEYS, right, NULL));
    lethe_status status = lethe_opencl_hash_batch(device, 1, host->keys, KEYS, hashes, detail);
    lethe_status made = LETHE_OK;
    if (status == LETHE_OK)
        status = made = lethe_opencl_sketch_upload(device, host->sketch, &there, detail);
    assert_true((there != NULL) == (status == LETHE_OK));
    if (status == LETHE_OK) {
        memset(counts, 1, sizeof counts);
        status = lethe_opencl_sketch_count_batch(there, host->hashes, KEYS, counts, flags, detail);
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(counts[i], status == LETHE_OK ? right[i] : 0);
    }
    if (status == LETHE_OK)
        status = lethe_opencl_sketch_count_key_batch(there, host->keys, KEYS, counts, NULL, detail);
    if (status == LETHE_OK) {
        lethe_memory_reader reader = {.data = host->export.data, .size = host->export.size};
        status = lethe_opencl_sketch_apply(there, lethe_source_from_memory(&reader), detail);
        /* After a failed apply the sketch answers as before, if the device does. */
        lethe_status asked =
            lethe_opencl_sketch_count_batch(there, host->hashes, KEYS, counts, NULL, NULL);
        if (asked == LETHE_OK) assert_memory_equal(counts, right, sizeof right);
        if (status == LETHE_OK) status = asked;
        if (asked != LETHE_OK && status == asked)
            snprintf(detail->text, sizeof detail->text, "asked without a detail");
    }
    if (status == LETHE_OK) {
        status = lethe_opencl_sketch_add_batch(there, host->hashes, KEYS, right, detail);
        lethe_status asked =
            lethe_opencl_sketch_count_batch(there, host->hashes, KEYS, counts, NULL, NULL);
        if (status != LETHE_OK) assert_int_equal(asked, LETHE_EDEVICE);
        /* A later export mends it. */
        lethe_memory_reader reader = {.data = host->export.data, .size = host->export.size};
        if (lethe_opencl_sketch_apply(there, lethe_source_from_memory(&reader), NULL) == LETHE_OK &&
            lethe_opencl_sketch_count_batch(there, host->hashes, KEYS, counts, NULL, NULL) ==
                LETHE_OK)
            assert_memory_equal(counts, right, sizeof right);
    }
    if (status == LETHE_OK) {
        status = lethe_opencl_sketch_download(there, &back, detail);
        assert_true((back != NULL) == (status == LETHE_OK));
    }
    lethe_sketch_free(back);
    lethe_opencl_sketch_free(there);
    return status;
}

static lethe_status use_gaussian(lethe_opencl *device, const struct host *host,
                                 lethe_opencl_form form, lethe_detail *detail) {
    lethe_opencl_gaussian *there = NULL, *own = NULL;
    lethe_gaussian *back = NULL;
    lethe_bloom *bloom = NULL;
    uint8_t present[KEYS];
    double values[500], levels[] = {1, 0.5};
    lethe_opencl_field_options options = LETHE_OPTIONS(lethe_opencl_field_options, .slots = 9,
                                                       .hashes = 1, .levels = levels, .reach = 1);
    lethe_status status = lethe_opencl_gaussian_new(device, &options, &own, detail);
    assert_true((own != NULL) == (status == LETHE_OK));
    if (status == LETHE_OK)
        status = lethe_opencl_gaussian_upload(device, host->gaussian, form, &there, detail);
    assert_true(status != LETHE_OK || there != NULL);
    if (status == LETHE_OK)
        status = lethe_opencl_gaussian_add_batch(there, host->hashes, KEYS, detail);
    if (status == LETHE_OK) {
        memset(present, 1, sizeof present);
        status = lethe_opencl_gaussian_test_batch(there, host->hashes, KEYS, present, detail);
        for (size_t i = 0; i < KEYS; i++)
            assert_int_equal(present[i], status == LETHE_OK);
    }
    if (status == LETHE_OK) status = lethe_opencl_gaussian_read(there, values, 500, detail);
    if (status == LETHE_OK) status = lethe_opencl_gaussian_extract(there, &bloom, detail);
    if (status == LETHE_OK) status = lethe_opencl_gaussian_download(there, &back, detail);
    assert_true((back != NULL) == (status == LETHE_OK));
    lethe_bloom_free(bloom);
    lethe_gaussian_free(back);
    lethe_opencl_gaussian_free(there);
    lethe_opencl_gaussian_free(own);
    return status;
}

static lethe_status use(lethe_opencl *device, const struct host *host, int what,
                        lethe_detail *detail) {
    if (what == 0) return use_sketch(device, host, detail);
    return use_gaussian(device, host, what == 1 ? LETHE_OPENCL_LOCAL : LETHE_OPENCL_WHOLE, detail);
}

/* One device for all: after every failure it is used again. */
static void work_survives_each_failed_call(void **state) {
    (void)state;
    if (!has_device()) skip();
    struct host host;
    make_host(&host);
    uint64_t sum = host_checksum(&host);
    static const cl_int errors[] = {CL_OUT_OF_RESOURCES, CL_MEM_OBJECT_ALLOCATION_FAILURE};
    lethe_opencl *device;
    fail_from(SIZE_MAX, CL_SUCCESS, false);
    assert_ok(lethe_opencl_open_with(&test_opencl_failing, &usual, &device, NULL));
    for (int what = 0; what < 3; what++) {
        bool reached = true;
        for (size_t n = 0; reached && n < MOST_CALLS; n++) {
            for (int lost = 0; lost < 2; lost++) {
                long live = test_opencl_faults.live;
                lethe_detail detail = {""};
                fail_from(n, errors[n % 2], lost == 1);
                lethe_status status = use(device, &host, what, &detail);
                reached = test_opencl_faults.calls > n;
                fail_from(SIZE_MAX, CL_SUCCESS, false);
                if (status != LETHE_OK) assert_failed(status, &detail, errors[n % 2]);
                if (!reached) assert_ok(status);
                /* Buffers of the lanes may have been made; nothing else may be left. */
                assert_true(test_opencl_faults.live - live <=
                            LETHE_OPENCL_LANES * LETHE_OPENCL_ROLES);
                assert_int_equal(host_checksum(&host), sum);
            }
        }
        assert_ok(use(device, &host, what, NULL));
    }
    lethe_opencl_close(device);
    assert_int_equal(test_opencl_faults.live, 0);
    free_host(&host);
}

static void work_survives_each_failed_allocation(void **state) {
    (void)state;
    if (!has_device()) skip();
    struct host host;
    make_host(&host);
    for (int what = 0; what < 3; what++) {
        struct test_heap heap;
        test_heap_init(&heap, SIZE_MAX);
        lethe_opencl_options options = usual;
        options.allocator = &heap.allocator;
        lethe_opencl *device;
        assert_ok(lethe_opencl_open(&options, &device, NULL));
        lethe_status status = LETHE_ENOMEM;
        for (size_t n = 0; status != LETHE_OK && n < MOST_CALLS; n++) {
            lethe_detail detail = {""};
            heap.allocations = 0;
            heap.fail_at = n;
            status = use(device, &host, what, &detail);
            assert_true(status == LETHE_OK || status == LETHE_ENOMEM || status == LETHE_EDEVICE);
            if (status != LETHE_OK) assert_true(detail.text[0] != '\0');
        }
        heap.fail_at = SIZE_MAX;
        lethe_opencl_close(device);
        assert_int_equal(heap.live_bytes, 0);
    }
    free_host(&host);
}

/* The driver's compiler has something to say. */
static void a_kernel_that_does_not_compile_is_reported(void **state) {
    (void)state;
    if (!has_device()) skip();
    size_t n = 0;
    lethe_detail detail = {""};
    lethe_opencl *device = NULL;
    for (; strstr(detail.text, "compile") == NULL && n < MOST_CALLS; n++) {
        fail_from(n, CL_BUILD_PROGRAM_FAILURE, false);
        lethe_status status =
            lethe_opencl_open_with(&test_opencl_failing, &usual, &device, &detail);
        assert_true(status == LETHE_EDEVICE || status == LETHE_ENOTFOUND);
    }
    assert_true(strstr(detail.text, "CL_BUILD_PROGRAM_FAILURE") != NULL && n < 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening_survives_each_failed_call),
        cmocka_unit_test(opening_survives_each_failed_allocation),
        cmocka_unit_test(work_survives_each_failed_call),
        cmocka_unit_test(work_survives_each_failed_allocation),
        cmocka_unit_test(a_kernel_that_does_not_compile_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
