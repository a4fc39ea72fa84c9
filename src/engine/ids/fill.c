/* engine/ids/fill.c - see fill.h.
 *
 * IDEA    The caller reads segments and expands their ids into rounds, a few of them in a ring. A
 *         thread, the leader, adds one round after the other to the window, and shares each with
 *         the helpers (lethe_window_add_runs), so that every CPU has something to do: expanding
 *         takes a fifth of the time that the window needs.
 * I1      Rounds first to first + count - 1, modulo ROUNDS, are full and belong to the leader; the
 *         others belong to the caller, who fills the one after them.
 * I2      After an error the leader takes rounds without adding them, so that nobody waits.
 * I3      The tasks of a round are taken one by one, by whoever comes first, the leader included.
 *         So on a busy machine it does not wait for a helper that has not begun yet. Task and
 *         argument stay until the last task is done.
 * WHY     A round is as long as it is because leader and helpers wait for each other at its end.
 * LIMIT   More than eight threads gain nothing: the caller's reading is slower then. */
#include "engine/ids/fill.h"

#include "core/allocator.h"
#include "core/tunables.h"
#include "os/lock.h"
#include "os/thread.h"

enum { ROUNDS = 3, ROUND_IDS = 1 << 18, ROUND_RUNS = 1024, MOST_THREADS = 8 };

struct round {
    uint32_t count, run_count;
    lethe_window_run runs[ROUND_RUNS];
    lethe_hash ids[ROUND_IDS];
};

struct lethe_fill {
    lethe_window *window;
    uint32_t round_ids;
    struct round *filling; /* the caller's; NULL: not taken from the ring yet */
    lethe_os_thread leader;
    lethe_os_thread helpers[MOST_THREADS - 1];
    unsigned helper_count;
    lethe_crew crew; /* leader and helpers */

    lethe_os_lock lock;
    /* The ring, is_ending or tasks_left have changed. */
    lethe_os_condition changed;
    unsigned first, count;
    bool is_ending;
    lethe_status status;

    /* There are tasks, or will be none any more. */
    lethe_os_condition called;
    void (*task)(void *argument, uint32_t number);
    void *argument;
    uint32_t next_task, tasks_left; /* not begun, from this one on; not done */
    bool is_over;

    struct round rounds[ROUNDS];
};

/* Does tasks that nobody has begun, under the lock. */
static void do_tasks(lethe_fill *fill) {
    while (fill->next_task < fill->crew.members) {
        uint32_t number = fill->next_task++;
        lethe_os_lock_give(&fill->lock);
        fill->task(fill->argument, number);
        lethe_os_lock_take(&fill->lock);
        if (--fill->tasks_left == 0) lethe_os_condition_wake_all(&fill->changed);
    }
}

static void *help(void *context) {
    lethe_fill *fill = context;
    lethe_os_lock_take(&fill->lock);
    while (!fill->is_over) {
        do_tasks(fill);
        if (!fill->is_over) lethe_os_condition_wait(&fill->called, &fill->lock);
    }
    lethe_os_lock_give(&fill->lock);
    return NULL;
}

/* The crew's function. */
static void run_tasks(void *context, void (*task)(void *argument, uint32_t number),
                      void *argument) {
    lethe_fill *fill = context;
    lethe_os_lock_take(&fill->lock);
    fill->task = task;
    fill->argument = argument;
    fill->next_task = 0;
    fill->tasks_left = fill->crew.members;
    lethe_os_condition_wake_all(&fill->called);
    do_tasks(fill);
    while (fill->tasks_left > 0)
        lethe_os_condition_wait(&fill->changed, &fill->lock);
    lethe_os_lock_give(&fill->lock);
}

/* Takes the next full round, under the lock; NULL at the end. */
static const struct round *next_round(lethe_fill *fill) {
    while (fill->count == 0 && !fill->is_ending)
        lethe_os_condition_wait(&fill->changed, &fill->lock);
    return fill->count > 0 ? &fill->rounds[fill->first] : NULL;
}

static void *lead(void *context) {
    lethe_fill *fill = context;
    const struct round *round;
    lethe_os_lock_take(&fill->lock);
    while ((round = next_round(fill)) != NULL) {
        lethe_status status = fill->status;
        lethe_os_lock_give(&fill->lock);
        if (status == LETHE_OK) {
            status = lethe_window_add_runs(fill->window, round->ids, round->runs, round->run_count,
                                           &fill->crew);
        }
        lethe_os_lock_take(&fill->lock);
        fill->status = status;
        fill->first = (fill->first + 1) % ROUNDS;
        fill->count--;
        lethe_os_condition_wake_all(&fill->changed);
    }
    lethe_os_lock_give(&fill->lock);
    return NULL;
}

