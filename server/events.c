/* events.c - POST /v1/events.
 *
 * IDEA    A body is parsed and submitted by the thread that received it, which does not wait for
 *         the disk: the answer is written at once, and sent when the last commit that it rests on
 *         is durable (waiter.h).
 * I1      Nothing of a body is applied before all of it was parsed and may be counted.
 * I2      The id of an event is the one that `lethe count` gives it. Idempotency-Key only supplies
 *         ids that are missing. */
#include <string.h>

#include "frame/clock.h"
#include "server/body.h"
#include "server/caps.h"
#include "server/parsing.h"
#include "server/routes.h"
#include "server/state.h"

/* An answer while it is written. */
struct reply {
    struct text events;
    uint64_t counts[OUTCOMES];
    uint64_t count;
    bool is_short;
};

/* What the headers say of a body. */
static bool choose_form(struct request *request, struct body_reader *reader, lethe_bytes key) {
    struct server *server = request->server;
    const char *type = request->header(request->connection, "Content-Type");
    bool is_cloud = false;
    enum body_form form = BODY_LINES;
    lethe_bytes body = {.data = request->body.data, .size = request->body.size};
    if (route_type_is(type, "application/cloudevents+json")) {
        is_cloud = true;
        form = BODY_SINGLE;
    } else if (route_type_is(type, "application/cloudevents-batch+json")) {
        is_cloud = true;
        form = BODY_ARRAY;
    } else if (request->header(request->connection, "ce-specversion") != NULL) {
        struct text event = {0};
        struct event_problem problem;
        if (!cloud_write(request->header, request->connection, &server->cloud, body, &event,
                         &problem)) {
            text_free(&event);
            request_problem_line(request, 1, problem.text);
            return false;
        }
        text_free(&request->body);
        request->body = event;
        body = (lethe_bytes){.data = event.data, .size = event.size};
        is_cloud = true;
        form = BODY_SINGLE;
    } else if (route_type_is(type, "application/json")) {
        form = event_first_byte(body) == '[' ? BODY_ARRAY : BODY_SINGLE;
    }
    body_begin(reader, is_cloud ? &server->cloud : &server->json, form, body, key);
    return true;
}

/* Whether the events of a batch may be counted by this token. */
static bool may_count(struct request *request, const struct event_batch *batch) {
    if (request->token->prefix.size == 0 && request->server->options->max_counters == 0)
        return true;
    for (size_t i = 0; i < batch->change_count; i++) {
        lethe_bytes key = batch->changes[i].key;
        if (!request_may_reach(request, key) || !request_may_begin(request, key, 0)) return false;
    }
    return true;
}

/* Adds what became of one operation to the answer. */
static void add_event(struct reply *reply, const lethe_operation *operation, unsigned outcome,
                      const int64_t *values, unsigned scale) {
    struct text *out = &reply->events;
    text_put(out, reply->count > 0 ? ",{\"outcome\":\"" : "{\"outcome\":\"");
    text_put(out, outcome_name(outcome));
    if (operation->change_count == 1) {
        text_put(out, "\",\"value\":");
        text_value(out, values[0], scale);
    } else {
        text_put(out, "\",\"values\":[");
        for (size_t i = 0; i < operation->change_count; i++) {
            if (i > 0) text_put(out, ",");
            text_value(out, values[i], scale);
        }
        text_put(out, "]");
    }
    text_put(out, "}");
}

static bool submit(struct request *request, struct parsing *parsing, struct reply *reply) {
    struct event_batch *batch = &parsing->batch;
    const int64_t *values = parsing->values;
    lethe_status status =
        lethe_store_submit(request->store, batch->operations, batch->count, NULL, 0,
                           parsing->outcomes, parsing->values, &request->ticket);
    if (status != LETHE_OK) {
        request_store_problem(request, status);
        return false;
    }
    if (reply->count + batch->count > EVENTS_SHOWN) {
        reply->is_short = true;
        text_free(&reply->events);
    }
    for (size_t i = 0; i < batch->count; i++) {
        if (text_is_full(&reply->events)) {
            reply->is_short = true;
            text_free(&reply->events);
        }
        unsigned outcome = parsing->outcomes[i];
        const lethe_operation *operation = &batch->operations[i];
        if (!reply->is_short) add_event(reply, operation, outcome, values, request->server->scale);
        reply->counts[outcome == LETHE_OUTCOME_APPLIED_LATE ? LETHE_OUTCOME_APPLIED : outcome]++;
        reply->count++;
        values += operation->change_count;
    }
    return true;
}

