/* simulation/store/tables.c - tables: written, read when somebody asks for them, compacted, deleted
 * by range.
 *
 * WHY     What a compaction makes is split where chance wills, so that a table can end with any
 *         key. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

static void note_bounds(struct table *table) {
    struct slice smallest = {0}, largest = {0};
    bool any = false;
    const struct run *run = &table->run;
    if (run->count > 0) {
        smallest = run->records[0]->key;
        largest = run->records[run->count - 1]->key;
        any = true;
    }
    for (size_t i = 0; i < run->range_count; i++) {
        if (!any || slice_compare(run->ranges[i].from, smallest) < 0)
            smallest = run->ranges[i].from;
        if (!any || slice_compare(run->ranges[i].to, largest) > 0) largest = run->ranges[i].to;
        any = true;
    }
    table->smallest = slice_copy(smallest);
    table->largest = slice_copy(largest);
}

/* Writes a run as a table, which takes it over. */
char *table_write(struct database *database, unsigned family, unsigned level, struct run *run,
                  struct table **out) {
    struct table *table = machine_allocate(sizeof *table);
    *table = (struct table){.number = database->next_number++,
                            .descriptor = -1,
                            .family = family,
                            .level = level,
                            .identity = run->identity,
                            .is_loaded = true,
                            .run = *run};
    *run = (struct run){0};
    note_bounds(table);
    struct bytes bytes = {0};
    run_encode(&table->run, &bytes);
    table->size = bytes.size;
    table->checksum = lethe_checksum(3, bytes.data, bytes.size);
    char *path = path_numbered(database->folder, table->number, "sst");
    char *message = file_write(path, &bytes);
    machine_release(path);
    bytes_drop(&bytes);
    *out = table;
    if (message == NULL) return NULL;
    table_drop(table);
    *out = NULL;
    return message;
}

char *table_load(struct database *database, struct table *table) {
    if (table->is_loaded) return NULL;
    struct bytes bytes = {0};
    char *path = path_numbered(database->folder, table->number, "sst");
    char *message = table->descriptor >= 0 ? file_read_opened(table->descriptor, path, &bytes)
                                           : file_read(path, &bytes);
    if (message == NULL) {
        struct cursor cursor = {.at = bytes.data, .end = bytes.data + bytes.size};
        if (bytes.size != table->size ||
            lethe_checksum(3, bytes.data, bytes.size) != table->checksum ||
            !run_decode(&table->run, &cursor))
            message = message_of_corruption("block checksum mismatch", path);
    }
    table->is_loaded = message == NULL;
    for (size_t i = 0; i < table->run.count && table->sequence > 0; i++)
        table->run.records[i]->sequence = table->sequence;
    machine_release(path);
    bytes_drop(&bytes);
    return message;
}

char *database_load(struct database *database, unsigned family) {
    bool loaded = true;
    for (size_t i = 0; i < database->table_count; i++)
        loaded &= database->tables[i]->is_loaded || database->tables[i]->family != family;
    if (loaded) return NULL;
    (void)system_mutex_lock(&database->changing);
    char *message = NULL;
    for (size_t i = 0; i < database->table_count && message == NULL; i++) {
        if (database->tables[i]->family == family)
            message = table_load(database, database->tables[i]);
    }
    (void)system_mutex_unlock(&database->changing);
    return message;
}

const struct record *database_find(const struct database *database, unsigned family,
                                   struct slice key) {
    const struct record *found = run_find(&database->memory[family], key);
    uint64_t deleted = run_deleted(&database->memory[family], key);
    for (size_t i = 0; i < database->table_count; i++) {
        const struct table *table = database->tables[i];
        if (table->family != family) continue;
        const struct record *record = run_find(&table->run, key);
        if (record != NULL && (found == NULL || record->sequence > found->sequence)) found = record;
        uint64_t own = run_deleted(&table->run, key);
        if (own > deleted) deleted = own;
    }
    return found == NULL || found->is_deleted || found->sequence < deleted ? NULL : found;
}

/* The newest first among those of one key. */
static int by_key(const void *left, const void *right) {
    const struct record *a = *(const struct record *const *)left;
    const struct record *b = *(const struct record *const *)right;
    int order = slice_compare(a->key, b->key);
    return order != 0 ? order : (a->sequence < b->sequence) - (a->sequence > b->sequence);
}

static void collect(const struct run *run, const struct record **all, size_t *count) {
    for (size_t i = 0; i < run->count; i++)
        all[(*count)++] = run->records[i];
}

static uint64_t deleted_at(const struct database *database, unsigned family, struct slice key) {
    uint64_t latest = run_deleted(&database->memory[family], key);
    for (size_t i = 0; i < database->table_count; i++) {
        uint64_t own =
            database->tables[i]->family == family ? run_deleted(&database->tables[i]->run, key) : 0;
        if (own > latest) latest = own;
    }
    return latest;
}

