/* engine/ids/renew.c - see renew.h.
 *
 * IDEA    The thread walks through the log on disk, again and again, each time from where the last
 *         walk ended, until little is missing. That it takes with the lock, from disk and from the
 *         groups that are not on disk yet. Then the new window takes the old one's place.
 * I1      The new window has every id of the log that the old one must know, under the same times
 *         and in the same order: segments on disk, sealed groups, the filling group. So it is the
 *         window that one who opened the store at this moment would make from the log.
 * I2      A chunk of operations is decided under one hold of the lock, and when it is decided the
 *         window has just the ids that its group has: the windows are exchanged between chunks.
 * I3      The log has as many ids as the state says it has. If not, it is damaged: as many
 *         duplicates could be counted, so nothing more is committed.
 * I4      Until the exchange nothing depends on the new window, so a renewal may be given up at any
 *         moment. Without memory for it, or where the log can't be read, the old window stays.
 * WHY     To look for an id in twenty parts costs five times what one costs. To fill a window costs
 *         what a few ids in ten cost, since each is made for several times the ids before.
 * MEMORY  Both windows, until the exchange. Windows of more than a GiB stay as they are, and those
 *         that have a cap.
 * LIMIT   Not the forgetful kind, whose window does not become slower. Not with one thread only. */
#include "engine/ids/renew.h"

#include "core/detail.h"
#include "core/tunables.h"
#include "engine/store.h"

/* If so few segments are missing, they are taken with the lock. */
enum { FEW_SEGMENTS = 4 };
/* Room for the ids that come meanwhile, as a share of those that are there. */
enum { HEADROOM_SHARE = 4 };

/* A renewal under way. */
struct renewal {
    lethe_store *store;
    lethe_window *window;
    lethe_detail detail;

    /* The last commit whose ids the new window has. */
    uint64_t taken;
    /* Ids of the log that were recorded before this have expired. */
    uint64_t expired_ms;

    /* What the state said of the log when the renewal began: its ids, those of commits from
     * dropped + 1 to sealed. And how many of them have come. */
    uint64_t log_ids, dropped, sealed, ids_come;
};

static bool is_given_up(const struct renewal *renewal) {
    return atomic_load(&renewal->store->renewal.gives_up);
}

static lethe_status record_run(struct renewal *renewal, const unsigned char *ids,
                               lethe_id_run run) {
    if (run.clock_ms < renewal->expired_ms) return LETHE_OK;
    return lethe_ids_record_run(renewal->window, ids, run);
}

static lethe_status take_segment(struct renewal *renewal, uint64_t commit, lethe_bytes segment) {
    lethe_id_segment ids;
    lethe_status status = lethe_id_segment_open(segment, &ids);
    uint64_t from = 0;
    for (uint32_t i = 0; i < ids.run_count && status == LETHE_OK; i++) {
        lethe_id_run run = lethe_id_segment_run(&ids, i);
        status = record_run(renewal, ids.ids + from * LETHE_LOG_ID_BYTES, run);
        from += run.count;
    }
    if (commit > renewal->dropped && commit <= renewal->sealed) renewal->ids_come += ids.count;
    renewal->taken = commit;
    return status;
}

/* Begins a walk through the segments that are missing. It sees all that is durable by now. */
static lethe_status begin_walk(const struct renewal *renewal, lethe_walk **out) {
    unsigned char from[LETHE_COMMIT_KEY_BYTES];
    lethe_commit_key(renewal->taken + 1, from);
    return lethe_walk_begin(renewal->store->disk, LETHE_FAMILY_IDS,
                            (lethe_bytes){.data = from, .size = sizeof from}, out);
}

/* Takes the segments that are missing; fewer, if it is given up. */
static lethe_status walk_through(struct renewal *renewal) {
    lethe_walk *walk;
    lethe_status status = begin_walk(renewal, &walk);
    if (status != LETHE_OK) return status;
    lethe_bytes key, value;
    uint64_t commit;
    while (status == LETHE_OK && !is_given_up(renewal) && lethe_walk_next(walk, &key, &value)) {
        if (lethe_commit_of_key(key, &commit))
            status = take_segment(renewal, commit, value);
        else
            status = LETHE_ECORRUPT;
    }
    if (status == LETHE_ECORRUPT || status == LETHE_EVERSION)
        (void)lethe_explain_damage("a segment of ids", status, &renewal->detail);
    lethe_status ended = lethe_walk_end(walk, status == LETHE_OK ? &renewal->detail : NULL);
    return status == LETHE_OK ? ended : status;
}

