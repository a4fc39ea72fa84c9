/* engine/backup.c - a store as of one moment, beside a process that may be writing to it: checking
 * it, backups, and stores from backups.
 *
 * I1      The ledger is taken before RocksDB's files, and both are held as they were at one moment.
 *         So the ledger covers nothing that the log has not, and everything that the log has
 *         dropped.
 * I2      A set has everything that was acknowledged before it was taken, and is a state that the
 *         store had: RocksDB's log, as far as it was read, is a beginning of the whole log.
 * I3      In a restored store the acknowledged commit is its last one.
 * WHY     How backups are kept, and when one is believed, is the same for stores and cascades:
 *         backup/backup.c. */
#include <stdio.h>
#include <string.h>

#include "backup/backup.h"
#include "core/detail.h"
#include "core/sized.h"
#include "engine/check.h"
#include "engine/disk/disk.h"
#include "engine/ids/ledger.h"
#include "filter/cascade/check.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/note.h"

static bool has(const char *folder, const char *name) {
    char path[LETHE_OS_PATH_BYTES];
    return lethe_os_path(path, "%s/%s", folder, name) && lethe_os_exists(path);
}

/* A lethe_set_gather. */
static lethe_status gather(lethe_set *set, lethe_detail *detail) {
    if (!has(set->folder, "data")) return lethe_disk_unmade(set->folder, detail);
    lethe_status status = lethe_set_add_content(set, "acknowledged");
    if (status == LETHE_OK && has(set->folder, "ledger/manifest"))
        status = lethe_cascade_gather(set, "ledger/");
    if (status == LETHE_OK) status = lethe_disk_gather(set);
    return lethe_detail_of_file(detail, status, "read", set->folder);
}

/* The seed is a secret, and this is not. */
static uint64_t owner_of(const lethe_state *state) {
    static const char what[] = "backup";
    return lethe_hash_bytes(state->seed, what, sizeof what - 1).low;
}

static lethe_status examine(const char *folder, lethe_set *set, struct lethe_backup_facts *out,
                            lethe_detail *detail) {
    lethe_state state;
    lethe_store_health health;
    lethe_status status = lethe_engine_examine(folder, set, &state, &health, detail);
    if (status == LETHE_ENOTFOUND && set != NULL) status = lethe_disk_unmade(set->folder, detail);
    if (status != LETHE_OK) return status;
    *out = (struct lethe_backup_facts){
        .owner = owner_of(&state), .records = state.totals.applied, .moment = state.commit};
    return LETHE_OK;
}

/* Writes down that the last commit was acknowledged. */
static lethe_status settle(const char *folder, const struct lethe_backup_facts *facts,
                           lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    lethe_os_note note;
    if (!lethe_os_path(path, "%s/acknowledged", folder))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    lethe_status status =
        lethe_detail_of_file(detail, lethe_os_note_open(path, &note), "write", path);
    if (status != LETHE_OK) return status;
    lethe_os_note_write(&note, facts->moment);
    lethe_os_note_close(&note);
    return LETHE_OK;
}

/* The files of a ledger, which go to a backup's list. */
struct listing {
    lethe_backup_contents *contents;
    const char *backups, *inner;
    lethe_status status;
};

static void list_file(void *context, const char *name) {
    struct listing *listing = context;
    char path[LETHE_OS_PATH_BYTES];
    lethe_os_block_file content;
    if (listing->status != LETHE_OK || strcmp(name, "claim") == 0 || strlen(name) > 40) return;
    lethe_backup_file *file = lethe_backup_contents_append(listing->contents);
    if (file == NULL) {
        listing->status = LETHE_ENOMEM;
        return;
    }
    (void)snprintf(file->name, sizeof file->name, "ledger/%s", name);
    (void)snprintf(file->place, sizeof file->place, "%s/%s", listing->inner, name);
    if (!lethe_backup_is_name(file->name) ||
        !lethe_backup_file_path(listing->backups, file, path)) {
        listing->status = LETHE_ECORRUPT;
        return;
    }
    listing->status = lethe_os_block_open(path, false, false, &content);
    if (listing->status != LETHE_OK) return;
    file->size_bytes = content.size_bytes;
    listing->contents->backup.bytes += content.size_bytes;
    lethe_os_block_close(&content);
}

/* Of a backup of an earlier version: its owner, and its ledger, which is in a folder of its own. */
static lethe_status complete(const char *backups, const char *shown,
                             lethe_backup_contents *contents, lethe_detail *detail) {
    lethe_disk *disk = NULL;
    lethe_state state = {0};
    char name[LETHE_LEDGER_NAME_BYTES], path[LETHE_OS_PATH_BYTES];
    lethe_status status = lethe_disk_open(shown, LETHE_DISK_READ, false, NULL, &disk, detail);
    if (status == LETHE_OK) status = lethe_state_load(disk, &state, detail);
    lethe_disk_close(disk);
    if (status != LETHE_OK) return status;
    contents->owner = owner_of(&state);
    if (!state.forever) return LETHE_OK;
    lethe_ledger_earlier(backups, &state, name);
    struct listing listing = {.contents = contents, .backups = backups, .inner = name};
    status = lethe_os_path(path, "%s/%s", backups, name)
                 ? lethe_os_folder_each(path, list_file, &listing)
                 : LETHE_EIO;
    if (status == LETHE_OK) status = listing.status;
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status == LETHE_ENOTFOUND ? LETHE_ECORRUPT : status,
                             "the ledger of the backup, %s, is missing or cannot be read", path);
}

static const lethe_backup_kind kind_of_store = {
    .type = LETHE_BACKUP_OF_STORE,
    .name = "store",
    .subject = "the store",
    .root = "data",
    .gather = gather,
    .examine = examine,
    .settle = settle,
    .complete = complete,
};

lethe_status lethe_store_backup(const char *folder, const char *backups, lethe_backup *out,
                                lethe_detail *detail) {
    return lethe_backup_add(&kind_of_store, NULL, folder, backups, out, detail);
}

lethe_status lethe_store_restore(const char *backups, uint64_t number, const char *folder,
                                 lethe_backup *out, lethe_detail *detail) {
    return lethe_backup_restore(&kind_of_store, backups, number, folder, out, detail);
}

/* A lethe_backup_look. */
static lethe_status check(lethe_set *set, void *context, lethe_detail *detail) {
    lethe_state state;
    lethe_status status = lethe_engine_examine(set->shown.path, NULL, &state, context, detail);
    return status == LETHE_ENOTFOUND ? lethe_disk_unmade(set->folder, detail) : status;
}

lethe_status lethe_store_check(const char *folder, lethe_store_health *out, lethe_detail *detail) {
    lethe_store_health health = {0};
    lethe_detail_clear(detail);
    if (folder == NULL || out == NULL ||
        lethe_sized_check(out, LETHE_SIZE_WITH(out, ledger_ids)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the folder is NULL, or what to fill in");
    lethe_status status = lethe_backup_with(&kind_of_store, folder, check, &health, detail);
    lethe_status given = LETHE_GIVE(&health, out, ledger_ids);
    return status != LETHE_OK ? status : given;
}
