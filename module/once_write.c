/* module/once_write.c - the commands that change a once-table: INCRBY, MINCRBY, ADD, FORGET, DEL.
 *
 * All arguments are read before anything is changed. A sum that would leave the 64 bits is refused
 * before its id is remembered, so that the operation can be sent again when there is room. The same holds for what is
 * fresh while the server is out of memory.
 *
 * NOCREATE stands where no other argument can: behind pairs and threes, or, before ids, together with IDS. */
#include <limits.h>
#include <string.h>

#include "once.h"

static const char not_an_integer[] = "ERR a delta is not an integer or out of range";
static const char overflow[] = "ERR increment would overflow; nothing was changed";

/* What happened to an operation. */
enum outcome { APPLIED, DUPLICATE, OVERFLOWS, REFUSED, NO_MEMORY };

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
    if (!once_can_add(*value, delta) && !once_is_copy(table, id)) return OVERFLOWS;
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
    if (all_fit(table, operation) || once_is_copy(table, operation->id))
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

static enum outcome apply(struct once *table, const struct operation *operation,
                          bool is_out_of_memory, int64_t *values) {
    if (is_out_of_memory && !once_is_copy(table, operation->id)) return NO_MEMORY;
    if (operation->pairs > 1) return apply_all(table, operation, values);
    return apply_one(table, operation->id, name_of(operation->names[0]), operation->deltas[0],
                     values);
}

static void reply_outcome(redis_context *context, const struct once *table, enum outcome outcome,
                          const int64_t *values, int count) {
    if (outcome == OVERFLOWS) {
        reply_error(context, overflow);
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

/* Takes NOCREATE off the end, where it makes the number of arguments more by one than it should be. */
static bool take_no_create(redis_string **arguments, int *count) {
    if (!is_word(arguments[*count - 1], "NOCREATE")) return false;
    --*count;
    return true;
}

int once_incrby(redis_context *context, redis_string **arguments, int count) {
    bool may_create = count % 2 != 0 || !take_no_create(arguments, &count);
    if (count < 5 || count % 2 == 0) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, 1, 1)) return REDIS_OK;
    int pairs = (count - 3) / 2;
    long long few[8] = {0}, *deltas = few;
    if (pairs > 8) deltas = redis.Alloc((size_t)pairs * sizeof *deltas);
    bool are_numbers = true;
    for (int i = 0; i < pairs && are_numbers; i++)
        are_numbers = redis.StringToLongLong(arguments[4 + 2 * i], &deltas[i]) == REDIS_OK;
    struct once_opened found;
    if (!are_numbers) {
        reply_error(context, not_an_integer);
    } else if (once_open_to_change(context, arguments[1], may_create, &found)) {
        struct once *table = found.opened.value;
        struct operation operation = {once_hash(table, arguments[2]), arguments + 3, deltas, pairs};
        int64_t *values = scratch((size_t)pairs, sizeof *values);
        lethe_window_prefetch(table->window, operation.id); /* while the counters are looked up */
        enum outcome outcome = apply(table, &operation, found.is_out_of_memory, values);
        if (outcome == OVERFLOWS || outcome == NO_MEMORY) {
            abandon_change(&found.opened);
        } else {
            finish_change(context, &found.opened, arguments[1],
                          outcome == APPLIED ? "once.incrby" : NULL);
        }
        reply_outcome(context, table, outcome, values, pairs);
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

/* Answers the copies. Returns how many there are. */
static size_t apply_copies(struct batch *batch, struct once *table) {
    size_t copies = 0;
    for (size_t i = 0; i < batch->count; i++) {
        batch->ids[i] = once_hash(table, batch->arguments[3 * i]);
        batch->outcomes[i] = NO_MEMORY;
        if (!once_is_copy(table, batch->ids[i])) continue;
        batch->outcomes[i] = (uint8_t)apply_one(table, batch->ids[i], batch->names[i],
                                                batch->deltas[i], &batch->values[i]);
        copies++;
    }
    return copies;
}

int once_mincrby(redis_context *context, redis_string **arguments, int count) {
    bool may_create = count % 3 != 0 || !take_no_create(arguments, &count);
    if (count < 5 || (count - 2) % 3 != 0) return redis.WrongArity(context);
    if (!once_are_ids(context, arguments + 2, (size_t)(count - 2) / 3, 3)) return REDIS_OK;
    struct batch batch = plan_batch(arguments + 2, (size_t)(count - 2) / 3);
    if (!read_batch(&batch)) return reply_error(context, not_an_integer);
    struct once_opened found;
    if (!once_open_to_change(context, arguments[1], may_create, &found)) return REDIS_OK;
    struct once *table = found.opened.value;
    if (found.is_out_of_memory) {
        if (apply_copies(&batch, table) == 0) {
            abandon_change(&found.opened);
            return reply_out_of_memory(context, &table->head);
        }
    } else if (prepare_batch(&batch, table)) {
        apply_together(&batch, table);
    } else {
        apply_each(&batch, table);
    }
    redis.ReplyWithArray(context, (long)batch.count);
    bool is_changed = false;
    for (size_t i = 0; i < batch.count; i++) {
        is_changed = is_changed || batch.outcomes[i] == APPLIED;
        reply_outcome(context, table, (enum outcome)batch.outcomes[i], &batch.values[i], 1);
    }
    finish_change(context, &found.opened, arguments[1], is_changed ? "once.mincrby" : NULL);
    return REDIS_OK;
}

/* --- Ids without counters */

/* Keeps the copies, and tries them; the others are not asked for. Returns how many there are. */
static size_t try_copies(struct once *table, const lethe_hash *ids, size_t count,
                         uint8_t *outcomes) {
    size_t copies = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_copy = once_is_copy(table, ids[i]);
        outcomes[i] = is_copy ? (uint8_t)try_id(table, ids[i]) : NO_MEMORY;
        copies += is_copy;
    }
    return copies;
}

static void try_ids(struct once *table, const lethe_hash *ids, size_t count, uint8_t *outcomes) {
    static const uint8_t outcome_of[] = {
        [LETHE_FRESH] = APPLIED, [LETHE_DUPLICATE] = DUPLICATE, [LETHE_REFUSED] = REFUSED};
    once_try(table, ids, count, outcomes);
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
    struct once_opened found;
    if (!once_open_to_change(context, arguments[1], !has_option, &found)) return REDIS_OK;
    struct once *table = found.opened.value;
    uint8_t *outcomes;
    const lethe_hash *hashes = hash_items(table->seed, words, ids, &outcomes);
    if (!found.is_out_of_memory) {
        try_ids(table, hashes, ids, outcomes);
    } else if (try_copies(table, hashes, ids, outcomes) == 0) {
        abandon_change(&found.opened);
        return reply_out_of_memory(context, &table->head);
    }
    bool is_changed = false;
    redis.ReplyWithArray(context, (long)ids);
    for (size_t i = 0; i < ids; i++) {
        is_changed = is_changed || outcomes[i] == APPLIED;
        if (outcomes[i] == APPLIED || outcomes[i] == DUPLICATE) {
            redis.ReplyWithLongLong(context, outcomes[i] == APPLIED);
        } else {
            reply_outcome(context, table, (enum outcome)outcomes[i], NULL, 0);
        }
    }
    finish_change(context, &found.opened, arguments[1], is_changed ? "once.add" : NULL);
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
