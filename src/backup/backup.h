/* backup/backup.h - backups of whatever lives in a folder of files.
 *
 *   set.c        the files of one moment             list.c      what a backup consists of
 *   contents.c   what is in its files, kept once     earlier.c   lists of earlier versions
 *   backup.c     looking, and adding a backup        restore.c   and back
 *   manage.c     listing and pruning
 *
 * What differs between a store and a cascade is one lethe_backup_kind. */
#ifndef LETHE_BACKUP_BACKUP_H
#define LETHE_BACKUP_BACKUP_H

#include <stdint.h>

#include "backup/list.h"
#include "backup/set.h"
#include "os/claim.h"

/* What reading all of a folder has shown. */
struct lethe_backup_facts {
    /* As in lethe_backup_contents. */
    uint64_t owner;
    uint64_t records;
    /* Grows with every change, as far as anybody was told. */
    uint64_t moment;
};

typedef struct lethe_backup_kind {
    lethe_backup_type type;
    /* "store"; and in a sentence: "the store". */
    const char *name, *subject;
    /* What makes a folder one of this kind: it is put in its place last. */
    const char *root;

    lethe_set_gather gather;
    /* Reads every byte of a folder that nobody writes to, and changes none. set, unless NULL, is
     * what the folder shows: files that nothing needs are marked. Errors: LETHE_ECORRUPT and
     * others, with detail. */
    lethe_status (*examine)(const char *folder, lethe_set *set, struct lethe_backup_facts *out,
                            lethe_detail *detail);
    /* Completes a folder that was restored and examined. May be NULL. */
    lethe_status (*settle)(const char *folder, const struct lethe_backup_facts *facts,
                           lethe_detail *detail);
    /* Of a backup of an earlier version, shown in a folder: adds the files that its list lacks, and
     * reports the owner. NULL: no earlier version made any. */
    lethe_status (*complete)(const char *backups, const char *shown,
                             lethe_backup_contents *contents, lethe_detail *detail);
} lethe_backup_kind;

/* Does something with a folder as of one moment, which is shown in set->shown.path; again, if that
 * fails because the folder changed in the middle. Paths in detail are those of the folder.
 * Errors: those of lethe_set_take, look's. */
typedef lethe_status (*lethe_backup_look)(lethe_set *set, void *context, lethe_detail *detail);
LETHE_MUST_CHECK lethe_status lethe_backup_with(const lethe_backup_kind *kind, const char *folder,
                                                lethe_backup_look look, void *context,
                                                lethe_detail *detail);

/* lethe_store_backup and lethe_cascade_backup. label: NULL, or what it is called in place of
 * kind->name. */
LETHE_MUST_CHECK lethe_status lethe_backup_add(const lethe_backup_kind *kind, const char *label,
                                               const char *folder, const char *backups,
                                               lethe_backup *out, lethe_detail *detail);

/* lethe_store_restore and lethe_cascade_restore. */
LETHE_MUST_CHECK lethe_status lethe_backup_restore(const lethe_backup_kind *kind,
                                                   const char *backups, uint64_t number,
                                                   const char *folder, lethe_backup *out,
                                                   lethe_detail *detail);

/* Makes a temporary folder of links to the files of a backup. */
LETHE_MUST_CHECK lethe_status lethe_backup_show(const char *backups,
                                                const lethe_backup_contents *contents,
                                                lethe_os_temporary *out, lethe_detail *detail);

/* Takes the folder of backups for this process, to change it. Errors: LETHE_EBUSY, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_backup_claim(const char *backups, lethe_os_claim *out,
                                                 lethe_detail *detail);

#endif
