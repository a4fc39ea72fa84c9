/* engine/store_mend.c - a table that RocksDB's manifest names, and that is not there.
 *
 * IDEA    A table that was made apart is taken in by a record in the manifest. When that record can't be synced, RocksDB
 *         calls it a failure and removes the table; but the record was written, and the next to open finds it. So a
 *         fold that failed leaves its own file (fold_table.c), which is the same, and we put it where it is missed.
 * I1      The fold had waited for its commits, so the table holds nothing that the log does not have: with the record
 *         or without, the totals are the same.
 * WHY     RocksDB knows each table by a number that is in the manifest and in the table, and refuses another in its
 *         place: so we need not know which one was missing, and then take ours back. A reader may come before the next
 *         writer, and the log has all the values: it looks at links to the files, with ours among them. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/detail.h"
#include "engine/store_internal.h"

void lethe_store_note_missing(lethe_store *store, const char *message) {
    store->missing[0] = '\0';
    if (message == NULL || strstr(message, "No such file") == NULL) return;
    /* The name may end in "ldb": RocksDB looks for a table under its old name too. */
    for (const char *at = strchr(message, '/'); at != NULL; at = strchr(at + 1, '/')) {
        size_t digits = 0;
        while (isdigit((unsigned char)at[1 + digits]))
            digits++;
        const char *ending = at + 1 + digits;
        if (digits == 0 || digits > 20) continue;
        if (strncmp(ending, ".ldb", 4) != 0 && strncmp(ending, ".sst", 4) != 0) continue;
        (void)snprintf(store->missing, sizeof store->missing, "%.*s", (int)digits, at + 1);
    }
}

bool lethe_store_can_mend(const lethe_store *store) {
    return store->missing[0] != '\0' && lethe_os_exists(store->fold);
}

static bool path_of(const lethe_store *store, const char *number, char *out, size_t size) {
    int length = snprintf(out, size, "%s/%s.sst", store->data, number);
    return length > 0 && (size_t)length < size;
}

lethe_status lethe_store_mend(lethe_store *store) {
    char path[4096];
    if (!path_of(store, store->missing, path, sizeof path) || lethe_os_exists(path))
        return LETHE_ECORRUPT;
    memcpy(store->mended, store->missing, sizeof store->mended);
    return lethe_os_folder_rename(store->fold, path);
}

void lethe_store_take_back(lethe_store *store) {
    char path[4096];
    if (!path_of(store, store->mended, path, sizeof path)) return;
    lethe_status status = lethe_os_folder_rename(path, store->fold);
    (void)status; /* the store is refused as it is */
}

/* A folder of links, while it is made. */
struct showing {
    const char *data, *shown;
    lethe_status status;
};

static void show_file(void *context, const char *name) {
    struct showing *showing = context;
    char target[4096], path[4096];
    if (showing->status != LETHE_OK) return;
    int target_size = snprintf(target, sizeof target, "%s/%s", showing->data, name);
    int path_size = snprintf(path, sizeof path, "%s/%s", showing->shown, name);
    bool fits = target_size < (int)sizeof target && path_size < (int)sizeof path;
    showing->status = fits ? lethe_os_link(target, path) : LETHE_EIO;
}

static lethe_status show_fold(const lethe_store *store, const char *shown) {
    char path[4096], *fold;
    int size = snprintf(path, sizeof path, "%s/%s.sst", shown, store->missing);
    if (size < 0 || size >= (int)sizeof path) return LETHE_EIO;
    lethe_status status = lethe_os_real_path(store->fold, &fold);
    if (status == LETHE_OK) status = lethe_os_link(fold, path);
    free(fold);
    return status;
}

lethe_status lethe_store_show_mended(const lethe_store *store, char *out, size_t size) {
    char *data;
    lethe_status status = lethe_os_real_path(store->data, &data);
    if (status != LETHE_OK) return status;
    status = lethe_os_folder_make_temporary(out, size);
    if (status == LETHE_OK) {
        struct showing showing = {.data = data, .shown = out};
        status = lethe_os_folder_each(data, show_file, &showing);
        if (status == LETHE_OK) status = showing.status;
        if (status == LETHE_OK) status = show_fold(store, out);
        if (status != LETHE_OK) lethe_os_folder_remove(out);
    }
    free(data);
    return status;
}
