/* module/once/claim_write.c - the commands that change claims: BEGIN, RENEW, DONE, ABORT.
 *
 * ORDER   Arguments are read before anything is opened, and memory is looked at only where a claim
 *         is new: whoever holds a claim, or asks about one, is answered while memory is short.
 * I1      DONE and ABORT are never refused for memory. A reply that does not fit is not kept, and
 *         the answer says so.
 * I2      An answer that depends on what somebody did before sends an effect even if it changes
 *         nothing: WAIT after it waits for what it depends on too. One that only says no (mismatch,
 *         lost, unknown) leaves no trace. */
#include "command/options.h"
#include "once/claims.h"
#include "once/once.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"

/* What a command about a claim names. */
struct request {
    redis_string *key;
    struct slice id, token, fingerprint;
    uint64_t lease_ms;
    bool no_create;
};

/* Key, id and token. NULL, or the error. */
static const char *read_names(redis_string **arguments, struct request *out) {
    *out = (struct request){
        .key = arguments[1], .id = slice_of(arguments[2]), .token = slice_of(arguments[3])};
    if (out->id.size == 0) return ERROR_EMPTY_ID;
    const char *problem = range_size(&range_claim_id, "id", arguments[2]);
    return problem == NULL ? range_size(&range_token, "token", arguments[3]) : problem;
}

/* [FINGERPRINT f] LEASE ms [NOCREATE], in any order; for RENEW, only LEASE. */
static const char *read_lease(redis_string **words, int count, bool is_renewal,
                              struct request *out) {
    for (int i = 0; i < count; i++) {
        bool has_value = i + 1 < count;
        if (has_value && out->lease_ms == 0 && is_word(words[i], "LEASE")) {
            int64_t lease_ms = 0;
            const char *problem = range_number(&range_lease, "LEASE", words[++i], &lease_ms);
            if (problem != NULL) return problem;
            out->lease_ms = (uint64_t)lease_ms;
        } else if (has_value && !is_renewal && out->fingerprint.data == NULL &&
                   is_word(words[i], "FINGERPRINT")) {
            out->fingerprint = slice_of(words[++i]);
            const char *problem = range_size(&range_fingerprint, "FINGERPRINT", words[i]);
            if (problem != NULL) return problem;
        } else if (!is_renewal && !out->no_create && is_word(words[i], "NOCREATE")) {
            out->no_create = true;
        } else {
            return is_renewal ? ERROR_RENEW_SYNTAX : ERROR_BEGIN_SYNTAX;
        }
    }
    if (out->lease_ms > 0) return NULL;
    return is_renewal ? ERROR_RENEW_SYNTAX : ERROR_BEGIN_SYNTAX;
}

/* --- Answers */

static void reply_word(redis_context *context, long count, const char *word) {
    redis.ReplyWithArray(context, count);
    redis.ReplyWithCString(context, word);
}

/* An answer that leaves no trace. */
static int answer_no(redis_context *context, struct once_change *found, const char *word) {
    abandon_change(&found->change);
    reply_word(context, 1, word);
    return REDIS_OK;
}

static int reply_done(redis_context *context, const struct claim *claim) {
    reply_word(context, 2, "done");
    if (claim->state == CLAIM_GONE) return redis.ReplyWithNull(context);
    return redis.ReplyWithStringBuffer(context, claim->reply != NULL ? claim->reply : "",
                                       claim->reply_size);
}

static int reply_number(redis_context *context, const char *word, uint64_t number) {
    reply_word(context, 2, word);
    return reply_count(context, number);
}

/* --- BEGIN */

/* When a lease from now on is over. An earlier one that lasts longer stays. */
static uint64_t lease_end(const struct once *table, const struct claim *claim, uint64_t lease_ms) {
    uint64_t until_ms = table->head.clock_ms + lease_ms + 1;
    return claim != NULL && claim->until_ms > until_ms ? claim->until_ms : until_ms;
}

static int begin_new(redis_context *context, struct once_change *found,
                     const struct request *request, const struct claim *mine) {
    struct claim_facts facts = {.state = CLAIM_RUNNING,
                                .until_ms = lease_end(found->table, mine, request->lease_ms),
                                .id = request->id,
                                .token = request->token,
                                .fingerprint = request->fingerprint};
    claims_set(found->table, &found->change.effect, &facts);
    finish_change(context, &found->change, request->key, EVENT_BEGIN);
    reply_word(context, 1, "new");
    return REDIS_OK;
}

