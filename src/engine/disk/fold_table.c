/* engine/disk/fold_table.c - counters written as one sorted table, and added as a whole.
 *
 * I1      A table that could not be added stays as fold.sst, whose name is durable by then. RocksDB
 *         removes its own link to the table, and the manifest may name it all the same (mend.c).
 * WHY     A million counters put one by one through RocksDB's log and memory cost a second. A table
 *         is written once, in order, and then added by a change of the manifest. Adding it twice,
 *         or replaying changes that it has already, does no harm, since all values are absolute. So
 *         a crash before a commit records the fold costs nothing. */
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
    rocksdb_envoptions_t *environment;
    rocksdb_sstfilewriter_t *writer;
    char *message;
    uint64_t entries;
    /* The file stays when this is freed. */
    bool stays;
};

static void free_table(lethe_fold_table *table) {
    if (table->writer != NULL) rocksdb_sstfilewriter_destroy(table->writer);
    if (table->environment != NULL) rocksdb_envoptions_destroy(table->environment);
    if (table->message != NULL) rocksdb_free(table->message);
    if (!table->stays && lethe_disk_check_place(table->disk, NULL) == LETHE_OK)
        lethe_os_remove(table->disk->fold);
    free(table);
}

lethe_status lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family, uint64_t cut,
                                    lethe_fold_table **out, lethe_detail *detail) {
    *out = NULL;
    lethe_status status = lethe_disk_check_place(disk, detail);
    if (status != LETHE_OK) return status;
    lethe_fold_table *table = calloc(1, sizeof *table);
    if (table == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    table->disk = disk;
    table->family = family;
    lethe_os_remove(disk->fold);
    table->environment = rocksdb_envoptions_create();
    table->writer = rocksdb_sstfilewriter_create(table->environment, disk->options[family]);
    rocksdb_sstfilewriter_open(table->writer, disk->fold, &table->message);
    if (table->message != NULL) {
        char *message = table->message;
        table->message = NULL;
        free_table(table);
        return lethe_disk_translate(message, "cannot write counters", detail);
    }
    unsigned char value[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(cut, value);
    lethe_fold_table_put(table, (lethe_bytes){0},
                         (lethe_bytes){.data = value, .size = sizeof value});
    *out = table;
    return LETHE_OK;
}

void lethe_fold_table_put(lethe_fold_table *table, lethe_bytes key, lethe_bytes value) {
    if (table->message != NULL) return;
    rocksdb_sstfilewriter_put(table->writer, key.data, key.size, value.data, value.size,
                              &table->message);
    table->entries++;
}

void lethe_fold_table_delete(lethe_fold_table *table, lethe_bytes key) {
    if (table->message != NULL) return;
    rocksdb_sstfilewriter_delete(table->writer, key.data, key.size, &table->message);
    table->entries++;
}

void lethe_fold_table_drop(lethe_fold_table *table) {
    free_table(table);
}

/* Makes the file a part of the database. */
static void add_to_database(lethe_fold_table *table) {
    rocksdb_ingestexternalfileoptions_t *options = rocksdb_ingestexternalfileoptions_create();
    rocksdb_ingestexternalfileoptions_set_move_files(options, 1);
    const char *files[] = {table->disk->fold};
    rocksdb_ingest_external_file_cf(table->disk->database, table->disk->families[table->family],
                                    files, 1, options, &table->message);
    rocksdb_ingestexternalfileoptions_destroy(options);
    table->stays = table->message != NULL;
}

lethe_status lethe_fold_table_end(lethe_fold_table *table, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    if (table->message == NULL && table->entries > 0) {
        rocksdb_sstfilewriter_finish(table->writer, &table->message);
        if (table->message == NULL) status = lethe_os_sync_folder(table->disk->folder);
        if (status != LETHE_OK) {
            (void)lethe_detail_fill(detail, status, "cannot write counters: %s", strerror(errno));
        }
        if (table->message == NULL && status == LETHE_OK)
            status = lethe_disk_check_place(table->disk, detail);
        if (table->message == NULL && status == LETHE_OK) add_to_database(table);
    }
    char *message = table->message;
    table->message = NULL;
    free_table(table);
    if (status != LETHE_OK) return status;
    return lethe_disk_translate(message, "cannot write counters", detail);
}
