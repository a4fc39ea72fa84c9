/* engine/ids/index_thread.c - see index_thread.h.
 *
 * IDEA    Sorting tails and merging runs needs nothing but them, and they do not change. So it can
 *         be done beside the thread that decides, which goes on asking them until it takes the new
 *         run in their place.
 * I1      Tails come first, since the user may wait for them. Merges go on in turn, SLICE items
 *         each, so that a long one holds up no other.
 * I2      Of a merge that is not in the rest, the thread touches nothing, except while it is busy
 *         with it. A merge at its end may be handed over again, and is at its end at once.
 * I3      It takes no memory from index->memory, which is the user's alone: room for all items is
 *         made before.
 * I4      Memory is backed before anything else, PIECE_BYTES at a time: who adds is about to
 *         touch it.
 * WHY     The thread that decides is the slowest one of a store, and this was a fourth of its work.
 * LIMIT   A user that is faster for long waits, so that runs do not become many. */
#include "engine/ids/index_thread.h"

#include <stdatomic.h>

#include "core/allocator.h"
#include "os/lock.h"
#include "os/memory.h"
#include "os/thread.h"

enum { SLICE = 4096, NOT_BUSY = LETHE_INDEX_LEVELS, STRETCHES = 4, PIECE_BYTES = 2 << 20 };

/* Memory that is to be backed. */
struct stretch {
    char *from;
    uint64_t bytes;
};

struct lethe_index_thread {
    lethe_index *index;
    lethe_os_thread thread;
    /* Something was done or failed, and the user has not looked since. */
    _Atomic bool has_news;

    lethe_os_lock lock;
    /* There is something to do, or nothing any more; something is done. */
    lethe_os_condition called, done;
    lethe_index_rest rest;
    unsigned busy_level, next_level;
    /* The first one first. */
    struct stretch stretches[STRETCHES];
    unsigned stretch_count;
    bool is_backing;
    lethe_status status;
    bool is_stopping;
};

/* With the lock: reports it to the user. */
static void report(lethe_index_thread *thread, lethe_status status) {
    if (thread->status == LETHE_OK) thread->status = status;
    atomic_store(&thread->has_news, true);
}

static void do_seal(lethe_index_thread *thread) {
    lethe_index *index = thread->index;
    bool ended = false;
    lethe_os_lock_give(&thread->lock);
    lethe_status status = lethe_tail_writer_go_on(&index->form, &index->sealing, SLICE, &ended);
    lethe_os_lock_take(&thread->lock);
    if (!ended && status == LETHE_OK) return;
    thread->rest.seals = false;
    report(thread, status);
}

static void do_merge(lethe_index_thread *thread, unsigned level) {
    bool ended = false;
    uint64_t items = SLICE;
    thread->busy_level = level;
    lethe_os_lock_give(&thread->lock);
    lethe_status status = lethe_index_merge_slice(&thread->index->merges[level], &items, &ended);
    lethe_os_lock_take(&thread->lock);
    thread->busy_level = NOT_BUSY;
    if ((ended || status != LETHE_OK) && thread->rest.merges[level]) {
        thread->rest.merges[level] = false;
        report(thread, status);
    }
}

static void do_back(lethe_index_thread *thread) {
    struct stretch *first = &thread->stretches[0];
    char *from = first->from;
    uint64_t bytes = first->bytes < PIECE_BYTES ? first->bytes : PIECE_BYTES;
    first->from += bytes;
    first->bytes -= bytes;
    if (first->bytes == 0) memmove(first, first + 1, --thread->stretch_count * sizeof *first);
    thread->is_backing = true;
    lethe_os_lock_give(&thread->lock);
    lethe_os_populate(from, (size_t)bytes);
    lethe_os_lock_take(&thread->lock);
    thread->is_backing = false;
}

/* The merge whose turn it is; LETHE_INDEX_LEVELS if there is none. */
static unsigned next_merge(lethe_index_thread *thread) {
    for (unsigned i = 0; i < LETHE_INDEX_LEVELS; i++) {
        unsigned level = (thread->next_level + i) % LETHE_INDEX_LEVELS;
        if (!thread->rest.merges[level]) continue;
        thread->next_level = level + 1;
        return level;
    }
    return LETHE_INDEX_LEVELS;
}

