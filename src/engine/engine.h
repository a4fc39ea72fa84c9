/* engine/engine.h - the inside of a counter store, shared by the files of this folder.
 *
 *   open.c     opening, closing                   modes.c    options, and what a store stays
 *   recover.c  from the log on disk to memory
 *   apply.c    taking operations in               screen.c   lengths and times of operations
 *   decide.c   which are applied                  group.c    what belongs to one commit
 *   commit.c   the thread that writes commits     fold.c     the thread that moves values into COUNTERS
 *   read.c     get, each, top, marks              view.c     what a reader in another process sees
 *   info.c     numbers                            check.c    verifying
 *   sketched.c a sketch in place of counters      sketch_store.c  how that lies on disk
 *   ledger.c   ids that left the window, for ever lost.c     ids that an earlier version lost
 *
 * Everything here is guarded by `lock`, but the group that is being committed: that belongs to the
 * committing thread, and the array that is being folded, which belongs to the folding one. */
#ifndef LETHE_ENGINE_ENGINE_H
#define LETHE_ENGINE_ENGINE_H

#include "engine/buffer.h"
#include "engine/ledger.h"
#include "engine/segment.h"
#include "engine/sketch_store.h"
#include "engine/state.h"
#include "engine/store.h"
#include "engine/tally.h"
#include "os/lock.h"
#include "os/thread.h"

#define LETHE_ENGINE_LONGEST_WINDOW_MS UINT64_C(2592000000) /* 30 days */

enum {
    LETHE_GROUPS = 3,          /* one filling, the others being written or waiting for it */
    LETHE_GROUP_LIMIT = 65536, /* operations */
    LETHE_CHUNK = 1024,        /* operations decided together */
    LETHE_WITNESSES = 64,      /* events that are asked about a jump of the clock before them */
    LETHE_PERIODS = LETHE_PERIODS_SHOWN,
    LETHE_CLOCK_STEPS = 64, /* ids within W / 64 are recorded under one time */
    LETHE_PERIOD_STEPS = 16 /* the log is dropped in periods of W / 16 */
};

/* An id on its way to disk, for exact mode and the ledger: neither index nor ledger has it yet. */
typedef struct lethe_pending {
    lethe_log_id id;
    lethe_index_entry entry;
} lethe_pending;

/* A counter that a group changes. */
typedef struct lethe_touched {
    lethe_tally_record *record;
} lethe_touched;

/* Operations that are committed together. */
typedef struct lethe_group {
    uint64_t number;    /* of the commit */
    uint64_t opened_ms; /* by the machine's clock, when the first came */
    uint32_t
        operations;     /* decided in it, whatever the outcome; sets, deletes and marks count too */
    lethe_batch *batch; /* marks, entries of the index */
    lethe_buffer ids, runs, touched, changes; /* touched: lethe_touched each */
    bool holds_deltas;                        /* changes is a segment of deltas: see sketched.c */
    uint32_t delta_count;                     /* in it */
    lethe_buffer pending;    /* lethe_pending each: see lethe_engine_keeps_pending */
    uint32_t *pending_slots; /* places in pending + 1, by hash; NULL where there are none */
    lethe_state state;       /* as it is after this commit */
    bool drops_ids;          /* the commit deletes segments of IDS in [drop_from, drop_to) */
    uint64_t drop_from, drop_to;
    uint64_t expire_before_ms; /* with it: entries of INDEX that are older matter no more */
    bool drops_changes;        /* ... and of CHANGES up to state.folded */
    bool wants_cover;          /* the log would be shorter if the ledger covered more */
} lethe_group;

/* A stretch of the log that is dropped as a whole. */
typedef struct lethe_period {
    uint64_t first_ms, last_ms;
    uint64_t first_commit, last_commit;
    uint64_t ids;
} lethe_period;

