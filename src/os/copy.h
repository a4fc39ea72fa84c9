/* os/copy.h - copies of folders that hold files and no folders. */
#ifndef LETHE_OS_COPY_H
#define LETHE_OS_COPY_H

#include "lethe/status.h"

/* Copies every file of a folder into a new one, and syncs them. On an error the copy is not
 * complete.
 * Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO; errno says why. */
LETHE_MUST_CHECK lethe_status lethe_os_folder_copy(const char *from, const char *to);

#endif
