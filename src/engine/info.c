/* engine/info.c - a store in numbers. */
#include "core/sized.h"
#include "engine/store.h"

static void fill_window(lethe_store *store, lethe_store_window *out) {
    const lethe_state *state = &store->state;
    *out = (lethe_store_window){.window_ms = store->options.window_ms,
                                .error_target = store->options.error,
                                .error_estimate = state->window_error,
                                .ids = state->window_ids,
                                .memory_bytes = state->window_memory_bytes,
                                .kind = state->forgetful ? LETHE_WINDOW_FORGETFUL
                                                         : LETHE_WINDOW_QUOTIENT};
    if (store->ids.window == NULL) return;
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(store->ids.window, lethe_clock_now(&store->clock, state), &stats);
    out->error_estimate = stats.error_estimate;
    out->ids = stats.ids;
    out->memory_bytes = stats.memory_bytes;
    out->strain = stats.strain;
}

static void fill_periods(const lethe_periods *periods, lethe_store_stats *out) {
    out->period_count = periods->count;
    for (uint32_t i = 0; i < periods->count; i++) {
        const lethe_period *period = &periods->all[i];
        out->periods[i] = (lethe_store_period){
            .first_ms = period->first_ms, .last_ms = period->last_ms, .ids = period->ids};
    }
}

static void fill_state(const lethe_state *state, lethe_store_stats *out) {
    const lethe_totals *totals = &state->totals;
    out->commits = state->commit;
    out->folded = state->folded;
    out->applied = totals->applied;
    out->duplicates = totals->duplicates;
    out->late = totals->late;
    out->future = totals->future;
    out->refused = totals->refused;
    out->overflow = totals->overflow;
    out->invalid = totals->invalid;
    out->limited = totals->limited;
    out->mismatched = totals->mismatched;
    out->confirmed_false = totals->confirmed_false;
    out->log_ids = state->log_ids;
    out->exact = state->exact;
    out->check_payload = state->check_payload;
    out->event_time = state->event_time;
    out->forever = state->forever;
    out->scale = state->scale;
}

static void fill_disk(const lethe_store *store, lethe_store_stats *out) {
    lethe_disk *disk = store->disk;
    out->log_bytes = lethe_disk_bytes(disk, LETHE_FAMILY_IDS);
    out->changes_bytes = lethe_disk_bytes(disk, LETHE_FAMILY_CHANGES);
    out->index_bytes = lethe_disk_bytes(disk, LETHE_FAMILY_INDEX);
    if (store->ids.index != NULL) out->index_bytes += lethe_index_bytes(store->ids.index);
    out->counters_bytes = lethe_disk_bytes(disk, LETHE_FAMILY_COUNTERS);
}

/* Groups that the committing thread has are its own: it writes to them without the lock. */
static uint64_t groups_bytes(lethe_log *log) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < LETHE_GROUPS; i++) {
        const lethe_group *group = &log->groups[i];
        bool is_committed = group->number <= log->durable, fills_up = group->number > log->sealed;
        if (is_committed || fills_up) bytes += lethe_group_memory_bytes(group);
    }
    return bytes;
}

static void fill_memory(lethe_store *store, lethe_store_stats *out) {
    if (store->options.read_only) return;
    if (store->ids.index != NULL)
        out->index_memory_bytes = lethe_index_memory_bytes(store->ids.index);
    out->groups_memory_bytes = groups_bytes(&store->log);
    out->database_memory_bytes = lethe_disk_memory_bytes(store->disk);
}

/* A reader reads the log when it is first asked, and the ledger each time. */
static lethe_status survey(lethe_store *store, lethe_store_ledger *ledger) {
    if (!store->options.read_only) return LETHE_OK;
    lethe_detail detail = {""};
    lethe_status status = LETHE_OK;
    if (store->log.periods.count == 0) {
        status = lethe_log_survey(store, &detail);
        if (status != LETHE_OK) store->log.periods.count = 0;
    }
    if (status == LETHE_OK && store->state.forever) {
        status =
            lethe_ledger_look(lethe_disk_folder(store->disk), store->allocator, ledger, &detail);
    }
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    return status;
}

unsigned lethe_store_scale(const lethe_store *store) {
    if (store == NULL) return 0;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* the lock */
    lethe_engine_enter(shared);
    unsigned scale = store->state.scale;
    lethe_engine_leave(shared);
    return scale;
}

lethe_status lethe_store_resolution(const lethe_store *store, const char *by, uint32_t *out) {
    if (store == NULL || by == NULL || out == NULL) return LETHE_EINVAL;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* the lock */
    lethe_engine_enter(shared);
    *out = lethe_meters_find(&store->values.meters, by);
    lethe_engine_leave(shared);
    if (*out < LETHE_METERS_LIMIT) return LETHE_OK;
    *out = 0;
    return LETHE_ENOTFOUND;
}

lethe_status lethe_store_info(const lethe_store *store, lethe_store_stats *out) {
    lethe_store_stats stats = {0};
    if (store == NULL || out == NULL) return LETHE_EINVAL;
    if (lethe_sized_check(out, LETHE_SIZE_WITH(out, periods)) != LETHE_OK) return LETHE_EINVAL;
    lethe_store *shared = (lethe_store *)(uintptr_t)store; /* the lock, and what a reader reads */
    lethe_engine_enter(shared);
    lethe_status status = survey(shared, &stats.ledger);
    fill_state(&store->state, &stats);
    stats.clock_ms = store->options.read_only ? lethe_clock_look(&store->state)
                                              : lethe_clock_now(&store->clock, &store->state);
    if (!store->options.read_only) stats.commits = store->log.durable;
    fill_window(shared, &stats.window);
    fill_periods(&store->log.periods, &stats);
    store->values.kind->info(&shared->values, &stats);
    fill_disk(store, &stats);
    fill_memory(shared, &stats);
    if (store->ids.ledger != NULL) lethe_ledger_info(store->ids.ledger, &stats.ledger);
    lethe_engine_leave(shared);
    lethe_status given = LETHE_GIVE(&stats, out, periods);
    return status != LETHE_OK ? status : given;
}
