/* engine/ids/index.c - INDEX, the exact record of ids.
 *
 * WHY     Entries are put in the order of their keys: RocksDB finds the place of a key fast if it
 *         is near the last one, and a memtable of random keys is larger than the cache. An id that
 *         was applied twice in a group, more than W apart, keeps that order, so the later entry
 *         counts. Entries are dropped by age when RocksDB compacts them
 *         (lethe_disk_expire_index). */
#include "engine/ids/index.h"

#include <stdlib.h>

/* Entries deleted in one commit. */
enum { DELETED_AT_ONCE = 65536 };

/* Where a pending id goes in the order of keys. */
struct position {
    uint64_t prefix; /* the key's first eight bytes, as a number that sorts as they do */
    uint32_t at;
};

static int by_prefix(const void *left, const void *right) {
    const struct position *a = left, *b = right;
    if (a->prefix != b->prefix) return a->prefix < b->prefix ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

static void put_entry(lethe_batch *batch, lethe_disk *disk, const lethe_pending *pending) {
    unsigned char key[LETHE_LOG_ID_BYTES], value[LETHE_INDEX_VALUE_BYTES];
    lethe_log_id_store(key, pending->id);
    lethe_index_store(value, pending->entry);
    lethe_batch_put(batch, disk, LETHE_FAMILY_INDEX, (lethe_bytes){.data = key, .size = sizeof key},
                    (lethe_bytes){.data = value, .size = sizeof value});
}

lethe_status lethe_index_put(const lethe_pending_ids *pending, lethe_batch *batch,
                             lethe_disk *disk) {
    const lethe_pending *all = (const void *)pending->all.data;
    size_t count = pending->all.size / sizeof *all;
    if (count == 0) return LETHE_OK;
    lethe_buffer order = {.allocator = pending->all.allocator};
    bool has_room = lethe_buffer_reserve(&order, count * sizeof(struct position));
    if (!has_room || order.data == NULL) return LETHE_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct position position = {.prefix = __builtin_bswap64(all[i].id.low), .at = (uint32_t)i};
        lethe_buffer_append(&order, &position, sizeof position);
    }
    struct position *positions = (void *)order.data;
    qsort(positions, count, sizeof *positions, by_prefix);
    for (size_t i = 0; i < count; i++) {
        put_entry(batch, disk, &all[positions[i].at]);
    }
    lethe_buffer_free(&order);
    return LETHE_OK;
}

lethe_status lethe_index_put_run(const unsigned char *ids, lethe_id_run run, lethe_batch *batch,
                                 lethe_disk *disk) {
    unsigned char value[LETHE_INDEX_VALUE_BYTES];
    lethe_index_store(value, (lethe_index_entry){.clock_ms = run.clock_ms});
    lethe_batch_clear(batch);
    for (uint32_t i = 0; i < run.count; i++) {
        lethe_batch_put(
            batch, disk, LETHE_FAMILY_INDEX,
            (lethe_bytes){.data = ids + (size_t)i * LETHE_LOG_ID_BYTES, .size = LETHE_LOG_ID_BYTES},
            (lethe_bytes){.data = value, .size = sizeof value});
    }
    return lethe_disk_commit(disk, batch, NULL);
}

lethe_status lethe_index_get(lethe_disk *disk, lethe_log_id id, lethe_index_entry *out, bool *found,
                             lethe_detail *detail) {
    unsigned char key[LETHE_LOG_ID_BYTES];
    lethe_log_id_store(key, id);
    lethe_record record;
    lethe_status status = lethe_disk_get(
        disk, LETHE_FAMILY_INDEX, (lethe_bytes){.data = key, .size = sizeof key}, &record, detail);
    if (status != LETHE_OK) return status;
    *found = record.data != NULL;
    if (*found) {
        status = lethe_index_load((lethe_bytes){.data = record.data, .size = record.size}, out);
    }
    lethe_record_release(&record);
    return status;
}

/* Whole tables first, and the rest one by one: a deleted range without anything beside it must not
 * be left (log/commit.c, I4). */
lethe_status lethe_index_empty(lethe_disk *disk, lethe_batch *batch) {
    unsigned char first[LETHE_LOG_ID_BYTES] = {0}, last[LETHE_LOG_ID_BYTES];
    memset(last, 0xff, sizeof last);
    lethe_disk_reclaim(disk, LETHE_FAMILY_INDEX, (lethe_bytes){.data = first, .size = sizeof first},
                       (lethe_bytes){.data = last, .size = sizeof last});
    lethe_walk *walk;
    lethe_status status = lethe_walk_begin(disk, LETHE_FAMILY_INDEX, (lethe_bytes){0}, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    lethe_batch_clear(batch);
    for (uint32_t count = 1; status == LETHE_OK && lethe_walk_next(walk, &key, &value); count++) {
        lethe_batch_delete(batch, disk, LETHE_FAMILY_INDEX, key);
        if (count % DELETED_AT_ONCE != 0) continue;
        status = lethe_disk_commit(disk, batch, NULL);
        lethe_batch_clear(batch);
    }
    lethe_status ended = lethe_walk_end(walk, NULL);
    if (status == LETHE_OK) status = ended;
    return status == LETHE_OK ? lethe_disk_commit(disk, batch, NULL) : status;
}
