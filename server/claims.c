/* claims.c - /v1/claims/ID: work that must happen once, with its reply kept.
 *
 *   new 201   running 409   done 200 with the reply, or 410 if that was dropped   mismatch 422
 *   renewed, recorded, duplicate, aborted 200   lost 409   unknown 404
 *
 * WHY     A member that is not known is refused, as by POST /v1/take: a lease by another name would
 *         be the usual one, a fingerprint none, and a reply be lost. */
#include "lethe/claims.h"

#include <inttypes.h>

#include "input/integer.h"
#include "server/caps.h"
#include "server/object.h"
#include "server/routes.h"
#include "server/state.h"

enum { TOKEN = 0, LEASE, FINGERPRINT, REPLY };
static const struct object_member wanted[] = {{"token", OBJECT_BYTES},
                                              {"lease_ms", OBJECT_NUMBER},
                                              {"fingerprint", OBJECT_BYTES},
                                              {"reply", OBJECT_BYTES},
                                              {NULL, OBJECT_BYTES}};
/* Those that each call knows. */
static const struct object_member begin_members[] = {{"token", OBJECT_BYTES},
                                                     {"lease_ms", OBJECT_NUMBER},
                                                     {"fingerprint", OBJECT_BYTES},
                                                     {NULL, OBJECT_BYTES}};
static const struct object_member renew_members[] = {
    {"token", OBJECT_BYTES}, {"lease_ms", OBJECT_NUMBER}, {NULL, OBJECT_BYTES}};
static const struct object_member done_members[] = {
    {"token", OBJECT_BYTES}, {"reply", OBJECT_BYTES}, {NULL, OBJECT_BYTES}};
static const struct object_member abort_members[] = {{"token", OBJECT_BYTES}, {NULL, OBJECT_BYTES}};

static unsigned status_of(lethe_claim_answer answer, const lethe_claim *claim) {
    switch (answer) {
    case LETHE_CLAIM_NEW:
        return 201;
    case LETHE_CLAIM_RUNNING:
    case LETHE_CLAIM_LOST:
        return 409;
    case LETHE_CLAIM_DONE:
        return claim != NULL && claim->reply_gone ? 410 : 200;
    case LETHE_CLAIM_MISMATCH:
        return 422;
    case LETHE_CLAIM_UNKNOWN:
        return 404;
    default:
        return 200;
    }
}

/* The words of a problem, for answers that are one. */
static const char *problem_of(lethe_claim_answer answer) {
    switch (answer) {
    case LETHE_CLAIM_RUNNING:
        return "another token holds the claim";
    case LETHE_CLAIM_LOST:
        return "the claim was given to another token";
    case LETHE_CLAIM_MISMATCH:
        return "the claim was begun with another fingerprint";
    case LETHE_CLAIM_UNKNOWN:
        return "there is no such claim";
    default:
        return "the work is done, and its reply was dropped";
    }
}

static void answer(struct request *request, lethe_claim_answer result, const lethe_claim *claim) {
    unsigned status = status_of(result, claim);
    struct text *out = &request->answer;
    const char *type = status < 300 ? type_json : type_problem;
    text_format(out, "{\"answer\":\"%s\"", lethe_claim_answer_name(result));
    if (status >= 300) {
        text_format(out,
                    ",\"type\":\"about:blank\",\"title\":\"Claim\",\"status\":%u,\"detail\":\"%s\"",
                    status, problem_of(result));
    }
    if (claim != NULL && (result == LETHE_CLAIM_RUNNING || result == LETHE_CLAIM_DONE))
        text_format(out, ",\"left_ms\":%" PRIu64, claim->left_ms);
    if (claim != NULL && result == LETHE_CLAIM_DONE && !claim->reply_gone) {
        text_put(out, ",");
        text_bytes(out, "reply", claim->reply);
    }
    text_put(out, "}\n");
    request->asks_again = result == LETHE_CLAIM_RUNNING;
    request_answer(request, status, type);
}

