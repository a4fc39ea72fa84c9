/* engine/claims/call.c - the calls that change claims: from arguments to what is durable.
 *
 * IDEA    Under the lock: make room in the filling group, forget what is old, look at the claim,
 *         decide. Then wait for the commit that the answer rests on: that of this call's changes,
 *         or that of another's which is not durable yet.
 * I1      A call that fails before its step ended has changed nothing. After that only the commit
 *         can fail, and then the store accepts nothing more.
 * I2      A completion and the operations that come with it are in one group. */
#include "core/allocator.h"
#include "core/detail.h"
#include "core/sized.h"
#include "engine/operations/chunk.h"
#include "engine/store.h"

lethe_status lethe_claims_open(lethe_claims *claims, lethe_disk *disk,
                               const lethe_allocator *allocator, lethe_detail *detail) {
    claims->step.allocator = allocator;
    lethe_status status = lethe_claims_load(disk, &claims->record, detail);
    claims->exist = status == LETHE_OK;
    if (status == LETHE_ENOTFOUND) {
        claims->record = (lethe_claims_record){.opened = {1, 1},
                                               .done = {1, 1},
                                               .replies = {1, 1},
                                               .holds = {.ended = {1, 1}},
                                               .reply_limit_bytes = LETHE_CLAIMS_REPLIES_BYTES};
        status = LETHE_OK;
    }
    if (status == LETHE_OK) lethe_claims_start_clock(claims);
    return status;
}

void lethe_claims_close(lethe_claims *claims) {
    lethe_buffer_free(&claims->step);
}

/* A call under way. */
struct call {
    lethe_store *store;
    lethe_claim_decide *decide;
    lethe_claim_request request;
    const lethe_operation *operations;
    size_t count;
    uint8_t *outcomes;
    int64_t *values;
    lethe_claim_answer answer;
    /* Filled in where the answer calls for it, unless NULL. */
    lethe_claim *claim;
};

static lethe_status describe(struct call *call, const lethe_claim_known *known, uint64_t now_ms,
                             lethe_detail *detail) {
    lethe_store *store = call->store;
    lethe_claim claim = {.size = sizeof claim};
    bool is_shown = call->answer == LETHE_CLAIM_RUNNING || call->answer == LETHE_CLAIM_DONE ||
                    call->answer == LETHE_CLAIM_MISMATCH;
    if (call->claim == NULL || !is_shown) return LETHE_OK;
    claim = lethe_claim_describe(store->options.window_ms, store->claims.record.replies.first,
                                 call->request.id, &known->claim, now_ms);
    claim.token = (lethe_bytes){0};
    lethe_claim_record without = known->claim;
    if (call->answer != LETHE_CLAIM_DONE) without.reply_bytes = 0;
    lethe_status status = lethe_claim_keep(store, &without, &claim, detail);
    return status == LETHE_OK ? LETHE_GIVE(&claim, call->claim, allocator) : status;
}

/* The rest of a completion: its operations, and room for its reply. */
static lethe_status complete(struct call *call, lethe_detail *detail) {
    lethe_store *store = call->store;
    lethe_status status = LETHE_OK;
    if (call->answer != LETHE_CLAIM_RECORDED) return LETHE_OK;
    if (call->count > 0) {
        status = lethe_engine_decide_together(store, call->operations, call->count, call->outcomes,
                                              call->values);
    }
    if (status == LETHE_OK) status = lethe_claims_drop_replies(store, detail);
    if (status != LETHE_OK) lethe_engine_fail(store, status, detail);
    return status;
}

/* With the lock, and room. */
static lethe_status decide(void *context, uint64_t *commit, lethe_detail *detail) {
    struct call *call = context;
    lethe_store *store = call->store;
    lethe_claim_known known;
    lethe_claims_step step;
    uint64_t now_ms = lethe_claims_now(&store->claims);
    lethe_status status = lethe_claims_forget(store, now_ms, detail);
    if (status == LETHE_OK) status = lethe_claims_read(store, call->request.id, &known, detail);
    if (status != LETHE_OK) return status;
    lethe_claims_step_begin(store, &step);
    call->answer = call->decide(store, &call->request, &known, now_ms, &step);
    bool changes = step.writes->size > 0 || step.status != LETHE_OK;
    *commit = changes ? store->log.filling : known.copy.commit;
    if (!changes) return describe(call, &known, now_ms, detail);
    status = lethe_claims_need_family(store, detail);
    if (status == LETHE_OK) status = lethe_claims_step_end(store, &step);
    return status == LETHE_OK ? complete(call, detail) : status;
}

static bool is_within(lethe_bytes bytes, size_t least, size_t most) {
    return bytes.size >= least && bytes.size <= most && (bytes.data != NULL || bytes.size == 0);
}

