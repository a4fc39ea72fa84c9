/* link.c - one connection: what was sent, what it is answered with, and what is unconfirmed.
 *
 * I1  expected has an entry for each answer that is still to come, in the order in which the
 *     commands went out.
 * I2  A request on the link is in exactly one of creating, in_flight and answered; the one that the
 *     next answer to a creation belongs to is the first in creating, and that of any other command
 *     the first in in_flight.
 * I3  A write in answered was sent before the WAIT that is under way, or unconfirmed counts it.
 *     Only requests that were all answered when a WAIT's own answer comes are confirmed by it;
 *     answers come in order, so these are all in answered by then. */
#include "redis/link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN_FLIGHT_MOST = 16,
    CONNECT_MS = 2000,
    ANSWER_MS = 5000,
    WAIT_MS = 1000, /* after which a server answers with what there is */
    BACK_OFF_LEAST_MS = 20,
    BACK_OFF_MOST_MS = 1000
};

void redis_list_append(struct redis_list *list, struct redis_request *request) {
    if (list->end == NULL || list->first == NULL) list->end = &list->first;
    request->next = NULL;
    *list->end = request;
    list->end = &request->next;
}

struct redis_request *redis_list_take(struct redis_list *list) {
    struct redis_request *request = list->first;
    if (request != NULL) list->first = request->next;
    return request;
}

static bool expect(struct redis_link *link, struct redis_expectation expectation) {
    if (link->expected_count == link->expected_capacity) {
        size_t capacity = link->expected_capacity == 0 ? 64 : 2 * link->expected_capacity;
        struct redis_expectation *larger = malloc(capacity * sizeof *larger);
        if (larger == NULL) return false;
        for (size_t i = 0; i < link->expected_count; i++) {
            larger[i] = link->expected[(link->expected_first + i) & (link->expected_capacity - 1)];
        }
        free(link->expected);
        link->expected = larger;
        link->expected_first = 0;
        link->expected_capacity = capacity;
    }
    size_t place = (link->expected_first + link->expected_count) & (link->expected_capacity - 1);
    link->expected[place] = expectation;
    link->expected_count++;
    return true;
}

static struct redis_expectation take_expectation(struct redis_link *link) {
    struct redis_expectation next = link->expected[link->expected_first];
    link->expected_first = (link->expected_first + 1) & (link->expected_capacity - 1);
    link->expected_count--;
    return next;
}

/* Puts commands into what is to be written. The time of silence begins when there was nothing to
 * hear. */
static bool write_commands(struct redis_link *link, lethe_bytes text,
                           struct redis_expectation expectation, uint64_t now_ms) {
    if (link->expected_count == 0) link->heard_ms = now_ms;
    return expect(link, expectation) && redis_wire_put(&link->wire, text);
}

/* Sends who we are, and which database is meant. */
static bool send_greeting(struct redis_link *link, const struct redis_access *access) {
    struct redis_text text = {0};
    size_t commands = redis_access_greet(access, true, &text);
    bool fits = !text.is_short_of_memory;
    if (fits && commands > 0)
        fits = redis_wire_put(&link->wire, (lethe_bytes){text.data, text.size});
    for (size_t i = 0; i < commands && fits; i++)
        fits = expect(link, (struct redis_expectation){.kind = EXPECT_OK});
    redis_text_free(&text);
    return fits;
}

static void close_wire(struct redis_link *link) {
    redis_wire_close(&link->wire);
    link->expected_count = 0;
    link->is_waiting = false;
    link->unconfirmed = 0;
    memset(link->has_key, 0, sizeof link->has_key);
}

/* Each failure in a row doubles the time until the next try. */
static void back_off(struct redis_link *link, uint64_t now_ms) {
    unsigned doublings = link->failures < 10 ? link->failures : 10;
    uint64_t delay_ms = (uint64_t)BACK_OFF_LEAST_MS << doublings;
    link->failures++;
    link->retry_at_ms = now_ms + (delay_ms < BACK_OFF_MOST_MS ? delay_ms : BACK_OFF_MOST_MS);
}

bool redis_link_open(struct redis_link *link, const struct redis_access *access, uint64_t now_ms) {
    link->heard_ms = now_ms;
    if (redis_wire_open(&link->wire, &link->address, access)) {
        if (send_greeting(link, access)) return true;
        snprintf(link->wire.why, sizeof link->wire.why, "not enough memory");
    }
    close_wire(link);
    back_off(link, now_ms);
    return false;
}

bool redis_link_has_room(const struct redis_link *link) {
    return link->wire.state == WIRE_READY && link->in_flight_count < IN_FLIGHT_MOST;
}

static bool has_key(const struct redis_link *link, unsigned slot) {
    return (link->has_key[slot / 8] >> slot % 8 & 1) != 0;
}

static void note_key(struct redis_link *link, unsigned slot, bool is_there) {
    unsigned char bit = (unsigned char)(1U << slot % 8);
    link->has_key[slot / 8] &= (unsigned char)~bit;
    if (is_there) link->has_key[slot / 8] |= bit;
}

