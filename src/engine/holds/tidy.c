/* engine/holds/tidy.c - holds on disk: finding and replacing them, and forgetting what has ended.
 *
 * IDEA    Holds that have ended stand in a queue, in the order in which that was recorded: the
 *         first is the oldest. A lease that ends is recorded by one of the next calls.
 * I1      A hold whose end is recorded has one record in the queue, under its own number. Others
 *         are left over from holds that had the id before.
 * I2      A call records the ends of a few leases and forgets a few holds, and places at most one.
 *         So neither those in memory nor the queue grow without need.
 * I3      Whether a hold is still known follows from its record alone, and not from whether
 *         somebody had the time to forget it. */
#include "core/detail.h"
#include "engine/store.h"

enum { AT_ONCE = 4 };

lethe_status lethe_holds_read(lethe_store *store, lethe_bytes id, lethe_hold_known *out,
                              lethe_detail *detail) {
    lethe_status status = lethe_claims_copy_record(store, LETHE_HOLD_BY_ID, id, &out->copy, detail);
    if (status != LETHE_OK || !out->copy.exists) return status;
    status = lethe_hold_load(lethe_claims_copy_bytes(&out->copy), &out->hold);
    return status == LETHE_OK ? LETHE_OK : lethe_explain_damage("a hold", status, detail);
}

bool lethe_hold_is_old(uint64_t window_ms, const lethe_hold_record *hold, uint64_t now_ms) {
    uint64_t end_ms = lethe_hold_is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
    return lethe_claims_has_passed(end_ms, now_ms, window_ms);
}

void lethe_holds_replace(lethe_claims_step *step, const lethe_hold_known *before,
                         const lethe_hold_record *after) {
    lethe_holds_totals *totals = &step->after.holds;
    unsigned char bytes[LETHE_HOLD_RECORD_LIMIT_BYTES];
    lethe_bytes value = {0};
    if (before->copy.exists) {
        bool was_open = before->hold.state == LETHE_HOLD_IS_OPEN;
        totals->open_count -= was_open;
        totals->ended_count -= !was_open;
    }
    if (after != NULL) {
        bool is_open = after->state == LETHE_HOLD_IS_OPEN;
        totals->open_count += is_open;
        totals->ended_count += !is_open;
        value = (lethe_bytes){.data = bytes, .size = lethe_hold_store(bytes, after)};
    }
    lethe_claims_step_replace(step, &before->copy, value, &totals->digest);
}

void lethe_holds_queue(lethe_claims_step *step, lethe_bytes id, uint64_t now_ms,
                       lethe_hold_record *hold) {
    hold->number = step->after.holds.ended.next++;
    lethe_claims_queue(step, LETHE_HOLD_ENDED_AT, hold->number,
                       &(lethe_claim_entry){.moment_ms = now_ms, .id = id});
}

/* Records the end of the lease that ended first, unless the hold was settled or released since. */
static lethe_status record_lapse(lethe_store *store, uint64_t now_ms, lethe_detail *detail) {
    const lethe_hold_open *first = store->holds.lapsed;
    lethe_hold_known known;
    lethe_claims_step step;
    lethe_bytes id = {.data = first->bytes, .size = first->id_size};
    lethe_status status = lethe_holds_read(store, id, &known, detail);
    if (status != LETHE_OK) return status;
    if (known.copy.exists && known.hold.state == LETHE_HOLD_IS_OPEN &&
        known.hold.deadline_ms == first->deadline_ms) {
        lethe_hold_record hold = known.hold;
        hold.state = LETHE_HOLD_IS_LAPSED;
        lethe_claims_step_begin(store, &step);
        lethe_holds_queue(&step, id, now_ms, &hold);
        lethe_holds_replace(&step, &known, &hold);
        status = lethe_claims_step_end(store, &step);
    }
    if (status == LETHE_OK) lethe_holds_drop_lapsed(store);
    return status;
}

/* Forgets the first of the queue, if it is old enough. *more: there may be another. */
static lethe_status forget(lethe_store *store, uint64_t now_ms, bool *more, lethe_detail *detail) {
    lethe_claims_first first;
    lethe_hold_known known;
    lethe_claims_step step;
    lethe_status status =
        lethe_claims_read_first(store, LETHE_HOLD_ENDED_AT, &store->claims.record.holds.ended,
                                now_ms, store->options.window_ms, &first, more, detail);
    if (status == LETHE_OK && *more)
        status = lethe_holds_read(store, first.entry.id, &known, detail);
    if (status != LETHE_OK || !*more) return status;
    lethe_claims_step_begin(store, &step);
    lethe_claims_step_delete(&step, &first.key);
    step.after.holds.ended.first++;
    if (known.copy.exists && known.hold.number == first.number)
        lethe_holds_replace(&step, &known, NULL);
    return lethe_claims_step_end(store, &step);
}

lethe_status lethe_holds_tidy(lethe_store *store, uint64_t now_ms, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    bool more = store->claims.exist;
    for (unsigned i = 0; i < AT_ONCE && more && status == LETHE_OK; i++)
        status = forget(store, now_ms, &more, detail);
    for (unsigned i = 0; i < AT_ONCE && store->holds.lapsed != NULL && status == LETHE_OK; i++)
        status = record_lapse(store, now_ms, detail);
    return status;
}
