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

lethe_status lethe_holds_find(lethe_store *store, lethe_bytes id, lethe_hold_found *out,
                              uint64_t *commit, lethe_detail *detail) {
    lethe_claims_found found;
    out->exists = false;
    out->size = 0;
    *commit = 0;
    lethe_claim_key_of_kind(LETHE_HOLD_BY_ID, id, &out->key);
    if (!store->claims.exist) return LETHE_OK;
    lethe_status status = lethe_claims_find(store, &out->key, &found, detail);
    if (status != LETHE_OK) return status;
    *commit = found.commit;
    if (found.value.data != NULL) {
        if (found.value.size <= sizeof out->bytes) {
            memcpy(out->bytes, found.value.data, found.value.size);
            out->size = found.value.size;
        }
        status = lethe_hold_load((lethe_bytes){.data = out->bytes, .size = out->size}, &out->hold);
        out->exists = status == LETHE_OK;
    }
    lethe_claims_release(&found);
    return status == LETHE_OK ? LETHE_OK : lethe_explain_damage("a hold", status, detail);
}

bool lethe_hold_is_old(uint64_t window_ms, const lethe_hold_record *hold, uint64_t now_ms) {
    uint64_t end_ms = lethe_hold_is_unsettled(hold) ? hold->deadline_ms : hold->ended_ms;
    return lethe_claims_has_passed(end_ms, now_ms, window_ms);
}

void lethe_holds_replace(lethe_claims_step *step, const lethe_hold_found *before,
                         const lethe_hold_record *after) {
    lethe_holds_totals *totals = &step->after.holds;
    lethe_bytes key = lethe_claim_key_bytes(&before->key);
    if (before->exists) {
        bool was_open = before->hold.state == LETHE_HOLD_IS_OPEN;
        totals->digest -=
            lethe_claim_digest(key, (lethe_bytes){.data = before->bytes, .size = before->size});
        totals->open_count -= was_open;
        totals->ended_count -= !was_open;
    }
    if (after == NULL) {
        lethe_claims_step_delete(step, &before->key);
        return;
    }
    unsigned char bytes[LETHE_HOLD_RECORD_LIMIT_BYTES];
    lethe_bytes value = {.data = bytes, .size = lethe_hold_store(bytes, after)};
    bool is_open = after->state == LETHE_HOLD_IS_OPEN;
    totals->digest += lethe_claim_digest(key, value);
    totals->open_count += is_open;
    totals->ended_count += !is_open;
    lethe_claims_step_put(step, &before->key, value);
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
    lethe_hold_found found;
    lethe_claims_step step;
    uint64_t commit;
    lethe_bytes id = {.data = first->bytes, .size = first->id_size};
    lethe_status status = lethe_holds_find(store, id, &found, &commit, detail);
    if (status != LETHE_OK) return status;
    if (found.exists && found.hold.state == LETHE_HOLD_IS_OPEN &&
        found.hold.deadline_ms == first->deadline_ms) {
        lethe_hold_record hold = found.hold;
        hold.state = LETHE_HOLD_IS_LAPSED;
        lethe_claims_step_begin(store, &step);
        lethe_holds_queue(&step, id, now_ms, &hold);
        lethe_holds_replace(&step, &found, &hold);
        status = lethe_claims_step_end(store, &step);
    }
    if (status == LETHE_OK) lethe_holds_drop_lapsed(store);
    return status;
}

/* Forgets the first of the queue, if it is old enough. *more: there may be another. */
static lethe_status forget(lethe_store *store, uint64_t now_ms, bool *more, lethe_detail *detail) {
    lethe_claims_first first;
    lethe_hold_found found;
    lethe_claims_step step;
    uint64_t commit, number = store->claims.record.holds.ended.first;
    *more = false;
    if (number == store->claims.record.holds.ended.next) return LETHE_OK;
    lethe_status status =
        lethe_claims_read_first(store, LETHE_HOLD_ENDED_AT, number, &first, detail);
    if (status != LETHE_OK) return status;
    if (!lethe_claims_has_passed(first.entry.moment_ms, now_ms, store->options.window_ms))
        return LETHE_OK;
    status = lethe_holds_find(store, first.entry.id, &found, &commit, detail);
    if (status != LETHE_OK) return status;
    lethe_claims_step_begin(store, &step);
    lethe_claims_step_delete(&step, &first.key);
    step.after.holds.ended.first++;
    if (found.exists && found.hold.number == number) lethe_holds_replace(&step, &found, NULL);
    *more = true;
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
