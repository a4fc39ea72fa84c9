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

/* Puts the ids of a segment into INDEX, and the segment without digests. */
static void put_earlier(lethe_disk *disk, lethe_batch *batch, lethe_bytes key,
                        const lethe_id_segment *ids) {
    lethe_buffer segment = {0}, runs = {0};
    assert_ok(lethe_id_segment_begin(&segment));
    assert_true(lethe_buffer_reserve(&segment, (size_t)ids->count * LETHE_LOG_ID_BYTES));
    uint32_t at = 0;
    for (uint32_t i = 0; i < ids->run_count; i++) {
        lethe_id_run run = lethe_id_segment_run(ids, i);
        assert_true(lethe_buffer_reserve(&runs, sizeof run));
        lethe_buffer_append(&runs, &run, sizeof run);
        for (uint32_t end = at + run.count; at < end; at++) {
            const unsigned char *id = ids->ids + (size_t)at * LETHE_LOG_ID_BYTES;
            unsigned char value[LETHE_INDEX_VALUE_BYTES];
            lethe_index_store(value, lethe_id_segment_entry(ids, at, run));
            lethe_batch_put(batch, disk, LETHE_FAMILY_INDEX, (lethe_bytes){id, LETHE_LOG_ID_BYTES},
                            (lethe_bytes){value, sizeof value});
            lethe_id_segment_append(&segment, lethe_log_id_load(id));
        }
    }
    assert_ok(lethe_id_segment_end(&segment, (const void *)runs.data, ids->run_count,
                                   (lethe_id_notes){0}));
    lethe_batch_put(batch, disk, LETHE_FAMILY_IDS, key, (lethe_bytes){segment.data, segment.size});
    lethe_buffer_free(&segment);
    lethe_buffer_free(&runs);
}

void test_store_make_earlier(const char *path) {
    lethe_disk *disk = open_disk(path);
    lethe_state state;
    assert_ok(lethe_state_load(disk, &state, NULL));
    assert_true(state.exact);
    lethe_batch *batch = lethe_batch_new();
    lethe_walk *walk;
    lethe_bytes key, value;
    assert_ok(lethe_walk_begin(disk, LETHE_FAMILY_IDS, (lethe_bytes){0}, &walk));
    while (lethe_walk_next(walk, &key, &value)) {
        lethe_id_segment ids;
        assert_ok(lethe_id_segment_open(value, &ids));
        /* What has no digest is in a record already, if there are any. */
        if (ids.digests != NULL || !state.has_index) put_earlier(disk, batch, key, &ids);
    }
    assert_ok(lethe_walk_end(walk, NULL));
    state.has_index = true;
    assert_ok(lethe_state_put(&state, batch, disk));
    assert_ok(lethe_disk_commit(disk, batch, NULL));
    lethe_batch_free(batch);
    lethe_disk_close(disk);
}

void test_store_lose_segment(const char *path) {
    lethe_disk *disk = open_disk(path);
    lethe_state state;
    assert_ok(lethe_state_load(disk, &state, NULL));
    if (state.exact && !state.has_index) {
        lethe_disk_close(disk);
        test_store_make_earlier(path);
        disk = open_disk(path);
    }
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
