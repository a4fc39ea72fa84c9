/* engine/view.c - what a reader sees of a store that another process may be writing.
 *
 * IDEA    A reader opens the files as they are, reads tables and log into a view of its own, and then asks whether
 *         they were of one moment. If not, somebody wrote meanwhile, and it looks again.
 * I1      A view has everything that was acknowledged before it was opened: the note of that is read first, and a log
 *         that ends before it is not believed. So what was seen once is in every later view.
 * I2      A view holds all that its state speaks of: as many segments of changes, tables that are folded no less than
 *         it says and no further than its own commit.
 * I3      What a view has read stays as it is: its tables are open, whoever removes their names.
 * I4      A view that can't be is damage only if nobody wrote while it was read: the files were the same before and
 *         behind, twice, so that a step of the file system's clock was between.
 * WHY     RocksDB's own followers read tables and log of different moments without a word, leave out tables that
 *         they can't read, and end the process where they meet a writer that opens or closes.
 * LIMIT   A view reads the log that is not in tables yet anew, 128 MiB at most; a refresh when nothing was
 *         written since costs a look at the names and sizes of files. What is seen may be on its way to disk, and a power cut
 *         may still take it back. */
#include "core/allocator.h"
#include "engine/detail.h"
#include "engine/engine.h"
#include "os/clock.h"

enum { FIRST_PAUSE_MS = 5, LONGEST_PAUSE_MS = 80, PATIENCE_MS = 10000 };

static void drop(lethe_counter *fresh) {
    lethe_tally_free(fresh->tally);
    lethe_sketch_free(fresh->sketch);
    lethe_store_close(fresh->store);
    fresh->tally = NULL;
    fresh->sketch = NULL;
    fresh->store = NULL;
}

/* Reads the store once. `seen` is what the reader sees so far. */
static lethe_status look(lethe_counter *fresh, const char *folder, const lethe_state *seen,
                         lethe_detail *detail) {
    fresh->options.window_ms = 0; /* as the store says */
    fresh->options.error = 0;
    lethe_status status = lethe_tally_new(fresh->allocator, &fresh->tally);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    status = lethe_store_open(folder, LETHE_STORE_READ, false, NULL, &fresh->store, detail);
    if (status == LETHE_OK) status = lethe_engine_read(fresh, detail);
    if (status != LETHE_OK || seen->commit == 0) return status;
    if (fresh->state.seed == seen->seed && fresh->state.commit >= seen->commit) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_ECORRUPT,
                             "%s is another store than it was, or an older state of it; open it "
                             "anew",
                             folder);
}

static bool may_pass(lethe_status status) {
    return status == LETHE_ECORRUPT || status == LETHE_EIO || status == LETHE_ENOTFOUND;
}

/* Reads the store until what was read is of one moment. */
static lethe_status look_until_sound(lethe_counter *fresh, const char *folder,
                                     const lethe_state *seen, lethe_detail *detail) {
    uint64_t begun_ms = lethe_os_boot_ms(), pause_ms = FIRST_PAUSE_MS;
    for (unsigned unchanged = 0;;) {
        uint64_t before = fresh->view_fingerprint = lethe_store_fingerprint(folder);
        lethe_status status = look(fresh, folder, seen, detail);
        if (status == LETHE_OK) return LETHE_OK;
        drop(fresh);
        if (!may_pass(status)) return status;
        unchanged = lethe_store_fingerprint(folder) == before ? unchanged + 1 : 0;
        if (unchanged == 2) return status;
        if (lethe_os_boot_ms() - begun_ms > PATIENCE_MS) {
            return lethe_detail_fill(detail, LETHE_EBUSY,
                                     "%s changes faster than it can be read; try again later",
                                     folder);
        }
        lethe_os_pause_ms(pause_ms);
        if (pause_ms < LONGEST_PAUSE_MS) pause_ms *= 2;
    }
}

/* With the lock: gives the reader the new view, and fresh the old one to be dropped. */
static void exchange(lethe_counter *counter, lethe_counter *fresh) {
    lethe_tally *tally = counter->tally;
    lethe_sketch *sketch = counter->sketch;
    lethe_store *store = counter->store;
    counter->tally = fresh->tally;
    counter->sketch = fresh->sketch;
    counter->store = fresh->store;
    fresh->tally = tally;
    fresh->sketch = sketch;
    fresh->store = store;
    counter->state = fresh->state;
    counter->view_fingerprint = fresh->view_fingerprint;
    /* Read without the lock, so it is written when the store is opened and never again. */
    if (fresh->has_sketch && !counter->has_sketch) counter->has_sketch = true;
    counter->options.window_ms = fresh->options.window_ms;
    counter->options.error = fresh->options.error;
    counter->step_ms = fresh->step_ms;
    counter->kept_ms = fresh->kept_ms;
    counter->period_count = 0; /* surveyed when somebody asks */
}

lethe_status lethe_engine_view(lethe_counter *counter, const char *folder, lethe_detail *detail) {
    lethe_counter *fresh = lethe_alloc_zeroed(counter->allocator, sizeof *fresh);
    if (fresh == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    fresh->allocator = counter->allocator;
    lethe_engine_enter(counter);
    fresh->options = counter->options;
    lethe_state seen = counter->state;
    lethe_engine_leave(counter);
    lethe_status status = look_until_sound(fresh, folder, &seen, detail);
    if (status == LETHE_OK) {
        lethe_engine_enter(counter);
        /* Another thread may have refreshed meanwhile, and seen more. */
        if (fresh->state.commit >= counter->state.commit) exchange(counter, fresh);
        lethe_engine_leave(counter);
        drop(fresh);
    }
    lethe_release(counter->allocator, fresh, sizeof *fresh);
    return status;
}
