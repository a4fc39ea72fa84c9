/* engine/disk/disk.c - opening RocksDB, and translating what it says.
 *
 * LAYOUT  FOLDER/lethe.lock    claimed by the writer; says who that is
 *         FOLDER/data/         RocksDB
 *         FOLDER/data.new/     the same while it is being made
 *         FOLDER/acknowledged  the number of the last acknowledged commit
 *         FOLDER/fold.sst, FOLDER/fold-upper.sst
 *                              tables that are being made (fold_table.c), or that could not be
 *                              added (mend.c)
 * I1      A commit is one write batch, synced before it returns. RocksDB's own log is what makes
 *         our log durable.
 * I2      Families are flushed together (atomic_flush), so that a reader in another process never
 *         sees one family ahead of another.
 * I3      RocksDB's log is read up to the first damaged record. What a crash cuts off or mangles
 *         there was not acknowledged, as a rule. The number in `acknowledged` shows whether it was:
 *         it is written after each commit, and never waited for. If the log ends before that
 *         commit, it is damaged, and the store is refused.
 * I4      Before RocksDB is open, it has written to tables, and synced, all that it read from its
 *         log, unless avoid_flush_during_recovery is set. A sync of that log may have failed
 *         earlier: then the log can be read until the machine restarts, and is not on disk.
 * I5      RocksDB knows files by their paths, and the claim is on the folder that was opened. So
 *         before each step that may write, lethe_disk_check_place compares the two. A store whose
 *         folder was moved, removed or replaced writes nothing more, and RocksDB removes nothing.
 * I6      Before a writer opens the database, its name is on disk. Whoever gave it that name, or
 *         restored it, may have ended before the folder was synced, or that sync may have failed.
 * WHY     Refusing every damaged end would refuse a store after any power cut. Accepting it, as
 *         RocksDB does by itself, would lose acknowledged commits without an error when a disk goes
 *         bad.
 * LIMIT   A power cut can take the last moments of `acknowledged` as well. Damage to just those
 *         commits is not noticed then. A folder that is moved just while RocksDB flushes or
 *         compacts is noticed only afterwards. */
#include "engine/disk/disk.h"

#include <errno.h>
#include <rocksdb/c.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/detail.h"
#include "engine/disk/internal.h"
#include "os/file.h"
#include "os/folder.h"
#include "os/sync.h"

lethe_status lethe_disk_translate(char *message, const char *what, lethe_detail *detail) {
    if (message == NULL) return LETHE_OK;
    lethe_status status = LETHE_EIO;
    if (strncmp(message, "Corruption", 10) == 0) status = LETHE_ECORRUPT;
    if (strstr(message, "No such file") != NULL) status = LETHE_ECORRUPT;
    if (strncmp(message, "Invalid argument", 16) == 0) status = LETHE_ECORRUPT;
    if (strstr(message, "No space left") != NULL || strstr(message, "Disk quota") != NULL ||
        strstr(message, "NoSpace") != NULL || strstr(message, "File too large") != NULL) {
        status = LETHE_ENOSPACE;
    }
    (void)lethe_detail_fill(detail, status, "%s: %s%s", what, message,
                            status == LETHE_ECORRUPT ? "; restore a backup" : "");
    rocksdb_free(message);
    return status;
}

/* The families to open, in their order. */
struct families {
    int count;
    enum lethe_family which[LETHE_FAMILY_COUNT];
    const char *names[LETHE_FAMILY_COUNT];
    const rocksdb_options_t *options[LETHE_FAMILY_COUNT];
    rocksdb_column_family_handle_t *handles[LETHE_FAMILY_COUNT];
};

static void add_family(const lethe_disk *disk, enum lethe_family family, struct families *out) {
    out->which[out->count] = family;
    out->names[out->count] = lethe_disk_family_names[family];
    out->options[out->count++] = disk->options[family];
}