static int begin_known(redis_context *context, struct once_change *found,
                       const struct request *request, const struct claim *claim) {
    struct claim_facts facts = claim_facts_of(claim);
    if (facts.is_call || !is_same(facts.fingerprint, request->fingerprint))
        return answer_no(context, found, "mismatch");
    if (facts.state != CLAIM_RUNNING) {
        reply_done(context, claim);
        finish_change(context, &found->change, request->key, EVENT_NONE);
        return REDIS_OK;
    }
    if (is_same(facts.token, request->token)) return begin_new(context, found, request, claim);
    if (!claim_is_held(found->table, claim)) return begin_new(context, found, request, NULL);
    reply_number(context, "running", facts.until_ms - found->table->head.clock_ms);
    finish_change(context, &found->change, request->key, EVENT_NONE);
    return REDIS_OK;
}

int once_begin_claim(redis_context *context, redis_string **arguments, int count) {
    if (count < 6) return redis.WrongArity(context);
    struct request request;
    const char *problem = read_names(arguments, &request);
    if (problem == NULL) problem = read_lease(arguments + 4, count - 4, false, &request);
    if (problem != NULL) return reply_error(context, problem);
    struct once_change found;
    if (!once_open_to_change(context, request.key, !request.no_create, &found)) return REDIS_OK;
    const struct claim *claim = claims_find(found.table, request.id);
    if (claim != NULL) return begin_known(context, &found, &request, claim);
    if (found.is_out_of_memory) {
        abandon_change(&found.change);
        return reply_out_of_memory(context, &found.table->head);
    }
    return begin_new(context, &found, &request, NULL);
}

/* --- What the holder says */

/* Opens the table and finds the claim, if the token is its present or last holder's. NULL with the
 * answer replied. */
static struct claim *open_mine(redis_context *context, const struct request *request,
                               struct once_change *found) {
    if (!once_open_to_change(context, request->key, false, found)) return NULL;
    struct claim *claim = claims_find(found->table, request->id);
    bool is_mine = claim != NULL && is_same(claim_facts_of(claim).token, request->token);
    if (!is_mine) (void)answer_no(context, found, claim == NULL ? "unknown" : "lost");
    return is_mine ? claim : NULL;
}

int once_renew(redis_context *context, redis_string **arguments, int count) {
    if (count < 6) return redis.WrongArity(context);
    struct request request;
    const char *problem = read_names(arguments, &request);
    if (problem == NULL) problem = read_lease(arguments + 4, count - 4, true, &request);
    if (problem != NULL) return reply_error(context, problem);
    struct once_change found;
    const struct claim *claim = open_mine(context, &request, &found);
    if (claim == NULL) return REDIS_OK;
    if (claim->state != CLAIM_RUNNING) {
        finish_change(context, &found.change, request.key, EVENT_NONE);
        reply_word(context, 1, "done");
        return REDIS_OK;
    }
    struct claim_facts facts = claim_facts_of(claim);
    facts.until_ms = lease_end(found.table, claim, request.lease_ms);
    uint64_t left_ms = facts.until_ms - found.table->head.clock_ms;
    claims_set(found.table, &found.change.effect, &facts);
    finish_change(context, &found.change, request.key, EVENT_RENEW);
    return reply_number(context, "renewed", left_ms);
}

int once_done(redis_context *context, redis_string **arguments, int count) {
    if (count != 4 && count != 5) return redis.WrongArity(context);
    struct request request;
    const char *problem = read_names(arguments, &request);
    if (problem != NULL) return reply_error(context, problem);
    struct slice reply = {0};
    if (count == 5) reply = slice_of(arguments[4]);
    struct once_change found;
    const struct claim *claim = open_mine(context, &request, &found);
    if (claim == NULL) return REDIS_OK;
    struct effect *effect = &found.change.effect;
    if (claim->state != CLAIM_RUNNING) {
        bool is_kept = claim->state == CLAIM_DONE;
        finish_change(context, &found.change, request.key, EVENT_NONE);
        return reply_number(context, "duplicate", is_kept);
    }
    bool is_kept = claims_make_room(found.table, effect, reply.size, !found.is_out_of_memory);
    struct claim_facts facts = claim_facts_of(claim);
    claim_complete(found.table, &facts, is_kept, reply);
    claims_set(found.table, effect, &facts);
    finish_change(context, &found.change, request.key, EVENT_DONE);
    return reply_number(context, "done", is_kept);
}

int once_abort(redis_context *context, redis_string **arguments, int count) {
    if (count != 4) return redis.WrongArity(context);
    struct request request;
    const char *problem = read_names(arguments, &request);
    if (problem != NULL) return reply_error(context, problem);
    struct once_change found;
    struct claim *claim = open_mine(context, &request, &found);
    if (claim == NULL) return REDIS_OK;
    bool is_running = claim->state == CLAIM_RUNNING;
    if (is_running) claims_remove(found.table, &found.change.effect, claim);
    finish_change(context, &found.change, request.key, is_running ? EVENT_ABORT : EVENT_NONE);
    reply_word(context, 1, is_running ? "aborted" : "done");
    return REDIS_OK;
}
