/* backup/earlier.c - backups that earlier versions have made, with RocksDB's own means.
 *
 * LAYOUT  meta/N            text: the time in seconds, a number, how many files there are, and for
 *                           each file a line with its path and checksum
 *         private/N/        the files of N alone, under their own names
 *         shared_checksum/  tables, which later backups share: NUMBER_SESSION_SIZE.sst is
 *                           NUMBER.sst
 *         ledger-N-M/       the ledger of the backup whose last commit is N; only the latest one's
 * WHY     They are lists of files too, so everything else treats them like ours. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup/list.h"
#include "os/block_file.h"
#include "os/file.h"

/* What a file of the list is called in the store. */
static bool name_in_store(const char *listed, char out[LETHE_SET_NAME_BYTES]) {
    const char *slash = strrchr(listed, '/');
    int size = snprintf(out, LETHE_SET_NAME_BYTES, "data/%s", slash == NULL ? listed : slash + 1);
    if (size <= 0 || size >= LETHE_SET_NAME_BYTES) return false;
    char *mark = strchr(out, '_'), *ending = strrchr(out, '.');
    if (strncmp(listed, "shared_checksum/", 16) == 0 && mark != NULL && ending > mark)
        memmove(mark, ending, strlen(ending) + 1);
    return lethe_backup_is_name(out);
}

/* Whether a path stays within the folder of backups: it has two or three plain names. */
static bool is_place(const char *listed) {
    const char *slash = strchr(listed, '/');
    return slash != NULL && listed[0] != '/' && strstr(listed, "..") == NULL;
}

/* Takes in a line, unless it is about the list itself. */
static lethe_status take_line(const char *backups, const char *line, lethe_backup_contents *out) {
    size_t size = strcspn(line, " ");
    if (strncmp(line, "private/", 8) != 0 && strncmp(line, "shared", 6) != 0) return LETHE_OK;
    lethe_backup_file *file = lethe_backup_contents_append(out);
    if (file == NULL) return LETHE_ENOMEM;
    if (size >= sizeof file->place) return LETHE_ECORRUPT;
    memcpy(file->place, line, size);
    if (!is_place(file->place) || !name_in_store(file->place, file->name)) return LETHE_ECORRUPT;
    char path[LETHE_OS_PATH_BYTES];
    lethe_os_block_file content;
    if (!lethe_backup_file_path(backups, file, path)) return LETHE_EINVAL;
    lethe_status status = lethe_os_block_open(path, false, false, &content);
    if (status == LETHE_ENOTFOUND || status == LETHE_EINVAL) return LETHE_OK; /* found out later */
    if (status != LETHE_OK) return status;
    file->size_bytes = content.size_bytes;
    out->backup.bytes += content.size_bytes;
    lethe_os_block_close(&content);
    return LETHE_OK;
}

lethe_status lethe_backup_read_earlier(const char *backups, uint64_t number,
                                       lethe_backup_contents *out) {
    char path[LETHE_OS_PATH_BYTES], *list;
    if (!lethe_backup_earlier_path(backups, number, path)) return LETHE_ENOTFOUND;
    out->is_earlier = true;
    out->type = LETHE_BACKUP_OF_STORE;
    out->backup.number = number;
    out->backup.records = out->backup.copied_bytes = LETHE_BACKUP_UNKNOWN;
    (void)snprintf(out->backup.kind, sizeof out->backup.kind, "store");
    lethe_status status = lethe_os_read_text(path, &list);
    if (status != LETHE_OK) return status == LETHE_EINVAL ? LETHE_ECORRUPT : status;
    out->backup.time_ms = (uint64_t)strtoull(list, NULL, 10) % 100000000000 * 1000;
    for (char *line = list; status == LETHE_OK && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        bool is_last = line[length] == '\0';
        line[length] = '\0';
        status = take_line(backups, line, out);
        line += length + !is_last;
    }
    free(list);
    return status == LETHE_OK && out->count == 0 ? LETHE_ECORRUPT : status;
}
