/* read.c - GET /v1/counters, /v1/counters/KEY and /v1/top.
 *
 * I1      What is read is answered when it is durable: the writer sees what it has submitted, so
 *         the answer waits for the commit that was filling when it had been read. */
#include <string.h>

#include "server/routes.h"
#include "server/state.h"
#include "server/usage.h"

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
    /* The key after the last one, where the next list begins. */
    char next[LETHE_KEY_LIMIT_BYTES];
    size_t next_size;
    bool has_more;
};

/* A lethe_store_visit. */
static bool list_counter(void *context, lethe_bytes key, int64_t value) {
    struct listing *list = context;
    size_t size = list->prefix.size;
    if (key.size < size || (size > 0 && memcmp(key.data, list->prefix.data, size) != 0)) {
        return false; /* keys are in order: there is no other with the prefix */
    }
    if (list->count == list->most) {
        list->has_more = true;
        memcpy(list->next, key.data, key.size);
        list->next_size = key.size;
        return false;
    }
    if (list->count++ > 0) text_put(list->out, ",");
    add_counter(list->out, key, value, list->scale);
    return true;
}

/* A cursor is a key in hexadecimal digits: it is safe anywhere. */
static void write_cursor(struct text *out, const struct listing *list) {
    text_put(out, ",\"cursor\":");
    if (!list->has_more) {
        text_put(out, "null");
        return;
    }
    text_put(out, "\"");
    for (size_t i = 0; i < list->next_size; i++) {
        text_format(out, "%02x", (unsigned char)list->next[i]);
    }
    text_put(out, "\"");
}

static bool read_cursor(struct request *request, char room[LETHE_KEY_LIMIT_BYTES],
                        lethe_bytes *out) {
    const char *text = request->argument(request->connection, "cursor");
    if (text == NULL || text[0] == '\0') return true;
    size_t size = strlen(text) / 2, used = 0;
    char escaped[3] = "%";
    bool fine = strlen(text) % 2 == 0 && size <= LETHE_KEY_LIMIT_BYTES;
    for (size_t i = 0; i < size && fine; i++) {
        char three[3] = {escaped[0], text[2 * i], text[2 * i + 1]};
        fine = request_unescape(three, sizeof three, room + i, &used) && used == 1;
    }
    *out = (lethe_bytes){.data = room, .size = size};
    if (!fine) request_problem(request, 400, "Bad argument", "cursor is not one of this server");
    return fine;
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
    char prefix_room[REQUEST_PART_BYTES], cursor_room[LETHE_KEY_LIMIT_BYTES];
    struct listing list = {
        .out = &request->answer, .scale = request->server->scale, .most = ROWS_USUAL};
    lethe_bytes from;
    if (!read_prefix(request, prefix_room, &list.prefix)) return;
    from = list.prefix;
    if (!read_cursor(request, cursor_room, &from) ||
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
    text_put(list.out, "]");
    write_cursor(list.out, &list);
    text_put(list.out, "}\n");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}

void answer_top(struct request *request) {
    struct listing list = {
        .out = &request->answer, .scale = request->server->scale, .most = TOP_SHOWN};
    const char *by = request->argument(request->connection, "by");
    uint64_t at_ms = 0;
    if (!request_argument_number(request, "limit", 1, ROWS_LIMIT, &list.most) ||
        !usage_argument_time(request, "at", &at_ms) || !request_enter(request)) {
        return;
    }
    text_put(list.out, "{\"counters\":[");
    lethe_status status =
        by == NULL && at_ms == 0
            ? lethe_store_top(request->store, list.most, list_counter, &list)
            : lethe_store_top_at(request->store, by, at_ms != 0 ? at_ms : usage_now_ms(), list.most,
                                 list_counter, &list);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return;
    }
    text_put(list.out, "]}\n");
    request_answer(request, 200, type_json);
    (void)request_read_is_durable(request);
}
