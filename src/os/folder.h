/* os/folder.h - folders, and the claim of one process to write into one.
 *
 * Errors come as lethe_status with errno kept for the caller that prints the message. */
#ifndef LETHE_OS_FOLDER_H
#define LETHE_OS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

enum { LETHE_OS_PATH_BYTES = 4096 };
/* Makes a path by a printf format. Returns whether it fits; if not, errno is ENAMETOOLONG. */
__attribute__((format(printf, 2, 3))) bool lethe_os_path(char out[LETHE_OS_PATH_BYTES],
                                                         const char *format, ...);

typedef enum lethe_os_folder_state {
    LETHE_OS_MISSING,
    LETHE_OS_EMPTY,
    LETHE_OS_FILLED,
    LETHE_OS_NO_FOLDER /* it is a file */
} lethe_os_folder_state;

/* Errors: LETHE_EIO (no permission to look). */
LETHE_MUST_CHECK lethe_status lethe_os_folder_look(const char *path, lethe_os_folder_state *out);

/* Makes a folder, whose parent must be there; one that is there already is fine. Its name is on
 * disk on return. Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_make(const char *path);

/* Gives a folder its final name, durably; nothing may be there. Errors: LETHE_ENOSPACE,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_rename(const char *from, const char *to);
/* Removes a folder and what is in it, one level deep. */
void lethe_os_folder_remove(const char *path);

/* The bytes of all files in a folder whose names end so; 0 when it can't be read. */
uint64_t lethe_os_folder_bytes(const char *path, const char *suffix);

/* A number that differs, as good as certainly, when a file of the folder was written, made, removed
 * or renamed in between; 0 when it can't be read. */
uint64_t lethe_os_folder_fingerprint(const char *path);

/* Shows the name of everything in a folder, in any order. Errors: LETHE_ENOTFOUND, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_each(const char *path,
                                                   void (*visit)(void *context, const char *name),
                                                   void *context);

/* Whether there is a file (or anything else) of that name. */
bool lethe_os_exists(const char *path);
/* Removes a file if it is there. */
void lethe_os_remove(const char *path);

/* Whether path is the folder or lies in it, by whatever name; it need not be there yet.
 * Errors: LETHE_ENOTFOUND (no such folder), LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_is_within(const char *path, const char *folder, bool *out);
/* What path is called from the root on, without links; *out is malloc's. Errors: LETHE_ENOTFOUND,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_real_path(const char *path, char **out);
/* Makes a symbolic link at path. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_link(const char *target, const char *path);

typedef struct lethe_os_claim {
    int descriptor; /* -1: none */
    bool is_shared;
} lethe_os_claim;

/* Claims the file at path, which is made if it is not there, for this process until it ends or
 * gives the claim up. The file says who that is. When another process has it: LETHE_EBUSY, and
 * holder says who, as far as it is known. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_claim_take(const char *path, lethe_os_claim *out,
                                                  char *holder, size_t holder_size);
/* Keeps others from taking the claim while this process looks, and writes nothing; others may look
 * too. A file that is not there is claimed by nobody: LETHE_OK, and no claim. Errors: LETHE_EBUSY,
 * LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_claim_share(const char *path, lethe_os_claim *out,
                                                   char *holder, size_t holder_size);
void lethe_os_claim_give(lethe_os_claim *claim);

#endif
