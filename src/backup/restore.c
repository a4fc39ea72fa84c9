/* backup/restore.c - from a backup to a folder.
 *
 * I1      A folder is restored under another name, in its own place, and every byte of it is read.
 *         Then its parts are moved to their places, the root last: a folder without that is no
 *         store and no cascade.
 * I2      What a killed restore has left is recognised and removed by the next one. It never
 *         touches a folder that has anything else in it. What cannot be removed is not restored
 *         beside, and stays recognisable.
 * WHY     Whoever restores may have nothing else left. So a backup that is not sound is refused,
 *         and one that is sound is named. */
#include <stdlib.h>
#include <string.h>

#include "backup/backup.h"
#include "backup/contents.h"
#include "core/detail.h"
#include "core/sized.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

/* The name under which a folder is restored, in itself. */
#define RESTORING "restore.new"

static void remove_half(const char *folder) {
    static const char *const parts[] = {"data", "ledger", ""};
    char path[LETHE_OS_PATH_BYTES];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (lethe_os_path(path, "%s/" RESTORING "/%s", folder, parts[i]))
            lethe_os_folder_remove(path);
}

/* Whether it is a part that is moved before the root. */
static bool is_part(const char *name) {
    static const char *const names[] = {RESTORING, "ledger", "acknowledged", "fold.sst",
                                        "fold-upper.sst"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return strncmp(name, "run-", 4) == 0 || strncmp(name, "log-", 4) == 0;
}

static void judge_name(void *context, const char *name) {
    bool *is_foreign = context;
    if (!is_part(name)) *is_foreign = true;
}

struct remains {
    const char *folder;
    bool are_gone;
};

static void remove_part(void *context, const char *name) {
    struct remains *remains = context;
    char path[LETHE_OS_PATH_BYTES];
    if (strcmp(name, RESTORING) == 0 || !is_part(name)) return;
    if (!lethe_os_path(path, "%s/%s", remains->folder, name)) return;
    if (strcmp(name, "ledger") == 0) lethe_os_folder_remove(path);
    if (!lethe_os_remove(path)) remains->are_gone = false;
}

/* Returns whether nothing is left. */
static bool remove_remains(const char *folder) {
    char half[LETHE_OS_PATH_BYTES];
    struct remains remains = {.folder = folder, .are_gone = true};
    lethe_status status = lethe_os_folder_each(folder, remove_part, &remains);
    if (status != LETHE_OK || !remains.are_gone) return false;
    remove_half(folder); /* last: it shows that the others are remains */
    return lethe_os_path(half, "%s/" RESTORING, folder) && !lethe_os_exists(half);
}

/* A store among the backups would be in the way of those who look after them. */
static lethe_status refuse_among(const char *backups, const char *folder, lethe_detail *detail) {
    bool is_within;
    lethe_status status = lethe_os_is_within(folder, backups, &is_within);
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "look at", folder);
    if (!is_within) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "%s is in the folder of the backups; name a folder outside of it",
                             folder);
}

/* Makes the folder ready, or refuses it. */
static lethe_status prepare(const char *folder, bool *was_missing, lethe_detail *detail) {
    char half[LETHE_OS_PATH_BYTES];
    lethe_os_folder_state state;
    lethe_status status = lethe_os_folder_look(folder, &state);
    bool is_foreign = false;
    *was_missing = state == LETHE_OS_MISSING;
    if (!lethe_os_path(half, "%s/" RESTORING, folder)) status = LETHE_EINVAL;
    if (status == LETHE_OK && state == LETHE_OS_FILLED && lethe_os_exists(half)) {
        status = lethe_os_folder_each(folder, judge_name, &is_foreign);
        if (status == LETHE_OK && !is_foreign) {
            if (!remove_remains(folder)) {
                return lethe_detail_fill(detail, LETHE_EIO,
                                         "what an interrupted restore has left in %s cannot be "
                                         "removed; remove the folder, or restore into another",
                                         folder);
            }
            state = LETHE_OS_EMPTY;
        }
    }
    if (status != LETHE_OK || state == LETHE_OS_NO_FOLDER || state == LETHE_OS_FILLED) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s must be missing or an empty folder to restore into", folder);
    }
    return lethe_detail_of_folder(detail, lethe_os_folder_make(folder), folder);
}

