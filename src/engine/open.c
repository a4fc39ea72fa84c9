/* engine/open.c - opening and closing a store. */
#include <errno.h>

#include "core/allocator.h"
#include "core/tunables.h"
#include "engine/detail.h"
#include "engine/engine.h"
#include "os/clock.h"

static const uint64_t DEFAULT_WINDOW_MS = UINT64_C(259200000);
static const double DEFAULT_ERROR = 1e-12, SLACK = 0.25;
enum { DEFAULT_SKETCH_TOP = 1000 };

static void fill_defaults(lethe_counter *counter, const lethe_counter_options *options) {
    counter->options = options != NULL ? *options : (lethe_counter_options){0};
    lethe_counter_options *filled = &counter->options;
    if (filled->counters_memory_bytes == 0) filled->counters_memory_bytes = (uint64_t)1 << 30;
    if (filled->commit_operations == 0) filled->commit_operations = LETHE_GROUP_LIMIT / 2;
    if (filled->max_ahead_ms == 0) filled->max_ahead_ms = 60000;
    counter->allocator = counter->deltas.allocator = filled->allocator;
}

/* What the options leave open is as it was; a new store gets the usual. */
static void settle_settings(lethe_counter *counter) {
    lethe_counter_options *options = &counter->options;
    lethe_state *state = &counter->state;
    if (options->window_ms == 0) options->window_ms = state->window_ms;
    if (options->window_ms == 0) options->window_ms = DEFAULT_WINDOW_MS;
    if (options->error == 0) options->error = state->error;
    if (options->error == 0) options->error = DEFAULT_ERROR;
    counter->step_ms = options->window_ms / LETHE_CLOCK_STEPS;
    if (counter->step_ms > LETHE_ENGINE_LONGEST_WINDOW_MS - options->window_ms) {
        counter->step_ms = LETHE_ENGINE_LONGEST_WINDOW_MS - options->window_ms;
    }
    counter->kept_ms = options->window_ms + counter->step_ms;
}

/* By event time: an event that was late stays so, where W becomes longer or ids are to be kept for ever from now on. Its id may be one
 * that was forgotten, and so its copy would be counted again. Until W says the same; with a ledger W never does. Where all
 * that was ever applied is still in the log, nothing was forgotten. */
static void settle_known(lethe_counter *counter) {
    lethe_state *state = &counter->state;
    bool has_forgotten = state->log_ids < state->totals.applied && !state->forever;
    if (has_forgotten && state->clock_ms > state->window_ms &&
        state->clock_ms - state->window_ms > state->known_from_ms) {
        state->known_from_ms = state->clock_ms - state->window_ms;
    }
    bool is_said_by_window = !counter->options.forever &&
                             state->clock_ms - state->known_from_ms >= counter->options.window_ms;
    if (!counter->options.event_time || is_said_by_window) state->known_from_ms = 0;
}

/* Sets the store's clock going from where it stopped. After a restart of the process the machine's own
 * clock tells how much time has passed, whatever happened to the wall clock; after one of the machine, or when the
 * store's time was that of events, only the wall clock can. It never goes back. */
static void set_clock(lethe_counter *counter) {
    const lethe_state *state = &counter->state;
    unsigned char boot_id[16], unknown[16] = {0};
    lethe_os_boot_id(boot_id);
    counter->base_boot_ms = lethe_os_boot_ms();
    uint64_t wall_ms = lethe_os_wall_ms();
    bool same_boot = memcmp(boot_id, state->boot_id, 16) == 0 &&
                     memcmp(boot_id, unknown, 16) != 0 && counter->base_boot_ms >= state->boot_ms &&
                     state->commit > 0;
    if (same_boot && !state->event_time) {
        counter->base_clock_ms = state->clock_ms + (counter->base_boot_ms - state->boot_ms);
    } else {
        counter->base_clock_ms = wall_ms > state->clock_ms ? wall_ms : state->clock_ms;
    }
    memcpy(counter->state.boot_id, boot_id, 16);
}

static uint64_t clock_at(const lethe_counter *counter, uint64_t boot_ms) {
    if (counter->options.event_time || counter->options.read_only) return counter->state.clock_ms;
    return counter->base_clock_ms + (boot_ms - counter->base_boot_ms);
}

uint64_t lethe_engine_now(const lethe_counter *counter) {
    return clock_at(counter, lethe_os_boot_ms());
}

void lethe_engine_set_moment(lethe_counter *counter) {
    lethe_state *state = &counter->state;
    state->boot_ms = lethe_os_boot_ms();
    uint64_t now_ms = clock_at(counter, state->boot_ms);
    if (now_ms > state->clock_ms) state->clock_ms = now_ms;
}

