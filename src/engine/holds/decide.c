/* engine/holds/decide.c - place, settle, release: what is answered, and what changes.
 *
 *                no hold              open                    lapsed           settled    released
 *   place        held, or limited     duplicate, or mismatch if it is another hold
 *   settle       unknown              settled; beyond the     as a new take,   duplicate  mismatch
 *                                     amount: by its max      by its max       (*)
 *   release      unknown              released                released         mismatch   duplicate
 *
 *   (*) mismatch with another amount. What has ended more than W ago is no hold.
 *
 * I1      Of an open hold its amount is held: what a settlement adds to value and held together is
 *         the actual amount less that one, and only if that is an increase is it judged.
 * I2      Judging and adding go by the moment of the wall clock that the hold has. A settlement
 *         after the lease gives the hold the present one.
 * I3      A call that is refused has changed nothing, except that it may have tidied.
 * I4      What can fail comes before what can't: memory for a hold that is placed is there before
 *         the step ends. A settlement whose counter has changed must not fail any more: if its step
 *         does, the store accepts nothing more. */
#include "core/sized.h"
#include "engine/operations/chunk.h"
#include "engine/store.h"
#include "engine/values/bounds.h"
#include "os/clock.h"

/* A call under way. */
struct call {
    lethe_store *store;
    lethe_hold hold; /* place */
    lethe_bytes id;
    int64_t actual;
    bool is_forced;
    lethe_hold_answer answer;
    lethe_limit *limit; /* unless NULL */
    uint64_t now_ms, wall_ms;
    lethe_hold_known known;
    /* What the call is. */
    lethe_status (*decide)(struct call *call, lethe_detail *detail);
};

/* The change that the limit of a hold is on. */
static lethe_change change_of(const lethe_hold_record *hold, int64_t delta) {
    return (lethe_change){.key = hold->key,
                          .delta = delta,
                          .flags = LETHE_CHANGE_MAX | (hold->place > 0 ? LETHE_CHANGE_BUCKET : 0),
                          .resolution = hold->place > 0 ? hold->place - 1 : 0,
                          .max = hold->max};
}

/* Whether so much more would be above the limit. */
static lethe_status judge(struct call *call, const lethe_hold_record *hold, int64_t more,
                          bool *is_limited, lethe_detail *detail) {
    lethe_values *values = &call->store->values;
    lethe_change change = change_of(hold, more);
    lethe_operation operation = {.changes = &change, .change_count = 1};
    values->buckets.wall_ms = hold->wall_ms;
    return lethe_bounds_judge(values, &operation, NULL, is_limited, detail);
}

/* Says how the limit of a hold stands; the end of its bucket is counted from now. */
static lethe_status stand(struct call *call, const lethe_hold_record *hold, lethe_detail *detail) {
    lethe_values *values = &call->store->values;
    lethe_change change = change_of(hold, 1);
    lethe_operation operation = {.changes = &change, .change_count = 1};
    lethe_limit *limit = call->limit;
    if (limit == NULL) return LETHE_OK;
    values->buckets.wall_ms = hold->wall_ms;
    lethe_status status = lethe_bounds_stand(values, &operation, limit, detail);
    limit->is_crossed = call->answer == LETHE_HOLD_LIMITED;
    if (status != LETHE_OK || limit->resets_ms == LETHE_NEVER_RESETS) return status;
    int64_t end_ms = (int64_t)hold->wall_ms + limit->resets_ms;
    limit->resets_ms = end_ms > (int64_t)call->wall_ms ? end_ms - (int64_t)call->wall_ms : 0;
    return LETHE_OK;
}

static lethe_status answer(struct call *call, lethe_hold_answer answer,
                           const lethe_hold_record *hold, lethe_detail *detail) {
    call->answer = answer;
    bool stands = answer != LETHE_HOLD_MISMATCH && answer != LETHE_HOLD_UNKNOWN;
    return stands ? stand(call, hold, detail) : LETHE_OK;
}

