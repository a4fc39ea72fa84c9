/* engine/open.c - opening and closing a store.
 *
 * IDEA    A writer reads the state, resolves its modes, starts the clock, fills memory from the
 *         log, starts its threads, and commits the settings: the first proof that the store can be
 *         written. A reader makes a view (view.c).
 * I1      A store that can't be opened is left as it was. */
#include <stdatomic.h>

#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "core/tunables.h"
#include "engine/store.h"
#include "os/clock.h"

static const uint64_t DEFAULT_WINDOW_MS = UINT64_C(259200000);
static const double DEFAULT_ERROR = 1e-12;
enum { DEFAULT_SKETCH_TOP = 1000 };

static void fill_defaults(lethe_store *store, const lethe_store_options *options) {
    store->options = *options;
    lethe_store_options *filled = &store->options;
    if (filled->counters_memory_bytes == 0) filled->counters_memory_bytes = (uint64_t)1 << 30;
    if (filled->commit_operations == 0) filled->commit_operations = LETHE_GROUP_LIMIT / 2;
    if (filled->max_future_ms == 0) filled->max_future_ms = 60000;
    if (filled->threads == 0) filled->threads = lethe_os_cpus();
    /* An allocator that is not the default one may be for one thread only. */
    if (filled->allocator != NULL && lethe_tune.shared_allocator == 0) filled->threads = 1;
    store->allocator = filled->allocator;
}

void lethe_engine_default_settings(lethe_store_options *options) {
    if (options->window_ms == 0) options->window_ms = DEFAULT_WINDOW_MS;
    if (options->error == 0) options->error = DEFAULT_ERROR;
}

/* What the options leave open stays as it was; a new store gets the defaults. */
static void resolve_settings(lethe_store *store) {
    lethe_store_options *options = &store->options;
    lethe_state *state = &store->state;
    if (options->window_ms == 0) options->window_ms = state->window_ms;
    if (options->error == 0) options->error = state->error;
    lethe_engine_default_settings(options);
    lethe_ids_plan(&store->ids, options->window_ms);
}

/* With event time an event that was late stays late when W becomes longer, or when ids are kept for
 * ever from now on: its id may have been forgotten, and it would be counted twice. This ends when W
 * says the same; with a ledger it never does. Where all that was ever applied is still in the log,
 * nothing was forgotten. */
static void resolve_known_from(lethe_store *store) {
    lethe_state *state = &store->state;
    bool has_forgotten = state->log_ids < state->totals.applied && !state->forever;
    if (has_forgotten && state->clock_ms > state->window_ms &&
        state->clock_ms - state->window_ms > state->known_from_ms) {
        state->known_from_ms = state->clock_ms - state->window_ms;
    }
    bool window_says_so = !store->options.forever &&
                          state->clock_ms - state->known_from_ms >= store->options.window_ms;
    if (!store->options.event_time || window_says_so) state->known_from_ms = 0;
}

/* Refuses what only a store that is there already can be asked for. */
static lethe_status check_new(const lethe_store_options *options, lethe_detail *detail) {
    if (options->sketch_bytes == 0 && options->sketch_top != 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a store of exact counters lists no most frequent keys; give the "
                                 "size of a sketch as well");
    }
    return lethe_meters_check_new(options, detail);
}

/* Gives a new store its secret, and its kind of values. */
static lethe_status found_store(lethe_store *store, lethe_detail *detail) {
    lethe_status status = check_new(&store->options, detail);
    if (status != LETHE_OK) return status;
    store->state =
        (lethe_state){.seed = store->options.seed, .commit = lethe_tune.first_commit - 1};
    if (store->options.seed == 0 &&
        lethe_os_random(&store->state.seed, sizeof store->state.seed) != LETHE_OK) {
        return lethe_detail_fill(detail, LETHE_EIO, "the system has no random numbers");
    }
    store->state.seed |= store->state.seed == 0;
    store->state.forgetful = store->options.forgetful == LETHE_SWITCH_ON;
    if (store->options.scale > 0) store->state.scale = (uint32_t)store->options.scale;
    store->state.sketch_bytes = store->options.sketch_bytes;
    store->state.sketch_top = store->options.sketch_top;
    if (store->state.sketch_top == 0 && store->state.sketch_bytes != 0) {
        store->state.sketch_top = DEFAULT_SKETCH_TOP;
    }
    return LETHE_OK;
}

static lethe_status load_state(lethe_store *store, lethe_detail *detail) {
    lethe_status status = lethe_state_load(store->disk, &store->state, detail);
    if (status == LETHE_OK) status = lethe_disk_expect(store->disk, store->state.commit, detail);
    if (status == LETHE_OK) return lethe_engine_check_kind(store, detail);
    if (status != LETHE_ENOTFOUND) return status;
    status = lethe_disk_expect(store->disk, 0, detail);
    if (status != LETHE_OK) return status;
    /* A process that was killed while it made the store left one without a state. */
    if (lethe_disk_records(store->disk, LETHE_FAMILY_IDS) > 0 ||
        lethe_disk_records(store->disk, LETHE_FAMILY_COUNTERS) > 0) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "the store's state is missing; restore a backup");
    }
    if (store->options.read_only) {
        return lethe_disk_unmade(lethe_disk_folder(store->disk), detail);
    }
    return found_store(store, detail);
}

