/* module/once/claim_list.c - ONCE.CLAIMS: which claims there are, a few at a time.
 *
 * It is for operators: it shows neither tokens, with which a claim could be completed, nor
 * replies. */
#include "command/options.h"
#include "once/claims.h"
#include "once/listing.h"
#include "once/once.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/reply.h"

static const char *const states[] = {"running", "expired", "done", NULL};

static bool read_state(const redis_string *word, const char **out) {
    for (int i = 0; states[i] != NULL; i++) {
        if (!is_word(word, states[i])) continue;
        *out = states[i];
        return true;
    }
    return false;
}

/* NULL, or the error. */
static const char *read_options(redis_string **words, int count, struct listing *out) {
    for (int i = 0; i < count; i += 2) {
        bool is_state = is_word(words[i], "STATE");
        bool is_known = is_state || is_word(words[i], "MATCH") || is_word(words[i], "COUNT");
        if (i + 1 == count || !is_known) return ERROR_CLAIMS_SYNTAX;
        const char *problem = NULL;
        if (!is_state) {
            problem = scanning_take(&out->scanning, words[i], words[i + 1]);
        } else if (!read_state(words[i + 1], &out->state)) {
            problem = range_problem(&range_state, "STATE", words[i + 1]);
        }
        if (problem != NULL) return problem;
    }
    return NULL;
}

static bool show_claim(struct listing *listing, const struct record *record) {
    struct claim_facts facts = claim_facts_of((const struct claim *)record);
    bool is_running = facts.state == CLAIM_RUNNING && facts.until_ms > listing->now_ms;
    const char *state = states[is_running ? 0 : facts.state == CLAIM_RUNNING ? 1 : 2];
    if (record->due_ms <= listing->now_ms || (listing->state != NULL && listing->state != state) ||
        !scanning_matches(&listing->scanning, facts.id.data, facts.id.size))
        return false;
    uint64_t end_ms = is_running ? facts.until_ms : record->due_ms;
    redis.ReplyWithArray(listing->context, 4);
    redis.ReplyWithStringBuffer(listing->context, facts.id.data, facts.id.size);
    redis.ReplyWithCString(listing->context, state);
    (void)reply_count(listing->context, end_ms - listing->now_ms);
    redis.ReplyWithLongLong(listing->context,
                            facts.state == CLAIM_DONE ? (long long)facts.reply.size : -1);
    return true;
}

int once_list_claims(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    uint64_t cursor;
    struct listing listing = {.scanning = scanning_begin(), .context = context, .show = show_claim};
    const char *problem = parse_cursor(arguments[2], &cursor);
    if (problem == NULL) problem = read_options(arguments + 3, count - 3, &listing);
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    if (!once_open_to_read(context, arguments[1], &opened, &listing.table)) return REDIS_OK;
    listing_reply(&listing, listing.table != NULL ? &listing.table->claims.records : NULL, cursor);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
