/* os/folder.h - folders and what is in them.
 *
 * Errors come as lethe_status with errno kept for the caller that prints the message. */
#ifndef LETHE_OS_FOLDER_H
#define LETHE_OS_FOLDER_H

#include <stdint.h>

#include "lethe/status.h"
#include "os/path.h"

typedef enum lethe_os_folder_state {
    LETHE_OS_MISSING,
    LETHE_OS_EMPTY,
    LETHE_OS_FILLED,
    LETHE_OS_NO_FOLDER /* it is a file */
} lethe_os_folder_state;

/* Errors: LETHE_EIO (no permission to look). */
LETHE_MUST_CHECK lethe_status lethe_os_folder_look(const char *path, lethe_os_folder_state *out);

/* Makes a folder, whose parent must exist; one that exists already is fine. Its name is on disk on
 * return. Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_make(const char *path);

/* Gives a folder or file its final name, durably; nothing may have that name. Errors:
 * LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_rename(const char *from, const char *to);
/* Removes a folder and what is in it, one level deep. */
void lethe_os_folder_remove(const char *path);
/* Removes a folder if nothing is in it. */
void lethe_os_folder_remove_empty(const char *path);

/* The bytes of all files in a folder; 0 if it can't be read. */
uint64_t lethe_os_folder_bytes(const char *path);

/* A number that differs, as good as certainly, if a file of the folder was written, made, removed
 * or renamed in between; 0 if it can't be read. */
uint64_t lethe_os_folder_fingerprint(const char *path);

/* Shows the name of everything in a folder, in any order. Errors: LETHE_ENOTFOUND, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_each(const char *path,
                                                   void (*visit)(void *context, const char *name),
                                                   void *context);

#endif
