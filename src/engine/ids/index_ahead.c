/* engine/ids/index_ahead.c - memory of tails is backed before it is needed.
 *
 * IDEA    The system clears each page when it is touched first. The index touches a page for every
 *         few hundred ids, and that was a fifth of the time of the thread that decides. So the
 *         index's thread has the system back the next few MiB of items ahead of it; and when a tail
 *         is nearly full, the table and the first items of the next one.
 * I1      Nothing rests on it. What was not backed in time is backed when it is touched.
 * I2      Contents stay as they are, so whoever adds goes on meanwhile.
 * I3      Memory that the thread was given stays until lethe_index_thread_wait_backed.
 * WHY     Not all at once: a tail takes what its ids need, and a few MiB more. A small index, which
 *         most are, starts no thread. */
#include "core/tunables.h"
#include "engine/ids/index_internal.h"
#include "engine/ids/index_thread.h"

/* The thread is given this part of what it backs ahead at a time. */
enum { PARTS = 4, ITEM = LETHE_RUN_ITEM_BYTES };

/* Gives it the items of a tail from *backed on, up to this many bytes. */
static void back_items(lethe_index *index, const lethe_tail *tail, uint64_t to) {
    uint64_t most = index->form.limit * ITEM;
    if (to > most) to = most;
    if (to <= index->backed_bytes) return;
    if (lethe_index_thread_back(index->thread, tail->items + index->backed_bytes,
                                to - index->backed_bytes))
        index->backed_bytes = to;
}

/* Makes the tail that comes next. Without memory it is made when its time comes. */
static void prepare_next(lethe_index *index) {
    if (index->tail_count == index->tail_most) return;
    lethe_tail *next = &index->tails[index->tail_count];
    if (next->items != NULL && next->slots != NULL) return;
    if (lethe_tail_make(&index->form, next) != LETHE_OK) return;
    uint64_t items = index->form.limit * ITEM, ahead = lethe_tune.index_ahead_bytes;
    (void)lethe_index_thread_back(index->thread, next->slots, lethe_tail_table_bytes(&index->form));
    (void)lethe_index_thread_back(index->thread, next->items, items < ahead ? items : ahead);
}

void lethe_index_back_ahead(lethe_index *index) {
    const lethe_tail *tail = &index->tails[index->tail_count - 1];
    uint64_t ahead = lethe_tune.index_ahead_bytes, used = tail->count * ITEM;
    if (index->thread_failed || (index->thread == NULL && used < ahead)) return;
    if (index->thread == NULL && !lethe_index_start_thread(index)) return;
    if (index->backed_bytes < used) index->backed_bytes = used;
    if (used + ahead > index->backed_bytes + ahead / PARTS) back_items(index, tail, used + ahead);
    if (tail->count > index->form.limit / 4 * 3) prepare_next(index);
}