/* Writes one command of a request; ASKING is good for one command only. */
static bool write_one(struct redis_link *link, lethe_bytes text,
                      struct redis_expectation expectation, uint64_t now_ms) {
    static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
    if (expectation.request->is_asked_once &&
        !write_commands(link, (lethe_bytes){asking, sizeof asking - 1},
                        (struct redis_expectation){.kind = EXPECT_NOTHING}, now_ms)) {
        return false;
    }
    return write_commands(link, text, expectation, now_ms);
}

bool redis_link_send(struct redis_link *link, struct redis_request *request, uint64_t now_ms) {
    bool fits = true;
    request->has_failed = false;
    if (request->creation.size > 0 && !has_key(link, request->slot)) {
        redis_list_append(&link->creating, request);
        link->in_flight_count++;
        return write_one(link, request->creation,
                         (struct redis_expectation){EXPECT_CREATION, request, 0}, now_ms);
    }
    size_t from = 0;
    for (size_t i = 0; i < request->commands && fits; i++) {
        size_t end = request->ends != NULL ? request->ends[i] : request->size;
        fits = write_one(link, (lethe_bytes){request->text + from, end - from},
                         (struct redis_expectation){EXPECT_ANSWER, request, i}, now_ms);
        from = end;
    }
    redis_list_append(&link->in_flight, request);
    link->in_flight_count++;
    link->unconfirmed += request->is_write;
    return fits;
}

bool redis_link_send_wait(struct redis_link *link, unsigned replicas, uint64_t now_ms) {
    if (link->wire.state != WIRE_READY || link->unconfirmed == 0 || link->is_waiting) return true;
    char *text;
    int size = redisFormatCommand(&text, "WAIT %u %d", replicas, WAIT_MS);
    if (size < 0) return false;
    bool fits = write_commands(link, (lethe_bytes){.data = text, .size = (size_t)size},
                               (struct redis_expectation){.kind = EXPECT_WAIT}, now_ms);
    redisFreeCommand(text);
    link->is_waiting = true;
    link->unconfirmed = 0;
    return fits;
}

static void hand_back(struct redis_link *link, struct redis_list *list, bool is_uncertain,
                      const char *why, const struct redis_link_events *events) {
    struct redis_list taken = *list; /* the client may send them again at once */
    *list = (struct redis_list){0};
    for (struct redis_request *request; (request = redis_list_take(&taken)) != NULL;) {
        request->is_uncertain = request->is_uncertain || is_uncertain;
        events->on_again(events->context, link, request, why);
    }
}

/* Closes it; requests that are on it are handed back. */
static void lose(struct redis_link *link, uint64_t now_ms, const char *why,
                 const struct redis_link_events *events) {
    char copy[REDIS_WHY_BYTES];
    snprintf(copy, sizeof copy, "%s", why); /* it may be the wire's own */
    close_wire(link);
    back_off(link, now_ms);
    link->in_flight_count = 0;
    events->on_lost(events->context, link, copy, link->wire.is_hopeless);
    hand_back(link, &link->answered, false, copy, events);
    hand_back(link, &link->in_flight, true, copy, events);
    hand_back(link, &link->creating, false, copy, events);
}

void redis_link_free(struct redis_link *link) {
    close_wire(link);
    free(link->expected);
    *link = (struct redis_link){0};
}

/* Whether an error passes by itself, at this server or at another. */
static bool is_temporary(const char *text) {
    static const char *const kinds[] = {"MOVED ",
                                        "ASK ",
                                        "TRYAGAIN",
                                        "CLUSTERDOWN",
                                        "LOADING",
                                        "MASTERDOWN",
                                        "READONLY",
                                        "NOREPLICAS",
                                        "BUSY ",
                                        "UNBLOCKED",
                                        "NOTABLE ", /* it is made again first */
                                        "ERR WAIT cannot be used",
                                        "ERR max number of clients"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0) return true;
    }
    return false;
}

static bool is_tolerated(const struct redis_request *request, const char *text) {
    for (const char *const *kind = request->tolerated; kind != NULL && *kind != NULL; kind++) {
        if (strncmp(text, *kind, strlen(*kind)) == 0) return true;
    }
    return false;
}

/* All commands of the first request in flight are answered. */
static void settle(struct redis_link *link, unsigned replicas,
                   const struct redis_link_events *events) {
    struct redis_request *request = redis_list_take(&link->in_flight);
    link->in_flight_count--;
    link->failures = 0;
    if (request->has_failed) {
        events->on_again(events->context, link, request, link->problem);
    } else if (replicas > 0 && request->is_write) {
        redis_list_append(&link->answered, request);
    } else {
        events->on_done(events->context, request);
    }
}

