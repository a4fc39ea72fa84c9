/* engine/modes.c - what a store is asked to be, and what it is.
 *
 * I1      Modes belong to the store: each is kept until it is switched.
 * I2      A switch after which something that was counted might be counted again is refused.
 * WHY     Somebody who opens a store without naming its modes, to set a counter by hand or because
 *         an option was forgotten, must not change how duplicates are recognised. */
#include "core/detail.h"
#include "engine/store.h"

static lethe_status check_sketch_options(const lethe_store_options *options, lethe_detail *detail) {
    if (options->sketch_bytes != 0 && (options->sketch_bytes < LETHE_STATE_LEAST_SKETCH_BYTES ||
                                       options->sketch_bytes > LETHE_STATE_MOST_SKETCH_BYTES)) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a sketch has from 4 KiB to 4 GiB");
    }
    if (options->sketch_top > LETHE_STATE_MOST_SKETCH_TOP) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a sketch lists 1,048,576 keys at most");
    }
    return LETHE_OK;
}

lethe_status lethe_engine_check_options(const lethe_store_options *options, lethe_detail *detail) {
    if (options->window_ms != 0 &&
        (options->window_ms < 1000 || options->window_ms > LETHE_LONGEST_WINDOW_MS)) {
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
                                     options->forever, options->forgetful};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if ((unsigned)switches[i] > LETHE_SWITCH_OFF) {
            return lethe_detail_fill(detail, LETHE_EINVAL,
                                     "a mode is kept, switched on or switched off");
        }
    }
    if (options->scale < LETHE_SCALE_WHOLE || options->scale > LETHE_SCALE_LIMIT) {
        return lethe_detail_fill(detail, LETHE_EINVAL, "a scale has %d digits at most",
                                 LETHE_SCALE_LIMIT);
    }
    lethe_status status = check_sketch_options(options, detail);
    return status == LETHE_OK ? lethe_meters_check(options, detail) : status;
}

static bool resolve_switch(lethe_switch asked, bool before) {
    return asked == LETHE_SWITCH_ON || (asked == LETHE_SWITCH_KEEP && before);
}

/* The store's time is that of its events or the wall clock's, and stays so once something was
 * applied: otherwise the ids that it remembers would be forgotten at once, or whatever comes next
 * would be late. */
static lethe_status resolve_time(lethe_store *store, lethe_detail *detail) {
    lethe_state *state = &store->state;
    bool event_time = resolve_switch(store->options.event_time, state->event_time);
    store->options.event_time = event_time ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
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

lethe_status lethe_engine_resolve_modes(lethe_store *store, lethe_detail *detail) {
    lethe_store_options *options = &store->options;
    const lethe_state *state = &store->state;
    bool check_payload = resolve_switch(options->check_payload, state->check_payload);
    bool exact = resolve_switch(options->exact, state->exact) || check_payload;
    bool forever = resolve_switch(options->forever, state->forever);
    if (check_payload && options->exact == LETHE_SWITCH_OFF) {
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
    options->check_payload = check_payload ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->exact = exact ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    options->forever = forever ? LETHE_SWITCH_ON : LETHE_SWITCH_KEEP;
    return resolve_time(store, detail);
}

/* A window of either kind could be made from the log. But what its operator planned for, memory and
 * speed, is not to change because an option was mistyped. */
static lethe_status check_window_kind(const lethe_store *store, lethe_detail *detail) {
    bool forgetful = store->state.forgetful;
    lethe_switch other = forgetful ? LETHE_SWITCH_OFF : LETHE_SWITCH_ON;
    if (store->options.forgetful != other || store->options.read_only) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "the store's window is of the %s kind, and the %s kind is asked for; "
                             "leave that out, or name another folder",
                             forgetful ? "forgetful" : "quotient",
                             forgetful ? "quotient" : "forgetful");
}

/* By another scale, all values and deltas would mean something else. */
static lethe_status check_scale(const lethe_store *store, lethe_detail *detail) {
    int32_t asked = store->options.scale;
    uint32_t digits = asked == LETHE_SCALE_WHOLE ? 0 : (uint32_t)asked;
    if (asked == 0 || digits == store->state.scale || store->options.read_only) return LETHE_OK;
    return lethe_detail_fill(detail, LETHE_EINVAL,
                             "the store has a scale of %u, and a scale of %u is asked for; leave "
                             "that out, or name another folder",
                             store->state.scale, digits);
}

lethe_status lethe_engine_check_kind(const lethe_store *store, lethe_detail *detail) {
    const lethe_store_options *options = &store->options;
    const lethe_state *state = &store->state;
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
    lethe_status status = check_scale(store, detail);
    return status == LETHE_OK ? check_window_kind(store, detail) : status;
}
