/* engine/backup.c - backups of a whole store, by RocksDB's own backup engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/detail.h"
#include "engine/store_internal.h"

/* In backups are RocksDB's files only; the lock is made anew. */
static rocksdb_backup_engine_t *open_engine(const char *backups, char **message) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_backup_engine_t *engine = rocksdb_backup_engine_open(options, backups, message);
    rocksdb_options_destroy(options);
    return engine;
}

lethe_status lethe_store_backup(lethe_store *store, const char *backups, lethe_detail *detail) {
    lethe_status status = lethe_os_folder_make(backups);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot make %s: %s", backups, strerror(errno));
    }
    char *message = NULL;
    rocksdb_backup_engine_t *engine = open_engine(backups, &message);
    if (message == NULL) {
        rocksdb_backup_engine_create_new_backup_flush(engine, store->database, 1, &message);
    }
    if (message == NULL) {
        const rocksdb_backup_engine_info_t *all = rocksdb_backup_engine_get_backup_info(engine);
        int count = rocksdb_backup_engine_info_count(all);
        uint32_t latest = rocksdb_backup_engine_info_backup_id(all, count - 1);
        rocksdb_backup_engine_info_destroy(all);
        rocksdb_backup_engine_verify_backup(engine, latest, &message);
    }
    if (engine != NULL) rocksdb_backup_engine_close(engine);
    return lethe_store_translate(message, "cannot make a backup", detail);
}

static lethe_status restore_into(rocksdb_backup_engine_t *engine, const char *folder,
                                 lethe_detail *detail) {
    char data[4096];
    int length = snprintf(data, sizeof data, "%s/data", folder);
    if (length < 0 || (size_t)length >= sizeof data) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    }
    lethe_status status = lethe_os_folder_make(folder);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot make %s: %s", folder, strerror(errno));
    }
    char *message = NULL;
    rocksdb_restore_options_t *options = rocksdb_restore_options_create();
    rocksdb_backup_engine_restore_db_from_latest_backup(engine, data, data, options, &message);
    rocksdb_restore_options_destroy(options);
    return lethe_store_translate(message, "cannot restore the backup", detail);
}

lethe_status lethe_store_restore(const char *backups, const char *folder, lethe_detail *detail) {
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(folder, &state);
    if (status != LETHE_OK || state == LETHE_OS_NO_FOLDER || state == LETHE_OS_FILLED) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s must be missing or an empty folder to restore into", folder);
    }
    if (!lethe_os_exists(backups)) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there are no backups in %s", backups);
    }
    char *message = NULL;
    rocksdb_backup_engine_t *engine = open_engine(backups, &message);
    if (message != NULL) return lethe_store_translate(message, "cannot read the backups", detail);
    const rocksdb_backup_engine_info_t *all = rocksdb_backup_engine_get_backup_info(engine);
    int count = rocksdb_backup_engine_info_count(all);
    rocksdb_backup_engine_info_destroy(all);
    status = count > 0 ? restore_into(engine, folder, detail)
                       : lethe_detail_fill(detail, LETHE_ENOTFOUND, "there are no backups in %s",
                                           backups);
    rocksdb_backup_engine_close(engine);
    return status;
}
