/* simulation/store/database_backup.c - copies of a database, laid out as RocksDB does it.
 *
 * LAYOUT  meta/N       a line for each file of copy N: its path here, and its checksum
 *         private/N/   the files
 * WHY     The bytes of tables are copied as they are, checked or not: like RocksDB's, the copy
 *         of a damaged table is a damaged table. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

enum { TEXT_BYTES = 256 };

static int by_number(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

size_t backup_count(const char *folder, uint64_t *numbers, size_t room) {
    char *meta = path_join(folder, "meta");
    struct system_folder *names = system_opendir(meta);
    machine_release(meta);
    if (names == NULL) return 0;
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = system_readdir(names)) != NULL) {
        char *end;
        uint64_t number = strtoull(entry->d_name, &end, 10);
        if (number > 0 && *end == '\0' && count < room) numbers[count++] = number;
    }
    (void)system_closedir(names);
    qsort(numbers, count, sizeof *numbers, by_number);
    return count;
}

static char *make_folder(const char *folder, const char *name) {
    char *path = path_join(folder, name);
    bool made = system_mkdir(path, 0777) == 0 || errno == EEXIST;
    char *message = made ? NULL : file_message("while making", path);
    machine_release(path);
    return message == NULL ? file_sync_folder(folder) : message;
}

/* Copies a file of the database, and adds its line. */
static char *add_file(const struct database *database, const char *name, const char *folder,
                      uint64_t number, struct bytes *list) {
    char text[TEXT_BYTES];
    struct bytes bytes = {0};
    char *from = path_join(database->folder, name);
    (void)snprintf(text, sizeof text, "private/%" PRIu64 "/%s", number, name);
    char *to = path_join(folder, text);
    char *message = file_read(from, &bytes);
    if (message == NULL) message = file_write(to, &bytes);
    (void)snprintf(text, sizeof text, "private/%" PRIu64 "/%s sum %" PRIu64 "\n", number, name,
                   lethe_checksum(2, bytes.data, bytes.size));
    bytes_put(list, text, strlen(text));
    machine_release(from);
    machine_release(to);
    bytes_drop(&bytes);
    return message;
}

static char *add_files(const struct database *database, const char *folder, uint64_t number,
                       struct bytes *list) {
    char *message = add_file(database, "MANIFEST", folder, number, list);
    for (size_t i = 0; i < database->table_count && message == NULL; i++) {
        char name[TEXT_BYTES];
        (void)snprintf(name, sizeof name, "%06" PRIu64 ".sst", database->tables[i]->number);
        message = add_file(database, name, folder, number, list);
    }
    return message;
}

/* Writes the list under its final name, when all that it names is synced. */
static char *write_list(const char *folder, uint64_t number, const struct bytes *list) {
    char text[TEXT_BYTES];
    (void)snprintf(text, sizeof text, "private/%" PRIu64, number);
    char *private = path_join(folder, text);
    (void)snprintf(text, sizeof text, "meta/%" PRIu64, number);
    char *path = path_join(folder, text), *fresh = path_join(folder, "meta/new");
    char *meta = path_join(folder, "meta");
    char *message = file_sync_folder(private);
    if (message == NULL) message = file_write(fresh, list);
    if (message == NULL && system_rename(fresh, path) != 0)
        message = file_message("while renaming", fresh);
    if (message == NULL) message = file_sync_folder(meta);
    machine_release(private);
    machine_release(path);
    machine_release(fresh);
    machine_release(meta);
    return message;
}

char *backup_make(struct database *database, const char *folder) {
    uint64_t numbers[256];
    char text[TEXT_BYTES];
    size_t count = backup_count(folder, numbers, 256);
    uint64_t number = count > 0 ? numbers[count - 1] + 1 : 1;
    struct bytes list = {0};
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    char *private = path_join(folder, "private");
    char *message = make_folder(folder, "meta");
    if (message == NULL) message = make_folder(folder, "private");
    if (message == NULL) message = make_folder(private, text);
    machine_release(private);
    (void)system_mutex_lock(&database->changing);
    if (message == NULL) message = add_files(database, folder, number, &list);
    (void)system_mutex_unlock(&database->changing);
    if (message == NULL) message = write_list(folder, number, &list);
    bytes_drop(&list);
    return message;
}

/* Reads each file of a copy and checks it; writes it to a folder, unless that is NULL. */
static char *read_copy(const char *folder, uint64_t number, const char *to) {
    char text[TEXT_BYTES];
    struct bytes list = {0};
    (void)snprintf(text, sizeof text, "meta/%" PRIu64, number);
    char *path = path_join(folder, text);
    char *message = file_read(path, &list);
    machine_release(path);
    bytes_put(&list, "", 1);
    for (char *line = strtok((char *)list.data, "\n"); line != NULL && message == NULL;
         line = strtok(NULL, "\n")) {
        char name[TEXT_BYTES];
        uint64_t sum;
        if (sscanf(line, "%255s sum %" SCNu64, name, &sum) != 2) break;
        struct bytes bytes = {0};
        char *from = path_join(folder, name), *goal = NULL;
        message = file_read(from, &bytes);
        if (message == NULL && lethe_checksum(2, bytes.data, bytes.size) != sum)
            message = message_of("Corruption: Backup checksum mismatch");
        if (message == NULL && to != NULL) {
            goal = path_join(to, strrchr(name, '/') + 1);
            message = file_write(goal, &bytes);
        }
        machine_release(from);
        machine_release(goal);
        bytes_drop(&bytes);
    }
    bytes_drop(&list);
    return message;
}

char *backup_verify(const char *folder, uint64_t number) {
    return read_copy(folder, number, NULL);
}

char *backup_restore(const char *folder, const char *to, uint64_t number) {
    if (system_mkdir(to, 0777) != 0 && errno != EEXIST) return file_message("while making", to);
    char *message = read_copy(folder, number, to);
    return message == NULL ? file_sync_folder(to) : message;
}
