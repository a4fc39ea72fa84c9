/* simulation/store/serve.c - calls as requests of the server; see serve.h.
 *
 * IDEA    The server's own objects are linked, except those that speak HTTP, start threads or
 *         print. Its locks are real ones: each is given back before the store is called, so that no
 *         simulated thread is ever switched away with one.
 * I1      A call may be killed in the middle, and never returns then. What it had is in the static
 *         request and batch, which the next call cleans up. Small objects are lost. */
#include "simulation/store/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/decimal.h"
#include "server/http.h"
#include "server/log.h"
#include "server/parsing.h"
#include "server/routes.h"
#include "server/state.h"
#include "simulation/store/verdict.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

_Static_assert((int)SERVE_MOST <= (int)EVENTS_PER_BATCH, "a body is one batch");

static const struct server_options options = {.listen = "127.0.0.1:8420"};
static struct server server;
static struct request request;
/* Batches are 8 MiB: there is one. */
static struct parsing *batch;

/* What the server would print, and what it would have HTTP do. */
void log_note(const char *what, const char *format, ...) {
    (void)what;
    (void)format;
}

void log_warn(const char *what, const char *format, ...) {
    (void)what;
    (void)format;
}

void http_go_on(struct request *done) {
    (void)done;
}

static const char *header(void *connection, const char *name) {
    (void)connection;
    if (strcmp(name, "Host") == 0) return "localhost";
    return strcmp(name, "Content-Type") == 0 ? "application/x-ndjson" : NULL;
}

static const char *argument(void *connection, const char *name) {
    (void)connection;
    (void)name;
    return NULL;
}

/* A server over this store. */
static void begin(lethe_store *store, bool event_time) {
    struct event_problem problem;
    struct event_format_options format = {
        .kind = EVENTS_JSONL,
        .fields = event_time ? "id=id,key=key,delta=delta,time=time" : "id=id,key=key,delta=delta",
        .takes_changes = true,
        .takes_base64 = true};
    text_free(&request.body); /* I1 */
    text_free(&request.answer);
    if (batch == NULL) {
#ifdef __SANITIZE_ADDRESS__
        __lsan_disable(); /* I1 */
#endif
        batch = parsing_take(&server.batches);
        if (batch == NULL) abort();
    }
    server = (struct server){.options = &options,
                             .event_time = event_time,
                             .scale = lethe_store_scale(store),
                             .max_body_bytes = MAX_BODY_BYTES,
                             .bodies = {.most = UINT64_MAX},
                             .door = {.store = store},
                             .batches = {.free = {batch}, .count = 1}};
    pthread_mutex_init(&server.door.lock, NULL);
    pthread_cond_init(&server.door.changed, NULL);
    pthread_mutex_init(&server.batches.lock, NULL);
    pthread_mutex_init(&server.access.lock, NULL);
    if (!event_format_make(&format, &server.json, &problem) ||
        !event_format_set_scale(&server.json, server.scale, &problem))
        verdict_fail("serve", "there is no format: %s", problem.text);
    request = (struct request){.server = &server, .header = header, .argument = argument};
}

/* Adds "NAME":"..." or, for some, the same in base64. */
static void add_bytes(const char *name, lethe_bytes value) {
    const unsigned char *bytes = value.data;
    if (value.size % 3 != 0 || bytes[value.size - 1] % 2 != 0) {
        text_format(&request.body, "\"%s\":", name);
        text_quoted(&request.body, value);
        return;
    }
    text_format(&request.body, "\"%s_base64\":\"", name);
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < value.size; i += 3) {
        unsigned bits = (unsigned)bytes[i] << 16 | (unsigned)bytes[i + 1] << 8 | bytes[i + 2];
        text_format(&request.body, "%c%c%c%c", digits[bits >> 18], digits[bits >> 12 & 63],
                    digits[bits >> 6 & 63], digits[bits & 63]);
    }
    text_put(&request.body, "\"");
}

static void add_number(const char *name, int64_t value) {
    text_format(&request.body, ",\"%s\":", name);
    text_value(&request.body, value, server.scale);
}

