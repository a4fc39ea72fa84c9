/* module/once/range.c - ONCE.RANGE: the buckets of a counter in a span of time, oldest first.
 *
 * A bucket is named by the time at which its period begins, so the next call's beginning is a
 * cursor: it stays valid whatever is added or dropped meanwhile, and on every server. */
#include "command/options.h"
#include "once/once.h"
#include "server/errors.h"
#include "server/reply.h"

enum { RANGE_USUAL = 1000 };

struct range {
    int64_t from_ms, to_ms;
    uint64_t period_ms, count;
};

/* A time, or - or + for the beginning or the end of all times. */
static bool parse_time(const redis_string *word, int64_t *out) {
    uint64_t number = WALL_MOST_MS;
    *out = 0;
    if (is_word(word, "-")) return true;
    if (!is_word(word, "+") && !parse_number(word, 0, INT64_MAX, &number)) return false;
    *out = (int64_t)number;
    return true;
}

/* The error, or NULL. */
static const char *parse_range(redis_string **words, int count, struct range *out) {
    *out = (struct range){.count = RANGE_USUAL};
    if (!parse_time(words[0], &out->from_ms) || !parse_time(words[1], &out->to_ms))
        return ERROR_TIME;
    for (int i = 2; i < count; i += 2) {
        if (i + 1 == count) return ERROR_RANGE_SYNTAX;
        if (is_word(words[i], "PER")) {
            if (!period_parse(words[i + 1], &out->period_ms)) return ERROR_PERIOD;
        } else if (!is_word(words[i], "COUNT") ||
                   !parse_number(words[i + 1], 1, RESOLUTION_KEEP_MOST, &out->count)) {
            return ERROR_RANGE_SYNTAX;
        }
    }
    return out->period_ms != 0 ? NULL : ERROR_RANGE_SYNTAX;
}

static void reply_buckets(redis_context *context, const struct buckets *buckets,
                          const struct range *range) {
    static const struct buckets none;
    if (buckets == NULL) buckets = &none;
    uint32_t first = buckets_place(buckets, range->from_ms), end = buckets_count(buckets);
    if (range->to_ms < INT64_MAX) end = buckets_place(buckets, range->to_ms + 1);
    uint32_t last = end;
    if (first > end) first = last = end;
    if (last - first > range->count) last = first + (uint32_t)range->count;
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
    struct range range;
    const char *problem = parse_range(arguments + 3, count - 3, &range);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    const struct buckets *buckets = NULL;
    int resolution = table != NULL ? resolutions_find(&table->resolutions, range.period_ms) : 0;
    if (table != NULL && resolution >= 0) {
        size_t size;
        const char *name = redis.StringPtrLen(arguments[2], &size);
        const struct counter *counter = counters_find(&table->counters, name, size);
        if (counter != NULL) buckets = counters_buckets(counter, (uint32_t)resolution);
    }
    if (resolution < 0) {
        reply_error(context, ERROR_NOT_METERED);
    } else {
        reply_buckets(context, buckets, &range);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
