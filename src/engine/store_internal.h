/* engine/store_internal.h - what the files about RocksDB share: store.c opens it, records.c reads and
 * writes records, fold_table.c takes in tables, store_mend.c puts one in place that failed, backup.c copies all. */
#ifndef LETHE_ENGINE_STORE_INTERNAL_H
#define LETHE_ENGINE_STORE_INTERNAL_H

#include <rocksdb/c.h>
#include <stdatomic.h>

#include "engine/store.h"
#include "os/folder.h"
#include "os/note.h"

struct lethe_store {
    lethe_store_mode mode;
    _Atomic unsigned references; /* of those who opened or share it, and of walks */
    char *folder, *data, *lock, *fold, *noted, *begun; /* paths */
    char temporary[256];                               /* RocksDB's diary, while it opens */
    char missing[24]; /* the number of a table that RocksDB did not find when it was opened last */
    char mended[24];  /* of the one that was put in its place */
    lethe_os_claim claim;
    lethe_os_note note;
    uint64_t acknowledged; /* as the note said on open */
    rocksdb_t *database;
    rocksdb_column_family_handle_t *families[LETHE_FAMILY_COUNT];
    rocksdb_options_t *options[LETHE_FAMILY_COUNT];
    rocksdb_readoptions_t *read, *scan;
    rocksdb_writeoptions_t *write;
    rocksdb_cache_t *cache;
    rocksdb_compactionfilter_t *filter;
    _Atomic uint64_t expire_before_ms;
};

/* Turns RocksDB's message, which it frees, into a status; NULL is LETHE_OK. */
lethe_status lethe_store_translate(char *message, const char *what, lethe_detail *detail);

/* store_mend.c: notes which table RocksDB's message, which may be NULL, says is missing. */
void lethe_store_note_missing(lethe_store *store, const char *message);
/* Whether one is missing, and there is what a fold left that failed. */
bool lethe_store_can_mend(const lethe_store *store);
/* Puts that in its place. If RocksDB does not take it for the missing one, it is to be taken back.
 * Errors: LETHE_ECORRUPT, LETHE_ENOSPACE, LETHE_EIO; then nothing changed, as far as is known. */
LETHE_MUST_CHECK lethe_status lethe_store_mend(lethe_store *store);
void lethe_store_take_back(lethe_store *store);
/* For readers, who change nothing: makes a temporary folder of links to the database's files, with that in its place. The
 * caller removes it. Errors: LETHE_ENOTFOUND, LETHE_ENOSPACE, LETHE_EIO, LETHE_ENOMEM; then there is none. */
LETHE_MUST_CHECK lethe_status lethe_store_show_mended(const lethe_store *store, char *out,
                                                      size_t size);

#endif
