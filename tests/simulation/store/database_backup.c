/* simulation/store/database_backup.c - a backup is one file with all files of a database, and their checksum.
 *
 * The bytes of tables are copied as they are, checked or not: like RocksDB's, a backup of a damaged table is a damaged
 * table. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

static char *backup_path(const char *folder, uint64_t number) {
    char name[64];
    (void)snprintf(name, sizeof name, "backup-%06llu", (unsigned long long)number);
    return path_join(folder, name);
}

static int by_number(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

size_t backup_count(const char *folder, uint64_t *numbers, size_t room) {
    struct system_folder *names = system_opendir(folder);
    if (names == NULL) return 0;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = system_readdir(names)) != NULL) {
        if (strncmp(entry->d_name, "backup-", 7) != 0 || strlen(entry->d_name) != 13) continue;
        if (count < room) numbers[count++] = strtoull(entry->d_name + 7, NULL, 10);
    }
    (void)system_closedir(names);
    qsort(numbers, count, sizeof *numbers, by_number);
    return count;
}

static char *add_file(const char *folder, const char *name, struct bytes *out) {
    char *path = path_join(folder, name);
    struct bytes bytes = {0};
    char *message = file_read(path, &bytes);
    if (message == NULL) {
        bytes_put_string(out, name, strlen(name) + 1);
        bytes_put_string(out, bytes.data, bytes.size);
    }
    bytes_drop(&bytes);
    machine_release(path);
    return message;
}

char *backup_make(struct database *database, const char *folder) {
    uint64_t numbers[256];
    size_t count = backup_count(folder, numbers, 256);
    struct bytes all = {0};
    (void)system_mutex_lock(&database->changing);
    char *message = add_file(database->folder, "MANIFEST", &all);
    for (size_t i = 0; i < database->table_count && message == NULL; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%06llu.sst",
                       (unsigned long long)database->tables[i]->number);
        message = add_file(database->folder, name, &all);
    }
    (void)system_mutex_unlock(&database->changing);
    bytes_put_number(&all, lethe_checksum(2, all.data, all.size));
    char *path = backup_path(folder, count > 0 ? numbers[count - 1] + 1 : 1);
    char *fresh = path_join(folder, "backup.new");
    if (message == NULL) message = file_write(fresh, &all);
    if (message == NULL && system_rename(fresh, path) != 0)
        message = file_message("while renaming", fresh);
    if (message == NULL) message = file_sync_folder(folder);
    machine_release(fresh);
    machine_release(path);
    bytes_drop(&all);
    return message;
}

/* Reads a backup and checks it. */
static char *read_backup(const char *folder, uint64_t number, struct bytes *out) {
    char *path = backup_path(folder, number);
    char *message = file_read(path, out);
    uint64_t check = 0;
    if (message == NULL && out->size >= 8) memcpy(&check, out->data + out->size - 8, 8);
    if (message == NULL && (out->size < 8 || check != lethe_checksum(2, out->data, out->size - 8)))
        message = message_of("Corruption: Backup checksum mismatch");
    machine_release(path);
    return message;
}

char *backup_verify(const char *folder, uint64_t number) {
    struct bytes all = {0};
    char *message = read_backup(folder, number, &all);
    bytes_drop(&all);
    return message;
}

char *backup_restore(const char *folder, const char *to, uint64_t number) {
    struct bytes all = {0};
    char *message = read_backup(folder, number, &all);
    if (message == NULL && system_mkdir(to, 0777) != 0 && errno != EEXIST)
        message = file_message("while making", to);
    struct cursor cursor = {.at = all.data, .end = all.data + (all.size < 8 ? 0 : all.size - 8)};
    while (message == NULL && cursor.at < cursor.end) {
        struct slice name = cursor_string(&cursor), data = cursor_string(&cursor);
        if (cursor.is_broken) break;
        char *path = path_join(to, (const char *)name.data);
        message = file_write(path, &(struct bytes){.data = (unsigned char *)(uintptr_t)data.data,
                                                   .size = data.size});
        machine_release(path);
    }
    if (message == NULL) message = file_sync_folder(to);
    bytes_drop(&all);
    return message;
}
