/* simulation/store/rocksdb.c - the functions of rocksdb/c.h that the engine calls, on the simulated
 * database.
 *
 * WHY     At this height the engine's own src/engine/disk runs in the simulator, and what
 *         it assumes about RocksDB is what is simulated.
 * LIMIT   Options that change speed or memory do nothing. */
#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lethe/hash.h"
#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"
#include "simulation/store/verdict.h"

struct rocksdb_compactionfilter_t {
    void *state;
    unsigned char (*filter)(void *, int, const char *, size_t, const char *, size_t, char **,
                            size_t *, unsigned char *);
};

struct rocksdb_options_t {
    bool creates;
    rocksdb_compactionfilter_t *filter;
};

struct rocksdb_column_family_handle_t {
    unsigned number;
};

struct rocksdb_t {
    struct database *database;
};

struct rocksdb_writebatch_t {
    struct bytes bytes;
};

struct rocksdb_pinnableslice_t {
    struct slice value;
};

struct rocksdb_iterator_t {
    struct run run; /* a copy of all that is there */
    size_t at;
    char *message;
};

struct rocksdb_sstfilewriter_t {
    struct run run;
    char *path;
};

struct rocksdb_livefiles_t {
    char (*names)[32];
    size_t count;
};

/* Things that only have to be made and destroyed. */
static void *new_thing(size_t size) {
    return machine_allocate(size);
}

/* Folders are not moved here: tests/faults/test_moved.py. */
void rocksdb_disable_file_deletions(rocksdb_t *database, char **message) {
    (void)database;
    (void)message;
}

void rocksdb_cancel_all_background_work(rocksdb_t *database, unsigned char waits) {
    (void)database;
    (void)waits;
}

void rocksdb_free(void *memory) {
    machine_release(memory);
}

rocksdb_options_t *rocksdb_options_create(void) {
    return new_thing(sizeof(rocksdb_options_t));
}
void rocksdb_options_destroy(rocksdb_options_t *options) {
    machine_release(options);
}
void rocksdb_get_options_from_string(const rocksdb_options_t *base, const char *text,
                                     rocksdb_options_t *options, char **message) {
    (void)text;
    (void)message;
    *options = *base;
}
void rocksdb_options_set_create_if_missing(rocksdb_options_t *options, unsigned char value) {
    options->creates = value != 0;
}
void rocksdb_options_set_compaction_filter(rocksdb_options_t *options,
                                           rocksdb_compactionfilter_t *filter) {
    options->filter = filter;
}

rocksdb_compactionfilter_t *rocksdb_compactionfilter_create(
    void *state, void (*destructor)(void *),
    unsigned char (*filter)(void *, int level, const char *key, size_t key_length,
                            const char *existing_value, size_t value_length, char **new_value,
                            size_t *new_value_length, unsigned char *value_changed),
    const char *(*name)(void *)) {
    (void)destructor;
    (void)name;
    rocksdb_compactionfilter_t *made = new_thing(sizeof *made);
    *made = (rocksdb_compactionfilter_t){.state = state, .filter = filter};
    return made;
}
void rocksdb_compactionfilter_destroy(rocksdb_compactionfilter_t *filter) {
    machine_release(filter);
}

/* --- opening --- */

/* Families have the order in which they were made. */
static unsigned family_of(const struct database *database, const char *name) {
    unsigned i = 0;
    while (i + 1 < database->family_count && strcmp(database->family_names[i], name) != 0)
        i++;
    return i;
}

static rocksdb_t *open_in(const char *folder, bool creates, bool reads, bool follows, int count,
                          const char *const *names, const rocksdb_options_t *const *options,
                          rocksdb_column_family_handle_t **handles, char **message) {
    struct database *database = NULL;
    *message = database_open(folder, creates, reads, follows, names, (unsigned)count, &database);
    if (*message != NULL) return NULL;
    for (int i = 0; i < count; i++) {
        handles[i] = new_thing(sizeof *handles[i]);
        handles[i]->number = family_of(database, names[i]);
        if (options[i]->filter == NULL) continue;
        database->filter = options[i]->filter->filter;
        database->filter_state = options[i]->filter->state;
        database->filter_family = handles[i]->number;
    }
    rocksdb_t *opened = new_thing(sizeof *opened);
    opened->database = database;
    return opened;
}

