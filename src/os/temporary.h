/* os/temporary.h - a folder of its own for a process, for a moment.
 *
 * What a process leaves that is killed is removed by the next one that makes such a folder. */
#ifndef LETHE_OS_TEMPORARY_H
#define LETHE_OS_TEMPORARY_H

#include "lethe/status.h"
#include "os/path.h"

/* Zeroed, it is none. */
typedef struct lethe_os_temporary {
    char path[LETHE_OS_PATH_BYTES];
    /* Open while the path is not empty: it holds the claim. */
    int descriptor;
} lethe_os_temporary;

/* Makes an empty folder, in memory if the system has a place for that, and among its temporary
 * files otherwise. Removes those that killed processes of this user have left there. On error *out
 * is zeroed, and errno says more. Errors: LETHE_ENOSPACE, LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_os_temporary_make(lethe_os_temporary *out);

/* Removes the folder, the files in it, and the folders `data` and `ledger` in it with their files.
 * Takes none. */
void lethe_os_temporary_remove(lethe_os_temporary *temporary);

#endif