/* The lease, of DEFAULT_LEASE_MS unless it is given. */
static bool read_lease(struct request *request, const struct object *object, uint64_t *out) {
    lethe_bytes text = object->members[LEASE];
    *out = DEFAULT_LEASE_MS;
    if (text.data == NULL || (integer_parse_natural(text, out) && *out > 0)) return true;
    request_problem(request, 400, "Bad request", "lease_ms is not a number of milliseconds");
    return false;
}

typedef lethe_status claim_call(struct request *request, const struct object *object,
                                uint64_t lease_ms, lethe_claim_answer *result, lethe_claim *claim);

static claim_call begin;

/* Reads the body, makes the call and answers. */
static void run(struct request *request, claim_call *call, const struct object_member *known) {
    struct object object;
    lethe_claim claim = LETHE_INIT(lethe_claim);
    lethe_claim_answer result;
    uint64_t lease_ms;
    if (!object_read(request, wanted, &object)) return;
    if (object_has_only(request, known) && object_has(request, &object, wanted, TOKEN) &&
        read_lease(request, &object, &lease_ms) && request_enter(request)) {
        lethe_status status = call(request, &object, lease_ms, &result, &claim);
        if (status == LETHE_OK)
            answer(request, result, call == begin ? &claim : NULL);
        else
            request_store_problem(request, status);
        lethe_claim_free(&claim);
    }
    object_free(&object);
}

static lethe_status begin(struct request *request, const struct object *object, uint64_t lease_ms,
                          lethe_claim_answer *result, lethe_claim *claim) {
    return lethe_claim_begin(request->store, request->part, object->members[TOKEN],
                             object->members[FINGERPRINT], lease_ms, result, claim);
}

static lethe_status renew(struct request *request, const struct object *object, uint64_t lease_ms,
                          lethe_claim_answer *result, lethe_claim *claim) {
    (void)claim;
    return lethe_claim_renew(request->store, request->part, object->members[TOKEN], lease_ms,
                             result);
}

static lethe_status done(struct request *request, const struct object *object, uint64_t lease_ms,
                         lethe_claim_answer *result, lethe_claim *claim) {
    (void)claim;
    (void)lease_ms;
    return lethe_claim_done(request->store, request->part, object->members[TOKEN],
                            object->members[REPLY], result);
}

static lethe_status give_up(struct request *request, const struct object *object, uint64_t lease_ms,
                            lethe_claim_answer *result, lethe_claim *claim) {
    (void)claim;
    (void)lease_ms;
    return lethe_claim_abort(request->store, request->part, object->members[TOKEN], result);
}

void answer_claim_begin(struct request *request) {
    run(request, begin, begin_members);
}

void answer_claim_renew(struct request *request) {
    run(request, renew, renew_members);
}

void answer_claim_done(struct request *request) {
    run(request, done, done_members);
}

void answer_claim_abort(struct request *request) {
    run(request, give_up, abort_members);
}

void answer_claim_get(struct request *request) {
    static const char *const states[] = {"none", "running", "lapsed", "done"};
    lethe_claim claim = LETHE_INIT(lethe_claim);
    if (!request_enter(request)) return;
    lethe_status status = lethe_claim_get(request->store, request->part, &claim);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
    } else if (claim.state == LETHE_CLAIM_IS_NONE) {
        request_problem(request, 404, "Not found", "there is no such claim");
    } else {
        text_format(&request->answer, "{\"state\":\"%s\",\"left_ms\":%" PRIu64, states[claim.state],
                    claim.left_ms);
        if (claim.state == LETHE_CLAIM_IS_DONE && !claim.reply_gone) {
            text_put(&request->answer, ",");
            text_bytes(&request->answer, "reply", claim.reply);
        }
        text_put(&request->answer, "}\n");
        request_answer(request, 200, type_json);
    }
    lethe_claim_free(&claim);
}