/* With the lock, which is given up while it walks: takes what is on disk, except a few segments. */
static lethe_status take_most(struct renewal *renewal) {
    lethe_store *store = renewal->store;
    lethe_status status = LETHE_OK;
    uint64_t durable = store->log.durable;
    while (status == LETHE_OK && !is_given_up(renewal) && renewal->taken + FEW_SEGMENTS < durable) {
        lethe_engine_leave(store);
        status = walk_through(renewal);
        lethe_engine_enter(store);
        /* Commits without ids have no segment. */
        if (renewal->taken < durable) renewal->taken = durable;
        durable = store->log.durable;
    }
    return status;
}

/* With the lock: takes the ids of a group that is not on disk yet. */
static lethe_status take_group(struct renewal *renewal, const lethe_group *group) {
    const lethe_id_run *runs = (const void *)group->runs.data;
    size_t run_count = group->runs.size / sizeof *runs;
    const unsigned char *ids = lethe_id_segment_ids(&group->ids);
    lethe_status status = LETHE_OK;
    uint64_t from = 0;
    for (size_t i = 0; i < run_count && status == LETHE_OK; i++) {
        status = record_run(renewal, ids + from * LETHE_LOG_ID_BYTES, runs[i]);
        from += runs[i].count;
    }
    if (group->number <= renewal->sealed) renewal->ids_come += from;
    return status;
}

/* With the lock: takes the rest. */
static lethe_status take_rest(struct renewal *renewal) {
    lethe_log *log = &renewal->store->log;
    lethe_status status = walk_through(renewal);
    /* What is on disk by now may be more than the committer has said; no group is taken twice. */
    uint64_t number = renewal->taken > log->durable ? renewal->taken : log->durable;
    while (status == LETHE_OK && number++ < log->filling)
        status = take_group(renewal, lethe_log_group(log, number));
    return status;
}

/* Compares what has come with what the log must have had (I3). Of a log that dropped something
 * meanwhile nobody knows that any more. */
static lethe_status expect_all(struct renewal *renewal) {
    const lethe_store *store = renewal->store;
    bool has_dropped = store->state.dropped != renewal->dropped;
    if (has_dropped || renewal->ids_come == renewal->log_ids) return LETHE_OK;
    return lethe_detail_fill(&renewal->detail, LETHE_ECORRUPT,
                             "the log has %llu ids, and the state says %llu; restore a backup",
                             (unsigned long long)renewal->ids_come,
                             (unsigned long long)renewal->log_ids);
}

/* Makes the new window, with room for the ids that there are and some more. That is no promise of
 * so many for the time after: as ids become fewer, it will shrink. */
static lethe_status make_window(struct renewal *renewal) {
    lethe_store *store = renewal->store;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    lethe_status status = lethe_window_info(store->ids.window, store->state.clock_ms, &stats);
    if (status == LETHE_OK)
        status = lethe_ids_make_window(&store->ids, &store->options, &store->state,
                                       store->options.capacity, &renewal->window);
    if (status == LETHE_OK)
        status = lethe_window_refill(renewal->window, stats.ids + stats.ids / HEADROOM_SHARE);
    return status;
}

/* With the lock, which is given up meanwhile: makes and fills the new window. Errors: LETHE_ENOMEM,
 * LETHE_EFULL, those of the log. */