struct lethe_counter {
    lethe_counter_options options; /* with defaults filled in */
    const lethe_allocator *allocator;
    lethe_store *store;
    uint64_t view_fingerprint; /* read_only: of the store's files, before they were last read */
    lethe_os_lock turn;        /* to be next to take the lock: see lethe_engine_enter */
    lethe_os_lock lock;
    lethe_state state;    /* what the filling group will be committed with */
    lethe_window *window; /* NULL when read_only */
    lethe_ledger *ledger; /* NULL when nothing is kept for ever */
    uint64_t kept_ms;     /* W and one step of the clock: how long the log is kept */
    uint64_t step_ms;     /* of the clock: see LETHE_CLOCK_STEPS */
    uint64_t base_clock_ms,
        base_boot_ms;        /* wall clock: the store's time when the machine's was that */
    uint64_t found_clock_ms; /* the store's time when it was last written before */
    uint64_t looked_ms;      /* when the window was last asked for its numbers */

    uint64_t announced_ms[LETHE_WITNESSES]; /* times of operations behind the next submission */
    size_t announced;

    lethe_tally *tally;
    bool tally_complete;   /* a key that is not in it is not in the store */
    uint32_t *tags;        /* of the changes of a chunk */
    bool *was_absent;      /* by each change of an operation */
    uint64_t base_commit;  /* stamp of commit n is n - base_commit: see lethe_engine_stamp */
    uint32_t folded_stamp; /* records with a larger one are not in COUNTERS */

    /* In place of the counters: sketched.c. */
    bool has_sketch;      /* never changes: it may be read without the lock */
    lethe_sketch *sketch; /* NULL in a store of counters */
    lethe_sketch_saved sketch_saved;
    uint64_t sketch_ceiling, sketch_limit; /* no counter that answers is above; where it is full */
    uint64_t sketch_unscanned, sketch_scan_after; /* operations since the ceiling was looked at */
    lethe_bytes added_keys[LETHE_CHUNK]; /* additions put off, of the chunk that is being decided */
    uint64_t added_weights[LETHE_CHUNK];
    size_t added_count;
    lethe_buffer deltas; /* lethe_sketch_delta of one operation */

    lethe_period periods[LETHE_PERIODS];
    uint32_t period_count;

    lethe_group groups[LETHE_GROUPS];
    uint64_t filling;    /* the group with number n is groups[n % LETHE_GROUPS] */
    uint64_t sealed;     /* the last one that takes no more; filling = sealed + 1 */
    uint64_t durable;    /* the last one on disk */
    lethe_status failed; /* of a commit or a fold; then nothing goes on */
    lethe_detail failure;
    lethe_detail notice;     /* what opening found and mended */
    lethe_os_condition work; /* something to seal or write */
    lethe_os_condition done; /* something is durable, or failed */
    lethe_os_thread committer, folder;
    bool committer_runs, folder_runs, stopping;

    bool fold_wanted, fold_running;
    uint64_t fold_cut;  /* the commit a running fold goes up to */
    uint64_t fold_done; /* the last one folded, to be noted by the next commit */
    uint64_t unfolded_bytes, unfolded_changes;
    /* Segments of changes, counted from the last fold before the store was opened: all; those that are folded; those
     * up to the cut of a running fold; those that the state on disk says are folded. */
    uint64_t segments, folded_segments, fold_cut_segments, noted_segments;
    lethe_os_condition fold;
};

/* The stamp of records that the commit changes. Records have little room for it, so stamps begin anew before they
 * are too large (restamp in commit.c). Those of changes that were replayed from the log are LETHE_REPLAYED_STAMP. */
enum { LETHE_FOLDED_STAMP, LETHE_REPLAYED_STAMP, LETHE_FIRST_STAMP };
static inline uint32_t lethe_engine_stamp(const lethe_counter *counter, uint64_t commit) {
    return (uint32_t)(commit - counter->base_commit);
}

/* Whether groups know their ids until they are durable: index and ledger have them only then. */
static inline bool lethe_engine_keeps_pending(const lethe_counter *counter) {
    return counter->options.exact || counter->ledger != NULL;
}

static inline lethe_group *lethe_engine_filling(lethe_counter *counter) {
    return &counter->groups[counter->filling % LETHE_GROUPS];
}