static lethe_status check(const struct call *call) {
    const lethe_claim_request *request = &call->request;
    if (call->store == NULL) return LETHE_EINVAL;
    if (call->store->options.read_only) return lethe_engine_refuse_reader(call->store);
    if (!lethe_is_key(request->id))
        return lethe_engine_refuse(call->store, "an id has 1 to 1024 bytes");
    if (!is_within(request->token, 1, LETHE_TOKEN_LIMIT_BYTES))
        return lethe_engine_refuse(call->store, "a token has 1 to 255 bytes");
    if (!is_within(request->fingerprint, 0, LETHE_FINGERPRINT_LIMIT_BYTES))
        return lethe_engine_refuse(call->store, "a fingerprint has 255 bytes at most");
    if (!is_within(request->reply, 0, LETHE_REPLY_LIMIT_BYTES))
        return lethe_engine_refuse(call->store, "a reply has 1,048,576 bytes at most");
    if (request->lease_ms < 1 || request->lease_ms > LETHE_LEASE_LIMIT_MS)
        return lethe_engine_refuse(call->store, "a lease lasts from 1 millisecond to 30 days");
    if (call->count > call->store->options.commit_operations)
        return lethe_engine_refuse(call->store, "that is more operations than a commit has");
    return LETHE_OK;
}

static lethe_status run(struct call *call) {
    lethe_status status = check(call);
    return status == LETHE_OK ? lethe_claims_run(call->store, call->count, decide, call) : status;
}

lethe_status lethe_claim_begin(lethe_store *store, lethe_bytes id, lethe_bytes token,
                               lethe_bytes fingerprint, uint64_t lease_ms,
                               lethe_claim_answer *answer, lethe_claim *claim) {
    const lethe_claim empty = {.size = sizeof empty};
    if (claim != NULL && LETHE_GIVE(&empty, claim, allocator) != LETHE_OK)
        return lethe_engine_refuse(store, "the claim has no size");
    if (answer == NULL) return lethe_engine_refuse(store, "the answer is NULL");
    struct call call = {
        .store = store,
        .decide = lethe_claims_decide_begin,
        .request = {.id = id, .token = token, .fingerprint = fingerprint, .lease_ms = lease_ms},
        .claim = claim};
    lethe_status status = run(&call);
    if (status == LETHE_OK)
        *answer = call.answer;
    else
        lethe_claim_free(claim);
    return status;
}

static lethe_status run_for(struct call *call, lethe_claim_answer *answer) {
    if (answer == NULL) return lethe_engine_refuse(call->store, "the answer is NULL");
    if (call->request.lease_ms == 0 && call->decide != lethe_claims_decide_renew)
        call->request.lease_ms = 1; /* it asks for none */
    lethe_status status = run(call);
    if (status == LETHE_OK) *answer = call->answer;
    return status;
}

lethe_status lethe_claim_renew(lethe_store *store, lethe_bytes id, lethe_bytes token,
                               uint64_t lease_ms, lethe_claim_answer *answer) {
    struct call call = {.store = store,
                        .decide = lethe_claims_decide_renew,
                        .request = {.id = id, .token = token, .lease_ms = lease_ms}};
    return run_for(&call, answer);
}

lethe_status lethe_claim_done(lethe_store *store, lethe_bytes id, lethe_bytes token,
                              lethe_bytes reply, lethe_claim_answer *answer) {
    return lethe_claim_done_with(store, id, token, reply, NULL, 0, NULL, NULL, answer);
}

/* NOLINTBEGIN(readability-non-const-parameter): outcomes and values are filled in. */
lethe_status lethe_claim_done_with(lethe_store *store, lethe_bytes id, lethe_bytes token,
                                   lethe_bytes reply, const lethe_operation *operations,
                                   size_t count, uint8_t *outcomes, int64_t *values,
                                   lethe_claim_answer *answer) {
    if (count > 0 && (operations == NULL || outcomes == NULL))
        return lethe_engine_refuse(store, "the operations or the outcomes are NULL");
    struct call call = {.store = store,
                        .decide = lethe_claims_decide_done,
                        .request = {.id = id, .token = token, .reply = reply},
                        .operations = operations,
                        .count = count,
                        .outcomes = outcomes,
                        .values = values};
    return run_for(&call, answer);
}
/* NOLINTEND(readability-non-const-parameter) */

lethe_status lethe_claim_abort(lethe_store *store, lethe_bytes id, lethe_bytes token,
                               lethe_claim_answer *answer) {
    struct call call = {
        .store = store, .decide = lethe_claims_decide_abort, .request = {.id = id, .token = token}};
    return run_for(&call, answer);
}

/* With the lock. */
static lethe_status set_limit(lethe_store *store, uint64_t replies_bytes, lethe_detail *detail) {
    lethe_status status = lethe_engine_make_room(store, 1);
    if (status == LETHE_OK) status = lethe_claims_need_family(store, detail);
    if (status != LETHE_OK) return status;
    store->claims.exist = true;
    store->claims.record.reply_limit_bytes = replies_bytes;
    lethe_group *group = lethe_log_filling(&store->log);
    lethe_log_open_group(group);
    group->operations++;
    return lethe_claims_drop_replies(store, detail);
}

lethe_status lethe_claims_limit(lethe_store *store, uint64_t replies_bytes) {
    if (store == NULL) return LETHE_EINVAL;
    if (store->options.read_only) return lethe_engine_refuse_reader(store);
    lethe_detail detail = {""};
    lethe_engine_enter(store);
    lethe_status status = store->failed;
    if (status == LETHE_OK) status = set_limit(store, replies_bytes, &detail);
    if (status != LETHE_OK) lethe_engine_remark(store, &detail);
    uint64_t ticket = lethe_log_ticket(&store->log);
    lethe_os_condition_wake_all(&store->log.work);
    if (status == LETHE_OK) status = lethe_log_wait(store, ticket);
    lethe_engine_leave(store);
    return status;
}