static lethe_status make_window(lethe_counter *counter, lethe_detail *detail) {
    const lethe_counter_options *options = &counter->options;
    double kept = (double)counter->kept_ms, step = (double)counter->step_ms;
    uint64_t capacity = options->capacity;
    if (capacity < counter->state.log_ids) capacity = counter->state.log_ids;
    lethe_window_options window = {
        .window_ms = counter->kept_ms,
        .error = options->error,
        /* So that even with the clock's steps an id is gone by W (1 + slack). */
        .slack = ((1 + SLACK) * (double)options->window_ms - step) / kept - 1,
        .capacity = capacity,
        .max_memory_bytes = options->max_memory_bytes,
        .policy = options->policy,
        .seed = counter->state.seed,
        .allocator = counter->allocator,
    };
    lethe_status status = lethe_window_new(&window, &counter->window);
    if (status == LETHE_EFULL) {
        return lethe_detail_fill(detail, status,
                                 "the window's memory cap is too small for the ids that it must "
                                 "remember; raise it");
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot make the window: %s",
                                                  lethe_strerror(status));
}

/* Opens the ledger, if there is one or there is to be one. */
static lethe_status open_ledger(lethe_counter *counter, const char *folder, lethe_detail *detail) {
    const lethe_counter_options *options = &counter->options;
    lethe_state *state = &counter->state;
    if (!options->forever) return LETHE_OK;
    lethe_ledger_options ledger = {.error = options->ledger_error,
                                   .capacity = options->ledger_capacity,
                                   .memory_bytes = options->ledger_memory_bytes,
                                   .seed = state->seed,
                                   .allocator = counter->allocator};
    lethe_status status =
        lethe_ledger_open(folder, &ledger, !state->forever, &counter->ledger, detail);
    if (status != LETHE_OK || !state->forever) return status;
    return lethe_ledger_match(counter->ledger, state, detail);
}

/* A ledger that is new, now that it has the ids of the log, covers all there is: what the log dropped before is in nobody's
 * memory any more. On disk, before the state says that there is one. */
static lethe_status begin_ledger(lethe_counter *counter, lethe_detail *detail) {
    if (counter->ledger == NULL || lethe_ledger_covers(counter->ledger) > 0) return LETHE_OK;
    lethe_status status =
        lethe_ledger_insert(counter->ledger, counter->state.commit, (lethe_bytes){0}, detail);
    return status == LETHE_OK ? lethe_ledger_checkpoint(counter->ledger, true, detail) : status;
}

/* A new store gets its secret and its first commit. */
static lethe_status found_store(lethe_counter *counter, lethe_detail *detail) {
    counter->state =
        (lethe_state){.seed = counter->options.seed, .commit = lethe_tune.first_commit - 1};
    if (counter->options.seed == 0 &&
        lethe_os_random(&counter->state.seed, sizeof counter->state.seed) != LETHE_OK) {
        return lethe_detail_fill(detail, LETHE_EIO, "the system has no random numbers");
    }
    counter->state.seed |= counter->state.seed == 0;
    counter->state.sketch_bytes = counter->options.sketch_bytes;
    counter->state.sketch_top = counter->options.sketch_top;
    if (counter->state.sketch_bytes == 0 && counter->options.sketch_top != 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "a store of exact counters lists no most frequent keys; give the "
                                 "size of a sketch as well");
    }
    if (counter->state.sketch_top == 0 && counter->state.sketch_bytes != 0) {
        counter->state.sketch_top = DEFAULT_SKETCH_TOP;
    }
    return LETHE_OK;
}

static lethe_status load_state(lethe_counter *counter, lethe_detail *detail) {
    lethe_status status = lethe_state_load(counter->store, &counter->state, detail);
    if (status == LETHE_OK)
        status = lethe_store_expect(counter->store, counter->state.commit, detail);
    if (status == LETHE_OK) return lethe_engine_check_kind(counter, detail);
    if (status != LETHE_ENOTFOUND) return status;
    status = lethe_store_expect(counter->store, 0, detail);
    if (status != LETHE_OK) return status;
    /* A process that was killed while it made the store left one without a state. */
    if (lethe_store_records(counter->store, LETHE_FAMILY_IDS) > 0 ||
        lethe_store_records(counter->store, LETHE_FAMILY_COUNTERS) > 0) {
        return lethe_detail_fill(detail, LETHE_ECORRUPT,
                                 "the store's state is missing; restore a backup");
    }
    if (counter->options.read_only) {
        return lethe_detail_fill(detail, LETHE_ENOTFOUND, "the store is still being made");
    }
    return found_store(counter, detail);
}

