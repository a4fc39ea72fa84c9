/* simulation/store/database.c - a database as RocksDB is one, as far as its users can tell.
 *
 * IDEA    Writes go to a log, synced, and to memory. A flush makes a table of what is in memory,
 *         for all families together; a compaction makes one sorted series of tables of a family's.
 *         The manifest says which tables there are and which log goes on; it is replaced as a
 *         whole.
 * I1      A table is synced before a manifest names it; the log goes when a manifest no longer
 *         needs it.
 * I2      After a write that failed nothing is written any more until the database is opened again.
 * I3      The log is read up to the first record that is not whole (point in time).
 * WHY     What the engine relies on is modelled, what it may stumble over too: deletions of
 *         ranges that older tables outlive, tables deleted by range with both ends in it,
 *         records that a filter drops in a compaction, a log whose last record was not synced.
 *         How RocksDB does it inside is not. */
#include "simulation/store/database.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

struct database_habits database_habits = {.flush_after_bytes = 1 << 20, .split_one_in = 10};

/* --- the log --- */

static char *begin_log(struct database *database) {
    char *path = path_numbered(database->folder, database->log_number, "log");
    if (database->log_descriptor >= 0) (void)system_close(database->log_descriptor);
    database->log_descriptor = system_open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    char *message = database->log_descriptor < 0 ? file_message("while opening", path) : NULL;
    database->log_bytes = 0;
    database->log_sequence = database->sequence;
    machine_release(path);
    return message;
}

enum write_kind { PUT = 1, DELETE = 2, DELETE_RANGE = 3 };

/* A batch is a list of: kind * 16 + family, key, and the value or the range's end. */
static bool apply_batch(struct database *database, struct slice batch, uint64_t sequence) {
    struct cursor cursor = {.at = batch.data, .end = batch.data + batch.size};
    while (cursor.at < cursor.end && !cursor.is_broken) {
        uint64_t head = cursor_number(&cursor);
        unsigned family = (unsigned)head % 16;
        struct slice key = cursor_string(&cursor), other = cursor_string(&cursor);
        if (cursor.is_broken || family >= database->family_count) return false;
        if (head / 16 == DELETE_RANGE)
            run_delete_range(&database->memory[family], key, other, sequence);
        else
            run_put(&database->memory[family], key, other, sequence, head / 16 == DELETE);
        sequence++;
    }
    return !cursor.is_broken;
}

static uint64_t batch_count(struct slice batch) {
    struct cursor cursor = {.at = batch.data, .end = batch.data + batch.size};
    uint64_t count = 0;
    for (; cursor.at < cursor.end && !cursor.is_broken; count++) {
        (void)cursor_number(&cursor);
        (void)cursor_string(&cursor);
        (void)cursor_string(&cursor);
    }
    return count;
}

/* A record of the log: size, checksum, first sequence, batch. */
static char *append(struct database *database, const struct bytes *batch) {
    struct bytes record = {0};
    uint64_t sequence = database->sequence + 1;
    bytes_put_number(&record, batch->size);
    bytes_put_number(
        &record, lethe_checksum(database->log_number ^ sequence << 20, batch->data, batch->size));
    bytes_put_number(&record, sequence);
    bytes_put(&record, batch->data, batch->size);
    bool written =
        file_write_at(database->log_descriptor, database->log_bytes, record.data, record.size);
    char *message = written ? NULL : file_message("while appending to", "the log");
    if (message == NULL && system_fsync(database->log_descriptor) != 0)
        message = file_message("while syncing", "the log");
    database->log_bytes += record.size;
    bytes_drop(&record);
    return message;
}

static char *flush(struct database *database);

char *database_commit(struct database *database, const struct bytes *batch) {
    (void)system_mutex_lock(&database->changing);
    char *message = database->error != NULL ? message_of(database->error) : NULL;
    if (message == NULL) {
        message = append(database, batch);
        if (message != NULL) database->error = message_of(message);
    }
    if (message == NULL) {
        struct slice all = {.data = batch->data, .size = batch->size};
        (void)apply_batch(database, all, database->sequence + 1);
        database->sequence += batch_count(all);
        uint64_t bytes = 0;
        for (unsigned i = 0; i < database->family_count; i++)
            bytes += database->memory[i].bytes;
        /* In the background: what fails there is met by the next write. */
        if (bytes > database_habits.flush_after_bytes) database->error = flush(database);
    }
    (void)system_mutex_unlock(&database->changing);
    return message;
}