/* Those that every store has. */
static void add_usual_families(const lethe_disk *disk, struct families *out) {
    for (unsigned i = 0; i < LETHE_FAMILY_BUCKETS; i++) {
        add_family(disk, (enum lethe_family)i, out);
    }
}

/* RocksDB has opened them, unless there is a message. */
static void keep_families(lethe_disk *disk, const struct families *families, const char *message) {
    for (int i = 0; i < families->count && message == NULL; i++) {
        disk->families[families->which[i]] = families->handles[i];
    }
}

static bool has_name(char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

/* Finds out which families there are. One that this version does not know was made by a newer
 * one. */
static lethe_status list_families(const lethe_disk *disk, const char *data, struct families *out,
                                  lethe_detail *detail) {
    char *message = NULL;
    size_t count = 0;
    char **names = rocksdb_list_column_families(disk->options[0], data, &count, &message);
    if (message != NULL) {
        rocksdb_list_column_families_destroy(names, count); /* even an empty list must be freed */
        return lethe_disk_translate(message, data, detail);
    }
    lethe_status status = LETHE_OK;
    add_usual_families(disk, out);
    for (unsigned i = LETHE_FAMILY_BUCKETS; i < LETHE_FAMILY_COUNT; i++) {
        if (has_name(names, count, lethe_disk_family_names[i]))
            add_family(disk, (enum lethe_family)i, out);
    }
    for (size_t i = 0; i < count && status == LETHE_OK; i++) {
        bool known = false;
        for (size_t j = 0; j < LETHE_FAMILY_COUNT; j++) {
            known = known || strcmp(names[i], lethe_disk_family_names[j]) == 0;
        }
        if (!known) {
            status = lethe_detail_fill(detail, LETHE_EVERSION,
                                       "%s has records of a kind \"%.60s\" that this version does "
                                       "not know; use the version that wrote it",
                                       data, names[i]);
        }
    }
    if (status == LETHE_OK && count < (size_t)out->count) {
        status =
            lethe_detail_fill(detail, LETHE_ECORRUPT,
                              "%s lacks some kinds of records: it was not made by lethe, or is "
                              "damaged",
                              data);
    }
    rocksdb_list_column_families_destroy(names, count);
    return status;
}

lethe_status lethe_disk_check_place(lethe_disk *disk, lethe_detail *detail) {
    if (!disk->is_displaced && lethe_os_claim_is_at(&disk->claim, disk->claimed)) return LETHE_OK;
    char *message = NULL;
    /* From now on RocksDB removes no files at our path, which are another store's. */
    if (!atomic_exchange(&disk->is_displaced, true) && disk->database != NULL)
        rocksdb_disable_file_deletions(disk->database, &message);
    if (message != NULL) rocksdb_free(message);
    return lethe_detail_fill(detail, LETHE_EIO,
                             "%s was moved, removed or replaced while it was being written; what "
                             "was acknowledged is in the folder that was moved, and nothing more "
                             "is written",
                             disk->folder);
}

static void close_database(lethe_disk *disk) {
    if (disk->database == NULL) return;
    bool is_writer = disk->claim.descriptor >= 0;
    if (is_writer && lethe_disk_check_place(disk, NULL) != LETHE_OK) /* I5 */
        rocksdb_cancel_all_background_work(disk->database, 1);
    for (unsigned i = 0; i < LETHE_FAMILY_COUNT; i++) {
        if (disk->families[i] != NULL) rocksdb_column_family_handle_destroy(disk->families[i]);
        disk->families[i] = NULL;
    }
    rocksdb_close(disk->database);
    disk->database = NULL;
}

/* Makes the empty database under another name first, so that what a kill or a full disk leaves is
 * not taken for a store. */
static lethe_status make_database(lethe_disk *disk, lethe_detail *detail) {
    char *message = NULL;
    /* The lock shows that the folder is a store's. Without it, what a power cut leaves here would
     * be taken for somebody else's files. */
    lethe_status named = lethe_os_sync_folder(disk->folder);
    if (named != LETHE_OK) {
        return lethe_detail_fill(detail, named, "cannot make the store in %s: %s", disk->folder,
                                 strerror(errno));
    }
    lethe_os_folder_remove(disk->begun);
    rocksdb_options_set_create_if_missing(disk->options[0], 1);
    rocksdb_options_set_create_missing_column_families(disk->options[0], 1);
    struct families families = {0};
    add_usual_families(disk, &families);
    disk->database =
        rocksdb_open_column_families(disk->options[0], disk->begun, families.count, families.names,
                                     families.options, families.handles, &message);
    keep_families(disk, &families, message);
    rocksdb_options_set_create_if_missing(disk->options[0], 0);
    rocksdb_options_set_create_missing_column_families(disk->options[0], 0);
    if (message != NULL) return lethe_disk_translate(message, "cannot make the store", detail);
    close_database(disk);
    lethe_status status = lethe_os_folder_rename(disk->begun, disk->data);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make %s: %s", disk->data,
                                                  strerror(errno));
}

