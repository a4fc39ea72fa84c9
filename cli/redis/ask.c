/* ask.c - asks one server one question. */
#include "redis/ask.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "frame/clock.h"
#include "frame/interrupt.h"
#include "redis/wire.h"

/* How long one wait may be: an interrupt is looked at in between. */
enum { TICK_MS = 50 };

static bool put_question(struct redis_wire *wire, const struct redis_access *access,
                         const char *command, size_t *answers) {
    struct redis_text text = {0};
    *answers = 1 + redis_access_greet(access, false, &text);
    bool fits = !text.is_short_of_memory &&
                (text.size == 0 || redis_wire_put(wire, (lethe_bytes){text.data, text.size}));
    redis_text_free(&text);
    return fits && redisAppendCommand(wire->context, command) == REDIS_OK;
}

/* Takes answers that are there: the last one awaited, or an error before it. */
static redisReply *take_answer(struct redis_wire *wire, size_t *awaited) {
    for (;;) {
        void *taken = NULL;
        if (redisReaderGetReply(wire->context->reader, &taken) != REDIS_OK) {
            snprintf(wire->why, sizeof wire->why, "%s", wire->context->reader->errstr);
            return NULL;
        }
        redisReply *reply = taken;
        if (reply == NULL) return NULL;
        if (--*awaited == 0 || reply->type == REDIS_REPLY_ERROR) return reply;
        freeReplyObject(reply);
    }
}

/* Works until there is an answer, or there will be none. */
static redisReply *await(struct redis_wire *wire, size_t awaited, uint64_t limit_ms,
                         struct redis_ask_failure *failure) {
    uint64_t began = clock_ms();
    for (;;) {
        short writing = redis_wire_is_writing(wire) ? POLLOUT : 0;
        struct pollfd polled = {.fd = redis_wire_descriptor(wire),
                                .events = (short)(POLLIN | writing)};
        (void)poll(&polled, 1, TICK_MS);
        bool can_read = (polled.revents & (POLLIN | POLLHUP | POLLERR)) != 0;
        bool can_write = (polled.revents & (POLLOUT | POLLERR)) != 0;
        bool is_there = redis_wire_work(wire, can_read, can_write);
        redisReply *reply =
            wire->state == WIRE_READY && !wire->is_hopeless ? take_answer(wire, &awaited) : NULL;
        if (reply != NULL) return reply;
        if (!is_there || wire->context->reader->err != 0) {
            failure->kind = wire->is_hopeless ? ASK_HOPELESS : ASK_ABSENT;
            snprintf(failure->why, sizeof failure->why, "%s", wire->why);
            return NULL;
        }
        if (clock_ms() - began > limit_ms || interrupt_requested()) {
            failure->kind = ASK_SILENT;
            snprintf(failure->why, sizeof failure->why, "%s", redis_wire_silence(wire));
            return NULL;
        }
    }
}

redisReply *redis_ask(const struct redis_access *access, const struct redis_address *address,
                      const char *command, uint64_t limit_ms, struct redis_ask_failure *failure) {
    struct redis_wire wire;
    size_t awaited;
    redisReply *reply = NULL;
    *failure = (struct redis_ask_failure){.kind = ASK_ABSENT, .why = "not enough memory"};
    if (!redis_wire_open(&wire, address, access)) {
        snprintf(failure->why, sizeof failure->why, "%s", wire.why);
        return NULL;
    }
    if (put_question(&wire, access, command, &awaited))
        reply = await(&wire, awaited, limit_ms, failure);
    redis_wire_close(&wire);
    return reply;
}
