/* engine/view.c - what a reader sees of a store that another process may be writing.
 *
 * IDEA    A reader opens the files as they are, reads tables and log into a view of its own, and
 *         then checks that they are of one moment. If not, somebody wrote meanwhile, and it looks
 *         again.
 * I1      A view has everything that was acknowledged before it was opened: the number of the last
 *         acknowledged commit is read first, and a log that ends before it is not believed. So what
 *         was seen once is in every later view.
 * I2      A view has all that its state says: as many segments of changes, and tables that are
 *         folded at least as far as it says and no further than its own commit.
 * I3      What a view has read stays as it is: its tables stay open even if their names are
 *         removed.
 * I4      A view that is not sound is damage only if nobody wrote while it was read: the files were
 *         the same before and after, twice, so that the file system's clock advanced in between.
 * WHY     RocksDB's own followers read tables and log of different moments without an error, leave
 *         out tables that they can't read, and end the process where they meet a writer that opens
 *         or closes.
 * LIMIT   A view reads again all of the log that is not in tables yet, 128 MiB at most. A refresh
 *         when nothing was written costs a look at the names and sizes of files. What is seen may
 *         still be on its way to disk, and a power cut may take it back. */
#include "core/allocator.h"
#include "core/detail.h"
#include "engine/store.h"
#include "os/clock.h"

/* An attempt may take long: a disk that stalls for a while is no reason to give up. So on a slow
 * disk, beside a busy writer, giving up may take as long as these attempts. */
enum { FIRST_PAUSE_MS = 5, LONGEST_PAUSE_MS = 80, PATIENCE_MS = 10000, FEWEST_ATTEMPTS = 8 };

static void drop(lethe_store *fresh) {
    lethe_values_close(&fresh->values);
    lethe_disk_close(fresh->disk);
    fresh->disk = NULL;
}

/* Reads the store once. `seen` is what the reader sees so far. */
static lethe_status look(lethe_store *fresh, const char *folder, const lethe_state *seen,
                         lethe_detail *detail) {
    fresh->options.window_ms = 0; /* as the store says */
    fresh->options.error = 0;
    lethe_status status =
        lethe_disk_open(folder, LETHE_DISK_READ, false, NULL, &fresh->disk, detail);
    if (status == LETHE_OK) status = lethe_engine_read(fresh, detail);
    if (status != LETHE_OK || seen->commit == 0) return status;
    if (fresh->state.seed == seen->seed && fresh->state.commit >= seen->commit) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "%s is another store than it was, or an older state of it; open it "
                             "again",
                             folder);
}

/* Whether the error may come from a writer that writes meanwhile. */
static bool may_pass(lethe_status status) {
    return status == LETHE_ECORRUPT || status == LETHE_EIO || status == LETHE_ENOTFOUND;
}

/* Reads the store until what was read is of one moment. */
static lethe_status look_until_sound(lethe_store *fresh, const char *folder,
                                     const lethe_state *seen, lethe_detail *detail) {
    uint64_t begun_ms = lethe_os_boot_ms(), pause_ms = FIRST_PAUSE_MS;
    for (unsigned unchanged = 0, attempts = 1;; attempts++) {
        uint64_t before = fresh->view_fingerprint = lethe_disk_fingerprint(folder);
        lethe_status status = look(fresh, folder, seen, detail);
        if (status == LETHE_OK) {
            lethe_detail_clear(detail); /* of what an earlier attempt said */
            return LETHE_OK;
        }
        drop(fresh);
        if (!may_pass(status)) return status;
        unchanged = lethe_disk_fingerprint(folder) == before ? unchanged + 1 : 0;
        if (unchanged == 2) return status;
        if (attempts >= FEWEST_ATTEMPTS && lethe_os_boot_ms() - begun_ms > PATIENCE_MS) {
            return lethe_detail_fill(detail, LETHE_EBUSY,
                                     "%s changes faster than it can be read; try again later",
                                     folder);
        }
        lethe_os_pause_ms(pause_ms);
        if (pause_ms < LONGEST_PAUSE_MS) pause_ms *= 2;
    }
}

/* With the lock: gives the reader the new view, and fresh the old one, which is then dropped. */
static void exchange(lethe_store *store, lethe_store *fresh) {
    lethe_values values = store->values;
    lethe_disk *disk = store->disk;
    store->values = fresh->values;
    store->disk = fresh->disk;
    fresh->values = values;
    fresh->disk = disk;
    store->state = fresh->state;
    store->claims = fresh->claims; /* a reader's have no memory */
    store->view_fingerprint = fresh->view_fingerprint;
    store->options.window_ms = fresh->options.window_ms;
    store->options.error = fresh->options.error;
    store->ids = fresh->ids;
    store->log.periods.count = 0; /* counted when somebody asks */
}

lethe_status lethe_engine_view(lethe_store *store, const char *folder, lethe_detail *detail) {
    lethe_store *fresh = lethe_alloc_zeroed(store->allocator, sizeof *fresh);
    if (fresh == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    fresh->allocator = store->allocator;
    lethe_engine_enter(store);
    fresh->options = store->options;
    lethe_state seen = store->state;
    lethe_engine_leave(store);
    lethe_status status = look_until_sound(fresh, folder, &seen, detail);
    if (status == LETHE_OK) {
        lethe_engine_enter(store);
        /* Another thread may have refreshed meanwhile, and seen more. */
        if (fresh->state.commit >= store->state.commit) exchange(store, fresh);
        lethe_engine_leave(store);
        drop(fresh);
    }
    lethe_release(store->allocator, fresh, sizeof *fresh);
    return status;
}

lethe_status lethe_store_refresh(lethe_store *store, lethe_detail *detail) {
    lethe_detail_clear(detail);
    if (store == NULL) return lethe_detail_fill(detail, LETHE_EINVAL, "the store is NULL");
    if (!store->options.read_only) return LETHE_OK;
    lethe_engine_enter(store);
    lethe_disk *disk = lethe_disk_share(store->disk);
    uint64_t seen = store->view_fingerprint;
    lethe_engine_leave(store);
    /* Not by what was acknowledged: another reader may have seen a commit before it was. */
    bool is_current = lethe_disk_fingerprint(lethe_disk_folder(disk)) == seen;
    lethe_status status =
        is_current ? LETHE_OK : lethe_engine_view(store, lethe_disk_folder(disk), detail);
    lethe_disk_close(disk);
    return status;
}
