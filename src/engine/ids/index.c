/* engine/ids/index.c - INDEX, the exact record of ids.
 *
 * IDEA    The last ids are in the tail: small unsorted shelves, by the first bits of the id. A full
 *         tail is sorted, shelf by shelf, into a run; four runs of a size become one of the next.
 *         So an id is written a few times in order, and never at a place of its own. Looking up
 *         means asking the tail and each run, of which there are a dozen for a billion ids.
 * I1      The log has everything that is here: ids, digests, and times. So nothing of the index
 *         need be durable. A store that is opened makes it again, with the window and from the same
 *         bytes; a commit that fails takes both along.
 * I2      Of two entries of an id, the one that was added later is in the tail, or in a later run,
 *         or later in its run. It is the one that counts.
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
#include "os/file.h"

/* A shelf of the tail is half full when the tail is full, on average. Ids are hashes under a secret
 * seed, so that it is all but never full before; then the tail is. */
enum { SHELF_LIMIT = 128, SHELF_USUAL = 64, MERGE_EVERY = 64, ITEM = LETHE_RUN_ITEM_BYTES };

static size_t tail_bytes(const lethe_index *index) {
    return ((size_t)SHELF_LIMIT * ITEM) << index->shelf_bits;
}

static size_t counts_bytes(const lethe_index *index) {
    return sizeof *index->shelf_counts << index->shelf_bits;
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
    lethe_status status = LETHE_OK;
    if (!lethe_os_path(index->path, "%s/index.tmp", options->folder)) status = LETHE_EINVAL;
    if (status == LETHE_OK) {
        index->tail = lethe_alloc_zeroed(options->allocator, tail_bytes(index));
        index->shelf_counts = lethe_alloc_zeroed(options->allocator, counts_bytes(index));
        if (index->tail == NULL || index->shelf_counts == NULL) status = LETHE_ENOMEM;
    }
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
    lethe_index_cancel_merges(index);
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        lethe_run_free(lethe_index_runs(index)[i].run);
    lethe_buffer_free(&index->runs);
    lethe_buffer_free(&index->room);
    lethe_release(allocator, index->tail, tail_bytes(index));
    lethe_release(allocator, index->shelf_counts, counts_bytes(index));
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

static lethe_status write_shelf(const lethe_index *index, uint64_t shelf,
                                lethe_run_writer *writer) {
    lethe_run_item items[SHELF_LIMIT];
    unsigned count = index->shelf_counts[shelf];
    const unsigned char *at = index->tail + shelf * SHELF_LIMIT * ITEM;
    for (unsigned i = 0; i < count; i++)
        items[i] = lethe_run_item_load(at + (size_t)i * ITEM);
    sort_shelf(items, count);
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i < count && status == LETHE_OK; i++)
        status = lethe_run_append(writer, &items[i]);
    return status;
}

static lethe_status seal(lethe_index *index) {
    lethe_run_writer writer;
    lethe_run *run;
    lethe_status status = lethe_run_begin(&writer, index->tail_count, index->tail_base_ms, NULL,
                                          index->options.allocator);
    if (status != LETHE_OK) return status;
    for (uint64_t shelf = 0; shelf >> index->shelf_bits == 0 && status == LETHE_OK; shelf++)
        status = write_shelf(index, shelf, &writer);
    if (status != LETHE_OK) {
        lethe_run_abandon(&writer);
        return status;
    }
    status = lethe_run_end(&writer, &run);
    if (status == LETHE_OK) status = lethe_index_take_run(index, run);
    if (status != LETHE_OK) return status;
    memset(index->shelf_counts, 0, counts_bytes(index));
    index->tail_count = 0;
    return lethe_index_begin_merges(index);
}

/* --- adding --- */

static uint64_t shelf_of(const lethe_index *index, uint64_t order) {
    return index->shelf_bits == 0 ? 0 : order >> (64 - index->shelf_bits);
}

/* Whether the tail can take one more on this shelf, with this clock. */
static bool has_room(const lethe_index *index, uint64_t shelf, uint64_t clock_ms) {
    return index->tail_count < index->tail_limit && index->shelf_counts[shelf] < SHELF_LIMIT &&
           (index->tail_count == 0 ||
            (clock_ms >= index->tail_base_ms && clock_ms - index->tail_base_ms <= UINT32_MAX));
}

lethe_status lethe_index_add(lethe_index *index, lethe_log_id id, lethe_index_entry entry) {
    uint64_t shelf = shelf_of(index, lethe_run_order(id));
    if (!has_room(index, shelf, entry.clock_ms)) {
        lethe_status status = seal(index);
        if (status != LETHE_OK) return status;
    }
    if (index->tail_count == 0) index->tail_base_ms = entry.clock_ms;
    lethe_run_item item = {.order = lethe_run_order(id),
                           .rest = lethe_run_rest(id),
                           .digest = entry.digest,
                           .clock_ms = (uint32_t)(entry.clock_ms - index->tail_base_ms)};
    size_t place = shelf * SHELF_LIMIT + index->shelf_counts[shelf]++;
    lethe_run_item_store(index->tail + place * ITEM, &item);
    index->tail_count++;
    if (++index->owed < MERGE_EVERY) return LETHE_OK;
    uint64_t owed = index->owed;
    index->owed = 0;
    return lethe_index_merge_on(index, 2 * owed);
}

/* --- looking up --- */

static bool find_in_tail(const lethe_index *index, lethe_log_id id, lethe_index_entry *out) {
    uint64_t order = lethe_run_order(id), shelf = shelf_of(index, order);
    uint16_t rest = lethe_run_rest(id);
    const unsigned char *items = index->tail + shelf * SHELF_LIMIT * ITEM;
    for (unsigned at = index->shelf_counts[shelf]; at > 0; at--) {
        lethe_run_item item = lethe_run_item_load(items + (size_t)(at - 1) * ITEM);
        if (item.order != order || item.rest != rest) continue;
        *out = (lethe_index_entry){.clock_ms = index->tail_base_ms + item.clock_ms,
                                   .digest = item.digest};
        return true;
    }
    return false;
}

lethe_status lethe_index_find(lethe_index *index, lethe_log_id id, lethe_index_entry *out,
                              bool *found) {
    *found = find_in_tail(index, id, out);
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
        __builtin_prefetch(index->tail + shelf * SHELF_LIMIT * ITEM);
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

uint64_t lethe_index_bytes(const lethe_index *index) {
    uint64_t bytes = tail_bytes(index) + counts_bytes(index) + index->run_bytes;
    for (size_t i = 0; i < lethe_index_run_count(index); i++)
        bytes += lethe_run_file_bytes(lethe_index_runs(index)[i].run);
    return bytes;
}
