/* engine/store.h - the store on disk: RocksDB, and nothing else in Lethe knows of it.
 *
 * Five families of records, which one atomic batch can change together:
 *
 *   STATE     one record: clock, totals, how far folded      and the marks
 *   IDS       a segment of ids a commit                       dropped when they age
 *   CHANGES   a segment of new counter values a commit        dropped when they are folded
 *   COUNTERS  key -> value, as of the last fold; or a sketch in pieces
 *   INDEX     id -> time and digest, with exact or check_payload
 *
 * docs/format/counter.md has them byte by byte. */
#ifndef LETHE_ENGINE_STORE_H
#define LETHE_ENGINE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lethe/counter.h"

enum lethe_family {
    LETHE_FAMILY_STATE,
    LETHE_FAMILY_IDS,
    LETHE_FAMILY_CHANGES,
    LETHE_FAMILY_COUNTERS,
    LETHE_FAMILY_INDEX,
    LETHE_FAMILY_COUNT
};

typedef enum lethe_store_mode {
    LETHE_STORE_WRITE, /* the one writer */
    LETHE_STORE_READ,  /* as it is now: nothing changes, and another process may write meanwhile */
    LETHE_STORE_EXAMINE /* nothing changes, not even a file that recovery would tidy, and nobody writes */
} lethe_store_mode;

typedef struct lethe_store lethe_store;

/* Asked about a store as it is before opening it to write changes anything: opening ends the log that a crash has
 * left, drops what is damaged at its end, and removes the tables that a damaged manifest does not name. */
typedef lethe_status (*lethe_store_inspector)(lethe_store *store, lethe_detail *detail);

/* Opens the store in folder. In WRITE mode the folder is made if `create` says so, and inspect may refuse what
 * is there. Errors: those of lethe_counter_open; detail tells which file. */
LETHE_MUST_CHECK lethe_status lethe_store_open(const char *folder, lethe_store_mode mode,
                                               bool create, lethe_store_inspector inspect,
                                               lethe_store **out, lethe_detail *detail);
/* Takes NULL. Walks that have begun go on, and the last one to end frees the store. */
void lethe_store_close(lethe_store *store);

/* Holds it for one more user, who closes it too. */
lethe_store *lethe_store_share(lethe_store *store);

/* The folder it was opened in. */
const char *lethe_store_folder(const lethe_store *store);

/* A number that differs when somebody wrote to the store in the folder meanwhile. */
uint64_t lethe_store_fingerprint(const char *folder);

/* A record's value, borrowed until released. data is NULL if there is no such record. */
typedef struct lethe_record {
    const char *data;
    size_t size;
    void *owner;
} lethe_record;
LETHE_MUST_CHECK lethe_status lethe_store_get(lethe_store *store, enum lethe_family family,
                                              lethe_bytes key, lethe_record *out,
                                              lethe_detail *detail);
void lethe_record_release(lethe_record *record);

/* Changes that are made together. */
typedef struct lethe_batch lethe_batch;
lethe_batch *lethe_batch_new(void); /* NULL when there is no memory */
void lethe_batch_free(lethe_batch *batch);
void lethe_batch_clear(lethe_batch *batch);
void lethe_batch_put(lethe_batch *batch, lethe_store *store, enum lethe_family family,
                     lethe_bytes key, lethe_bytes value);
void lethe_batch_delete(lethe_batch *batch, lethe_store *store, enum lethe_family family,
                        lethe_bytes key);
/* Keys from `from` up to but without `to`. */
void lethe_batch_delete_range(lethe_batch *batch, lethe_store *store, enum lethe_family family,
                              lethe_bytes from, lethe_bytes to);
/* To be called once by a thread that commits much: RocksDB then does not count its comparisons, which costs more
 * than they do. */
void lethe_store_enter_thread(void);
/* On LETHE_OK it is on disk, synced. */
LETHE_MUST_CHECK lethe_status lethe_store_commit(lethe_store *store, lethe_batch *batch,
                                                 lethe_detail *detail);

/* Notes that somebody is told of this commit: a log that does not reach it is damaged. */
void lethe_store_acknowledge(lethe_store *store, uint64_t commit);
/* Whether the store reaches as far as was acknowledged. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_store_expect(const lethe_store *store, uint64_t commit,
                                                 lethe_detail *detail);

/* Gives the space of tables that hold nothing but keys from `first` to `last` back at once: `last` too, unlike the end
 * of delete_range. All of these must have been deleted by a commit before. */
void lethe_store_reclaim(lethe_store *store, enum lethe_family family, lethe_bytes first,
                         lethe_bytes last);

/* Walks through a family in the order of keys. */
typedef struct lethe_walk lethe_walk;
LETHE_MUST_CHECK lethe_status lethe_walk_begin(lethe_store *store, enum lethe_family family,
                                               lethe_bytes from, lethe_walk **out);
/* Stores the next record, valid until the next call, and returns whether there is one. */
bool lethe_walk_next(lethe_walk *walk, lethe_bytes *key, lethe_bytes *value);
/* Ends it; tells whether it ended because there was no more. */
LETHE_MUST_CHECK lethe_status lethe_walk_end(lethe_walk *walk, lethe_detail *detail);

/* A table of counters made apart, and then taken into the store as a whole. */
typedef struct lethe_fold_table lethe_fold_table;
/* It holds the values as of commit `cut`, and says so under the empty key, which no counter can have. */
LETHE_MUST_CHECK lethe_status lethe_fold_table_begin(lethe_store *store, uint64_t cut,
                                                     lethe_fold_table **out, lethe_detail *detail);
/* In ascending order of keys. Errors stick till the end. */
void lethe_fold_table_put(lethe_fold_table *table, lethe_bytes key, lethe_bytes value);
void lethe_fold_table_delete(lethe_fold_table *table, lethe_bytes key);
/* Takes it into LETHE_FAMILY_COUNTERS, durably. Frees the table either way. */
LETHE_MUST_CHECK lethe_status lethe_fold_table_end(lethe_fold_table *table, lethe_detail *detail);

/* Frees it without taking it in. */
void lethe_fold_table_drop(lethe_fold_table *table);

/* Entries of INDEX whose time is below this are dropped when RocksDB compacts them: they must be of no use to the
 * state that is on disk. */
void lethe_store_expire_index(lethe_store *store, uint64_t before_ms);

/* Roughly. */
uint64_t lethe_store_records(lethe_store *store, enum lethe_family family);
uint64_t lethe_store_bytes(lethe_store *store, enum lethe_family family);
/* What RocksDB holds in memory: memtables, caches, indexes. */
uint64_t lethe_store_memory_bytes(lethe_store *store);

/* backup.c: adds a copy of the store to a folder of backups, which is there, under a number of its own. */
LETHE_MUST_CHECK lethe_status lethe_store_backup(lethe_store *store, const char *backups,
                                                 uint32_t *number, lethe_detail *detail);
/* The number of the latest copy; 0 if there is none that is known of. */
uint32_t lethe_store_backup_latest(const char *backups);
/* Makes FOLDER/data of links to the files of that copy, so that it can be opened where it lies. */
LETHE_MUST_CHECK lethe_status lethe_store_backup_show(const char *backups, uint32_t number,
                                                      const char *folder, lethe_detail *detail);
/* Takes it from the list: what only it has is removed by the next one. */
void lethe_store_backup_forget(const char *backups, uint32_t number);
/* Copies the files of the latest to FOLDER/data, and compares their checksums. */
LETHE_MUST_CHECK lethe_status lethe_store_restore(const char *backups, const char *folder,
                                                  lethe_detail *detail);

#endif
