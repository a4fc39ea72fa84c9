/* engine/store_mend.c - a table that RocksDB's manifest names, and that is not there.
 *
 * IDEA    A table that was made apart is taken in by a record in the manifest. When that record can't be synced, RocksDB
 *         calls it a failure and removes the table; but the record was written, and the next to open finds it. So a
 *         fold that failed leaves its own file (fold_table.c), which is the same, and we put it where it is missed.
 * I1      The fold had waited for its commits, so the table holds nothing that the log does not have: with the record
 *         or without, the totals are the same.
 * WHY     RocksDB knows each table by a number that is in the manifest and in the table, and refuses another in its
 *         place: so we need not know which one was missing, and then take ours back. */
#include <ctype.h>
#include <stdio.h>
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
