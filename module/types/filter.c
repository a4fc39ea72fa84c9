/* module/types/filter.c - the commands that all filters have.
 *
 * A batch that a full filter does not take as a whole is replicated as it came, because replicas
 * refuse the same items. One for which there was not enough memory is replicated without the
 * items that were refused. */
#include "types/filter.h"

#include <string.h>

#include "change/change.h"
#include "server/limits.h"
#include "server/reply.h"
#include "server/scratch.h"
#include "types.h"

/* Appends what was done to the effect: replicas make the same call with the same items together. */
static void note(struct effect *effect, uint8_t code, const struct items *items) {
    effect_u8(effect, code);
    effect_u32(effect, (uint32_t)items->count);
    effect_bytes(effect, items->hashes, items->count * sizeof *items->hashes);
}

/* The same, without the items that were refused for lack of memory: replicas may have memory. */
static void note_added(struct effect *effect, const struct items *items) {
    uint32_t added = 0;
    for (size_t i = 0; i < items->count; i++)
        added += items->answers[i] != LETHE_ANSWER_REFUSED;
    if (added == 0) return;
    effect_u8(effect, 'A');
    effect_u32(effect, added);
    for (size_t i = 0; i < items->count; i++) {
        if (items->answers[i] != LETHE_ANSWER_REFUSED)
            effect_bytes(effect, &items->hashes[i], sizeof items->hashes[i]);
    }
}

static int add(redis_context *context, redis_string **arguments, int count, bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct change change;
    if (!open_to_change(context, arguments[1], type, ABSENT_IS_MADE, &change)) return REDIS_OK;
    struct held *filter = change.opened.value;
    if (limits_are_reached(&filter->head)) {
        abandon_change(&change);
        return reply_out_of_memory(context, &filter->head);
    }
    struct items items;
    items_hash(&items, filter->seed, arguments + 2, (size_t)count - 2);
    lethe_status status = type->filter->add(filter, items.hashes, items.count, items.answers);
    const char *reason = error_of_status(status); /* for every item that was refused */
    if (status == LETHE_ENOMEM) {
        note_added(&change.effect, &items);
    } else {
        note(&change.effect, 'A', &items);
    }
    bool is_changed = false;
    if (is_array) redis.ReplyWithArray(context, (long)items.count);
    for (size_t i = 0; i < items.count; i++) {
        if (items.answers[i] != LETHE_ANSWER_REFUSED) {
            bool is_fresh = items.answers[i] == LETHE_ANSWER_FRESH;
            is_changed = is_changed || is_fresh || type->filter->counts_duplicates;
            redis.ReplyWithBool(context, is_fresh);
        } else {
            reply_error(context, reason);
        }
    }
    items_give(&items);
    finish_change(context, &change, arguments[1], is_changed ? EVENT_ADD : EVENT_NONE);
    return REDIS_OK;
}

int filter_add(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? add(context, arguments, count, false) : redis.WrongArity(context);
}

int filter_madd(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? add(context, arguments, count, true) : redis.WrongArity(context);
}

static int test(redis_context *context, redis_string **arguments, int count, bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct opened opened;
    if (!open_value(context, arguments[1], type, OPEN_TO_READ, &opened)) return REDIS_OK;
    const struct held *filter = opened.value;
    struct items items = {.count = (size_t)count - 2};
    if (filter != NULL) {
        items_hash(&items, filter->seed, arguments + 2, items.count);
        type->filter->test(filter, items.hashes, items.count, items.answers);
    }
    if (is_array) redis.ReplyWithArray(context, (long)items.count);
    for (size_t i = 0; i < items.count; i++)
        redis.ReplyWithBool(context, filter != NULL && items.answers[i] != 0);
    items_give(&items);
    redis.CloseKey(opened.key);
    return REDIS_OK;
}

int filter_test(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? test(context, arguments, count, false) : redis.WrongArity(context);
}

int filter_mtest(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? test(context, arguments, count, true) : redis.WrongArity(context);
}

static int remove_items(redis_context *context, redis_string **arguments, int count,
                        bool is_array) {
    const struct value_type *type = type_of_command(arguments[0]);
    struct change change;
    if (!open_to_change(context, arguments[1], type, ABSENT_STAYS, &change)) return REDIS_OK;
    struct held *filter = change.opened.value;
    struct items items = {.count = (size_t)count - 2};
    if (filter != NULL) {
        items_hash(&items, filter->seed, arguments + 2, items.count);
        type->filter->remove(filter, items.hashes, items.count, items.answers);
        note(&change.effect, 'R', &items);
    }
    bool is_changed = false;
    if (is_array) redis.ReplyWithArray(context, (long)items.count);
    for (size_t i = 0; i < items.count; i++) {
        bool is_removed = filter != NULL && items.answers[i] != 0;
        is_changed = is_changed || is_removed;
        redis.ReplyWithBool(context, is_removed);
    }
    items_give(&items);
    if (filter == NULL) {
        redis.CloseKey(change.opened.key);
    } else {
        finish_change(context, &change, arguments[1], is_changed ? EVENT_REMOVE : EVENT_NONE);
    }
    return REDIS_OK;
}

int filter_remove(redis_context *context, redis_string **arguments, int count) {
    return count == 3 ? remove_items(context, arguments, count, false) : redis.WrongArity(context);
}

int filter_mremove(redis_context *context, redis_string **arguments, int count) {
    return count >= 3 ? remove_items(context, arguments, count, true) : redis.WrongArity(context);
}

bool filter_repeat(void *value, uint8_t code, struct effect_reader *reader, bool apply) {
    uint32_t count = effect_read_u32(reader);
    const void *data = effect_read_bytes(reader, (size_t)count * sizeof(lethe_hash));
    if (data == NULL || count == 0 || (code != 'A' && code != 'R')) return false;
    if (!apply) return true;
    const struct filter_operations *operations = ((struct value *)value)->type->filter;
    if (code == 'R' && operations->remove == NULL) return false;
    struct items items;
    items_copy(&items, data, count);
    if (code == 'A') {
        (void)!operations->add(value, items.hashes, count, items.answers);
    } else {
        operations->remove(value, items.hashes, count, items.answers);
    }
    items_give(&items);
    return true;
}
