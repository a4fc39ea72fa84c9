/* backup/list.h - what a backup consists of: docs/format/backups.md. */
#ifndef LETHE_BACKUP_LIST_H
#define LETHE_BACKUP_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/set.h"
#include "lethe/backup.h"
#include "lethe/hash.h"
#include "os/path.h"

/* What a backup is of: which functions restore it. */
typedef enum lethe_backup_type {
    LETHE_BACKUP_OF_STORE = 0,
    LETHE_BACKUP_OF_CASCADE = 1
} lethe_backup_type;

typedef struct lethe_backup_file {
    /* In the folder that was backed up. */
    char name[LETHE_SET_NAME_BYTES];
    uint64_t size_bytes;
    /* Of its content, with the owner as the seed. */
    lethe_hash hash;
    /* Of an earlier version: where it is in the folder of backups. Otherwise empty. */
    char place[2 * LETHE_SET_NAME_BYTES];
} lethe_backup_file;

typedef struct lethe_backup_contents {
    lethe_backup backup;
    lethe_backup_type type;
    /* Made by an earlier version: there are no hashes, and owner is not known. */
    bool is_earlier;
    /* A number that only this store or cascade has. */
    uint64_t owner;
    lethe_backup_file *files;
    size_t count, room;
} lethe_backup_contents;

/* One more file, all zeros; NULL when there is no memory. */
lethe_backup_file *lethe_backup_contents_append(lethe_backup_contents *contents);
void lethe_backup_contents_free(lethe_backup_contents *contents);

/* Whether it can be the name of a file in a backup: no name leads out of the folder. */
bool lethe_backup_is_name(const char *name);

/* Writes the list, durably: from then on there is this backup. Errors: LETHE_ENOSPACE, LETHE_EIO,
 * LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_backup_write(const char *backups,
                                                 const lethe_backup_contents *contents);
/* Reads a list of this or an earlier version. The caller frees *out, whatever is returned.
 * Errors: LETHE_ENOTFOUND, LETHE_ECORRUPT, LETHE_EVERSION, LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_backup_read(const char *backups, uint64_t number,
                                                lethe_backup_contents *out);
/* The same for one that an earlier version has made: earlier.c. */
LETHE_MUST_CHECK lethe_status lethe_backup_read_earlier(const char *backups, uint64_t number,
                                                        lethe_backup_contents *out);

/* The numbers of all backups, ascending; the caller frees them. Errors: LETHE_ENOTFOUND (there is
 * none), LETHE_EIO, LETHE_ENOMEM. */
typedef struct lethe_backup_numbers {
    uint64_t *all;
    size_t count, room;
} lethe_backup_numbers;
LETHE_MUST_CHECK lethe_status lethe_backup_find(const char *backups, lethe_backup_numbers *out);

/* Whether there is a list of that number, which an earlier version has made or this one. */
bool lethe_backup_list_path(const char *backups, uint64_t number, char out[LETHE_OS_PATH_BYTES]);
bool lethe_backup_earlier_path(const char *backups, uint64_t number, char out[LETHE_OS_PATH_BYTES]);

/* Whether what has the name of that list was written as one, by whatever version; a file that is
 * named so by chance was not. */
bool lethe_backup_is_list(const char *backups, uint64_t number);

/* Where the content of a file is. */
bool lethe_backup_file_path(const char *backups, const lethe_backup_file *file,
                            char out[LETHE_OS_PATH_BYTES]);

#endif
