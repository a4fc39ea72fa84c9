/* engine/ids/index.c - INDEX, the exact record of ids.
 *
 * IDEA    Ids are appended to tails, and found there by a table (tail.c). Only when the tails have
 *         the memory that the index may take, the older half of them is sorted into a run, which is
 *         a file; four runs of a size become one of the next. So an id is written a few times in
 *         order, and never at a place of its own. Looking up means asking each tail and each run:
 *         eight tails, and a dozen runs for a billion ids. A thread sorts and merges; tails are
 *         asked until their run is there.
 * I1      The log has everything that is here: ids, digests, and times. So nothing of the index
 *         need be durable. A store that is opened makes it again, with the window and from the same
 *         bytes; a commit that fails takes both along.
 * I2      Of two entries of an id, the one that was added later is in a later tail or run, or later
 *         in its own; all runs are before all tails. It is the one that counts.
 * I3      An id enters when it is decided, as it enters the window. What the window knows of the
 *         last kept_ms, the index knows.
 * WHY     One record of RocksDB for each id cost five times as much as counting: it is hashed,
 *         sorted and compacted one by one. Nearly every id that is added is never asked for, so
 *         adding must be cheap, and looking up may take a cache miss for each tail.
 * LIMIT   Opening a store makes all of it again, and a part that does not fit into the memory is
 *         written to disk again. */
#include "engine/ids/index_internal.h"

#include "core/allocator.h"
#include "core/tunables.h"
#include "engine/ids/index_thread.h"
#include "os/file.h"

/* A chunk of a run in memory has 2 MiB or a little more. */
enum { GO_ON_EVERY = 64, CHUNK_BITS = 17, ITEM = LETHE_RUN_ITEM_BYTES };

/* As many tails as fit into the memory, and two at least: one may wait to be sorted. */
static unsigned most_tails(const lethe_tail_form *form) {
    uint64_t most = lethe_tune.index_memory_bytes / lethe_tail_bytes(form);
    if (most > LETHE_INDEX_TAILS) most = LETHE_INDEX_TAILS;
    return most < 2 ? 2 : (unsigned)most;
}

lethe_status lethe_index_new(const lethe_index_options *options, lethe_index **out) {
    *out = NULL;
    lethe_index *index = lethe_alloc_zeroed(options->allocator, sizeof *index);
    if (index == NULL) return LETHE_ENOMEM;
    index->options = *options;
    index->runs.allocator = index->room.allocator = options->allocator;
    index->form = lethe_tail_plan(lethe_tune.index_tail_ids, options->allocator);
    index->tail_most = most_tails(&index->form);
    index->memory = (lethe_chunks){.allocator = options->allocator, .item_bytes = ITEM};
    while (index->form.limit >> index->memory.item_bits > 1 && index->memory.item_bits < CHUNK_BITS)
        index->memory.item_bits++;
    lethe_status status = LETHE_OK;
    if (!lethe_os_path(index->path, "%s/index.tmp", options->folder)) status = LETHE_EINVAL;
    if (status == LETHE_OK) status = lethe_tail_make(&index->form, &index->tails[0]);
    index->tail_count = 1;
    if (status != LETHE_OK) {
        lethe_index_free(index);
        return status;
    }
    lethe_os_remove(index->path); /* of a process that was killed while it had the name */
    *out = index;
    return LETHE_OK;
}

void lethe_index_free(lethe_index *index) {
    if (index == NULL) return;
    const lethe_allocator *allocator = index->options.allocator;
    lethe_index_thread_stop(index->thread);
    lethe_index_cancel_merges(index);
    lethe_tail_writer_abandon(&index->sealing);
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        lethe_run_free(lethe_index_runs(index)[i].run);
    lethe_chunks_drop(&index->memory);
    lethe_buffer_free(&index->runs);
    lethe_buffer_free(&index->room);
    for (unsigned i = 0; i < LETHE_INDEX_TAILS; i++)
        lethe_tail_drop(&index->form, &index->tails[i]);
    lethe_release(allocator, index, sizeof *index);
}

lethe_status lethe_index_take_run(lethe_index *index, lethe_run *run) {
    lethe_index_slot slot = {.run = run};
    if (!lethe_buffer_reserve(&index->runs, sizeof slot)) {
        lethe_run_free(run);
        return LETHE_ENOMEM;
    }
    lethe_buffer_append(&index->runs, &slot, sizeof slot);
    index->run_bytes += lethe_run_memory_bytes(run);
    return LETHE_OK;
}

/* What is small stays in memory: there are only a few such runs. */
const char *lethe_index_place(const lethe_index *index, uint64_t items) {
    uint64_t limit = lethe_tune.index_memory_bytes, bytes = items * ITEM;
    uint64_t used = index->run_bytes + index->tail_most * lethe_tail_bytes(&index->form);
    bool fits = bytes <= limit / 32 || (bytes <= limit && used <= limit - bytes);
    return fits ? NULL : index->path;
}

/* --- adding --- */

static lethe_tail *newest(lethe_index *index) {
    return &index->tails[index->tail_count - 1];
}

lethe_status lethe_index_add(lethe_index *index, lethe_log_id id, lethe_index_entry entry) {
    while (!lethe_tail_add(&index->form, newest(index), id, entry)) {
        lethe_status status = lethe_index_turn_tail(index);
        if (status != LETHE_OK) return status;
    }
    if (++index->owed < GO_ON_EVERY) return LETHE_OK;
    uint64_t owed = index->owed;
    index->owed = 0;
    return lethe_index_go_on(index, owed);
}

