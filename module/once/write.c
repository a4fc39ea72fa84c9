/* module/once/write.c - the commands that change a once-table: INCRBY, MINCRBY, ADD, FORGET,
 * DEL.
 *
 * All arguments are read before anything is changed. An operation whose sum would overflow fails
 * before its id is remembered, so that it can be sent again when there is room. The same holds
 * for a fresh operation while the server is out of memory. So no operation takes an id back here,
 * and only FORGET needs a window from which an id can be removed.
 *
 * NOCREATE is placed where it cannot be taken for another argument: after the pairs or triples, or
 * before ids together with IDS. */
#include <string.h>

#include "command/options.h"
#include "once/once.h"
#include "once/ranges.h"
#include "server/errors.h"
#include "server/limits.h"
#include "server/reply.h"
#include "server/scratch.h"
#include "types.h"

/* What happened to an operation. */
enum outcome { APPLIED, DUPLICATE, OVERFLOW, REFUSED, NO_MEMORY };

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
    /* Every second argument: name, delta, name, delta. */
    redis_string **names;
    const int64_t *deltas;
    int pairs;
};

/* Asks the window, and remembers the id if it is fresh. */
static enum outcome try_id(struct once *table, struct effect *effect, lethe_hash id) {
    uint8_t answer;
    once_try(table, effect, &id, 1, &answer);
    if (answer == LETHE_ANSWER_FRESH) return APPLIED;
    return answer == LETHE_ANSWER_DUPLICATE ? DUPLICATE : REFUSED;
}

/* One counter, the usual case: it is looked up once. *value becomes the counter's value
 * afterwards. */
static enum outcome apply_one(struct once *table, struct effect *effect, lethe_hash id,
                              struct name name, int64_t delta, int64_t *value) {
    struct counter *counter = counters_find(&table->counters, name.data, name.size);
    *value = counter != NULL ? counter->value : 0;
    if (!once_can_add(table, counter, *value, delta) && !once_is_duplicate(table, id))
        return OVERFLOW;
    enum outcome outcome = try_id(table, effect, id);
    if (outcome != APPLIED) return outcome;
    if (counter == NULL) counter = counters_add(&table->counters, name.data, name.size);
    once_add_to(table, effect, counter, delta);
    *value = counter->value;
    return APPLIED;
}

/* Whether all sums stay in range. Deltas of a name that comes more than once are summed up. */
static bool all_fit(const struct once *table, const struct operation *operation) {
    struct counters sums;
    counters_init(&sums, table->seed);
    bool fits = true;
    for (size_t i = 0; i < (size_t)operation->pairs && fits; i++) {
        struct name name = name_of(operation->names[2 * i]);
        uint64_t before = sums.count;
        struct counter *sum = counters_add(&sums, name.data, name.size);
        const struct counter *counter = counters_find(&table->counters, name.data, name.size);
        if (sums.count > before) sum->value = counter != NULL ? counter->value : 0;
        fits = once_can_add(table, counter, sum->value, operation->deltas[i]);
        if (fits) sum->value += operation->deltas[i];
    }
    counters_drop(&sums);
    return fits;
}

static enum outcome apply_all(struct once *table, struct effect *effect,
                              const struct operation *operation, int64_t *values) {
    enum outcome outcome = OVERFLOW;
    size_t pairs = (size_t)operation->pairs;
    if (all_fit(table, operation) || once_is_duplicate(table, operation->id))
        outcome = try_id(table, effect, operation->id);
    for (size_t i = 0; i < pairs && outcome == APPLIED; i++) {
        struct name name = name_of(operation->names[2 * i]);
        struct counter *counter = counters_add(&table->counters, name.data, name.size);
        once_add_to(table, effect, counter, operation->deltas[i]);
    }
    for (size_t i = 0; i < pairs; i++)
        values[i] = value_of(table, name_of(operation->names[2 * i]));
    return outcome;
}

static enum outcome apply(struct once_change *found, const struct operation *operation,
                          int64_t *values) {
    struct once *table = found->table;
    struct effect *effect = &found->change.effect;
    if (found->is_out_of_memory && !once_is_duplicate(table, operation->id)) return NO_MEMORY;
    if (operation->pairs > 1) return apply_all(table, effect, operation, values);
    return apply_one(table, effect, operation->id, name_of(operation->names[0]),
                     operation->deltas[0], values);
}