/* Posts the body. LETHE_EIO for an answer that asks to send it
 * again. */
static lethe_status post(const char *path) {
    routes_find(&request, "POST", path);
    if (request.status == 0) request.route->run(&request);
    request_leave(&request);
    bool asks_again = request.status == 503 || request.status == 507;
    if (!asks_again &&
        (request.status == 400 || request.status >= 500 || request.answer.has_failed))
        verdict_fail("serve", "POST %s is answered with %u: %.*s", path, request.status,
                     (int)request.answer.size, request.answer.data);
    if (asks_again != server.door.has_failed)
        verdict_fail("serve", "the store has%s failed, and POST %s is answered with %u",
                     server.door.has_failed ? "" : " not", path, request.status);
    text_add(&request.answer, "", 1);
    return asks_again ? LETHE_EIO : LETHE_OK;
}

/* What stands after "NAME":" from a place of the answer on. */
static const char *find(const char *from, const char *name) {
    char text[32];
    snprintf(text, sizeof text, "\"%s\":", name);
    const char *at = strstr(from, text);
    if (at == NULL) verdict_fail("serve", "there is no %s in the answer: %.300s", name, from);
    return at + strlen(text);
}

static bool is_word(const char *at, const char *word) {
    return at[0] == '"' && strncmp(at + 1, word, strlen(word)) == 0 && at[strlen(word) + 1] == '"';
}

static uint8_t read_outcome(const char *at) {
    for (unsigned i = 0; i < OUTCOMES; i++) {
        if (is_word(at, outcome_name(i))) return (uint8_t)i;
    }
    verdict_fail("serve", "an outcome is %.20s", at);
    return 0;
}

static int64_t read_value(const char *at) {
    int64_t value = 0;
    lethe_bytes text = {.data = at + 1, .size = strcspn(at + 1, "\"")};
    if (at[0] != '"' || decimal_parse_scaled(text, server.scale, &value) != DECIMAL_FINE)
        verdict_fail("serve", "a value is %.40s", at);
    return value;
}

/* --- events and takes --- */

static void add_event(const lethe_operation *operation, bool event_time) {
    text_put(&request.body, "{");
    add_bytes("id", operation->id);
    text_put(&request.body, ",");
    if (event_time) text_format(&request.body, "\"time\":%" PRIu64 ",", operation->time_ms);
    if (operation->change_count > 1) text_put(&request.body, "\"changes\":[");
    for (size_t i = 0; i < operation->change_count; i++) {
        if (operation->change_count > 1) text_put(&request.body, i > 0 ? ",{" : "{");
        add_bytes("key", operation->changes[i].key);
        add_number("delta", operation->changes[i].delta);
        if (operation->change_count > 1) text_put(&request.body, "}");
    }
    text_put(&request.body, operation->change_count > 1 ? "]}\n" : "}\n");
}

lethe_status serve_events(lethe_store *store, bool event_time, const lethe_operation *operations,
                          size_t count, uint8_t *outcomes, int64_t *values, uint64_t *ticket) {
    begin(store, event_time);
    for (size_t i = 0; i < count; i++)
        add_event(&operations[i], event_time);
    lethe_status status = post("/v1/events");
    *ticket = request.ticket;
    if (status != LETHE_OK) return status;
    const char *at = find(request.answer.data, "events");
    for (size_t i = 0; i < count; i++) {
        at = find(at, "outcome");
        outcomes[i] = read_outcome(at);
        size_t changes = operations[i].change_count;
        at = find(at, changes == 1 ? "value" : "values") + (changes > 1);
        for (size_t j = 0; j < changes; j++) {
            int64_t value = read_value(at);
            if (values != NULL) *values++ = value;
            at = strchr(at + 1, '"') + 1;
            at += *at == ',' && at[1] == '"'; /* the next value of the same event */
        }
    }
    return LETHE_OK;
}

void serve_expect(void) {
    if (batch != NULL) memset(batch->outcomes, 255, sizeof batch->outcomes);
}

void serve_decided(uint8_t *outcomes, size_t count) {
    if (batch == NULL) /* killed before its first line */
        memset(outcomes, 255, count);
    else
        memcpy(outcomes, batch->outcomes, count);
}

