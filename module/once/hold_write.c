/* module/once/hold_write.c - the commands that change holds: HOLD, SETTLE, RELEASE.
 *
 * ORDER   Arguments are read before anything is opened. A hold that is there is answered first of
 *         all: whoever repeats a command learns what became of it, also while memory is short. Only
 *         then is memory looked at, for a new hold alone.
 * I1      SETTLE and RELEASE are never refused for memory: they end something.
 * I2      SETTLE of an open hold belongs to the bucket of the hold, whenever it comes; only what it
 *         takes beyond the hold's amount is judged, by the limit that the hold was made with. If
 *         KEEP has dropped that bucket, it goes to the total alone, and nothing is left beyond.
 *         After the end of its lease the hold keeps nothing free, and SETTLE takes anew: at
 *         present.
 * I3      A refusal leaves no trace, and the hold stays what it was. An answer that depends on what
 *         somebody did before sends an effect even if it changes nothing: WAIT after it waits for
 *         what it depends on too. */
#include <string.h>

#include "command/options.h"
#include "once/bounds.h"
#include "once/holds.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"

enum answer { LIMITED = -1, DUPLICATE = 0, DONE = 1 };

/* The words after the amount: LIMIT max [PER period], LEASE ms, NOCREATE. */
enum { WORDS_MOST = 7 };

struct request {
    redis_string *key;
    struct slice id, counter;
    int64_t amount;
    struct bounds bounds;
    uint64_t lease_ms;
};

static const char *read_id(const redis_string *word, struct slice *out) {
    *out = slice_of(word);
    if (out->size == 0) return ERROR_EMPTY_ID;
    return range_size(&range_hold_id, "id", word);
}

/* The limit is read as ONCE.TAKE does, without the words of the lease. */
static const char *read_words(redis_string **words, int count, struct request *out) {
    redis_string *others[WORDS_MOST];
    int kept = 0;
    if (count > WORDS_MOST) return ERROR_HOLD_SYNTAX;
    for (int i = 0; i < count; i++) {
        bool is_lease = is_word(words[i], "LEASE") && i + 1 < count && out->lease_ms == 0;
        int64_t lease_ms;
        if (!is_lease) {
            others[kept++] = words[i];
            continue;
        }
        const char *problem = range_number(&range_lease, "LEASE", words[++i], &lease_ms);
        if (problem != NULL) return problem;
        out->lease_ms = (uint64_t)lease_ms;
    }
    const char *problem = bounds_parse(others, kept, &out->bounds);
    if (problem != NULL)
        return strcmp(problem, ERROR_LIMIT_SYNTAX) == 0 ? ERROR_HOLD_SYNTAX : problem;
    const struct bound *bound = &out->bounds.each[0];
    bool is_one = out->bounds.count == 1 && !bound->is_floor && !bound->is_sliding;
    return is_one && out->lease_ms > 0 ? NULL : ERROR_HOLD_SYNTAX;
}

static const char *read_hold(redis_string **arguments, int count, struct request *out) {
    *out = (struct request){.key = arguments[1], .counter = slice_of(arguments[3])};
    const char *problem = read_id(arguments[2], &out->id);
    if (problem == NULL) problem = range_number(&range_held, "amount", arguments[4], &out->amount);
    return problem == NULL ? read_words(arguments + 5, count - 5, out) : problem;
}

/* --- Answers */

static void reply_standing(redis_context *context, long count, enum answer answer,
                           const struct standing *standing) {
    redis.ReplyWithArray(context, count);
    redis.ReplyWithLongLong(context, answer);
    redis.ReplyWithLongLong(context, standing->value);
    redis.ReplyWithLongLong(context, standing->left);
    redis.ReplyWithLongLong(context, standing->resets_ms);
}

static int give_up(redis_context *context, struct once_change *found, const char *error) {
    abandon_change(&found->change);
    return reply_error(context, error);
}

/* Whether the bucket that the limit of a hold is on has been dropped: what was in it is not known,
 * and nothing can be added to it. */
static bool is_dropped(const struct once *table, const struct hold_facts *facts) {
    int found =
        facts->period_ms != 0 ? resolutions_find(&table->resolutions, facts->period_ms) : -1;
    const struct counter *counter =
        counters_find(&table->counters, facts->counter.data, facts->counter.size);
    if (found < 0 || counter == NULL) return false;
    uint32_t resolution = (uint32_t)found;
    return buckets_is_dropped(counters_buckets(counter, resolution),
                              period_start(facts->period_ms, facts->wall_ms),
                              once_retention(table, resolution));
}

/* How the limit of a hold stands, in its bucket, if so much is added. Its milliseconds are from
 * now. */
