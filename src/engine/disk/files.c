/* engine/disk/files.c - which files make up a store, as of one moment.
 *
 * LAYOUT  data/CURRENT, data/MANIFEST-N   which tables there are, and from which log on
 *         data/N.log                      commits that are in no table yet
 *         data/N.sst                      tables
 *         acknowledged, fold*.sst         see disk.c
 * I1      RocksDB appends to its manifest before it removes a table or a log that the manifest had
 *         named, and points CURRENT to another manifest before it removes the one before. So these
 *         two are the pivots of a set (backup/set.c).
 * I2      A log is complete when the next one begins. What is read of the logs is at least what
 *         `acknowledged` says, which is read first.
 * WHY     Tables that nothing names are being written, or are about to be removed. Which these are,
 *         only RocksDB knows when it has the set open. */
#include <string.h>

#include "engine/disk/internal.h"
#include "os/claim.h"
#include "os/file.h"

/* Whether a process has the store open to write. */
static bool has_writer(const lethe_set *set) {
    char path[LETHE_OS_PATH_BYTES];
    return !lethe_os_path(path, "%s/lethe.lock", set->folder) || lethe_os_claim_is_held(path);
}

lethe_status lethe_disk_gather(lethe_set *set) {
    static const char data[] = "data/";
    lethe_status status = lethe_set_add_all(set, data, "CURRENT", "", LETHE_SET_PIVOT);
    if (status == LETHE_OK) status = lethe_set_add_all(set, data, "MANIFEST", "", LETHE_SET_PIVOT);
    if (status == LETHE_OK) status = lethe_set_add_all(set, data, "", ".log", LETHE_SET_PLAIN);
    if (status == LETHE_OK) status = lethe_set_add_all(set, data, "", ".sst", LETHE_SET_PLAIN);
    /* Tables that a failed fold has left may be needed (mend.c). Those that a fold is making are
     * not. */
    if (status != LETHE_OK || has_writer(set)) return status;
    status = lethe_set_add_named(set, "fold.sst");
    return status == LETHE_OK ? lethe_set_add_named(set, "fold-upper.sst") : status;
}

/* Whether a list of RocksDB's, whose names begin with a slash, has this table. */
static bool is_live(const rocksdb_livefiles_t *files, const char *name) {
    int count = rocksdb_livefiles_count(files);
    for (int i = 0; i < count; i++) {
        const char *live = rocksdb_livefiles_name(files, i);
        if (strcmp(live + (live[0] == '/'), name) == 0) return true;
    }
    return false;
}

void lethe_disk_mark_unused(lethe_disk *disk, lethe_set *set) {
    const rocksdb_livefiles_t *files = rocksdb_livefiles(disk->database);
    for (size_t i = 0; i < set->count; i++) {
        lethe_set_file *file = &set->files[i];
        size_t size = strlen(file->name);
        if (strncmp(file->name, "data/", 5) != 0 || strcmp(file->name + size - 4, ".sst") != 0)
            continue;
        file->is_unused = !is_live(files, file->name + 5);
    }
    rocksdb_livefiles_destroy(files);
}
