/* module/once_write.c - the commands that change a once-table: INCRBY, MINCRBY, ADD, FORGET, DEL.
 *
 * All arguments are read before anything is changed. A sum that would leave the 64 bits is refused
 * before its id is remembered, so that the operation can be sent again when there is room. */
#include <limits.h>
#include <string.h>

#include "once.h"

static const char not_an_integer[] = "ERR a delta is not an integer or out of range";
static const char overflow[] = "ERR increment would overflow; nothing was changed";

/* What happened to an operation. */
enum outcome { APPLIED, DUPLICATE, OVERFLOWS, REFUSED };

/* A counter's name as bytes. */
struct name {
    const char *data;
    size_t size;
};

static struct name name_of(const redis_string *string) {
    struct name name;
    name.data = redis.StringPtrLen(string, &name.size);
    return name;
}

static int64_t value_of(const struct once *table, struct name name) {
    const struct counter *counter = counters_find(&table->counters, name.data, name.size);
    return counter != NULL ? counter->value : 0;
}

/* --- One operation on one or more counters */

struct operation {
    lethe_hash id;
    redis_string **names; /* every second argument: name, delta, name, delta */
    const long long *deltas;
    int pairs;
};

/* Whether the id was seen: a copy of what was applied is a duplicate, even where it would not fit now. */
static bool is_copy(const struct once *table, lethe_hash id) {
    return lethe_window_check(table->window, id, table->head.clock_ms) == LETHE_DUPLICATE;
}

/* Asks the window, and remembers the id if it is fresh. */
static enum outcome try_id(struct once *table, lethe_hash id) {
    uint8_t answer;
    once_try(table, &id, 1, &answer);
    if (answer == LETHE_FRESH) return APPLIED;
    return answer == LETHE_DUPLICATE ? DUPLICATE : REFUSED;
}

/* One counter, which is nearly always the case: it is looked up once. *value becomes what it is then. */
static enum outcome apply_one(struct once *table, lethe_hash id, struct name name, int64_t delta,
                              int64_t *value) {
    struct counter *counter = counters_find(&table->counters, name.data, name.size);
    *value = counter != NULL ? counter->value : 0;
    if (!once_can_add(*value, delta) && !is_copy(table, id)) return OVERFLOWS;
    enum outcome outcome = try_id(table, id);
    if (outcome != APPLIED) return outcome;
    if (counter == NULL) counter = counters_add(&table->counters, name.data, name.size);
    counter->value += delta;
    *value = counter->value;
    once_note_counter(counter);
    return APPLIED;
}

/* Whether all sums stay in range; a name may come more than once, and then the sums follow on each other. */
static bool all_fit(const struct once *table, const struct operation *operation) {
    struct counters sums;
    counters_init(&sums, table->seed);
    bool fits = true;
    for (size_t i = 0; i < (size_t)operation->pairs && fits; i++) {
        struct name name = name_of(operation->names[2 * i]);
        uint64_t before = sums.count;
        struct counter *sum = counters_add(&sums, name.data, name.size);
        if (sums.count > before) sum->value = value_of(table, name);
        fits = once_can_add(sum->value, operation->deltas[i]);
        if (fits) sum->value += operation->deltas[i];
    }
    counters_drop(&sums);
    return fits;
}

static enum outcome apply_all(struct once *table, const struct operation *operation,
                              int64_t *values) {
    enum outcome outcome = OVERFLOWS;
    size_t pairs = (size_t)operation->pairs;
    if (all_fit(table, operation) || is_copy(table, operation->id))
        outcome = try_id(table, operation->id);
    for (size_t i = 0; i < pairs && outcome == APPLIED; i++) {
        struct name name = name_of(operation->names[2 * i]);
        struct counter *counter = counters_add(&table->counters, name.data, name.size);
        counter->value += operation->deltas[i];
        once_note_counter(counter);
    }
    for (size_t i = 0; i < pairs; i++)
        values[i] = value_of(table, name_of(operation->names[2 * i]));
    return outcome;
}

static enum outcome apply(struct once *table, const struct operation *operation, int64_t *values) {
    if (operation->pairs > 1) return apply_all(table, operation, values);
    return apply_one(table, operation->id, name_of(operation->names[0]), operation->deltas[0],
                     values);
}

static void reply_outcome(redis_context *context, enum outcome outcome, const int64_t *values,
                          int count) {
    if (outcome == OVERFLOWS) {
        reply_error(context, overflow);
    } else if (outcome == REFUSED) {
        reply_status(context, LETHE_EFULL);
    } else {
        redis.ReplyWithArray(context, 1 + count);
        redis.ReplyWithLongLong(context, outcome == APPLIED);
        for (int i = 0; i < count; i++)
            redis.ReplyWithLongLong(context, values[i]);
    }
}

