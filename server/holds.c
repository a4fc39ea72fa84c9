/* holds.c - /v1/holds/ID: amounts that are set aside under a limit, and settled later.
 *
 *   held 201   settled, released, duplicate, limited, overflow 200   mismatch 422   unknown 404
 *
 * What is limited is answered with 200, as POST /v1/take does: it is an answer, and not a failure.
 *
 * I1      A token with a prefix places holds on its keys. To settle, to release or to look at one
 *         on another key is to ask for a hold that does not exist. One thing it does learn: ids are
 *         those of the whole store, so to place a hold under an id that is taken is a mismatch,
 *         whoever took it.
 * I2      To settle within the lease and to release are never refused for lack of room: neither by
 *         the window (lethe/holds.h, H6), nor by the caps of counters and holds, which are asked
 *         when a hold is placed, nor by that of bodies, where small ones do not count.
 * I3      What is settled later may begin a counter. So each open hold takes the room of one, where
 *         a hold would begin another; and to settle after the lease, which is a new take, may be
 *         refused by the cap of counters as any take may.
 * WHY     A member that is not known is refused, as by POST /v1/take: a lease by another name would
 *         be the usual one. */
#include "lethe/holds.h"

#include <inttypes.h>
#include <string.h>

#include "events/number.h"
#include "events/record.h"
#include "input/integer.h"
#include "server/caps.h"
#include "server/cursor.h"
#include "server/object.h"
#include "server/routes.h"
#include "server/state.h"
#include "server/usage.h"
#include "take/bounds.h"

/* --- what is answered --- */

static unsigned status_of(lethe_hold_answer answer) {
    switch (answer) {
    case LETHE_HOLD_HELD:
        return 201;
    case LETHE_HOLD_MISMATCH:
        return 422;
    case LETHE_HOLD_UNKNOWN:
        return 404;
    default:
        return 200;
    }
}

/* limit says how it stands afterwards; NULL where that is not known. So does known, of a hold that
 * was placed before. */
static void answer(struct request *request, lethe_hold_answer result, const lethe_limit *limit,
                   const lethe_hold *known) {
    unsigned status = status_of(result), scale = request->server->scale;
    struct text *out = &request->answer;
    text_format(out, "{\"answer\":\"%s\"", lethe_hold_answer_name(result));
    if (status >= 300) {
        text_format(
            out, ",\"type\":\"about:blank\",\"title\":\"Hold\",\"status\":%u,\"detail\":\"%s\"}\n",
            status,
            result == LETHE_HOLD_UNKNOWN
                ? "there is no such hold: it was never placed, or ended long ago"
                : "the id stands for another hold, or it ended in another way; nothing was "
                  "changed");
        request_answer(request, status, type_problem);
        return;
    }
    if (limit != NULL) {
        text_put(out, ",\"value\":");
        text_value(out, limit->value, scale);
        text_put(out, ",\"left\":");
        text_value(out, limit->left, scale);
        if (limit->resets_ms == LETHE_NEVER_RESETS)
            text_put(out, ",\"resets_ms\":null");
        else
            text_format(out, ",\"resets_ms\":%" PRId64, limit->resets_ms);
    }
    if (known != NULL)
        text_format(out, ",\"state\":\"%s\",\"left_ms\":%" PRIu64,
                    lethe_hold_state_name(known->state), known->left_ms);
    text_put(out, "}\n");
    request_answer(request, status, type_json);
}

/* The name of the resolution that a hold's limit is on; empty for the total. */
static lethe_bytes period_of(const struct server *server, const lethe_hold *hold) {
    const char *from = server->per;
    if ((hold->flags & LETHE_CHANGE_BUCKET) == 0) return (lethe_bytes){.data = "", .size = 0};
    for (uint32_t i = 0; i < hold->resolution && strchr(from, ',') != NULL; i++)
        from = strchr(from, ',') + 1;
    return (lethe_bytes){.data = from, .size = strcspn(from, ",")};
}

static void show(const struct server *server, struct text *out, const lethe_hold *hold) {
    lethe_bytes period = period_of(server, hold);
    text_put(out, "{");
    text_bytes(out, "id", hold->id);
    text_format(out, ",\"state\":\"%s\",", lethe_hold_state_name(hold->state));
    text_bytes(out, "key", hold->key);
    text_put(out, ",\"amount\":");
    text_value(out, hold->amount, server->scale);
    text_put(out, ",\"limit\":");
    text_value(out, hold->max, server->scale);
    text_put(out, ",\"period\":");
    if (period.size > 0)
        text_quoted(out, period);
    else
        text_put(out, "null");
    if (hold->state == LETHE_HOLD_IS_SETTLED) {
        text_put(out, ",\"actual\":");
        text_value(out, hold->actual, server->scale);
    }
    text_format(out, ",\"left_ms\":%" PRIu64 "}", hold->left_ms);
}

/* --- numbers --- */

