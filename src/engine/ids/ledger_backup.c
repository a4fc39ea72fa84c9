/* engine/ids/ledger_backup.c - copies of a ledger in a folder of backups.
 *
 * LAYOUT  BACKUPS/ledger-N   the ledger of the backup whose last commit is N */
#include <stdio.h>

#include "core/detail.h"
#include "engine/ids/ledger.h"
#include "os/copy.h"
#include "os/file.h"
#include "os/folder.h"

static bool copy_path(const char *backups, uint64_t commit, char out[LETHE_OS_PATH_BYTES]) {
    return lethe_os_path(out, "%s/ledger-%llu", backups, (unsigned long long)commit);
}

/* Copies under another name first, and reads the copy back: a folder with the right name is
 * whole. */
static lethe_status copy(const char *from, const char *to, const lethe_state *state,
                         lethe_detail *detail) {
    char fresh[LETHE_OS_PATH_BYTES];
    uint64_t ids;
    if (lethe_os_exists(to) && lethe_ledger_check_at(to, state, &ids, NULL) == LETHE_OK)
        return LETHE_OK;
    if (!lethe_os_path(fresh, "%s.new", to))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    lethe_os_folder_remove(fresh);
    lethe_status status = lethe_os_folder_copy(from, fresh);
    if (status != LETHE_OK) {
        (void)lethe_detail_fill(detail, status, "cannot copy the ledger from %s to %s: %s", from,
                                to, lethe_strerror(status));
    }
    if (status == LETHE_OK) status = lethe_ledger_check_at(fresh, state, &ids, detail);
    if (status == LETHE_OK) {
        lethe_os_folder_remove(to); /* it is not sound */
        status = lethe_os_folder_rename(fresh, to);
        if (status != LETHE_OK)
            (void)lethe_detail_fill(detail, status, "cannot rename %s to %s", fresh, to);
    }
    if (status != LETHE_OK) lethe_os_folder_remove(fresh);
    return status;
}

lethe_status lethe_ledger_backup(const char *folder, const char *backups, const lethe_state *state,
                                 lethe_detail *detail) {
    char from[LETHE_OS_PATH_BYTES], to[LETHE_OS_PATH_BYTES];
    if (!lethe_ledger_path(folder, from) || !copy_path(backups, state->commit, to))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    return copy(from, to, state, detail);
}

lethe_status lethe_ledger_restore(const char *backups, const char *folder, const lethe_state *state,
                                  lethe_detail *detail) {
    char from[LETHE_OS_PATH_BYTES], to[LETHE_OS_PATH_BYTES];
    if (!copy_path(backups, state->commit, from) || !lethe_ledger_path(folder, to))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    return copy(from, to, state, detail);
}

void lethe_ledger_prune(const char *backups, uint64_t commit) {
    char kept[64];
    (void)snprintf(kept, sizeof kept, "ledger-%llu", (unsigned long long)commit);
    lethe_os_folder_prune(backups, "ledger-", kept);
}
