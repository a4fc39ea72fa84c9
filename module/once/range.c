/* module/once/range.c - ONCE.RANGE: the buckets of a counter in a span of time, oldest first.
 *
 * A bucket is named by the time at which its period begins, so the next call's beginning is a
 * cursor: it stays valid whatever is added or dropped meanwhile, and on every server. */
#include "command/options.h"
#include "once/once.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/reply.h"

enum { RANGE_USUAL = 1000 };

struct span {
    int64_t from_ms, to_ms;
    uint64_t period_ms;
    int64_t count;
};

/* A time, or - or + for the beginning or the end of all times. The error, or NULL. */
static const char *parse_time(const char *name, const redis_string *word, int64_t *out) {
    *out = is_word(word, "-") ? 0 : WALL_MOST_MS;
    if (is_word(word, "-") || is_word(word, "+")) return NULL;
    return range_number(&range_time, name, word, out);
}

/* The error, or NULL. */
static const char *parse_range(redis_string **words, int count, struct span *out) {
    *out = (struct span){.count = RANGE_USUAL};
    const char *problem = parse_time("from", words[0], &out->from_ms);
    if (problem == NULL) problem = parse_time("to", words[1], &out->to_ms);
    if (problem != NULL) return problem;
    for (int i = 2; i < count; i += 2) {
        if (i + 1 == count) return ERROR_RANGE_SYNTAX;
        if (is_word(words[i], "PER")) {
            if (!period_parse(words[i + 1], &out->period_ms))
                return range_problem(&range_period, "PER", words[i + 1]);
        } else if (is_word(words[i], "COUNT")) {
            problem = range_number(&range_buckets, "COUNT", words[i + 1], &out->count);
            if (problem != NULL) return problem;
        } else {
            return ERROR_RANGE_SYNTAX;
        }
    }
    return out->period_ms != 0 ? NULL : ERROR_RANGE_SYNTAX;
}

static void reply_buckets(redis_context *context, const struct buckets *buckets,
                          const struct span *span) {
    static const struct buckets none;
    if (buckets == NULL) buckets = &none;
    uint32_t first = buckets_place(buckets, span->from_ms), end = buckets_count(buckets);
    if (span->to_ms < INT64_MAX) end = buckets_place(buckets, span->to_ms + 1);
    uint32_t last = end;
    if (first > end) first = last = end;
    if (last - first > span->count) last = first + (uint32_t)span->count;
    redis.ReplyWithArray(context, 2);
    redis.ReplyWithLongLong(context, last < end ? buckets_at(buckets, last)->start_ms : 0);
    redis.ReplyWithArray(context, 2 * (long)(last - first));
    for (uint32_t i = first; i < last; i++) {
        redis.ReplyWithLongLong(context, buckets_at(buckets, i)->start_ms);
        redis.ReplyWithLongLong(context, buckets_at(buckets, i)->value);
    }
}

int once_range(redis_context *context, redis_string **arguments, int count) {
    if (count < 7) return redis.WrongArity(context);
    struct span span;
    const char *problem = parse_range(arguments + 3, count - 3, &span);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    const struct buckets *buckets = NULL;
    int resolution = table != NULL ? resolutions_find(&table->resolutions, span.period_ms) : 0;
    if (table != NULL && resolution >= 0) {
        size_t size;
        const char *name = redis.StringPtrLen(arguments[2], &size);
        const struct counter *counter = counters_find(&table->counters, name, size);
        if (counter != NULL) buckets = counters_buckets(counter, (uint32_t)resolution);
    }
    if (resolution < 0) {
        reply_error(context, ERROR_NOT_METERED);
    } else {
        reply_buckets(context, buckets, &span);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