static lethe_status make_tables(lethe_counter *counter) {
    lethe_status status = LETHE_OK;
    const lethe_counter_options *options = &counter->options;
    counter->tags = lethe_alloc_zeroed(counter->allocator,
                                       (size_t)2 * LETHE_CHANGES_LIMIT * sizeof *counter->tags);
    counter->was_absent =
        lethe_alloc_zeroed(counter->allocator, LETHE_CHANGES_LIMIT * sizeof *counter->was_absent);
    if (counter->tags == NULL || counter->was_absent == NULL) return LETHE_ENOMEM;
    for (unsigned i = 0; i < LETHE_GROUPS && status == LETHE_OK; i++) {
        status = lethe_group_prepare(&counter->groups[i], counter->allocator,
                                     options->exact || options->forever);
    }
    return status;
}

/* Commits the settings and the clock: the first proof that this store can be written. */
static lethe_status commit_settings(lethe_counter *counter, lethe_detail *detail) {
    lethe_state *state = &counter->state;
    state->window_ms = counter->options.window_ms;
    state->error = counter->options.error;
    state->exact = counter->options.exact;
    state->check_payload = counter->options.check_payload;
    state->event_time = counter->options.event_time;
    state->has_index = counter->options.exact;
    state->forever = counter->ledger != NULL;
    counter->durable = counter->sealed = state->commit;
    counter->filling = state->commit + 1;
    counter->base_commit = counter->filling - lethe_tune.first_stamp;
    for (unsigned i = 0; i < LETHE_GROUPS; i++) {
        counter->groups[i].holds_deltas = counter->sketch != NULL;
    }
    lethe_group *group = lethe_engine_filling(counter);
    lethe_status status = lethe_group_begin(group, counter->filling);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    group->operations = 1;
    status = lethe_engine_seal(counter);
    if (status == LETHE_OK) status = lethe_engine_wait_durable(counter, counter->sealed);
    if (status != LETHE_OK && detail != NULL) *detail = counter->failure;
    return status;
}

static lethe_status start_threads(lethe_counter *counter, lethe_detail *detail) {
    lethe_status status =
        lethe_os_thread_start(&counter->committer, lethe_engine_committer_main, counter);
    counter->committer_runs = status == LETHE_OK;
    if (status == LETHE_OK) {
        status = lethe_os_thread_start(&counter->folder, lethe_engine_folder_main, counter);
        counter->folder_runs = status == LETHE_OK;
    }
    return status == LETHE_OK ? LETHE_OK
                              : lethe_detail_fill(detail, status, "cannot start a thread");
}

static lethe_status open_to_write(lethe_counter *counter, const char *folder,
                                  lethe_detail *detail) {
    lethe_status status = lethe_engine_settle_modes(counter, detail);
    if (status != LETHE_OK) return status;
    counter->found_clock_ms = counter->state.clock_ms;
    set_clock(counter);
    settle_settings(counter);
    settle_known(counter);
    lethe_engine_set_moment(counter);
    status = make_tables(counter);
    if (status != LETHE_OK) return lethe_detail_fill(detail, status, "not enough memory");
    status = make_window(counter, detail);
    if (status == LETHE_OK) status = open_ledger(counter, folder, detail);
    if (status == LETHE_OK) status = lethe_engine_recover(counter, detail);
    if (status == LETHE_OK) status = begin_ledger(counter, detail);
    /* The committer may take the lock only once the first group is there. */
    lethe_engine_enter(counter);
    if (status == LETHE_OK) status = start_threads(counter, detail);
    if (status == LETHE_OK) status = commit_settings(counter, detail);
    lethe_engine_leave(counter);
    return status;
}

lethe_status lethe_engine_read(lethe_counter *counter, lethe_detail *detail) {
    lethe_status status = load_state(counter, detail);
    if (status != LETHE_OK) return status;
    counter->has_sketch = counter->state.sketch_bytes > 0;
    settle_settings(counter);
    status = lethe_engine_replay(counter, detail);
    return status == LETHE_OK ? lethe_engine_expect_all(counter, detail) : status;
}

static lethe_status open_store(lethe_counter *counter, const char *folder, lethe_detail *detail) {
    if (counter->options.read_only) return lethe_engine_view(counter, folder, detail);
    lethe_status status = lethe_store_open(folder, LETHE_STORE_WRITE, counter->options.create,
                                           lethe_engine_inspect, &counter->store, detail);
    if (status == LETHE_OK) status = load_state(counter, detail);
    if (status != LETHE_OK) return status;
    counter->has_sketch = counter->state.sketch_bytes > 0;
    return open_to_write(counter, folder, detail);
}

