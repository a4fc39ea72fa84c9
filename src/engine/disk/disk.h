/* engine/disk/disk.h - the store on disk: RocksDB. Nothing outside this folder knows of it.
 *
 * Families of records, which one atomic batch can change together:
 *
 *   STATE     one record: clock, totals, how far is folded; and the marks
 *   IDS       one segment of ids per commit, dropped when they are older than W
 *   CHANGES   one segment of new counter values per commit, dropped when they are folded
 *   COUNTERS  key -> value, as of the last fold; or a sketch in pieces
 *   INDEX     id -> time and digest, which earlier versions wrote in exact mode
 *   BUCKETS   period and key -> value, as of the last fold; only in a store that has meters
 *   CLAIMS    claims, their replies, and the queues by which they are forgotten; only in a store
 *             that had one
 *
 * docs/format/store.md describes them byte by byte. */
#ifndef LETHE_ENGINE_DISK_DISK_H
#define LETHE_ENGINE_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backup/set.h"
#include "lethe/store.h"

enum lethe_family {
    LETHE_FAMILY_STATE,
    LETHE_FAMILY_IDS,
    LETHE_FAMILY_CHANGES,
    LETHE_FAMILY_COUNTERS,
    LETHE_FAMILY_INDEX,
    /* Every store has those up to here. */
    LETHE_FAMILY_BUCKETS,
    LETHE_FAMILY_CLAIMS,
    LETHE_FAMILY_COUNT
};

typedef enum lethe_disk_mode {
    /* The one writer. */
    LETHE_DISK_WRITE,
    /* As it is now: nothing changes, and another process may be writing. */
    LETHE_DISK_READ
} lethe_disk_mode;

typedef struct lethe_disk lethe_disk;

/* --- disk.c: opening and closing --- */

/* Is asked about a store before opening it to write changes anything. Opening ends the log that a
 * crash has left, drops what is damaged at its end, and removes the tables that a damaged manifest
 * does not name. */
typedef lethe_status (*lethe_disk_inspector)(lethe_disk *disk, lethe_detail *detail);

/* Opens the store in folder. In WRITE mode the folder is made if `create` is set, and inspect may
 * refuse what is there. Errors: those of lethe_store_open; detail names the file. */
LETHE_MUST_CHECK lethe_status lethe_disk_open(const char *folder, lethe_disk_mode mode, bool create,
                                              lethe_disk_inspector inspect, lethe_disk **out,
                                              lethe_detail *detail);
/* Explains why there is no store in folder, or none with a state. Returns LETHE_ENOTFOUND. */
lethe_status lethe_disk_unmade(const char *folder, lethe_detail *detail);
/* The store cannot be opened after all: if this opening has made it, closing takes it back. */
void lethe_disk_refuse(lethe_disk *disk);
/* Takes NULL. Walks that have begun go on, and the last one to end frees the disk. */
void lethe_disk_close(lethe_disk *disk);

/* Holds the disk for one more user, who closes it too. */
lethe_disk *lethe_disk_share(lethe_disk *disk);

/* Whether there is a family that not every store has; and making it, durably. Versions of lethe
 * that do not know of it refuse the store from then on. Nobody may use the family meanwhile. */
bool lethe_disk_has(const lethe_disk *disk, enum lethe_family family);
LETHE_MUST_CHECK lethe_status lethe_disk_add(lethe_disk *disk, enum lethe_family family,
                                             lethe_detail *detail);

/* The folder that it was opened in. */
const char *lethe_disk_folder(const lethe_disk *disk);

/* A number that differs when somebody wrote to the store in the folder in between. */
uint64_t lethe_disk_fingerprint(const char *folder);

/* Writes down that this commit was acknowledged: a log that ends before it is damaged. */
void lethe_disk_acknowledge(lethe_disk *disk, uint64_t commit);
/* Whether the store reaches as far as was acknowledged. Errors: LETHE_ECORRUPT. */
LETHE_MUST_CHECK lethe_status lethe_disk_expect(const lethe_disk *disk, uint64_t commit,
                                                lethe_detail *detail);

/* --- records.c: reading and writing --- */

/* A record's value, borrowed until released. data is NULL if there is no such record. */
typedef struct lethe_record {
    const char *data;
    size_t size;
    void *owner;
} lethe_record;
LETHE_MUST_CHECK lethe_status lethe_disk_get(lethe_disk *disk, enum lethe_family family,
                                             lethe_bytes key, lethe_record *out,
                                             lethe_detail *detail);
void lethe_record_release(lethe_record *record);