static struct standing stand(const struct once *table, const struct hold_facts *facts,
                             int64_t amount) {
    struct bounds bounds = {.count = 1,
                            .each = {{.limit = facts->most, .period_ms = facts->period_ms}}};
    struct standing standing = bounds_judge(&bounds, table, facts->counter, facts->wall_ms, amount);
    if (is_dropped(table, facts)) {
        standing.left = 0;
        standing.is_limited = amount > 0;
    }
    if (standing.resets_ms == NEVER_RESETS) return standing;
    standing.resets_ms -= once_wall_now() - facts->wall_ms;
    if (standing.resets_ms < 0) standing.resets_ms = 0;
    return standing;
}

static int reply_hold(redis_context *context, const struct once *table, enum answer answer,
                      const struct hold_facts *facts) {
    struct standing standing = stand(table, facts, 0);
    uint64_t left_ms = answer != LIMITED ? hold_left_ms(facts, table->head.clock_ms) : 0;
    reply_standing(context, 5, answer, &standing);
    return reply_count(context, left_ms);
}

/* --- HOLD */

/* The wall clock is what buckets go by; a table without them needs none. */
static int64_t wall_of(const struct once *table) {
    return once_is_metered(table) ? table->wall.now_ms : 0;
}

static struct hold_facts facts_of(const struct once *table, const struct request *request) {
    uint64_t deadline_ms = table->head.clock_ms + request->lease_ms + 1;
    return (struct hold_facts){.state = HOLD_OPEN,
                               .amount = request->amount,
                               .most = request->bounds.each[0].limit,
                               .period_ms = request->bounds.each[0].period_ms,
                               .wall_ms = wall_of(table),
                               .deadline_ms = deadline_ms,
                               .until_ms = deadline_ms,
                               .id = request->id,
                               .counter = request->counter};
}

static int hold_known(redis_context *context, struct once_change *found,
                      const struct request *request, const struct hold *hold) {
    struct hold_facts facts = hold_facts_of(hold);
    const struct bound *bound = &request->bounds.each[0];
    bool is_mine = facts.amount == request->amount && facts.most == bound->limit &&
                   facts.period_ms == bound->period_ms && is_same(facts.counter, request->counter);
    if (!is_mine) return give_up(context, found, ERROR_HOLD_MISMATCH);
    reply_hold(context, found->table, DUPLICATE, &facts);
    finish_change(context, &found->change, request->key, EVENT_NONE);
    return REDIS_OK;
}

static bool fits_beside(int64_t value, int64_t held, int64_t amount) {
    return held <= INT64_MAX - amount && value <= INT64_MAX - amount - held;
}

/* Whether the counter and its present buckets could take the amount beside what is held of them, in
 * 64 bits: whatever limit there is, it may be one of a bucket. */
static bool counter_can_take(const struct once *table, const struct request *request) {
    const struct slice name = request->counter;
    const struct counter *counter = counters_find(&table->counters, name.data, name.size);
    const struct counter *held = counters_find(&table->holds.held, name.data, name.size);
    if (!fits_beside(counter != NULL ? counter->value : 0, held != NULL ? held->value : 0,
                     request->amount))
        return false;
    for (uint32_t i = 0; i < table->resolutions.count; i++) {
        if (!fits_beside(once_bucket(table, counter, i), once_bucket(table, held, i),
                         request->amount))
            return false;
    }
    return true;
}

static int hold_new(redis_context *context, struct once_change *found,
                    const struct request *request) {
    struct once *table = found->table;
    struct hold_facts facts = facts_of(table, request);
    if (stand(table, &facts, request->amount).is_limited) {
        reply_hold(context, table, LIMITED, &facts);
        abandon_change(&found->change);
        return REDIS_OK;
    }
    if (!holds_can_add(table, request->counter, request->amount) ||
        !counter_can_take(table, request))
        return give_up(context, found, ERROR_OVERFLOW);
    holds_set(table, &found->change.effect, &facts);
    reply_hold(context, table, DONE, &facts);
    finish_change(context, &found->change, request->key, EVENT_HOLD);
    return REDIS_OK;
}

int once_hold(redis_context *context, redis_string **arguments, int count) {
    if (count < 9) return redis.WrongArity(context);
    struct request request;
    const char *problem = read_hold(arguments, count, &request);
    if (problem != NULL) return reply_error(context, problem);
    /* A table that is made by its first use has no periods. */
    bool may_create = !request.bounds.no_create && !bounds_need_periods(&request.bounds);
    struct once_change found;
    if (!once_open_to_change(context, request.key, may_create, &found)) return REDIS_OK;
    problem = bounds_check(&request.bounds, &found.table->resolutions);
    if (problem != NULL) return give_up(context, &found, problem);
    const struct hold *hold = holds_find(found.table, request.id);
    if (hold != NULL) return hold_known(context, &found, &request, hold);
    if (found.is_out_of_memory) {
        abandon_change(&found.change);
        return reply_out_of_memory(context, &found.table->head);
    }
    return hold_new(context, &found, &request);
}

