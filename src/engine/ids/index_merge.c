/* engine/ids/index_merge.c - four runs of the index become one.
 *
 * IDEA    A thread merges (index_thread.c). Where there is none, every merge goes on by two items
 *         for each id that is added. A merge of n items begins when four runs are there, and the
 *         next four come n ids later: it is done by then. So no caller ever waits for a whole
 *         merge.
 * I1      Only neighbours are merged, and of equal ids those of the older run come first: the order
 *         in which entries were added stays (index.c, I2).
 * I2      The runs that are read stay, and are asked, until the new one takes their place.
 * I3      A run covers an eighth of W at most, unless one tail alone covered more. So what is too
 *         old is dropped with its run, and no run is long kept for its last few entries. */
#include "engine/ids/index_internal.h"
#include "engine/ids/index_thread.h"

static void cancel(lethe_index_merge *merge) {
    lethe_run_abandon(&merge->writer);
    for (unsigned i = 0; i < LETHE_INDEX_FAN; i++)
        lethe_run_reader_end(&merge->readers[i]);
}

void lethe_index_cancel_merge(lethe_index *index, const lethe_run *run) {
    for (unsigned level = 0; level < LETHE_INDEX_LEVELS; level++) {
        lethe_index_merge *merge = &index->merges[level];
        bool reads = false;
        for (unsigned i = 0; i < LETHE_INDEX_FAN; i++)
            reads = reads || merge->readers[i].run == run;
        if (!reads) continue;
        if (index->thread != NULL) lethe_index_thread_withdraw(index->thread, level);
        cancel(merge);
    }
}

void lethe_index_cancel_merges(lethe_index *index) {
    for (unsigned level = 0; level < LETHE_INDEX_LEVELS; level++)
        cancel(&index->merges[level]);
}

/* Whether these neighbours may become one run. */
static bool fit_together(const lethe_index *index, const lethe_index_slot *runs, unsigned level) {
    uint64_t first_ms = runs[0].run->base_ms, last_ms = runs[0].run->last_ms;
    for (unsigned i = 0; i < LETHE_INDEX_FAN; i++) {
        if (runs[i].run->level != level) return false;
        if (runs[i].run->base_ms < first_ms) first_ms = runs[i].run->base_ms;
        if (runs[i].run->last_ms > last_ms) last_ms = runs[i].run->last_ms;
    }
    uint64_t span_ms = last_ms - first_ms;
    return span_ms <= index->options.window_ms / 8 && span_ms <= UINT32_MAX;
}

static lethe_status begin(lethe_index *index, const lethe_index_slot *runs,
                          lethe_index_merge *merge) {
    uint64_t items = 0, base_ms = runs[0].run->base_ms;
    for (unsigned i = 0; i < LETHE_INDEX_FAN; i++) {
        items += runs[i].run->count;
        if (runs[i].run->base_ms < base_ms) base_ms = runs[i].run->base_ms;
    }
    lethe_status status = lethe_run_begin(&merge->writer, items, base_ms,
                                          lethe_index_place(index, items), &index->memory);
    for (unsigned i = 0; i < LETHE_INDEX_FAN && status == LETHE_OK; i++)
        status = lethe_run_reader_begin(&merge->readers[i], runs[i].run);
    if (status != LETHE_OK) cancel(merge);
    return status;
}

lethe_status lethe_index_begin_merges(lethe_index *index) {
    const lethe_index_slot *runs = lethe_index_runs(index);
    size_t count = lethe_index_run_count(index);
    lethe_status status = LETHE_OK;
    for (size_t i = 0; i + LETHE_INDEX_FAN <= count && status == LETHE_OK; i++) {
        unsigned level = runs[i].run->level;
        if (level >= LETHE_INDEX_LEVELS || lethe_index_is_merging(&index->merges[level])) continue;
        if (fit_together(index, runs + i, level))
            status = begin(index, runs + i, &index->merges[level]);
    }
    return status == LETHE_ENOMEM ? LETHE_OK : status; /* there will be another time */
}

lethe_status lethe_index_finish_merge(lethe_index *index, unsigned level) {
    lethe_index_merge *merge = &index->merges[level];
    lethe_index_slot *runs = lethe_index_runs(index);
    lethe_run *made;
    size_t count = lethe_index_run_count(index), at = 0;
    lethe_status status = lethe_run_end(&merge->writer, &made);
    if (status != LETHE_OK) return status;
    made->level = level + 1;
    while (runs[at].run != merge->readers[0].run)
        at++;
    cancel(merge);
    for (unsigned i = 0; i < LETHE_INDEX_FAN; i++) {
        index->run_bytes -= lethe_run_memory_bytes(runs[at + i].run);
        lethe_run_free(runs[at + i].run);
    }
    index->run_bytes += lethe_run_memory_bytes(made);
    runs[at].run = made;
    size_t after = at + LETHE_INDEX_FAN;
    memmove(runs + at + 1, runs + after, (count - after) * sizeof *runs);
    index->runs.size -= (LETHE_INDEX_FAN - 1) * sizeof *runs;
    return LETHE_OK;
}

/* The reader with the least item, of equal ones the oldest; NULL when all are at their end. */
static lethe_run_reader *choose(lethe_index_merge *merge) {
    lethe_run_reader *chosen = NULL;
    for (unsigned i = 0; i < LETHE_INDEX_FAN; i++) {
        lethe_run_reader *reader = &merge->readers[i];
        if (!lethe_run_reader_has_next(reader)) continue;
        if (chosen == NULL || lethe_run_item_is_before(&reader->next, &chosen->next))
            chosen = reader;
    }
    return chosen;
}

static lethe_status move_one(lethe_index_merge *merge, bool *ended) {
    lethe_run_reader *reader = choose(merge);
    *ended = reader == NULL;
    if (*ended) return LETHE_OK;
    lethe_run_item item = reader->next;
    item.clock_ms += (uint32_t)(reader->run->base_ms - merge->writer.run->base_ms);
    lethe_status status = lethe_run_append(&merge->writer, &item);
    return status == LETHE_OK ? lethe_run_reader_advance(reader) : status;
}

lethe_status lethe_index_merge_slice(lethe_index_merge *merge, uint64_t *items, bool *ended) {
    lethe_status status = LETHE_OK;
    *ended = false;
    if (lethe_run_can_merge(&merge->writer, merge->readers))
        *items -= lethe_run_merge(&merge->writer, merge->readers, *items);
    while (*items > 0 && status == LETHE_OK && !*ended) {
        status = move_one(merge, ended);
        if (!*ended) (*items)--;
    }
    return status;
}

static lethe_status go_on(lethe_index *index, unsigned level, uint64_t items) {
    lethe_index_merge *merge = &index->merges[level];
    lethe_status status = LETHE_OK;
    while (items > 0 && status == LETHE_OK && lethe_index_is_merging(merge)) {
        bool ended;
        status = lethe_index_merge_slice(merge, &items, &ended);
        if (status != LETHE_OK || !ended) continue;
        items--;
        status = lethe_index_finish_merge(index, level);
        /* The next four may wait already. */
        if (status == LETHE_OK) status = lethe_index_begin_merges(index);
    }
    return status;
}

lethe_status lethe_index_merge_on(lethe_index *index, uint64_t items) {
    lethe_status status = LETHE_OK;
    for (unsigned level = 0; level < LETHE_INDEX_LEVELS && status == LETHE_OK; level++)
        status = go_on(index, level, items);
    return status;
}
