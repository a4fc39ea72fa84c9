/* backup/contents.h - the content of files in a folder of backups, each kept once. */
#ifndef LETHE_BACKUP_CONTENTS_H
#define LETHE_BACKUP_CONTENTS_H

#include "backup/list.h"
#include "backup/set.h"

/* Makes the folder for contents. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_contents_prepare(const char *backups);

/* Keeps the content of a file of the set, durably, and fills in *out. Content that is there already
 * is read; if it is damaged, it is written again, which mends every backup that needs it.
 * *copied_bytes grows by what was written. Errors: LETHE_ECORRUPT (the file was cut short or
 * changed meanwhile), LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_contents_keep(const char *backups, uint64_t owner,
                                                  const lethe_set_file *file,
                                                  lethe_backup_file *out, uint64_t *copied_bytes);

/* After the last of them: also those that were there are durable. Who wrote them may have been
 * killed before their names were. Errors: LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_contents_sync(const char *backups);

/* Reads every file of a backup and compares it with the list. Of a backup of an earlier version it
 * only looks whether all files are there. Errors: LETHE_ECORRUPT, LETHE_EIO, LETHE_ENOMEM; detail
 * names the file. */
LETHE_MUST_CHECK lethe_status lethe_contents_verify(const char *backups,
                                                    const lethe_backup_contents *contents,
                                                    lethe_detail *detail);

/* Writes a file of a backup to path, synced, and compares it with the list. Errors: as above, and
 * LETHE_ENOSPACE. */
LETHE_MUST_CHECK lethe_status lethe_contents_copy(const char *backups,
                                                  const lethe_backup_contents *contents,
                                                  const lethe_backup_file *file, const char *path,
                                                  lethe_detail *detail);

/* Removes what no backup needs, and what a killed process has left. Does nothing while there is a
 * list that can't be read: nobody knows what it needs. Returns how many bytes that has freed. The
 * caller has the folder to itself. */
uint64_t lethe_contents_sweep(const char *backups);

#endif