rocksdb_t *rocksdb_open_column_families(const rocksdb_options_t *options, const char *name,
                                        int count, const char *const *names,
                                        const rocksdb_options_t *const *family_options,
                                        rocksdb_column_family_handle_t **handles, char **message) {
    return open_in(name, options->creates, false, false, count, names, family_options, handles,
                   message);
}

rocksdb_t *rocksdb_open_as_secondary_column_families(const rocksdb_options_t *options,
                                                     const char *name, const char *secondary,
                                                     int count, const char *const *names,
                                                     const rocksdb_options_t *const *family_options,
                                                     rocksdb_column_family_handle_t **handles,
                                                     char **message) {
    (void)options;
    (void)secondary;
    return open_in(name, false, true, true, count, names, family_options, handles, message);
}

rocksdb_t *rocksdb_open_for_read_only_column_families(
    const rocksdb_options_t *options, const char *name, int count, const char *const *names,
    const rocksdb_options_t *const *family_options, rocksdb_column_family_handle_t **handles,
    unsigned char error_if_log, char **message) {
    (void)options;
    (void)error_if_log;
    return open_in(name, false, true, false, count, names, family_options, handles, message);
}

rocksdb_column_family_handle_t *rocksdb_create_column_family(rocksdb_t *database,
                                                             const rocksdb_options_t *options,
                                                             const char *name, char **message) {
    (void)options;
    *message = database_add_family(database->database, name);
    if (*message != NULL) return NULL;
    rocksdb_column_family_handle_t *handle = new_thing(sizeof *handle);
    handle->number = database->database->family_count - 1;
    return handle;
}

void rocksdb_close(rocksdb_t *database) {
    database_close(database->database);
    machine_release(database);
}

void rocksdb_column_family_handle_destroy(rocksdb_column_family_handle_t *handle) {
    machine_release(handle);
}

char **rocksdb_list_column_families(const rocksdb_options_t *options, const char *name,
                                    size_t *count, char **message) {
    (void)options;
    char **names = NULL;
    *message = database_families(name, &names, count);
    return names;
}

void rocksdb_list_column_families_destroy(char **names, size_t count) {
    for (size_t i = 0; i < count; i++)
        machine_release(names[i]);
    machine_release(names);
}

void rocksdb_try_catch_up_with_primary(rocksdb_t *database, char **message) {
    *message = database_catch_up(database->database);
}

/* --- writing --- */

rocksdb_writebatch_t *rocksdb_writebatch_create(void) {
    return new_thing(sizeof(rocksdb_writebatch_t));
}
void rocksdb_writebatch_destroy(rocksdb_writebatch_t *batch) {
    bytes_drop(&batch->bytes);
    machine_release(batch);
}
void rocksdb_writebatch_clear(rocksdb_writebatch_t *batch) {
    batch->bytes.size = 0;
}

static void add_write(rocksdb_writebatch_t *batch, unsigned kind, unsigned family, const char *key,
                      size_t key_size, const char *value, size_t value_size) {
    bytes_put_number(&batch->bytes, kind * 16 + family);
    bytes_put_string(&batch->bytes, key, key_size);
    bytes_put_string(&batch->bytes, value, value_size);
}

void rocksdb_writebatch_put_cf(rocksdb_writebatch_t *batch, rocksdb_column_family_handle_t *family,
                               const char *key, size_t key_size, const char *value,
                               size_t value_size) {
    add_write(batch, 1, family->number, key, key_size, value, value_size);
}
void rocksdb_writebatch_delete_cf(rocksdb_writebatch_t *batch,
                                  rocksdb_column_family_handle_t *family, const char *key,
                                  size_t key_size) {
    add_write(batch, 2, family->number, key, key_size, NULL, 0);
}
void rocksdb_writebatch_delete_range_cf(rocksdb_writebatch_t *batch,
                                        rocksdb_column_family_handle_t *family, const char *from,
                                        size_t from_size, const char *to, size_t to_size) {
    add_write(batch, 3, family->number, from, from_size, to, to_size);
}

void rocksdb_write(rocksdb_t *database, const rocksdb_writeoptions_t *options,
                   rocksdb_writebatch_t *batch, char **message) {
    (void)options;
    *message = database_commit(database->database, &batch->bytes);
}