static void take_wait(struct redis_link *link, const redisReply *reply, unsigned replicas,
                      const struct redis_link_events *events) {
    link->is_waiting = false;
    if (reply->type != REDIS_REPLY_INTEGER || reply->integer < (long long)replicas) {
        char why[160];
        if (reply->type == REDIS_REPLY_INTEGER) {
            snprintf(why, sizeof why, "%lld of %u replicas confirmed", reply->integer, replicas);
        } else {
            snprintf(why, sizeof why, "%s", reply->str != NULL ? reply->str : "no answer to WAIT");
        }
        hand_back(link, &link->answered, false, why, events);
        return;
    }
    struct redis_list confirmed = link->answered;
    link->answered = (struct redis_list){0};
    for (struct redis_request *request; (request = redis_list_take(&confirmed)) != NULL;) {
        events->on_done(events->context, request);
    }
}

/* An answer to what makes a key, which may be there already. */
static void take_creation(struct redis_link *link, const redisReply *reply,
                          const struct redis_link_events *events) {
    struct redis_request *request = redis_list_take(&link->creating);
    link->in_flight_count--;
    if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "BUSYKEY", 7) == 0) {
        note_key(link, request->slot, true);
        events->on_created(events->context, link, request);
        return;
    }
    if (!is_temporary(reply->str)) events->on_refusal(events->context, link, reply->str);
    events->on_again(events->context, link, request, reply->str);
}

/* The error that a reply is, or has among its elements, if the request did not foresee it; NULL if
 * there is none. */
static const char *error_in(const struct redis_request *request, const redisReply *reply) {
    if (reply->type == REDIS_REPLY_ERROR)
        return is_tolerated(request, reply->str) ? NULL : reply->str;
    size_t count = reply->type == REDIS_REPLY_ARRAY ? reply->elements : 0;
    for (size_t i = 0; i < count; i++) {
        const redisReply *one = reply->element[i];
        if (one->type == REDIS_REPLY_ERROR && !is_tolerated(request, one->str)) return one->str;
    }
    return NULL;
}

/* Takes one answer. */
static void take(struct redis_link *link, const redisReply *reply, unsigned replicas,
                 const struct redis_link_events *events) {
    struct redis_expectation expectation = take_expectation(link);
    struct redis_request *request = expectation.request;
    bool is_error = reply->type == REDIS_REPLY_ERROR;
    switch (expectation.kind) {
    case EXPECT_NOTHING:
        return;
    case EXPECT_OK:
        if (is_error && !is_temporary(reply->str)) {
            events->on_refusal(events->context, link, reply->str);
        }
        return;
    case EXPECT_WAIT:
        take_wait(link, reply, replicas, events);
        return;
    case EXPECT_CREATION:
        take_creation(link, reply, events);
        return;
    case EXPECT_ANSWER:
        break;
    }
    const char *error = error_in(request, reply);
    if (error == NULL) {
        request->on_reply(request, expectation.command, reply);
    } else {
        request->has_failed = true;
        note_key(link, request->slot,
                 false); /* until the error passes, everything may be otherwise */
        snprintf(link->problem, sizeof link->problem, "%s", error);
        if (!is_temporary(error)) events->on_refusal(events->context, link, error);
    }
    if (expectation.command + 1 == request->commands) settle(link, replicas, events);
}

static void take_all(struct redis_link *link, unsigned replicas, uint64_t now_ms,
                     const struct redis_link_events *events) {
    for (;;) {
        void *reply = NULL;
        if (redisReaderGetReply(link->wire.context->reader, &reply) != REDIS_OK) {
            lose(link, now_ms, link->wire.context->reader->errstr, events);
            return;
        }
        if (reply == NULL) return;
        link->heard_ms = now_ms;
        bool is_expected = link->expected_count > 0;
        if (is_expected) take(link, reply, replicas, events);
        char text[160] = "an answer to nothing";
        if (!is_expected && ((redisReply *)reply)->str != NULL) {
            snprintf(text, sizeof text, "%s", ((redisReply *)reply)->str); /* why it hangs up */
        }
        freeReplyObject(reply);
        if (!is_expected) {
            lose(link, now_ms, text, events);
            return;
        }
    }
}

void redis_link_work(struct redis_link *link, bool can_read, bool can_write, unsigned replicas,
                     uint64_t now_ms, const struct redis_link_events *events) {
    enum redis_wire_state before = link->wire.state;
    bool is_there = redis_wire_work(&link->wire, can_read, can_write);
    if (link->wire.state != before) link->heard_ms = now_ms;
    if (link->wire.state == WIRE_READY && !link->wire.is_hopeless)
        take_all(link, replicas, now_ms, events);
    /* What came before the end was an answer all the same. */
    if (!is_there && link->wire.state != WIRE_CLOSED) lose(link, now_ms, link->wire.why, events);
}

void redis_link_check_time(struct redis_link *link, uint64_t now_ms,
                           const struct redis_link_events *events) {
    bool is_awaited = link->wire.state == WIRE_SHAKING_HANDS ||
                      (link->wire.state == WIRE_READY && link->expected_count > 0);
    uint64_t most_ms = is_awaited ? ANSWER_MS : CONNECT_MS;
    if (link->wire.state != WIRE_CONNECTING && !is_awaited) return;
    if (now_ms - link->heard_ms > most_ms)
        lose(link, now_ms, redis_wire_silence(&link->wire), events);
}
