/* module/once/read.c - the commands that only read: GET, MGET, SEEN, INFO. They change nothing,
 * not even the clock. scan.c has SCAN and TOP. */
#include "command/info.h"
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
        redis.ReplyWithBool(context, table != NULL && ids.answers[i] == LETHE_ANSWER_DUPLICATE);
    items_give(&ids);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

/* --- INFO */

struct facts {
    lethe_window_stats stats;
    uint64_t clock_ms, counters, memory_bytes, buckets;
    uint64_t holds_open, holds_ended, holds_forced, holds_bytes;
    uint64_t claims_running, claims_done, claims_bytes, replies, reply_bytes, replies_dropped;
    uint32_t may_be_evicted;
    const char *kind, *per;
    char per_text[RESOLUTIONS_TEXT_BYTES];
};
INFO_FACTS_FIT(struct facts);

static void gather_claims(const struct once *table, struct facts *out) {
    const struct claims *claims = &table->claims;
    out->claims_running = claims->running;
    out->claims_done = records_count(&claims->records) - claims->running;
    out->claims_bytes = claims_section.memory(table);
    out->replies = claims->replies;
    out->reply_bytes = claims->reply_bytes;
    out->replies_dropped = claims->dropped;
}

static void gather_holds(const struct once *table, struct facts *out) {
    const struct holds *holds = &table->holds;
    out->holds_open = holds->open;
    out->holds_ended = records_count(&holds->records) - holds->open;
    out->holds_forced = holds->forced;
    out->holds_bytes = holds_section.memory(table);
}

void once_gather_facts(redis_context *context, const void *value, void *facts) {
    const struct once *table = value;
    struct facts *out = facts;
    bool may_be_evicted = (redis.GetContextFlags(context) & REDIS_FLAG_EVICT) != 0;
    *out = (struct facts){.stats = LETHE_INIT(lethe_window_stats),
                          .clock_ms = value_time(&table->head),
                          .counters = table->counters.count,
                          .memory_bytes = once_type.value_bytes + once_type.memory(table),
                          .may_be_evicted = may_be_evicted,
                          .kind = table->is_forgetful ? "forgetful" : "quotient",
                          .buckets = table->counters.periods,
                          .per = out->per_text};
    gather_claims(table, out);
    gather_holds(table, out);
    resolutions_text(&table->resolutions, out->per_text);
    (void)lethe_window_info(table->window, value_time(&table->head), &out->stats);
}

const struct info_field once_info_fields[] = {
    INFO_ROW("window_ms", stats.window_ms, "The retry window W, in milliseconds"),
    INFO_ROW("clock_ms", clock_ms, "The table's own time"),
    INFO_ROW("oldest_age_ms", stats.oldest_age_ms,
             "The age of the oldest id, at most; 0 if there is none"),
    INFO_ROW("period_ms", stats.period_ms,
             "The length of a period: ids are forgotten once per period"),
    INFO_ROW("slack", stats.slack,
             "How much longer than W an id may be remembered, as a share of W"),
    INFO_ROW("error_target", stats.error_target, "The error that was asked for"),
    INFO_ROW("error_estimate", stats.error_estimate,
             "The probability now that a fresh id is taken for a duplicate"),
    INFO_ROW("ids", stats.ids, "The number of ids that are remembered"),
    INFO_ROW("capacity", stats.capacity, "The number of ids that its newest part has room for"),
    INFO_ROW("fresh", stats.fresh, "The number of ids so far that were fresh"),
    INFO_ROW("duplicates", stats.duplicates, "The number of ids so far that were duplicates"),
    INFO_ROW("refused", stats.refused,
             "The number of ids so far that were refused for lack of room"),
    INFO_ROW("counters", counters, "The number of counters"),
    INFO_ROW("memory_bytes", memory_bytes, "The memory of the whole table"),
    INFO_ROW("window_bytes", stats.memory_bytes, "The memory of the ids"),
    INFO_ROW("max_memory_bytes", stats.max_memory_bytes,
             "The cap on the memory of the ids; 0 for no cap"),
    INFO_ROW("parts", stats.parts, "The number of parts that a lookup visits"),
    INFO_ROW_OF_STRAIN(
        stats.strain,
        "Promises that can't be kept at the moment: error, memory, clock; empty if all are "
        "kept"),
    INFO_ROW("may_be_evicted", may_be_evicted,
             "1 if the server's maxmemory-policy may evict the table, and forget its ids"),
    INFO_ROW("kind", kind, "How ids are remembered: quotient or forgetful"),
    INFO_ROW("per", per,
             "Per which periods the table also counts, each with its KEEP, as in "
             "hour:48,month:100000; none if it does not"),
    INFO_ROW("buckets", buckets, "The number of buckets, of all counters and periods"),
    INFO_ROW("claims_running", claims_running,
             "The number of claims that are not done, those whose lease is over included; and of "
             "those that are over, until this server has given back their memory"),
    INFO_ROW(
        "claims_done", claims_done,
        "The number of claims that are done; and of those that are over, until this server has "
        "given back their memory"),
    INFO_ROW("claims_bytes", claims_bytes, "The memory of the claims and their replies"),
    INFO_ROW("replies", replies, "The number of replies that are kept, without empty ones"),
    INFO_ROW("reply_bytes", reply_bytes, "The bytes of these replies"),
    INFO_ROW("replies_dropped", replies_dropped,
             "The number of replies that were dropped or not kept, since the table was made or "
             "loaded here"),
    INFO_ROW("holds_open", holds_open,
             "The number of holds that are neither settled nor released, and whose lease has not "
             "ended"),
    INFO_ROW("holds_ended", holds_ended,
             "The number of holds whose end is remembered; and of those that are over, until this "
             "server has given back their memory"),
    INFO_ROW("holds_forced", holds_forced,
             "The number of times so far that SETTLE with FORCE has passed a limit"),
    INFO_ROW("holds_bytes", holds_bytes, "The memory of the holds"),
    {.name = NULL},
};