/* What every call begins with: the time, and the hold of the id, if it is known. */
static lethe_status begin(struct call *call, lethe_detail *detail) {
    lethe_store *store = call->store;
    call->now_ms = lethe_claims_now(&store->claims);
    call->wall_ms = lethe_os_wall_ms();
    lethe_holds_lapse(store, call->now_ms);
    lethe_status status = lethe_holds_tidy(store, call->now_ms, detail);
    if (status == LETHE_OK) status = lethe_holds_read(store, call->id, &call->known, detail);
    return status;
}

static bool is_known(const struct call *call) {
    return call->known.copy.exists &&
           !lethe_hold_is_old(call->store->options.window_ms, &call->known.hold, call->now_ms);
}

/* Whether something is held for it. */
static bool is_open(const struct call *call) {
    const lethe_hold_record *hold = &call->known.hold;
    return hold->state == LETHE_HOLD_IS_OPEN && call->now_ms <= hold->deadline_ms;
}

/* --- place --- */

static lethe_hold_record asked_for(const struct call *call) {
    const lethe_hold *hold = &call->hold;
    bool of_bucket = (hold->flags & LETHE_CHANGE_BUCKET) != 0;
    return (lethe_hold_record){.state = LETHE_HOLD_IS_OPEN,
                               .place = of_bucket ? hold->resolution + 1 : 0,
                               .deadline_ms = call->now_ms + hold->lease_ms,
                               .wall_ms = call->wall_ms,
                               .amount = hold->amount,
                               .max = hold->max,
                               .key = hold->key};
}

static bool is_same(const lethe_hold_record *one, const lethe_hold_record *other) {
    return one->amount == other->amount && one->max == other->max && one->place == other->place &&
           lethe_compare_keys(one->key, other->key) == 0;
}

/* Holds it, in memory and in the group. */
static lethe_status keep(struct call *call, const lethe_hold_record *hold, lethe_detail *detail) {
    lethe_store *store = call->store;
    lethe_claims_step step;
    lethe_status status = lethe_claims_need_family(store, detail);
    if (status == LETHE_OK) status = lethe_holds_add(store, call->id, hold);
    if (status != LETHE_OK) return status;
    lethe_claims_step_begin(store, &step);
    lethe_holds_replace(&step, &call->known, hold);
    step.after.holds.placed++;
    status = lethe_claims_step_end(store, &step);
    if (status != LETHE_OK) lethe_holds_remove(store, call->id);
    return status;
}

static lethe_status decide_place(struct call *call, lethe_detail *detail) {
    lethe_values *values = &call->store->values;
    bool is_limited, fits = true;
    lethe_hold_record asked = asked_for(call);
    if (is_known(call)) {
        bool is_mine = is_same(&asked, &call->known.hold);
        return answer(call, is_mine ? LETHE_HOLD_DUPLICATE : LETHE_HOLD_MISMATCH, &call->known.hold,
                      detail);
    }
    lethe_status status = judge(call, &asked, asked.amount, &is_limited, detail);
    if (status != LETHE_OK) return status;
    if (is_limited) return answer(call, LETHE_HOLD_LIMITED, &asked, detail);
    status = lethe_held_fits(values, asked.key, asked.amount, &fits, detail);
    if (status != LETHE_OK) return status;
    if (!fits) return answer(call, LETHE_HOLD_OVERFLOW, &asked, detail);
    status = keep(call, &asked, detail);
    return status == LETHE_OK ? answer(call, LETHE_HOLD_HELD, &asked, detail) : status;
}

/* --- settle and release --- */

/* Adds what was settled to the counter, and to its buckets of the hold's moment. The group lists
 * these records then, also if they end up as they were, so it has something to commit. */
