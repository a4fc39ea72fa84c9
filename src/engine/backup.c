/* engine/backup.c - backups of stores, and stores from backups.
 *
 * I1      Nothing is copied before every byte of the store was read and found sound. Nothing that a
 *         restore needs is replaced or removed before the copy was read back and found sound too.
 *         No copy is added to those of another store.
 * I2      The backup of a store with a ledger is two things. The latest copy of RocksDB's files
 *         decides which ledger goes with it, by the state in it (ledger_backup.c). The ledger is
 *         copied first. So after a kill at any moment the latest backup is whole: the new one or
 *         the one before.
 * I3      A store is restored under another name, read, and then moved to its place, the folder
 *         `data` last: a folder without it is no store.
 * WHY     A backup is needed when everything else is gone. That is worth reading all of it
 *         twice. */
#include <string.h>

#include "core/detail.h"
#include "engine/check.h"
#include "engine/disk/disk.h"
#include "engine/ids/ledger.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/note.h"
#include "os/sync.h"
#include "os/temporary.h"

enum { PATH_BYTES = LETHE_OS_PATH_BYTES };

static bool has(const char *folder, const char *name) {
    char path[PATH_BYTES];
    return lethe_os_path(path, "%s/%s", folder, name) && lethe_os_exists(path);
}

/* Backups do not go into a store, neither this one nor another. */
static lethe_status refuse_place(const char *folder, const char *backups, lethe_detail *detail) {
    bool is_within;
    lethe_status status = lethe_os_is_within(backups, folder, &is_within);
    if (status == LETHE_ENOTFOUND) return LETHE_OK; /* reported later */
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "look at", backups);
    if (is_within) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s is in the store itself; name a folder outside of it", backups);
    }
    if (has(backups, "data") || has(backups, "lethe.lock")) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s is a store and no folder of backups; name another", backups);
    }
    return LETHE_OK;
}

/* Makes a temporary folder in which a copy can be opened as a store, by links to its files. */
static lethe_status show(const char *backups, uint32_t number, lethe_os_temporary *out,
                         lethe_detail *detail) {
    lethe_status status = lethe_os_temporary_make(out);
    if (status != LETHE_OK)
        return lethe_detail_of_file(detail, status, "make", "a temporary folder");
    return lethe_disk_backup_show(backups, number, out->path, detail);
}

/* A folder of backups belongs to one store, since only the latest copy in it is ever restored. A
 * copy that can't be read is in nobody's way. */
static lethe_status refuse_another(const char *backups, uint64_t seed, lethe_detail *detail) {
    lethe_os_temporary shown;
    uint32_t number = lethe_disk_backup_latest(backups);
    if (number == 0) return LETHE_OK;
    lethe_disk *disk = NULL;
    lethe_state state = {0};
    lethe_status status = show(backups, number, &shown, NULL);
    if (status == LETHE_OK)
        status = lethe_disk_open(shown.path, LETHE_DISK_READ, false, NULL, &disk, NULL);
    if (status == LETHE_OK) status = lethe_state_load(disk, &state, NULL);
    lethe_disk_close(disk);
    lethe_os_temporary_remove(&shown);
    if (status != LETHE_OK || state.seed == seed) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "%s has backups of another store, which could not be restored any "
                             "more; name another folder",
                             backups);
}

/* Reads every byte of a copy, in place. */
static lethe_status read_back(const char *backups, uint32_t number, const lethe_state *expected,
                              lethe_detail *detail) {
    lethe_os_temporary shown;
    lethe_status status = show(backups, number, &shown, detail);
    lethe_state state;
    lethe_store_health health;
    if (status == LETHE_OK)
        status = lethe_engine_examine(shown.path, false, &state, &health, detail);
    if (status == LETHE_OK && state.commit != expected->commit)
        status = lethe_detail_fill(detail, LETHE_ECORRUPT, "it is of another moment");
    lethe_os_temporary_remove(&shown);
    return status;
}

/* Adds a copy of RocksDB's files; or none, if it can't be read back. */
static lethe_status add_copy(lethe_disk *disk, const char *backups, const lethe_state *state,
                             lethe_detail *detail) {
    uint32_t number;
    lethe_status status = lethe_disk_backup(disk, backups, &number, detail);
    if (status != LETHE_OK) return status;
    lethe_detail reason = {""};
    status = read_back(backups, number, state, &reason);
    if (status == LETHE_OK) return LETHE_OK;
    lethe_disk_backup_forget(backups, number);
    return lethe_detail_fill(detail, status,
                             "the store is sound, but its copy in %s is not (%.300s); back up to "
                             "another folder",
                             backups, reason.text);
}

lethe_status lethe_store_backup(const char *folder, const char *backups, lethe_detail *detail) {
    lethe_disk *disk = NULL;
    lethe_state state;
    lethe_store_health health;
    lethe_detail_clear(detail);
    if (folder == NULL || backups == NULL)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of a folder is NULL");
    lethe_status status = refuse_place(folder, backups, detail);
    if (status == LETHE_OK) status = lethe_engine_examine(folder, true, &state, &health, detail);
    if (status == LETHE_OK)
        status = lethe_disk_open(folder, LETHE_DISK_WRITE, false, NULL, &disk, detail);
    if (status == LETHE_OK) status = lethe_state_load(disk, &state, detail);
    if (status == LETHE_OK)
        status = lethe_detail_of_file(detail, lethe_os_folder_make(backups), "make", backups);
    if (status == LETHE_OK) status = refuse_another(backups, state.seed, detail);
    if (status == LETHE_OK && state.forever)
        status = lethe_ledger_backup(folder, backups, &state, detail);
    if (status == LETHE_OK) status = add_copy(disk, backups, &state, detail);
    if (status == LETHE_OK) lethe_ledger_prune(backups, &state);
    lethe_disk_close(disk);
    return status;
}

