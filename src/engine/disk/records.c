/* engine/disk/records.c - reading and writing the store's records: RocksDB under our names. */
#include <stdlib.h>
#include <string.h>

#include "engine/disk/internal.h"

/* A batch is RocksDB's own; only the name of the type is ours. */
static rocksdb_writebatch_t *inner(lethe_batch *batch) {
    return (rocksdb_writebatch_t *)batch;
}

lethe_batch *lethe_batch_new(void) {
    return (lethe_batch *)rocksdb_writebatch_create();
}

void lethe_batch_free(lethe_batch *batch) {
    if (batch != NULL) rocksdb_writebatch_destroy(inner(batch));
}

void lethe_batch_clear(lethe_batch *batch) {
    rocksdb_writebatch_clear(inner(batch));
}

void lethe_batch_put(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                     lethe_bytes key, lethe_bytes value) {
    rocksdb_writebatch_put_cf(inner(batch), disk->families[family], key.data, key.size, value.data,
                              value.size);
}

void lethe_batch_delete(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                        lethe_bytes key) {
    rocksdb_writebatch_delete_cf(inner(batch), disk->families[family], key.data, key.size);
}

void lethe_batch_delete_range(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                              lethe_bytes from, lethe_bytes to) {
    rocksdb_writebatch_delete_range_cf(inner(batch), disk->families[family], from.data, from.size,
                                       to.data, to.size);
}

void lethe_disk_enter_thread(void) {
    rocksdb_set_perf_level(rocksdb_disable);
}

lethe_status lethe_disk_commit(lethe_disk *disk, lethe_batch *batch, lethe_detail *detail) {
    char *message = NULL;
    lethe_status status = lethe_disk_check_place(disk, detail);
    if (status != LETHE_OK) return status;
    rocksdb_write(disk->database, disk->write, inner(batch), &message);
    return lethe_disk_translate(message, "cannot write to the store", detail);
}

lethe_status lethe_disk_get(lethe_disk *disk, enum lethe_family family, lethe_bytes key,
                            lethe_record *out, lethe_detail *detail) {
    *out = (lethe_record){0};
    char *message = NULL;
    rocksdb_pinnableslice_t *slice = rocksdb_get_pinned_cf(
        disk->database, disk->read, disk->families[family], key.data, key.size, &message);
    if (message != NULL) return lethe_disk_translate(message, "cannot read the store", detail);
    if (slice == NULL) return LETHE_OK;
    out->owner = slice;
    out->data = rocksdb_pinnableslice_value(slice, &out->size);
    return LETHE_OK;
}

void lethe_record_release(lethe_record *record) {
    if (record->owner != NULL) rocksdb_pinnableslice_destroy(record->owner);
    *record = (lethe_record){0};
}

void lethe_disk_reclaim(lethe_disk *disk, enum lethe_family family, lethe_bytes first,
                        lethe_bytes last) {
    char *message = NULL;
    if (lethe_disk_check_place(disk, NULL) != LETHE_OK) return;
    /* RocksDB's range includes its end. */
    rocksdb_delete_file_in_range_cf(disk->database, disk->families[family], first.data, first.size,
                                    last.data, last.size, &message);
    /* The range is deleted already. This only frees its space sooner. */
    if (message != NULL) rocksdb_free(message);
}

void lethe_disk_expire_index(lethe_disk *disk, uint64_t before_ms) {
    atomic_store_explicit(&disk->expire_before_ms, before_ms, memory_order_relaxed);
}

struct lethe_walk {
    lethe_disk *disk;
    rocksdb_iterator_t *iterator;
    bool begun;
};

lethe_status lethe_walk_begin(lethe_disk *disk, enum lethe_family family, lethe_bytes from,
                              lethe_walk **out) {
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return LETHE_ENOMEM;
    (*out)->disk = lethe_disk_share(disk);
    (*out)->iterator =
        rocksdb_create_iterator_cf(disk->database, disk->scan, disk->families[family]);
    if (from.size == 0) {
        rocksdb_iter_seek_to_first((*out)->iterator);
    } else {
        rocksdb_iter_seek((*out)->iterator, from.data, from.size);
    }
    return LETHE_OK;
}

bool lethe_walk_next(lethe_walk *walk, lethe_bytes *key, lethe_bytes *value) {
    if (walk->begun && rocksdb_iter_valid(walk->iterator)) rocksdb_iter_next(walk->iterator);
    walk->begun = true;
    if (!rocksdb_iter_valid(walk->iterator)) return false;
    key->data = rocksdb_iter_key(walk->iterator, &key->size);
    value->data = rocksdb_iter_value(walk->iterator, &value->size);
    return true;
}

void lethe_walk_seek(lethe_walk *walk, lethe_bytes key) {
    rocksdb_iter_seek(walk->iterator, key.data, key.size);
    walk->begun = false;
}

lethe_status lethe_walk_end(lethe_walk *walk, lethe_detail *detail) {
    char *message = NULL;
    rocksdb_iter_get_error(walk->iterator, &message);
    /* With the iterator go tables that only it still had. */
    lethe_status in_place =
        walk->disk->claim.descriptor >= 0 ? lethe_disk_check_place(walk->disk, NULL) : LETHE_OK;
    (void)in_place;
    rocksdb_iter_destroy(walk->iterator);
    lethe_disk_close(walk->disk);
    free(walk);
    return lethe_disk_translate(message, "cannot read the store", detail);
}

static uint64_t property(lethe_disk *disk, enum lethe_family family, const char *name) {
    uint64_t value = 0;
    if (!lethe_disk_has(disk, family)) return 0;
    (void)rocksdb_property_int_cf(disk->database, disk->families[family], name, &value);
    return value;
}

uint64_t lethe_disk_records(lethe_disk *disk, enum lethe_family family) {
    return property(disk, family, "rocksdb.estimate-num-keys");
}

uint64_t lethe_disk_bytes(lethe_disk *disk, enum lethe_family family) {
    return property(disk, family, "rocksdb.total-sst-files-size") +
           property(disk, family, "rocksdb.cur-size-all-mem-tables");
}

uint64_t lethe_disk_memory_bytes(lethe_disk *disk) {
    uint64_t total = property(disk, LETHE_FAMILY_STATE, "rocksdb.block-cache-usage");
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        total += property(disk, (enum lethe_family)i, "rocksdb.size-all-mem-tables");
        total += property(disk, (enum lethe_family)i, "rocksdb.estimate-table-readers-mem");
    }
    return total;
}