static lethe_status book(struct call *call, const lethe_hold_record *hold, bool *overflows,
                         lethe_detail *detail) {
    lethe_values *values = &call->store->values;
    lethe_change change = {.key = hold->key, .delta = hold->actual};
    lethe_operation operation = {.changes = &change, .change_count = 1, .time_ms = hold->wall_ms};
    uint8_t outcome = LETHE_OUTCOME_APPLIED;
    *overflows = false;
    if (hold->actual == 0) return LETHE_OK;
    lethe_group *group = lethe_log_filling(&call->store->log);
    lethe_log_open_group(group);
    if (lethe_group_is_empty(group)) group->operations = 1;
    lethe_values_fetch(values, &operation, NULL, 1, &outcome);
    values->buckets.wall_ms = hold->wall_ms;
    lethe_status status = lethe_values_change(values, group, &operation, 0, overflows, detail);
    return status == LETHE_OK ? lethe_values_finish_chunk(values) : status;
}

/* Makes the hold what it is after its end. */
static lethe_status end(struct call *call, lethe_hold_record *after, bool is_beyond) {
    lethe_store *store = call->store;
    lethe_claims_step step;
    bool was_open = is_open(call);
    after->ended_ms = call->now_ms;
    lethe_claims_step_begin(store, &step);
    lethe_holds_queue(&step, call->id, call->now_ms, after);
    lethe_holds_replace(&step, &call->known, after);
    step.after.holds.forced += is_beyond;
    lethe_status status = lethe_claims_step_end(store, &step);
    if (status == LETHE_OK && was_open) lethe_holds_remove(store, call->id);
    return status;
}

static lethe_status settle(struct call *call, lethe_detail *detail) {
    lethe_hold_record after = call->known.hold;
    bool is_limited, overflows;
    int64_t more = call->actual - (is_open(call) ? after.amount : 0);
    if (!is_open(call)) after.wall_ms = call->wall_ms;
    lethe_status status = judge(call, &after, more, &is_limited, detail);
    if (status != LETHE_OK) return status;
    if (is_limited && !call->is_forced) return answer(call, LETHE_HOLD_LIMITED, &after, detail);
    after.state = LETHE_HOLD_IS_SETTLED;
    after.actual = call->actual;
    status = book(call, &after, &overflows, detail);
    if (status == LETHE_OK && overflows) return answer(call, LETHE_HOLD_OVERFLOW, &after, detail);
    if (status == LETHE_OK) status = end(call, &after, is_limited);
    if (status == LETHE_OK) status = answer(call, LETHE_HOLD_SETTLED, &after, detail);
    if (status != LETHE_OK) lethe_engine_fail(call->store, status, detail);
    return status;
}

static lethe_status decide_settle(struct call *call, lethe_detail *detail) {
    const lethe_hold_record *hold = &call->known.hold;
    if (!is_known(call)) return answer(call, LETHE_HOLD_UNKNOWN, NULL, detail);
    if (lethe_hold_is_unsettled(hold)) return settle(call, detail);
    bool is_same_again = hold->state == LETHE_HOLD_IS_SETTLED && hold->actual == call->actual;
    return answer(call, is_same_again ? LETHE_HOLD_DUPLICATE : LETHE_HOLD_MISMATCH, hold, detail);
}

static lethe_status decide_release(struct call *call, lethe_detail *detail) {
    lethe_hold_record after = call->known.hold;
    if (!is_known(call)) return answer(call, LETHE_HOLD_UNKNOWN, NULL, detail);
    if (after.state == LETHE_HOLD_IS_SETTLED)
        return answer(call, LETHE_HOLD_MISMATCH, NULL, detail);
    call->answer = LETHE_HOLD_DUPLICATE;
    if (after.state == LETHE_HOLD_IS_RELEASED) return LETHE_OK;
    call->answer = LETHE_HOLD_RELEASED;
    after.state = LETHE_HOLD_IS_RELEASED;
    return end(call, &after, false);
}

/* --- calls --- */

/* With the lock. An answer may rest on values and holds of others, so it waits for all that was
 * decided before it. */
static lethe_status run(void *context, uint64_t *commit, lethe_detail *detail) {
    struct call *call = context;
    lethe_status status = begin(call, detail);
    if (status == LETHE_OK) status = call->decide(call, detail);
    const lethe_group *group = lethe_log_filling(&call->store->log);
    bool has_written = !lethe_group_is_empty(group) || group->claims.size > 0;
    *commit = has_written ? call->store->log.filling : call->store->log.sealed;
    return status;
}