/* The name under which a store is restored, in its own folder. */
#define RESTORING "restore.new"

static void remove_half(const char *folder) {
    static const char *const parts[] = {"data", "ledger", "ledger.new", ""};
    char half[PATH_BYTES], path[PATH_BYTES];
    if (!lethe_os_path(half, "%s/" RESTORING, folder)) return;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (lethe_os_path(path, "%s/%s", half, parts[i])) lethe_os_folder_remove(path);
    }
}

/* Whether something in the folder is not the remains of a restore that was killed. */
static void judge_name(void *context, const char *name) {
    bool *is_foreign = context;
    if (strcmp(name, RESTORING) != 0 && strcmp(name, "ledger") != 0 &&
        strcmp(name, "acknowledged") != 0) {
        *is_foreign = true;
    }
}

static void remove_remains(const char *folder) {
    char path[PATH_BYTES];
    if (lethe_os_path(path, "%s/ledger", folder)) lethe_os_folder_remove(path);
    if (lethe_os_path(path, "%s/acknowledged", folder)) lethe_os_remove(path);
    remove_half(folder); /* last: it shows that the others are remains */
}

/* Makes the folder ready, or refuses it. */
static lethe_status prepare(const char *folder, bool *was_missing, lethe_detail *detail) {
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(folder, &state);
    bool is_foreign = false;
    *was_missing = state == LETHE_OS_MISSING;
    if (status == LETHE_OK && state == LETHE_OS_FILLED && has(folder, RESTORING)) {
        status = lethe_os_folder_each(folder, judge_name, &is_foreign);
        if (status == LETHE_OK && !is_foreign) {
            remove_remains(folder);
            state = LETHE_OS_EMPTY;
        }
    }
    if (status != LETHE_OK || state == LETHE_OS_NO_FOLDER || state == LETHE_OS_FILLED) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s must be missing or an empty folder to restore into", folder);
    }
    return lethe_detail_of_file(detail, lethe_os_folder_make(folder), "make", folder);
}

/* Restores a whole store under its other name, and reads every byte of it. */
static lethe_status fill(const char *backups, const char *half, lethe_detail *detail) {
    char path[PATH_BYTES];
    lethe_state state;
    lethe_store_health health;
    lethe_os_note note;
    lethe_status status = lethe_detail_of_file(detail, lethe_os_folder_make(half), "make", half);
    if (status == LETHE_OK) status = lethe_disk_restore(backups, half, detail);
    if (status == LETHE_OK) status = lethe_engine_examine(half, false, &state, &health, detail);
    if (status == LETHE_OK && state.forever)
        status = lethe_ledger_restore(backups, half, &state, detail);
    if (status != LETHE_OK) return status;
    if (!lethe_os_path(path, "%s/acknowledged", half))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    status = lethe_detail_of_file(detail, lethe_os_note_open(path, &note), "write", path);
    if (status != LETHE_OK) return status;
    lethe_os_note_write(&note, state.commit);
    lethe_os_note_close(&note);
    status = lethe_os_path(path, "%s/data", half) ? lethe_os_sync_folder(path) : LETHE_EIO;
    return lethe_detail_of_file(detail, status, "write", path);
}

static lethe_status move(const char *half, const char *folder, const char *name,
                         lethe_detail *detail) {
    char from[PATH_BYTES], to[PATH_BYTES];
    if (!lethe_os_path(from, "%s/%s", half, name) || !lethe_os_path(to, "%s/%s", folder, name))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    if (!lethe_os_exists(from)) return LETHE_OK;
    return lethe_detail_of_file(detail, lethe_os_folder_rename(from, to), "make", to);
}

lethe_status lethe_store_restore(const char *backups, const char *folder, lethe_detail *detail) {
    char half[PATH_BYTES];
    bool was_missing = false;
    lethe_detail_clear(detail);
    if (folder == NULL || backups == NULL)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of a folder is NULL");
    if (!lethe_os_path(half, "%s/" RESTORING, folder))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    if (!lethe_os_exists(backups))
        return lethe_detail_fill(detail, LETHE_ENOTFOUND,
                                 "there are no backups in %s; check the name", backups);
    lethe_status status = prepare(folder, &was_missing, detail);
    if (status != LETHE_OK) return status;
    status = fill(backups, half, detail);
    if (status == LETHE_OK) status = move(half, folder, "ledger", detail);
    if (status == LETHE_OK) status = move(half, folder, "acknowledged", detail);
    if (status == LETHE_OK) status = move(half, folder, "data", detail);
    if (status == LETHE_OK) {
        remove_half(folder);
        return LETHE_OK;
    }
    remove_remains(folder);
    if (was_missing) lethe_os_folder_remove(folder);
    return status;
}
