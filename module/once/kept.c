/* module/once/kept.c - replies of commands, kept and repeated.
 *
 * IDEA    A reply is kept as the server would send it in version 2 of its protocol: simple strings,
 *         errors, integers, strings, nil, and arrays of these. Everybody gets the same reply, the
 *         first caller too, whatever version of the protocol he speaks.
 * LIMIT   Arrays may be nested 8 deep. What is deeper is not kept. */
#include "once/kept.h"

#include <string.h>

enum { DEEPEST = 8 };

struct parser {
    const char *at, *end;
    /* NULL: it is only checked. */
    redis_context *context;
};

/* Up to the end of the line, which must be there. */
static bool read_line(struct parser *parser, struct slice *out) {
    size_t left = (size_t)(parser->end - parser->at);
    const char *end = left > 0 ? memchr(parser->at, '\r', left) : NULL;
    if (end == NULL || parser->end - end < 2 || end[1] != '\n') return false;
    *out = (struct slice){parser->at, (size_t)(end - parser->at)};
    parser->at = end + 2;
    return true;
}

static bool is_text(struct slice line) {
    for (size_t i = 0; i < line.size; i++) {
        if ((unsigned char)line.data[i] < ' ') return false;
    }
    return true;
}

static bool read_number(struct slice line, int64_t *out) {
    bool is_negative = line.size > 0 && line.data[0] == '-';
    size_t first = is_negative ? 1 : 0;
    int64_t number = 0;
    if (line.size == first || line.size > 20) return false;
    for (size_t i = first; i < line.size; i++) {
        int digit = line.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number))
            return false;
    }
    /* Counted downwards, since the least number has no counterpart. */
    if (!is_negative && number == INT64_MIN) return false;
    *out = is_negative ? number : -number;
    return true;
}

static void reply_text(redis_context *context, char type, struct slice line) {
    char *text = redis.Alloc(line.size + 1);
    memcpy(text, line.data, line.size);
    text[line.size] = '\0';
    if (type == '+') {
        redis.ReplyWithSimpleString(context, text);
    } else {
        redis.ReplyWithError(context, text);
    }
    redis.Free(text);
}

static bool walk_string(struct parser *parser, int64_t size) {
    size_t left = (size_t)(parser->end - parser->at);
    if (size < 0 || left < 2 || (uint64_t)size > left - 2 ||
        memcmp(parser->at + size, "\r\n", 2) != 0)
        return false;
    if (parser->context != NULL)
        redis.ReplyWithStringBuffer(parser->context, parser->at, (size_t)size);
    parser->at += size + 2;
    return true;
}

static bool walk(struct parser *parser, int depth);

static bool walk_array(struct parser *parser, int64_t count, int depth) {
    if (count < 0 || count > parser->end - parser->at || depth == DEEPEST) return false;
    if (parser->context != NULL) redis.ReplyWithArray(parser->context, (long)count);
    for (int64_t i = 0; i < count; i++) {
        if (!walk(parser, depth + 1)) return false;
    }
    return true;
}

/* One reply, with all that is in it. */
// NOLINTNEXTLINE(misc-no-recursion): it ends at DEEPEST
static bool walk(struct parser *parser, int depth) {
    if (parser->at == parser->end) return false;
    char type = *parser->at++;
    struct slice line;
    if (!read_line(parser, &line)) return false;
    if (type == '+' || type == '-') {
        if (!is_text(line)) return false;
        if (parser->context != NULL) reply_text(parser->context, type, line);
        return true;
    }
    int64_t number;
    if (!read_number(line, &number)) return false;
    if (type == ':') {
        if (parser->context != NULL) redis.ReplyWithLongLong(parser->context, number);
        return true;
    }
    if (type != '$' && type != '*') return false;
    if (number == -1) {
        if (parser->context != NULL) redis.ReplyWithNull(parser->context);
        return true;
    }
    return type == '$' ? walk_string(parser, number) : walk_array(parser, number, depth);
}

bool kept_is_valid(struct slice kept) {
    struct parser parser = {kept.data, kept.data + kept.size, NULL};
    return kept.size > 0 && walk(&parser, 0) && parser.at == parser.end;
}

int kept_reply(redis_context *context, struct slice kept) {
    struct parser parser = {kept.data, kept.data + kept.size, context};
    (void)walk(&parser, 0);
    return REDIS_OK;
}
