/* module/filter.c - the commands that all filters have. */
#include "filter.h"

#include <string.h>

/* Adds what was done to the effect: the same calls, with the same items together, are made on replicas. */
static void note(uint8_t code, const lethe_hash *hashes, size_t count) {
    effect_u8(code);
    effect_u32((uint32_t)count);
    effect_bytes(hashes, count * sizeof *hashes);
}

static int add(redis_context *context, redis_string **arguments, int count, bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct opened opened;
    if (!open_to_change(context, arguments[1], type, ABSENT_IS_MADE, &opened)) return REDIS_OK;
    size_t items = (size_t)count - 2, done = 0;
    uint8_t *was_there;
    const struct filter *filter = opened.value;
    if (limits_are_reached(&filter->head)) {
        abandon_change(&opened);
        return reply_out_of_memory(context, &filter->head);
    }
    const lethe_hash *hashes = hash_items(filter->seed, arguments + 2, items, &was_there);
    lethe_status status = type->filter->add(opened.value, hashes, items, was_there, &done);
    /* Where the cap ended it, it ends on replicas too; where memory did, they are told what came about. */
    size_t told = status == LETHE_ENOMEM ? done : items;
    if (told > 0) note('A', hashes, told);
    bool is_changed = false;
    if (is_array) redis.ReplyWithArray(context, (long)items);
    for (size_t i = 0; i < items; i++) {
        if (i < done) {
            is_changed = is_changed || was_there[i] == 0 || type->filter->counts_copies;
            redis.ReplyWithLongLong(context, was_there[i] == 0);
        } else {
            reply_status(context, status);
        }
    }
    finish_change(context, &opened, arguments[1], is_changed ? event_of(type, "add") : NULL);
    return REDIS_OK;
}

static int add_command(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? add(context, arguments, count, false) : redis.WrongArity(context);
}

static int madd_command(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? add(context, arguments, count, true) : redis.WrongArity(context);
}

static int test(redis_context *context, redis_string **arguments, int count, bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct filter *filter = opened.value;
    size_t items = (size_t)count - 2;
    uint8_t *is_there = NULL;
    if (filter != NULL) {
        const lethe_hash *hashes = hash_items(filter->seed, arguments + 2, items, &is_there);
        type->filter->test(filter, hashes, items, is_there);
    }
    if (is_array) redis.ReplyWithArray(context, (long)items);
    for (size_t i = 0; i < items; i++)
        redis.ReplyWithLongLong(context, filter != NULL && is_there[i] != 0);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

static int test_command(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? test(context, arguments, count, false) : redis.WrongArity(context);
}

static int mtest_command(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? test(context, arguments, count, true) : redis.WrongArity(context);
}

static int remove_items(redis_context *context, redis_string **arguments, int count,
                        bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct opened opened;
    if (!open_to_change(context, arguments[1], type, ABSENT_STAYS, &opened)) return REDIS_OK;
    const struct filter *filter = opened.value;
    size_t items = (size_t)count - 2;
    uint8_t *was_there = NULL;
    if (filter != NULL) {
        const lethe_hash *hashes = hash_items(filter->seed, arguments + 2, items, &was_there);
        type->filter->remove(opened.value, hashes, items, was_there);
        note('R', hashes, items);
    }
    bool is_changed = false;
    if (is_array) redis.ReplyWithArray(context, (long)items);
    for (size_t i = 0; i < items; i++) {
        bool is_gone = filter != NULL && was_there[i] != 0;
        is_changed = is_changed || is_gone;
        redis.ReplyWithLongLong(context, is_gone);
    }
    if (filter == NULL) {
        redis.CloseKey(opened.key);
    } else {
        finish_change(context, &opened, arguments[1], is_changed ? event_of(type, "remove") : NULL);
    }
    return REDIS_OK;
}

static int remove_command(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? remove_items(context, arguments, count, false) : redis.WrongArity(context);
}

static int mremove_command(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? remove_items(context, arguments, count, true) : redis.WrongArity(context);
}

bool filter_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
    uint32_t count = effect_read_u32(reader);
    const void *data = effect_read_bytes(reader, (size_t)count * sizeof(lethe_hash));
    if (data == NULL || count == 0 || (code != 'A' && code != 'R')) return false;
    if (!apply) return true;
    const struct filter_operations *operations = ((struct value *)value)->type->filter;
    if (code == 'R' && operations->remove == NULL) return false;
    lethe_hash *hashes = scratch(count, sizeof *hashes + 1);
    uint8_t *answers = (uint8_t *)(hashes + count);
    memcpy(hashes, data, (size_t)count * sizeof *hashes);
    size_t done;
    if (code == 'A') {
        (void)!operations->add(value, hashes, count, answers, &done);
    } else {
        operations->remove(value, hashes, count, answers);
    }
    return true;
}

static redis_argument item_arguments[] = {ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, 0),
                                          ARGUMENT_END};
static redis_argument items_arguments[] = {
    ARGUMENT_KEY("key", 0), ARGUMENT("item", STRING, REDIS_ARGUMENT_MULTIPLE), ARGUMENT_END};

const struct command filter_commands[] = {
    {"ADD", add_command, "write deny-oom fast", 3, KEY_CHANGES, 1, 1,
     "Adds an item: 1 new, 0 there already", "O(1)", item_arguments},
    {"MADD", madd_command, "write deny-oom fast", -3, KEY_CHANGES, 1, 1, "Adds items", "O(items)",
     items_arguments},
    {"TEST", test_command, "readonly fast", 3, KEY_READS, 1, 1, "Whether an item is there", "O(1)",
     item_arguments},
    {"MTEST", mtest_command, "readonly fast", -3, KEY_READS, 1, 1, "Whether items are there",
     "O(items)", items_arguments},
    {0},
};

const struct command filter_removals[] = {
    {"REMOVE", remove_command, "write fast", 3, KEY_CHANGES, 1, 1,
     "Removes an item that was added: 1 done, 0 not there", "O(1)", item_arguments},
    {"MREMOVE", mremove_command, "write fast", -3, KEY_CHANGES, 1, 1,
     "Removes items that were added", "O(items)", items_arguments},
    {0},
};
