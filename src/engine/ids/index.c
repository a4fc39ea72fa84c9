/* engine/ids/index.c - INDEX, the exact record of ids.
 *
 * IDEA    The last ids are in the tail: small unsorted shelves, by the first bits of the id. A full
 *         tail is sorted, shelf by shelf, into a run; four runs of a size become one of the next.
 *         So an id is written a few times in order, and never at a place of its own. Looking up
 *         means asking the tail and each run, of which there are a dozen for a billion ids. A
 *         thread sorts and merges; a tail is asked until its run is there.
 * I1      The log has everything that is here: ids, digests, and times. So nothing of the index
 *         need be durable. A store that is opened makes it again, with the window and from the same
 *         bytes; a commit that fails takes both along.
 * I2      Of two entries of an id, the one that was added later is in the tail, or in the one that
 *         is being sorted, or in a later run, or later in its run. It is the one that counts.
 * I3      An id enters when it is decided, as it enters the window. What the window knows of the
 *         last kept_ms, the index knows.
 * WHY     One record of RocksDB for each id cost five times as much as counting: it is hashed,
 *         sorted and compacted one by one. Shelves fit into the cache, and so does the sorting of
 *         one.
 * LIMIT   Opening a store makes all of it again, and a part that does not fit into the memory is
 *         written to disk again. */
#include "engine/ids/index_internal.h"

#include "core/allocator.h"
#include "core/tunables.h"
#include "engine/ids/index_thread.h"
#include "os/file.h"

/* A shelf of the tail is a third full when the tail is full, on average. Ids are hashes under a
 * secret seed, so that it is all but never full before; then the tail is. Sorting a shelf takes a
 * time that grows with the square of its items, so they are few. */
enum { SHELF_LIMIT = 48, SHELF_USUAL = 16, MERGE_EVERY = 64, ITEM = LETHE_RUN_ITEM_BYTES };

static size_t tail_bytes(const lethe_index *index) {
    return ((size_t)SHELF_LIMIT * ITEM) << index->shelf_bits;
}

static size_t counts_bytes(const lethe_index *index) {
    return sizeof *index->tail.shelf_counts << index->shelf_bits;
}

static lethe_status make_tail(const lethe_index *index, lethe_index_tail *tail) {
    const lethe_allocator *allocator = index->options.allocator;
    tail->items = lethe_alloc_zeroed(allocator, tail_bytes(index));
    tail->shelf_counts = lethe_alloc_zeroed(allocator, counts_bytes(index));
    return tail->items != NULL && tail->shelf_counts != NULL ? LETHE_OK : LETHE_ENOMEM;
}

static void drop_tail(const lethe_index *index, lethe_index_tail *tail) {
    lethe_release(index->options.allocator, tail->items, tail_bytes(index));
    lethe_release(index->options.allocator, tail->shelf_counts, counts_bytes(index));
    *tail = (lethe_index_tail){0};
}

static void empty_tail(const lethe_index *index, lethe_index_tail *tail) {
    memset(tail->shelf_counts, 0, counts_bytes(index));
    tail->count = 0;
}

lethe_status lethe_index_new(const lethe_index_options *options, lethe_index **out) {
    *out = NULL;
    lethe_index *index = lethe_alloc_zeroed(options->allocator, sizeof *index);
    if (index == NULL) return LETHE_ENOMEM;
    index->options = *options;
    index->runs.allocator = index->room.allocator = options->allocator;
    index->tail_limit = lethe_tune.index_tail_ids;
    while (index->tail_limit >> index->shelf_bits > SHELF_USUAL)
        index->shelf_bits++;
    /* A run of a full tail has one chunk, which it fills if the limit is a power of two. */
    index->memory = (lethe_chunks){.allocator = options->allocator, .item_bytes = ITEM};
    while (index->tail_limit >> index->memory.item_bits > 1)
        index->memory.item_bits++;
    lethe_status status = LETHE_OK;
    if (!lethe_os_path(index->path, "%s/index.tmp", options->folder)) status = LETHE_EINVAL;
    if (status == LETHE_OK) status = make_tail(index, &index->tail);
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
    lethe_run_abandon(&index->sealing_writer);
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        lethe_run_free(lethe_index_runs(index)[i].run);
    lethe_chunks_drop(&index->memory);
    lethe_buffer_free(&index->runs);
    lethe_buffer_free(&index->room);
    drop_tail(index, &index->tail);
    drop_tail(index, &index->sealing);
    lethe_release(allocator, index, sizeof *index);
}

