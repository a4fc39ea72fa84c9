/* lethe/store_backup.h - checking, backing up and restoring the folder of a store. lethe/store.h
 * includes it.
 *
 * check and backup take a folder that this or another process may have open and may be writing to,
 * and change nothing in it. They see its files as of one moment: everything that was acknowledged
 * before the call, and of what was submitted after that perhaps a beginning, with the marks that
 * belong to it. */
#ifndef LETHE_STORE_BACKUP_H
#define LETHE_STORE_BACKUP_H

#include <stddef.h>
#include <stdint.h>

#include "lethe/backup.h"
#include "lethe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What lethe_store_check read. */
typedef struct lethe_store_health {
    /* sizeof(lethe_store_health): see LETHE_INIT. */
    size_t size;

    /* Those on disk; the log may have changes of others. */
    uint64_t counters;
    uint64_t log_segments;
    uint64_t log_ids;
    uint64_t change_segments;
    uint64_t changes;
    /* Ids of which the log knows what they did, and records of an earlier version's index. */
    uint64_t index_entries;
    uint64_t marks;
    /* The sketch in place of counters; 0 if there is none. */
    uint64_t sketch_bytes;
    uint64_t ledger_ids;
    /* Those on disk; the log's are changes. */
    uint64_t buckets;
    /* lethe/claims.h: open and done. */
    uint64_t claims;
    /* lethe/holds.h: open and ended. */
    uint64_t holds;
} lethe_store_health;

/* Reads every byte: checksums, the formats of all records, and that these agree with each other.
 * Cost: O(bytes on disk). Errors: as open for a reader; LETHE_ENOSPACE (for temporary files);
 * detail names the first fault. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_check(const char *folder,
                                                          lethe_store_health *out,
                                                          lethe_detail *detail);

/* Adds a backup of the store to a folder of backups (lethe/backup.h), which is made if it is
 * missing. What an earlier backup has is not written again. Every byte of the store is read first,
 * as by check, and every byte of the backup afterwards: if either is not sound, that is
 * LETHE_ECORRUPT, and the backups are as they were. A kill at any moment, of this process or of the
 * writer, leaves backups that can be restored. out, unless NULL, is filled in.
 * Cost: four times O(bytes on disk), of which what no earlier backup has is written. Errors: as
 * check; LETHE_EINVAL (the backups would be in a store, or are of another store), LETHE_EBUSY
 * (another process changes the backups), LETHE_ENOSPACE. */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_backup(const char *folder, const char *backups,
                                                           lethe_backup *out, lethe_detail *detail);

/* Writes a backup to folder, which must be missing or empty and not among the backups, and reads
 * every byte of it. number: 0 -> the latest. It leaves a whole store there or none. A kill at any
 * moment leaves a store, or what another restore takes for an empty folder. If the backup is
 * damaged, detail names another one that is sound. out, unless NULL, is filled in.
 * Cost: O(bytes on disk); where it is damaged, O(bytes of all backups). Errors: as open;
 * LETHE_EINVAL (also: they are backups of a cascade), LETHE_ENOTFOUND (no such backup). */
LETHE_API LETHE_MUST_CHECK lethe_status lethe_store_restore(const char *backups, uint64_t number,
                                                            const char *folder, lethe_backup *out,
                                                            lethe_detail *detail);

#ifdef __cplusplus
}
#endif

#endif
