/* tables_read.c - the counters of once-tables: GET /v1/counters, /v1/counters/KEY, /v1/top and
 * /v1/usage of a server over Redis, and the list of all that it answers.
 *
 * I1      Each of them is about one table: that of `table`, or the only one there is.
 * I2      A cursor has room for so many bytes only, and a table's keys may be longer. Then the next
 *         list begins with all keys that begin so, and may repeat some. Each cursor is beyond the
 *         one before it; where that cannot be, because more keys begin alike than are asked for,
 *         the answer is an error: otherwise the same page would come for ever. */
#include <inttypes.h>
#include <string.h>

#include "server/caps.h"
#include "server/cursor.h"
#include "server/state.h"
#include "server/tables.h"
#include "server/usage.h"

/* I1. The name is copied to room. Returns false after a problem. */
static bool choose_table(struct request *request, char room[REQUEST_PART_BYTES],
                         struct source_reading *out) {
    struct tables *tables = request->server->tables;
    *out = (struct source_reading){0};
    if (!request_argument_bytes(request, "table", room, &out->table)) return false;
    if (out->table.size > 0) return true;
    pthread_mutex_lock(&tables->lock);
    size_t count = tables->count;
    if (count == 1 && tables->list[0]->size <= REQUEST_PART_BYTES) {
        memcpy(room, tables->list[0]->name, tables->list[0]->size);
        out->table = (lethe_bytes){room, tables->list[0]->size};
    }
    pthread_mutex_unlock(&tables->lock);
    if (out->table.size > 0) return true;
    if (count == 0)
        request_problem(request, 404, "Not found", "there is no table");
    else
        request_problem(request, 400, "Bad argument",
                        "there are %zu tables; name one, as ?table=NAME; /v1/status lists them",
                        count);
    return false;
}

/* Whether the reading succeeded; a problem otherwise. */
static bool check(struct request *request, enum source_result result,
                  const struct source_reading *reading) {
    switch (result) {
    case SOURCE_DONE:
        return true;
    case SOURCE_ABSENT:
        request_problem(request, 404, "Not found", "%s", reading->problem);
        return false;
    case SOURCE_BAD:
        request_problem(request, 400, "Bad request", "%s", reading->problem);
        return false;
    case SOURCE_DAMAGED:
        request_problem(request, 500, "Unreadable table", "%s", reading->problem);
        return false;
    case SOURCE_INCOMPLETE:
        request_problem(request, 503, "Incomplete table", "%s", reading->problem);
        return false;
    case SOURCE_LOST:
        break;
    }
    request_problem(request, 503, "Redis is lost", "%s", reading->problem);
    request->asks_again = true;
    return false;
}

static void add_counter(struct text *out, lethe_bytes key, int64_t value) {
    text_put(out, "{");
    text_bytes(out, "key", key);
    text_put(out, ",\"value\":");
    text_value(out, value, 0);
    text_put(out, "}");
}

void answer_table_counter(struct request *request) {
    const struct source *source = request->server->tables->source;
    char room[REQUEST_PART_BYTES];
    struct source_reading reading;
    int64_t value = 0;
    bool found = false;
    if (!request_may_reach(request, request->part) || !choose_table(request, room, &reading))
        return;
    enum source_result result =
        source->get(source->context, &reading, request->part, &value, &found);
    if (!check(request, result, &reading)) return;
    if (!found) {
        request_problem(request, 404, "Not found", "there is no such counter");
        return;
    }
    add_counter(&request->answer, request->part, value);
    text_put(&request->answer, "\n");
    request_answer(request, 200, type_json);
}

/* A list while it is written. */
struct listing {
    struct text *out;
    /* Where it begins; empty: with the first. */
    lethe_bytes from;
    uint64_t count, most;
    struct cursor cursor;
    bool is_stuck;
};

/* A source_visit. */
static bool list_counter(void *context, lethe_bytes key, int64_t value) {
    struct listing *list = context;
    if (list->count == list->most || text_is_full(list->out)) { /* I2 */
        if (key.size > CURSOR_BYTES) key.size = CURSOR_BYTES;
        list->is_stuck =
            key.size == list->from.size && memcmp(key.data, list->from.data, key.size) == 0;
        cursor_set(&list->cursor, key);
        return false;
    }
    if (list->count++ > 0) text_put(list->out, ",");
    add_counter(list->out, key, value);
    return true;
}

