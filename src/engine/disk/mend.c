/* engine/disk/mend.c - tables that RocksDB's manifest names, and that are not there.
 *
 * IDEA    Tables that were made separately are added by a record in the manifest. When that record
 *         can't be synced, RocksDB reports a failure and removes the tables. But the record was
 *         written, and the next process to open the store finds it. So a fold that failed leaves
 *         its own files (fold_table.c), which have the same content, and which this file puts in
 *         place of the missing tables.
 * I1      The fold had waited for its commits, so its tables have nothing that the log does not
 *         have: with the record or without, the totals are the same. One record names both tables
 *         of a fold, so either both may be missing or none.
 * WHY     RocksDB knows each table by a number that is in the manifest and in the table, and
 *         refuses another table in its place. So it need not be known which one was missing: a
 *         table that is refused is taken back, and the other one is tried. A reader may come before
 *         the next writer. It opens links to the files, with the tables among them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"

void lethe_disk_find_missing(lethe_disk *disk, const char *message) {
    disk->missing.text[0] = '\0';
    if (message == NULL || strstr(message, "No such file") == NULL) return;
    /* The name may end in "ldb": RocksDB also looks for a table under its old name. */
    for (const char *at = strchr(message, '/'); at != NULL; at = strchr(at + 1, '/')) {
        size_t digits = 0;
        while (isdigit((unsigned char)at[1 + digits]))
            digits++;
        const char *ending = at + 1 + digits;
        if (digits == 0 || digits > 20) continue;
        if (strncmp(ending, ".ldb", 4) != 0 && strncmp(ending, ".sst", 4) != 0) continue;
        (void)snprintf(disk->missing.text, sizeof disk->missing.text, "%.*s", (int)digits, at + 1);
    }
}

bool lethe_disk_can_mend(const lethe_disk *disk) {
    bool any = false;
    for (unsigned i = 0; i < LETHE_FOLD_TABLES; i++)
        any = any || lethe_os_exists(disk->folds[i]);
    return any && disk->missing.text[0] != '\0';
}

static bool path_of(const char *data, const lethe_table_number *number,
                    char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/%s.sst", data, number->text);
}

/* Makes a link to a table that a fold left. */
static lethe_status link_fold(const char *fold, const char *path) {
    char *real;
    lethe_status status = lethe_os_real_path(fold, &real);
    if (status == LETHE_OK) status = lethe_os_link(real, path);
    free(real);
    return status;
}

lethe_status lethe_disk_mend(lethe_disk *disk, const char *data, unsigned which,
                             const lethe_table_number *missing) {
    char path[LETHE_OS_PATH_BYTES];
    const char *fold = disk->folds[which];
    if (disk->mended[which].text[0] != '\0' || !lethe_os_exists(fold)) return LETHE_ENOTFOUND;
    if (!path_of(data, missing, path) || lethe_os_exists(path)) return LETHE_ECORRUPT;
    lethe_status status =
        data == disk->data ? lethe_os_folder_rename(fold, path) : link_fold(fold, path);
    if (status == LETHE_OK) disk->mended[which] = *missing;
    return status;
}

void lethe_disk_take_back(lethe_disk *disk, const char *data, unsigned which) {
    char path[LETHE_OS_PATH_BYTES];
    if (!path_of(data, &disk->mended[which], path)) return;
    disk->mended[which].text[0] = '\0';
    if (data != disk->data) {
        lethe_os_remove(path);
        return;
    }
    lethe_status status = lethe_os_folder_rename(path, disk->folds[which]);
    (void)status; /* the store is refused as it is */
}

/* A folder of links, while it is made. */
struct showing {
    const char *data, *shown;
    lethe_status status;
};

static void show_file(void *context, const char *name) {
    struct showing *showing = context;
    char target[LETHE_OS_PATH_BYTES], path[LETHE_OS_PATH_BYTES];
    if (showing->status != LETHE_OK) return;
    bool fits = lethe_os_path(target, "%s/%s", showing->data, name) &&
                lethe_os_path(path, "%s/%s", showing->shown, name);
    showing->status = fits ? lethe_os_link(target, path) : LETHE_EIO;
}

lethe_status lethe_disk_show(const lethe_disk *disk, lethe_os_temporary *out) {
    char *data;
    lethe_status status = lethe_os_real_path(disk->data, &data);
    if (status != LETHE_OK) return status;
    status = lethe_os_temporary_make(out);
    if (status == LETHE_OK) {
        struct showing showing = {.data = data, .shown = out->path};
        status = lethe_os_folder_each(data, show_file, &showing);
        if (status == LETHE_OK) status = showing.status;
        if (status != LETHE_OK) lethe_os_temporary_remove(out);
    }
    free(data);
    return status;
}
