/* simulation/store/reach.c - counting what stores do in threads of their own.
 *
 * WHY     An option, such as an allocator, can keep a store from starting these threads. Then every
 *         seed passes, whatever is wrong with what they do.
 * LIMIT   What the last step before a kill did is not counted. */
#include "simulation/store/reach.h"

#include <assert.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>

#include "engine/ids/index_internal.h"
#include "engine/store.h"

struct counts {
    _Atomic uint64_t windows;
    _Atomic uint64_t indexes;
};
static struct counts *counts;

/* Of the opening that was noted last. */
static struct {
    uint64_t opening, renewed;
    bool has_thread;
} noted;

void reach_prepare(void) {
    counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(counts != MAP_FAILED);
}

void reach_note(lethe_store *store) {
    if (store == NULL) return;
    if (store->opening != noted.opening) {
        noted.opening = store->opening;
        noted.renewed = 0;
        noted.has_thread = false;
    }
    /* Threads are coroutines, and none of them runs now. */
    atomic_fetch_add(&counts->windows, store->renewal.renewed - noted.renewed);
    noted.renewed = store->renewal.renewed;
    bool has_thread = store->ids.index != NULL && store->ids.index->thread != NULL;
    if (has_thread && !noted.has_thread) atomic_fetch_add(&counts->indexes, 1);
    noted.has_thread = has_thread;
}

bool reach_show(void) {
    uint64_t windows = atomic_load(&counts->windows);
    uint64_t indexes = atomic_load(&counts->indexes);
    printf("%" PRIu64 " windows were made again, %" PRIu64 " indexes had a thread\n", windows,
           indexes);
    return windows > 0 && indexes > 0;
}