/* Starts helpers, so that there are that many threads with the leader; fewer if it must be. */
static void start_helpers(lethe_fill *fill, unsigned threads) {
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    while (fill->helper_count + 1 < threads &&
           lethe_os_thread_start(&fill->helpers[fill->helper_count], help, fill) == LETHE_OK) {
        fill->helper_count++;
    }
    lethe_os_lock_take(&fill->lock);
    fill->crew = (lethe_crew){.members = fill->helper_count + 1, .run = run_tasks, .context = fill};
    fill->next_task = fill->crew.members;
    lethe_os_lock_give(&fill->lock);
}

/* Ends the helpers, who have nothing to do, and frees everything. */
static void release(lethe_fill *fill) {
    lethe_os_lock_take(&fill->lock);
    fill->is_over = true;
    lethe_os_condition_wake_all(&fill->called);
    lethe_os_lock_give(&fill->lock);
    for (unsigned i = 0; i < fill->helper_count; i++)
        lethe_os_thread_join(&fill->helpers[i]);
    lethe_os_condition_drop(&fill->called);
    lethe_os_condition_drop(&fill->changed);
    lethe_os_lock_drop(&fill->lock);
    lethe_release(NULL, fill, sizeof *fill);
}

lethe_fill *lethe_fill_begin(lethe_window *window, unsigned threads) {
    lethe_fill *fill = lethe_alloc_zeroed(NULL, sizeof *fill);
    if (fill == NULL) return NULL;
    fill->window = window;
    fill->round_ids = (uint32_t)lethe_tune.fill_round_ids;
    if (fill->round_ids == 0 || fill->round_ids > ROUND_IDS) fill->round_ids = ROUND_IDS;
    lethe_os_lock_init(&fill->lock);
    lethe_os_condition_init(&fill->changed);
    lethe_os_condition_init(&fill->called);
    start_helpers(fill, threads);
    if (lethe_os_thread_start(&fill->leader, lead, fill) == LETHE_OK) return fill;
    release(fill);
    return NULL;
}

/* The round that the caller fills; waits while the leader has them all. */
static struct round *filling_round(lethe_fill *fill) {
    if (fill->filling != NULL) return fill->filling;
    lethe_os_lock_take(&fill->lock);
    while (fill->count == ROUNDS)
        lethe_os_condition_wait(&fill->changed, &fill->lock);
    fill->filling = &fill->rounds[(fill->first + fill->count) % ROUNDS];
    lethe_os_lock_give(&fill->lock);
    fill->filling->count = fill->filling->run_count = 0;
    return fill->filling;
}

static lethe_status hand_over(lethe_fill *fill) {
    lethe_os_lock_take(&fill->lock);
    fill->filling = NULL;
    fill->count++;
    lethe_status status = fill->status;
    lethe_os_condition_wake_all(&fill->changed);
    lethe_os_lock_give(&fill->lock);
    return status;
}

lethe_status lethe_fill_run(lethe_fill *fill, const unsigned char *log_ids, lethe_id_run run) {
    lethe_status status = LETHE_OK;
    for (uint32_t done = 0; done < run.count && status == LETHE_OK;) {
        struct round *round = filling_round(fill);
        uint32_t room = fill->round_ids - round->count;
        uint32_t count = run.count - done < room ? run.count - done : room;
        lethe_log_ids_expand(log_ids + (size_t)done * LETHE_LOG_ID_BYTES, count,
                             round->ids + round->count);
        round->runs[round->run_count++] =
            (lethe_window_run){.now_ms = run.clock_ms, .count = count};
        round->count += count;
        done += count;
        if (round->count == fill->round_ids || round->run_count == ROUND_RUNS)
            status = hand_over(fill);
    }
    return status;
}

lethe_status lethe_fill_end(lethe_fill *fill) {
    if (fill == NULL) return LETHE_OK;
    if (fill->filling != NULL) (void)hand_over(fill);
    lethe_os_lock_take(&fill->lock);
    fill->is_ending = true;
    lethe_os_condition_wake_all(&fill->changed);
    lethe_os_lock_give(&fill->lock);
    lethe_os_thread_join(&fill->leader);
    lethe_status status = fill->status;
    release(fill);
    return status;
}