/* Counts per outcome, and the events. */
static void write_reply(struct request *request, const struct reply *reply) {
    struct text *out = &request->answer;
    text_put(out, "{\"counts\":{");
    for (unsigned i = 0; i < OUTCOMES; i++) {
        if (i > LETHE_OUTCOME_DUPLICATE && reply->counts[i] == 0) continue;
        text_format(out, "%s\"%s\":", i > 0 ? "," : "", outcome_name(i));
        text_number(out, reply->counts[i]);
    }
    text_put(out, "}");
    if (!reply->is_short) {
        text_put(out, ",\"events\":[");
        text_add(out, reply->events.data, reply->events.size);
        text_put(out, "]");
    }
    text_put(out, "}\n");
    if (reply->events.has_failed) out->has_failed = true;
    request_answer(request, 200, type_json);
}

static bool read_batch(struct request *request, struct body_reader *reader,
                       struct event_batch *batch, enum body_result *result) {
    *result = body_read(reader, batch);
    if (*result != BODY_BAD) return may_count(request, batch);
    request_problem_line(request, reader->problem_line, reader->problem.text);
    return false;
}

/* I1: all batches are looked at before the first one of several is submitted. */
static bool count_all(struct request *request, struct body_reader *reader, struct parsing *parsing,
                      struct reply *reply) {
    enum body_result result;
    struct body_reader start = *reader;
    if (!read_batch(request, reader, &parsing->batch, &result)) return false;
    if (result == BODY_ALL) return submit(request, parsing, reply);
    while (result == BODY_MORE) {
        if (!read_batch(request, reader, &parsing->batch, &result)) return false;
    }
    do {
        result = body_read(&start, &parsing->batch);
        if (result == BODY_BAD || !submit(request, parsing, reply)) return false;
    } while (result == BODY_MORE);
    return true;
}

/* An id that was used before for something else is a mistake of the sender. */
static bool is_mismatch(const struct body_reader *reader, const struct reply *reply) {
    return reader->form == BODY_SINGLE && reply->counts[LETHE_OUTCOME_MISMATCH] > 0;
}

static void count_body(struct request *request, struct body_reader *reader) {
    const char *prefer = request->header(request->connection, "Prefer");
    struct reply reply = {.is_short = prefer != NULL && strstr(prefer, "return=minimal") != NULL};
    struct parsing *parsing = parsing_take(&request->server->batches);
    if (parsing == NULL) {
        request_problem(request, 503, "Out of memory", "memory is short; send this again");
        return;
    }
    request->submitted_s = clock_seconds();
    if (count_all(request, reader, parsing, &reply)) {
        if (is_mismatch(reader, &reply)) {
            uint64_t ticket = request->ticket;
            request_problem(request, 422, "Mismatch",
                            "this id came before with other changes; nothing was counted");
            request->ticket = ticket; /* the original may not be durable yet */
        } else {
            write_reply(request, &reply);
        }
    }
    text_free(&reply.events);
    parsing_give(&request->server->batches, parsing);
}

void answer_events(struct request *request) {
    struct body_reader reader;
    lethe_bytes key;
    char room[REQUEST_KEY_BYTES];
    uint64_t most = UNPACKED_FACTOR * request->server->max_body_bytes;
    if (!request_idempotency_key(request, room, &key) || !body_unpack(request, most) ||
        !choose_form(request, &reader, key) || !request_enter(request)) {
        return;
    }
    count_body(request, &reader);
}
