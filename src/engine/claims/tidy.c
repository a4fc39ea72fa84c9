/* engine/claims/tidy.c - forgetting claims and dropping replies, a little with each call.
 *
 * IDEA    Claims that are done stand in a queue, in the order in which they were done: the first is
 *         the oldest. Open ones stand in another, in the order in which they were begun. When the
 *         first of these has been there for an eighth of W it is looked at: a claim that is still
 *         open and young goes to the end of the queue, any other leaves it.
 * I1      A claim that is done has one record in the queue of those that are done, and an open one
 *         has one in the queue of the open ones, under its own number. Others are left over from
 *         what the claim was before.
 * I2      Each record of a queue that is looked at leaves it, and a call adds at most one to each
 *         queue. So a call that takes several keeps the queues as short as they can be.
 * I3      A reply has a number from replies.first on, or it is gone. Its claim says its size, so an
 *         empty one is not taken for one that is gone.
 * WHY     A queue by the end of the lease would have to be searched: renewals and completions leave
 *         gaps in it, and a database reads over what was deleted. */
#include "core/detail.h"
#include "engine/store.h"

enum { FORGET_AT_ONCE = 4, DROP_AT_ONCE = 1024, LOOK_SHARE = 8 };

/* Reads the record of a queue. */
static lethe_status read_entry(lethe_store *store, lethe_claims_first *out, lethe_detail *detail) {
    lethe_claims_found found;
    lethe_status status = lethe_claims_find(store, &out->key, &found, detail);
    if (status != LETHE_OK) return status;
    size_t size = found.value.data == NULL ? 0 : found.value.size;
    if (size > sizeof out->bytes) size = 0;
    if (size > 0) memcpy(out->bytes, found.value.data, size);
    lethe_claims_release(&found);
    status = lethe_claim_entry_load((lethe_bytes){.data = out->bytes, .size = size}, &out->entry);
    return status == LETHE_OK ? LETHE_OK
                              : lethe_explain_damage("a queue of claims", status, detail);
}

lethe_status lethe_claims_read_first(lethe_store *store, char kind, const lethe_claim_range *queue,
                                     uint64_t now_ms, uint64_t span_ms, lethe_claims_first *out,
                                     bool *is_due, lethe_detail *detail) {
    *is_due = false;
    if (queue->first == queue->next) return LETHE_OK;
    out->number = queue->first;
    lethe_claim_key_of_number(kind, out->number, &out->key);
    lethe_status status = read_entry(store, out, detail);
    if (status == LETHE_OK)
        *is_due = lethe_claims_has_passed(out->entry.moment_ms, now_ms, span_ms);
    return status;
}

/* Whether the claim is the one that has this number in this queue. */
static bool is_of(const lethe_claim_known *known, bool is_done, uint64_t number) {
    return known->copy.exists && known->claim.is_done == is_done && known->claim.number == number;
}

/* Looks at the first open one. *more: there may be another. */
static lethe_status look_at_open(lethe_store *store, uint64_t now_ms, bool *more,
                                 lethe_detail *detail) {
    const uint64_t window_ms = store->options.window_ms;
    lethe_claims_first first;
    lethe_claim_known known;
    lethe_claims_step step;
    lethe_status status =
        lethe_claims_read_first(store, LETHE_CLAIM_OPEN_AT, &store->claims.record.opened, now_ms,
                                window_ms / LOOK_SHARE, &first, more, detail);
    if (status == LETHE_OK && *more)
        status = lethe_claims_read(store, first.entry.id, &known, detail);
    if (status != LETHE_OK || !*more) return status;
    lethe_claims_step_begin(store, &step);
    lethe_claims_step_delete(&step, &first.key);
    step.after.opened.first++;
    if (is_of(&known, false, first.number) && lethe_claim_is_old(window_ms, &known.claim, now_ms)) {
        lethe_claims_replace(&step, &known, NULL);
    } else if (is_of(&known, false, first.number)) {
        lethe_claim_record claim = known.claim;
        lethe_claims_queue_open(&step, first.entry.id, now_ms, &claim);
        lethe_claims_replace(&step, &known, &claim);
    }
    return lethe_claims_step_end(store, &step);
}

/* The reply of a claim that is forgotten goes with it. */
static void forget_reply(lethe_claims_step *step, const lethe_claim_entry *entry) {
    lethe_claim_key key;
    if (entry->reply_number < step->after.replies.first || entry->reply_number == 0) return;
    lethe_claim_key_of_number(LETHE_CLAIM_REPLY, entry->reply_number, &key);
    lethe_claims_step_delete(step, &key);
    step->after.reply_bytes -= lethe_claim_charge(entry->reply_bytes);
    step->after.replies.first = entry->reply_number + 1;
}

/* Forgets the first that is done, if it is old enough. *more: there may be another. */
static lethe_status forget_done(lethe_store *store, uint64_t now_ms, bool *more,
                                lethe_detail *detail) {
    lethe_claims_first first;
    lethe_claim_known known;
    lethe_claims_step step;
    lethe_status status =
        lethe_claims_read_first(store, LETHE_CLAIM_DONE_AT, &store->claims.record.done, now_ms,
                                store->options.window_ms, &first, more, detail);
    if (status == LETHE_OK && *more)
        status = lethe_claims_read(store, first.entry.id, &known, detail);
    if (status != LETHE_OK || !*more) return status;
    lethe_claims_step_begin(store, &step);
    lethe_claims_step_delete(&step, &first.key);
    step.after.done.first++;
    forget_reply(&step, &first.entry);
    if (is_of(&known, true, first.number)) lethe_claims_replace(&step, &known, NULL);
    return lethe_claims_step_end(store, &step);
}

lethe_status lethe_claims_forget(lethe_store *store, uint64_t now_ms, lethe_detail *detail) {
    lethe_status status = LETHE_OK;
    bool more = store->claims.exist;
    for (unsigned i = 0; i < FORGET_AT_ONCE && more && status == LETHE_OK; i++)
        status = forget_done(store, now_ms, &more, detail);
    more = store->claims.exist;
    for (unsigned i = 0; i < FORGET_AT_ONCE && more && status == LETHE_OK; i++)
        status = look_at_open(store, now_ms, &more, detail);
    return status;
}

static lethe_status drop_reply(lethe_store *store, lethe_detail *detail) {
    lethe_claim_key key;
    lethe_claims_found found;
    lethe_claims_step step;
    lethe_claim_key_of_number(LETHE_CLAIM_REPLY, store->claims.record.replies.first, &key);
    lethe_status status = lethe_claims_find(store, &key, &found, detail);
    if (status != LETHE_OK) return status;
    size_t size = found.value.data == NULL ? 0 : found.value.size;
    lethe_claims_release(&found);
    if (size == 0 || size > LETHE_REPLY_LIMIT_BYTES)
        return lethe_explain_damage("a reply", LETHE_ECORRUPT, detail);
    lethe_claims_step_begin(store, &step);
    lethe_claims_step_delete(&step, &key);
    step.after.replies.first++;
    step.after.reply_bytes -= lethe_claim_charge((uint32_t)size);
    return lethe_claims_step_end(store, &step);
}

lethe_status lethe_claims_drop_replies(lethe_store *store, lethe_detail *detail) {
    const lethe_claims_record *record = &store->claims.record;
    lethe_status status = LETHE_OK;
    for (unsigned i = 0; i <= DROP_AT_ONCE && status == LETHE_OK; i++) {
        if (record->reply_bytes <= record->reply_limit_bytes ||
            record->replies.first == record->replies.next) {
            break;
        }
        status = drop_reply(store, detail);
    }
    return status;
}