void rocksdb_delete_file_in_range_cf(rocksdb_t *database, rocksdb_column_family_handle_t *family,
                                     const char *from, size_t from_size, const char *to,
                                     size_t to_size, char **message) {
    (void)message;
    database_delete_files(database->database, family->number,
                          (struct slice){(const unsigned char *)from, from_size},
                          (struct slice){(const unsigned char *)to, to_size});
}

/* --- reading --- */

rocksdb_pinnableslice_t *rocksdb_get_pinned_cf(rocksdb_t *database,
                                               const rocksdb_readoptions_t *options,
                                               rocksdb_column_family_handle_t *family,
                                               const char *key, size_t key_size, char **message) {
    (void)options;
    *message = database_load(database->database, family->number);
    if (*message != NULL) return NULL;
    const struct record *record = database_find(
        database->database, family->number, (struct slice){(const unsigned char *)key, key_size});
    if (record == NULL) return NULL;
    rocksdb_pinnableslice_t *found = new_thing(sizeof *found);
    found->value = slice_copy(record->value);
    return found;
}

const char *rocksdb_pinnableslice_value(const rocksdb_pinnableslice_t *slice, size_t *size) {
    *size = slice->value.size;
    return (const char *)slice->value.data;
}

void rocksdb_pinnableslice_destroy(rocksdb_pinnableslice_t *slice) {
    machine_release((void *)(uintptr_t)slice->value.data);
    machine_release(slice);
}

rocksdb_iterator_t *rocksdb_create_iterator_cf(rocksdb_t *handle,
                                               const rocksdb_readoptions_t *options,
                                               rocksdb_column_family_handle_t *family) {
    (void)options;
    rocksdb_iterator_t *iterator = new_thing(sizeof *iterator);
    iterator->message = database_load(handle->database, family->number);
    if (iterator->message != NULL) return iterator;
    database_gather(handle->database, family->number, &iterator->run);
    return iterator;
}

void rocksdb_iter_destroy(rocksdb_iterator_t *iterator) {
    run_drop(&iterator->run);
    machine_release(iterator->message);
    machine_release(iterator);
}
void rocksdb_iter_seek_to_first(rocksdb_iterator_t *iterator) {
    iterator->at = 0;
}
void rocksdb_iter_seek(rocksdb_iterator_t *iterator, const char *key, size_t size) {
    iterator->at = run_seek(&iterator->run, (struct slice){(const unsigned char *)key, size});
}
unsigned char rocksdb_iter_valid(const rocksdb_iterator_t *iterator) {
    return iterator->at < iterator->run.count;
}
void rocksdb_iter_next(rocksdb_iterator_t *iterator) {
    iterator->at++;
}
const char *rocksdb_iter_key(const rocksdb_iterator_t *iterator, size_t *size) {
    struct slice key = iterator->run.records[iterator->at]->key;
    *size = key.size;
    return (const char *)key.data;
}
const char *rocksdb_iter_value(const rocksdb_iterator_t *iterator, size_t *size) {
    struct slice value = iterator->run.records[iterator->at]->value;
    *size = value.size;
    return (const char *)value.data;
}
void rocksdb_iter_get_error(const rocksdb_iterator_t *iterator, char **message) {
    *message = iterator->message != NULL ? message_of(iterator->message) : NULL;
}

/* Numbers of a family: records are counted with those that deletions have hidden, as in RocksDB. */
int rocksdb_property_int_cf(rocksdb_t *handle, rocksdb_column_family_handle_t *family,
                            const char *name, uint64_t *out) {
    const struct database *database = handle->database;
    const struct run *memory = &database->memory[family->number];
    uint64_t records = memory->count, table_bytes = 0;
    for (size_t i = 0; i < database->table_count; i++) {
        const struct table *table = database->tables[i];
        if (table->family != family->number) continue;
        records += table->is_loaded ? table->run.count : table->size / 50 + 1;
        table_bytes += table->size;
    }
    *out = 0;
    if (strcmp(name, "rocksdb.estimate-num-keys") == 0) *out = records;
    if (strcmp(name, "rocksdb.total-sst-files-size") == 0) *out = table_bytes;
    if (strcmp(name, "rocksdb.cur-size-all-mem-tables") == 0) *out = memory->bytes;
    return 0;
}

/* --- tables made apart --- */

