/* engine/disk/backup.c - copies of RocksDB's files, made by its own backup engine.
 *
 * LAYOUT  meta/N            a list of the files of copy N: one path and checksum per line
 *         private/N/        the files of N alone, under their own names
 *         shared_checksum/  tables, which later copies share: NUMBER_SESSION_SIZE.sst is NUMBER.sst
 * WHY     By itself the backup engine verifies only sizes. So a copy is made to look like a store,
 *         by links, and is read like one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"

enum { PATH_BYTES = LETHE_OS_PATH_BYTES, NAME_BYTES = 256 };

static rocksdb_backup_engine_t *open_engine(const char *backups, char **message) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_backup_engine_t *engine = rocksdb_backup_engine_open(options, backups, message);
    rocksdb_options_destroy(options);
    return engine;
}

/* The number of the latest copy; 0 if there is none. */
static uint32_t latest(rocksdb_backup_engine_t *engine) {
    const rocksdb_backup_engine_info_t *all = rocksdb_backup_engine_get_backup_info(engine);
    int count = rocksdb_backup_engine_info_count(all);
    uint32_t number = count > 0 ? rocksdb_backup_engine_info_backup_id(all, count - 1) : 0;
    rocksdb_backup_engine_info_destroy(all);
    return number;
}

lethe_status lethe_disk_backup(lethe_disk *disk, const char *backups, uint32_t *number,
                               lethe_detail *detail) {
    char *message = NULL;
    *number = 0;
    rocksdb_backup_engine_t *engine = open_engine(backups, &message);
    if (message == NULL) {
        rocksdb_backup_engine_create_new_backup_flush(engine, disk->database, 1, &message);
    }
    if (message == NULL) *number = latest(engine);
    if (engine != NULL) rocksdb_backup_engine_close(engine);
    return lethe_disk_translate(message, "cannot make a backup", detail);
}

uint32_t lethe_disk_backup_latest(const char *backups) {
    char *message = NULL;
    rocksdb_backup_engine_t *engine = open_engine(backups, &message);
    uint32_t number = message == NULL ? latest(engine) : 0;
    if (message != NULL)
        rocksdb_free(message); /* adding one fails for the same reason, and says so */
    if (engine != NULL) rocksdb_backup_engine_close(engine);
    return number;
}

static bool meta_path(const char *backups, uint32_t number, char out[PATH_BYTES]) {
    return lethe_os_path(out, "%s/meta/%lu", backups, (unsigned long)number);
}

void lethe_disk_backup_forget(const char *backups, uint32_t number) {
    char path[PATH_BYTES];
    if (meta_path(backups, number, path)) lethe_os_remove(path);
}

/* What a file of the list was called in the store. */
static bool name_in_store(const char *listed, char out[NAME_BYTES]) {
    const char *slash = strrchr(listed, '/');
    int size = snprintf(out, NAME_BYTES, "%s", slash == NULL ? listed : slash + 1);
    if (size <= 0 || size >= NAME_BYTES) return false;
    char *mark = strchr(out, '_'), *ending = strrchr(out, '.');
    if (strncmp(listed, "shared_checksum/", 16) == 0 && mark != NULL && ending > mark)
        memmove(mark, ending, strlen(ending) + 1);
    return true;
}

/* Makes the link for a line of the list, unless the line is about the list itself. */
static lethe_status show_file(const char *backups, const char *line, const char *data) {
    char listed[NAME_BYTES * 2], name[NAME_BYTES], target[PATH_BYTES], path[PATH_BYTES];
    size_t size = strcspn(line, " ");
    if (strncmp(line, "private/", 8) != 0 && strncmp(line, "shared", 6) != 0) return LETHE_OK;
    if (size >= sizeof listed) return LETHE_ECORRUPT;
    memcpy(listed, line, size);
    listed[size] = '\0';
    if (!name_in_store(listed, name)) return LETHE_ECORRUPT;
    if (!lethe_os_path(target, "%s/%s", backups, listed)) return LETHE_EINVAL;
    if (!lethe_os_path(path, "%s/%s", data, name)) return LETHE_EINVAL;
    return lethe_os_link(target, path);
}

lethe_status lethe_disk_backup_show(const char *backups, uint32_t number, const char *folder,
                                    lethe_detail *detail) {
    char meta[PATH_BYTES], data[PATH_BYTES], *real = NULL, *list = NULL;
    bool fits = lethe_os_path(data, "%s/data", folder) && meta_path(backups, number, meta);
    lethe_status status = fits ? lethe_os_real_path(backups, &real) : LETHE_EINVAL;
    if (status == LETHE_OK) status = lethe_os_read_text(meta, &list);
    if (status == LETHE_OK) status = lethe_os_folder_make(data);
    for (char *line = list; status == LETHE_OK && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0';
        line[length] = '\0';
        status = show_file(real, line, data);
        line += length + !is_last;
    }
    free(real);
    free(list);
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status, "cannot read the list of the copy in %s: %s", backups,
                             lethe_strerror(status));
}

lethe_status lethe_disk_restore(const char *backups, const char *folder, lethe_detail *detail) {
    char data[PATH_BYTES], *message = NULL;
    if (!lethe_os_path(data, "%s/data", folder)) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    }
    rocksdb_backup_engine_t *engine = open_engine(backups, &message);
    if (message != NULL) return lethe_disk_translate(message, "cannot read the backups", detail);
    lethe_status status = LETHE_ENOTFOUND;
    if (latest(engine) == 0) {
        (void)lethe_detail_fill(detail, status, "there are no backups in %s; check the name",
                                backups);
    } else {
        rocksdb_restore_options_t *options = rocksdb_restore_options_create();
        rocksdb_backup_engine_restore_db_from_latest_backup(engine, data, data, options, &message);
        rocksdb_restore_options_destroy(options);
        status = lethe_disk_translate(message, "cannot restore the backup", detail);
    }
    rocksdb_backup_engine_close(engine);
    return status;
}