static lethe_status fill(struct renewal *renewal) {
    lethe_store *store = renewal->store;
    uint64_t clock_ms = store->state.clock_ms, kept_ms = store->ids.kept_ms;
    renewal->expired_ms = clock_ms > kept_ms ? clock_ms - kept_ms : 0;
    renewal->log_ids = store->state.log_ids;
    renewal->taken = renewal->dropped = store->state.dropped;
    renewal->sealed = store->log.sealed;
    lethe_status status = make_window(renewal);
    if (status == LETHE_OK) status = take_most(renewal);
    if (status == LETHE_OK && !is_given_up(renewal)) status = take_rest(renewal);
    if (status == LETHE_OK && !is_given_up(renewal)) status = expect_all(renewal);
    return status == LETHE_OK ? lethe_window_refill(renewal->window, 0) : status;
}

/* Whether fewer parts are to be asked in the new window. Meanwhile the old one may have lost some:
 * their ids have expired. */
static bool pays(const struct renewal *renewal) {
    const lethe_store *store = renewal->store;
    lethe_window_stats old = LETHE_INIT(lethe_window_stats), new = old;
    uint64_t clock_ms = store->state.clock_ms;
    return lethe_window_info(store->ids.window, clock_ms, &old) == LETHE_OK &&
           lethe_window_info(renewal->window, clock_ms, &new) == LETHE_OK &&
           (new.parts < old.parts || lethe_tune.renew_parts == 1);
}

/* With the lock: puts the new window in the place of the old one. */
static void exchange(struct renewal *renewal) {
    lethe_store *store = renewal->store;
    lethe_window *old = store->ids.window;
    store->ids.window = renewal->window;
    renewal->window = old;
    store->renewal.renewed++;
}

static void *renew(void *context) {
    struct renewal renewal = {.store = context};
    lethe_store *store = context;
    lethe_engine_enter(store);
    lethe_status status = fill(&renewal);
    bool is_whole = status == LETHE_OK && store->failed == LETHE_OK && !is_given_up(&renewal);
    if (is_whole && pays(&renewal)) exchange(&renewal);
    bool is_damaged = status == LETHE_ECORRUPT || status == LETHE_EVERSION; /* I3; else I4 */
    if (is_damaged) lethe_engine_fail(store, status, &renewal.detail);
    lethe_engine_leave(store);
    lethe_window_free(renewal.window);
    lethe_engine_enter(store);
    store->renewal.running = false;
    lethe_os_condition_wake_all(&store->log.done);
    lethe_engine_leave(store);
    return NULL;
}

static bool can_renew(const lethe_store *store) {
    return store->options.max_memory_bytes == 0 && !store->state.forgetful &&
           store->options.threads > 1 && !store->renewal.running &&
           !atomic_load(&store->renewal.gives_up) && store->ids.window != NULL;
}

/* Whether its parts are so many that making it again pays. A part that has room for more ids than
 * there are will soon be the only one. */
static bool is_due(const lethe_window_stats *stats) {
    return stats->parts >= lethe_tune.renew_parts &&
           stats->memory_bytes <= lethe_tune.renew_most_bytes &&
           (stats->capacity <= stats->ids || lethe_tune.renew_parts == 1);
}

void lethe_renew_if_due(lethe_store *store) {
    lethe_renewal *renewal = &store->renewal;
    uint64_t applied = store->state.totals.applied;
    if (applied < renewal->not_before || !can_renew(store)) return;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    if (lethe_window_info(store->ids.window, store->state.clock_ms, &stats) != LETHE_OK) return;
    if (stats.ids < lethe_tune.renew_ids) {
        renewal->not_before = applied + (lethe_tune.renew_ids - stats.ids);
        return;
    }
    if (!is_due(&stats)) return;
    /* Where parts are many though ids do not become more, to fill it again costs less than half of
     * what they cost. */
    renewal->not_before = applied + stats.ids * lethe_tune.renew_percent / 100;
    lethe_renew_join(store);
    renewal->running = lethe_os_thread_start(&renewal->thread, renew, store) == LETHE_OK;
    renewal->has_thread = renewal->running;
}

void lethe_renew_stop(lethe_store *store) {
    atomic_store(&store->renewal.gives_up, true);
    while (store->renewal.running)
        lethe_os_condition_wait(&store->log.done, &store->lock);
}

void lethe_renew_join(lethe_store *store) {
    if (store->renewal.has_thread) lethe_os_thread_join(&store->renewal.thread);
    store->renewal.has_thread = false;
}