/* Takes the lock, in turn. Deciding holds it nearly all the time, and takes it again as soon as it gave it up: without
 * turns, the committer would get it only when nothing more can be decided before it has. */
static inline void lethe_engine_enter(lethe_counter *counter) {
    lethe_os_lock_take(&counter->turn);
    lethe_os_lock_take(&counter->lock);
    lethe_os_lock_give(&counter->turn);
}
static inline void lethe_engine_leave(lethe_counter *counter) {
    lethe_os_lock_give(&counter->lock);
}

/* The store's time now: the wall clock's, advanced by the machine's; or the latest event's. */
uint64_t lethe_engine_now(const lethe_counter *counter);
/* Sets the state's two clocks to this moment. Whoever puts the state on disk does this before: the next to open
 * reckons by the pair how much time has passed. With the lock. */
void lethe_engine_set_moment(lethe_counter *counter);
/* Keeps what went wrong with a call for lethe_counter_explain. With the lock. */
void lethe_engine_remark(lethe_counter *counter, const lethe_detail *detail);
/* Notes the first failure; nothing is committed after it. With the lock. */
void lethe_engine_fail(lethe_counter *counter, lethe_status status, const lethe_detail *detail);

/* modes.c */
LETHE_MUST_CHECK lethe_status lethe_engine_check_options(const lethe_counter_options *options,
                                                         lethe_detail *detail);
/* Settles which modes the store has from now on: those that it had, unless the options say otherwise. In counter->options a
 * mode is then LETHE_ON or 0. A change by which something would be lost is LETHE_EINVAL. */
LETHE_MUST_CHECK lethe_status lethe_engine_settle_modes(lethe_counter *counter,
                                                        lethe_detail *detail);
/* A store stays what it was made as: exact counters, or a sketch of one size. */
LETHE_MUST_CHECK lethe_status lethe_engine_check_kind(const lethe_counter *counter,
                                                      lethe_detail *detail);

/* recover.c: fills tally, window, periods, index. */
LETHE_MUST_CHECK lethe_status lethe_engine_replay(lethe_counter *counter, lethe_detail *detail);
LETHE_MUST_CHECK lethe_status lethe_engine_recover(lethe_counter *counter, lethe_detail *detail);
/* After replay: whether all is there that the state speaks of. */
LETHE_MUST_CHECK lethe_status lethe_engine_expect_all(const lethe_counter *counter,
                                                      lethe_detail *detail);
/* Before opening a store to write changes anything: whether it reaches as far as was acknowledged, and holds what its state
 * speaks of. */
LETHE_MUST_CHECK lethe_status lethe_engine_inspect(lethe_store *store, lethe_detail *detail);
/* Sums up the log in periods, without touching the ids. For readers. */
LETHE_MUST_CHECK lethe_status lethe_engine_survey(lethe_counter *counter, lethe_detail *detail);
void lethe_engine_add_period(lethe_counter *counter, uint64_t commit, uint64_t clock_ms,
                             uint64_t ids);

/* lost.c: a segment of ids that is missing from the log. */
typedef struct lethe_lost {
    uint64_t commit, ids;
    uint64_t latest_ms; /* none of its ids was recorded later */
} lethe_lost;
typedef lethe_status (*lethe_lost_visit)(lethe_counter *counter, uint64_t commit,
                                         lethe_bytes segment);
/* Puts the log in order if no copy of what is lost can be counted, and says so in counter->notice; shows visit the
 * segment, if it could be made again. Errors: LETHE_ECORRUPT (one could be), those of the store. */
LETHE_MUST_CHECK lethe_status lethe_engine_mend_log(lethe_counter *counter, const lethe_lost *lost,
                                                    lethe_lost_visit visit, lethe_detail *detail);
/* open.c: fills a reader, whose store is open, from it. */
LETHE_MUST_CHECK lethe_status lethe_engine_read(lethe_counter *counter, lethe_detail *detail);
/* view.c: makes the store as it is on disk by now what a reader sees. On error it sees what it did before. */
LETHE_MUST_CHECK lethe_status lethe_engine_view(lethe_counter *counter, const char *folder,
                                                lethe_detail *detail);

