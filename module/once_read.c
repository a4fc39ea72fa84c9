/* module/once_read.c - the commands that only look: GET, MGET, SCAN, TOP, INFO. They change nothing, not even
 * the clock. */
#include <stdlib.h>
#include <string.h>

#include "once.h"

static void reply_counter(redis_context *context, const struct once *table,
                          const redis_string *name) {
    size_t size;
    const char *data = redis.StringPtrLen(name, &size);
    const struct counter *counter =
        table != NULL ? counters_find(&table->counters, data, size) : NULL;
    if (counter == NULL) {
        redis.ReplyWithNull(context);
    } else {
        redis.ReplyWithLongLong(context, counter->value);
    }
}

int once_get(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    reply_counter(context, table, arguments[2]);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

int once_mget(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    redis.ReplyWithArray(context, count - 2);
    for (int i = 2; i < count; i++)
        reply_counter(context, table, arguments[i]);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- SCAN */

struct found {
    const struct counter **counters;
    size_t count, capacity;
};

static void collect(void *context, struct counter *counter) {
    struct found *found = context;
    if (found->count == found->capacity) {
        found->capacity = 2 * found->capacity + 16;
        found->counters =
            redis.Realloc(found->counters, found->capacity * sizeof(const struct counter *));
    }
    found->counters[found->count++] = counter;
}

/* Patterns as everywhere in the server: the two wild cards, sets of characters, and \ before any of them.
 * Names may hold any byte, a zero too. */
static bool matches_set(const char **pattern, const char *end, char letter) {
    const char *at = *pattern + 1;
    bool is_negated = at < end && *at == '^', is_in = false;
    if (is_negated) at++;
    for (; at < end && *at != ']'; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            is_in = is_in || *at == letter;
        } else if (at + 2 < end && at[1] == '-' && at[2] != ']') {
            char low = at[0] < at[2] ? at[0] : at[2], high = at[0] < at[2] ? at[2] : at[0];
            is_in = is_in || (letter >= low && letter <= high);
            at += 2;
        } else {
            is_in = is_in || *at == letter;
        }
    }
    *pattern = at < end ? at + 1 : at;
    return is_in != is_negated;
}

static bool matches(const char *pattern, size_t pattern_size, const char *text, size_t size) {
    const char *end = pattern + pattern_size, *text_end = text + size;
    const char *star = NULL,
               *star_text = NULL; /* to go back to: the last * and what it has taken */
    for (;;) {
        bool is_good;
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            star_text = text;
            continue;
        }
        if (text == text_end) {
            if (pattern == end) return true;
            return false;
        }
        if (pattern == end) {
            is_good = false;
        } else if (*pattern == '?') {
            pattern++;
            is_good = true;
        } else if (*pattern == '[') {
            is_good = matches_set(&pattern, end, *text);
        } else {
            if (*pattern == '\\' && pattern + 1 < end) pattern++;
            is_good = *pattern++ == *text;
        }
        if (is_good) {
            text++;
        } else if (star != NULL && star_text < text_end) {
            pattern = star;
            text = ++star_text;
        } else {
            return false;
        }
    }
}

struct scan_options {
    const char *pattern;
    size_t pattern_size;
    long long count;
};

static bool parse_scan(redis_context *context, redis_string **arguments, int count,
                       uint64_t *cursor, struct scan_options *options) {
    size_t size;
    const char *text = redis.StringPtrLen(arguments[2], &size);
    char copy[24] = {0}, *end = NULL;
    *options = (struct scan_options){.count = 10};
    if (size > 0 && size < sizeof copy && text[0] >= '0' && text[0] <= '9') {
        memcpy(copy, text, size);
        *cursor = strtoull(copy, &end, 10);
    }
    if (end == NULL || *end != '\0') {
        reply_error(context, "ERR invalid cursor");
        return false;
    }
    for (int i = 3; i < count; i += 2) {
        if (i + 1 < count && is_word(arguments[i], "MATCH")) {
            options->pattern = redis.StringPtrLen(arguments[i + 1], &options->pattern_size);
        } else if (i + 1 >= count || !is_word(arguments[i], "COUNT") ||
                   redis.StringToLongLong(arguments[i + 1], &options->count) != REDIS_OK ||
                   options->count < 1) {
            reply_error(context, "ERR syntax error: MATCH pattern and COUNT n are the options");
            return false;
        }
    }
    return true;
}

static void reply_found(redis_context *context, const struct found *found,
                        const struct scan_options *options) {
    long replied = 0;
    redis.ReplyWithArray(context, -1);
    for (size_t i = 0; i < found->count; i++) {
        const struct counter *counter = found->counters[i];
        if (options != NULL && options->pattern != NULL &&
            !matches(options->pattern, options->pattern_size, counter->name, counter->size))
            continue;
        redis.ReplyWithStringBuffer(context, counter->name, counter->size);
        redis.ReplyWithLongLong(context, counter->value);
        replied += 2;
    }
    redis.ReplySetArrayLength(context, replied);
}