/* Takes in what the log has; *whole becomes whether something was behind its last good record. */
static char *replay_log(struct database *database) {
    char *path = path_numbered(database->folder, database->log_number, "log");
    struct bytes bytes = {0};
    char *message = file_read(path, &bytes);
    machine_release(path);
    if (message != NULL && errno == ENOENT) { /* none was begun yet */
        machine_release(message);
        return NULL;
    }
    struct cursor cursor = {.at = bytes.data, .end = bytes.data + bytes.size};
    while (message == NULL && cursor.at < cursor.end) {
        uint64_t size = cursor_number(&cursor), check = cursor_number(&cursor);
        uint64_t sequence = cursor_number(&cursor);
        if (cursor.is_broken || size > (uint64_t)(cursor.end - cursor.at)) break;
        struct slice batch = {.data = cursor.at, .size = (size_t)size};
        if (sequence != database->sequence + 1 ||
            lethe_checksum(database->log_number ^ sequence << 20, batch.data, batch.size) != check)
            break;
        if (!apply_batch(database, batch, sequence)) break;
        database->sequence += batch_count(batch);
        cursor.at += size;
    }
    bytes_drop(&bytes);
    return message;
}

/* --- flushes --- */

static char *flush(struct database *database) {
    char *message = NULL;
    struct table *made[DATABASE_FAMILIES];
    size_t count = 0;
    for (unsigned i = 0; i < database->family_count && message == NULL; i++) {
        if (database->memory[i].count == 0 && database->memory[i].range_count == 0) continue;
        /* Readers see what is in memory until the table takes its place: so a copy is written. */
        struct run copy = {0};
        run_merge(&copy, &database->memory[i]);
        message = table_write(database, i, 0, &copy, &made[count]);
        if (message == NULL) count++;
    }
    if (message != NULL || count == 0) {
        for (size_t i = 0; i < count; i++)
            table_drop(made[i]);
        return message;
    }
    uint64_t old_log = database->log_number;
    for (size_t i = 0; i < count; i++) {
        run_drop(&database->memory[made[i]->family]);
        table_add(database, made[i]);
    }
    database->log_number = database->next_number++;
    message = begin_log(database);
    if (message == NULL) message = manifest_write(database);
    if (message != NULL) return message;
    char *path = path_numbered(database->folder, old_log, "log");
    (void)system_unlink(path);
    machine_release(path);
    return compact_some(database);
}

char *database_flush(struct database *database) {
    (void)system_mutex_lock(&database->changing);
    char *message = database->error != NULL ? message_of(database->error) : flush(database);
    if (message != NULL && database->error == NULL) database->error = message_of(message);
    (void)system_mutex_unlock(&database->changing);
    return message;
}

/* Writes a table for each run; on an error none is left. */
static char *write_all(struct database *database, unsigned family, struct run *runs, size_t count,
                       struct table **out) {
    char *message = NULL;
    size_t written = 0;
    for (; written < count && message == NULL; written += message == NULL)
        message = table_write(database, family, 0, &runs[written], &out[written]);
    for (size_t i = 0; i < written && message != NULL; i++) {
        table_remove_file(database, out[i]->number);
        table_drop(out[i]);
    }
    return message;
}

char *database_ingest(struct database *database, unsigned family, struct run *runs, size_t count) {
    (void)system_mutex_lock(&database->changing);
    char *message = database->error != NULL ? message_of(database->error) : NULL;
    struct table *tables[DATABASE_INGESTED];
    if (message == NULL) message = write_all(database, family, runs, count, tables);
    if (message == NULL) {
        database->sequence++; /* newer than all that is there */
        uint64_t numbers[DATABASE_INGESTED];
        for (size_t i = 0; i < count; i++) {
            tables[i]->sequence = database->sequence;
            for (size_t j = 0; j < tables[i]->run.count; j++)
                tables[i]->run.records[j]->sequence = database->sequence;
            numbers[i] = tables[i]->number;
            table_add(database, tables[i]);
        }
        /* The numbers of writes in the log would no longer follow each other: so what is in
         * memory goes first. */
        message = flush(database);
        if (database->log_bytes == 0) database->log_sequence = database->sequence;
        if (message == NULL) message = manifest_write(database);
        if (message != NULL) {
            database->error = message_of(message);
            /* As RocksDB does, though the manifest that could not be synced may name them. */
            for (size_t i = 0; i < count; i++)
                table_remove_file(database, numbers[i]);
        }
    }
    (void)system_mutex_unlock(&database->changing);
    return message;
}

/* --- opening --- */

static char *create(struct database *database, const char *const *names, unsigned count) {
    if (system_mkdir(database->folder, 0777) != 0 && errno != EEXIST)
        return file_message("while making", database->folder);
    database->family_count = count;
    for (unsigned i = 0; i < count; i++)
        database->family_names[i] = message_of(names[i]);
    database->next_number = 2;
    database->log_number = 1;
    char *message = begin_log(database);
    return message == NULL ? manifest_write(database) : message;
}

