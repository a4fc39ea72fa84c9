/* backup/backup.c - adding a backup, beside a process that may be writing.
 *
 * IDEA    The files of one moment are held open (set.c) and read: every byte must be sound. Their
 *         content is kept, the copy is read back in the same way, and then its list gets its name.
 * I1      Nothing is written to the folder of backups before every byte of the original was read
 *         and found sound. There is no list of a copy that was not read back.
 * I2      Backups that are there are not changed. Content that they share with the new one and that
 *         is damaged is mended.
 * I3      All backups in a folder are of one store or cascade.
 * WHY     A backup is needed when everything else is gone. That is worth reading all of it twice.
 *         A copy is read back through links, as the store that it will be: hashes alone would not
 *         show that a file is missing. */
#include "backup/backup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backup/contents.h"
#include "core/detail.h"
#include "core/sized.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/folder.h"

enum { ATTEMPTS = 5 };

static bool has(const char *folder, const char *name) {
    char path[LETHE_OS_PATH_BYTES];
    return lethe_os_path(path, "%s/%s", folder, name) && lethe_os_exists(path);
}

/* Backups do not go into what is backed up, nor into another store or cascade. */
static lethe_status refuse_place(const lethe_backup_kind *kind, const char *folder,
                                 const char *backups, lethe_detail *detail) {
    bool is_within;
    lethe_status status = lethe_os_is_within(backups, folder, &is_within);
    if (status == LETHE_ENOTFOUND) return LETHE_OK; /* reported later */
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "look at", backups);
    if (is_within) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s is in %s itself; name a folder outside of it", backups,
                                 kind->subject);
    }
    if (has(backups, "data") || has(backups, "lethe.lock") || has(backups, "manifest")) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "%s is a store and no folder of backups; name another", backups);
    }
    return LETHE_OK;
}

lethe_status lethe_backup_claim(const char *backups, lethe_os_claim *out, lethe_detail *detail) {
    char path[LETHE_OS_PATH_BYTES], holder[200] = "";
    *out = (lethe_os_claim){.descriptor = -1};
    if (!lethe_os_path(path, "%s/backups.lock", backups))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the folder is too long");
    lethe_status status = lethe_os_claim_take(path, out, holder, sizeof holder);
    if (status == LETHE_EBUSY) {
        return lethe_detail_fill(detail, status,
                                 "the backups in %s are being changed by %s; try again later",
                                 backups, holder);
    }
    return lethe_detail_of_file(detail, status, "write", path);
}

lethe_status lethe_backup_show(const char *backups, const lethe_backup_contents *contents,
                               lethe_os_temporary *out, lethe_detail *detail) {
    char *real = NULL, target[LETHE_OS_PATH_BYTES], path[LETHE_OS_PATH_BYTES];
    lethe_status status = lethe_os_temporary_make(out);
    if (status == LETHE_OK) status = lethe_os_real_path(backups, &real);
    for (size_t i = 0; i < contents->count && status == LETHE_OK; i++) {
        const lethe_backup_file *file = &contents->files[i];
        status = lethe_set_make_inner(out->path, file->name);
        bool fits = lethe_backup_file_path(real, file, target) &&
                    lethe_os_path(path, "%s/%s", out->path, file->name);
        if (status == LETHE_OK) status = fits ? lethe_os_link(target, path) : LETHE_EIO;
    }
    free(real);
    return lethe_detail_of_file(detail, status, "read", backups);
}

