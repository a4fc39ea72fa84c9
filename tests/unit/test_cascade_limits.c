/* Goal:   a cascade refuses options and folders that make no sense, and a second opening.
 * Method: options around their limits, in a folder that must not be made by them. */
#include "support/test.h"

#include <stdio.h>
#include <unistd.h>

#include "support/cascade.h"
#include "support/folder.h"

static void options_out_of_range_are_refused(void **state) {
    (void)state;
    struct test_folder folder;
    test_folder_make(&folder);
    char path[600];
    snprintf(path, sizeof path, "%s/store", folder.path);
    static const lethe_cascade_options wrong[] = {
        LETHE_OPTIONS(lethe_cascade_options, .error = 0.2),
        LETHE_OPTIONS(lethe_cascade_options, .error = -1),
        LETHE_OPTIONS(lethe_cascade_options, .error = 1e-16),
        LETHE_OPTIONS(lethe_cascade_options, .capacity = UINT64_C(1) << 45),
        LETHE_OPTIONS(lethe_cascade_options, .capacity = UINT64_C(1) << 40, .error = 1e-9),
        LETHE_OPTIONS(lethe_cascade_options, .memory_bytes = 1000),
        LETHE_OPTIONS(lethe_cascade_options, .growth = 1),
        LETHE_OPTIONS(lethe_cascade_options, .growth = 17),
        LETHE_OPTIONS(lethe_cascade_options, .window_ms = 10),
        LETHE_OPTIONS(lethe_cascade_options, .window_ms = 10000, .slack = 2),
        LETHE_OPTIONS(lethe_cascade_options, .window_ms = 10000, .capacity = UINT64_C(1) << 32,
                      .error = 1e-9),
        LETHE_OPTIONS(lethe_cascade_options, .read_depth = 5000),
        LETHE_OPTIONS(lethe_cascade_options, .durability = (lethe_cascade_durability)7),
        LETHE_OPTIONS(lethe_cascade_options, .reading = (lethe_cascade_reading)7),
    };
    lethe_cascade *cascade;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(lethe_cascade_open(path, &wrong[i], &cascade, NULL), LETHE_EINVAL);
        assert_null(cascade);
        assert_int_equal(access(path, F_OK), -1);
    }
    lethe_cascade_options options = test_cascade_options;
    options.must_exist = true;
    assert_int_equal(lethe_cascade_open(path, &options, &cascade, NULL), LETHE_ENOTFOUND);
    options.must_exist = false;
    assert_ok(lethe_cascade_open(path, &options, &cascade, NULL));
    lethe_cascade *second;
    assert_int_equal(lethe_cascade_open(path, &options, &second, NULL), LETHE_EBUSY);
    unsigned char note[LETHE_CASCADE_MAX_NOTE_BYTES + 1] = {0};
    assert_int_equal(lethe_cascade_checkpoint(cascade, 1, note, sizeof note), LETHE_EINVAL);
    assert_ok(lethe_cascade_checkpoint(cascade, 1, note, sizeof note - 1));
    assert_ok(lethe_cascade_close(cascade, NULL));
    options.error = 1e-9;
    assert_int_equal(lethe_cascade_open(path, &options, &cascade, NULL), LETHE_EMISMATCH);
    /* A folder with something else in it does not become a store. */
    snprintf(path, sizeof path, "%s", folder.path);
    assert_int_equal(lethe_cascade_open(path, &test_cascade_options, &cascade, NULL),
                     LETHE_ECORRUPT);
    test_folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(options_out_of_range_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