bool lethe_disk_has(const lethe_disk *disk, enum lethe_family family) {
    return disk->families[family] != NULL;
}

lethe_status lethe_disk_add(lethe_disk *disk, enum lethe_family family, lethe_detail *detail) {
    char *message = NULL;
    lethe_status status = lethe_disk_check_place(disk, detail);
    if (status != LETHE_OK) return status;
    rocksdb_column_family_handle_t *made = rocksdb_create_column_family(
        disk->database, disk->options[family], lethe_disk_family_names[family], &message);
    if (message == NULL) disk->families[family] = made;
    return lethe_disk_translate(message, "cannot add a kind of records to the store", detail);
}

/* data: its folder, or one with links to the same files. */
static lethe_status open_database(lethe_disk *disk, const char *data, lethe_disk_mode mode,
                                  lethe_detail *detail) {
    char *message = NULL;
    struct families families = {0};
    lethe_status status = list_families(disk, data, &families, detail);
    if (status != LETHE_OK) return status;
    switch (mode) {
    case LETHE_DISK_WRITE:
        disk->database =
            rocksdb_open_column_families(disk->options[0], data, families.count, families.names,
                                         families.options, families.handles, &message);
        break;
    case LETHE_DISK_READ:
        disk->database = rocksdb_open_for_read_only_column_families(
            disk->options[0], data, families.count, families.names, families.options,
            families.handles, 0, &message);
        break;
    }
    keep_families(disk, &families, message);
    lethe_disk_find_missing(disk, message);
    return lethe_disk_translate(message, "cannot open the store", detail);
}

/* Opens the store, with tables that a failed fold has left in the places of those that are missing.
 * Each is tried in each place; what is refused is as it was. */
static lethe_status open_with_folds(lethe_disk *disk, const char *data, lethe_disk_mode mode) {
    lethe_status status = open_database(disk, data, mode, NULL);
    if (status == LETHE_OK || !lethe_disk_can_mend(disk)) return status;
    const lethe_table_number missing = disk->missing;
    for (unsigned i = 0; i < LETHE_FOLD_TABLES; i++) {
        if (lethe_disk_mend(disk, data, i, &missing) != LETHE_OK) continue;
        if (open_with_folds(disk, data, mode) == LETHE_OK) return LETHE_OK;
        lethe_disk_take_back(disk, data, i);
    }
    return status;
}

/* Opens the store to read it, through links to its files and to the tables that a failed fold left.
 * All files are open then, and the links can go. status is that of opening it as it is. */
static lethe_status open_shown(lethe_disk *disk, lethe_disk_mode mode, lethe_status status,
                               lethe_detail *detail) {
    lethe_os_temporary shown;
    if (lethe_disk_show(disk, &shown) != LETHE_OK) {
        return lethe_detail_fill(detail, status,
                                 "the disk failed while a table was taken into %s; open it to "
                                 "write once, which puts the table in its place",
                                 disk->folder);
    }
    lethe_status again = open_with_folds(disk, shown.path, mode);
    lethe_os_temporary_remove(&shown);
    return again == LETHE_OK ? LETHE_OK : status;
}