void database_gather(const struct database *database, unsigned family, struct run *out) {
    size_t room = database->memory[family].count + 1, count = 0;
    for (size_t i = 0; i < database->table_count; i++)
        room += database->tables[i]->family == family ? database->tables[i]->run.count : 0;
    const struct record **all = machine_allocate(room * sizeof *all);
    collect(&database->memory[family], all, &count);
    for (size_t i = 0; i < database->table_count; i++) {
        if (database->tables[i]->family == family) collect(&database->tables[i]->run, all, &count);
    }
    qsort(all, count, sizeof *all, by_key);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && slice_compare(all[i]->key, all[i - 1]->key) == 0) continue;
        if (!all[i]->is_deleted && all[i]->sequence > deleted_at(database, family, all[i]->key))
            run_put(out, all[i]->key, all[i]->value, all[i]->sequence, false);
    }
    machine_release(all);
}

/* Removes files of tables that no manifest names any more. */
void table_remove_file(struct database *database, uint64_t number) {
    char *path = path_numbered(database->folder, number, "sst");
    (void)system_unlink(path);
    machine_release(path);
}

static bool is_filtered(const struct database *database, unsigned family,
                        const struct record *record) {
    if (database->filter == NULL || family != database->filter_family) return false;
    char *value = NULL;
    size_t size = 0;
    unsigned char changed = 0;
    return database->filter(database->filter_state, 1, (const char *)record->key.data,
                            record->key.size, (const char *)record->value.data, record->value.size,
                            &value, &size, &changed) != 0;
}

/* Splits what is left of all records of a family into tables of level 1. */
static char *write_compacted(struct database *database, unsigned family, const struct run *all,
                             struct table **out, size_t *count) {
    struct run part = {0};
    char *message = NULL;
    for (size_t i = 0; i < all->count && message == NULL; i++) {
        const struct record *record = all->records[i];
        bool lives = !record->is_deleted && record->sequence > run_deleted(all, record->key) &&
                     !is_filtered(database, family, record);
        if (lives) run_put(&part, record->key, record->value, record->sequence, false);
        bool ends =
            i + 1 == all->count ||
            (*count < 30 && test_random_below(machine_random(), database_habits.split_one_in) == 0);
        if (part.count == 0 || !ends) continue;
        message = table_write(database, family, 1, &part, &out[*count]);
        if (message == NULL) ++*count;
    }
    run_drop(&part);
    return message;
}

static char *compact(struct database *database, unsigned family) {
    struct run all = {0};
    struct table *made[32];
    size_t made_count = 0;
    char *message = NULL;
    for (size_t i = 0; i < database->table_count && message == NULL; i++) {
        if (database->tables[i]->family == family)
            message = table_load(database, database->tables[i]);
    }
    for (size_t i = 0; i < database->table_count && message == NULL; i++) {
        if (database->tables[i]->family == family) run_merge(&all, &database->tables[i]->run);
    }
    if (message == NULL) message = write_compacted(database, family, &all, made, &made_count);
    run_drop(&all);
    if (message != NULL) return message;
    struct table *old[256];
    size_t kept = 0, old_count = 0;
    for (size_t i = 0; i < database->table_count; i++) {
        if (database->tables[i]->family == family && old_count < 256)
            old[old_count++] = database->tables[i];
        else
            database->tables[kept++] = database->tables[i];
    }
    database->table_count = kept;
    for (size_t i = 0; i < made_count; i++)
        table_add(database, made[i]);
    message = manifest_write(database);
    for (size_t i = 0; i < old_count; i++) {
        if (message == NULL) table_remove_file(database, old[i]->number);
        table_drop(old[i]);
    }
    return message;
}

char *compact_some(struct database *database) {
    char *message = NULL;
    for (unsigned i = 0; i < database->family_count && message == NULL; i++) {
        uint32_t one_in = database_habits.compact_one_in;
        if (one_in > 0 && test_random_below(machine_random(), one_in) == 0)
            message = compact(database, i);
    }
    return message;
}

void database_delete_files(struct database *database, unsigned family, struct slice from,
                           struct slice to) {
    (void)system_mutex_lock(&database->changing);
    size_t kept = 0, gone = 0;
    uint64_t numbers[256];
    for (size_t i = 0; i < database->table_count; i++) {
        struct table *table = database->tables[i];
        /* Tables of level 0 may hold what is older than others: they stay. Both ends belong to
         * the range. */
        bool goes = table->family == family && table->level > 0 && gone < 256 &&
                    slice_compare(table->smallest, from) >= 0 &&
                    slice_compare(table->largest, to) <= 0;
        if (goes) {
            numbers[gone++] = table->number;
            table_drop(table);
        } else {
            database->tables[kept++] = table;
        }
    }
    database->table_count = kept;
    if (gone > 0 && database->error == NULL) {
        database->error = manifest_write(database);
        for (size_t i = 0; i < gone && database->error == NULL; i++)
            table_remove_file(database, numbers[i]);
    }
    (void)system_mutex_unlock(&database->changing);
}
