/* module/once/claim_list.c - ONCE.CLAIMS: which claims there are, a few at a time.
 *
 * It is for operators: it shows neither tokens, with which a claim could be completed, nor
 * replies. */
#include "command/options.h"
#include "once/claims.h"
#include "once/once.h"
#include "once/pattern.h"
#include "server/errors.h"
#include "server/reply.h"

/* What is asked for, and what has been found so far. */
struct listing {
    const char *pattern;
    size_t pattern_size;
    long long count;
    /* NULL: in any state. */
    const char *state;

    redis_context *context;
    uint64_t now_ms;
    long long seen;
    long replied;
};

static const char *const states[] = {"running", "expired", "done", NULL};

static bool read_state(const redis_string *word, const char **out) {
    for (int i = 0; states[i] != NULL; i++) {
        if (!is_word(word, states[i])) continue;
        *out = states[i];
        return true;
    }
    return false;
}

static bool read_options(redis_string **words, int count, struct listing *out) {
    for (int i = 0; i < count; i += 2) {
        if (i + 1 == count) return false;
        if (is_word(words[i], "MATCH")) {
            out->pattern = redis.StringPtrLen(words[i + 1], &out->pattern_size);
        } else if (is_word(words[i], "STATE")) {
            if (!read_state(words[i + 1], &out->state)) return false;
        } else if (!is_word(words[i], "COUNT") ||
                   redis.StringToLongLong(words[i + 1], &out->count) != REDIS_OK ||
                   out->count < 1) {
            return false;
        }
    }
    return true;
}

static void list_claim(void *context, struct record *record) {
    struct listing *listing = context;
    const struct claim *claim = (const struct claim *)record;
    struct claim_facts facts = claim_facts_of(claim);
    listing->seen++;
    bool is_running = facts.state == CLAIM_RUNNING && facts.until_ms > listing->now_ms;
    const char *state = states[is_running ? 0 : facts.state == CLAIM_RUNNING ? 1 : 2];
    if (claim->head.due_ms <= listing->now_ms ||
        (listing->state != NULL && listing->state != state) ||
        (listing->pattern != NULL &&
         !pattern_matches(listing->pattern, listing->pattern_size, facts.id.data, facts.id.size)))
        return;
    uint64_t end_ms = is_running ? facts.until_ms : claim->head.due_ms;
    redis.ReplyWithArray(listing->context, 4);
    redis.ReplyWithStringBuffer(listing->context, facts.id.data, facts.id.size);
    redis.ReplyWithCString(listing->context, state);
    (void)reply_count(listing->context, end_ms - listing->now_ms);
    redis.ReplyWithLongLong(listing->context,
                            facts.state == CLAIM_DONE ? (long long)facts.reply.size : -1);
    listing->replied++;
}

/* The cursor comes before the list, and is known after it: so what is listed is found twice. */
static uint64_t scan(const struct once *table, uint64_t cursor, struct listing *listing,
                     records_visitor *visit) {
    uint64_t most = (uint64_t)listing->count * 10; /* buckets: most may be empty */
    listing->seen = 0;
    do {
        cursor = records_scan(&table->claims.records, cursor, visit, listing);
    } while (cursor != 0 && listing->seen < listing->count && --most > 0);
    return cursor;
}

static void count_claim(void *context, struct record *record) {
    (void)record;
    ((struct listing *)context)->seen++;
}

int once_list_claims(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct listing listing = {.count = 10, .context = context};
    if (!parse_cursor(arguments[2], &cursor)) return reply_error(context, ERROR_CURSOR);
    if (!read_options(arguments + 3, count - 3, &listing))
        return reply_error(context, ERROR_CLAIMS_SYNTAX);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    redis.ReplyWithArray(context, 2);
    reply_cursor(context, table != NULL ? scan(table, cursor, &listing, count_claim) : 0);
    redis.ReplyWithArray(context, -1);
    if (table != NULL) {
        listing.now_ms = value_time(&table->head);
        (void)scan(table, cursor, &listing, list_claim);
    }
    redis.ReplySetArrayLength(context, listing.replied);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