/* Opens the store. Where tables are missing that a failed fold has left, they are put in place. */
static lethe_status open_mended(lethe_disk *disk, lethe_disk_mode mode, lethe_detail *detail) {
    lethe_status status = open_database(disk, disk->data, mode, detail);
    if (status == LETHE_OK || !lethe_disk_can_mend(disk)) return status;
    if (disk->mode != LETHE_DISK_WRITE) return open_shown(disk, mode, status, detail);
    return open_with_folds(disk, disk->data, mode) == LETHE_OK ? LETHE_OK : status;
}

static lethe_status claim(lethe_disk *disk, lethe_detail *detail) {
    char holder[200] = "";
    lethe_status status = lethe_os_claim_take(disk->lock, &disk->claim, holder, sizeof holder);
    if (status == LETHE_EBUSY) {
        return lethe_detail_fill(detail, status, "%s is being written by %s", disk->folder, holder);
    }
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot open %s: %s", disk->lock, strerror(errno));
    }
    if (lethe_os_claim_is_at(&disk->claim, disk->lock)) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EBUSY, "%s was removed just now; try again",
                             disk->folder);
}

static lethe_status prepare(lethe_disk *disk, const char *folder, lethe_detail *detail) {
    bool fits = lethe_os_path(disk->folder, "%s", folder) &&
                lethe_os_path(disk->data, "%s/data", folder) &&
                lethe_os_path(disk->lock, "%s/lethe.lock", folder) &&
                lethe_os_path_from_root(disk->claimed, disk->lock) &&
                lethe_os_path(disk->acknowledgement, "%s/acknowledged", folder) &&
                lethe_os_path(disk->folds[0], "%s/fold.sst", folder) &&
                lethe_os_path(disk->folds[1], "%s/fold-upper.sst", folder) &&
                lethe_os_path(disk->begun, "%s/data.new", folder);
    if (!fits) return lethe_detail_of_file(detail, LETHE_EIO, "look into", folder);
    lethe_status status = lethe_os_temporary_make(&disk->temporary);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status, "cannot make a temporary folder: %s",
                                 strerror(errno));
    }
    lethe_disk_make_options(disk);
    return LETHE_OK;
}

/* Reads which commit was acknowledged last, and opens the file to write more. */
static lethe_status open_acknowledgement(lethe_disk *disk, lethe_detail *detail) {
    lethe_status status = lethe_os_note_read(disk->acknowledgement, &disk->acknowledged);
    if (status == LETHE_ECORRUPT) {
        return lethe_detail_fill(
            detail, status,
            "%s is damaged; it says how far the log must reach: remove it to open "
            "the store without that check",
            disk->acknowledgement);
    }
    if (status == LETHE_OK && disk->mode == LETHE_DISK_WRITE) {
        status = lethe_os_note_open(disk->acknowledgement, &disk->note);
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot open %s: %s",
                                                  disk->acknowledgement, strerror(errno));
}

lethe_status lethe_disk_expect(const lethe_disk *disk, uint64_t commit, lethe_detail *detail) {
    if (commit >= disk->acknowledged) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "the log ends at commit %llu, and %llu was acknowledged: its end is "
                             "damaged or missing; restore a backup",
                             (unsigned long long)commit, (unsigned long long)disk->acknowledged);
}

uint64_t lethe_disk_fingerprint(const char *folder) {
    char data[LETHE_OS_PATH_BYTES];
    if (!lethe_os_path(data, "%s/data", folder)) return 0;
    return lethe_os_folder_fingerprint(folder) + 3 * lethe_os_folder_fingerprint(data);
}

void lethe_disk_acknowledge(lethe_disk *disk, uint64_t commit) {
    lethe_os_note_write(&disk->note, commit);
}