lethe_status serve_take(lethe_store *store, lethe_bytes id, lethe_bytes key, int64_t amount,
                        int64_t max, uint8_t *outcome) {
    begin(store, false);
    text_put(&request.body, "{");
    add_bytes("id", id);
    text_put(&request.body, ",");
    add_bytes("key", key);
    add_number("delta", amount);
    add_number("limit", max);
    text_put(&request.body, "}");
    lethe_status status = post("/v1/take");
    if (status != LETHE_OK) return status;
    *outcome = request.status == 422 ? LETHE_OUTCOME_MISMATCH
                                     : read_outcome(find(request.answer.data, "outcome"));
    return LETHE_OK;
}

/* --- claims and holds --- */

static const char *path_of(const char *family, lethe_bytes id, const char *verb) {
    static char path[128];
    snprintf(path, sizeof path, "/v1/%s/%.*s/%s", family, (int)id.size, (const char *)id.data,
             verb);
    return path;
}

lethe_status serve_claim(lethe_store *store, const char *verb, lethe_bytes id, lethe_bytes token,
                         uint64_t lease_ms, lethe_bytes reply, lethe_claim_answer *answer,
                         lethe_bytes *told) {
    begin(store, false);
    *told = (lethe_bytes){0};
    text_put(&request.body, "{");
    add_bytes("token", token);
    if (lease_ms > 0) text_format(&request.body, ",\"lease_ms\":%" PRIu64, lease_ms);
    if (reply.size > 0) {
        text_put(&request.body, ",");
        add_bytes("reply", reply);
    }
    text_put(&request.body, "}");
    lethe_status status = post(path_of("claims", id, verb));
    if (status != LETHE_OK) return status;
    const char *word = find(request.answer.data, "answer");
    for (int i = 0; i <= LETHE_CLAIM_UNKNOWN; i++) {
        *answer = (lethe_claim_answer)i;
        if (!is_word(word, lethe_claim_answer_name(*answer))) continue;
        if (*answer == LETHE_CLAIM_DONE && strstr(request.answer.data, "\"reply\":\"") != NULL) {
            const char *text = find(request.answer.data, "reply") + 1;
            *told = (lethe_bytes){.data = text, .size = strcspn(text, "\"")};
        }
        return LETHE_OK;
    }
    verdict_fail("serve", "a claim is answered %.40s", word);
    return LETHE_EIO;
}

static lethe_status post_hold(lethe_bytes id, const char *verb, lethe_hold_answer *answer) {
    lethe_status status = post(path_of("holds", id, verb));
    if (status != LETHE_OK) return status;
    const char *word = find(request.answer.data, "answer");
    for (int i = 0; i <= LETHE_HOLD_UNKNOWN; i++) {
        *answer = (lethe_hold_answer)i;
        if (is_word(word, lethe_hold_answer_name(*answer))) return LETHE_OK;
    }
    verdict_fail("serve", "a hold is answered %.40s", word);
    return LETHE_EIO;
}

lethe_status serve_hold_place(lethe_store *store, const lethe_hold *hold,
                              lethe_hold_answer *answer) {
    begin(store, false);
    text_put(&request.body, "{");
    add_bytes("key", hold->key);
    add_number("amount", hold->amount);
    add_number("limit", hold->max);
    text_format(&request.body, ",\"lease_ms\":%" PRIu64 "}", hold->lease_ms);
    return post_hold(hold->id, "place", answer);
}

lethe_status serve_hold_settle(lethe_store *store, lethe_bytes id, int64_t actual, bool force,
                               lethe_hold_answer *answer) {
    begin(store, false);
    text_format(&request.body, "{\"force\":%s", force ? "true" : "false");
    add_number("actual", actual);
    text_put(&request.body, "}");
    return post_hold(id, "settle", answer);
}

lethe_status serve_hold_release(lethe_store *store, lethe_bytes id, lethe_hold_answer *answer) {
    begin(store, false);
    text_put(&request.body, "{}");
    return post_hold(id, "release", answer);
}