/* Writes all files under the other name, and reads every byte of them. */
static lethe_status fill(const lethe_backup_kind *kind, const char *backups,
                         const lethe_backup_contents *contents, const char *half,
                         lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES];
    struct lethe_backup_facts facts = {0};
    lethe_status status = lethe_detail_of_file(detail, lethe_os_folder_make(half), "make", half);
    for (size_t i = 0; i < contents->count && status == LETHE_OK; i++) {
        const lethe_backup_file *file = &contents->files[i];
        bool fits = lethe_os_path(path, "%s/%s", half, file->name);
        status = lethe_detail_of_file(
            detail, fits ? lethe_set_make_inner(half, file->name) : LETHE_EIO, "write", path);
        if (status == LETHE_OK) status = lethe_contents_copy(backups, contents, file, path, detail);
    }
    if (status == LETHE_OK) status = kind->examine(half, NULL, &facts, detail);
    if (status == LETHE_OK && kind->settle != NULL) status = kind->settle(half, &facts, detail);
    if (status == LETHE_OK)
        status = lethe_detail_of_file(detail, lethe_os_sync_folder(half), "write", half);
    return status;
}

/* Moves of parts, the root left out or alone. */
struct moving {
    const char *half, *folder, *root;
    bool is_root;
    lethe_status status;
};

static void move_part(void *context, const char *name) {
    struct moving *moving = context;
    char from[LETHE_OS_PATH_BYTES], to[LETHE_OS_PATH_BYTES];
    if (moving->status != LETHE_OK || (strcmp(name, moving->root) == 0) != moving->is_root) return;
    bool fits = lethe_os_path(from, "%s/%s", moving->half, name) &&
                lethe_os_path(to, "%s/%s", moving->folder, name);
    moving->status = fits ? lethe_os_folder_rename(from, to) : LETHE_EIO;
}

static lethe_status move_all(const lethe_backup_kind *kind, const char *half, const char *folder,
                             lethe_detail *detail) {
    struct moving moving = {.half = half, .folder = folder, .root = kind->root};
    lethe_status status = lethe_os_folder_each(half, move_part, &moving);
    if (status == LETHE_OK) status = moving.status;
    moving.is_root = true;
    if (status == LETHE_OK) move_part(&moving, kind->root);
    if (status == LETHE_OK) status = moving.status;
    return lethe_detail_of_file(detail, status, "write to", folder);
}

/* The files of a backup: those of an earlier version are shown, to see what their list lacks. */
static lethe_status read_list(const lethe_backup_kind *kind, const char *backups, uint64_t number,
                              lethe_backup_contents *out, lethe_detail *detail) {
    lethe_status status = lethe_backup_read(backups, number, out);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "the list of backup %llu in %s: %s",
                                 (unsigned long long)number, backups, lethe_strerror(status));
    }
    if (out->type != kind->type) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the backups in %s are of a %s; restore it as one", backups,
                                 out->backup.kind);
    }
    if (!out->is_earlier || kind->complete == NULL) return LETHE_OK;
    lethe_os_temporary shown;
    status = lethe_backup_show(backups, out, &shown, detail);
    if (status == LETHE_OK) status = kind->complete(backups, shown.path, out, detail);
    lethe_os_temporary_remove(&shown);
    return status;
}

/* Whether a backup could be restored. */
static bool is_sound(const lethe_backup_kind *kind, const char *backups, uint64_t number) {
    lethe_backup_contents contents;
    lethe_os_temporary shown = {.path = ""};
    struct lethe_backup_facts facts;
    lethe_status status = read_list(kind, backups, number, &contents, NULL);
    if (status == LETHE_OK) status = lethe_contents_verify(backups, &contents, NULL);
    if (status == LETHE_OK) status = lethe_backup_show(backups, &contents, &shown, NULL);
    if (status == LETHE_OK) status = kind->examine(shown.path, NULL, &facts, NULL);
    lethe_os_temporary_remove(&shown);
    lethe_backup_contents_free(&contents);
    return status == LETHE_OK;
}

