/* usage.c - GET /v1/usage: what counters got in each period. */
#include "usage/usage.h"

#include <string.h>

#include "frame/clock.h"
#include "server/routes.h"
#include "server/state.h"
#include "server/usage.h"

uint64_t usage_now_ms(void) {
    return clock_wall_ms();
}

bool usage_argument_time(struct request *request, const char *name, uint64_t *out_ms) {
    const char *text = request->argument(request->connection, name);
    char unescaped[USAGE_PERIOD_BYTES + 1];
    struct event_problem problem;
    size_t size = text != NULL ? strlen(text) : 0, used = 0;
    if (size == 0) return true;
    if (size < sizeof unescaped && request_unescape(text, size, unescaped, &used) &&
        memchr(unescaped, '\0', used) == NULL) {
        unescaped[used] = '\0';
        if (usage_parse_time(unescaped, &request->server->moments, out_ms, &problem)) return true;
    }
    request_problem(request, 400, "Bad argument",
                    "%s is not a time; give one such as 2024-03-31, 2024-03-31T14:00:00Z or "
                    "milliseconds since 1970",
                    name);
    return false;
}

bool usage_argument_at(struct request *request, uint64_t *out_ms) {
    *out_ms = 0;
    if (!usage_argument_time(request, "at", out_ms)) return false;
    if (*out_ms == 0 && request_has_argument(request, "at")) *out_ms = 1;
    return true;
}

bool usage_add_row(void *context, const lethe_usage_row *row) {
    struct usage_list *list = context;
    char value[USAGE_VALUE_BYTES], text[USAGE_PERIOD_BYTES];
    if (list->count == list->most || text_is_full(list->out)) {
        list->has_more = true;
        return false;
    }
    if (row->is_rest && !list->has_rest) {
        text_put(list->out, "],\"rest\":[");
        list->has_rest = true;
        list->count = 0;
    }
    text_put(list->out, list->count++ > 0 ? ",{" : "{");
    text_bytes(list->out, "key", row->key);
    if (!row->is_rest) {
        usage_period(list->by, row, text);
        text_format(list->out, ",\"period\":\"%s\"", text);
        usage_moment(row->from_ms, row->offset_s, text);
        text_format(list->out, ",\"from\":\"%s\"", text);
        usage_moment(row->to_ms, row->to_offset_s, text);
        text_format(list->out, ",\"to\":\"%s\"", text);
    }
    usage_value(row, list->scale, value);
    text_format(list->out, ",\"value\":\"%s\"}", value);
    return true;
}

void usage_end_list(const struct usage_list *list, const char *zone) {
    if (!list->has_rest) text_put(list->out, "],\"rest\":[");
    text_put(list->out, "],\"by\":");
    text_quoted_string(list->out, list->by);
    text_put(list->out, ",\"zone\":");
    text_quoted_string(list->out, zone);
    text_format(list->out, ",\"is_cut\":%s}\n", list->has_more ? "true" : "false");
}

/* What the periods are called that the query is by. */
static const char *name_of(const struct server *server, const char *by, char *out, size_t size) {
    if (by != NULL && by[0] != '\0') return by;
    size_t length = strcspn(server->per, ",");
    if (length >= size) length = size - 1;
    memcpy(out, server->per, length);
    out[length] = '\0';
    return out;
}

bool usage_arguments(struct request *request, struct usage_asked *out) {
    lethe_usage_query *query = &out->query;
    *query = (lethe_usage_query)LETHE_INIT(lethe_usage_query);
    out->key = (lethe_bytes){0};
    query->by = request->argument(request->connection, "by");
    if (query->by != NULL && query->by[0] == '\0') query->by = NULL;
    if (request_has_argument(request, "key") && request_has_argument(request, "prefix")) {
        request_problem(request, 400, "Bad argument", "give a key or a prefix, and not both");
        return false;
    }
    if (!read_prefix(request, out->prefix_room, &query->prefix) ||
        !request_argument_bytes(request, "key", out->key_room, &out->key) ||
        !usage_argument_time(request, "from", &query->from_ms) ||
        !usage_argument_time(request, "to", &query->to_ms)) {
        return false;
    }
    /* 0 would be no end, and is before the first moment. */
    if (request_has_argument(request, "to") && query->from_ms >= query->to_ms) {
        request_problem(request, 400, "Bad argument", "to is not after from");
        return false;
    }
    /* Nor would 0 be a beginning. */
    if (query->from_ms == 0 && request_has_argument(request, "from")) query->from_ms = 1;
    if (out->key.size == 0) return true;
    query->keys = &out->key;
    query->key_count = 1;
    return request_may_reach(request, out->key);
}

void answer_usage(struct request *request) {
    struct server *server = request->server;
    char by_room[32];
    struct usage_asked asked;
    struct usage_list list = {.out = &request->answer, .scale = server->scale, .most = ROWS_USUAL};
    if (!usage_arguments(request, &asked) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !request_enter(request)) {
        return;
    }
    list.by = name_of(server, asked.query.by, by_room, sizeof by_room);
    text_put(list.out, "{\"usage\":[");
    lethe_status status = lethe_store_usage(request->store, &asked.query, usage_add_row, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    usage_end_list(&list, server->zone[0] != '\0' ? server->zone : "UTC");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}
