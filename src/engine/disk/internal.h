/* engine/disk/internal.h - what the files about RocksDB share.
 *
 *   disk.c         opening and closing            options.c   how RocksDB is to work
 *   records.c      reading and writing records    mend.c      tables that are missing
 *   fold_table.c   tables that are added whole    files.c     which files there are
 *   place.c        the folder of a store */
#ifndef LETHE_ENGINE_DISK_INTERNAL_H
#define LETHE_ENGINE_DISK_INTERNAL_H

#include <rocksdb/c.h>
#include <stdatomic.h>

#include "engine/disk/disk.h"
#include "os/claim.h"
#include "os/note.h"
#include "os/path.h"
#include "os/temporary.h"

/* The tables that a fold makes at most. */
enum { LETHE_FOLD_TABLES = 2 };

/* What RocksDB knows a table by, as in its file's name; empty: none. */
typedef struct lethe_table_number {
    char text[24];
} lethe_table_number;

struct lethe_disk {
    lethe_disk_mode mode;
    /* Of those who opened or share it, and of walks. */
    _Atomic unsigned references;

    /* Paths: see disk.c, LAYOUT. */
    char folder[LETHE_OS_PATH_BYTES], data[LETHE_OS_PATH_BYTES], lock[LETHE_OS_PATH_BYTES];
    char folds[LETHE_FOLD_TABLES][LETHE_OS_PATH_BYTES];
    char acknowledgement[LETHE_OS_PATH_BYTES], begun[LETHE_OS_PATH_BYTES];
    /* The lock, from the root on: the process may change its folder. */
    char claimed[LETHE_OS_PATH_BYTES];
    /* A folder for RocksDB's diary, while it opens. */
    lethe_os_temporary temporary;
    /* The number of the table that RocksDB did not find when it was last opened, and of those in
     * whose places the tables of a fold were put. */
    lethe_table_number missing, mended[LETHE_FOLD_TABLES];

    lethe_os_claim claim;
    /* Before it was opened, the folder was empty, or not there; and not there. */
    bool found_empty, found_missing;
    /* This opening made the database; and was refused after that. */
    bool is_made_here, is_refused;
    /* Another folder is at our path, or none: see lethe_disk_check_place. */
    _Atomic bool is_displaced;
    /* The last acknowledged commit: where it is written, and what it was on open. */
    lethe_os_note note;
    uint64_t acknowledged;

    rocksdb_t *database;
    /* NULL: there is no such family. */
    rocksdb_column_family_handle_t *families[LETHE_FAMILY_COUNT];
    rocksdb_options_t *options[LETHE_FAMILY_COUNT];
    rocksdb_readoptions_t *read, *scan;
    rocksdb_writeoptions_t *write;
    rocksdb_cache_t *cache;
    rocksdb_compactionfilter_t *filter;
    _Atomic uint64_t expire_before_ms;
};

/* Turns RocksDB's message, which it frees, into a status; NULL is LETHE_OK. */
lethe_status lethe_disk_translate(char *message, const char *what, lethe_detail *detail);

/* For whatever writes by a path: whether the store is still where it was opened. A folder that was
 * moved takes its lock along, so another store may be at the path now, and RocksDB would write
 * into that one. Once it is not, this fails for good. Errors: LETHE_EIO. */
LETHE_MUST_CHECK lethe_status lethe_disk_check_place(lethe_disk *disk, lethe_detail *detail);

/* place.c: looks whether the folder is a store, or can become one, and explains why not. If it can,
 * and `create` is set, it is made, and *is_new says that it has no database. */
LETHE_MUST_CHECK lethe_status lethe_disk_look(lethe_disk *disk, bool create, bool *is_new,
                                              lethe_detail *detail);
/* With the lock, and the database closed: removes what this opening has made. */
void lethe_disk_unmake(lethe_disk *disk);

/* options.c: the names of the families, in RocksDB. */
extern const char *const lethe_disk_family_names[LETHE_FAMILY_COUNT];
/* Makes all of RocksDB's options. */
void lethe_disk_make_options(lethe_disk *disk);
void lethe_disk_free_options(lethe_disk *disk);

/* mend.c: remembers which table is missing according to RocksDB's message, which may be NULL. */
void lethe_disk_find_missing(lethe_disk *disk, const char *message);
/* Whether a table is missing, and a failed fold has left one. */
bool lethe_disk_can_mend(const lethe_disk *disk);
/* Puts one of the tables that a fold left in the place of a missing one: in the database's folder,
 * or, as a link, in one that lethe_disk_show made. If RocksDB does not accept it, take_back undoes
 * this. Errors: LETHE_ENOTFOUND (it was not left, or is in a place already), LETHE_ECORRUPT,
 * LETHE_ENOSPACE, LETHE_EIO; nothing changed then, as far as is known. */
LETHE_MUST_CHECK lethe_status lethe_disk_mend(lethe_disk *disk, const char *data, unsigned which,
                                              const lethe_table_number *missing);
void lethe_disk_take_back(lethe_disk *disk, const char *data, unsigned which);
/* For readers, which change nothing: makes a temporary folder of links to the database's files. The
 * caller removes the folder. Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM;
 * there is no folder then. */
LETHE_MUST_CHECK lethe_status lethe_disk_show(const lethe_disk *disk, lethe_os_temporary *out);

#endif
