/* engine/ids/index_seal.c - tails of the index become runs.
 *
 * IDEA    When the last tail that there may be begins to take ids, the older half of all is sorted
 *         into one run. It must be done when that tail is full, and is done by a thread
 *         (index_thread.c), or where there is none, by whoever adds: a few items for each id.
 * I1      The tails that are sorted stay, and are asked, until the run takes their place.
 * I2      A run covers an eighth of W at most, unless one tail alone covered more: see
 *         index_merge.c, I3.
 * I3      With a thread, a tail and a writer that it was given are not changed until it says that
 *         it is done.
 * WHY     Half of the tails, so that runs, which are files, are large and few, and that what is
 *         asked for most, the newest, stays in memory. */
#include "engine/ids/index_internal.h"
#include "engine/ids/index_thread.h"

#include "core/tunables.h"

/* How many of the oldest tails become one run. */
static unsigned sealed_at_once(const lethe_index *index) {
    const lethe_tail *tails = index->tails;
    uint64_t first_ms = tails[0].base_ms, last_ms = tails[0].last_ms;
    unsigned count = 1;
    for (; count < index->tail_most / 2; count++) {
        if (tails[count].base_ms < first_ms) first_ms = tails[count].base_ms;
        if (tails[count].last_ms > last_ms) last_ms = tails[count].last_ms;
        uint64_t span_ms = last_ms - first_ms;
        if (span_ms > index->options.window_ms / 8 || span_ms > UINT32_MAX) break;
    }
    return count;
}

bool lethe_index_start_thread(lethe_index *index) {
    if (index->thread != NULL || index->thread_failed) return index->thread != NULL;
    if (!index->options.is_alone && lethe_tune.index_threads > 0)
        index->thread = lethe_index_thread_start(index);
    index->thread_failed = index->thread == NULL;
    return index->thread != NULL;
}

static lethe_status begin_seal(lethe_index *index) {
    unsigned count = sealed_at_once(index);
    uint64_t items = 0;
    for (unsigned i = 0; i < count; i++)
        items += index->tails[i].count;
    (void)lethe_index_start_thread(index);
    lethe_status status = lethe_tail_writer_begin(&index->sealing, index->tails, count,
                                                  lethe_index_place(index, items), &index->memory);
    if (status == LETHE_OK && index->thread != NULL) lethe_index_thread_call(index->thread, true);
    return status;
}

/* Takes in the run of tails that are all written. These are emptied when they are needed. */
static lethe_status end_seal(lethe_index *index) {
    lethe_tail emptied[LETHE_INDEX_TAILS];
    unsigned count = index->sealing.count, left = index->tail_count - count;
    lethe_run *run;
    lethe_status status = lethe_tail_writer_end(&index->sealing, &run);
    if (status == LETHE_OK) status = lethe_index_take_run(index, run);
    if (status != LETHE_OK) return status;
    memcpy(emptied, index->tails, count * sizeof *emptied);
    memmove(index->tails, index->tails + count, left * sizeof *emptied);
    memcpy(index->tails + left, emptied, count * sizeof *emptied);
    index->tail_count = left;
    return LETHE_OK;
}

/* --- with a thread --- */

/* Takes in what the thread has done, and gives it what can be merged now. */
static lethe_status collect(lethe_index *index) {
    lethe_index_rest rest;
    lethe_status status = lethe_index_thread_look(index->thread, &rest);
    if (status == LETHE_OK && lethe_index_is_sealing(index) && !rest.seals)
        status = end_seal(index);
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

static lethe_status wait(lethe_index *index) {
    lethe_index_thread_wait(index->thread);
    return collect(index);
}

/* --- without one --- */

static lethe_status seal_on(lethe_index *index, uint64_t items) {
    bool ended;
    if (!lethe_index_is_sealing(index)) return LETHE_OK;
    lethe_status status = lethe_tail_writer_go_on(&index->form, &index->sealing, items, &ended);
    if (status != LETHE_OK || !ended) return status;
    status = end_seal(index);
    return status == LETHE_OK ? lethe_index_begin_merges(index) : status;
}

/* --- either way --- */

lethe_status lethe_index_turn_tail(lethe_index *index) {
    lethe_status status = LETHE_OK;
    if (index->tail_count == index->tail_most && !lethe_index_is_sealing(index))
        status = begin_seal(index); /* it failed before */
    while (index->thread != NULL && status == LETHE_OK &&
           (index->tail_count == index->tail_most || is_behind(index)))
        status = wait(index);
    if (index->tail_count == index->tail_most && status == LETHE_OK)
        status = seal_on(index, UINT64_MAX);
    if (status == LETHE_OK)
        status = lethe_tail_make(&index->form, &index->tails[index->tail_count]);
    if (status != LETHE_OK) return status;
    index->tail_count++;
    index->backed_bytes = 0;
    return index->tail_count == index->tail_most ? begin_seal(index) : LETHE_OK;
}

lethe_status lethe_index_go_on(lethe_index *index, uint64_t added) {
    lethe_index_back_ahead(index);
    if (index->thread != NULL)
        return lethe_index_thread_has_news(index->thread) ? collect(index) : LETHE_OK;
    lethe_status status = seal_on(index, LETHE_INDEX_TAILS * added);
    return status == LETHE_OK ? lethe_index_merge_on(index, 2 * added) : status;
}
