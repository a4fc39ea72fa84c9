/* engine/ids/ledger_backup.c - copies of a ledger in a folder of backups.
 *
 * LAYOUT  BACKUPS/ledger-N-M   the ledger of the backup whose last commit is N, of the moment M
 *         BACKUPS/ledger-N     the same, as an earlier version made it
 * WHY     A copy of a store may go its own way, and be backed up to the same folder at an equal
 *         number of commits. The two have other ledgers, and other moments. */
#include <stdio.h>
#include <string.h>

#include "core/bytes.h"
#include "core/detail.h"
#include "engine/ids/ledger.h"
#include "os/copy.h"
#include "os/file.h"
#include "os/folder.h"

enum { NAME_BYTES = 64 };

/* A number for the moment of a state's commit: for what the store's and the machine's clocks said,
 * and how much had been applied by then. Only of fields that every version of the state has. */
static uint64_t moment_of(const lethe_state *state) {
    const uint64_t words[] = {state->clock_ms, state->boot_ms, state->log_ids,
                              state->totals.applied, state->totals.duplicates};
    unsigned char bytes[sizeof words + sizeof state->boot_id];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        lethe_put_u64(bytes + i * sizeof words[0], words[i]);
    memcpy(bytes + sizeof words, state->boot_id, sizeof state->boot_id);
    return lethe_hash_bytes(state->seed, bytes, sizeof bytes).low;
}

static void name_of(const lethe_state *state, char out[NAME_BYTES]) {
    (void)snprintf(out, NAME_BYTES, "ledger-%llu-%016llx", (unsigned long long)state->commit,
                   (unsigned long long)moment_of(state));
}

static bool copy_path(const char *backups, const lethe_state *state,
                      char out[LETHE_OS_PATH_BYTES]) {
    char name[NAME_BYTES];
    name_of(state, name);
    return lethe_os_path(out, "%s/%s", backups, name);
}

/* Where the ledger of a backup is that may have been made by an earlier version. */
static bool find_copy(const char *backups, const lethe_state *state,
                      char out[LETHE_OS_PATH_BYTES]) {
    if (!copy_path(backups, state, out)) return false;
    return lethe_os_exists(out) ||
           lethe_os_path(out, "%s/ledger-%llu", backups, (unsigned long long)state->commit);
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
    if (!lethe_ledger_path(folder, from) || !copy_path(backups, state, to))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    return copy(from, to, state, detail);
}

lethe_status lethe_ledger_restore(const char *backups, const char *folder, const lethe_state *state,
                                  lethe_detail *detail) {
    char from[LETHE_OS_PATH_BYTES], to[LETHE_OS_PATH_BYTES];
    if (!find_copy(backups, state, from) || !lethe_ledger_path(folder, to))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    return copy(from, to, state, detail);
}

void lethe_ledger_prune(const char *backups, const lethe_state *state) {
    char kept[NAME_BYTES] = "";
    if (state->forever) name_of(state, kept);
    lethe_os_folder_prune(backups, "ledger-", kept);
}
