/* engine/disk/fold_table.c - counters written as one or two sorted tables, and added as a whole.
 *
 * I1      Tables that could not be added stay as fold.sst and fold-upper.sst, whose names are
 *         durable by then. RocksDB removes its own links to the tables, and the manifest may name
 *         them all the same (mend.c).
 * I2      Both tables of a fold are added by one record of the manifest: all of the fold is in the
 *         family, or nothing.
 * WHY     A million counters put one by one through RocksDB's log and memory cost a second. A table
 *         is written once, in order, and then added by a change of the manifest. Adding it twice,
 *         or replaying changes that it has already, does no harm, since all values are absolute. So
 *         a crash before a commit records the fold costs nothing. Two tables, each of half of the
 *         keys, can be written at once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "engine/log/segment.h"
#include "os/file.h"
#include "os/sync.h"

struct lethe_fold_table {
    lethe_disk *disk;
    enum lethe_family family;
    const char *path;
    rocksdb_envoptions_t *environment;
    rocksdb_sstfilewriter_t *writer;
    char *message;
    bool is_finished;
    /* The file stays when this is freed. */
    bool stays;
};

static void free_table(lethe_fold_table *table) {
    if (table->writer != NULL) rocksdb_sstfilewriter_destroy(table->writer);
    if (table->environment != NULL) rocksdb_envoptions_destroy(table->environment);
    if (table->message != NULL) rocksdb_free(table->message);
    if (!table->stays && lethe_disk_check_place(table->disk, NULL) == LETHE_OK)
        lethe_os_remove(table->path);
    free(table);
}

static lethe_status begin(lethe_disk *disk, enum lethe_family family, const char *path,
                          lethe_fold_table **out, lethe_detail *detail) {
    *out = NULL;
    lethe_status status = lethe_disk_check_place(disk, detail);
    if (status != LETHE_OK) return status;
    lethe_fold_table *table = calloc(1, sizeof *table);
    if (table == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    table->disk = disk;
    table->family = family;
    table->path = path;
    lethe_os_remove(path);
    table->environment = rocksdb_envoptions_create();
    table->writer = rocksdb_sstfilewriter_create(table->environment, disk->options[family]);
    rocksdb_sstfilewriter_open(table->writer, path, &table->message);
    if (table->message != NULL) {
        char *message = table->message;
        table->message = NULL;
        free_table(table);
        return lethe_disk_translate(message, "cannot write counters", detail);
    }
    *out = table;
    return LETHE_OK;
}

lethe_status lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family, uint64_t cut,
                                    lethe_fold_table **out, lethe_detail *detail) {
    lethe_status status = begin(disk, family, disk->folds[0], out, detail);
    if (*out == NULL) return status;
    unsigned char value[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(cut, value);
    lethe_fold_table_put(*out, (lethe_bytes){0},
                         (lethe_bytes){.data = value, .size = sizeof value});
    return LETHE_OK;
}

lethe_status lethe_fold_table_begin_upper(lethe_disk *disk, enum lethe_family family,
                                          lethe_fold_table **out, lethe_detail *detail) {
    return begin(disk, family, disk->folds[1], out, detail);
}

void lethe_fold_table_put(lethe_fold_table *table, lethe_bytes key, lethe_bytes value) {
    if (table->message != NULL) return;
    rocksdb_sstfilewriter_put(table->writer, key.data, key.size, value.data, value.size,
                              &table->message);
}

void lethe_fold_table_delete(lethe_fold_table *table, lethe_bytes key) {
    if (table->message != NULL) return;
    rocksdb_sstfilewriter_delete(table->writer, key.data, key.size, &table->message);
}

void lethe_fold_table_finish(lethe_fold_table *table) {
    if (table->message != NULL || table->is_finished) return;
    rocksdb_sstfilewriter_finish(table->writer, &table->message);
    table->is_finished = true;
}

void lethe_fold_table_drop(lethe_fold_table *table) {
    if (table != NULL) free_table(table);
}

/* Makes the files a part of the database, with one record of its manifest. */
static char *add_to_database(lethe_fold_table *const tables[], size_t count) {
    rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
    const char *files[LETHE_FOLD_TABLES];
    char *message = NULL;
    for (size_t i = 0; i < count; i++)
        files[i] = tables[i]->path;
    lethe_disk *disk = tables[0]->disk;
    rocksdb_ingest_external_file_cf(disk->database, disk->families[tables[0]->family], files, count,
                                    options, &message);
    rocksdb_ingestexternalfileoptions_destroy(options);
    for (size_t i = 0; i < count; i++)
        tables[i]->stays = message != NULL;
    return message;
}

/* Adds tables that are finished, durably. */
static lethe_status add(lethe_fold_table *const tables[], size_t count, lethe_detail *detail) {
    lethe_disk *disk = tables[0]->disk;
    lethe_status status = lethe_os_sync_folder(disk->folder);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot write counters: %s", strerror(errno));
    }
    status = lethe_disk_check_place(disk, detail);
    if (status != LETHE_OK) return status;
    return lethe_disk_translate(add_to_database(tables, count), "cannot write counters", detail);
}

lethe_status lethe_fold_table_end(lethe_fold_table *table, lethe_fold_table *upper,
                                  lethe_detail *detail) {
    lethe_fold_table *const tables[LETHE_FOLD_TABLES] = {table, upper};
    size_t count = upper == NULL ? 1 : 2;
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        lethe_fold_table_finish(tables[i]);
        char *message = tables[i]->message;
        tables[i]->message = NULL;
        status = lethe_disk_translate(message, "cannot write counters", detail);
    }
    if (status == LETHE_OK) status = add(tables, count, detail);
    for (size_t i = 0; i < count; i++)
        free_table(tables[i]);
    return status;
}