/* group.c */
LETHE_MUST_CHECK lethe_status lethe_group_prepare(lethe_group *group,
                                                  const lethe_allocator *allocator,
                                                  bool keeps_pending);
void lethe_group_drop(lethe_group *group);
LETHE_MUST_CHECK lethe_status lethe_group_begin(lethe_group *group, uint64_t number);
/* Notes that a record changes in this group. */
LETHE_MUST_CHECK lethe_status lethe_group_touch(lethe_group *group, lethe_tally_record *record,
                                                uint32_t stamp);
/* Adds an id that is recorded under clock_ms; the caller has reserved its room. */
LETHE_MUST_CHECK lethe_status lethe_group_add_id(lethe_group *group, lethe_log_id id,
                                                 uint64_t clock_ms);
LETHE_MUST_CHECK lethe_status lethe_group_add_pending(lethe_group *group, lethe_pending pending);
/* Adds the pending ids to the group's batch, as entries of the index. Reads the group only; any thread. */
LETHE_MUST_CHECK lethe_status lethe_group_put_index(lethe_group *group, lethe_store *store);
const lethe_pending *lethe_group_find_pending(const lethe_group *group, lethe_log_id id);
static inline bool lethe_group_is_empty(const lethe_group *group) {
    return group->operations == 0;
}
/* Whether its commit has a segment of these: an empty one too where older ones are dropped (commit.c, I4). */
static inline bool lethe_group_writes_ids(const lethe_group *group) {
    return group->runs.size > 0 || group->drops_ids;
}
static inline bool lethe_group_writes_changes(const lethe_group *group) {
    return group->touched.size > 0 || group->delta_count > 0 || group->drops_changes;
}

/* commit.c: with the lock. */
/* Notes in the state how the window is, if there is one. */
void lethe_engine_look(lethe_counter *counter);
/* Closes the filling group and hands it to the committer; begins the next, waiting for room. Does nothing to
 * an empty one. */
LETHE_MUST_CHECK lethe_status lethe_engine_seal(lethe_counter *counter);
LETHE_MUST_CHECK lethe_status lethe_engine_wait_durable(lethe_counter *counter, uint64_t number);
void *lethe_engine_committer_main(void *context);

/* fold.c */
void *lethe_engine_folder_main(void *context);
/* With the lock: folds everything up to now, and waits for it. */
LETHE_MUST_CHECK lethe_status lethe_engine_fold_all(lethe_counter *counter);

/* sketched.c: of a store that keeps a sketch. With the lock, but top. */
/* Loads the sketch and makes the changes once more that the log has behind it. On error nothing changed. */
LETHE_MUST_CHECK lethe_status lethe_engine_sketch_replay(lethe_counter *counter,
                                                         lethe_detail *detail);
/* Makes an operation's changes and logs them, or, where *overflows says so, none of them. What was put off must be
 * settled while the operations' bytes are there. */
LETHE_MUST_CHECK lethe_status lethe_engine_sketch_change(lethe_counter *counter,
                                                         const lethe_operation *operation,
                                                         bool *overflows);
/* Makes the additions that were put off. */
LETHE_MUST_CHECK lethe_status lethe_engine_sketch_settle(lethe_counter *counter);
uint64_t lethe_engine_sketch_ask(const lethe_counter *counter, lethe_bytes key);
/* By how much an estimate may be too high, but for the sketch's delta. */
double lethe_engine_sketch_error(const lethe_counter *counter);
LETHE_MUST_CHECK lethe_status lethe_engine_sketch_top(lethe_counter *counter, size_t n,
                                                      lethe_counter_visit visit, void *context);

/* apply.c: finds a counter's record, reading it from disk if it is not in memory. With the lock. */
LETHE_MUST_CHECK lethe_status lethe_engine_record(lethe_counter *counter, uint32_t tag,
                                                  lethe_bytes key, lethe_tally_record **out);
static inline uint32_t lethe_engine_tag(const lethe_counter *counter, lethe_bytes key) {
    return lethe_tally_tag(lethe_hash_bytes(counter->state.seed, key.data, key.size));
}

#endif