int once_scan(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct scan_options options;
    if (!parse_scan(context, arguments, count, &cursor, &options)) return REDIS_OK;
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    struct found found = {0};
    if (table == NULL) {
        cursor = 0;
    } else {
        uint64_t most = (uint64_t)options.count * 10; /* buckets: most may be empty */
        do {
            cursor = counters_scan(&table->counters, cursor, collect, &found);
        } while (cursor != 0 && found.count < (size_t)options.count && --most > 0);
    }
    redis_string *text = redis.CreateStringPrintf(context, "%llu", (unsigned long long)cursor);
    redis.ReplyWithArray(context, 2);
    redis.ReplyWithCString(context, redis.StringPtrLen(text, NULL));
    reply_found(context, &found, &options);
    redis.FreeString(context, text);
    redis.Free(found.counters);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- TOP */

/* Larger values first, and of equal ones the names in their order. */
static int compare(const struct counter *a, const struct counter *b) {
    if (a->value != b->value) return a->value > b->value ? -1 : 1;
    uint32_t size = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->name, b->name, size);
    return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_places(const void *a, const void *b) {
    return compare(*(const struct counter *const *)a, *(const struct counter *const *)b);
}

/* A heap of the best so far, the least of them at its root. */
static void sift_down(const struct counter **heap, size_t count, size_t at) {
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        if (child + 1 < count && compare(heap[child + 1], heap[child]) > 0) child++;
        if (compare(heap[child], heap[at]) <= 0) return;
        const struct counter *moved = heap[child];
        heap[child] = heap[at];
        heap[at] = moved;
        at = child;
    }
}

static void consider(void *context, struct counter *counter) {
    struct found *best = context;
    if (best->count < best->capacity) {
        best->counters[best->count++] = counter;
        if (best->count == best->capacity) {
            for (size_t i = best->count / 2; i-- > 0;)
                sift_down(best->counters, best->count, i);
        }
    } else if (compare(counter, best->counters[0]) < 0) {
        best->counters[0] = counter;
        sift_down(best->counters, best->count, 0);
    }
}

int once_top(redis_context *context, redis_string **arguments, int count) {
    long long wanted;
    if (count != 3) return redis.WrongArity(context);
    if (redis.StringToLongLong(arguments[2], &wanted) != REDIS_OK || wanted < 0)
        return reply_error(context, "ERR the number of counters is not a number, or negative");
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    struct found best = {0};
    if (table != NULL && wanted > 0 && table->counters.count > 0) {
        uint64_t most = table->counters.count;
        best.capacity = (uint64_t)wanted < most ? (size_t)wanted : (size_t)most;
        best.counters = redis.Alloc(best.capacity * sizeof(const struct counter *));
        counters_each(&table->counters, consider, &best);
        qsort(best.counters, best.count, sizeof(const struct counter *), compare_places);
    }
    reply_found(context, &best, NULL);
    redis.Free(best.counters);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- INFO */

static void tell_strain(struct info *info, uint32_t strain) {
    long count = 0;
    info_name(info, "strain");
    redis.ReplyWithArray(info->context, -1);
    if ((strain & LETHE_STRAIN_ERROR) != 0 && ++count)
        redis.ReplyWithCString(info->context, "error");
    if ((strain & LETHE_STRAIN_MEMORY) != 0 && ++count)
        redis.ReplyWithCString(info->context, "memory");
    if ((strain & LETHE_STRAIN_CLOCK) != 0 && ++count)
        redis.ReplyWithCString(info->context, "clock");
    redis.ReplySetArrayLength(info->context, count);
}

void once_info(struct info *info, const void *value) {
    const struct once *table = value;
    lethe_window_stats stats = lethe_window_info(table->window, value_time(&table->head));
    size_t memory = once_type.value_bytes + once_type.memory(table);
    bool may_be_evicted = (redis.GetContextFlags(info->context) & REDIS_FLAG_EVICT) != 0;
    info_number(info, "window_ms", stats.window_ms);
    info_number(info, "clock_ms", table->head.clock_ms);
    info_number(info, "oldest_age_ms", stats.oldest_age_ms);
    info_number(info, "period_ms", stats.period_ms);
    info_fraction(info, "slack", stats.slack);
    info_fraction(info, "error_target", stats.error_target);
    info_fraction(info, "error_estimate", stats.error_estimate);
    info_number(info, "ids", stats.ids);
    info_number(info, "capacity", stats.capacity);
    info_number(info, "fresh", stats.fresh);
    info_number(info, "duplicates", stats.duplicates);
    info_number(info, "refused", stats.refused);
    info_number(info, "counters", table->counters.count);
    info_number(info, "memory_bytes", memory);
    info_number(info, "window_bytes", stats.memory_bytes);
    info_number(info, "max_memory_bytes", stats.max_memory_bytes);
    info_number(info, "parts", stats.parts);
    tell_strain(info, stats.strain);
    info_number(info, "may_be_evicted", may_be_evicted);
}