static void reply_outcome(redis_context *context, const struct once *table, enum outcome outcome,
                          const int64_t *values, int count) {
    if (outcome == OVERFLOW) {
        reply_error(context, ERROR_OVERFLOW);
    } else if (outcome == NO_MEMORY) {
        reply_out_of_memory(context, &table->head);
    } else if (outcome == REFUSED) {
        reply_refused(context);
    } else {
        redis.ReplyWithArray(context, 1 + count);
        redis.ReplyWithLongLong(context, outcome == APPLIED);
        for (int i = 0; i < count; i++)
            redis.ReplyWithLongLong(context, values[i]);
    }
}

/* Takes NOCREATE off the end. The caller has found one argument more than pairs or triples have. */
static bool take_no_create(redis_string **arguments, int *count) {
    if (!is_word(arguments[*count - 1], "NOCREATE")) return false;
    --*count;
    return true;
}

/* So many counters need no allocation. */
enum { FEW = 8 };

int once_incrby(redis_context *context, redis_string **arguments, int count) {
    bool may_create = count % 2 != 0 || !take_no_create(arguments, &count);
    if (count < 5 || count % 2 == 0) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, 1, 1)) return REDIS_OK;
    int pairs = (count - 3) / 2;
    int64_t few_deltas[FEW] = {0}, *deltas = few_deltas;
    int64_t few_values[FEW], *values = few_values;
    if (pairs > FEW) {
        deltas = redis.Alloc((size_t)pairs * (sizeof *deltas + sizeof *values));
        values = deltas + pairs;
    }
    const char *problem = NULL;
    for (int i = 0; i < pairs && problem == NULL; i++)
        problem = range_number(&range_integer, "delta", arguments[4 + 2 * i], &deltas[i]);
    struct once_change found;
    if (problem != NULL) {
        reply_error(context, problem);
    } else if (once_open_for_id(context, arguments[1], arguments[2], may_create, &found)) {
        struct once *table = found.table;
        struct operation operation = {found.id, arguments + 3, deltas, pairs};
        enum outcome outcome = apply(&found, &operation, values);
        if (outcome == OVERFLOW || outcome == NO_MEMORY) {
            abandon_change(&found.change);
        } else {
            finish_change(context, &found.change, arguments[1],
                          outcome == APPLIED ? EVENT_INCRBY : EVENT_NONE);
        }
        reply_outcome(context, table, outcome, values, pairs);
    }
    if (deltas != few_deltas) redis.Free(deltas);
    return REDIS_OK;
}

/* --- Many operations on one counter each */

struct batch {
    size_t count;
    /* Id, name, delta, id, name, delta, and so on. */
    redis_string **arguments;

    /* Arrays with an element per operation, in borrowed memory. */
    struct scratch scratch;
    lethe_hash *ids;
    int64_t *deltas;
    struct name *names;
    struct counter **counters;
    /* What is replied: the counter's value, what the window answered, and an enum outcome. */
    int64_t *values;
    uint8_t *answers;
    uint8_t *outcomes;
};

static struct batch plan_batch(redis_string **arguments, size_t count) {
    size_t each = sizeof(lethe_hash) + sizeof(int64_t) + sizeof(struct name) +
                  sizeof(struct counter *) + sizeof(int64_t) + 2;
    struct batch batch = {.count = count, .arguments = arguments};
    batch.ids = scratch_take(&batch.scratch, count, each);
    batch.deltas = (int64_t *)(batch.ids + count);
    batch.names = (struct name *)(batch.deltas + count);
    batch.counters = (struct counter **)(batch.names + count);
    batch.values = (int64_t *)(batch.counters + count);
    batch.answers = (uint8_t *)(batch.values + count);
    batch.outcomes = batch.answers + count;
    return batch;
}

/* NULL, or the error. */
static const char *read_batch(struct batch *batch) {
    const char *problem = NULL;
    for (size_t i = 0; i < batch->count && problem == NULL; i++) {
        const redis_string *delta = batch->arguments[3 * i + 2];
        batch->names[i] = name_of(batch->arguments[3 * i + 1]);
        problem = range_number(&range_integer, "delta", delta, &batch->deltas[i]);
    }
    return problem;
}

