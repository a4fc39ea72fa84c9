/* simulation/store/manifest.c - the list of a database's tables, replaced as a whole.
 *
 * I1      A table and its name are synced before a manifest names it, and the manifest before
 *         what it replaces goes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codec.h"
#include "simulation/store/database.h"
#include "simulation/store/machine.h"
#include "simulation/store/system.h"

enum { CHECK_BYTES = 8 };

char *manifest_write(struct database *database) {
    struct bytes bytes = {0};
    bytes_put_number(&bytes, database->next_number);
    bytes_put_number(&bytes, database->log_number);
    bytes_put_number(&bytes, database->log_sequence);
    bytes_put_number(&bytes, database->family_count);
    for (unsigned i = 0; i < database->family_count; i++)
        bytes_put_string(&bytes, database->family_names[i], strlen(database->family_names[i]) + 1);
    bytes_put_number(&bytes, database->table_count);
    for (size_t i = 0; i < database->table_count; i++) {
        const struct table *table = database->tables[i];
        bytes_put_number(&bytes, table->number);
        bytes_put_number(&bytes, table->size);
        bytes_put_number(&bytes, table->checksum);
        bytes_put_number(&bytes, table->identity);
        bytes_put_number(&bytes, table->sequence);
        bytes_put_number(&bytes, table->family);
        bytes_put_number(&bytes, table->level);
        bytes_put_string(&bytes, table->smallest.data, table->smallest.size);
        bytes_put_string(&bytes, table->largest.data, table->largest.size);
    }
    bytes_put_number(&bytes, lethe_checksum(1, bytes.data, bytes.size));
    char *fresh = path_join(database->folder, "MANIFEST.new");
    char *path = path_join(database->folder, "MANIFEST");
    char *message = file_write(fresh, &bytes);
    if (message == NULL) message = file_sync_folder(database->folder); /* the tables' names */
    if (message == NULL && system_rename(fresh, path) != 0)
        message = file_message("while renaming", fresh);
    if (message == NULL) message = file_sync_folder(database->folder);
    machine_release(fresh);
    machine_release(path);
    bytes_drop(&bytes);
    return message;
}

void table_add(struct database *database, struct table *table) {
    if (database->table_count == database->table_room) {
        database->table_room = 2 * database->table_room + 8;
        struct table **larger = machine_allocate(database->table_room * sizeof *larger);
        if (database->table_count > 0)
            memcpy(larger, database->tables, database->table_count * sizeof *larger);
        machine_release(database->tables);
        database->tables = larger;
    }
    database->tables[database->table_count++] = table;
}

void table_drop(struct table *table) {
    if (table->descriptor >= 0) (void)system_close(table->descriptor);
    run_drop(&table->run);
    machine_release((void *)(uintptr_t)table->smallest.data);
    machine_release((void *)(uintptr_t)table->largest.data);
    machine_release(table);
}

void table_clear_all(struct database *database) {
    for (size_t i = 0; i < database->table_count; i++)
        table_drop(database->tables[i]);
    database->table_count = 0;
}

static void decode_manifest(struct database *database, struct cursor *cursor) {
    database->next_number = cursor_number(cursor);
    database->log_number = cursor_number(cursor);
    database->sequence = database->log_sequence = cursor_number(cursor);
    uint64_t families = cursor_number(cursor);
    if (families > DATABASE_FAMILIES) cursor->is_broken = true;
    for (unsigned i = 0; i < families && !cursor->is_broken; i++) {
        struct slice name = cursor_string(cursor);
        if (name.size == 0 || name.data[name.size - 1] != '\0') cursor->is_broken = true;
        if (!cursor->is_broken) database->family_names[i] = message_of((const char *)name.data);
    }
    database->family_count = (unsigned)families;
    uint64_t tables = cursor_number(cursor);
    for (uint64_t i = 0; i < tables && !cursor->is_broken; i++) {
        struct table *table = machine_allocate(sizeof *table);
        table->number = cursor_number(cursor);
        table->size = cursor_number(cursor);
        table->checksum = cursor_number(cursor);
        table->identity = cursor_number(cursor);
        table->sequence = cursor_number(cursor);
        table->descriptor = -1;
        table->family = (unsigned)cursor_number(cursor);
        table->level = (unsigned)cursor_number(cursor);
        table->smallest = slice_copy(cursor_string(cursor));
        table->largest = slice_copy(cursor_string(cursor));
        if (table->family >= DATABASE_FAMILIES) cursor->is_broken = true;
        table_add(database, table);
    }
}

char *manifest_read(struct database *database) {
    struct bytes bytes = {0};
    char *path = path_join(database->folder, "MANIFEST");
    char *message = file_read(path, &bytes);
    if (message == NULL) {
        uint64_t check = 0;
        bool whole = bytes.size > CHECK_BYTES;
        if (whole) memcpy(&check, bytes.data + bytes.size - CHECK_BYTES, CHECK_BYTES);
        if (!whole || check != lethe_checksum(1, bytes.data, bytes.size - CHECK_BYTES)) {
            message = message_of_corruption("checksum mismatch", path);
        } else {
            struct cursor cursor = {.at = bytes.data, .end = bytes.data + bytes.size - CHECK_BYTES};
            decode_manifest(database, &cursor);
            if (cursor.is_broken) message = message_of_corruption("bad manifest", path);
        }
    }
    machine_release(path);
    bytes_drop(&bytes);
    return message;
}

char *database_add_family(struct database *database, const char *name) {
    (void)system_mutex_lock(&database->changing);
    char *message = database->error != NULL ? message_of(database->error) : NULL;
    if (message == NULL) {
        database->family_names[database->family_count++] = message_of(name);
        message = manifest_write(database);
        if (message != NULL) database->error = message_of(message);
    }
    (void)system_mutex_unlock(&database->changing);
    return message;
}

char *database_families(const char *folder, char ***names, size_t *count) {
    struct database *probe = machine_allocate(sizeof *probe);
    probe->folder = message_of(folder);
    char *message = manifest_read(probe);
    *count = 0;
    *names = NULL;
    if (message == NULL) {
        *names = machine_allocate((probe->family_count + 1) * sizeof **names);
        for (unsigned i = 0; i < probe->family_count; i++)
            (*names)[(*count)++] = probe->family_names[i];
    }
    table_clear_all(probe);
    machine_release(probe->tables);
    machine_release(probe->folder);
    machine_release(probe);
    return message;
}