/* Removes tables and logs that a crash left, which no manifest names. */
static void tidy(struct database *database) {
    struct system_folder *folder = system_opendir(database->folder);
    if (folder == NULL) return;
    const struct dirent *entry;
    while ((entry = system_readdir(folder)) != NULL) {
        char *suffix;
        uint64_t number = strtoull(entry->d_name, &suffix, 10);
        bool is_known = strcmp(suffix, ".log") == 0 && number == database->log_number;
        for (size_t i = 0; i < database->table_count && !is_known; i++)
            is_known = strcmp(suffix, ".sst") == 0 && database->tables[i]->number == number;
        if (is_known || number == 0) continue;
        char *path = path_join(database->folder, entry->d_name);
        (void)system_unlink(path);
        machine_release(path);
    }
    (void)system_closedir(folder);
}

/* RocksDB knows a table that was made apart by a number in it, and refuses another in its place. */
static char *expect_identity(const struct table *table, const char *path) {
    unsigned char own[8];
    int descriptor = system_open(path, O_RDONLY);
    if (descriptor < 0) return file_message("while opening", path);
    size_t have = 0;
    while (have < sizeof own) {
        ssize_t got = system_read(descriptor, own + have, sizeof own - have);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        have += (size_t)got;
    }
    (void)system_close(descriptor);
    struct cursor cursor = {.at = own, .end = own + have};
    uint64_t identity = cursor_number(&cursor);
    if (!cursor.is_broken && identity == table->identity) return NULL;
    return message_of_corruption("Mismatch in unique ID on table file", path);
}

static char *expect_table(struct database *database, struct table *table) {
    char *path = path_numbered(database->folder, table->number, "sst");
    struct stat status;
    char *message = NULL;
    if (system_stat(path, &status) != 0)
        message = file_message("while looking for", path);
    else if ((uint64_t)status.st_size != table->size)
        message = message_of_corruption("file size mismatch", path);
    else if (table->identity != 0)
        message = expect_identity(table, path);
    /* A reader's tables stay open, whoever removes their names. */
    if (message == NULL && database->is_read_only) {
        table->descriptor = system_open(path, O_RDONLY);
        if (table->descriptor < 0) message = file_message("while opening", path);
    }
    machine_release(path);
    return message;
}

static char *expect_tables(struct database *database) {
    for (size_t i = 0; i < database->table_count; i++) {
        char *message = expect_table(database, database->tables[i]);
        if (message != NULL) return message;
    }
    return NULL;
}

static char *recover(struct database *database) {
    char *message = manifest_read(database);
    if (message == NULL) message = expect_tables(database);
    if (message == NULL) message = replay_log(database);
    if (message != NULL || database->is_read_only) return message;
    /* What was renamed by a process that could not sync it must stay before what it replaces
     * goes. */
    message = file_sync_folder(database->folder);
    if (message != NULL) return message;
    tidy(database);
    bool any = false;
    for (unsigned i = 0; i < database->family_count; i++)
        any |= database->memory[i].count > 0 || database->memory[i].range_count > 0;
    if (any) return flush(database);
    message = begin_log(database);
    return message == NULL ? file_sync_folder(database->folder) : message;
}

static void forget(struct database *database) {
    table_clear_all(database);
    for (unsigned i = 0; i < DATABASE_FAMILIES; i++)
        run_drop(&database->memory[i]);
}

char *database_catch_up(struct database *database) {
    char *message = NULL;
    /* Files may go while they are read: then the manifest is another by now. */
    for (unsigned i = 0; i < 20; i++) {
        machine_release(message);
        forget(database);
        message = recover(database);
        for (unsigned j = 0; j < database->family_count && message == NULL; j++)
            message = database_load(database, j);
        if (message == NULL) return NULL;
    }
    return message;
}

char *database_open(const char *folder, bool creates, bool reads, bool follows,
                    const char *const *names, unsigned count, struct database **out) {
    struct database *database = machine_allocate(sizeof *database);
    database->folder = message_of(folder);
    database->log_descriptor = -1;
    database->is_read_only = reads;
    database->follows = follows;
    (void)system_mutex_init(&database->changing);
    char *message = creates   ? create(database, names, count)
                    : follows ? database_catch_up(database)
                              : recover(database);
    if (message != NULL) {
        database_close(database);
        return message;
    }
    *out = database;
    return NULL;
}

void database_close(struct database *database) {
    if (database->log_descriptor >= 0) (void)system_close(database->log_descriptor);
    forget(database);
    for (unsigned i = 0; i < DATABASE_FAMILIES; i++)
        machine_release(database->family_names[i]);
    machine_release(database->tables);
    machine_release(database->error);
    machine_release(database->folder);
    machine_release(database);
}