/* Hashes the ids, finds the counters, and returns whether no sum can overflow, whichever of the
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
        int64_t delta = batch->deltas[i];
        uint64_t size = delta < 0 ? -(uint64_t)delta : (uint64_t)delta;
        is_small = is_small && size < most && once_is_small(table, counter, (int64_t)most);
        if (is_small) total += size;
        is_small = is_small && total < most;
    }
    return is_small;
}

/* All ids in one batch. */
static void apply_together(struct batch *batch, struct once *table, struct effect *effect) {
    once_try(table, effect, batch->ids, batch->count, batch->answers);
    for (size_t i = 0; i < batch->count; i++) {
        struct name name = batch->names[i];
        struct counter *counter = batch->counters[i];
        bool is_fresh = batch->answers[i] == LETHE_ANSWER_FRESH;
        /* An operation before this one may have made the counter. */
        if (counter == NULL) {
            counter = is_fresh ? counters_add(&table->counters, name.data, name.size)
                               : counters_find(&table->counters, name.data, name.size);
        }
        if (is_fresh) {
            once_add_to(table, effect, counter, batch->deltas[i]);
        }
        batch->values[i] = counter != NULL ? counter->value : 0;
        batch->outcomes[i] = is_fresh                                      ? APPLIED
                             : batch->answers[i] == LETHE_ANSWER_DUPLICATE ? DUPLICATE
                                                                           : REFUSED;
    }
}

/* One after another, where a sum might overflow and its id must then not be remembered. */
static void apply_each(struct batch *batch, struct once *table, struct effect *effect) {
    for (size_t i = 0; i < batch->count; i++) {
        batch->outcomes[i] = (uint8_t)apply_one(table, effect, batch->ids[i], batch->names[i],
                                                batch->deltas[i], &batch->values[i]);
    }
}

/* Answers the duplicates. Returns how many there are. */
static size_t apply_duplicates(struct batch *batch, struct once *table, struct effect *effect) {
    size_t duplicates = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->ids[i] = once_hash(table, batch->arguments[3 * i]);
        batch->outcomes[i] = NO_MEMORY;
        if (!once_is_duplicate(table, batch->ids[i])) continue;
        batch->outcomes[i] = (uint8_t)apply_one(table, effect, batch->ids[i], batch->names[i],
                                                batch->deltas[i], &batch->values[i]);
        duplicates++;
    }
    return duplicates;
}

/* Applies what can be applied. False if that is nothing, because memory is short. */
static bool apply_batch(struct batch *batch, struct once_change *found) {
    struct effect *effect = &found->change.effect;
    if (found->is_out_of_memory) return apply_duplicates(batch, found->table, effect) > 0;
    if (prepare_batch(batch, found->table)) {
        apply_together(batch, found->table, effect);
    } else {
        apply_each(batch, found->table, effect);
    }
    return true;
}

/* Replies for each operation. Returns whether any was applied. */
static bool reply_batch(redis_context *context, const struct batch *batch,
                        const struct once *table) {
    bool is_changed = false;
    redis.ReplyWithArray(context, (long)batch->count);
    for (size_t i = 0; i < batch->count; i++) {
        is_changed = is_changed || batch->outcomes[i] == APPLIED;
        reply_outcome(context, table, (enum outcome)batch->outcomes[i], &batch->values[i], 1);
    }
    return is_changed;
}

int once_mincrby(redis_context *context, redis_string **arguments, int count) {
    bool may_create = count % 3 != 0 || !take_no_create(arguments, &count);
    if (count < 5 || (count - 2) % 3 != 0) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, (size_t)(count - 2) / 3, 3)) return REDIS_OK;
    struct batch batch = plan_batch(arguments + 2, (size_t)(count - 2) / 3);
    struct once_change found;
    const char *problem = read_batch(&batch);
    if (problem != NULL) {
        reply_error(context, problem);
    } else if (once_open_for_ids(context, arguments[1], may_create, &found)) {
        if (apply_batch(&batch, &found)) {
            bool is_changed = reply_batch(context, &batch, found.table);
            finish_change(context, &found.change, arguments[1],
                          is_changed ? EVENT_MINCRBY : EVENT_NONE);
        } else {
            abandon_change(&found.change);
            reply_out_of_memory(context, &found.table->head);
        }
    }
    scratch_give(&batch.scratch);
    return REDIS_OK;
}

/* --- Ids without counters */

/* Tries only the duplicates. Returns how many there are. */
static size_t try_duplicates(struct once *table, struct effect *effect, const lethe_hash *ids,
                             size_t count, uint8_t *outcomes) {
    size_t duplicates = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_duplicate = once_is_duplicate(table, ids[i]);
        outcomes[i] = is_duplicate ? (uint8_t)try_id(table, effect, ids[i]) : NO_MEMORY;
        duplicates += is_duplicate;
    }
    return duplicates;
}