rocksdb_sstfilewriter_t *rocksdb_sstfilewriter_create(const rocksdb_envoptions_t *environment,
                                                      const rocksdb_options_t *options) {
    (void)environment;
    (void)options;
    return new_thing(sizeof(rocksdb_sstfilewriter_t));
}
void rocksdb_sstfilewriter_destroy(rocksdb_sstfilewriter_t *writer) {
    run_drop(&writer->run);
    machine_release(writer->path);
    machine_release(writer);
}

void rocksdb_sstfilewriter_open(rocksdb_sstfilewriter_t *writer, const char *name, char **message) {
    writer->path = message_of(name);
    writer->run.identity = lethe_hash_bytes(machine_now_us(), name, strlen(name)).low | 1;
    *message = file_write(name, &(struct bytes){0});
}

static void add_record(rocksdb_sstfilewriter_t *writer, const char *key, size_t key_size,
                       const char *value, size_t value_size, bool is_deleted, char **message) {
    struct slice own = {(const unsigned char *)key, key_size};
    if (writer->run.count > 0 &&
        slice_compare(writer->run.records[writer->run.count - 1]->key, own) >= 0) {
        *message = message_of("Invalid argument: Keys must be added in strict ascending order.");
        return;
    }
    run_put(&writer->run, own, (struct slice){(const unsigned char *)value, value_size}, 0,
            is_deleted);
}

void rocksdb_sstfilewriter_put(rocksdb_sstfilewriter_t *writer, const char *key, size_t key_size,
                               const char *value, size_t value_size, char **message) {
    add_record(writer, key, key_size, value, value_size, false, message);
}
void rocksdb_sstfilewriter_delete(rocksdb_sstfilewriter_t *writer, const char *key, size_t key_size,
                                  char **message) {
    add_record(writer, key, key_size, NULL, 0, true, message);
}
void rocksdb_sstfilewriter_finish(rocksdb_sstfilewriter_t *writer, char **message) {
    struct bytes bytes = {0};
    run_encode(&writer->run, &bytes);
    *message = file_write(writer->path, &bytes);
    bytes_drop(&bytes);
}

static char *read_table(const char *path, struct run *out) {
    struct bytes bytes = {0};
    char *message = file_read(path, &bytes);
    struct cursor cursor = {.at = bytes.data, .end = bytes.data + bytes.size};
    if (message == NULL && !run_decode(out, &cursor))
        message = message_of("Corruption: a table to be taken in");
    bytes_drop(&bytes);
    return message;
}

void rocksdb_ingest_external_file_cf(rocksdb_t *database, rocksdb_column_family_handle_t *family,
                                     const char *const *files, const size_t count,
                                     const rocksdb_ingestexternalfileoptions_t *options,
                                     char **message) {
    (void)options;
    struct run runs[DATABASE_INGESTED] = {0};
    if (count > DATABASE_INGESTED) verdict_fail("simulator", "too many tables at once");
    *message = NULL;
    for (size_t i = 0; i < count && *message == NULL; i++)
        *message = read_table(files[i], &runs[i]);
    if (*message == NULL)
        *message = database_ingest(database->database, family->number, runs, count);
    for (size_t i = 0; i < count; i++)
        run_drop(&runs[i]);
}

/* --- which tables there are --- */

const rocksdb_livefiles_t *rocksdb_livefiles(rocksdb_t *database) {
    rocksdb_livefiles_t *files = new_thing(sizeof *files);
    struct database *inner = database->database;
    (void)system_mutex_lock(&inner->changing);
    files->count = inner->table_count;
    files->names = machine_allocate((files->count + 1) * sizeof *files->names);
    for (size_t i = 0; i < files->count; i++)
        (void)snprintf(files->names[i], sizeof *files->names, "/%06llu.sst",
                       (unsigned long long)inner->tables[i]->number);
    (void)system_mutex_unlock(&inner->changing);
    return files;
}
int rocksdb_livefiles_count(const rocksdb_livefiles_t *files) {
    return (int)files->count;
}
const char *rocksdb_livefiles_name(const rocksdb_livefiles_t *files, int index) {
    return files->names[index];
}
void rocksdb_livefiles_destroy(const rocksdb_livefiles_t *files) {
    machine_release(files->names);
    machine_release((void *)(uintptr_t)files);
}