/* Whose backups are in the folder; *is_known: there are any that can be read. */
static lethe_status find_owner(const lethe_backup_kind *kind, const char *backups, bool *is_known,
                               uint64_t *owner) {
    lethe_backup_numbers numbers;
    *is_known = false;
    lethe_status status = lethe_backup_find(backups, &numbers);
    if (status == LETHE_ENOTFOUND) status = LETHE_OK;
    for (size_t i = numbers.count; status == LETHE_OK && i > 0 && !*is_known; i--) {
        lethe_backup_contents contents;
        lethe_status read = lethe_backup_read(backups, numbers.all[i - 1], &contents);
        if (read == LETHE_OK && contents.is_earlier && kind->complete != NULL) {
            lethe_os_temporary shown;
            read = lethe_backup_show(backups, &contents, &shown, NULL);
            if (read == LETHE_OK) read = kind->complete(backups, shown.path, &contents, NULL);
            lethe_os_temporary_remove(&shown);
        }
        /* One that can't be read is in nobody's way. */
        *is_known = read == LETHE_OK;
        *owner = contents.type == kind->type ? contents.owner : 0;
        lethe_backup_contents_free(&contents);
    }
    free(numbers.all);
    return status;
}

static lethe_status refuse_another(const lethe_backup_kind *kind, const char *backups,
                                   uint64_t owner, lethe_detail *detail) {
    bool is_known;
    uint64_t found = 0;
    lethe_status status = find_owner(kind, backups, &is_known, &found);
    if (status != LETHE_OK) return lethe_detail_of_file(detail, status, "look into", backups);
    if (!is_known || found == owner) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "%s has backups of another store, which would be mixed up with these; "
                             "name another folder",
                             backups);
}

/* What a backup under way knows. */
struct adding {
    const lethe_backup_kind *kind;
    const char *label, *backups;
    lethe_backup_contents contents;
};

