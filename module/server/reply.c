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

int reply_status(redis_context *context, lethe_status status) {
    switch (status) {
    case LETHE_EFULL:
        return reply_error(context, ERROR_FULL);
    case LETHE_ENOMEM:
        return reply_error(context, limits_have_refused() ? ERROR_NO_MEMORY_LEFT : ERROR_NO_MEMORY);
    case LETHE_EINVAL:
        return reply_error(context, ERROR_OPTION);
    case LETHE_EMISMATCH:
        return reply_error(context, ERROR_MISMATCH);
    default:
        return reply_error(context, ERROR_INTERNAL);
    }
}

int reply_error_of(redis_context *context, const struct value_type *type, const char *text) {
    char expanded[128];
    expand(text, type, expanded, sizeof expanded);
    return reply_error(context, expanded);
}
