/* lethe/backup.h - folders of backups: what is in them, and removing old ones.
 *
 * A folder of backups holds backups of one store (lethe/store_backup.h) or of one cascade
 * filter (lethe/cascade.h). Those headers have the functions that add and restore them. Backups are
 * numbered from 1 on. Each is a whole state of one moment. Files that several of them need are kept
 * once.
 *
 * Guarantee  A kill or a power cut at any moment leaves the backups that were there, and perhaps
 *            one more, each of them whole.
 * Threads    Any thread may call any function. One process at a time adds to a folder or removes
 *            from it: for others that is LETHE_EBUSY. Listing and restoring wait for nobody.
 * Caveats    A file that several backups need, once damaged, is damaged in all of them. Keep a copy
 *            of the folder elsewhere. */
#ifndef LETHE_BACKUP_H
#define LETHE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In place of a number that an earlier version did not record. */
#define LETHE_BACKUP_UNKNOWN UINT64_MAX

enum { LETHE_BACKUP_KIND_BYTES = 16 };

typedef struct lethe_backup {
    /* sizeof(lethe_backup): see LETHE_INIT. */
    size_t size;

    uint64_t number;
    /* Since 1970: when it was made. */
    uint64_t time_ms;
    /* Of its files: what a restore writes. */
    uint64_t bytes;
    /* Of these, what no earlier backup in the folder had; or LETHE_BACKUP_UNKNOWN. */
    uint64_t copied_bytes;
    /* Operations applied, of a store; keys added, of a cascade; or LETHE_BACKUP_UNKNOWN. */
    uint64_t records;
    /* "store", "cascade", or what the caller of lethe_cascade_backup calls it. */
    char kind[LETHE_BACKUP_KIND_BYTES];
} lethe_backup;

/* Calls visit for each backup in the folder, the oldest first, until it returns false. A backup
 * whose list is damaged is left out, and the call ends with LETHE_ECORRUPT after it has shown the
 * others. Cost: O(files of all backups), without their content. Errors: LETHE_EINVAL,
 * LETHE_ENOTFOUND (no such folder, or no backups in it), LETHE_ECORRUPT, LETHE_EIO,
 * LETHE_ENOMEM. */
typedef bool (*lethe_backup_visit)(void *context, const lethe_backup *backup);
LETHE_API LETHE_MUST_CHECK lethe_status lethe_backup_list(const char *backups,
                                                          lethe_backup_visit visit, void *context,
                                                          lethe_detail *detail);

typedef struct lethe_backup_pruned {
    /* sizeof(lethe_backup_pruned): see LETHE_INIT. */
    size_t size;
    uint64_t removed;
    uint64_t kept;
    /* Of files that no backup needs any more. */
    uint64_t freed_bytes;
} lethe_backup_pruned;

/* Removes all backups but the latest `keep`, which is at least 1, and the files that only those
 * needed. Reads every byte of the latest one first, and of those before it until one is sound: if
 * none of those to be kept is, that is LETHE_ECORRUPT, and nothing is removed. out may be NULL.
 * Cost: O(bytes of a backup). Errors: LETHE_EINVAL, LETHE_ENOTFOUND, LETHE_EBUSY, LETHE_ECORRUPT,
 * LETHE_EIO, LETHE_ENOMEM. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_backup_prune(const char *backups, uint64_t keep,
                                                           lethe_backup_pruned *out,
                                                           lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
