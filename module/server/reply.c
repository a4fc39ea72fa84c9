/* module/server/reply.c - replies that several commands share. */
#include "server/reply.h"

#include "command/command.h"
#include "server/errors.h"
#include "server/limits.h"
#include "value/value.h"

int reply_error(redis_context *context, const char *text) {
    return redis.ReplyWithError(context, text);
}

int reply_count(redis_context *context, uint64_t count) {
    return redis.ReplyWithLongLong(context, count < INT64_MAX ? (long long)count : INT64_MAX);
}

const char *error_of_status(lethe_status status) {
    switch (status) {
    case LETHE_EFULL:
        return ERROR_FULL;
    case LETHE_ENOMEM:
        return limits_have_refused() ? ERROR_NO_MEMORY_LEFT : ERROR_NO_MEMORY;
    case LETHE_EINVAL:
        return ERROR_OPTION;
    case LETHE_EMISMATCH:
        return ERROR_MISMATCH;
    default:
        return ERROR_INTERNAL;
    }
}

int reply_status(redis_context *context, lethe_status status) {
    return reply_error(context, error_of_status(status));
}

int reply_error_of(redis_context *context, const struct value_type *type, const char *text) {
    char expanded[128];
    expand(text, type, expanded, sizeof expanded);
    return reply_error(context, expanded);
}