/* Changes that are made together. */
typedef struct lethe_batch lethe_batch;
/* NULL when there is no memory. */
lethe_batch *lethe_batch_new(void);
void lethe_batch_free(lethe_batch *batch);
void lethe_batch_clear(lethe_batch *batch);
void lethe_batch_put(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                     lethe_bytes key, lethe_bytes value);
void lethe_batch_delete(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                        lethe_bytes key);
/* Deletes the keys from `from` up to, but without, `to`. */
void lethe_batch_delete_range(lethe_batch *batch, lethe_disk *disk, enum lethe_family family,
                              lethe_bytes from, lethe_bytes to);

/* To be called once by a thread that commits much. RocksDB then does not count its comparisons,
 * which costs more than they do. */
void lethe_disk_enter_thread(void);
/* On LETHE_OK the batch is on disk, synced. */
LETHE_MUST_CHECK lethe_status lethe_disk_commit(lethe_disk *disk, lethe_batch *batch,
                                                lethe_detail *detail);

/* Frees the space of tables that hold only keys from `first` to `last` at once: including `last`,
 * unlike the end of delete_range. A commit must have deleted all of them. */
void lethe_disk_reclaim(lethe_disk *disk, enum lethe_family family, lethe_bytes first,
                        lethe_bytes last);

/* Entries of INDEX whose time is below before_ms are dropped when RocksDB compacts them: the state
 * on disk must have no use for them. */
void lethe_disk_expire_index(lethe_disk *disk, uint64_t before_ms);

/* Walks through a family in the order of its keys. */
typedef struct lethe_walk lethe_walk;
LETHE_MUST_CHECK lethe_status lethe_walk_begin(lethe_disk *disk, enum lethe_family family,
                                               lethe_bytes from, lethe_walk **out);
/* Stores the next record, which is valid until the next call. Returns whether there is one. */
bool lethe_walk_next(lethe_walk *walk, lethe_bytes *key, lethe_bytes *value);
/* The next record is the first whose key is not below this one. */
void lethe_walk_seek(lethe_walk *walk, lethe_bytes key);
/* Ends the walk. LETHE_OK if it ended because there was no more. */
LETHE_MUST_CHECK lethe_status lethe_walk_end(lethe_walk *walk, lethe_detail *detail);

/* Roughly. */
uint64_t lethe_disk_records(lethe_disk *disk, enum lethe_family family);
uint64_t lethe_disk_bytes(lethe_disk *disk, enum lethe_family family);
/* What RocksDB holds in memory: memtables, caches, indexes. */
uint64_t lethe_disk_memory_bytes(lethe_disk *disk);

/* --- fold_table.c: tables of counters that are made separately, and then added as a whole --- */

typedef struct lethe_fold_table lethe_fold_table;
/* The table is for COUNTERS or BUCKETS. It has the values as of commit `cut`, and says so under the
 * empty key, which no counter can have. */
LETHE_MUST_CHECK lethe_status lethe_fold_table_begin(lethe_disk *disk, enum lethe_family family,
                                                     uint64_t cut, lethe_fold_table **out,
                                                     lethe_detail *detail);
/* A second table of the same fold, for keys that are above all of the first one's. */
LETHE_MUST_CHECK lethe_status lethe_fold_table_begin_upper(lethe_disk *disk,
                                                           enum lethe_family family,
                                                           lethe_fold_table **out,
                                                           lethe_detail *detail);
/* In ascending order of keys. The end reports the first error. Each table may be used by a thread
 * of its own. */
void lethe_fold_table_put(lethe_fold_table *table, lethe_bytes key, lethe_bytes value);
void lethe_fold_table_delete(lethe_fold_table *table, lethe_bytes key);
/* Nothing more is put: writes the rest of the file, which the end would do otherwise. */
void lethe_fold_table_finish(lethe_fold_table *table);
/* Adds the table to its family, durably; with the upper one, if there is one: both or none. Frees
 * them either way. */
LETHE_MUST_CHECK lethe_status lethe_fold_table_end(lethe_fold_table *table, lethe_fold_table *upper,
                                                   lethe_detail *detail);
/* Frees it without adding it. Takes NULL. */
void lethe_fold_table_drop(lethe_fold_table *table);

/* --- files.c: the files of a store that is in use --- */

/* Takes in what makes up a store, except its ledger. Errors: those of lethe_set_add. */
LETHE_MUST_CHECK lethe_status lethe_disk_gather(lethe_set *set);
/* Marks the tables of the set that the database, which was opened as the set shows it, does not
 * need. */
void lethe_disk_mark_unused(lethe_disk *disk, lethe_set *set);

#endif