/* --- SETTLE */

static int settle_again(redis_context *context, struct once_change *found, redis_string *key,
                        const struct hold_facts *facts) {
    struct standing standing = stand(found->table, facts, 0);
    finish_change(context, &found->change, key, EVENT_NONE);
    reply_standing(context, 4, DUPLICATE, &standing);
    return REDIS_OK;
}

/* Adds to the buckets of the hold's wall clock, as far as they are kept. False if a sum does not
 * fit. */
static bool book(struct once *table, struct effect *effect, const struct hold_facts *facts) {
    if (facts->actual == 0) return true;
    if (once_is_metered(table)) once_set_late(table, facts->wall_ms);
    struct counters *counters = &table->counters;
    const struct counter *there = counters_find(counters, facts->counter.data, facts->counter.size);
    int64_t value = there != NULL ? there->value : 0;
    if (!once_can_add(table, there, value, facts->actual)) return false;
    once_add_to(table, effect, counters_add(counters, facts->counter.data, facts->counter.size),
                facts->actual);
    return true;
}

static int settle(redis_context *context, struct once_change *found, redis_string *key,
                  struct hold_facts *facts, int64_t actual, bool is_forced) {
    struct once *table = found->table;
    struct effect *effect = &found->change.effect;
    bool is_open = facts->state == HOLD_OPEN;
    if (!is_open) facts->wall_ms = wall_of(table);
    /* Of an open hold, its amount is held. */
    struct standing standing = stand(table, facts, is_open ? actual - facts->amount : actual);
    if (standing.is_limited && !is_forced) {
        abandon_change(&found->change);
        reply_standing(context, 4, LIMITED, &standing);
        return REDIS_OK;
    }
    facts->actual = actual;
    if (!book(table, effect, facts)) return give_up(context, found, ERROR_OVERFLOW);
    if (standing.is_limited) table->holds.forced++;
    hold_end(table, facts, HOLD_SETTLED);
    holds_set(table, effect, facts);
    /* The counter's name was in the hold that was replaced. */
    struct hold_facts settled = hold_facts_of(holds_find(table, facts->id));
    standing = stand(table, &settled, 0);
    finish_change(context, &found->change, key, EVENT_SETTLE);
    reply_standing(context, 4, DONE, &standing);
    return REDIS_OK;
}

int once_settle(redis_context *context, redis_string **arguments, int count) {
    if (count != 4 && count != 5) return redis.WrongArity(context);
    struct slice id;
    int64_t actual;
    const char *problem = read_id(arguments[2], &id);
    if (problem == NULL) problem = range_number(&range_settled, "actual", arguments[3], &actual);
    if (problem != NULL) return reply_error(context, problem);
    if (count == 5 && !is_word(arguments[4], "FORCE"))
        return reply_error(context, ERROR_SETTLE_SYNTAX);
    struct once_change found;
    if (!once_open_to_change(context, arguments[1], false, &found)) return REDIS_OK;
    const struct hold *hold = holds_find(found.table, id);
    if (hold == NULL) return give_up(context, &found, ERROR_NO_HOLD);
    struct hold_facts facts = hold_facts_of(hold);
    if (facts.state == HOLD_RELEASED) return give_up(context, &found, ERROR_WAS_RELEASED);
    if (facts.state == HOLD_SETTLED && facts.actual != actual)
        return give_up(context, &found, ERROR_SETTLED_OTHERWISE);
    if (facts.state == HOLD_SETTLED) return settle_again(context, &found, arguments[1], &facts);
    facts.id = id; /* which outlives the hold that is replaced */
    return settle(context, &found, arguments[1], &facts, actual, count == 5);
}

/* --- RELEASE */

int once_release(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    struct slice id;
    const char *problem = read_id(arguments[2], &id);
    if (problem != NULL) return reply_error(context, problem);
    struct once_change found;
    if (!once_open_to_change(context, arguments[1], false, &found)) return REDIS_OK;
    const struct hold *hold = holds_find(found.table, id);
    if (hold == NULL) return give_up(context, &found, ERROR_NO_HOLD);
    if (hold->state == HOLD_SETTLED) return give_up(context, &found, ERROR_WAS_SETTLED);
    bool is_first = hold->state != HOLD_RELEASED;
    if (is_first) {
        struct hold_facts facts = hold_facts_of(hold);
        hold_end(found.table, &facts, HOLD_RELEASED);
        holds_set(found.table, &found.change.effect, &facts);
    }
    finish_change(context, &found.change, arguments[1], is_first ? EVENT_RELEASE : EVENT_NONE);
    return redis.ReplyWithLongLong(context, is_first);
}
