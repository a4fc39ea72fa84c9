/* engine/disk/mend.c - a table that RocksDB's manifest names, and that is not there.
 *
 * IDEA    A table that was made separately is added by a record in the manifest. When that record
 *         can't be synced, RocksDB reports a failure and removes the table. But the record was
 *         written, and the next process to open the store finds it. So a fold that failed leaves
 *         its own file (fold_table.c), which has the same content, and which this file puts in
 *         place of the missing table.
 * I1      The fold had waited for its commits, so the table has nothing that the log does not have:
 *         with the record or without, the totals are the same.
 * WHY     RocksDB knows each table by a number that is in the manifest and in the table, and
 *         refuses another table in its place. So it need not be known which one was missing: a
 *         table that is refused is taken back. A reader may come before the next writer. It opens
 *         links to the files, with the table among them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"

void lethe_disk_find_missing(lethe_disk *disk, const char *message) {
    disk->missing[0] = '\0';
    if (message == NULL || strstr(message, "No such file") == NULL) return;
    /* The name may end in "ldb": RocksDB also looks for a table under its old name. */
    for (const char *at = strchr(message, '/'); at != NULL; at = strchr(at + 1, '/')) {
        size_t digits = 0;
        while (isdigit((unsigned char)at[1 + digits]))
            digits++;
        const char *ending = at + 1 + digits;
        if (digits == 0 || digits > 20) continue;
        if (strncmp(ending, ".ldb", 4) != 0 && strncmp(ending, ".sst", 4) != 0) continue;
        (void)snprintf(disk->missing, sizeof disk->missing, "%.*s", (int)digits, at + 1);
    }
}

bool lethe_disk_can_mend(const lethe_disk *disk) {
    return disk->missing[0] != '\0' && lethe_os_exists(disk->fold);
}

static bool path_of(const char *data, const char *number, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/%s.sst", data, number);
}

lethe_status lethe_disk_mend(lethe_disk *disk) {
    char path[LETHE_OS_PATH_BYTES];
    if (!path_of(disk->data, disk->missing, path) || lethe_os_exists(path)) return LETHE_ECORRUPT;
    memcpy(disk->mended, disk->missing, sizeof disk->mended);
    return lethe_os_folder_rename(disk->fold, path);
}

void lethe_disk_take_back(lethe_disk *disk) {
    char path[LETHE_OS_PATH_BYTES];
    if (!path_of(disk->data, disk->mended, path)) return;
    lethe_status status = lethe_os_folder_rename(path, disk->fold);
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

static lethe_status show_fold(const lethe_disk *disk, const char *shown) {
    char path[LETHE_OS_PATH_BYTES], *fold;
    if (!path_of(shown, disk->missing, path)) return LETHE_EIO;
    lethe_status status = lethe_os_real_path(disk->fold, &fold);
    if (status == LETHE_OK) status = lethe_os_link(fold, path);
    free(fold);
    return status;
}

lethe_status lethe_disk_show_mended(const lethe_disk *disk, lethe_os_temporary *out) {
    char *data;
    lethe_status status = lethe_os_real_path(disk->data, &data);
    if (status != LETHE_OK) return status;
    status = lethe_os_temporary_make(out);
    if (status == LETHE_OK) {
        struct showing showing = {.data = data, .shown = out->path};
        status = lethe_os_folder_each(data, show_file, &showing);
        if (status == LETHE_OK) status = showing.status;
        if (status == LETHE_OK) status = show_fold(disk, out->path);
        if (status != LETHE_OK) lethe_os_temporary_remove(out);
    }
    free(data);
    return status;
}
