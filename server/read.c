/* read.c - GET /v1/counters, /v1/counters/KEY and /v1/top.
 *
 * I1      What is read is answered when it is durable: the writer sees what it has submitted, so
 *         the answer waits for the commit that was filling when it had been read. */
#include <string.h>

#include "server/caps.h"
#include "server/cursor.h"
#include "server/routes.h"
#include "server/state.h"
#include "server/usage.h"
#include "usage/usage.h"

static void add_counter(struct text *out, lethe_bytes key, int64_t value, unsigned scale) {
    text_put(out, "{");
    text_bytes(out, "key", key);
    text_put(out, ",\"value\":");
    text_value(out, value, scale);
    text_put(out, "}");
}

/* With a sketch, the least that the value may be. */
static bool add_estimate(struct request *request) {
    lethe_estimate estimate;
    lethe_status status = lethe_store_estimate(request->store, &request->part, 1, &estimate);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    struct text *out = &request->answer;
    out->size -= out->size > 0; /* the brace that ended the object */
    text_put(out, ",\"least\":");
    text_value(out, (int64_t)estimate.least, request->server->scale);
    text_put(out, "}");
    return true;
}

void answer_counter(struct request *request) {
    int64_t value = 0;
    bool found = false;
    if (!request_may_reach(request, request->part) || !request_enter(request)) return;
    lethe_status status = lethe_store_get(request->store, &request->part, 1, &value, &found);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    if (!found) {
        request_problem(request, 404, "Not found", "there is no such counter");
        return;
    }
    add_counter(&request->answer, request->part, value, request->server->scale);
    if (request->server->has_sketch && !add_estimate(request)) return;
    text_put(&request->answer, "\n");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}

/* A list while it is written. */
struct listing {
    struct text *out;
    lethe_bytes prefix;
    unsigned scale;
    uint64_t count, most;
    struct cursor cursor;
};

/* A lethe_store_visit. */
static bool list_counter(void *context, lethe_bytes key, int64_t value) {
    struct listing *list = context;
    size_t size = list->prefix.size;
    if (key.size < size || (size > 0 && memcmp(key.data, list->prefix.data, size) != 0)) {
        return false; /* keys are in order: there is no other with the prefix */
    }
    if (list->count == list->most || text_is_full(list->out)) {
        cursor_set(&list->cursor, key);
        return false;
    }
    if (list->count++ > 0) text_put(list->out, ",");
    add_counter(list->out, key, value, list->scale);
    return true;
}

/* The prefix that is asked for; a token with a prefix sees only keys with that. */
bool read_prefix(struct request *request, char room[REQUEST_PART_BYTES], lethe_bytes *out) {
    *out = (lethe_bytes){0};
    if (!request_argument_bytes(request, "prefix", room, out)) return false;
    if (out->size == 0 && request->token->prefix.size > 0) {
        *out = request->token->prefix;
        return true;
    }
    return request_may_reach(request, *out);
}

void answer_counters(struct request *request) {
    char prefix_room[REQUEST_PART_BYTES], cursor_room[CURSOR_BYTES];
    struct listing list = {
        .out = &request->answer, .scale = request->server->scale, .most = ROWS_USUAL};
    lethe_bytes from;
    if (!read_prefix(request, prefix_room, &list.prefix)) return;
    from = list.prefix;
    if (!cursor_read(request, cursor_room, &from) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !request_enter(request)) {
        return;
    }
    text_put(list.out, "{\"counters\":[");
    lethe_status status = lethe_store_each(request->store, from, list_counter, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    cursor_answer(request, &list.cursor);
    (void)request_read_is_durable(request);
}

bool top_fits(struct request *request, const struct cursor *cursor) {
    if (!cursor->has_more) return true;
    request_problem(request, 400, "Bad argument",
                    "limit is too large for keys that are this long: the answer would have more "
                    "than %d bytes; ask for less",
                    ANSWER_BYTES);
    return false;
}

/* Ends the ranking of one period: whether it has all that was counted then. A period that was
 * dropped has none, and an empty list would say that nothing was counted. */
static bool end_period(struct request *request, const char *by, uint64_t at_ms) {
    uint64_t kept_from_ms = 0, whole_from_ms = 0;
    char moment[USAGE_PERIOD_BYTES];
    lethe_status status =
        lethe_store_usage_reach(request->store, by, &kept_from_ms, &whole_from_ms);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    if (at_ms < kept_from_ms) {
        usage_begin(request->store, by, kept_from_ms, moment);
        request_problem(request, 410, "Gone",
                        "the store has dropped that period, as --keep asked for; the first that it "
                        "still has begins at %s",
                        moment);
        return false;
    }
    text_put(&request->answer, at_ms < whole_from_ms ? ",\"is_whole\":false,\"whole_from\":\""
                                                     : ",\"is_whole\":true");
    if (at_ms >= whole_from_ms) return true;
    usage_begin(request->store, by, whole_from_ms, moment);
    text_format(&request->answer, "%s\"", moment);
    return true;
}

void answer_top(struct request *request) {
    struct listing list = {
        .out = &request->answer, .scale = request->server->scale, .most = TOP_SHOWN};
    const char *by = request->argument(request->connection, "by");
    uint64_t at_ms = 0;
    if (by != NULL && by[0] == '\0') by = NULL;
    if (!request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !usage_argument_at(request, &at_ms) || !request_enter(request)) {
        return;
    }
    bool is_period = by != NULL || at_ms != 0;
    if (at_ms == 0) at_ms = usage_now_ms();
    text_put(list.out, "{\"counters\":[");
    lethe_status status =
        is_period ? lethe_store_top_at(request->store, by, at_ms, list.most, list_counter, &list)
                  : lethe_store_top(request->store, list.most, list_counter, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    if (!top_fits(request, &list.cursor)) return;
    text_put(list.out, "]");
    if (is_period && !end_period(request, by, at_ms)) return;
    text_put(list.out, "}\n");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}