/* RocksDB keeps a diary beside its data. Where it was built with assertions, as by Debian, it ends
 * the process when the diary can't be written, for example on a full disk. So the diary goes to
 * memory, and is removed as soon as it is open. What a process leaves that is killed before that is
 * removed by the next one. */
static void remove_diary(lethe_disk *disk) {
    lethe_os_temporary_remove(&disk->temporary);
}

/* I6. */
static lethe_status sync_name(const lethe_disk *disk, lethe_detail *detail) {
    lethe_status status = lethe_os_sync_folder(disk->folder);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot open %s: %s",
                                                  disk->folder, strerror(errno));
}

/* Has what is there inspected, without changing it. */
static lethe_status inspect_first(lethe_disk *disk, lethe_disk_inspector inspect,
                                  lethe_detail *detail) {
    if (inspect == NULL) return LETHE_OK;
    lethe_status status = open_mended(disk, LETHE_DISK_READ, detail);
    if (status == LETHE_OK) status = inspect(disk, detail);
    close_database(disk);
    return status;
}

static lethe_status open_prepared(lethe_disk *disk, bool create, lethe_disk_inspector inspect,
                                  lethe_detail *detail) {
    bool is_new = false;
    lethe_status status = lethe_disk_look(disk, create, &is_new, detail);
    if (status != LETHE_OK) return status;
    if (disk->mode == LETHE_DISK_WRITE) status = claim(disk, detail);
    if (status != LETHE_OK) return status;
    /* Whoever had the claim before may have made the store meanwhile. */
    if (lethe_os_exists(disk->data)) is_new = false;
    /* Before the database is opened: what was acknowledged by now must be in it. */
    status = open_acknowledgement(disk, detail);
    if (status != LETHE_OK) return status;
    if (disk->mode == LETHE_DISK_WRITE && !is_new) {
        status = inspect_first(disk, inspect, detail);
        if (status == LETHE_OK) status = sync_name(disk, detail);
        if (status != LETHE_OK) return status;
    }
    if (is_new) status = make_database(disk, detail);
    disk->is_made_here = is_new && status == LETHE_OK;
    if (status == LETHE_OK) status = open_mended(disk, disk->mode, detail);
    for (unsigned i = 0; i < LETHE_FOLD_TABLES; i++) {
        if (status == LETHE_OK && disk->mode == LETHE_DISK_WRITE) lethe_os_remove(disk->folds[i]);
    }
    remove_diary(disk);
    return status;
}

lethe_status lethe_disk_open(const char *folder, lethe_disk_mode mode, bool create,
                             lethe_disk_inspector inspect, lethe_disk **out, lethe_detail *detail) {
    *out = NULL;
    lethe_disk *disk = calloc(1, sizeof *disk);
    if (disk == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    disk->mode = mode;
    disk->references = 1;
    disk->claim.descriptor = disk->note.descriptor = -1;
    lethe_status status = prepare(disk, folder, detail);
    if (status == LETHE_OK) status = open_prepared(disk, create, inspect, detail);
    if (status != LETHE_OK) {
        lethe_disk_refuse(disk);
        lethe_disk_close(disk);
        return status;
    }
    *out = disk;
    return LETHE_OK;
}

lethe_disk *lethe_disk_share(lethe_disk *disk) {
    atomic_fetch_add(&disk->references, 1);
    return disk;
}

const char *lethe_disk_folder(const lethe_disk *disk) {
    return disk->folder;
}

void lethe_disk_close(lethe_disk *disk) {
    if (disk == NULL || atomic_fetch_sub(&disk->references, 1) > 1) return;
    close_database(disk);
    lethe_disk_free_options(disk);
    remove_diary(disk);
    lethe_os_note_close(&disk->note);
    if (disk->is_refused) lethe_disk_unmake(disk);
    lethe_os_claim_give(&disk->claim);
    free(disk);
}
