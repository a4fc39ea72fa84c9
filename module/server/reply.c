/* module/server/reply.c - replies that several commands share. */
#include "server/reply.h"

#include <stdio.h>
#include <stdlib.h>

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

void fraction_text(double value, char text[FRACTION_BYTES]) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, FRACTION_BYTES, "%.*g", digits, value);
        if (strtod(text, NULL) == value) return;
    }
}

/* A server prints a double with 17 digits, some versions do, and a long double with 17 places after
 * the point, of which it leaves out zeros at the end. So a long double is sent wherever that prints
 * what was given. */
int reply_fraction(redis_context *context, double value) {
    char text[FRACTION_BYTES], printed[FRACTION_BYTES];
    fraction_text(value, text);
    if ((redis.GetContextFlags(context) & REDIS_FLAG_RESP3) == 0)
        return redis.ReplyWithCString(context, text);
    long double wanted = strtold(text, NULL);
    int size = snprintf(printed, sizeof printed, "%.17Lf", wanted);
    bool is_printed = size > 0 && (size_t)size < sizeof printed && strtod(printed, NULL) == value;
    return is_printed ? redis.ReplyWithLongDouble(context, wanted)
                      : redis.ReplyWithDouble(context, value);
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
