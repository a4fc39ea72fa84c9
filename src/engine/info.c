/* engine/info.c - a store in numbers. */
#include "engine/engine.h"

static void fill_window(lethe_counter *counter, lethe_window_stats *out) {
    const lethe_state *state = &counter->state;
    if (counter->window != NULL)
        *out = lethe_window_info(counter->window, lethe_engine_now(counter));
    if (counter->window == NULL) {
        out->error_estimate = state->window_error;
        out->memory_bytes = state->window_memory_bytes;
        out->ids = state->window_ids;
    }
    out->window_ms = counter->options.window_ms; /* without the step of the clock that we add */
    out->error_target = counter->options.error;
    out->clock_ms = state->clock_ms;
}

static void fill_periods(const lethe_counter *counter, lethe_counter_stats *out) {
    out->period_count = counter->period_count;
    for (uint32_t i = 0; i < counter->period_count; i++) {
        const lethe_period *period = &counter->periods[i];
        out->periods[i] = (lethe_counter_period){
            .first_ms = period->first_ms, .last_ms = period->last_ms, .ids = period->ids};
    }
}

/* In place of the numbers about counters. */
static void fill_sketch(const lethe_counter *counter, lethe_counter_stats *out) {
    lethe_sketch_shape shape = lethe_sketch_get_shape(counter->sketch);
    out->counters = out->counters_in_memory = 0;
    out->counters_memory_bytes = shape.memory_bytes;
    out->sketch_bytes = counter->state.sketch_bytes;
    out->sketch_top = counter->state.sketch_top;
    out->sketch_total = lethe_sketch_total(counter->sketch);
    out->sketch_error = lethe_engine_sketch_error(counter);
    out->sketch_delta = shape.delta;
}

/* A reader looks at the log when it is first asked, and at the ledger each time. */
static lethe_status survey(lethe_counter *counter, lethe_counter_ledger *ledger) {
    if (!counter->options.read_only) return LETHE_OK;
    lethe_detail detail = {""};
    lethe_status status = LETHE_OK;
    if (counter->period_count == 0) {
        status = lethe_engine_survey(counter, &detail);
        if (status != LETHE_OK) counter->period_count = 0;
    }
    if (status == LETHE_OK && counter->state.forever) {
        status = lethe_ledger_look(lethe_store_folder(counter->store), counter->allocator, ledger,
                                   &detail);
    }
    if (status != LETHE_OK) lethe_engine_remark(counter, &detail);
    return status;
}

lethe_status lethe_counter_info(lethe_counter *counter, lethe_counter_stats *out) {
    *out = (lethe_counter_stats){0};
    lethe_engine_enter(counter);
    lethe_status status = survey(counter, &out->ledger);
    const lethe_state *state = &counter->state;
    const lethe_totals *totals = &state->totals;
    fill_window(counter, &out->window);
    fill_periods(counter, out);
    out->clock_ms = state->clock_ms;
    out->commits = counter->options.read_only ? state->commit : counter->durable;
    out->folded = state->folded;
    out->applied = totals->applied;
    out->duplicates = totals->duplicates;
    out->late = totals->late;
    out->ahead = totals->ahead;
    out->refused = totals->refused;
    out->differing = totals->differing;
    out->confirmed_false = totals->confirmed_false;
    out->counters_in_memory = lethe_tally_count(counter->tally);
    out->counters_memory_bytes = lethe_tally_memory_bytes(counter->tally);
    uint64_t stored = lethe_store_records(counter->store, LETHE_FAMILY_COUNTERS);
    if (stored > 0) stored--; /* the note of how far is folded is no counter */
    out->counters = counter->tally_complete || stored < out->counters_in_memory
                        ? out->counters_in_memory
                        : stored;
    if (counter->sketch != NULL) fill_sketch(counter, out);
    out->log_ids = state->log_ids;
    out->log_bytes = lethe_store_bytes(counter->store, LETHE_FAMILY_IDS);
    out->changes_bytes = lethe_store_bytes(counter->store, LETHE_FAMILY_CHANGES);
    out->index_bytes = lethe_store_bytes(counter->store, LETHE_FAMILY_INDEX);
    out->counters_bytes = lethe_store_bytes(counter->store, LETHE_FAMILY_COUNTERS);
    out->exact = counter->options.read_only ? state->exact : counter->options.exact;
    out->check_payload =
        counter->options.read_only ? state->check_payload : counter->options.check_payload;
    out->event_time = counter->options.read_only ? state->event_time : counter->options.event_time;
    out->forever = state->forever;
    if (counter->ledger != NULL) {
        lethe_ledger_info(counter->ledger, &out->ledger);
    }
    lethe_engine_leave(counter);
    return status;
}
