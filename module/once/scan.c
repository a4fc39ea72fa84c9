/* module/once/scan.c - the commands that list counters: SCAN, a few at a time, and TOP, the
 * largest. */
#include <stdlib.h>
#include <string.h>

#include "once/listing.h"
#include "once/once.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/reply.h"

struct found {
    const struct counter **counters;
    size_t count, capacity;
};

/* --- SCAN */

static void collect(void *context, struct counter *counter) {
    struct found *found = context;
    if (found->count == found->capacity) {
        found->capacity = 2 * found->capacity + 16;
        found->counters =
            redis.Realloc(found->counters, found->capacity * sizeof(const struct counter *));
    }
    found->counters[found->count++] = counter;
}

static void reply_found(redis_context *context, const struct found *found,
                        const struct scanning *scanning) {
    long replied = 0;
    redis.ReplyWithArray(context, -1);
    for (size_t i = 0; i < found->count; i++) {
        const struct counter *counter = found->counters[i];
        if (scanning != NULL && !scanning_matches(scanning, counter->name, counter->size)) continue;
        redis.ReplyWithStringBuffer(context, counter->name, counter->size);
        redis.ReplyWithLongLong(context, counter->value);
        replied += 2;
    }
    redis.ReplySetArrayLength(context, replied);
}

int once_scan(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct scanning scanning;
    const char *problem = parse_cursor(arguments[2], &cursor);
    if (problem == NULL) problem = scanning_read(arguments + 3, count - 3, &scanning);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    struct found found = {0};
    if (table == NULL) {
        cursor = 0;
    } else {
        uint64_t most = scanning_places(&scanning);
        do {
            cursor = counters_scan(&table->counters, cursor, collect, &found);
        } while (cursor != 0 && found.count < (size_t)scanning.count && --most > 0);
    }
    redis.ReplyWithArray(context, 2);
    reply_cursor(context, cursor);
    reply_found(context, &found, &scanning);
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
    int64_t wanted;
    if (count != 3) return redis.WrongArity(context);
    const char *problem = range_number(&range_top, "count", arguments[2], &wanted);
    if (problem != NULL) return reply_error(context, problem);
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
