/* os/file.h - files as the library needs them: read one, replace one atomically, link to one.
 *
 * Errors come as lethe_status with errno kept for the caller that prints the message:
 * LETHE_ENOTFOUND for a missing file, LETHE_ENOSPACE for a full disk or quota, LETHE_EINVAL for
 * something that is not a regular file, LETHE_EIO for the rest. */
#ifndef LETHE_OS_FILE_H
#define LETHE_OS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/status.h"

typedef struct lethe_os_reader {
    int descriptor;
    uint64_t size_bytes;
} lethe_os_reader;

LETHE_MUST_CHECK lethe_status lethe_os_reader_open(const char *path, lethe_os_reader *out);
/* Reads exactly size bytes; LETHE_ECORRUPT when the file ends before. */
LETHE_MUST_CHECK lethe_status lethe_os_reader_read(lethe_os_reader *reader, void *data,
                                                   size_t size);
void lethe_os_reader_close(lethe_os_reader *reader);
/* Reads a whole file as a string, which the caller frees. On error *out is NULL. */
LETHE_MUST_CHECK lethe_status lethe_os_read_text(const char *path, char **out);

/* Whether there is a file (or anything else) of that name. */
bool lethe_os_exists(const char *path);
/* Removes a file if there is one. Returns whether there is none now. */
bool lethe_os_remove(const char *path);
/* Makes a symbolic link at path. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_link(const char *target, const char *path);

/* A file being written beside the one it will replace. */
typedef struct lethe_os_replacement lethe_os_replacement;

LETHE_MUST_CHECK lethe_status lethe_os_replace_begin(const char *path, lethe_os_replacement **out);
LETHE_MUST_CHECK lethe_status lethe_os_replace_write(lethe_os_replacement *replacement,
                                                     const void *data, size_t size);
/* Syncs, renames over path, syncs the folder. *is_in_place becomes whether path is the new file
 * now. On failure it is false, path is as it was, and nothing is left beside it; except where only
 * the sync of the folder failed. Then it is true: path is the new file, whole, and after a power
 * cut it may be the old one again. A caller that keeps other files because this one names them must
 * then keep those of both. Frees the replacement either way. */
LETHE_MUST_CHECK lethe_status lethe_os_replace_commit(lethe_os_replacement *replacement,
                                                      bool *is_in_place);
/* Drops what was written. Keeps errno. */
void lethe_os_replace_abort(lethe_os_replacement *replacement);

/* Tests make the n-th operation fail: the hook is asked before each one and returns the errno to
 * fail with, or 0 to go on. NULL, the default, is no hook. Not for use while threads are in
 * here. */
typedef enum lethe_os_operation {
    LETHE_OS_OPEN,
    LETHE_OS_READ,
    LETHE_OS_WRITE,
    LETHE_OS_SYNC,
    LETHE_OS_SEND, /* beginning to write to the disk */
    LETHE_OS_RENAME
} lethe_os_operation;
typedef int (*lethe_os_fault_hook)(lethe_os_operation operation);
void lethe_os_set_fault_hook(lethe_os_fault_hook hook);
/* Whether a test wants this operation to fail; sets errno if so. For the other files of src/os. */
int lethe_os_is_faulted(lethe_os_operation operation);
/* What errno means to a caller. */
lethe_status lethe_os_status_from_errno(void);

#endif
