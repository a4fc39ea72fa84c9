/* module/once/hold_list.c - ONCE.HOLDS: which holds are open, a few at a time. */
#include "command/options.h"
#include "once/holds.h"
#include "once/once.h"
#include "once/pattern.h"
#include "server/errors.h"
#include "server/reply.h"

/* What is asked for, and what has been found so far. */
struct listing {
    struct slice pattern;
    long long count;

    redis_context *context;
    const struct once *table;
    uint64_t now_ms;
    long long seen;
    long replied;
};

static bool read_options(redis_string **words, int count, struct listing *out) {
    for (int i = 0; i < count; i += 2) {
        if (i + 1 == count) return false;
        if (is_word(words[i], "MATCH")) {
            out->pattern = slice_of(words[i + 1]);
        } else if (!is_word(words[i], "COUNT") ||
                   redis.StringToLongLong(words[i + 1], &out->count) != REDIS_OK ||
                   out->count < 1) {
            return false;
        }
    }
    return true;
}

static void reply_period(const struct listing *listing, const struct hold_facts *facts) {
    char name[PERIOD_NAME_BYTES] = "total";
    int64_t start_ms = -1;
    if (facts->period_ms != 0) {
        period_name(facts->period_ms, name);
        start_ms = period_start(facts->period_ms, facts->wall_ms);
    }
    redis.ReplyWithCString(listing->context, name);
    redis.ReplyWithLongLong(listing->context, start_ms);
}

static void list_hold(void *context, struct record *record) {
    struct listing *listing = context;
    struct hold_facts facts = hold_facts_of((const struct hold *)record);
    const struct slice pattern = listing->pattern;
    listing->seen++;
    if (facts.state != HOLD_OPEN ||
        (pattern.data != NULL &&
         !pattern_matches(pattern.data, pattern.size, facts.id.data, facts.id.size)))
        return;
    redis.ReplyWithArray(listing->context, 7);
    redis.ReplyWithStringBuffer(listing->context, facts.id.data, facts.id.size);
    redis.ReplyWithStringBuffer(listing->context, facts.counter.data, facts.counter.size);
    redis.ReplyWithLongLong(listing->context, facts.amount);
    redis.ReplyWithLongLong(listing->context, facts.most);
    reply_period(listing, &facts);
    (void)reply_count(listing->context, hold_left_ms(&facts, listing->now_ms));
    listing->replied++;
}

static void count_hold(void *context, struct record *record) {
    (void)record;
    ((struct listing *)context)->seen++;
}

/* The cursor comes before the list, and is known after it: so what is listed is found twice. */
static uint64_t scan(uint64_t cursor, struct listing *listing, records_visitor *visit) {
    uint64_t most = (uint64_t)listing->count * 10; /* buckets: most may be empty */
    listing->seen = 0;
    do {
        cursor = records_scan(&listing->table->holds.records, cursor, visit, listing);
    } while (cursor != 0 && listing->seen < listing->count && --most > 0);
    return cursor;
}

int once_list_holds(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct listing listing = {.count = 10, .context = context};
    if (!parse_cursor(arguments[2], &cursor)) return reply_error(context, ERROR_CURSOR);
    if (!read_options(arguments + 3, count - 3, &listing))
        return reply_error(context, ERROR_SCAN_SYNTAX);
    struct opened opened;
    if (!once_open_to_read(context, arguments[1], &opened, &listing.table)) return REDIS_OK;
    redis.ReplyWithArray(context, 2);
    reply_cursor(context, listing.table != NULL ? scan(cursor, &listing, count_hold) : 0);
    redis.ReplyWithArray(context, -1);
    if (listing.table != NULL) {
        listing.now_ms = value_time(&listing.table->head);
        (void)scan(cursor, &listing, list_hold);
    }
    redis.ReplySetArrayLength(context, listing.replied);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
