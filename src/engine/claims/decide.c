/* engine/claims/decide.c - begin, renew, done, abort: what is answered, and what changes.
 *
 *                begin              renew, done, abort
 *   no claim     new                unknown
 *   own, open    new                renewed, recorded, aborted: whether or not the lease has ended
 *   another's    running; new if    lost
 *                the lease ended
 *   done         done               done; "done" itself: duplicate if it was this token's, or lost
 *
 *   and begin with another fingerprint is a mismatch, as long as anything is known of the claim.
 *
 * I1      moment + lease: the lease has ended when the clock is past its last millisecond. Clocks
 *         are cut off to milliseconds, so less would end it up to one too early.
 * I2      A lease is never made shorter. */
#include <string.h>

#include "core/detail.h"
#include "engine/store.h"

lethe_status lethe_claims_read(lethe_store *store, lethe_bytes id, lethe_claim_known *out,
                               lethe_detail *detail) {
    lethe_status status =
        lethe_claims_copy_record(store, LETHE_CLAIM_BY_ID, id, &out->copy, detail);
    if (status != LETHE_OK || !out->copy.exists) return status;
    status = lethe_claim_load(lethe_claims_copy_bytes(&out->copy), &out->claim);
    return status == LETHE_OK ? LETHE_OK : lethe_explain_damage("a claim", status, detail);
}

void lethe_claims_replace(lethe_claims_step *step, const lethe_claim_known *before,
                          const lethe_claim_record *after) {
    lethe_claims_record *record = &step->after;
    unsigned char bytes[LETHE_CLAIM_RECORD_LIMIT_BYTES];
    lethe_bytes value = {0};
    if (before->copy.exists) {
        record->open_count -= !before->claim.is_done;
        record->done_count -= before->claim.is_done;
    }
    if (after != NULL) {
        record->open_count += !after->is_done;
        record->done_count += after->is_done;
        value = (lethe_bytes){.data = bytes, .size = lethe_claim_store(bytes, after)};
    }
    lethe_claims_step_replace(step, &before->copy, value, &record->digest);
}

void lethe_claims_queue(lethe_claims_step *step, char kind, uint64_t number,
                        const lethe_claim_entry *entry) {
    unsigned char bytes[LETHE_CLAIM_ENTRY_LIMIT_BYTES];
    lethe_claim_key key;
    lethe_claim_key_of_number(kind, number, &key);
    lethe_claims_step_put(
        step, &key, (lethe_bytes){.data = bytes, .size = lethe_claim_entry_store(bytes, entry)});
}

void lethe_claims_queue_open(lethe_claims_step *step, lethe_bytes id, uint64_t now_ms,
                             lethe_claim_record *claim) {
    claim->number = step->after.opened.next++;
    lethe_claims_queue(step, LETHE_CLAIM_OPEN_AT, claim->number,
                       &(lethe_claim_entry){.moment_ms = now_ms, .id = id});
}

static bool is_equal(lethe_bytes one, lethe_bytes other) {
    return one.size == other.size && (one.size == 0 || memcmp(one.data, other.data, one.size) == 0);
}

/* The lease lasts so long from now on, or as long as it did. */
static void extend(const lethe_claim_known *known, uint64_t until_ms, lethe_claims_step *step) {
    lethe_claim_record claim = known->claim;
    if (until_ms <= claim.moment_ms) return;
    claim.moment_ms = until_ms;
    lethe_claims_replace(step, known, &claim);
}

lethe_claim_answer lethe_claims_decide_begin(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_known *known, uint64_t now_ms,
                                             lethe_claims_step *step) {
    const lethe_claim_record *before = &known->claim;
    uint64_t until_ms = now_ms + request->lease_ms;
    bool exists =
        known->copy.exists && !lethe_claim_is_old(store->options.window_ms, before, now_ms);
    if (exists && !is_equal(before->fingerprint, request->fingerprint)) return LETHE_CLAIM_MISMATCH;
    if (exists && before->is_done) return LETHE_CLAIM_DONE;
    bool is_own = exists && is_equal(before->token, request->token);
    if (is_own) {
        extend(known, until_ms, step);
        return LETHE_CLAIM_NEW;
    }
    if (exists && now_ms <= before->moment_ms) return LETHE_CLAIM_RUNNING;
    lethe_claim_record claim = {
        .moment_ms = until_ms, .token = request->token, .fingerprint = request->fingerprint};
    lethe_claims_queue_open(step, request->id, now_ms, &claim);
    lethe_claims_replace(step, known, &claim);
    return LETHE_CLAIM_NEW;
}

/* What there is to say unless the caller holds the claim; then LETHE_CLAIM_NEW. */
static lethe_claim_answer judge_holder(const lethe_store *store, const lethe_claim_request *request,
                                       const lethe_claim_known *known, uint64_t now_ms) {
    if (!known->copy.exists || lethe_claim_is_old(store->options.window_ms, &known->claim, now_ms))
        return LETHE_CLAIM_UNKNOWN;
    if (known->claim.is_done) return LETHE_CLAIM_DONE;
    return is_equal(known->claim.token, request->token) ? LETHE_CLAIM_NEW : LETHE_CLAIM_LOST;
}

lethe_claim_answer lethe_claims_decide_renew(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_known *known, uint64_t now_ms,
                                             lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, known, now_ms);
    if (answer != LETHE_CLAIM_NEW) return answer;
    extend(known, now_ms + request->lease_ms, step);
    return LETHE_CLAIM_RENEWED;
}

lethe_claim_answer lethe_claims_decide_done(const lethe_store *store,
                                            const lethe_claim_request *request,
                                            const lethe_claim_known *known, uint64_t now_ms,
                                            lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, known, now_ms);
    if (answer == LETHE_CLAIM_DONE) {
        return is_equal(known->claim.token, request->token) ? LETHE_CLAIM_DUPLICATE
                                                            : LETHE_CLAIM_LOST;
    }
    if (answer != LETHE_CLAIM_NEW) return answer;
    lethe_claims_record *after = &step->after;
    lethe_claim_record claim = known->claim;
    claim.is_done = true;
    claim.number = after->done.next++;
    claim.moment_ms = now_ms;
    if (request->reply.size > 0) {
        lethe_claim_key key;
        claim.reply_number = after->replies.next++;
        claim.reply_bytes = (uint32_t)request->reply.size;
        after->reply_bytes += lethe_claim_charge(claim.reply_bytes);
        lethe_claim_key_of_number(LETHE_CLAIM_REPLY, claim.reply_number, &key);
        lethe_claims_step_put(step, &key, request->reply);
    }
    lethe_claims_queue(step, LETHE_CLAIM_DONE_AT, claim.number,
                       &(lethe_claim_entry){.moment_ms = now_ms,
                                            .reply_number = claim.reply_number,
                                            .reply_bytes = claim.reply_bytes,
                                            .id = request->id});
    lethe_claims_replace(step, known, &claim);
    return LETHE_CLAIM_RECORDED;
}

lethe_claim_answer lethe_claims_decide_abort(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_known *known, uint64_t now_ms,
                                             lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, known, now_ms);
    if (answer != LETHE_CLAIM_NEW) return answer;
    lethe_claims_replace(step, known, NULL);
    return LETHE_CLAIM_ABORTED;
}
