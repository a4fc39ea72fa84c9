/* engine/store_internal.h - what the files about RocksDB share: store.c opens it, records.c reads and
 * writes records, fold_table.c takes in tables, backup.c copies all. */
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

#endif
