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
        usage_moment(row->to_ms, row->offset_s, text);
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

void answer_usage(struct request *request) {
    struct server *server = request->server;
    char prefix_room[REQUEST_PART_BYTES], key_room[REQUEST_PART_BYTES], by_room[32];
    lethe_usage_query query = LETHE_INIT(lethe_usage_query);
    struct usage_list list = {.out = &request->answer, .scale = server->scale, .most = ROWS_USUAL};
    lethe_bytes key = {0};
    query.by = request->argument(request->connection, "by");
    if (query.by != NULL && query.by[0] == '\0') query.by = NULL;
    list.by = name_of(server, query.by, by_room, sizeof by_room);
    if (!read_prefix(request, prefix_room, &query.prefix) ||
        !request_argument_bytes(request, "key", key_room, &key) ||
        !usage_argument_time(request, "from", &query.from_ms) ||
        !usage_argument_time(request, "to", &query.to_ms) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most)) {
        return;
    }
    if (key.size > 0) {
        if (!request_may_reach(request, key)) return;
        query.keys = &key;
        query.key_count = 1;
    }
    if (!request_enter(request)) return;
    text_put(list.out, "{\"usage\":[");
    lethe_status status = lethe_store_usage(request->store, &query, usage_add_row, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    usage_end_list(&list, server->zone[0] != '\0' ? server->zone : "UTC");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}
