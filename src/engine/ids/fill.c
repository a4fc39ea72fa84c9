/* engine/ids/fill.c - see fill.h.
 *
 * IDEA    A ring of pieces between two threads. Reading a segment and expanding its ids takes a
 *         quarter of the time that the window needs for them, so that the opening of a store takes
 *         hardly longer than its window.
 * I1      Pieces first to first + count - 1, modulo PIECES, are full and belong to the thread; the
 *         others belong to the caller.
 * I2      After an error the thread takes pieces without adding them, so that nobody waits. */
#include "engine/ids/fill.h"

#include "core/allocator.h"
#include "os/lock.h"
#include "os/thread.h"

enum { PIECES = 16, PIECE_IDS = 4096 };

struct piece {
    lethe_hash ids[PIECE_IDS];
    uint32_t count;
    uint64_t clock_ms;
};

struct lethe_fill {
    lethe_window *window;
    lethe_os_thread thread;
    lethe_os_lock lock;
    /* Something below has changed. */
    lethe_os_condition changed;
    unsigned first, count;
    bool is_ending;
    lethe_status status;
    struct piece pieces[PIECES];
};

/* Takes the next full piece, under the lock; NULL at the end. */
static struct piece *next_piece(lethe_fill *fill) {
    while (fill->count == 0 && !fill->is_ending)
        lethe_os_condition_wait(&fill->changed, &fill->lock);
    return fill->count > 0 ? &fill->pieces[fill->first] : NULL;
}

static void *work(void *context) {
    lethe_fill *fill = context;
    const struct piece *piece;
    lethe_os_lock_take(&fill->lock);
    while ((piece = next_piece(fill)) != NULL) {
        lethe_status status = fill->status;
        lethe_os_lock_give(&fill->lock);
        if (status == LETHE_OK) {
            status = lethe_window_add_batch(fill->window, piece->ids, piece->count, piece->clock_ms,
                                            NULL);
        }
        lethe_os_lock_take(&fill->lock);
        fill->status = status;
        fill->first = (fill->first + 1) % PIECES;
        fill->count--;
        lethe_os_condition_wake_all(&fill->changed);
    }
    lethe_os_lock_give(&fill->lock);
    return NULL;
}

static void release(lethe_fill *fill) {
    lethe_os_condition_drop(&fill->changed);
    lethe_os_lock_drop(&fill->lock);
    lethe_release(NULL, fill, sizeof *fill);
}

lethe_fill *lethe_fill_begin(lethe_window *window) {
    lethe_fill *fill = lethe_alloc_zeroed(NULL, sizeof *fill);
    if (fill == NULL) return NULL;
    fill->window = window;
    lethe_os_lock_init(&fill->lock);
    lethe_os_condition_init(&fill->changed);
    if (lethe_os_thread_start(&fill->thread, work, fill) == LETHE_OK) return fill;
    release(fill);
    return NULL;
}

lethe_status lethe_fill_run(lethe_fill *fill, const unsigned char *log_ids, lethe_id_run run) {
    lethe_status status = LETHE_OK;
    for (uint32_t done = 0; done < run.count && status == LETHE_OK;) {
        lethe_os_lock_take(&fill->lock);
        while (fill->count == PIECES)
            lethe_os_condition_wait(&fill->changed, &fill->lock);
        struct piece *piece = &fill->pieces[(fill->first + fill->count) % PIECES];
        lethe_os_lock_give(&fill->lock);
        piece->count = run.count - done < PIECE_IDS ? run.count - done : PIECE_IDS;
        piece->clock_ms = run.clock_ms;
        lethe_log_ids_expand(log_ids + (size_t)done * LETHE_LOG_ID_BYTES, piece->count, piece->ids);
        done += piece->count;
        lethe_os_lock_take(&fill->lock);
        fill->count++;
        status = fill->status;
        lethe_os_condition_wake_all(&fill->changed);
        lethe_os_lock_give(&fill->lock);
    }
    return status;
}

lethe_status lethe_fill_end(lethe_fill *fill) {
    if (fill == NULL) return LETHE_OK;
    lethe_os_lock_take(&fill->lock);
    fill->is_ending = true;
    lethe_os_condition_wake_all(&fill->changed);
    lethe_os_lock_give(&fill->lock);
    lethe_os_thread_join(&fill->thread);
    lethe_status status = fill->status;
    release(fill);
    return status;
}