static lethe_status prepare_writes(lethe_store *store) {
    const lethe_store_options *options = &store->options;
    lethe_status status = lethe_values_prepare_writes(&store->values, store->state.commit + 1);
    for (unsigned i = 0; i < LETHE_GROUPS && status == LETHE_OK; i++) {
        status = lethe_group_prepare(&store->log.groups[i], store->allocator, options->forever);
    }
    return status;
}

/* Commits the settings and the clock: the first proof that this store can be written. */
static lethe_status commit_settings(lethe_store *store, lethe_detail *detail) {
    lethe_state *state = &store->state;
    state->window_ms = store->options.window_ms;
    state->error = store->options.error;
    state->exact = store->options.exact;
    state->check_payload = store->options.check_payload;
    state->event_time = store->options.event_time;
    state->forever = store->ids.ledger != NULL;
    lethe_status status = lethe_log_begin(store);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    lethe_log_filling(&store->log)->operations = 1;
    status = lethe_log_seal(store);
    if (status == LETHE_OK) status = lethe_log_wait(store, store->log.sealed);
    if (status != LETHE_OK && detail != NULL) *detail = store->failure;
    return status;
}

static lethe_status start_threads(lethe_store *store, lethe_detail *detail) {
    lethe_status status =
        lethe_os_thread_start(&store->log.committer, lethe_log_committer_main, store);
    store->log.committer_runs = status == LETHE_OK;
    if (status == LETHE_OK) {
        status = lethe_os_thread_start(&store->fold.thread, lethe_fold_main, store);
        store->fold.thread_runs = status == LETHE_OK;
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot start a thread");
}

static lethe_status open_values(lethe_store *store, lethe_detail *detail) {
    lethe_status status =
        lethe_values_open(&store->values, store->disk, &store->state, &store->options, detail);
    /* The caller's texts are not needed any more. */
    store->options.per = store->options.zone = store->options.keep = NULL;
    return status;
}

/* What whoever opened the store should know, unless there is something worse to say. */
static void note_clock(lethe_store *store) {
    bool by_age = !store->options.event_time && store->options.forever != LETHE_SWITCH_ON;
    if (!by_age || lethe_clock_knows_boot(&store->state)) return;
    if (store->notice.text[0] != '\0') return;
    (void)lethe_detail_fill(&store->notice, LETHE_OK,
                            "/proc/sys/kernel/random/boot_id cannot be read, so the wall clock "
                            "decides how old ids are: if it is set ahead before the store is "
                            "opened again, events can count twice; make that file readable "
                            "(systemd: no ProcSubset=pid)");
}

static lethe_status open_to_write(lethe_store *store, const char *folder, lethe_detail *detail) {
    lethe_status status = lethe_engine_resolve_modes(store, detail);
    if (status != LETHE_OK) return status;
    lethe_clock_start(&store->clock, &store->state, store->options.event_time);
    resolve_settings(store);
    resolve_known_from(store);
    lethe_clock_stamp(&store->clock, &store->state);
    status = open_values(store, detail);
    if (status != LETHE_OK) return status;
    status = prepare_writes(store);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    status = lethe_claims_open(&store->claims, store->disk, store->allocator, detail);
    if (status != LETHE_OK) return status;
    status = lethe_ids_open(&store->ids, folder, &store->options, &store->state, detail);
    if (status == LETHE_OK) status = lethe_log_recover(store, detail);
    if (status == LETHE_OK) status = lethe_holds_open(store, detail);
    if (status == LETHE_OK) status = lethe_ids_found_ledger(&store->ids, &store->state, detail);
    /* The committer may take the lock only once the first group is there. */
    lethe_engine_enter(store);
    if (status == LETHE_OK) status = start_threads(store, detail);
    if (status == LETHE_OK) status = commit_settings(store, detail);
    lethe_engine_leave(store);
    if (status == LETHE_OK) note_clock(store);
    return status;
}

lethe_status lethe_engine_read(lethe_store *store, lethe_detail *detail) {
    lethe_status status = load_state(store, detail);
    if (status != LETHE_OK) return status;
    resolve_settings(store);
    status = open_values(store, detail);
    if (status == LETHE_OK) status = lethe_log_replay(store, detail);
    if (status == LETHE_OK) status = lethe_claims_expect(store->disk, &store->state, detail);
    if (status != LETHE_OK) return status;
    return lethe_claims_open(&store->claims, store->disk, store->allocator, detail);
}

static lethe_status open_store(lethe_store *store, const char *folder, lethe_detail *detail) {
    if (store->options.read_only) return lethe_engine_view(store, folder, detail);
    lethe_status status = lethe_disk_open(folder, LETHE_DISK_WRITE, store->options.create,
                                          lethe_log_inspect, &store->disk, detail);
    if (status == LETHE_OK) status = load_state(store, detail);
    return status == LETHE_OK ? open_to_write(store, folder, detail) : status;
}

static void free_store(lethe_store *store) {
    const lethe_allocator *allocator = store->allocator;
    lethe_engine_enter(store);
    store->stopping = true;
    lethe_os_condition_wake_all(&store->log.work);
    lethe_os_condition_wake_all(&store->fold.wake);
    lethe_renew_stop(store);
    lethe_engine_leave(store);
    lethe_renew_join(store);
    if (store->fold.thread_runs) lethe_os_thread_join(&store->fold.thread);
    if (store->log.committer_runs) lethe_os_thread_join(&store->log.committer);
    for (unsigned i = 0; i < LETHE_GROUPS; i++) {
        lethe_group_drop(&store->log.groups[i]);
    }
    lethe_ids_close(&store->ids);
    lethe_holds_close(store);
    lethe_values_close(&store->values);
    lethe_claims_close(&store->claims);
    lethe_disk_close(store->disk);
    lethe_os_condition_drop(&store->log.work);
    lethe_os_condition_drop(&store->log.done);
    lethe_os_condition_drop(&store->fold.wake);
    lethe_os_lock_drop(&store->lock);
    lethe_os_lock_drop(&store->turn);
    lethe_release(allocator, store, sizeof *store);
}

static uint64_t next_opening(void) {
    static _Atomic uint64_t last;
    return atomic_fetch_add(&last, 1) + 1;
}

lethe_status lethe_store_open(const char *folder, const lethe_store_options *options,
                              lethe_store **out, lethe_detail *detail) {
    if (out != NULL) *out = NULL;
    if (out == NULL || folder == NULL) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the folder, or the place for the store, is NULL");
    }
    lethe_store_options taken;
    lethe_status status = LETHE_TAKE(options, &taken, allocator);
    if (status != LETHE_OK) {
        return lethe_detail_fill(detail, status,
                                 "the options have a size of 0, or fields that this version of "
                                 "lethe does not know");
    }
    if (!lethe_allocator_is_usable(taken.allocator))
        return lethe_detail_fill(detail, LETHE_EINVAL, "the allocator lacks a function");
    status = lethe_engine_check_options(&taken, detail);
    if (status != LETHE_OK) return status;
    lethe_store *store = lethe_alloc_zeroed(taken.allocator, sizeof *store);
    if (store == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    fill_defaults(store, &taken);
    store->opening = next_opening();
    lethe_os_lock_init(&store->turn);
    lethe_os_lock_init(&store->lock);
    lethe_os_condition_init(&store->log.work);
    lethe_os_condition_init(&store->log.done);
    lethe_os_condition_init(&store->fold.wake);
    status = open_store(store, folder, detail);
    if (status != LETHE_OK) {
        if (store->disk != NULL) lethe_disk_refuse(store->disk);
        free_store(store);
        return status;
    }
    if (detail != NULL) *detail = store->notice;
    *out = store;
    return LETHE_OK;
}

/* Leaves a store whose counters the next process to open it has nothing to add to. Nobody asks
 * window and index any more, so a fold may use the memory of them.
 * RocksDB is not asked to empty its own log. Everything in it is synced, it is a few MiB long, and
 * the tables of all families can't be asked for at once. Asking for one family while RocksDB still
 * has others to write ends the process where RocksDB was built with assertions, as by Debian. */
static lethe_status finish(lethe_store *store, lethe_detail *detail) {
    lethe_engine_enter(store);
    lethe_renew_stop(store);
    lethe_status status = store->failed;
    lethe_ids_measure(&store->ids, &store->state);
    lethe_ids_drop_memory(&store->ids);
    if (status == LETHE_OK) status = lethe_fold_all(store);
    if (status == LETHE_OK) {
        lethe_log_filling(&store->log)->operations++; /* the state records the fold */
        status = lethe_log_seal(store);
    }
    if (status == LETHE_OK) status = lethe_log_wait(store, store->log.sealed);
    /* The committer has nothing left to do. */
    if (status == LETHE_OK && store->ids.ledger != NULL)
        status = lethe_ledger_checkpoint(store->ids.ledger, true, &store->failure);
    if (status != LETHE_OK && detail != NULL) *detail = store->failure;
    lethe_engine_leave(store);
    return status;
}

lethe_status lethe_store_close(lethe_store *store, lethe_detail *detail) {
    lethe_detail_clear(detail);
    if (store == NULL) return LETHE_OK;
    lethe_status status = store->options.read_only ? LETHE_OK : finish(store, detail);
    free_store(store);
    return status;
}
