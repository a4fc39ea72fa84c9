/* module/once/hold_list.c - ONCE.HOLDS: which holds are open, a few at a time. */
#include "once/holds.h"
#include "once/listing.h"
#include "once/once.h"
#include "server/reply.h"

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

static bool show_hold(struct listing *listing, const struct record *record) {
    struct hold_facts facts = hold_facts_of((const struct hold *)record);
    if (facts.state != HOLD_OPEN ||
        !scanning_matches(&listing->scanning, facts.id.data, facts.id.size))
        return false;
    redis.ReplyWithArray(listing->context, 7);
    redis.ReplyWithStringBuffer(listing->context, facts.id.data, facts.id.size);
    redis.ReplyWithStringBuffer(listing->context, facts.counter.data, facts.counter.size);
    redis.ReplyWithLongLong(listing->context, facts.amount);
    redis.ReplyWithLongLong(listing->context, facts.most);
    reply_period(listing, &facts);
    (void)reply_count(listing->context, hold_left_ms(&facts, listing->now_ms));
    return true;
}

int once_list_holds(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct listing listing = {.context = context, .show = show_hold};
    const char *problem = parse_cursor(arguments[2], &cursor);
    if (problem == NULL) problem = scanning_read(arguments + 3, count - 3, &listing.scanning);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    if (!once_open_to_read(context, arguments[1], &opened, &listing.table)) return REDIS_OK;
    listing_reply(&listing, listing.table != NULL ? &listing.table->holds.records : NULL, cursor);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
