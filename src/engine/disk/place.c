/* engine/disk/place.c - the folder of a store: whether there is one, whether one was begun there or
 * can be made, and taking back one that could not be opened after all.
 *
 * I1      A folder with a lock is a store's, also if a kill has left nothing else in it. So the
 *         lock goes last, and only if nothing else is left.
 * I2      Only a database that this very opening has made is taken back, while the lock is held:
 *         nobody else has written to it.
 * I3      A folder may be all that is left of a store whose database was lost, and the number of
 *         the last acknowledged commit is what says so. Then nothing is taken back: the next
 *         opening would find no trace of the loss, and count from 0.
 * I4      Once the lock is gone, another process may make a lock and a store in the folder: what is
 *         in it then is not ours.
 * I5      A kill leaves a whole store, of which nothing was acknowledged, or none: the database
 *         loses its name, as it got it, before anything of it is removed. */
#include <errno.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/note.h"
#include "os/sync.h"

/* Whether a commit was acknowledged there (I3). */
static bool had_commits(const char *folder) {
    char path[LETHE_OS_PATH_BYTES];
    uint64_t commit = 0;
    return lethe_os_path(path, "%s/acknowledged", folder) &&
           lethe_os_note_read(path, &commit) == LETHE_OK && commit > 0;
}

lethe_status lethe_disk_unmade(const char *folder, lethe_detail *detail) {
    char lock[LETHE_OS_PATH_BYTES];
    if (!lethe_os_path(lock, "%s/lethe.lock", folder) || !lethe_os_exists(lock))
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "there is no store in %s", folder);
    if (lethe_os_claim_is_held(lock)) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND,
                                 "the store in %s is still being made; try again", folder);
    }
    if (had_commits(folder)) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND,
                                 "the store in %s has lost its data; restore a backup", folder);
    }
    return lethe_detail_fill(detail, LETHE_ENOTFOUND,
                             "making the store in %s was interrupted, and nothing is in it yet; "
                             "run the command that was making it once more",
                             folder);
}

lethe_status lethe_disk_look(lethe_disk *disk, bool create, bool *is_new, lethe_detail *detail) {
    const char *folder = disk->folder;
    *is_new = false;
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(folder, &state);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot look into %s: %s", folder,
                                 strerror(errno));
    }
    if (state == LETHE_OS_NO_FOLDER) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "%s is a file; name a folder", folder);
    }
    if (state == LETHE_OS_FILLED && lethe_os_exists(disk->data)) return LETHE_OK;
    /* A lock file alone is left by a first run that was killed before it began. */
    bool begun = state == LETHE_OS_FILLED && lethe_os_exists(disk->lock);
    if (state == LETHE_OS_FILLED && !begun) {
        return lethe_detail_fill(
            detail, LETHE_EINVAL,
            "%s has other files in it; name an empty folder, or one that lethe "
            "made",
            folder);
    }
    if (!create) return lethe_disk_unmade(folder, detail);
    *is_new = true;
    disk->found_empty = state == LETHE_OS_MISSING || state == LETHE_OS_EMPTY;
    disk->found_missing = state == LETHE_OS_MISSING;
    return lethe_detail_of_folder(detail, lethe_os_folder_make(folder), folder);
}

void lethe_disk_refuse(lethe_disk *disk) {
    disk->is_refused = true;
}

static void count_name(void *context, const char *name) {
    (void)name;
    ++*(unsigned *)context;
}

void lethe_disk_unmake(lethe_disk *disk) {
    char ledger[LETHE_OS_PATH_BYTES];
    if (!disk->is_made_here || lethe_disk_check_place(disk, NULL) != LETHE_OK) return;
    if (disk->acknowledged > 0) return; /* I3 */
    lethe_os_remove(disk->acknowledgement);
    if (lethe_os_sync_folder(disk->folder) != LETHE_OK ||
        lethe_os_folder_rename(disk->data, disk->begun) != LETHE_OK)
        return; /* I5 */
    if (lethe_os_path(ledger, "%s/ledger", disk->folder)) lethe_os_folder_remove(ledger);
    lethe_os_folder_remove(disk->begun);
    unsigned left = 0;
    bool is_known = lethe_os_sync_folder(disk->folder) == LETHE_OK &&
                    lethe_os_folder_each(disk->folder, count_name, &left) == LETHE_OK;
    if (!disk->found_empty || !is_known || left != 1) return; /* I1 */
    lethe_os_remove(disk->lock);
    if (disk->found_missing) lethe_os_folder_remove_empty(disk->folder); /* I4 */
}