static void *work(void *context) {
    lethe_index_thread *thread = context;
    lethe_os_lock_take(&thread->lock);
    while (!thread->is_stopping) {
        unsigned level = LETHE_INDEX_LEVELS;
        if (thread->status == LETHE_OK && !thread->rest.seals) level = next_merge(thread);
        if (thread->stretch_count > 0) {
            do_back(thread);
        } else if (thread->status == LETHE_OK && thread->rest.seals) {
            do_seal(thread);
        } else if (level < LETHE_INDEX_LEVELS) {
            do_merge(thread, level);
        } else {
            lethe_os_condition_wait(&thread->called, &thread->lock);
            continue;
        }
        lethe_os_condition_wake_all(&thread->done);
    }
    lethe_os_lock_give(&thread->lock);
    return NULL;
}

static void release(lethe_index_thread *thread) {
    lethe_os_condition_drop(&thread->done);
    lethe_os_condition_drop(&thread->called);
    lethe_os_lock_drop(&thread->lock);
    lethe_release(NULL, thread, sizeof *thread);
}

lethe_index_thread *lethe_index_thread_start(lethe_index *index) {
    lethe_index_thread *thread = lethe_alloc_zeroed(NULL, sizeof *thread);
    if (thread == NULL) return NULL;
    thread->index = index;
    thread->busy_level = NOT_BUSY;
    lethe_os_lock_init(&thread->lock);
    lethe_os_condition_init(&thread->called);
    lethe_os_condition_init(&thread->done);
    if (lethe_os_thread_start(&thread->thread, work, thread) == LETHE_OK) return thread;
    release(thread);
    return NULL;
}

void lethe_index_thread_stop(lethe_index_thread *thread) {
    if (thread == NULL) return;
    lethe_os_lock_take(&thread->lock);
    thread->is_stopping = true;
    lethe_os_condition_wake_all(&thread->called);
    lethe_os_lock_give(&thread->lock);
    lethe_os_thread_join(&thread->thread);
    release(thread);
}

void lethe_index_thread_call(lethe_index_thread *thread, bool seals) {
    lethe_os_lock_take(&thread->lock);
    if (seals) thread->rest.seals = true;
    for (unsigned level = 0; level < LETHE_INDEX_LEVELS; level++)
        thread->rest.merges[level] = lethe_index_is_merging(&thread->index->merges[level]);
    lethe_os_condition_wake_all(&thread->called);
    lethe_os_lock_give(&thread->lock);
}

void lethe_index_thread_withdraw(lethe_index_thread *thread, unsigned level) {
    lethe_os_lock_take(&thread->lock);
    thread->rest.merges[level] = false;
    while (thread->busy_level == level)
        lethe_os_condition_wait(&thread->done, &thread->lock);
    lethe_os_lock_give(&thread->lock);
}

bool lethe_index_thread_has_news(lethe_index_thread *thread) {
    return atomic_load_explicit(&thread->has_news, memory_order_acquire);
}

lethe_status lethe_index_thread_look(lethe_index_thread *thread, lethe_index_rest *out) {
    lethe_os_lock_take(&thread->lock);
    atomic_store(&thread->has_news, false);
    *out = thread->rest;
    lethe_status status = thread->status;
    lethe_os_lock_give(&thread->lock);
    return status;
}

void lethe_index_thread_wait(lethe_index_thread *thread) {
    lethe_os_lock_take(&thread->lock);
    bool for_tail = thread->rest.seals;
    while (thread->status == LETHE_OK &&
           (for_tail ? thread->rest.seals : !atomic_load(&thread->has_news)))
        lethe_os_condition_wait(&thread->done, &thread->lock);
    lethe_os_lock_give(&thread->lock);
}

bool lethe_index_thread_back(lethe_index_thread *thread, void *memory, uint64_t bytes) {
    lethe_os_lock_take(&thread->lock);
    bool has_room = thread->stretch_count < STRETCHES;
    if (has_room) {
        thread->stretches[thread->stretch_count++] = (struct stretch){memory, bytes};
        lethe_os_condition_wake_all(&thread->called);
    }
    lethe_os_lock_give(&thread->lock);
    return has_room;
}

void lethe_index_thread_wait_backed(lethe_index_thread *thread) {
    if (thread == NULL) return;
    lethe_os_lock_take(&thread->lock);
    thread->stretch_count = 0;
    while (thread->is_backing)
        lethe_os_condition_wait(&thread->done, &thread->lock);
    lethe_os_lock_give(&thread->lock);
}
