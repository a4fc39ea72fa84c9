/* ask.h - one question to one server, over a connection of its own, and the wait for the answer. */
#ifndef LETHE_CLI_REDIS_ASK_H
#define LETHE_CLI_REDIS_ASK_H

#include <hiredis/hiredis.h>
#include <stdint.h>

#include "redis/access.h"

struct redis_ask_failure {
    enum {
        ASK_ABSENT,  /* nobody takes the connection, or it was closed again */
        ASK_SILENT,  /* no answer in time */
        ASK_HOPELESS /* it will be the same again */
    } kind;
    char why[REDIS_WHY_BYTES];
};

/* Connects, says who we are, and asks: a command of one or more words between spaces. Returns the
 * answer, or the error with which the server received us; the caller frees it. NULL: there was no
 * answer within limit_ms, and failure says why. Ends early when an interrupt is requested. */
redisReply *redis_ask(const struct redis_access *access, const struct redis_address *address,
                      const char *command, uint64_t limit_ms, struct redis_ask_failure *failure);

#endif