int once_incrby(redis_context *context, redis_string **arguments, int count) {
    if (count < 5 || count % 2 == 0) return redis.WrongArity(context);
    int pairs = (count - 3) / 2;
    long long few[8] = {0}, *deltas = few;
    if (pairs > 8) deltas = redis.Alloc((size_t)pairs * sizeof *deltas);
    bool are_numbers = true;
    for (int i = 0; i < pairs && are_numbers; i++)
        are_numbers = redis.StringToLongLong(arguments[4 + 2 * i], &deltas[i]) == REDIS_OK;
    struct opened opened;
    if (!are_numbers) {
        reply_error(context, not_an_integer);
    } else if (once_open_to_change(context, arguments[1], &opened)) {
        struct once *table = opened.value;
        struct operation operation = {once_hash(table, arguments[2]), arguments + 3, deltas, pairs};
        int64_t *values = scratch((size_t)pairs, sizeof *values);
        lethe_window_prefetch(table->window, operation.id); /* while the counters are looked up */
        enum outcome outcome = apply(table, &operation, values);
        if (outcome == OVERFLOWS) {
            once_abandon(&opened);
        } else {
            finish_change(context, &opened, arguments[1],
                          outcome == APPLIED ? "once.incrby" : NULL);
        }
        reply_outcome(context, outcome, values, pairs);
    }
    if (deltas != few) redis.Free(deltas);
    return REDIS_OK;
}

/* --- Many operations on one counter each */

struct batch {
    size_t count;
    redis_string **arguments; /* id, name, delta, and so on */
    lethe_hash *ids;
    long long *deltas;
    struct name *names;
    struct counter **counters;
    int64_t *values;   /* to reply with */
    uint8_t *answers;  /* of the window */
    uint8_t *outcomes; /* enum outcome */
};

static struct batch plan_batch(redis_string **arguments, size_t count) {
    size_t each = sizeof(lethe_hash) + sizeof(long long) + sizeof(struct name) +
                  sizeof(struct counter *) + sizeof(int64_t) + 2;
    struct batch batch = {.count = count, .arguments = arguments};
    batch.ids = scratch(count, each);
    batch.deltas = (long long *)(batch.ids + count);
    batch.names = (struct name *)(batch.deltas + count);
    batch.counters = (struct counter **)(batch.names + count);
    batch.values = (int64_t *)(batch.counters + count);
    batch.answers = (uint8_t *)(batch.values + count);
    batch.outcomes = batch.answers + count;
    return batch;
}

static bool read_batch(struct batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        batch->names[i] = name_of(batch->arguments[3 * i + 1]);
        if (redis.StringToLongLong(batch->arguments[3 * i + 2], &batch->deltas[i]) != REDIS_OK)
            return false;
    }
    return true;
}

/* Hashes the ids, finds the counters, and tells whether no sum can leave the 64 bits, whichever of the
 * operations are fresh. */
static bool prepare_batch(struct batch *batch, const struct once *table) {
    const uint64_t most = UINT64_C(1) << 61;
    uint64_t total = 0;
    bool is_small = true;
    for (size_t i = 0; i < batch->count; i++) {
        batch->ids[i] = once_hash(table, batch->arguments[3 * i]);
        struct name name = batch->names[i];
        struct counter *counter = counters_find(&table->counters, name.data, name.size);
        batch->counters[i] = counter;
        int64_t value = counter != NULL ? counter->value : 0;
        long long delta = batch->deltas[i];
        uint64_t size = delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
        is_small = is_small && size < most && value < (int64_t)most && value > -(int64_t)most;
        if (is_small) total += size;
        is_small = is_small && total < most;
    }
    return is_small;
}

/* All ids in one go. */
static void apply_together(struct batch *batch, struct once *table) {
    once_try(table, batch->ids, batch->count, batch->answers);
    for (size_t i = 0; i < batch->count; i++) {
        struct name name = batch->names[i];
        struct counter *counter = batch->counters[i];
        bool is_fresh = batch->answers[i] == LETHE_FRESH;
        /* An operation before this one may have made the counter. */
        if (counter == NULL) {
            counter = is_fresh ? counters_add(&table->counters, name.data, name.size)
                               : counters_find(&table->counters, name.data, name.size);
        }
        if (is_fresh) {
            counter->value += batch->deltas[i];
            once_note_counter(counter);
        }
        batch->values[i] = counter != NULL ? counter->value : 0;
        batch->outcomes[i] = is_fresh                               ? APPLIED
                             : batch->answers[i] == LETHE_DUPLICATE ? DUPLICATE
                                                                    : REFUSED;
    }
}