static lethe_status keep_all(struct adding *adding, const lethe_set *set, lethe_detail *detail) {
    lethe_backup_contents *contents = &adding->contents;
    lethe_status status = lethe_contents_prepare(adding->backups);
    for (size_t i = 0; i < set->count && status == LETHE_OK; i++) {
        if (set->files[i].is_unused) continue;
        lethe_backup_file *file = lethe_backup_contents_append(contents);
        if (file == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
        status = lethe_contents_keep(adding->backups, contents->owner, &set->files[i], file,
                                     &contents->backup.copied_bytes);
        contents->backup.bytes += set->files[i].size_bytes;
    }
    if (status == LETHE_OK) status = lethe_contents_sync(adding->backups);
    return lethe_detail_of_file(detail, status, "write to", adding->backups);
}

/* Reads every byte of the copy, in place. */
static lethe_status read_back(struct adding *adding, const struct lethe_backup_facts *original,
                              lethe_detail *detail) {
    lethe_os_temporary shown;
    lethe_detail reason = {""};
    struct lethe_backup_facts facts = {0};
    lethe_status status = lethe_backup_show(adding->backups, &adding->contents, &shown, &reason);
    if (status == LETHE_OK) status = adding->kind->examine(shown.path, NULL, &facts, &reason);
    lethe_os_temporary_remove(&shown);
    /* The original may have grown while it was read: the copy is what was there before. */
    if (status == LETHE_OK && (facts.owner != original->owner || facts.moment > original->moment))
        status = lethe_detail_fill(&reason, LETHE_ECORRUPT, "it is of another moment");
    adding->contents.backup.records = facts.records;
    if (status == LETHE_OK) return LETHE_OK;
    return lethe_detail_fill(detail, status,
                             "%s is sound, but its copy in %s is not (%.300s); back up to another "
                             "folder",
                             adding->kind->subject, adding->backups, reason.text);
}

/* The next number. */
static lethe_status number_it(struct adding *adding) {
    lethe_backup_numbers numbers;
    lethe_status status = lethe_backup_find(adding->backups, &numbers);
    adding->contents.backup.number = numbers.count > 0 ? numbers.all[numbers.count - 1] + 1 : 1;
    free(numbers.all);
    return status == LETHE_ENOTFOUND ? LETHE_OK : status;
}

/* With the folder of backups claimed. */
static lethe_status add_copy(struct adding *adding, lethe_set *set,
                             const struct lethe_backup_facts *facts, lethe_detail *detail) {
    lethe_backup_contents *contents = &adding->contents;
    lethe_backup_contents_free(contents);
    *contents = (lethe_backup_contents){
        .backup = {.size = sizeof contents->backup, .time_ms = lethe_os_wall_ms()},
        .type = adding->kind->type,
        .owner = facts->owner};
    (void)snprintf(contents->backup.kind, sizeof contents->backup.kind, "%s", adding->label);
    lethe_status status = refuse_another(adding->kind, adding->backups, facts->owner, detail);
    if (status == LETHE_OK) status = keep_all(adding, set, detail);
    if (status == LETHE_OK) status = read_back(adding, facts, detail);
    if (status != LETHE_OK) return status;
    status = number_it(adding);
    if (status == LETHE_OK) status = lethe_backup_write(adding->backups, contents);
    return lethe_detail_of_file(detail, status, "write to", adding->backups);
}

/* A lethe_backup_look. */
static lethe_status add(lethe_set *set, void *context, lethe_detail *detail) {
    struct adding *adding = context;
    struct lethe_backup_facts facts = {0};
    lethe_os_claim claim = {.descriptor = -1};
    lethe_status status = adding->kind->examine(set->shown.path, set, &facts, detail);
    if (status != LETHE_OK) return status;
    status = lethe_detail_of_folder(detail, lethe_os_folder_make(adding->backups), adding->backups);
    if (status == LETHE_OK) status = lethe_backup_claim(adding->backups, &claim, detail);
    if (status == LETHE_OK) status = add_copy(adding, set, &facts, detail);
    if (claim.descriptor >= 0) (void)lethe_contents_sweep(adding->backups);
    lethe_os_claim_give(&claim);
    return status;
}

/* Puts the folder's name where the text has that of the temporary one. */
static void rename_in(lethe_detail *detail, const char *from, const char *to) {
    size_t size = strlen(from);
    if (detail == NULL || size == 0) return;
    for (char *at = strstr(detail->text, from); at != NULL; at = strstr(detail->text, from)) {
        char rest[sizeof detail->text];
        memcpy(rest, at + size, strlen(at + size) + 1);
        size_t room = sizeof detail->text - (size_t)(at - detail->text);
        (void)snprintf(at, room, "%s%s", to, rest);
        if (strstr(to, from) != NULL) return;
    }
}

/* Whether the error may come from a process that writes meanwhile. */
static bool may_pass(lethe_status status) {
    return status == LETHE_ECORRUPT || status == LETHE_EIO || status == LETHE_ENOTFOUND;
}

lethe_status lethe_backup_with(const lethe_backup_kind *kind, const char *folder,
                               lethe_backup_look look, void *context, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        lethe_set set;
        lethe_detail_clear(detail);
        status = lethe_set_take(&set, folder, kind->gather, detail);
        bool is_taken = status == LETHE_OK;
        if (is_taken) status = look(&set, context, detail);
        rename_in(detail, set.shown.path, folder);
        bool is_final = !is_taken || !may_pass(status) || lethe_set_is_current(&set);
        lethe_set_drop(&set);
        if (is_final) break;
    }
    return status;
}

lethe_status lethe_backup_add(const lethe_backup_kind *kind, const char *label, const char *folder,
                              const char *backups, lethe_backup *out, lethe_detail *detail) {
    struct adding adding = {
        .kind = kind, .label = label != NULL ? label : kind->name, .backups = backups};
    lethe_detail_clear(detail);
    if (folder == NULL || backups == NULL)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of a folder is NULL");
    if (adding.label[0] == '\0' || strlen(adding.label) >= LETHE_BACKUP_KIND_BYTES)
        return lethe_detail_fill(detail, LETHE_EINVAL, "the name of the kind is empty or too long");
    if (out != NULL && lethe_sized_check(out, LETHE_SIZE_WITH(out, kind)) != LETHE_OK)
        return lethe_detail_fill(detail, LETHE_EINVAL, "what to fill in has no size");
    lethe_status status = refuse_place(kind, folder, backups, detail);
    if (status == LETHE_OK) status = lethe_backup_with(kind, folder, add, &adding, detail);
    if (status == LETHE_OK && out != NULL) status = LETHE_GIVE(&adding.contents.backup, out, kind);
    lethe_backup_contents_free(&adding.contents);
    return status;
}
