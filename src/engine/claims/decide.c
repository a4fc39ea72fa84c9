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

lethe_status lethe_claims_hold(lethe_store *store, lethe_bytes id, lethe_claim_held *out,
                               lethe_detail *detail) {
    lethe_claims_found found;
    out->exists = false;
    out->commit = out->size = 0;
    lethe_claim_key_of_id(id, &out->key);
    if (!store->claims.exist) return LETHE_OK;
    lethe_status status = lethe_claims_find(store, &out->key, &found, detail);
    if (status != LETHE_OK) return status;
    out->commit = found.commit;
    if (found.value.data != NULL) {
        if (found.value.size <= sizeof out->bytes) {
            memcpy(out->bytes, found.value.data, found.value.size);
            out->size = found.value.size;
        }
        status =
            lethe_claim_load((lethe_bytes){.data = out->bytes, .size = out->size}, &out->claim);
        out->exists = status == LETHE_OK;
    }
    lethe_claims_release(&found);
    return status == LETHE_OK ? LETHE_OK : lethe_explain_damage("a claim", status, detail);
}

bool lethe_claim_is_old(const lethe_store *store, const lethe_claim_record *claim,
                        uint64_t now_ms) {
    return now_ms > claim->moment_ms && now_ms - claim->moment_ms > store->options.window_ms;
}

void lethe_claims_replace(lethe_claims_step *step, const lethe_claim_held *before,
                          const lethe_claim_record *after) {
    lethe_claims_record *record = &step->after;
    lethe_bytes key = lethe_claim_key_bytes(&before->key);
    if (before->exists) {
        record->digest -=
            lethe_claim_digest(key, (lethe_bytes){.data = before->bytes, .size = before->size});
        record->open_count -= !before->claim.is_done;
        record->done_count -= before->claim.is_done;
    }
    if (after == NULL) {
        lethe_claims_step_delete(step, &before->key);
        return;
    }
    unsigned char bytes[LETHE_CLAIM_RECORD_LIMIT_BYTES];
    lethe_bytes value = {.data = bytes, .size = lethe_claim_store(bytes, after)};
    record->digest += lethe_claim_digest(key, value);
    record->open_count += !after->is_done;
    record->done_count += after->is_done;
    lethe_claims_step_put(step, &before->key, value);
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
static void extend(const lethe_claim_held *held, uint64_t until_ms, lethe_claims_step *step) {
    lethe_claim_record claim = held->claim;
    if (until_ms <= claim.moment_ms) return;
    claim.moment_ms = until_ms;
    lethe_claims_replace(step, held, &claim);
}

lethe_claim_answer lethe_claims_decide_begin(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_held *held, uint64_t now_ms,
                                             lethe_claims_step *step) {
    const lethe_claim_record *known = &held->claim;
    uint64_t until_ms = now_ms + request->lease_ms;
    bool exists = held->exists && !lethe_claim_is_old(store, known, now_ms);
    if (exists && !is_equal(known->fingerprint, request->fingerprint)) return LETHE_CLAIM_MISMATCH;
    if (exists && known->is_done) return LETHE_CLAIM_DONE;
    bool is_own = exists && is_equal(known->token, request->token);
    if (is_own) {
        extend(held, until_ms, step);
        return LETHE_CLAIM_NEW;
    }
    if (exists && now_ms <= known->moment_ms) return LETHE_CLAIM_RUNNING;
    lethe_claim_record claim = {
        .moment_ms = until_ms, .token = request->token, .fingerprint = request->fingerprint};
    lethe_claims_queue_open(step, request->id, now_ms, &claim);
    lethe_claims_replace(step, held, &claim);
    return LETHE_CLAIM_NEW;
}

/* What there is to say unless the caller holds the claim; then LETHE_CLAIM_NEW. */
static lethe_claim_answer judge_holder(const lethe_store *store, const lethe_claim_request *request,
                                       const lethe_claim_held *held, uint64_t now_ms) {
    if (!held->exists || lethe_claim_is_old(store, &held->claim, now_ms))
        return LETHE_CLAIM_UNKNOWN;
    if (held->claim.is_done) return LETHE_CLAIM_DONE;
    return is_equal(held->claim.token, request->token) ? LETHE_CLAIM_NEW : LETHE_CLAIM_LOST;
}

lethe_claim_answer lethe_claims_decide_renew(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_held *held, uint64_t now_ms,
                                             lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, held, now_ms);
    if (answer != LETHE_CLAIM_NEW) return answer;
    extend(held, now_ms + request->lease_ms, step);
    return LETHE_CLAIM_RENEWED;
}

lethe_claim_answer lethe_claims_decide_done(const lethe_store *store,
                                            const lethe_claim_request *request,
                                            const lethe_claim_held *held, uint64_t now_ms,
                                            lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, held, now_ms);
    if (answer == LETHE_CLAIM_DONE) {
        return is_equal(held->claim.token, request->token) ? LETHE_CLAIM_DUPLICATE
                                                           : LETHE_CLAIM_LOST;
    }
    if (answer != LETHE_CLAIM_NEW) return answer;
    lethe_claims_record *after = &step->after;
    lethe_claim_record claim = held->claim;
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
    lethe_claims_replace(step, held, &claim);
    return LETHE_CLAIM_RECORDED;
}

lethe_claim_answer lethe_claims_decide_abort(const lethe_store *store,
                                             const lethe_claim_request *request,
                                             const lethe_claim_held *held, uint64_t now_ms,
                                             lethe_claims_step *step) {
    lethe_claim_answer answer = judge_holder(store, request, held, now_ms);
    if (answer != LETHE_CLAIM_NEW) return answer;
    lethe_claims_replace(step, held, NULL);
    return LETHE_CLAIM_ABORTED;
}
