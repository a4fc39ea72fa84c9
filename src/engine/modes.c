/* engine/modes.c - what a store is asked to be, and what it is: its modes are its own.
 *
 * WHY     Whoever opens a store and says nothing of modes, to set a counter by hand, or because an option was forgotten,
 *         must not change what copies are recognised by. So every mode is kept until it is switched, and a switch after
 *         which something that was counted might be counted again is refused. */
#include "engine/detail.h"
#include "engine/engine.h"

static lethe_status check_sketch_options(const lethe_counter_options *options,
                                         lethe_detail *detail) {
    if (options->sketch_bytes != 0 && (options->sketch_bytes < LETHE_STATE_LEAST_SKETCH_BYTES ||
                                       options->sketch_bytes > LETHE_STATE_MOST_SKETCH_BYTES)) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a sketch has from 4 KiB to 4 GiB");
    }
    if (options->sketch_top > LETHE_STATE_MOST_SKETCH_TOP) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a sketch lists 1,048,576 keys at most");
    }
    return LETHE_OK;
}

lethe_status lethe_engine_check_options(const lethe_counter_options *options,
                                        lethe_detail *detail) {
    if (options->window_ms != 0 &&
        (options->window_ms < 1000 || options->window_ms > LETHE_ENGINE_LONGEST_WINDOW_MS)) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the window must be 1 second to 30 days long");
    }
    if (!(options->error == 0 || (options->error >= 1e-12 && options->error <= 0.1))) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "the error must be between 1e-12 and 0.1");
    }
    if (options->commit_interval_ms > 10000) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "commits can wait 10 seconds at most");
    }
    if (options->commit_operations > LETHE_GROUP_LIMIT) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a commit has %d operations at most",
                                 LETHE_GROUP_LIMIT);
    }
    if (!(options->ledger_error == 0 ||
          (options->ledger_error >= 1e-15 && options->ledger_error <= 0.1))) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the ledger's error must be between 1e-15 and 0.1");
    }
    const lethe_switch switches[] = {options->exact, options->check_payload, options->event_time,
                                     options->forever};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if ((unsigned)switches[i] > LETHE_OFF) {
            return lethe_detail_fill(detail, LETHE_EINVAL,
                                     "a mode is kept, switched on or switched off");
        }
    }
    return check_sketch_options(options, detail);
}

static bool settle_switch(lethe_switch asked, bool before) {
    return asked == LETHE_ON || (asked == LETHE_KEEP && before);
}

/* The store's time is that of events or that of the clock on the wall, and stays so once something was applied: the ids
 * that it remembers would be forgotten at once, or whatever is counted next would be late. */
static lethe_status settle_time(lethe_counter *counter, lethe_detail *detail) {
    lethe_state *state = &counter->state;
    bool event_time = settle_switch(counter->options.event_time, state->event_time);
    counter->options.event_time = event_time ? LETHE_ON : LETHE_KEEP;
    if (event_time == state->event_time) return LETHE_OK;
    if (state->totals.applied == 0) {
        state->clock_ms = 0;
        return LETHE_OK;
    }
    return lethe_detail_fill(detail, LETHE_EINVAL, "%s",
                             event_time
                                 ? "the store goes by the clock on the wall, and the time of the "
                                   "events is asked for; leave that out, or name another folder"
                                 : "the store goes by the time of its events, and the clock on the "
                                   "wall is asked for; leave that out, or name another folder");
}

/* Which modes the store has from now on: those that it had, unless the options say otherwise. In counter->options a mode is
 * then LETHE_ON or 0. A change by which something would be lost is refused. */
lethe_status lethe_engine_settle_modes(lethe_counter *counter, lethe_detail *detail) {
    lethe_counter_options *options = &counter->options;
    const lethe_state *state = &counter->state;
    bool check_payload = settle_switch(options->check_payload, state->check_payload);
    bool exact = settle_switch(options->exact, state->exact) || check_payload;
    bool forever = settle_switch(options->forever, state->forever);
    if (check_payload && options->exact == LETHE_OFF) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "comparing payloads needs exact mode; switch both off, or none");
    }
    if (state->forever && !forever) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store keeps ids for ever, and stays so; name another folder "
                                 "for a store that does not");
    }
    if (forever && exact) {
        return lethe_detail_fill(
            detail, LETHE_EINVAL, "%s",
            state->forever ? "the store keeps ids for ever, which can't be "
                             "looked up exactly; leave exact mode out"
            : state->exact ? "the store is in exact mode, and what is kept for ever can't "
                             "be looked up exactly; switch exact mode off as well"
                           : "what is kept for ever can't be looked up exactly; leave "
                             "out one");
    }
    options->check_payload = check_payload ? LETHE_ON : LETHE_KEEP;
    options->exact = exact ? LETHE_ON : LETHE_KEEP;
    options->forever = forever ? LETHE_ON : LETHE_KEEP;
    return settle_time(counter, detail);
}

lethe_status lethe_engine_check_kind(const lethe_counter *counter, lethe_detail *detail) {
    const lethe_counter_options *options = &counter->options;
    const lethe_state *state = &counter->state;
    bool asks = options->sketch_bytes != 0 || options->sketch_top != 0;
    if (asks && state->sketch_bytes == 0) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store keeps exact counters, and a sketch is asked for; leave "
                                 "that out, or name another folder");
    }
    if (options->sketch_bytes != 0 && options->sketch_bytes != state->sketch_bytes) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store keeps a sketch of %llu bytes, and one of %llu is asked "
                                 "for; leave the size out, or name another folder",
                                 (unsigned long long)state->sketch_bytes,
                                 (unsigned long long)options->sketch_bytes);
    }
    if (options->sketch_top != 0 && options->sketch_top != state->sketch_top) {
        return lethe_detail_fill(detail, LETHE_EINVAL,
                                 "the store lists the %u most frequent keys, and %u are asked for; "
                                 "leave that out, or name another folder",
                                 state->sketch_top, options->sketch_top);
    }
    return LETHE_OK;
}