static void try_ids(struct once *table, struct effect *effect, const lethe_hash *ids, size_t count,
                    uint8_t *outcomes) {
    static const uint8_t outcome_of[] = {[LETHE_ANSWER_FRESH] = APPLIED,
                                         [LETHE_ANSWER_DUPLICATE] = DUPLICATE,
                                         [LETHE_ANSWER_REFUSED] = REFUSED};
    once_try(table, effect, ids, count, outcomes);
    for (size_t i = 0; i < count; i++)
        outcomes[i] = outcome_of[outcomes[i]];
}

int once_add(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    bool has_option =
        count > 4 && is_word(arguments[2], "NOCREATE") && is_word(arguments[3], "IDS");
    redis_string **words = arguments + (has_option ? 4 : 2);
    size_t ids = (size_t)(arguments + count - words);
    if (!once_are_ids(context, words, ids, 1)) return REDIS_OK;
    struct once_change found;
    if (!once_open_for_ids(context, arguments[1], !has_option, &found)) return REDIS_OK;
    struct once *table = found.table;
    struct effect *effect = &found.change.effect;
    struct items items;
    items_hash(&items, table->seed, words, ids);
    uint8_t *outcomes = items.answers;
    if (!found.is_out_of_memory) {
        try_ids(table, effect, items.hashes, ids, outcomes);
    } else if (try_duplicates(table, effect, items.hashes, ids, outcomes) == 0) {
        items_give(&items);
        abandon_change(&found.change);
        return reply_out_of_memory(context, &table->head);
    }
    bool is_changed = false;
    redis.ReplyWithArray(context, (long)ids);
    for (size_t i = 0; i < ids; i++) {
        is_changed = is_changed || outcomes[i] == APPLIED;
        if (outcomes[i] == APPLIED || outcomes[i] == DUPLICATE) {
            redis.ReplyWithBool(context, outcomes[i] == APPLIED);
        } else {
            reply_outcome(context, table, (enum outcome)outcomes[i], NULL, 0);
        }
    }
    items_give(&items);
    finish_change(context, &found.change, arguments[1], is_changed ? EVENT_ADD : EVENT_NONE);
    return REDIS_OK;
}

/* Opens a table that exists. If there is none, replies with false or 0 as the caller says, and with
 * what went wrong otherwise. NULL then. */
static struct once *open_existing(redis_context *context, redis_string *key, struct change *change,
                                  int (*reply_none)(redis_context *)) {
    if (!open_to_change(context, key, &once_type, ABSENT_STAYS, change)) return NULL;
    if (change->opened.value == NULL) {
        redis.CloseKey(change->opened.key);
        (void)reply_none(context);
    }
    return change->opened.value;
}

static int reply_false(redis_context *context) {
    return redis.ReplyWithBool(context, false);
}

static int reply_zero(redis_context *context) {
    return redis.ReplyWithLongLong(context, 0);
}

int once_forget_command(redis_context *context, redis_string **arguments, int count) {
    if (count != 3) return redis.WrongArity(context);
    struct change change;
    struct once *table = open_existing(context, arguments[1], &change, reply_false);
    if (table == NULL) return REDIS_OK;
    if (table->is_forgetful) {
        abandon_change(&change);
        return reply_error(context, ERROR_FORGET);
    }
    bool was_there = once_forget(table, &change.effect, once_hash(table, arguments[2])) == LETHE_OK;
    finish_change(context, &change, arguments[1], was_there ? EVENT_FORGET : EVENT_NONE);
    return redis.ReplyWithBool(context, was_there);
}

int once_del(redis_context *context, redis_string **arguments, int count) {
    if (count < 3) return redis.WrongArity(context);
    struct change change;
    struct once *table = open_existing(context, arguments[1], &change, reply_zero);
    if (table == NULL) return REDIS_OK;
    int removed = 0;
    for (int i = 2; i < count; i++) {
        struct name name = name_of(arguments[i]);
        if (!counters_remove(&table->counters, name.data, name.size)) continue;
        once_note_removal(&change.effect, name.data, name.size);
        removed++;
    }
    finish_change(context, &change, arguments[1], removed > 0 ? EVENT_DEL : EVENT_NONE);
    return redis.ReplyWithLongLong(context, removed);
}
