/* Goal:   every function that works on an OpenCL device refuses NULL and half-filled arguments, and
 *         leaves no result behind.
 * Method: a table of calls, each with something missing. None of them needs a device. */
#include "support/test.h"

#include "lethe/opencl.h"
#include "support/refusals.h"

static const lethe_opencl_options no_size = {.batch = 16};
static const lethe_hash hash = {.low = 1, .high = 2};
static const lethe_bytes key = {"k", 1};
static uint64_t count = 7;
static uint8_t present = 7;
static double value = 7;
static lethe_hash hashed;

static void devices(void **state) {
    (void)state;
    lethe_opencl *device = ANYTHING;
    lethe_opencl_info info = LETHE_INIT(lethe_opencl_info), no_info = {.size = 0};
    lethe_opencl_times times = LETHE_INIT(lethe_opencl_times);
    const struct refusal refusals[] = {
        REFUSAL(lethe_opencl_find(NULL, NULL, NULL)),
        REFUSAL(lethe_opencl_find(NULL, &no_info, NULL)),
        REFUSAL(lethe_opencl_find(&no_size, &info, NULL)),
        REFUSAL(lethe_opencl_open(NULL, NULL, NULL)),
        REFUSAL(lethe_opencl_open(&no_size, &device, NULL)),
        REFUSAL(lethe_opencl_get_info(NULL, &info)),
        REFUSAL(lethe_opencl_get_times(NULL, &times)),
        REFUSAL(lethe_opencl_hash_batch(NULL, 1, &key, 1, &hashed, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(device);
    assert_int_equal(hashed.low, 0);
    lethe_opencl_close(NULL);
}

static void sketches(void **state) {
    (void)state;
    lethe_sketch *sketch, *down = ANYTHING;
    lethe_opencl_sketch *up = ANYTHING, *imported = ANYTHING;
    lethe_sketch_shape shape = LETHE_INIT(lethe_sketch_shape);
    assert_ok(lethe_sketch_new(NULL, &sketch));
    const struct refusal refusals[] = {
        REFUSAL(lethe_opencl_sketch_upload(NULL, sketch, &up, NULL)),
        REFUSAL(lethe_opencl_sketch_upload(NULL, sketch, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_import(NULL, no_source, &imported, NULL)),
        REFUSAL(lethe_opencl_sketch_import(NULL, no_source, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_apply(NULL, no_source, NULL)),
        REFUSAL(lethe_opencl_sketch_get_shape(NULL, &shape)),
        REFUSAL(lethe_opencl_sketch_count_batch(NULL, &hash, 1, &count, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_count_key_batch(NULL, &key, 1, &count, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_add_batch(NULL, &hash, 1, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_add_key_batch(NULL, &key, 1, NULL, NULL)),
        REFUSAL(lethe_opencl_sketch_download(NULL, &down, NULL)),
        REFUSAL(lethe_opencl_sketch_download(NULL, NULL, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(up);
    assert_null(imported);
    assert_null(down);
    assert_int_equal(shape.width, 0);
    lethe_opencl_sketch_free(NULL);
    lethe_sketch_free(sketch);
}

static void gaussian_filters(void **state) {
    (void)state;
    lethe_gaussian *filter, *down = ANYTHING;
    lethe_opencl_gaussian *up = ANYTHING, *made = ANYTHING;
    lethe_bloom *bloom = ANYTHING;
    const lethe_opencl_field_options options = LETHE_INIT(lethe_opencl_field_options);
    assert_ok(lethe_gaussian_new(NULL, &filter));
    const struct refusal refusals[] = {
        REFUSAL(lethe_opencl_gaussian_upload(NULL, filter, LETHE_OPENCL_WHOLE, &up, NULL)),
        REFUSAL(lethe_opencl_gaussian_upload(NULL, filter, LETHE_OPENCL_WHOLE, NULL, NULL)),
        REFUSAL(lethe_opencl_gaussian_new(NULL, &options, &made, NULL)),
        REFUSAL(lethe_opencl_gaussian_new(NULL, NULL, NULL, NULL)),
        REFUSAL(lethe_opencl_gaussian_add_batch(NULL, &hash, 1, NULL)),
        REFUSAL(lethe_opencl_gaussian_add_key_batch(NULL, &key, 1, NULL)),
        REFUSAL(lethe_opencl_gaussian_test_batch(NULL, &hash, 1, &present, NULL)),
        REFUSAL(lethe_opencl_gaussian_test_key_batch(NULL, &key, 1, &present, NULL)),
        REFUSAL(lethe_opencl_gaussian_download(NULL, &down, NULL)),
        REFUSAL(lethe_opencl_gaussian_download(NULL, NULL, NULL)),
        REFUSAL(lethe_opencl_gaussian_extract(NULL, &bloom, NULL)),
        REFUSAL(lethe_opencl_gaussian_extract(NULL, NULL, NULL)),
        REFUSAL(lethe_opencl_gaussian_read(NULL, &value, 1, NULL)),
    };
    CHECK_REFUSALS(refusals);
    assert_null(up);
    assert_null(made);
    assert_null(down);
    assert_null(bloom);
    lethe_opencl_gaussian_free(NULL);
    lethe_gaussian_free(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices),
        cmocka_unit_test(sketches),
        cmocka_unit_test(gaussian_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
