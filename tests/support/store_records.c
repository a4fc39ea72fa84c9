/* tests/support/store_records.c - see store_records.h. */
#include "support/store_records.h"

#include "engine/log/segment.h"
#include "engine/log/state.h"
#include "support/test.h"

/* Writes one record of a store that is open, and closes the store. */
static void write_and_close(lethe_disk *disk, enum lethe_family family, lethe_bytes key,
                            lethe_bytes value) {
    lethe_batch *batch = lethe_batch_new();
    if (value.data == NULL) {
        lethe_batch_delete(batch, disk, family, key);
    } else {
        lethe_batch_put(batch, disk, family, key, value);
    }
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
    lethe_disk_close(disk);
}

static lethe_disk *open_disk(const char *path) {
    lethe_disk *disk;
    assert_ok(lethe_disk_open(path, LETHE_DISK_WRITE, false, NULL, &disk, NULL));
    return disk;
}

void test_store_write_record(const char *path, enum lethe_family family, lethe_bytes key,
                             lethe_bytes value) {
    write_and_close(open_disk(path), family, key, value);
}

void test_store_lose_segment(const char *path) {
    lethe_disk *disk = open_disk(path);
    lethe_state state;
    assert_ok(lethe_state_load(disk, &state, NULL));
    assert_true(state.dropped > 0);
    unsigned char key[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(state.dropped + 1, key);
    lethe_record record;
    lethe_bytes bytes = {key, sizeof key};
    assert_ok(lethe_disk_get(disk, LETHE_FAMILY_IDS, bytes, &record, NULL));
    assert_non_null(record.data);
    lethe_record_release(&record);
    write_and_close(disk, LETHE_FAMILY_IDS, bytes, (lethe_bytes){0});
}