/* A number of the store's scale, `least` units or more. */
static bool read_number(struct request *request, const char *name, lethe_bytes text, int64_t least,
                        int64_t *out) {
    struct event_problem problem;
    unsigned scale = request->server->scale;
    enum decimal_problem reason = decimal_parse_scaled(text, scale, out);
    if (reason == DECIMAL_FINE && *out >= least) return true;
    if (reason == DECIMAL_FINE)
        event_problem_set(&problem, "the %s is %s 0", name, least > 0 ? "not above" : "below");
    else
        event_problem_number(&problem, name, text, scale, reason);
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

/* The one limit of a hold. The door is open. */
static bool read_limit(struct request *request, lethe_bytes text, lethe_hold *hold) {
    struct bounds bounds = {0};
    struct event_problem problem;
    if (bounds_add(&bounds, "limit", text, true, &problem) &&
        bounds_find(&bounds, request->store, "the store", &problem) &&
        bounds_set_scale(&bounds, request->server->scale, &problem)) {
        const struct bound *bound = &bounds.each[0];
        hold->max = bound->value;
        hold->flags = bound->period[0] != '\0' ? LETHE_CHANGE_BUCKET : 0;
        hold->resolution = bound->resolution;
        if (bounds.count == 1) return true;
        event_problem_set(&problem, "a hold has one limit");
    }
    request_problem(request, 400, "Bad request", "%s", problem.text);
    return false;
}

/* --- place --- */

enum { KEY = 0, AMOUNT, LIMIT, LEASE };
static const struct object_member place_members[] = {{"key", OBJECT_BYTES},
                                                     {"amount", OBJECT_NUMBER},
                                                     {"limit", OBJECT_NUMBER},
                                                     {"lease_ms", OBJECT_NUMBER},
                                                     {NULL, OBJECT_BYTES}};

static bool read_place(struct request *request, const struct object *object, lethe_hold *hold) {
    const lethe_bytes *members = object->members;
    struct event_problem problem;
    hold->id = request->part;
    hold->key = members[KEY];
    hold->lease_ms = DEFAULT_LEASE_MS;
    if (members[LEASE].data != NULL &&
        (!integer_parse_natural(members[LEASE], &hold->lease_ms) || hold->lease_ms < 1 ||
         hold->lease_ms > LETHE_LEASE_LIMIT_MS)) {
        request_problem(request, 400, "Bad request",
                        "lease_ms is not a number of milliseconds from 1 to %" PRIu64,
                        LETHE_LEASE_LIMIT_MS);
        return false;
    }
    if (!event_check_size("key", hold->key, LETHE_KEY_LIMIT_BYTES, &problem)) {
        request_problem(request, 400, "Bad request", "%s", problem.text);
        return false;
    }
    return request_may_reach(request, hold->key) &&
           read_number(request, "amount", members[AMOUNT], 1, &hold->amount);
}

/* Whether there is room for another hold, and for the counter that it may begin (I3). A hold that
 * is there may be placed again: that begins nothing. The door is open. */
static bool may_place(struct request *request, const lethe_hold *hold) {
    const struct server *server = request->server;
    lethe_hold known = LETHE_INIT(lethe_hold);
    lethe_holds_stats stats = LETHE_INIT(lethe_holds_stats);
    lethe_status status = lethe_holds_info(request->store, &stats);
    bool is_full = server->max_holds > 0 && stats.open >= server->max_holds;
    if (status == LETHE_OK && !is_full && server->options->max_counters == 0) return true;
    if (status == LETHE_OK) status = lethe_hold_get(request->store, hold->id, &known);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    bool is_there = known.state != LETHE_HOLD_IS_NONE;
    lethe_hold_free(&known);
    if (is_there) return true;
    if (!is_full) return request_may_begin(request, hold->key, stats.open);
    request_problem(request, 403, "Too many holds",
                    "there are as many open holds as --max-holds %" PRIu64
                    " allows; nothing is held; settle or release some, or give the server a "
                    "higher --max-holds",
                    server->max_holds);
    return false;
}

/* A hold that was placed before may have ended since, and then nothing is held: a duplicate says
 * how it is. */
static void place(struct request *request, const lethe_hold *hold) {
    lethe_hold known = LETHE_INIT(lethe_hold);
    lethe_hold_answer result;
    lethe_limit limit;
    lethe_status status = lethe_hold_place(request->store, hold, &result, &limit);
    bool was_there = status == LETHE_OK && result == LETHE_HOLD_DUPLICATE;
    if (was_there) status = lethe_hold_get(request->store, hold->id, &known);
    if (status == LETHE_OK)
        answer(request, result, &limit, was_there ? &known : NULL);
    else
        request_store_problem(request, status);
    lethe_hold_free(&known);
}

void answer_hold_place(struct request *request) {
    struct object object;
    lethe_hold hold = LETHE_INIT(lethe_hold);
    if (!object_read(request, place_members, &object)) return;
    bool fine = object_has_only(request, place_members);
    for (size_t i = KEY; i <= LIMIT && fine; i++) {
        fine = object_has(request, &object, place_members, i);
    }
    if (fine && read_place(request, &object, &hold) && request_enter(request) &&
        read_limit(request, object.members[LIMIT], &hold) && may_place(request, &hold)) {
        place(request, &hold);
    }
    object_free(&object);
}

/* --- settle, release, look --- */

/* Looks at the hold of the path; one that the token does not reach is none (I1). The caller frees
 * it. Returns false after a problem. */
static bool look(struct request *request, lethe_hold *out) {
    lethe_status status = lethe_hold_get(request->store, request->part, out);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    if (out->state != LETHE_HOLD_IS_NONE && !access_reaches(request->token, out->key))
        lethe_hold_free(out);
    return true;
}

/* Whether the hold may be ended, by this token (I1) and by settling it (I3). Returns false after an
 * answer. */
static bool may_end(struct request *request, bool settles) {
    lethe_hold hold = LETHE_INIT(lethe_hold);
    bool is_capped = settles && request->server->options->max_counters > 0;
    if (request->token->prefix.size == 0 && !is_capped) return true;
    if (!look(request, &hold)) return false;
    bool is_there = hold.state != LETHE_HOLD_IS_NONE;
    bool is_take = is_capped && hold.state == LETHE_HOLD_IS_LAPSED;
    if (!is_there) answer(request, LETHE_HOLD_UNKNOWN, NULL, NULL);
    bool may = is_there && (!is_take || request_may_begin(request, hold.key, 0));
    lethe_hold_free(&hold);
    return may;
}

enum { ACTUAL = 0, FORCE };
static const struct object_member settle_members[] = {
    {"actual", OBJECT_NUMBER}, {"force", OBJECT_SWITCH}, {NULL, OBJECT_BYTES}};

void answer_hold_settle(struct request *request) {
    struct object object;
    lethe_hold_answer result;
    lethe_limit limit;
    int64_t actual;
    if (!object_read(request, settle_members, &object)) return;
    if (object_has_only(request, settle_members) &&
        object_has(request, &object, settle_members, ACTUAL) &&
        read_number(request, "actual", object.members[ACTUAL], 0, &actual) &&
        request_enter(request) && may_end(request, true)) {
        uint32_t flags = object_is_on(&object, FORCE) ? LETHE_SETTLE_FORCE : 0;
        lethe_status status =
            lethe_hold_settle(request->store, request->part, actual, flags, &result, &limit);
        if (status == LETHE_OK)
            answer(request, result, &limit, NULL);
        else
            request_store_problem(request, status);
    }
    object_free(&object);
}

void answer_hold_release(struct request *request) {
    static const struct object_member none[] = {{NULL, OBJECT_BYTES}};
    struct object object;
    lethe_hold_answer result;
    if (!object_read(request, none, &object)) return;
    object_free(&object);
    if (!object_has_only(request, none) || !request_enter(request) || !may_end(request, false))
        return;
    lethe_status status = lethe_hold_release(request->store, request->part, &result);
    if (status == LETHE_OK)
        answer(request, result, NULL, NULL);
    else
        request_store_problem(request, status);
}

void answer_hold_get(struct request *request) {
    lethe_hold hold = LETHE_INIT(lethe_hold);
    if (!request_enter(request) || !look(request, &hold)) return;
    if (hold.state == LETHE_HOLD_IS_NONE) {
        request_problem(request, 404, "Not found", "there is no such hold");
    } else {
        show(request->server, &request->answer, &hold);
        text_put(&request->answer, "\n");
        request_answer(request, 200, type_json);
    }
    lethe_hold_free(&hold);
}

/* --- the list --- */

/* A list while it is written. */
struct listing {
    const struct request *request;
    struct text *out;
    lethe_bytes prefix;
    bool all;
    uint64_t count, most;
    struct cursor cursor;
};

/* A lethe_hold_visit. */
static bool list_hold(void *context, const lethe_hold *hold) {
    struct listing *list = context;
    size_t size = list->prefix.size;
    bool is_unsettled = hold->state == LETHE_HOLD_IS_OPEN || hold->state == LETHE_HOLD_IS_LAPSED;
    if (!is_unsettled && !list->all) return true;
    if (hold->key.size < size ||
        (size > 0 && memcmp(hold->key.data, list->prefix.data, size) != 0)) {
        return true;
    }
    if (list->count == list->most || text_is_full(list->out)) {
        cursor_set(&list->cursor, hold->id);
        return false;
    }
    if (list->count++ > 0) text_put(list->out, ",");
    show(list->request->server, list->out, hold);
    return true;
}

void answer_holds(struct request *request) {
    char prefix_room[REQUEST_PART_BYTES], cursor_room[CURSOR_BYTES];
    struct listing list = {.request = request, .out = &request->answer, .most = ROWS_USUAL};
    lethe_bytes from = {0};
    uint64_t all = 0;
    if (!read_prefix(request, prefix_room, &list.prefix) ||
        !cursor_read(request, cursor_room, &from) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !request_argument_number(request, "all", 0, 1, &all) || !request_enter(request)) {
        return;
    }
    list.all = all != 0;
    text_put(list.out, "{\"holds\":[");
    lethe_status status = lethe_holds_each(request->store, from, list_hold, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    cursor_answer(request, &list.cursor);
}