/* --- the tail becomes a run --- */

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
    bool fits = bytes <= limit / 32 || (bytes <= limit && index->run_bytes <= limit - bytes);
    return fits ? NULL : index->path;
}

/* Sorts the items of a shelf; those of one id stay in their order. */
static void sort_shelf(lethe_run_item *items, unsigned count) {
    for (unsigned i = 1; i < count; i++) {
        lethe_run_item item = items[i];
        unsigned at = i;
        for (; at > 0 && lethe_run_item_is_before(&item, &items[at - 1]); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static lethe_status write_shelf(const lethe_index_tail *tail, uint64_t shelf,
                                lethe_run_writer *writer) {
    lethe_run_item items[SHELF_LIMIT];
    unsigned count = tail->shelf_counts[shelf];
    const unsigned char *at = tail->items + shelf * SHELF_LIMIT * ITEM;
    for (unsigned i = 0; i < count; i++)
        items[i] = lethe_run_item_load(at + (size_t)i * ITEM);
    sort_shelf(items, count);
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < count && status == LETHE_OK; i++)
        status = lethe_run_append(writer, &items[i]);
    return status;
}

static lethe_status write_tail(const lethe_index *index, const lethe_index_tail *tail,
                               lethe_run_writer *writer) {
    lethe_status status = LETHE_OK;
    for (uint64_t shelf = 0; shelf >> index->shelf_bits == 0 && status == LETHE_OK; shelf++)
        status = write_shelf(tail, shelf, writer);
    return status;
}

lethe_status lethe_index_write_sealing(lethe_index *index) {
    return write_tail(index, &index->sealing, &index->sealing_writer);
}

static lethe_status begin_run(lethe_index *index, lethe_run_writer *writer) {
    return lethe_run_begin(writer, index->tail.count, index->tail.base_ms, NULL, &index->memory);
}

/* Takes in the run of a tail. */
static lethe_status end_run(lethe_index *index, lethe_run_writer *writer) {
    lethe_run *run;
    lethe_status status = lethe_run_end(writer, &run);
    return status == LETHE_OK ? lethe_index_take_run(index, run) : status;
}

/* Without a thread. */
static lethe_status seal_at_once(lethe_index *index) {
    lethe_run_writer writer;
    lethe_status status = begin_run(index, &writer);
    if (status != LETHE_OK) return status;
    status = write_tail(index, &index->tail, &writer);
    if (status != LETHE_OK) {
        lethe_run_abandon(&writer);
        return status;
    }
    status = end_run(index, &writer);
    if (status != LETHE_OK) return status;
    empty_tail(index, &index->tail);
    return lethe_index_begin_merges(index);
}

/* --- with a thread --- */

/* Takes in what the thread has done, and gives it what can be merged now. */
static lethe_status collect(lethe_index *index) {
    lethe_index_rest rest;
    lethe_status status = lethe_index_thread_look(index->thread, &rest);
    if (status == LETHE_OK && index->is_sealing && !rest.seals) {
        status = end_run(index, &index->sealing_writer);
        empty_tail(index, &index->sealing);
        index->is_sealing = false;
    }
    for (unsigned level = 0; level < LETHE_INDEX_LEVELS && status == LETHE_OK; level++) {
        if (lethe_index_is_merging(&index->merges[level]) && !rest.merges[level])
            status = lethe_index_finish_merge(index, level);
    }
    if (status == LETHE_OK) status = lethe_index_begin_merges(index);
    if (status == LETHE_OK) lethe_index_thread_call(index->thread, false);
    return status;
}

/* Whether the thread can't keep up, so that there are four times as many runs of a level as are
 * merged at once. */
static bool is_behind(const lethe_index *index) {
    unsigned counts[LETHE_INDEX_LEVELS] = {0};
    for (size_t i = 0; i < lethe_index_run_count(index); i++) {
        unsigned level = lethe_index_runs(index)[i].run->level;
        if (level >= LETHE_INDEX_LEVELS || !lethe_index_is_merging(&index->merges[level])) continue;
        if (++counts[level] > 4 * LETHE_INDEX_FAN) return true;
    }
    return false;
}

/* Hands the tail over, when the one before it is done. */
static lethe_status hand_over(lethe_index *index) {
    lethe_status status = LETHE_OK;
    while (status == LETHE_OK && (index->is_sealing || is_behind(index))) {
        lethe_index_thread_wait(index->thread);
        status = collect(index);
    }
    if (status == LETHE_OK) status = begin_run(index, &index->sealing_writer);
    if (status != LETHE_OK) return status;
    lethe_index_tail emptied = index->sealing;
    index->sealing = index->tail;
    index->tail = emptied;
    index->is_sealing = true;
    lethe_index_thread_call(index->thread, true);
    return LETHE_OK;
}

/* An allocator that is not the default one may be for one thread only. */
static void start_thread(lethe_index *index) {
    bool may = index->options.allocator == NULL && lethe_tune.index_threads > 0;
    index->thread_failed = true;
    if (may && make_tail(index, &index->sealing) == LETHE_OK)
        index->thread = lethe_index_thread_start(index);
    index->thread_failed = index->thread == NULL;
    if (index->thread_failed) drop_tail(index, &index->sealing);
}

static lethe_status seal(lethe_index *index) {
    if (index->thread == NULL && !index->thread_failed) start_thread(index);
    return index->thread != NULL ? hand_over(index) : seal_at_once(index);
}

/* --- adding --- */

static uint64_t shelf_of(const lethe_index *index, uint64_t order) {
    return index->shelf_bits == 0 ? 0 : order >> (64 - index->shelf_bits);
}

/* Whether the tail can take one more on this shelf, with this clock. */
static bool has_room(const lethe_index *index, uint64_t shelf, uint64_t clock_ms) {
    const lethe_index_tail *tail = &index->tail;
    return tail->count < index->tail_limit && tail->shelf_counts[shelf] < SHELF_LIMIT &&
           (tail->count == 0 ||
            (clock_ms >= tail->base_ms && clock_ms - tail->base_ms <= UINT32_MAX));
}

lethe_status lethe_index_add(lethe_index *index, lethe_log_id id, lethe_index_entry entry) {
    uint64_t shelf = shelf_of(index, lethe_run_order(id));
    if (!has_room(index, shelf, entry.clock_ms)) {
        lethe_status status = seal(index);
        if (status != LETHE_OK) return status;
    }
    lethe_index_tail *tail = &index->tail;
    if (tail->count == 0) tail->base_ms = entry.clock_ms;
    lethe_run_item item = {.order = lethe_run_order(id),
                           .rest = lethe_run_rest(id),
                           .digest = entry.digest,
                           .clock_ms = (uint32_t)(entry.clock_ms - tail->base_ms)};
    size_t place = shelf * SHELF_LIMIT + tail->shelf_counts[shelf]++;
    lethe_run_item_store(tail->items + place * ITEM, &item);
    tail->count++;
    if (++index->owed < MERGE_EVERY) return LETHE_OK;
    uint64_t owed = index->owed;
    index->owed = 0;
    if (index->thread != NULL)
        return lethe_index_thread_has_news(index->thread) ? collect(index) : LETHE_OK;
    return lethe_index_merge_on(index, 2 * owed);
}

void lethe_index_prefetch_add(const lethe_index *index, lethe_log_id id) {
    uint64_t shelf = shelf_of(index, lethe_run_order(id));
    size_t place = shelf * SHELF_LIMIT + index->tail.shelf_counts[shelf];
    __builtin_prefetch(index->tail.items + place * ITEM, 1);
}

/* --- looking up --- */

static bool find_in_tail(const lethe_index *index, const lethe_index_tail *tail, lethe_log_id id,
                         lethe_index_entry *out) {
    uint64_t order = lethe_run_order(id), shelf = shelf_of(index, order);
    uint16_t rest = lethe_run_rest(id);
    const unsigned char *items = tail->items + shelf * SHELF_LIMIT * ITEM;
    for (unsigned at = tail->shelf_counts[shelf]; at > 0; at--) {
        lethe_run_item item = lethe_run_item_load(items + (size_t)(at - 1) * ITEM);
        if (item.order != order || item.rest != rest) continue;
        *out =
            (lethe_index_entry){.clock_ms = tail->base_ms + item.clock_ms, .digest = item.digest};
        return true;
    }
    return false;
}

lethe_status lethe_index_find(lethe_index *index, lethe_log_id id, lethe_index_entry *out,
                              bool *found) {
    *found = find_in_tail(index, &index->tail, id, out);
    if (!*found && index->is_sealing) *found = find_in_tail(index, &index->sealing, id, out);
    const lethe_index_slot *runs = lethe_index_runs(index);
    lethe_status status = LETHE_OK;
    for (size_t i = lethe_index_run_count(index); i > 0 && !*found && status == LETHE_OK; i--)
        status = lethe_run_find(runs[i - 1].run, id, &index->room, out, found);
    return status;
}

void lethe_index_prefetch(const lethe_index *index, const lethe_log_id *ids, size_t count) {
    const lethe_index_slot *runs = lethe_index_runs(index);
    size_t run_count = lethe_index_run_count(index);
    for (size_t i = 0; i < count; i++) {
        uint64_t shelf = shelf_of(index, lethe_run_order(ids[i]));
        __builtin_prefetch(index->tail.items + shelf * SHELF_LIMIT * ITEM);
        if (index->is_sealing)
            __builtin_prefetch(index->sealing.items + shelf * SHELF_LIMIT * ITEM);
        for (size_t run = 0; run < run_count; run++)
            lethe_run_prefetch_shelf(runs[run].run, ids[i]);
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t run = 0; run < run_count; run++)
            lethe_run_prefetch_items(runs[run].run, ids[i]);
    }
}

/* --- forgetting --- */

void lethe_index_expire(lethe_index *index, uint64_t clock_ms) {
    lethe_index_slot *runs = lethe_index_runs(index);
    size_t count = lethe_index_run_count(index), gone = 0;
    while (gone < count && runs[gone].run->last_ms + index->options.kept_ms < clock_ms) {
        lethe_index_cancel_merge(index, runs[gone].run);
        index->run_bytes -= lethe_run_memory_bytes(runs[gone].run);
        lethe_run_free(runs[gone++].run);
    }
    if (gone == 0) return;
    memmove(runs, runs + gone, (count - gone) * sizeof *runs);
    index->runs.size = (count - gone) * sizeof *runs;
}

uint64_t lethe_index_planned_tail_bytes(uint64_t ids) {
    uint64_t tails = ids > lethe_tune.index_tail_ids ? 2 : 1;
    return tails * lethe_tune.index_tail_ids * (SHELF_LIMIT / SHELF_USUAL) * ITEM;
}

uint64_t lethe_index_bytes(const lethe_index *index) {
    uint64_t tails = index->sealing.items != NULL ? 2 : 1;
    uint64_t bytes = tails * (tail_bytes(index) + counts_bytes(index)) + index->run_bytes;
    bytes += index->memory.spare_count * lethe_chunks_each_bytes(&index->memory);
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        bytes += lethe_run_file_bytes(lethe_index_runs(index)[i].run);
    return bytes;
}