static void free_counter(lethe_counter *counter) {
    const lethe_allocator *allocator = counter->allocator;
    lethe_engine_enter(counter);
    counter->stopping = true;
    lethe_os_condition_wake_all(&counter->work);
    lethe_os_condition_wake_all(&counter->fold);
    lethe_engine_leave(counter);
    if (counter->folder_runs) lethe_os_thread_join(&counter->folder);
    if (counter->committer_runs) lethe_os_thread_join(&counter->committer);
    for (unsigned i = 0; i < LETHE_GROUPS; i++) {
        lethe_group_drop(&counter->groups[i]);
    }
    lethe_release(allocator, counter->tags,
                  (size_t)2 * LETHE_CHANGES_LIMIT * sizeof *counter->tags);
    lethe_release(allocator, counter->was_absent,
                  LETHE_CHANGES_LIMIT * sizeof *counter->was_absent);
    lethe_tally_free(counter->tally);
    lethe_buffer_free(&counter->deltas);
    lethe_sketch_free(counter->sketch);
    lethe_window_free(counter->window);
    lethe_ledger_close(counter->ledger);
    lethe_store_close(counter->store);
    lethe_os_condition_drop(&counter->work);
    lethe_os_condition_drop(&counter->done);
    lethe_os_condition_drop(&counter->fold);
    lethe_os_lock_drop(&counter->lock);
    lethe_os_lock_drop(&counter->turn);
    lethe_release(allocator, counter, sizeof *counter);
}

lethe_status lethe_counter_open(const char *folder, const lethe_counter_options *options,
                                lethe_counter **out, lethe_detail *detail) {
    static const lethe_counter_options all_defaults = {0};
    *out = NULL;
    if (options == NULL) options = &all_defaults;
    lethe_status status = lethe_engine_check_options(options, detail);
    if (status != LETHE_OK) return status;
    lethe_counter *counter = lethe_alloc_zeroed(options->allocator, sizeof *counter);
    if (counter == NULL) return lethe_detail_fill(detail, LETHE_ENOMEM, "not enough memory");
    fill_defaults(counter, options);
    lethe_os_lock_init(&counter->turn);
    lethe_os_lock_init(&counter->lock);
    lethe_os_condition_init(&counter->work);
    lethe_os_condition_init(&counter->done);
    lethe_os_condition_init(&counter->fold);
    status = lethe_tally_new(counter->allocator, &counter->tally);
    if (status != LETHE_OK) (void)lethe_detail_fill(detail, status, "not enough memory");
    if (status == LETHE_OK) status = open_store(counter, folder, detail);
    if (status != LETHE_OK) {
        free_counter(counter);
        return status;
    }
    if (detail != NULL) *detail = counter->notice;
    *out = counter;
    return LETHE_OK;
}

/* Leaves a store whose counters the next one to open has nothing to add to. Nobody asks the window any more, and a fold needs memory:
 * it may have the window's. RocksDB is not told to empty its own log: all in it is synced, it is a few MiB long, and there is no way to
 * ask for the tables of all families at once. One family's, asked for while RocksDB has others still to write by itself, are the end of
 * the process where it was built with assertions, as by Debian. */
static lethe_status finish(lethe_counter *counter, lethe_detail *detail) {
    lethe_engine_enter(counter);
    lethe_status status = counter->failed;
    lethe_engine_look(counter);
    lethe_window_free(counter->window);
    counter->window = NULL;
    if (status == LETHE_OK) status = lethe_engine_fold_all(counter);
    if (status == LETHE_OK) {
        lethe_engine_filling(counter)->operations++; /* the note of the fold */
        status = lethe_engine_seal(counter);
    }
    if (status == LETHE_OK) status = lethe_engine_wait_durable(counter, counter->sealed);
    /* The committer has nothing left to do. */
    if (status == LETHE_OK && counter->ledger != NULL)
        status = lethe_ledger_checkpoint(counter->ledger, true, &counter->failure);
    if (status != LETHE_OK && detail != NULL) *detail = counter->failure;
    lethe_engine_leave(counter);
    return status;
}

lethe_status lethe_counter_close(lethe_counter *counter, lethe_detail *detail) {
    if (counter == NULL) return LETHE_OK;
    lethe_status status = counter->options.read_only ? LETHE_OK : finish(counter, detail);
    free_counter(counter);
    return status;
}