/* One after another, where a sum might overflow and its id must then not be remembered. */
static void apply_each(struct batch *batch, struct once *table) {
    for (size_t i = 0; i < batch->count; i++) {
        batch->outcomes[i] = (uint8_t)apply_one(table, batch->ids[i], batch->names[i],
                                                batch->deltas[i], &batch->values[i]);
    }
}

int once_mincrby(redis_context *context, redis_string **arguments, int count) {
    if (count < 5 || (count - 2) % 3 != 0) return redis.WrongArity(context);
    struct batch batch = plan_batch(arguments + 2, (size_t)(count - 2) / 3);
    if (!read_batch(&batch)) return reply_error(context, not_an_integer);
    struct opened opened;
    if (!once_open_to_change(context, arguments[1], &opened)) return REDIS_OK;
    struct once *table = opened.value;
    if (prepare_batch(&batch, table)) {
        apply_together(&batch, table);
    } else {
        apply_each(&batch, table);
    }
    redis.ReplyWithArray(context, (long)batch.count);
    bool is_changed = false;
    for (size_t i = 0; i < batch.count; i++) {
        is_changed = is_changed || batch.outcomes[i] == APPLIED;
        reply_outcome(context, (enum outcome)batch.outcomes[i], &batch.values[i], 1);
    }
    finish_change(context, &opened, arguments[1], is_changed ? "once.mincrby" : NULL);
    return REDIS_OK;
}

/* --- Ids without counters */

int once_add(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    if (!once_open_to_change(context, arguments[1], &opened)) return REDIS_OK;
    uint8_t *answers;
    int ids = count - 2;
    const struct once *table = opened.value;
    const lethe_hash *hashes = hash_items(table->seed, arguments + 2, (size_t)ids, &answers);
    once_try(opened.value, hashes, (size_t)ids, answers);
    bool is_changed = false;
    redis.ReplyWithArray(context, ids);
    for (int i = 0; i < ids; i++) {
        is_changed = is_changed || answers[i] == LETHE_FRESH;
        if (answers[i] == LETHE_REFUSED) {
            reply_status(context, LETHE_EFULL);
        } else {
            redis.ReplyWithLongLong(context, answers[i] == LETHE_FRESH);
        }
    }
    finish_change(context, &opened, arguments[1], is_changed ? "once.add" : NULL);
    return REDIS_OK;
}

int once_seen(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    const struct once *table;
    if (!once_open_to_read(context, arguments[1], &opened, &table)) return REDIS_OK;
    uint8_t *answers = NULL;
    if (table != NULL) {
        const lethe_hash *hashes =
            hash_items(table->seed, arguments + 2, (size_t)count - 2, &answers);
        lethe_window_check_batch(table->window, hashes, (size_t)count - 2, value_time(&table->head),
                                 answers);
    }
    redis.ReplyWithArray(context, count - 2);
    for (int i = 0; i < count - 2; i++)
        redis.ReplyWithLongLong(context, table != NULL && answers[i] == LETHE_DUPLICATE);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

int once_forget_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    struct opened opened;
    if (!open_to_change(context, arguments[1], &once_type, ABSENT_STAYS, &opened)) return REDIS_OK;
    struct once *table = opened.value;
    if (table == NULL) {
        redis.CloseKey(opened.key);
        return redis.ReplyWithLongLong(context, 0);
    }
    bool was_there = once_forget(table, once_hash(table, arguments[2])) == LETHE_OK;
    finish_change(context, &opened, arguments[1], was_there ? "once.forget" : NULL);
    return redis.ReplyWithLongLong(context, was_there);
}

int once_del(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct opened opened;
    if (!open_to_change(context, arguments[1], &once_type, ABSENT_STAYS, &opened)) return REDIS_OK;
    struct once *table = opened.value;
    if (table == NULL) {
        redis.CloseKey(opened.key);
        return redis.ReplyWithLongLong(context, 0);
    }
    int removed = 0;
    for (int i = 2; i < count; i++) {
        struct name name = name_of(arguments[i]);
        if (!counters_remove(&table->counters, name.data, name.size)) continue;
        once_note_removal(name.data, name.size);
        removed++;
    }
    finish_change(context, &opened, arguments[1], removed > 0 ? "once.del" : NULL);
    return redis.ReplyWithLongLong(context, removed);
}