void lethe_index_prefetch_add(const lethe_index *index, lethe_log_id id) {
    const lethe_tail *tail = &index->tails[index->tail_count - 1];
    __builtin_prefetch(lethe_tail_home(&index->form, tail, lethe_run_order(id)), 1);
}

/* --- looking up --- */

lethe_status lethe_index_find(lethe_index *index, lethe_log_id id, lethe_index_entry *out,
                              bool *found) {
    *found = false;
    for (unsigned i = index->tail_count; i > 0 && !*found; i--)
        *found = lethe_tail_find(&index->form, &index->tails[i - 1], id, out);
    const lethe_index_slot *runs = lethe_index_runs(index);
    lethe_status status = LETHE_OK;
    for (size_t i = lethe_index_run_count(index); i > 0 && !*found && status == LETHE_OK; i--)
        status = lethe_run_find(runs[i - 1].run, id, &index->room, out, found);
    return status;
}

/* Fetches the entry of an id from the tails. */
static bool prefetch_item(const lethe_index *index, lethe_log_id id) {
    bool found = false;
    for (unsigned i = index->tail_count; i > 0 && !found; i--)
        found = lethe_tail_prefetch_item(&index->form, &index->tails[i - 1], id);
    return found;
}

void lethe_index_prefetch(const lethe_index *index, const lethe_log_id *ids, size_t count) {
    const lethe_index_slot *runs = lethe_index_runs(index);
    size_t run_count = lethe_index_run_count(index);
    for (size_t i = 0; i < count; i++) {
        uint64_t order = lethe_run_order(ids[i]);
        for (unsigned tail = 0; tail < index->tail_count; tail++)
            __builtin_prefetch(lethe_tail_home(&index->form, &index->tails[tail], order));
        for (size_t run = 0; run < run_count; run++)
            lethe_run_prefetch_shelf(runs[run].run, ids[i]);
    }
    for (size_t i = 0; i < count; i++) {
        bool found = prefetch_item(index, ids[i]);
        for (size_t run = 0; run < run_count && !found; run++)
            lethe_run_prefetch_items(runs[run].run, ids[i]);
    }
}

/* --- forgetting --- */

static bool is_old(const lethe_index *index, uint64_t last_ms, uint64_t clock_ms) {
    return last_ms + index->options.kept_ms < clock_ms;
}

static void expire_runs(lethe_index *index, uint64_t clock_ms) {
    lethe_index_slot *runs = lethe_index_runs(index);
    size_t count = lethe_index_run_count(index), gone = 0;
    while (gone < count && is_old(index, runs[gone].run->last_ms, clock_ms)) {
        lethe_index_cancel_merge(index, runs[gone].run);
        index->run_bytes -= lethe_run_memory_bytes(runs[gone].run);
        lethe_run_free(runs[gone++].run);
    }
    if (gone == 0) return;
    memmove(runs, runs + gone, (count - gone) * sizeof *runs);
    index->runs.size = (count - gone) * sizeof *runs;
}

/* Tails that are being sorted go later, as a run. */
static void expire_tails(lethe_index *index, uint64_t clock_ms) {
    lethe_tail *tails = index->tails;
    if (lethe_index_is_sealing(index)) return;
    while (index->tail_count > 1 && is_old(index, tails[0].last_ms, clock_ms)) {
        lethe_index_thread_wait_backed(index->thread);
        lethe_tail_drop(&index->form, &tails[0]);
        memmove(tails, tails + 1, (LETHE_INDEX_TAILS - 1) * sizeof *tails);
        tails[LETHE_INDEX_TAILS - 1] = (lethe_tail){0};
        index->tail_count--;
    }
}

void lethe_index_expire(lethe_index *index, uint64_t clock_ms) {
    expire_runs(index, clock_ms);
    expire_tails(index, clock_ms);
}

/* --- sizes --- */

uint64_t lethe_index_planned_tail_bytes(uint64_t ids) {
    lethe_tail_form form = lethe_tail_plan(lethe_tune.index_tail_ids, NULL);
    uint64_t tails = ids / form.limit + 1, most = most_tails(&form);
    return (tails < most ? tails : most) * lethe_tail_bytes(&form);
}

/* Once the tails were full, they have between half and all of what they can hold. */
uint64_t lethe_index_planned_in_runs(uint64_t ids) {
    lethe_tail_form form = lethe_tail_plan(lethe_tune.index_tail_ids, NULL);
    uint64_t most = most_tails(&form) * form.limit;
    return ids > most ? ids - most * 3 / 4 : 0;
}

static uint64_t tails_bytes(const lethe_index *index) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < LETHE_INDEX_TAILS; i++) {
        if (index->tails[i].slots != NULL)
            bytes += lethe_tail_table_bytes(&index->form) + index->tails[i].count * ITEM;
    }
    return bytes;
}

uint64_t lethe_index_memory_bytes(const lethe_index *index) {
    uint64_t spare = index->memory.spare_count * lethe_chunks_each_bytes(&index->memory);
    return tails_bytes(index) + index->run_bytes + spare;
}

uint64_t lethe_index_bytes(const lethe_index *index) {
    uint64_t bytes = lethe_index_memory_bytes(index);
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        bytes += lethe_run_file_bytes(lethe_index_runs(index)[i].run);
    return bytes;
}