static lethe_status check(lethe_store *store, lethe_bytes id) {
    if (store->options.read_only) return lethe_engine_refuse_reader(store);
    if (store->values.kind != &lethe_counters_values)
        return lethe_engine_refuse(store, "a store that keeps a sketch has no holds");
    if (!lethe_is_key(id)) return lethe_engine_refuse(store, "an id has 1 to 1024 bytes");
    return LETHE_OK;
}

static lethe_status check_place(lethe_store *store, const lethe_hold *hold) {
    lethe_change change = {
        .key = hold->key, .flags = LETHE_CHANGE_MAX | hold->flags, .resolution = hold->resolution};
    lethe_status status = check(store, hold->id);
    if (status != LETHE_OK) return status;
    if (!lethe_is_key(hold->key)) return lethe_engine_refuse(store, "a key has 1 to 1024 bytes");
    if (hold->amount < 1) return lethe_engine_refuse(store, "a hold is of 1 or more");
    if (hold->lease_ms < 1 || hold->lease_ms > LETHE_LEASE_LIMIT_MS)
        return lethe_engine_refuse(store, "a lease lasts from 1 millisecond to 30 days");
    if ((hold->flags & ~(uint32_t)LETHE_CHANGE_BUCKET) != 0 ||
        !lethe_bounds_are_valid(&store->values, &change))
        return lethe_engine_refuse(store, "the limit is on something that the store does not have; "
                                          "with event time, a bucket has none");
    return LETHE_OK;
}

lethe_status lethe_hold_place(lethe_store *store, const lethe_hold *hold,
                              lethe_hold_answer *answered, lethe_limit *limit) {
    struct call call = {.store = store, .limit = limit, .decide = decide_place};
    if (limit != NULL) *limit = (lethe_limit){0};
    if (store == NULL || hold == NULL || answered == NULL ||
        LETHE_TAKE(hold, &call.hold, allocator) != LETHE_OK)
        return lethe_engine_refuse(store,
                                   "the hold or the answer is NULL, or the hold has no size");
    call.id = call.hold.id;
    lethe_status status = check_place(store, &call.hold);
    if (status == LETHE_OK) status = lethe_claims_run(store, 1, run, &call);
    if (status == LETHE_OK) *answered = call.answer;
    return status;
}

lethe_status lethe_hold_settle(lethe_store *store, lethe_bytes id, int64_t actual, uint32_t flags,
                               lethe_hold_answer *answered, lethe_limit *limit) {
    if (limit != NULL) *limit = (lethe_limit){0};
    if (store == NULL || answered == NULL) return lethe_engine_refuse(store, "the answer is NULL");
    struct call call = {.store = store,
                        .id = id,
                        .actual = actual,
                        .is_forced = (flags & LETHE_SETTLE_FORCE) != 0,
                        .limit = limit,
                        .decide = decide_settle};
    lethe_status status = check(store, id);
    if (status == LETHE_OK && actual < 0)
        status = lethe_engine_refuse(store, "0 or more can be settled");
    if (status == LETHE_OK && (flags & ~(uint32_t)LETHE_SETTLE_FORCE) != 0)
        status = lethe_engine_refuse(store, "a flag of settle is not known");
    if (status == LETHE_OK) status = lethe_claims_run(store, 1, run, &call);
    if (status == LETHE_OK) *answered = call.answer;
    return status;
}

lethe_status lethe_hold_release(lethe_store *store, lethe_bytes id, lethe_hold_answer *answered) {
    if (store == NULL || answered == NULL) return lethe_engine_refuse(store, "the answer is NULL");
    struct call call = {.store = store, .id = id, .decide = decide_release};
    lethe_status status = check(store, id);
    if (status == LETHE_OK) status = lethe_claims_run(store, 1, run, &call);
    if (status == LETHE_OK) *answered = call.answer;
    return status;
}