void answer_table_counters(struct request *request) {
    const struct source *source = request->server->tables->source;
    char room[REQUEST_PART_BYTES], prefix_room[REQUEST_PART_BYTES], cursor_room[CURSOR_BYTES];
    struct listing list = {.out = &request->answer, .most = ROWS_USUAL};
    struct source_reading reading;
    lethe_bytes prefix;
    if (!read_prefix(request, prefix_room, &prefix) ||
        !cursor_read(request, cursor_room, &list.from) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !choose_table(request, room, &reading)) {
        return;
    }
    text_put(list.out, "{\"counters\":[");
    enum source_result result = source->each(source->context, &reading, prefix, list.from,
                                             list.most + 1, list_counter, &list);
    if (!check(request, result, &reading)) return;
    if (list.is_stuck) { /* I2 */
        request_problem(request, 400, "Bad argument",
                        "%s: more than %" PRIu64
                        " keys begin with the same %d bytes, which is all that a cursor holds",
                        list.count == list.most ? "limit is too small" : "keys are too long",
                        list.count, CURSOR_BYTES);
        return;
    }
    cursor_answer(request, &list.cursor);
}

/* An argument that is not empty; NULL: there is none. */
static const char *argument(struct request *request, const char *name) {
    const char *text = request->argument(request->connection, name);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

void answer_table_top(struct request *request) {
    const struct source *source = request->server->tables->source;
    char room[REQUEST_PART_BYTES];
    struct listing list = {.out = &request->answer, .most = TOP_SHOWN};
    struct source_reading reading;
    uint64_t at_ms = 0;
    if (!request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !usage_argument_at(request, &at_ms) || !choose_table(request, room, &reading)) {
        return;
    }
    text_put(list.out, "{\"counters\":[");
    enum source_result result = source->top(source->context, &reading, argument(request, "by"),
                                            at_ms, list.most, list_counter, &list);
    if (!check(request, result, &reading) || !top_fits(request, &list.cursor)) return;
    text_put(list.out, "]}\n");
    request_answer(request, 200, type_json);
}

void answer_table_usage(struct request *request) {
    const struct source *source = request->server->tables->source;
    char room[REQUEST_PART_BYTES];
    struct usage_asked asked;
    struct source_reading reading;
    struct usage_list list = {.out = &request->answer, .by = reading.by, .most = ROWS_USUAL};
    if (!usage_arguments(request, &asked) ||
        !request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !choose_table(request, room, &reading)) {
        return;
    }
    text_put(list.out, "{\"usage\":[");
    enum source_result result =
        source->usage(source->context, &reading, &asked.query, usage_add_row, &list);
    if (!check(request, result, &reading)) return;
    usage_end_list(&list, "UTC");
    request_answer(request, 200, type_json);
}

const struct route table_routes[] = {
    {"GET", "/v1/counters/{}", SCOPE_READ, answer_table_counter, "One counter of a table.",
     "table table_base64", false, true, false},
    {"GET", "/v1/counters", SCOPE_READ, answer_table_counters,
     "Counters of a table in the order of their keys. The answer's cursor continues the list.",
     "table table_base64 prefix prefix_base64 limit cursor", false, true, false},
    {"GET", "/v1/top", SCOPE_READ, answer_table_top,
     "The largest counters of a table, or those of one period.", "table table_base64 limit by at",
     true, true, false},
    {"GET", "/v1/usage", SCOPE_READ, answer_table_usage,
     "What counters of a table got in each period.",
     "table table_base64 by prefix prefix_base64 key key_base64 from to limit", false, true, false},
    {"GET", "/v1/status", SCOPE_READ, answer_table_status, "The tables, and the state of one.",
     "table table_base64", true, false, false},
    {"GET", "/v1/live", SCOPE_READ, answer_table_status,
     "The same again and again, one line each time.", "table table_base64 interval", true, false,
     true},
    {"GET", "/metrics", SCOPE_READ, answer_table_metrics, "Figures of all tables, for Prometheus.",
     NULL, true, false, false},
    {"GET", "/healthz", 0, answer_health, "Whether the process answers.", NULL, false, false,
     false},
    {"GET", "/readyz", 0, answer_table_ready, "Whether Redis answers.", NULL, false, false, false},
    {"GET", "/openapi.json", 0, answer_openapi, "This description.", NULL, false, false, false},
};
const size_t table_route_count = sizeof table_routes / sizeof table_routes[0];
