/* module/once/take.c - ONCE.TAKE: a change of a counter that may be refused; ONCE.PEEK: how much is
 * left.
 *
 * ORDER   An id that was applied is a duplicate first of all, whatever the bounds say now: its
 *         sender learns that it has what it took, and takes no second time. Only then are the
 *         bounds asked, and only then is the id remembered.
 * I1      A refusal leaves no trace: no id, no effect, no clock. A duplicate of what was refused
 *         may therefore be applied later, if it comes when there is room. Who gives up says so with
 *         ONCE.ADD, after which the id is a duplicate for all.
 * I2      Bounds are asked and values changed in one command, so nothing comes in between. What is
 *         replicated is the same as of ONCE.INCRBY: replicas do not judge. */
#include "command/options.h"
#include "once/bounds.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"

enum taken { LIMITED = -1, DUPLICATE = 0, APPLIED = 1 };

struct take {
    redis_string *key;
    lethe_hash id;
    struct slice name;
    int64_t amount;
    struct bounds bounds;
};

static struct standing stand(const struct take *take, const struct once *table, int64_t amount) {
    return bounds_judge(&take->bounds, table, take->name, table->wall.now_ms, amount);
}

static void reply_standing(redis_context *context, const struct standing *standing) {
    redis.ReplyWithLongLong(context, standing->value);
    redis.ReplyWithLongLong(context, standing->left);
    redis.ReplyWithLongLong(context, standing->resets_ms);
}

static int reply_taken(redis_context *context, enum taken taken, const struct standing *standing) {
    redis.ReplyWithArray(context, 4);
    redis.ReplyWithLongLong(context, taken);
    reply_standing(context, standing);
    return REDIS_OK;
}

static bool can_add(const struct take *take, const struct once *table) {
    const struct counter *counter =
        counters_find(&table->counters, take->name.data, take->name.size);
    int64_t value = counter != NULL ? counter->value : 0;
    return once_can_add(table, counter, value, take->amount);
}

static int give_up(redis_context *context, struct once_change *found, const char *error) {
    abandon_change(&found->change);
    return reply_error(context, error);
}

/* A fresh operation. */
static int take_fresh(redis_context *context, struct once_change *found, const struct take *take) {
    struct once *table = found->table;
    struct effect *effect = &found->change.effect;
    if (found->is_out_of_memory) {
        abandon_change(&found->change);
        return reply_out_of_memory(context, &table->head);
    }
    struct standing standing = stand(take, table, take->amount);
    if (standing.is_limited) {
        abandon_change(&found->change);
        return reply_taken(context, LIMITED, &standing);
    }
    if (!can_add(take, table)) return give_up(context, found, ERROR_OVERFLOW);
    uint8_t answer;
    once_try(table, effect, &take->id, 1, &answer);
    if (answer != LETHE_ANSWER_FRESH) {
        finish_change(context, &found->change, take->key, EVENT_NONE);
        return reply_refused(context);
    }
    struct counter *counter = counters_add(&table->counters, take->name.data, take->name.size);
    once_add_to(table, effect, counter, take->amount);
    standing = stand(take, table, 0);
    finish_change(context, &found->change, take->key, EVENT_TAKE);
    return reply_taken(context, APPLIED, &standing);
}

static int take_duplicate(redis_context *context, struct once_change *found,
                          const struct take *take) {
    uint8_t answer;
    once_try(found->table, &found->change.effect, &take->id, 1, &answer);
    struct standing standing = stand(take, found->table, 0);
    finish_change(context, &found->change, take->key, EVENT_NONE);
    return reply_taken(context, DUPLICATE, &standing);
}

int once_take(redis_context *context, redis_string **arguments, int count) {
    if (count < 7) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, 1, 1)) return REDIS_OK;
    struct take take = {.key = arguments[1], .name = slice_of(arguments[3])};
    const char *problem = range_number(&range_amount, "amount", arguments[4], &take.amount);
    if (problem == NULL) problem = bounds_parse(arguments + 5, count - 5, &take.bounds);
    if (problem != NULL) return reply_error(context, problem);
    /* A table that is made by its first use has no periods. */
    bool may_create = !take.bounds.no_create && !bounds_need_periods(&take.bounds);
    struct once_change found;
    if (!once_open_to_change(context, take.key, may_create, &found)) return REDIS_OK;
    problem = bounds_check(&take.bounds, &found.table->resolutions);
    if (problem != NULL) return give_up(context, &found, problem);
    bounds_focus(&take.bounds, take.amount);
    take.id = once_hash(found.table, arguments[2]);
    if (once_is_duplicate(found.table, take.id)) return take_duplicate(context, &found, &take);
    return take_fresh(context, &found, &take);
}

int once_peek(redis_context *context, redis_string **arguments, int count) {
    if (count < 5) return redis.WrongArity(context);
    struct bounds bounds;
    const char *problem = bounds_parse(arguments + 3, count - 3, &bounds);
    if (problem == NULL && bounds.no_create) problem = ERROR_LIMIT_SYNTAX;
    if (problem != NULL) return reply_error(context, problem);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    if (table != NULL) problem = bounds_check(&bounds, &table->resolutions);
    if (problem != NULL) {
        reply_error(context, problem);
    } else {
        struct standing standing =
            bounds_judge(&bounds, table, slice_of(arguments[2]), once_wall_now(), 0);
        redis.ReplyWithArray(context, 3);
        reply_standing(context, &standing);
    }
    redis.CloseKey(opened.key);
    return REDIS_OK;
}
