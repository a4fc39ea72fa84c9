/* engine/values/fold.c - the thread that moves values from the log into COUNTERS.
 *
 * IDEA    A fold takes all values that changed since the last one, as they are after some commit
 *         (its cut), sorts them by key and hands them to the disk as one table. Then the log's
 *         changes up to the cut can be dropped.
 * I1      The values are those at the end of a sealed group, and they are written only when that
 *         group is durable.
 * I2      The next commit records in the state how far the log is folded. Until then the log still
 *         has the changes, and replaying them over the folded values changes nothing: they are
 *         absolute. A sketch, whose deltas are not, is saved with its cut instead (sketched_open.c,
 *         I1). */
#include "engine/values/fold.h"

#include "engine/store.h"

/* Drops counters from memory that COUNTERS has, when they take too much of it, and buckets of
 * periods that are over. */
static lethe_status evict(lethe_store *store) {
    lethe_values *values = &store->values;
    if (store->fold.is_last) return LETHE_OK;
    if (!values->kind->is_too_large(values) && !lethe_buckets_are_idle(values)) return LETHE_OK;
    /* The filling group points to records; a sealed one does not. */
    lethe_status status = lethe_log_seal(store);
    return status == LETHE_OK ? values->kind->evict(values) : status;
}

/* With the lock, which is given up while the table is written. */
static lethe_status fold_once(lethe_store *store, lethe_detail *detail) {
    lethe_status status = lethe_log_seal(store);
    if (status != LETHE_OK) return status;
    lethe_fold *fold = &store->fold;
    lethe_values *values = &store->values;
    lethe_buffer empty = {.allocator = store->allocator};
    lethe_fold_load load = {.foldings = empty, .beside = empty, .loose = empty, .room = empty};
    status = values->kind->take_fold(values, fold, &load);
    fold->cut = store->log.sealed;
    fold->cut_segments = fold->segments;
    uint64_t bytes = fold->unfolded_bytes, changes = fold->unfolded_changes;
    if (status == LETHE_OK) status = lethe_log_wait(store, fold->cut);
    if (status == LETHE_OK) {
        lethe_engine_leave(store);
        status = values->kind->write_fold(values, &load, fold->cut, detail);
        lethe_engine_enter(store);
    }
    bool wrote = load.foldings.size > 0 || load.sketch != NULL;
    lethe_buffer_free(&load.foldings);
    lethe_buffer_free(&load.beside);
    lethe_buffer_free(&load.loose);
    lethe_buffer_free(&load.room);
    lethe_sketch_free(load.sketch);
    if (status != LETHE_OK) return status;
    if (wrote) {
        fold->done = fold->cut;
        fold->folded_segments = fold->cut_segments;
    }
    values->kind->end_fold(values, fold->cut);
    fold->unfolded_bytes -= bytes;
    fold->unfolded_changes -= changes;
    return evict(store);
}

void *lethe_fold_main(void *context) {
    lethe_store *store = context;
    lethe_fold *fold = &store->fold;
    lethe_engine_enter(store);
    for (;;) {
        while (!store->stopping && (!fold->wanted || store->failed != LETHE_OK))
            lethe_os_condition_wait(&fold->wake, &store->lock);
        if (store->stopping) break;
        fold->running = true;
        lethe_detail detail = {""};
        lethe_status status = fold_once(store, &detail);
        fold->running = fold->wanted = false;
        if (status != LETHE_OK) lethe_engine_fail(store, status, &detail);
        lethe_os_condition_wake_all(&store->log.done);
    }
    lethe_engine_leave(store);
    return NULL;
}

static void wake(lethe_store *store) {
    store->fold.wanted = true;
    lethe_os_condition_wake_all(&store->fold.wake);
}

void lethe_fold_if_due(lethe_store *store) {
    const lethe_values *values = &store->values;
    if (store->fold.unfolded_bytes > values->kind->fold_after_bytes(values) ||
        values->kind->is_too_large(values)) {
        wake(store);
    }
}

lethe_status lethe_fold_all(lethe_store *store) {
    /* One that is running may have begun before the last change. */
    while (store->fold.running && store->failed == LETHE_OK)
        lethe_os_condition_wait(&store->log.done, &store->lock);
    store->fold.is_last = true;
    wake(store);
    while (store->fold.wanted && store->failed == LETHE_OK)
        lethe_os_condition_wait(&store->log.done, &store->lock);
    return store->failed;
}
