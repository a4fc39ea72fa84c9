/* simulation/store/database.h - the inside of the simulated RocksDB, shared by its files.
 *
 *   rocksdb.c    the functions of rocksdb/c.h that the engine calls
 *   rocksdb_options.c    those of them that do nothing
 *   database.c   opening, the log, flushes      manifest.c  which tables there are
 *   tables.c     tables and compactions         records.c   records in order
 *   files.c      whole files */
#ifndef LETHE_SIMULATION_STORE_DATABASE_H
#define LETHE_SIMULATION_STORE_DATABASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DATABASE_FAMILIES = 8, DATABASE_INGESTED = 4 };

struct database_habits {
    uint64_t flush_after_bytes; /* of records in memory */
    uint32_t compact_one_in;    /* flushes, for each family; 0: never */
    uint32_t split_one_in;      /* records of a compaction's output: there the next table begins */
};
extern struct database_habits database_habits;

/* --- records.c --- */

struct bytes {
    unsigned char *data;
    size_t size, room;
};
void bytes_put(struct bytes *bytes, const void *data, size_t size);
void bytes_put_number(struct bytes *bytes, uint64_t number);
void bytes_put_string(struct bytes *bytes, const void *data, size_t size);
void bytes_drop(struct bytes *bytes);

/* Reads what was put; broken when there is less than that. */
struct cursor {
    const unsigned char *at, *end;
    bool is_broken;
};
uint64_t cursor_number(struct cursor *cursor);
struct slice {
    const unsigned char *data;
    size_t size;
};
struct slice cursor_string(struct cursor *cursor);

int slice_compare(struct slice a, struct slice b);
struct slice slice_copy(struct slice from); /* the process's memory */

struct record {
    struct slice key, value; /* behind the record */
    uint64_t sequence;
    bool is_deleted;
};
struct range {
    struct slice from, to; /* `to` is not in it */
    uint64_t sequence;
};

/* Records by their keys, the newest of each, and ranges that were deleted. */
struct run {
    struct record **records;
    size_t count, room;
    struct range *ranges;
    size_t range_count, range_room;
    uint64_t bytes;
    uint64_t identity; /* of a table that was made apart, no other has it; 0: made here */
};
void run_put(struct run *run, struct slice key, struct slice value, uint64_t sequence,
             bool is_deleted);
void run_delete_range(struct run *run, struct slice from, struct slice to, uint64_t sequence);
const struct record *run_find(const struct run *run, struct slice key);
/* The first record whose key is not below this. */
size_t run_seek(const struct run *run, struct slice key);
/* The latest deletion of a range that the key is in; 0: none. */
uint64_t run_deleted(const struct run *run, struct slice key);
void run_drop(struct run *run);
/* Puts the records of a run into another, where they are newer, and its ranges. */
void run_merge(struct run *out, const struct run *run);
void run_encode(const struct run *run, struct bytes *out);
bool run_decode(struct run *run, struct cursor *cursor);

/* --- database.c --- */

struct table {
    uint64_t number, size, checksum;
    uint64_t identity; /* as of its run */
    uint64_t sequence; /* of all its records, if it was taken in */
    int descriptor;    /* a reader's; -1: none */
    unsigned family, level;
    struct slice smallest, largest;
    bool is_loaded;
    struct run run;
};

struct database {
    char *folder;
    bool is_read_only, follows;
    unsigned family_count;
    char *family_names[DATABASE_FAMILIES];
    struct run memory[DATABASE_FAMILIES];
    struct table **tables; /* the newest last */
    size_t table_count, table_room;
    uint64_t next_number, log_number;
    uint64_t sequence, log_sequence; /* of the last write; of the last one before the log */
    int log_descriptor;
    uint64_t log_bytes;
    char *error; /* of a write in the past: no more are made */
    pthread_mutex_t changing;
    unsigned char (*filter)(void *, int, const char *, size_t, const char *, size_t, char **,
                            size_t *, unsigned char *);
    void *filter_state;
    unsigned filter_family;
};

/* All return NULL, or a message in the process's memory, as RocksDB has it. */
char *database_open(const char *folder, bool creates, bool reads, bool follows,
                    const char *const *names, unsigned count, struct database **out);
char *database_catch_up(struct database *database);
void database_close(struct database *database);
char *database_commit(struct database *database, const struct bytes *batch);
char *database_flush(struct database *database);
char *database_load(struct database *database, unsigned family);
/* Makes a table of each run, as the newest, and takes them in: all or none. */
char *database_ingest(struct database *database, unsigned family, struct run *runs, size_t count);
void database_delete_files(struct database *database, unsigned family, struct slice from,
                           struct slice to);
/* One more family, which is durable on return. */
char *database_add_family(struct database *database, const char *name);
char *database_families(const char *folder, char ***names, size_t *count);
/* What is seen of a key; NULL: it is not there. Everything is loaded. */
const struct record *database_find(const struct database *database, unsigned family,
                                   struct slice key);

/* --- manifest.c --- */
char *manifest_write(struct database *database);
char *manifest_read(struct database *database);
void table_add(struct database *database, struct table *table);
void table_drop(struct table *table);
void table_clear_all(struct database *database);

/* --- tables.c --- */
/* Writes a run as a table, which takes it over. */
char *table_write(struct database *database, unsigned family, unsigned level, struct run *run,
                  struct table **out);
char *table_load(struct database *database, struct table *table);
void table_remove_file(struct database *database, uint64_t number);
char *compact_some(struct database *database);
/* All that is there of a family, as it is now. Everything is loaded. */
void database_gather(const struct database *database, unsigned family, struct run *out);

/* --- files.c --- */
char *file_read(const char *path, struct bytes *out);
char *file_write(const char *path, const struct bytes *bytes);
char *file_sync_folder(const char *path);
char *file_message(const char *what, const char *path);
char *path_join(const char *folder, const char *name);
char *path_numbered(const char *folder, uint64_t number, const char *suffix);
char *message_of(const char *text);
char *message_of_corruption(const char *what, const char *path);
char *file_read_opened(int descriptor, const char *path, struct bytes *out);
bool file_write_at(int descriptor, uint64_t offset, const unsigned char *data, size_t size);

#endif
