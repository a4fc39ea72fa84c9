/* Goal:   the record about meters, and the log's segments with buckets (test_segment.c), never
 *         change; what was written comes back, and bytes that are not such a record are refused.
 * Method: a record with every kind of resolution, put into a real database; a golden file; bytes
 *         in all its parts changed, and each number changed under a right checksum; cut short. */
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "engine/meters/meters.h"
#include "support/folder.h"
#include "support/golden.h"

static const char GOLDEN[] = "meters-v1.bin";
static const lethe_bytes KEY = {.data = "per", .size = 3};

static const lethe_meters all = {
    .count = 5,
    .all = {{.resolution = {.unit = LETHE_UNIT_SECONDS, .seconds = 900},
             .keep_ms = 86400000,
             .kept_from = 1777777},
            {.resolution = {.unit = LETHE_UNIT_DAY}, .keep_ms = UINT64_C(63072000000)},
            {.resolution = {.unit = LETHE_UNIT_WEEK}},
            {.resolution = {.unit = LETHE_UNIT_MONTH}, .kept_from = 600},
            {.resolution = {.unit = LETHE_UNIT_YEAR}}},
    .zone_name = "Europe/Berlin",
    .since = 12345,
};

struct fixture {
    struct test_folder folder;
    lethe_disk *disk;
};

static void begin(struct fixture *fixture) {
    test_folder_make(&fixture->folder);
    assert_ok(
        lethe_disk_open(fixture->folder.path, LETHE_DISK_WRITE, true, NULL, &fixture->disk, NULL));
    assert_ok(lethe_disk_add(fixture->disk, LETHE_FAMILY_BUCKETS, NULL));
}

static void end(struct fixture *fixture) {
    lethe_disk_close(fixture->disk);
    test_folder_remove(&fixture->folder);
}

static void write_record(lethe_disk *disk, const void *data, size_t size) {
    lethe_batch *batch = lethe_batch_new();
    assert_non_null(batch);
    lethe_batch_put(batch, disk, LETHE_FAMILY_STATE, KEY,
                    (lethe_bytes){.data = data, .size = size});
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
}

static lethe_status load(lethe_disk *disk, lethe_meters *out) {
    lethe_detail detail = {""};
    lethe_status status = lethe_meters_load(disk, out, &detail);
    assert_true(status == LETHE_OK || detail.text[0] != '\0');
    return status;
}

static void the_bytes_are_golden(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    lethe_batch *batch = lethe_batch_new();
    assert_non_null(batch);
    lethe_meters_step step = {.writes = true, .after = all};
    assert_ok(lethe_meters_put(&step, 7, batch, fixture.disk));
    assert_ok(lethe_disk_commit(fixture.disk, batch, NULL));
    lethe_batch_free(batch);
    lethe_record record;
    assert_ok(lethe_disk_get(fixture.disk, LETHE_FAMILY_STATE, KEY, &record, NULL));
    golden_check(GOLDEN, record.data, record.size);
    lethe_record_release(&record);

    size_t size;
    void *saved = golden_read(GOLDEN, &size);
    write_record(fixture.disk, saved, size);
    free(saved);
    lethe_meters loaded;
    assert_ok(load(fixture.disk, &loaded));
    assert_int_equal(loaded.count, all.count);
    assert_int_equal(loaded.since, all.since);
    assert_string_equal(loaded.zone_name, all.zone_name);
    for (uint32_t i = 0; i < all.count; i++) {
        assert_int_equal(loaded.all[i].resolution.unit, all.all[i].resolution.unit);
        assert_int_equal(loaded.all[i].resolution.seconds, all.all[i].resolution.seconds);
        assert_int_equal(loaded.all[i].keep_ms, all.all[i].keep_ms);
        assert_int_equal(loaded.all[i].kept_from, all.all[i].kept_from);
    }
    end(&fixture);
}

static void damage_is_noticed(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    size_t size;
    unsigned char *saved = golden_read(GOLDEN, &size);
    lethe_meters loaded;
    for (size_t i = 0; i < size; i += i < 64 ? 4 : 13) { /* each is a commit */
        saved[i] ^= 0x41;
        write_record(fixture.disk, saved, size);
        lethe_status status = load(fixture.disk, &loaded);
        assert_true(status == LETHE_ECORRUPT || status == LETHE_EVERSION);
        assert_int_equal(loaded.count, 0);
        saved[i] ^= 0x41;
        write_record(fixture.disk, saved, i);
        assert_int_equal(load(fixture.disk, &loaded), LETHE_ECORRUPT);
    }
    free(saved);
    end(&fixture);
}

enum { HEAD_BYTES = 40, HEAD_CHECK_AT = 32, COUNT_AT = 48, NAME_SIZE_AT = 52, FIRST_AT = 56 };

/* Puts another number into the record, with the checksum that belongs to it. */
static void refuse_number(lethe_disk *disk, size_t at, const void *number, size_t number_size) {
    size_t size;
    unsigned char *saved = golden_read(GOLDEN, &size);
    memcpy(saved + at, number, number_size);
    uint64_t seed, checksum;
    memcpy(&seed, saved + HEAD_CHECK_AT, sizeof seed);
    checksum = lethe_checksum(seed, saved + HEAD_BYTES, size - HEAD_BYTES - sizeof checksum);
    memcpy(saved + size - sizeof checksum, &checksum, sizeof checksum);
    write_record(disk, saved, size);
    free(saved);
    lethe_meters loaded;
    assert_int_equal(load(disk, &loaded), LETHE_ECORRUPT);
}

/* A million resolutions, a period of 0 or of a century, and so on, from a hostile hand. */
static void numbers_have_ranges(void **state) {
    (void)state;
    struct fixture fixture;
    begin(&fixture);
    const uint32_t counts[] = {0, 9, 1000000, UINT32_MAX}, sizes[] = {0, 64, UINT32_MAX};
    const uint32_t units[] = {5, UINT32_MAX}, seconds[] = {0, 7, 7200, 3155760000U, UINT32_MAX};
    const uint64_t times[] = {UINT64_MAX};
    for (size_t i = 0; i < 4; i++)
        refuse_number(fixture.disk, COUNT_AT, &counts[i], sizeof counts[i]);
    for (size_t i = 0; i < 3; i++)
        refuse_number(fixture.disk, NAME_SIZE_AT, &sizes[i], sizeof sizes[i]);
    for (size_t i = 0; i < 2; i++)
        refuse_number(fixture.disk, FIRST_AT, &units[i], sizeof units[i]);
    for (size_t i = 0; i < 5; i++)
        refuse_number(fixture.disk, FIRST_AT + 4, &seconds[i], sizeof seconds[i]);
    refuse_number(fixture.disk, FIRST_AT + 8, times, sizeof times[0]);
    refuse_number(fixture.disk, FIRST_AT + 16, times, sizeof times[0]);
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bytes_are_golden),
        cmocka_unit_test(damage_is_noticed),
        cmocka_unit_test(numbers_have_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
