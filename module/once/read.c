/* module/once/read.c - the commands that only read: GET, MGET, SEEN, INFO. They change nothing,
 * not even the clock. scan.c has SCAN and TOP. */
#include "command/command.h"
#include "once/once.h"
#include "server/reply.h"
#include "server/scratch.h"
#include "types.h"

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

int once_seen(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    struct items ids = {.count = (size_t)count - 2};
    if (table != NULL) {
        items_hash(&ids, table->seed, arguments + 2, ids.count);
        (void)lethe_window_test_batch(table->window, ids.hashes, ids.count,
                                      value_time(&table->head), ids.answers);
    }
    redis.ReplyWithArray(context, (long)ids.count);
    for (size_t i = 0; i < ids.count; i++)
        redis.ReplyWithLongLong(context, table != NULL && ids.answers[i] == LETHE_ANSWER_DUPLICATE);
    items_give(&ids);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- INFO */

static void report_strain(struct info *info, uint32_t strain) {
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
    lethe_window_stats stats = LETHE_INIT(lethe_window_stats);
    (void)lethe_window_info(table->window, value_time(&table->head), &stats);
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
    report_strain(info, stats.strain);
    info_number(info, "may_be_evicted", may_be_evicted);
    info_word(info, "kind", table->is_forgetful ? "forgetful" : "quotient");
}

const struct info_field once_info_fields[] = {
    {"window_ms", "The retry window W, in milliseconds"},
    {"clock_ms", "The table's own time"},
    {"oldest_age_ms", "The age of the oldest id, at most; 0 if there is none"},
    {"period_ms", "The length of a period: ids are forgotten once per period"},
    {"slack", "How much longer than W an id may be remembered, as a share of W"},
    {"error_target", "The error that was asked for"},
    {"error_estimate", "The probability now that a fresh id is taken for a duplicate"},
    {"ids", "The number of ids that are remembered"},
    {"capacity", "The number of ids that its newest part has room for"},
    {"fresh", "The number of ids so far that were fresh"},
    {"duplicates", "The number of ids so far that were duplicates"},
    {"refused", "The number of ids so far that were refused for lack of room"},
    {"counters", "The number of counters"},
    {"memory_bytes", "The memory of the whole table"},
    {"window_bytes", "The memory of the ids"},
    {"max_memory_bytes", "The cap on the memory of the ids; 0 for no cap"},
    {"parts", "The number of parts that a lookup visits"},
    {"strain", "Promises that can't be kept at the moment: error, memory, clock; empty if all are "
               "kept"},
    {"may_be_evicted",
     "1 if the server's maxmemory-policy may evict the table, and forget its ids"},
    {"kind", "How ids are remembered: quotient or forgetful"},
    {NULL, NULL},
};
