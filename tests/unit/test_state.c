/* Goal:   the bytes of a store's state never change, every version of it is read back as it was
 *         written, and a version that older programs know says nothing that they don't.
 * Method: a state of each version, put into a real database; golden files; the flags of one version
 *         under the number of another. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "engine/log/state.h"
#include "support/folder.h"
#include "support/golden.h"

static const lethe_state plain = {
    .seed = 7,
    .commit = 9,
    .folded = 8,
    .clock_ms = 1600000000000,
    .boot_ms = 5000,
    .boot_id = "sixteen bytes...",
    .window_ms = 60000,
    .error = 1e-9,
    .exact = true,
    .has_index = true,
    .log_ids = 11,
    .change_segments = 1,
    .dropped = 2,
    .totals = {.applied = 1,
               .duplicates = 2,
               .late = 3,
               .future = 4,
               .refused = 5,
               .mismatched = 6,
               .confirmed_false = 7},
    .window_error = 1e-10,
    .window_memory_bytes = 4096,
    .window_ids = 11,
};

struct fixture {
    struct test_folder folder;
    lethe_disk *disk;
};

static void begin(struct fixture *fixture) {
    test_folder_make(&fixture->folder);
    assert_ok(
        lethe_disk_open(fixture->folder.path, LETHE_DISK_WRITE, true, NULL, &fixture->disk, NULL));
}

static void end(struct fixture *fixture) {
    lethe_disk_close(fixture->disk);
    test_folder_remove(&fixture->folder);
}

static void write_record(lethe_disk *disk, const void *data, size_t size) {
    lethe_batch *batch = lethe_batch_new();
    assert_non_null(batch);
    lethe_batch_put(batch, disk, LETHE_FAMILY_STATE, (lethe_bytes){"state", 5},
                    (lethe_bytes){.data = data, .size = size});
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
}

static void check_version(lethe_state state, const char *golden) {
    struct fixture fixture;
    begin(&fixture);
    lethe_batch *batch = lethe_batch_new();
    assert_non_null(batch);
    assert_ok(lethe_state_put(&state, batch, fixture.disk));
    assert_ok(lethe_disk_commit(fixture.disk, batch, NULL));
    lethe_batch_free(batch);
    lethe_record record;
    assert_ok(
        lethe_disk_get(fixture.disk, LETHE_FAMILY_STATE, (lethe_bytes){"state", 5}, &record, NULL));
    golden_check(golden, record.data, record.size);
    lethe_record_release(&record);

    size_t size;
    void *saved = golden_read(golden, &size);
    write_record(fixture.disk, saved, size);
    free(saved);
    lethe_state loaded;
    assert_ok(lethe_state_load(fixture.disk, &loaded, NULL));
    assert_int_equal(loaded.seed, state.seed);
    assert_int_equal(loaded.window_ms, state.window_ms);
    assert_int_equal(loaded.known_from_ms, state.known_from_ms);
    assert_int_equal(loaded.sketch_bytes, state.sketch_bytes);
    assert_int_equal(loaded.sketch_top, state.sketch_top);
    assert_int_equal(loaded.exact, state.exact);
    assert_int_equal(loaded.forever, state.forever);
    assert_int_equal(loaded.forgetful, state.forgetful);
    assert_int_equal(loaded.scale, state.scale);
    assert_memory_equal(&loaded.totals, &state.totals, sizeof state.totals);
    assert_memory_equal(loaded.boot_id, state.boot_id, sizeof state.boot_id);
    end(&fixture);
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    check_version(plain, "state-v1.bin");
    lethe_state other = plain;
    other.sketch_bytes = 4096;
    other.sketch_top = 10;
    check_version(other, "state-v2.bin");
    other.known_from_ms = 1500000000000;
    other.event_time = true;
    check_version(other, "state-v3.bin");
    other = plain;
    other.forgetful = true;
    check_version(other, "state-v4.bin");
    other.forgetful = false;
    other.totals.overflow = 23;
    other.totals.invalid = 24;
    check_version(other, "state-v4-outcomes.bin");
    other = plain;
    other.scale = 2;
    check_version(other, "state-v5.bin");
    other.totals.limited = 25;
    check_version(other, "state-v6.bin");
}

enum {
    HEAD_BYTES = 40,
    HEAD_CHECK_AT = 32,
    FLAGS_AT = HEAD_BYTES + 176,
    SCALE_AT = HEAD_BYTES + 216,
    LIMITED_AT = HEAD_BYTES + 220
};

/* Puts another number into a golden file, with the checksum that belongs to it. */
static void refuse_number(const char *golden, size_t at, uint32_t number) {
    struct fixture fixture;
    begin(&fixture);
    size_t size;
    unsigned char *saved = golden_read(golden, &size);
    memcpy(saved + at, &number, sizeof number);
    uint64_t seed, checksum;
    memcpy(&seed, saved + HEAD_CHECK_AT, sizeof seed);
    checksum = lethe_checksum(seed, saved + HEAD_BYTES, size - HEAD_BYTES - sizeof checksum);
    memcpy(saved + size - sizeof checksum, &checksum, sizeof checksum);
    write_record(fixture.disk, saved, size);
    free(saved);
    lethe_state loaded;
    assert_int_equal(lethe_state_load(fixture.disk, &loaded, NULL), LETHE_ECORRUPT);
    end(&fixture);
}

/* Nor is a version that older programs refuse written without a need. */
static void the_kind_of_the_window_has_a_version(void **state) {
    (void)state;
    refuse_number("state-v1.bin", FLAGS_AT, 32);
    refuse_number("state-v4.bin", FLAGS_AT, 0);
}

static void a_scale_has_a_version_and_a_range(void **state) {
    (void)state;
    refuse_number("state-v5.bin", SCALE_AT, 0);
    refuse_number("state-v5.bin", SCALE_AT, 19);
    refuse_number("state-v5.bin", SCALE_AT, UINT32_MAX);
}

/* A store in which nothing was limited stays readable by older programs. */
static void limits_have_a_version(void **state) {
    (void)state;
    refuse_number("state-v6.bin", LIMITED_AT, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(the_kind_of_the_window_has_a_version),
        cmocka_unit_test(a_scale_has_a_version_and_a_range),
        cmocka_unit_test(limits_have_a_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
