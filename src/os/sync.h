/* os/sync.h - making the names in a folder durable.
 *
 * A file that was made, renamed or removed is durably so when its folder is synced. Some file
 * systems have no such sync (EINVAL, ENOTSUP): there a name is as durable as the system makes it,
 * and that is no error. A folder that cannot be opened to be synced is an error, except where a new
 * folder is named in its parent (lethe_os_sync_parent): that may be one that we may only enter
 * (EACCES). This is the only place that decides so. */
#ifndef LETHE_OS_SYNC_H
#define LETHE_OS_SYNC_H

#include "lethe/status.h"

/* Opens a folder to sync it later. *descriptor is -1 on an error.
 * Errors: LETHE_ENOTFOUND, LETHE_EIO, LETHE_ENOMEM. */
LETHE_MUST_CHECK lethe_status lethe_os_sync_open(const char *folder, int *descriptor);
/* Opens the folder that path is in. */
LETHE_MUST_CHECK lethe_status lethe_os_sync_open_parent(const char *path, int *descriptor);
/* Makes the names in it durable; nothing to do for -1. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_sync_names(int descriptor);
/* Takes -1. Keeps errno. */
void lethe_os_sync_close(int descriptor);

/* All in one: the names in a folder, and the name of path in its own folder. */
LETHE_MUST_CHECK lethe_status lethe_os_sync_folder(const char *folder);
LETHE_MUST_CHECK lethe_status lethe_os_sync_parent(const char *path);

#endif
