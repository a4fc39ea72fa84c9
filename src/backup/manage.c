/* backup/manage.c - what is in a folder of backups, and removing old ones.
 *
 * I1      A backup goes when another one that stays was read and found sound. Its list goes first,
 *         and then what only it needed. */
#include <stdlib.h>

#include "backup/backup.h"
#include "backup/contents.h"
#include "core/detail.h"
#include "core/sized.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

static lethe_status find(const char *backups, lethe_backup_numbers *numbers, lethe_detail *detail) {
    lethe_status status = lethe_backup_find(backups, numbers);
    if (status == LETHE_ENOTFOUND) {
        return lethe_detail_fill(detail, status, "there are no backups in %s; check the name",
                                 backups);
    }
    return lethe_detail_of_file(detail, status, "look into", backups);
}

lethe_status lethe_backup_list(const char *backups, lethe_backup_visit visit, void *context,
                               lethe_detail *detail) {
    lethe_backup_numbers numbers;
    lethe_detail_clear(detail);
    if (backups == NULL || visit == NULL)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of a folder is NULL");
    lethe_status status = find(backups, &numbers, detail);
    bool goes_on = status == LETHE_OK;
    for (size_t i = 0; i < numbers.count && goes_on; i++) {
        lethe_backup_contents contents;
        lethe_status read = lethe_backup_read(backups, numbers.all[i], &contents);
        if (read == LETHE_OK) {
            goes_on = visit(context, &contents.backup);
        } else if (status == LETHE_OK && read != LETHE_ENOTFOUND) { /* it was just removed */
            status = lethe_detail_fill(detail, read, "the list of backup %llu in %s: %s",
                                       (unsigned long long)numbers.all[i], backups,
                                       lethe_strerror(read));
        }
        lethe_backup_contents_free(&contents);
    }
    free(numbers.all);
    return status;
}

/* Whether one of the kept backups is sound. */
static lethe_status expect_sound(const char *backups, const lethe_backup_numbers *numbers,
                                 size_t removed, lethe_detail *detail) {
    lethe_detail reason = {""};
    for (size_t i = numbers->count; i > removed; i--) {
        lethe_backup_contents contents;
        lethe_status status = lethe_backup_read(backups, numbers->all[i - 1], &contents);
        if (status == LETHE_OK) status = lethe_contents_verify(backups, &contents, &reason);
        lethe_backup_contents_free(&contents);
        if (status == LETHE_OK) return LETHE_OK;
    }
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "none of the backups in %s that would stay is sound (%.200s), so none "
                             "was removed; add a backup first",
                             backups, reason.text);
}

/* Whether all that is named as a list of a backup is one: what is not is somebody else's, and would
 * be removed, or kept in place of a backup. */
static lethe_status expect_lists(const char *backups, const lethe_backup_numbers *numbers,
                                 lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    for (size_t i = 0; i < numbers->count; i++) {
        uint64_t number = numbers->all[i];
        if (lethe_backup_is_list(backups, number)) continue;
        bool is_there = lethe_backup_list_path(backups, number, path) ||
                        lethe_backup_earlier_path(backups, number, path);
        if (!is_there) continue; /* it was just removed */
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "%s is named as a backup is, and was not made by lethe, or is "
                                 "damaged, so none was removed; move it elsewhere",
                                 path);
    }
    return LETHE_OK;
}

static void remove_backup(const char *backups, uint64_t number) {
    char path[LETHE_OS_PATH_BYTES];
    if (lethe_backup_list_path(backups, number, path)) {
        lethe_os_remove(path);
        return;
    }
    if (lethe_backup_earlier_path(backups, number, path)) lethe_os_remove(path);
    if (lethe_os_path(path, "%s/private/%llu", backups, (unsigned long long)number))
        lethe_os_folder_remove(path);
}

/* Whether no more than `keep` are left: what the disk did not remove is not reported as removed. */
static lethe_status expect_removed(const char *backups, uint64_t keep, lethe_detail *detail) {
    lethe_backup_numbers left;
    lethe_status status = find(backups, &left, detail);
    if (status == LETHE_OK && left.count > keep) {
        status = lethe_detail_fill(detail, LETHE_EIO,
                                   "backup %llu in %s cannot be removed; check the disk and the "
                                   "folder's permissions, and prune again",
                                   (unsigned long long)left.all[0], backups);
    }
    free(left.all);
    return status;
}

/* With the folder claimed. */
static lethe_status prune(const char *backups, uint64_t keep, lethe_backup_pruned *pruned,
                          lethe_detail *detail) {
    lethe_backup_numbers numbers;
    lethe_status status = find(backups, &numbers, detail);
    size_t removed = numbers.count > keep ? numbers.count - (size_t)keep : 0;
    if (status == LETHE_OK) status = expect_lists(backups, &numbers, detail);
    if (status == LETHE_OK && removed > 0)
        status = expect_sound(backups, &numbers, removed, detail);
    if (status == LETHE_OK) {
        for (size_t i = 0; i < removed; i++)
            remove_backup(backups, numbers.all[i]);
        pruned->removed = removed;
        pruned->kept = numbers.count - removed;
        status = lethe_detail_of_file(detail, lethe_os_sync_folder(backups), "write to", backups);
    }
    if (status == LETHE_OK) status = expect_removed(backups, keep, detail);
    free(numbers.all);
    if (status == LETHE_OK) pruned->freed_bytes = lethe_contents_sweep(backups);
    return status;
}

lethe_status lethe_backup_prune(const char *backups, uint64_t keep, lethe_backup_pruned *out,
                                lethe_detail *detail) {
    lethe_os_claim claim;
    lethe_backup_numbers numbers;
    lethe_backup_pruned pruned = LETHE_INIT(lethe_backup_pruned);
    lethe_detail_clear(detail);
    if (backups == NULL || keep == 0)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the folder is NULL, or nothing is kept");
    if (out != NULL && lethe_sized_check(out, LETHE_SIZE_WITH(out, freed_bytes)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "what to fill in has no size");
    /* A folder without backups is not touched. */
    lethe_status status = find(backups, &numbers, detail);
    free(numbers.all);
    if (status != LETHE_OK) return status;
    status = lethe_backup_claim(backups, &claim, detail);
    if (status == LETHE_OK) status = prune(backups, keep, &pruned, detail);
    lethe_os_claim_give(&claim);
    if (status == LETHE_OK && out != NULL) status = LETHE_GIVE(&pruned, out, freed_bytes);
    return status;
}
