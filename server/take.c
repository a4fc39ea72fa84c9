/* take.c - POST /v1/take: adds to a counter unless that would pass a limit, once for each id.
 *
 * What is limited is answered with 200 and its outcome: it is an answer, and not a failure.
 * WHY     A member that is not known is refused: an amount by another name, passed over, would be a
 *         take of 1, and a limit by another name none. */
#include <inttypes.h>
#include <string.h>

#include "events/number.h"
#include "events/record.h"
#include "server/object.h"
#include "server/routes.h"
#include "server/state.h"
#include "take/bounds.h"

enum { ID = 0, KEY, AMOUNT, DELTA, LIMIT, MIN };
static const struct object_member wanted[] = {{"id", OBJECT_BYTES},      {"key", OBJECT_BYTES},
                                              {"amount", OBJECT_NUMBER}, {"delta", OBJECT_NUMBER},
                                              {"limit", OBJECT_NUMBER},  {"min", OBJECT_NUMBER},
                                              {NULL, OBJECT_BYTES}};

/* Reads how much to take: the amount, which may be called delta as in events; 1 without it. */
static bool read_amount(struct request *request, const struct object *object, int64_t *out) {
    struct event_problem problem;
    unsigned scale = request->server->scale;
    size_t which = object->members[AMOUNT].data != NULL ? AMOUNT : DELTA;
    lethe_bytes text = object->members[which];
    *out = decimal_unit(scale);
    if (text.data == NULL) return true;
    if (which == AMOUNT && object->members[DELTA].data != NULL) {
        request_problem(request, 400, "Bad request",
                        "there are an amount and a delta, which are the same; give the amount");
        return false;
    }
    enum decimal_problem reason = decimal_parse_scaled(text, scale, out);
    if (reason == DECIMAL_FINE) return true;
    event_problem_number(&problem, wanted[which].name, text, scale, reason);
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

/* Reads the limits, which depend on the store. */
static bool read_bounds(struct request *request, const struct object *object,
                        struct bounds *bounds) {
    struct event_problem problem;
    const struct server *server = request->server;
    const lethe_bytes *members = object->members;
    if ((members[LIMIT].data == NULL ||
         bounds_add(bounds, "limit", members[LIMIT], true, &problem)) &&
        (members[MIN].data == NULL || bounds_add(bounds, "min", members[MIN], false, &problem)) &&
        bounds_find(bounds, request->store, "the store", &problem) &&
        bounds_set_scale(bounds, server->scale, &problem)) {
        if (bounds->count > 0) return true;
        event_problem_set(&problem, "there is neither a limit nor a min");
    }
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

static void answer(struct request *request, lethe_outcome outcome, const lethe_limit *limit) {
    unsigned scale = request->server->scale;
    struct text *out = &request->answer;
    if (outcome == LETHE_OUTCOME_MISMATCH) {
        request_problem(request, 422, "Mismatch",
                        "this id came before with another key or amount, or was given up; nothing "
                        "was taken");
        return;
    }
    text_format(out, "{\"outcome\":\"%s\",\"value\":", outcome_name(outcome));
    text_value(out, limit->value, scale);
    text_put(out, ",\"left\":");
    text_value(out, limit->left, scale);
    if (limit->resets_ms == LETHE_NEVER_RESETS)
        text_put(out, ",\"resets_ms\":null}\n");
    else
        text_format(out, ",\"resets_ms\":%" PRId64 "}\n", limit->resets_ms);
    request_answer(request, 200, type_json);
}

static void take(struct request *request, const struct object *object) {
    struct bounds bounds = {0};
    lethe_limit limit;
    lethe_outcome outcome;
    int64_t amount;
    if (request->server->event_time) {
        request_problem(request, 400, "Bad request",
                        "the store goes by the time of its events, and what is taken now has none");
        return;
    }
    struct event_problem problem;
    if (!event_check_size("id", object->members[ID], LETHE_ID_LIMIT_BYTES, &problem) ||
        !event_check_size("key", object->members[KEY], LETHE_KEY_LIMIT_BYTES, &problem)) {
        request_problem(request, 400, "Bad request", "%s", problem.text);
        return;
    }
    if (!request_may_begin(request, object->members[KEY], 0) ||
        !read_amount(request, object, &amount) || !read_bounds(request, object, &bounds)) {
        return;
    }
    lethe_status status = bounds_apply(request->store, object->members[ID], object->members[KEY],
                                       amount, &bounds, &outcome, &limit);
    if (status == LETHE_OK)
        answer(request, outcome, &limit);
    else
        request_store_problem(request, status);
}

/* An Idempotency-Key supplies an id that is missing, as for events. */
static bool supply_id(struct request *request, lethe_bytes key, lethe_bytes *id) {
    struct event_excerpt one, other;
    if (key.size == 0) return true;
    if (id->data == NULL) *id = key;
    if (id->size == key.size && memcmp(id->data, key.data, key.size) == 0) return true;
    request_problem(request, 400, "Bad request",
                    "the take has the id '%s', and the Idempotency-Key is '%s'; give one",
                    event_excerpt(*id, &one), event_excerpt(key, &other));
    return false;
}

void answer_take(struct request *request) {
    struct object object;
    char room[REQUEST_KEY_BYTES];
    lethe_bytes key;
    if (!request_idempotency_key(request, room, &key) || !object_read(request, wanted, &object))
        return;
    if (object_has_only(request, wanted) && supply_id(request, key, &object.members[ID]) &&
        object_has(request, &object, wanted, ID) && object_has(request, &object, wanted, KEY) &&
        request_may_reach(request, object.members[KEY]) && request_enter(request)) {
        take(request, &object);
    }
    object_free(&object);
}