/* Adds to what is wrong with a backup which other one is sound, the latest if there are several. */
static lethe_status name_another(const lethe_backup_kind *kind, const char *backups,
                                 const lethe_backup_numbers *numbers, uint64_t number,
                                 lethe_status status, lethe_detail *detail) {
    if (detail == NULL) return status;
    lethe_detail reason = *detail;
    for (size_t i = numbers->count; i > 0; i--) {
        uint64_t other = numbers->all[i - 1];
        if (other == number || !is_sound(kind, backups, other)) continue;
        return lethe_detail_fill(detail, status,
                                 "backup %llu is damaged (%.300s); backup %llu is sound: restore "
                                 "that one by its number",
                                 (unsigned long long)number, reason.text,
                                 (unsigned long long)other);
    }
    return lethe_detail_fill(detail, status,
                             "backup %llu is damaged (%.300s), and no other one there is sound; "
                             "look for a copy of the folder",
                             (unsigned long long)number, reason.text);
}

/* Whether all of it is in its place, also if that could not be made durable: no remains then. */
static bool has_root(const lethe_backup_kind *kind, const char *folder) {
    char path[LETHE_OS_PATH_BYTES];
    return lethe_os_path(path, "%s/%s", folder, kind->root) && lethe_os_exists(path);
}

static lethe_status restore(const lethe_backup_kind *kind, const char *backups,
                            const lethe_backup_contents *contents, const char *folder,
                            lethe_detail *detail) {
    char half[LETHE_OS_PATH_BYTES];
    bool was_missing = false;
    if (!lethe_os_path(half, "%s/" RESTORING, folder))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    lethe_status status = prepare(folder, &was_missing, detail);
    if (status != LETHE_OK) return status;
    status = fill(kind, backups, contents, half, detail);
    if (status == LETHE_OK) status = move_all(kind, half, folder, detail);
    if (status == LETHE_OK || has_root(kind, folder)) {
        remove_half(folder);
        return status;
    }
    (void)remove_remains(folder); /* the next restore meets it again */
    if (was_missing) lethe_os_folder_remove(folder);
    return status;
}

/* Which one is meant: the latest, unless a number is given. */
static lethe_status choose(const char *backups, const lethe_backup_numbers *numbers,
                           uint64_t *number, lethe_detail *detail) {
    if (*number == 0) *number = numbers->all[numbers->count - 1];
    for (size_t i = 0; i < numbers->count; i++)
        if (numbers->all[i] == *number) return LETHE_OK;
    return lethe_detail_fill(
        detail, LETHE_ENOTFOUND, "there is no backup %llu in %s; the latest is %llu",
        (unsigned long long)*number, backups, (unsigned long long)numbers->all[numbers->count - 1]);
}

lethe_status lethe_backup_restore(const lethe_backup_kind *kind, const char *backups,
                                  uint64_t number, const char *folder, lethe_backup *out,
                                  lethe_detail *detail) {
    lethe_backup_numbers numbers;
    lethe_backup_contents contents = {.count = 0};
    lethe_detail_clear(detail);
    if (folder == NULL || backups == NULL)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of a folder is NULL");
    if (out != NULL && lethe_sized_check(out, LETHE_SIZE_WITH(out, kind)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "what to fill in has no size");
    lethe_status status = lethe_backup_find(backups, &numbers);
    if (status == LETHE_ENOTFOUND) {
        (void)lethe_detail_fill(detail, status, "there are no backups in %s; check the name",
                                backups);
    } else if (status != LETHE_OK) {
        (void)lethe_detail_of_file(detail, status, "look into", backups);
    }
    if (status == LETHE_OK) status = choose(backups, &numbers, &number, detail);
    if (status == LETHE_OK) {
        status = refuse_among(backups, folder, detail);
        if (status == LETHE_OK) status = read_list(kind, backups, number, &contents, detail);
        if (status == LETHE_OK) status = restore(kind, backups, &contents, folder, detail);
        if (status == LETHE_ECORRUPT)
            status = name_another(kind, backups, &numbers, number, status, detail);
    }
    if (status == LETHE_OK && out != NULL) status = LETHE_GIVE(&contents.backup, out, kind);
    lethe_backup_contents_free(&contents);
    free(numbers.all);
    return status;
}
